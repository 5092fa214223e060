"""Tours by local search: how far they are from Held and Karp's, and each move against the length it really saves."""

import pytest
import torch
from torch.testing import assert_close

from attncourse.tasks import geometry as task
from attncourse.tasks import geometry_metrics as measures
from attncourse.tasks import geometry_tours as tours


def points(rows, n, seed=0):
    return torch.rand(rows, n, 2, generator=torch.Generator().manual_seed(seed)).double()


def between(x):
    return torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")


@pytest.mark.parametrize(("n", "same"), [(5, 1.0), (8, 0.98), (10, 0.97), (12, 0.95)])
def test_nearly_always_the_shortest_tour(n, same):
    x = points(200, n, seed=n)
    exact, found = measures.length(x, task.tsp(x)), measures.length(x, tours.short_tour(x))
    assert (found >= exact - 1e-9).all()
    assert (found < exact + 1e-9).double().mean() >= same
    assert (found / exact).mean() < 1.0005


def test_where_it_is_the_shortest_it_is_written_as_the_exact_one():
    x = points(100, 8, seed=1)
    exact, found = task.tsp(x), tours.short_tour(x)
    same = measures.length(x, found) < measures.length(x, exact) + 1e-9
    assert same.sum() > 95 and torch.equal(found[same], exact[same])


def test_a_tour_of_twenty_visits_all_and_more_starts_find_shorter_ones():
    x = points(100, 20, seed=2)
    one, four = (tours.short_tour(x, starts) for starts in (1, 4))
    for answer in (one, four):
        assert answer[:, :-1].sort(1).values.equal(torch.arange(1, 21).expand(100, 20)) and (answer[:, -1] == 0).all()
        assert (answer[:, 0] == 1).all() and (measures.area(x, answer) > 0).all() and measures.simple(x, answer).all()
    assert measures.length(x, four).mean() < measures.length(x, one).mean()


@pytest.mark.parametrize("n", [5, 6, 9])
def test_a_move_saves_what_it_says_and_no_other_saves_more(n):
    """Against carrying out every move: all 2-opts, and all stretches of one to three put everywhere, both ways."""
    x = points(20, n, seed=n)
    order = torch.arange(n).expand(20, n)
    saved, new = tours.best_move(between(x))
    assert new.sort(1).values.equal(order)
    start = tours.tour_length(order, between(x))
    assert_close(start - tours.tour_length(new, between(x)), saved)
    every = {tuple(range(n))}
    for i in range(n):
        for j in range(i + 1, n):
            every.add((*range(i), *range(j, i - 1, -1), *range(j + 1, n)))
        for k in (1, 2, 3):
            stretch, rest = [(i + d) % n for d in range(k)], [(i + k + d) % n for d in range(n - k)]
            for at in range(1, len(rest)):
                for part in (stretch, stretch[::-1]):
                    every.add((*rest[:at], *part, *rest[at:]))
    others = torch.tensor(sorted(every))
    for row in range(20):
        lengths = tours.tour_length(others, between(x)[row].expand(len(others), n, n))
        assert_close((start[row] - lengths.min()).clamp(min=0), saved[row].clamp(min=0))


def test_nothing_is_left_to_improve():
    x = points(30, 11, seed=3)
    tour = tours.short_tour(x)[:, :-1] - 1
    along = between(x.gather(1, tour[..., None].expand(-1, -1, 2)))
    assert (tours.best_move(along)[0] <= tours.GAIN).all()


def test_too_few_points():
    with pytest.raises(ValueError, match=r"at least 5 points in the plane, \(B, n, 2\); these are \(2, 4, 2\)"):
        tours.short_tour(torch.rand(2, 4, 2))


def test_longer_problems_are_answered_by_local_search():
    made = task.problems("tsp", 6, 13, seed=1)
    assert torch.equal(made.target, tours.short_tour(made.points)) and (made.lengths == 14).all()
