"""Hulls, tours, triangulations and sorting against brute force and scipy; their measures by hand; the sets on disk."""

import os
from itertools import combinations, permutations

import pytest
import torch
from scipy.spatial import ConvexHull
from torch.testing import assert_close

from attncourse.tasks import geometry as task
from attncourse.tasks import geometry_metrics as measures
from attncourse.tasks.geometry import STOP

SQUARE = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.4]])


def points(rows, n, seed=0):
    return torch.rand(rows, n, 2, generator=torch.Generator().manual_seed(seed))


def ids(row):
    """The indices from 0, up to the stop."""
    row = row.tolist()
    return [i - 1 for i in row[: row.index(STOP)]]


# ---- answers ----


def test_answers_of_a_square_by_hand():
    x = SQUARE[None]
    assert ids(task.hull(x)[0]) == [0, 1, 2, 3]
    off = torch.cat([x[:, :4], torch.tensor([[[0.3, 0.4]]])], 1)  # incentres at x = 0.14, 0.347, 0.374, 0.78
    assert ids(task.delaunay(off)[0]) == [0, 3, 4, 0, 1, 4, 2, 3, 4, 1, 2, 4]  # left, bottom, top, right
    assert ids(task.tsp(x[:, :4])[0]) == [0, 1, 2, 3]
    assert ids(task.sort(torch.tensor([[[0.3], [0.1], [0.2]]]))[0]) == [1, 2, 0]


@pytest.mark.parametrize("n", [3, 4, 5, 10, 50])
def test_hull_is_scipys_from_the_lowest_index(n):
    x = points(60, n, seed=n)
    answer = task.hull(x)
    assert answer[:, -1].eq(STOP).all() and (answer != STOP).sum(1).max() == answer.shape[1] - 1
    for row, answered in zip(x.double().numpy(), answer, strict=True):
        cycle = ConvexHull(row).vertices.tolist()  # counter-clockwise in the plane
        lead = cycle.index(min(cycle))
        assert ids(answered) == cycle[lead:] + cycle[:lead]


@pytest.mark.parametrize("n", [3, 4, 7, 8])
def test_tour_is_the_shortest_by_brute_force(n):
    x = points(20, n, seed=n).double()
    answer = task.tsp(x, chunk=7)  # the last chunk is smaller
    others = torch.tensor(list(permutations(range(1, n))))  # every tour from point 0
    every = torch.cat([torch.zeros(len(others), 1, dtype=torch.long), others], 1)  # (tours, n)
    for row, answered in zip(x, answer, strict=True):
        walked = row[every]  # (tours, n, 2)
        lengths = (walked - walked.roll(1, 1)).norm(dim=-1).sum(1)
        best = every[lengths.isclose(lengths.min(), rtol=1e-12)].tolist()
        assert ids(answered) in best and len(best) == 2  # both ways round
    assert (measures.area(x, answer) > 0).all()


def test_twelve_points_are_solved_and_thirteen_refused():
    x = points(2, 12).double()
    answer = task.tsp(x)
    assert sorted(ids(answer[0])) == list(range(12)) and measures.simple(x, answer).all()
    start, size = measures.length(x, answer), range(1, 12)
    for i, j in combinations(size, 2):  # no exchange of two edges makes it shorter
        other = answer.clone()
        other[:, i : j + 1] = answer[:, i : j + 1].flip(1)
        assert (measures.length(x, other) >= start - 1e-12).all()
    with pytest.raises(ValueError, match=r"up to 12 points.*these are 13"):
        task.tsp(points(1, 13))


def in_circle(a, b, c, p):
    """Is p inside the circle through a, b, c (counter-clockwise)? By the determinant, written apart from scipy."""
    rows = torch.stack([a - p, b - p, c - p])
    return torch.linalg.det(torch.cat([rows, (rows**2).sum(1, keepdim=True)], 1)) > 0


@pytest.mark.parametrize("n", [3, 5, 8])
def test_triangles_are_those_with_empty_circles_in_the_order_of_their_incentres(n):
    x = points(10, n, seed=n).double()
    for row, answered in zip(x, task.delaunay(x), strict=True):
        expected = []
        for corners in combinations(range(n), 3):
            a, b, c = row[list(corners)]
            if torch.linalg.det(torch.stack([b - a, c - a])) < 0:
                b, c = c, b
            if not any(in_circle(a, b, c, row[p]) for p in range(n) if p not in corners):
                a, b, c = row[list(corners)]
                sides = (b - c).norm(), (c - a).norm(), (a - b).norm()
                centre = (sides[0] * a + sides[1] * b + sides[2] * c) / sum(sides)
                expected.append((centre.tolist(), corners))
        assert ids(answered) == [i for _, corners in sorted(expected) for i in corners]


def test_sorting():
    made = task.problems("sort", 30, 9, seed=1)
    assert made.points.shape == (30, 9, 1) and made.target.shape == (30, 10)
    ordered = made.points[..., 0].gather(1, made.target[:, :-1] - 1)
    assert (ordered[:, 1:] >= ordered[:, :-1]).all() and (made.target[:, -1] == STOP).all()


@pytest.mark.parametrize("name", ["hull", "tsp"])
def test_the_same_polygon_in_whatever_order_the_points_come(name):
    x, order = points(40, 7, seed=3), torch.tensor([3, 6, 0, 5, 2, 4, 1])
    answer, shuffled = task.SOLVERS[name](x), task.SOLVERS[name](x[:, order])
    back = torch.cat([torch.tensor([STOP]), order + 1])[shuffled]  # into the first numbering
    assert measures.same_polygon(back, answer).all()
    assert not torch.equal(back, answer)  # but the canonical order has another start


@pytest.mark.parametrize("name", task.SOLVERS)
def test_same_seed_same_problems_and_every_target_ends(name):
    one, again, other = (task.problems(name, 12, 6, seed) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one.points, other.points)
    t = torch.arange(one.target.shape[1])
    assert torch.equal(one.target == STOP, t >= one.lengths[:, None] - 1)
    assert one.lengths.max() == one.target.shape[1] and one.target.max() <= 6


def test_several_sizes_in_one_batch():
    small, large = task.problems("hull", 3, 5, seed=1), task.problems("hull", 2, 9, seed=2)
    both = task.together(small, large)
    assert both.points.shape == (5, 9, 2) and both.sizes.tolist() == [5, 5, 5, 9, 9]
    assert torch.equal(both.points[:3, :5], small.points) and both.points[:3, 5:].abs().sum() == 0
    assert torch.equal(both.target[:3, : small.target.shape[1]], small.target)
    assert torch.equal(both.lengths, torch.cat([small.lengths, large.lengths]))


@pytest.mark.parametrize("wrong", [torch.rand(2, 2, 2), torch.rand(5, 2), torch.rand(1, 5, 3)])
def test_what_is_no_set_of_points(wrong):
    for solver in (task.hull, task.tsp, task.delaunay):
        with pytest.raises(ValueError, match=r"at least 3 points in the plane, \(B, n, 2\); these are \("):
            solver(wrong)


def test_unknown_task():
    with pytest.raises(ValueError, match="no task 'knapsack'; there are: hull, delaunay, tsp, sort"):
        task.problems("knapsack", 1, 5, 0)


# ---- what may come next ----


def test_rules_by_hand():
    real = torch.tensor([[True] * 5, [True] * 4 + [False]])  # four points, three points

    def allowed(rule, *written):
        written = torch.tensor(written).expand(2, -1) if written else torch.zeros(2, 0, dtype=torch.long)
        return [[i for i, yes in enumerate(row) if yes] for row in rule(written, real).tolist()]

    assert allowed(task.anything) == [[0, 1, 2, 3, 4], [0, 1, 2, 3]]
    assert allowed(task.polygons) == [[1, 2, 3, 4], [1, 2, 3]]
    assert allowed(task.polygons, 2, 1) == [[3, 4], [3]]
    assert allowed(task.polygons, 2, 1, 3) == [[0, 4], [0]]
    assert allowed(task.polygons, 2, 1, 3, 0) == [[0, 4], [0]]
    assert allowed(task.tours, 2, 1) == [[3, 4], [3]]
    assert allowed(task.tours, 2, 1, 3) == [[4], [0]]
    assert allowed(task.triangles) == [[1, 2], [1]]
    assert allowed(task.triangles, 1) == [[2, 3], [2]]
    assert allowed(task.triangles, 1, 2) == [[3, 4], [3]]
    assert allowed(task.triangles, 1, 2, 3) == [[0, 1, 2], [0, 1]]
    assert allowed(task.triangles, 1, 2, 3, 0) == [[0], [0]]


@pytest.mark.parametrize("name", task.SOLVERS)
def test_the_true_answer_is_always_allowed_and_fits(name):
    made = task.problems(name, 50, 8, seed=5)
    assert made.target.shape[1] <= task.longest(name, 8)
    real = torch.ones(50, 9, dtype=torch.bool)
    for t in range(made.target.shape[1]):
        allowed = task.RULES[name](made.target[:, :t], real)
        assert allowed.gather(1, made.target[:, t : t + 1]).all()


def test_the_longest_triangulation_has_a_triangle_for_a_hull():
    """Three corners far out and n - 3 points inside: 2n - 5 triangles."""
    corners = torch.tensor([[-50.0, -50.0], [50.0, -50.0], [0.0, 80.0]]).expand(5, 3, 2)
    answer = task.delaunay(torch.cat([corners, points(5, 6)], 1))
    assert answer.shape[1] == task.longest("delaunay", 9)


def test_rules_leave_their_inputs_alone():
    real = torch.ones(1, 5, dtype=torch.bool)
    for rule in (task.anything, task.polygons, task.tours, task.triangles):
        rule(torch.tensor([[1, 2, 3]]), real)
        assert real.all()


# ---- measures ----


def test_area_and_length_by_hand():
    x = SQUARE[None].double()
    square, reverse, triangle = (torch.tensor([row]) for row in ([1, 2, 3, 4, 0, 3], [4, 3, 2, 1, 0, 0], [1, 2, 5, 0]))
    assert_close(measures.area(x, square), torch.tensor([1.0]).double())
    assert_close(measures.area(x, reverse), torch.tensor([-1.0]).double())
    assert_close(measures.area(x, triangle), torch.tensor([0.2]).double())
    assert_close(measures.length(x, square), torch.tensor([4.0]).double())
    assert_close(measures.length(x, triangle), torch.tensor([1 + 2 * 0.41**0.5]).double())


@pytest.mark.parametrize(
    ("answer", "valid"),
    [
        ([1, 2, 3, 4, 0], True),
        ([1, 2, 5, 3, 4], True),  # not convex, and fills the row: no stop
        ([1, 3, 2, 4, 0], False),  # both diagonals
        ([1, 2, 3, 2, 0], False),
        ([1, 2, 0, 3, 4], False),  # ended after two
        ([0, 1, 2, 3, 4], False),
        ([2, 4, 5, 1, 0], True),
        ([1, 2, 5, 1, 0], False),
    ],
)
def test_simple_polygons(answer, valid):
    assert measures.simple(SQUARE[None], torch.tensor([answer])).item() is valid


def test_simple_by_brute_force():
    """Against walking over all pairs of edges, with the crossing solved as two equations."""
    rng = torch.Generator().manual_seed(7)
    x = points(200, 6, seed=8).double()
    answer = torch.stack([torch.randperm(6, generator=rng) + 1 for _ in range(200)])

    def crosses(a, b, c, d):
        s, t = torch.linalg.solve(torch.stack([b - a, c - d], 1), c - a).tolist()
        return 0 < s < 1 and 0 < t < 1

    expected = []
    for row, polygon in zip(x, answer, strict=True):
        corners = row[polygon - 1]
        edges = [(corners[i], corners[(i + 1) % 6]) for i in range(6)]
        pairs = [(i, j) for i, j in combinations(range(6), 2) if (j - i) % 6 not in (1, 5)]
        expected.append(not any(crosses(*edges[i], *edges[j]) for i, j in pairs))
    assert measures.simple(x, answer).tolist() == expected and 10 < sum(expected) < 190


@pytest.mark.parametrize(
    ("answer", "same"),
    [
        ([1, 4, 2, 5, 0, 0], True),
        ([2, 5, 1, 4, 0, 3], True),  # another start
        ([5, 2, 4, 1, 0, 0], True),  # the other way round
        ([1, 2, 4, 5, 0, 0], False),  # the same corners, another polygon
        ([1, 4, 2, 0, 5, 0], False),
        ([1, 4, 2, 5, 3, 0], False),
        ([1, 4, 2, 5, 1, 0], False),  # a corner twice
        ([1, 4, 2, 5, 1, 4], False),
        ([0, 1, 4, 2, 5, 0], False),
    ],
)
def test_same_polygon(answer, same):
    assert measures.same_polygon(torch.tensor([answer]), torch.tensor([[1, 4, 2, 5, 0]])).item() is same


def test_hull_measures_by_hand():
    """One right, one that cuts off a corner, one that crosses itself: it counts as wrong and as invalid."""
    x = SQUARE.expand(4, 5, 2)
    answer = torch.tensor([[3, 4, 1, 2, 0], [1, 2, 3, 0, 0], [1, 3, 2, 4, 0], [1, 2, 5, 3, 4]])
    found = measures.hull(x, answer, task.hull(x))
    assert found == pytest.approx({"accuracy": 0.25, "area": (1 + 0.5 + 0.75) / 3, "invalid": 0.25})
    nothing = measures.hull(x, torch.zeros_like(answer), task.hull(x))
    assert nothing == {"accuracy": 0.0, "area": 0.0, "invalid": 1.0}


def test_tour_measures_by_hand():
    x = SQUARE[:4].expand(3, 4, 2)
    answer = torch.tensor([[1, 2, 3, 4, 0], [1, 3, 2, 4, 0], [1, 2, 3, 0, 0]])  # the last leaves out a point
    found = measures.tsp(x, answer, task.tsp(x))
    assert found == pytest.approx({"length": (4 + 2 + 2 * 2**0.5) / 2, "invalid": 1 / 3, "optimal": 4})
    assert "optimal" not in measures.tsp(x, answer)


def test_triangle_measures_by_hand():
    target = torch.tensor([[1, 2, 3, 2, 3, 4, 0]] * 6)
    answer = torch.tensor(
        [
            [4, 3, 2, 1, 2, 3, 0],  # both, in another order
            [1, 2, 3, 0, 2, 3, 4],  # the second after the stop
            [1, 2, 3, 2, 3, 4, 1],  # and half a triangle: not counted
            [1, 2, 3, 1, 2, 3, 0],  # one of them twice
            [1, 2, 4, 1, 1, 4, 0],  # none
            [1, 2, 3, 2, 3, 4, 0],
        ]
    )
    found = measures.delaunay(SQUARE.expand(6, 5, 2), answer, target)
    assert found == pytest.approx({"accuracy": 3 / 6, "coverage": (1 + 0.5 + 1 + 0.5 + 0 + 1) / 6})
    more = torch.cat([target[:1, :6], torch.tensor([[1, 2, 4, 0]])], 1)  # a third that is not there
    assert measures.delaunay(SQUARE[None], more, target[:1]) == {"accuracy": 0.0, "coverage": 1.0}


def test_sorting_measures_by_hand():
    target = torch.tensor([[2, 3, 1, 0]] * 3)
    answer = torch.tensor([[2, 3, 1, 0, 3], [2, 1, 3, 0, 0], [2, 3, 0, 1, 0]])
    found = measures.sort(None, answer, target)
    assert found == pytest.approx({"accuracy": 1 / 3, "places": (3 + 1 + 2) / 9})


# ---- sets on disk ----


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "sets"))
    return tmp_path / "sets"


def equal(a, b):
    return type(a) is type(b) and all(x.dtype == y.dtype and torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_set_is_made_once(cache, monkeypatch):
    made = task.cached("delaunay", 5, 6, seed=1)
    assert equal(made, task.problems("delaunay", 5, 6, seed=1))
    assert len(list(cache.iterdir())) == 1  # and nothing half written beside it
    monkeypatch.setitem(task.SOLVERS, "delaunay", None)  # would raise
    assert equal(made, task.cached("delaunay", 5, 6, seed=1))
    with pytest.raises(TypeError):
        task.cached("delaunay", 5, 6, seed=2)  # another set, not that one


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d[:-1] + bytes([d[-1] ^ 1]), lambda d: b""])
def test_a_damaged_set_is_set_aside_and_made_again(cache, damage):
    made = task.cached("tsp", 4, 5, seed=1)
    (file,) = cache.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert equal(made, task.cached("tsp", 4, 5, seed=1))
    assert {p.name for p in cache.iterdir()} == {file.name, f"{file.name}.damaged"}
    assert equal(made, task._parse(file.read_bytes()))


def test_where_nothing_can_be_written_a_set_is_made_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "file" / "sets"))
    assert equal(task.cached("sort", 4, 5, seed=1), task.problems("sort", 4, 5, seed=1))


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("ATTNCOURSE_CACHE", raising=False)
    if os.name == "posix":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert task.folder() == tmp_path / "attncourse"
