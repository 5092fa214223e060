"""How good is an answer of chapter 14? Polygons, tours and triangulations, all rows at once.

answer and target (B, T) int, indices from 1; what comes after the first STOP does not count. points (B, n, 2).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

STOP = 0


def area(points: Tensor, answer: Tensor) -> Tensor:
    """Signed area of each polygon, counter-clockwise positive: ½ Σ x_i y_{i+1} - x_{i+1} y_i.    -> (B,)"""
    start, end, real = _edges(points, answer)
    cross = start[..., 0] * end[..., 1] - end[..., 0] * start[..., 1]  # (B, T)
    return cross.masked_fill(~real, 0.0).sum(1) / 2


def length(points: Tensor, answer: Tensor) -> Tensor:
    """Of the closed tour.    -> (B,)"""
    start, end, real = _edges(points, answer)
    return (end - start).norm(dim=-1).masked_fill(~real, 0.0).sum(1)


def until_stop(answer: Tensor) -> Tensor:
    """STOP from the first STOP on."""
    return answer.masked_fill((answer == STOP).cumsum(1) > 0, STOP)


def _next(answer: Tensor) -> Tensor:
    """The symbol after each one, the first after the last.    (B, T) -> (B, T)"""
    after = F.pad(answer[:, 1:], (0, 1), value=STOP)
    return torch.where(after == STOP, answer[:, :1], after)


def _edges(points: Tensor, answer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """-> where each edge starts and ends (B, T, 2), and which are real (B, T)"""
    answer = until_stop(answer)
    ends = (row.sub(1).clamp(min=0)[..., None].expand(-1, -1, 2) for row in (answer, _next(answer)))
    return *(points.gather(1, index) for index in ends), answer != STOP


def repeats(answer: Tensor) -> Tensor:
    """Is any point named twice?    -> bool (B,)"""
    answer = until_stop(answer)
    same = (answer[:, :, None] == answer[:, None]) & (answer != STOP)[:, None]  # (B, T, T)
    return same.triu(1).any((1, 2))


def simple(points: Tensor, answer: Tensor) -> Tensor:
    """Is it a polygon, three corners or more, none twice, and no two edges cross?    -> bool (B,)"""
    a, b, real = _edges(points.double(), answer)
    side = _left_of(a[:, :, None], b[:, :, None], a[:, None]), _left_of(a[:, :, None], b[:, :, None], b[:, None])
    apart = (side[0] > 0) != (side[1] > 0)  # (B, T, T): edge j has its ends on two sides of edge i's line
    answer = until_stop(answer)
    touch = (_next(answer)[:, :, None] == answer[:, None]) | (answer[:, :, None] == answer[:, None])
    both = real[:, :, None] & real[:, None] & ~touch & ~touch.mT
    return ~(apart & apart.mT & both).any(-1).any(-1) & ~repeats(answer) & (real.sum(1) >= 3)


def _left_of(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Twice the area of the triangle abc: positive if c lies to the left of a -> b."""
    return (b - a)[..., 0] * (c - a)[..., 1] - (b - a)[..., 1] * (c - a)[..., 0]


def same_polygon(answer: Tensor, target: Tensor) -> Tensor:
    """The same cycle, from wherever and whichever way round.    -> bool (B,)"""
    size = int(max(answer.max(), target.max())) + 1
    pictures = []
    for row in (until_stop(answer), until_stop(target)):
        seen = torch.zeros(len(row), size * size, dtype=torch.bool, device=row.device)
        seen = seen.scatter(1, row * size + _next(row), True).unflatten(1, (size, size))
        seen[:, STOP] = seen[:, :, STOP] = False
        pictures.append(seen | seen.mT)  # (B, size, size): which points are joined
    return (pictures[0] == pictures[1]).all(-1).all(-1) & ~repeats(answer)


def triangle_ids(answer: Tensor, n: int) -> Tensor:
    """One number for each triangle, whatever the order of its corners; 0 for what is none.    (B, 3t) -> (B, t)"""
    answer = until_stop(answer)
    answer = F.pad(answer, (0, -answer.shape[1] % 3), value=STOP)
    a, b, c = answer.unflatten(1, (-1, 3)).sort(-1).values.unbind(-1)  # (B, t) each
    return ((a * (n + 1) + b) * (n + 1) + c).masked_fill((a == STOP) | (a == b) | (b == c), 0)


# ---- what the paper reports: each takes points, answer, target and gives the numbers of its tables ----


def hull(points: Tensor, answer: Tensor, target: Tensor) -> dict[str, float]:
    """Accuracy: the same polygon. Area: of the true one, over the answers that are simple polygons, as in the paper.

    `invalid` is the share of those that are not; the paper writes FAIL for a model where it is above 1%.
    """
    valid = simple(points, answer)
    covered = area(points, answer).abs()[valid] / area(points, target)[valid]
    return {
        "accuracy": same_polygon(answer, target).double().mean().item(),
        "area": covered.mean().item() if len(covered) else 0.0,
        "invalid": 1 - valid.double().mean().item(),
    }


def tsp(points: Tensor, answer: Tensor, target: Tensor | None = None) -> dict[str, float]:
    """Mean length of the tours, of the optimal ones where they are known, and the share that are no tours at all.

    The length is over valid tours alone: one that leaves out a point would be rewarded for it.
    """
    visited = (until_stop(answer) != STOP).sum(1)
    valid = ~repeats(answer) & (visited == points.shape[1])
    found = {"length": length(points, answer)[valid].mean().item(), "invalid": 1 - valid.double().mean().item()}
    return found if target is None else found | {"optimal": length(points, target).mean().item()}


def delaunay(points: Tensor, answer: Tensor, target: Tensor) -> dict[str, float]:
    """Accuracy: the same set of triangles. Coverage: the share of the true triangles that were found."""
    answer, target = (triangle_ids(row, points.shape[1]) for row in (answer, target))
    hit = (target[:, :, None] == answer[:, None]) & (target > 0)[:, :, None]  # (B, true, found)
    found, true = hit.any(2).sum(1), (target > 0).sum(1)  # (B,)
    extra = ((answer > 0) & ~hit.any(1)).any(1)
    return {
        "accuracy": ((found == true) & ~extra).double().mean().item(),
        "coverage": (found / true).double().mean().item(),
    }


def sort(points: Tensor, answer: Tensor, target: Tensor) -> dict[str, float]:
    """Accuracy: every number in its place. Places: the share of the numbers that are."""
    answer, target = until_stop(answer), until_stop(target)
    wide = max(answer.shape[1], target.shape[1])
    answer, target = (F.pad(row, (0, wide - row.shape[1])) for row in (answer, target))
    same = answer == target
    return {
        "accuracy": same.all(1).double().mean().item(),
        "places": same[target != STOP].double().mean().item(),
    }


METRICS = {"hull": hull, "delaunay": delaunay, "tsp": tsp, "sort": sort}
