"""Short tours through more points than can be solved exactly: local search from several starts, all rows at once.

A tour is improved until none of two kinds of move makes it shorter. 2-opt takes two edges out and joins the loose ends
the other way, which turns the stretch between them round (Croes 1958). Or-opt takes out one, two or three points in a
row and puts them, either way round, between two others (Or 1976). Where the search ends depends on where it began, so
it begins several times and keeps the shortest tour of all.
"""

import torch
from torch import Tensor

from .geometry_metrics import STOP, area

STARTS = 4  # tours per problem, each begun at another point
LONGEST = 3  # points that Or-opt moves together
CHUNK = 512  # tours improved together: their tables of moves still fit the processor's cache
GAIN = 1e-9  # what a move must save, so that rounding cannot go round in circles


def short_tour(points: Tensor, starts: int = STARTS) -> Tensor:
    """A tour through all points that no move makes shorter, from the first one, counter-clockwise.

    points (B, n, 2), n at least 5 -> (B, n + 1) from 1, then STOP, as the exact `tsp`
    """
    if points.dim() != 3 or points.shape[-1] != 2 or points.shape[1] < LONGEST + 2:
        wanted = f"a tour by local search needs at least {LONGEST + 2} points in the plane, (B, n, 2)"
        raise ValueError(f"{wanted}; these are {tuple(points.shape)}")
    size = max(1, CHUNK // starts)
    return torch.cat([_best_of(part.double(), starts) for part in points.split(size)])


def _best_of(x: Tensor, starts: int) -> Tensor:
    B, n, _ = x.shape
    starts = min(starts, n)
    many = x.repeat_interleave(starts, 0)  # (B · starts, n, 2)
    first = torch.arange(starts).mul(n).div(starts, rounding_mode="floor").repeat(B)  # (B · starts,)
    distance = torch.cdist(many, many, compute_mode="donot_use_mm_for_euclid_dist")
    tour = improve(nearest_neighbours(distance, first), distance)
    lengths = tour_length(tour, distance).view(B, starts)
    tour = tour.view(B, starts, n)[torch.arange(B), lengths.argmin(1)]  # (B, n)
    lead = tour.argmin(1, keepdim=True)  # where the tour is at point 0
    tour = tour.gather(1, (torch.arange(n) + lead) % n) + 1
    clockwise = area(x, tour) < 0
    tour[:, 1:] = torch.where(clockwise[:, None], tour[:, 1:].flip(1), tour[:, 1:])
    return torch.nn.functional.pad(tour, (0, 1), value=STOP)


def tour_length(tour: Tensor, distance: Tensor) -> Tensor:
    """tour (B, n) from 0, distance (B, n, n) -> (B,)"""
    return distance[torch.arange(len(tour))[:, None], tour, tour.roll(-1, 1)].sum(1)


def nearest_neighbours(distance: Tensor, first: Tensor) -> Tensor:
    """From `first` always to the nearest point not yet visited.    distance (B, n, n), first (B,) -> (B, n) from 0"""
    rows, tour = torch.arange(len(first)), [first]
    free = torch.ones(distance.shape[:2], dtype=torch.bool)
    for _ in range(distance.shape[1] - 1):
        free[rows, tour[-1]] = False
        tour.append(distance[rows, tour[-1]].masked_fill(~free, torch.inf).argmin(1))
    return torch.stack(tour, 1)


def improve(tour: Tensor, distance: Tensor) -> Tensor:
    """Make the best move of each tour, again and again, until no tour has one.    tour (B, n) -> (B, n)"""
    tour, busy = tour.clone(), torch.arange(len(tour))
    n = tour.shape[1]
    along = distance.gather(1, tour[:, :, None].expand(-1, -1, n)).gather(2, tour[:, None].expand(-1, n, -1))
    while len(busy):  # `along` is the distance between the i-th and the j-th stop of the busy tours
        saved, order = best_move(along)
        better = saved > GAIN
        busy, order, along = busy[better], order[better], along[better]
        tour[busy] = tour[busy].gather(1, order)
        along = along.gather(1, order[:, :, None].expand(-1, -1, n)).gather(2, order[:, None].expand(-1, n, -1))
    return tour


def best_move(along: Tensor) -> tuple[Tensor, Tensor]:
    """The move that saves most.    along (B, n, n) -> what it saves (B,), the new order of the stops (B, n)"""
    n = along.shape[1]
    moves = [_turns(along), *(_shifts(along, k) for k in range(1, LONGEST + 1))]
    saved, which = torch.cat([saved.flatten(1) for saved in moves], 1).max(1)  # over all kinds and places
    keys = torch.arange(n, dtype=along.dtype).expand(len(along), n)  # stops are sorted by these in the end
    at = 0
    for k, table in enumerate(moves):
        here = which - at
        keys = torch.where(((here >= 0) & (here < table[0].numel()))[:, None], _keys(here, n, k), keys)
        at += table[0].numel()
    return saved, keys.argsort(1)


def _turns(along: Tensor) -> Tensor:
    """2-opt: what it saves to turn round the stops i + 1 … j, for i < j.    -> (B, n, n), -inf where i ≥ j"""
    edge = _edges(along)  # (B, n)
    joined = along + along.roll((-1, -1), (1, 2))  # |i j| + |i+1 j+1|
    saved = edge[:, :, None] + edge[:, None] - joined
    n = along.shape[1]
    return saved.masked_fill(torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)


def _shifts(along: Tensor, k: int) -> Tensor:
    """Or-opt: what it saves to put the stops i + 1 … i + k between j and j + 1, as they are or turned round.

    -> (B, n, n, 2), -inf where j is among the stops i … i + k that would move or lose their edge
    """
    n, edge = along.shape[1], _edges(along)
    place = torch.arange(n)
    first, last, after = ((place + d) % n for d in (1, k, k + 1))
    taken = edge + along[:, last, after] - along[:, place, after]  # (B, n): gone by taking the stretch out
    to_first, to_last = along[:, first], along[:, last]  # (B, n, n): from the stretch's ends to stop j
    as_is = to_first + to_last.roll(-1, 2)  # j to the first, the last to j + 1
    turned = to_last + to_first.roll(-1, 2)
    saved = (taken[:, :, None] + edge[:, None])[..., None] - torch.stack([as_is, turned], -1)
    inside = (place[None] - place[:, None]) % n <= k  # j in i … i + k
    return saved.masked_fill(inside[..., None], -torch.inf)


def _edges(along: Tensor) -> Tensor:
    """From each stop to the next one.    (B, n, n) -> (B, n)"""
    place = torch.arange(along.shape[1])
    return along[:, place, (place + 1) % len(place)]


def _keys(move: Tensor, n: int, k: int) -> Tensor:
    """Numbers that sort the stops into their new order: k = 0 is a 2-opt, else an Or-opt of k stops.    -> (B, n)"""
    t = torch.arange(n, dtype=torch.double)
    if k == 0:
        i, j = (move.div(n, rounding_mode="floor"))[:, None], (move % n)[:, None]
        return torch.where((t > i) & (t <= j), i + 1 + j - t, t)
    i, j, turned = move.div(2 * n, rounding_mode="floor")[:, None], (move // 2 % n)[:, None], (move % 2)[:, None]
    ahead = (t - i - 1) % n  # 0 … k - 1 in the stretch, counted from its first stop
    step = torch.where(turned.bool(), k - ahead, ahead + 1) / (k + 1)
    return torch.where(ahead < k, j + step, t)
