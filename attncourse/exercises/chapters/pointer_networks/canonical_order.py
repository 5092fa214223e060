"""One way to write a hull down: counter-clockwise, the lowest index first."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def canonical_order(points, cycle):
    corners = points.gather(1, (cycle - 1)[..., None].expand(-1, -1, 2))  # (B, m, 2)
    (x, y), (x_next, y_next) = corners.unbind(-1), corners.roll(-1, 1).unbind(-1)  # (B, m) each
    doubled_area = (x * y_next - x_next * y).sum(1, keepdim=True)  # (B, 1), counter-clockwise above 0
    round_ = torch.where(doubled_area > 0, cycle, cycle.flip(1))
    steps = round_.argmin(1, keepdim=True) + torch.arange(cycle.shape[1])
    return round_.gather(1, steps % cycle.shape[1])


def _by_loops(points, cycle):
    rows = []
    for p, c in zip(points, cycle.tolist(), strict=True):
        at = [p[i - 1].tolist() for i in c]
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(at, at[1:] + at[:1], strict=True))
        c = c if area > 0 else c[::-1]
        k = c.index(min(c))
        rows.append(torch.tensor(c[k:] + c[:k]))
    return torch.stack(rows)


def _by_angle(points, cycle):
    """Seen from inside, the corners of a convex polygon come in the order of their angles."""
    corners = points.gather(1, (cycle - 1)[..., None].expand(-1, -1, 2)).double()
    out = corners - corners.mean(1, keepdim=True)
    order = cycle.gather(1, torch.atan2(out[..., 1], out[..., 0]).argsort(1))
    return torch.stack([row.roll(-int(row.argmin())) for row in order])


def _by_one_turn(points, cycle):
    """A convex polygon turns the same way at each of its corners: the first tells."""
    a, b, c = points.gather(1, (cycle[:, :3] - 1)[..., None].expand(-1, -1, 2)).unbind(1)
    turn = (b - a)[:, 0] * (c - b)[:, 1] - (b - a)[:, 1] * (c - b)[:, 0]
    way = torch.where(turn[:, None] > 0, cycle, cycle.flip(1))
    return torch.stack([torch.cat([row[k:], row[:k]]) for row, k in zip(way, way.argmin(1), strict=True)])


def _case(kind, seed, B=4, m=5, inside=3, far=0):
    """m corners on a wide circle, some points within, numbers in no order; the cycle either way, from anywhere."""
    rng = torch.Generator().manual_seed(seed)
    n = m + inside
    angle = (torch.arange(m) + 0.6 * torch.rand(B, m, generator=rng)) * 2 * torch.pi / m
    ring = torch.stack([angle.cos(), angle.sin()], -1) * 1000
    within = (torch.rand(B, inside, 2, generator=rng) - 0.5) * 300
    place = torch.rand(B, n, generator=rng).argsort(1)  # (B, n): the index that each gets
    points = torch.zeros(B, n, 2, dtype=torch.long)
    points.scatter_(1, place[..., None].expand(-1, -1, 2), torch.cat([ring, within], 1).round().long())
    points += torch.randint(-50, 50, (B, 1, 2), generator=rng) + far
    cycle = place[:, :m] + 1
    first = torch.randint(0, m, (B, 1), generator=rng)
    cycle = cycle.gather(1, (first + torch.arange(m)) % m)
    backward = torch.arange(B) % 2 == int(torch.randint(0, 2, (), generator=rng))
    return Case(kind, {"points": points, "cycle": torch.where(backward[:, None], cycle.flip(1), cycle)})


def _cases(seed):
    return [
        _case("four sets of eight points", seed),
        _case("triangles", seed + 1, m=3),
        _case("points that are all corners", seed + 2, m=6, inside=0),
        _case("many corners", seed + 3, m=9, inside=6),
        _case("a batch of one", seed + 4, B=1, m=4),
        _case("another batch of one", seed + 5, B=1, m=6),
        _case("squares far from the origin", seed + 6, m=4, far=5000),
        _case("a large batch", seed + 7, B=16, m=6),
    ]


def _corners(points, cycle):
    return points.gather(1, (cycle - 1)[..., None].expand(-1, -1, 2))


def _area(points, cycle):
    a, b = _corners(points, cycle), _corners(points, cycle.roll(-1, 1))
    return a[..., 0] * b[..., 1] - b[..., 0] * a[..., 1]


def _left(points, cycle):
    return _area(points, cycle).sum(1) > 0


def _from(cycle, lead):
    return cycle.gather(1, (lead[:, None] + torch.arange(cycle.shape[1])) % cycle.shape[1])


def _lowest(points, cycle):
    return cycle.argmin(1)


def _version(left=_left, lead=_lowest):
    """The solution with one part exchanged."""

    def version(points, cycle):
        way = torch.where(left(points, cycle)[:, None], cycle, cycle.flip(1))
        return _from(way, lead(points, way))

    return version


def _turned_first(points, cycle):
    cycle = _from(cycle, cycle.argmin(1))
    return torch.where(_left(points, cycle)[:, None], cycle, cycle.flip(1))


def _one_off(points, cycle):
    wide = torch.cat([points, points[:, :1]], 1)  # point n is read where there is none
    return _left(wide, cycle + 1)


EXERCISE = Exercise(
    id="pointer_networks.canonical-order",
    title="One hull, one way to write it",
    points=2,
    task=r"""
A polygon with m corners can be written down in 2m ways. A network that is trained on any of them has to guess which
one is meant, so there is one for all: the corners **counter-clockwise**, beginning with the one whose **index is
lowest**. Bring each cycle into this order. Indices count from 1; y points upwards. The sign of twice the area,

$$\sum_i x_i\, y_{i+1} - x_{i+1}\, y_i,$$

tells which way round a cycle goes: above zero is counter-clockwise.

| argument | |
|---|---|
| `points` | (B, n, 2) int: x and y of all points |
| `cycle` | (B, m) int: the corners of each hull, round in one way or the other, from anywhere |
| returns `order` | (B, m) int: the same corners in canonical order |
""",
    stub="""
def canonical_order(points, cycle):
    ...  # your code: order (B, m)
""",
    hints=(
        "Two things to put right, and they do not commute: which way round, and where to begin. What happens to the "
        "first entry when a list is reversed?",
        "The corners' coordinates are `points.gather(1, …)` with an index of shape (B, m, 2); mind that indices count "
        "from 1. The corner after each one is a `roll` away, and after the last comes the first.",
        "Choose between the cycle and its mirror image with `torch.where`, a condition of shape (B, 1). To begin "
        "elsewhere, read along the cycle from its lowest entry, and wrap round the end with a modulo.",
    ),
    solution=canonical_order,
    spellings=(_by_loops, _by_angle, _by_one_turn),
    axes={"points": "B n xy", "cycle": "B m"},
    returns=(Output("order", "B m"),),
    cases=_cases,
    wrong=(
        Misconception(
            "it begins where the cycle began",
            "The direction is right, the beginning is not: your first corner is whichever came first in `cycle`. The "
            "same hull would have as many answers as corners. Begin with the lowest index.",
            (
                _version(lead=lambda points, way: torch.zeros(len(way), dtype=torch.long)),
                lambda points, cycle: torch.where(
                    _left(points, cycle)[:, None], cycle, _from(cycle.flip(1), torch.full((len(cycle),), -1))
                ),
            ),
        ),
        Misconception(
            "it begins with the lowest point",
            "You begin with the corner that lies lowest in the plane (or furthest left). That is where gift wrapping "
            "starts; the canonical order begins with the lowest *index*, which has nothing to do with the place.",
            (
                _version(lead=lambda points, way: _corners(points, way)[..., 1].argmin(1)),
                _version(lead=lambda points, way: _corners(points, way)[..., 0].argmin(1)),
            ),
        ),
        Misconception(
            "it goes clockwise",
            "All your cycles go clockwise. With y pointing upwards the sum is above zero for counter-clockwise; in "
            "pictures, whose y points downwards, it is the other way round.",
            (
                _version(left=lambda points, cycle: ~_left(points, cycle)),
                lambda points, cycle: _turned_first(points, cycle).flip(1),
            ),
        ),
        Misconception(
            "the direction is left as it was",
            "You begin with the lowest index and then go round as `cycle` did, one way or the other. The same hull has "
            "two answers so, and a network would learn to hesitate between them.",
            (_version(left=lambda points, cycle: torch.ones(len(cycle), dtype=torch.bool)),),
        ),
        Misconception(
            "every cycle is reversed",
            "You mirror every cycle, also those that were right. Reverse only where the sum is below zero: a choice "
            "for each row.",
            (_version(left=lambda points, cycle: torch.zeros(len(cycle), dtype=torch.bool)),),
        ),
        Misconception(
            "reversed after it was turned",
            "You turn the cycle until the lowest index leads, and reverse afterwards: then it stands last. Choose the "
            "direction first, or leave the first entry in its place while you reverse the others.",
            (_turned_first,),
        ),
        Misconception(
            "the corners are sorted by index",
            "Your corners come in ascending order of their indices. That is a list of the right corners, but no way "
            "round: the polygon would cross itself.",
            (lambda points, cycle: cycle.sort(1).values,),
        ),
        Misconception(
            "the corners come the other way round by index",
            "You decide the direction by which neighbour of the first corner has the lower index. Indices say nothing "
            "about the plane: counter-clockwise is a matter of the coordinates.",
            (
                lambda points, cycle: _by_neighbour(cycle, lower=True),
                lambda points, cycle: _by_neighbour(cycle, lower=False),
            ),
        ),
        Misconception(
            "indices are taken from 0",
            "You read the coordinates at `points[cycle]`, one point further than meant: indices count from 1, Python "
            "from 0. The direction then comes from the wrong points, and the last index from none at all.",
            (_version(left=_one_off), lambda points, cycle: _read_from_0(points, cycle)),
        ),
        Misconception(
            "the answer counts from 0",
            "The order is right, and every index is one too low: the answer counts from 1, as `cycle` does. 0 is what "
            "says *stop*.",
            (lambda points, cycle: canonical_order(points, cycle) - 1,),
        ),
        Misconception(
            "angles are measured from the origin",
            "You sort by the angle under which the *origin* sees each corner. That is the way round only if the origin "
            "lies inside the polygon; these points may lie anywhere. Measure from a point inside: the mean of the "
            "corners is one.",
            (lambda points, cycle: _by_origin(points, cycle),),
        ),
        Misconception(
            "the last side is forgotten",
            "Your sum leaves out the side from the last corner back to the first. It is then no area: it depends on "
            "where the origin lies, and its sign is right only by luck.",
            (_version(left=lambda points, cycle: _area(points, cycle)[:, :-1].sum(1) > 0),),
        ),
        Misconception(
            "one direction for the whole batch",
            "You decide the direction once, for all rows. Each cycle has its own: sum over the corners, axis 1, and "
            "keep the batch.",
            (
                _version(left=lambda points, cycle: (_area(points, cycle).sum() > 0).expand(len(cycle))),
                _version(left=lambda points, cycle: _left(points, cycle)[:1].expand(len(cycle))),
            ),
        ),
    ),
)


def _by_origin(points, cycle):
    corners = _corners(points, cycle).double()
    way = cycle.gather(1, torch.atan2(corners[..., 1], corners[..., 0]).argsort(1))
    return _from(way, way.argmin(1))


def _by_neighbour(cycle, lower):
    cycle = _from(cycle, cycle.argmin(1))
    back = torch.cat([cycle[:, :1], cycle[:, 1:].flip(1)], 1)
    return torch.where(((cycle[:, 1] < cycle[:, -1]) == lower)[:, None], cycle, back)


def _read_from_0(points, cycle):
    corners = points.gather(1, cycle[..., None].expand(-1, -1, 2))
    after = corners.roll(-1, 1)
    left = (corners[..., 0] * after[..., 1] - after[..., 0] * corners[..., 1]).sum(1) > 0
    way = torch.where(left[:, None], cycle, cycle.flip(1))
    return _from(way, way.argmin(1))
