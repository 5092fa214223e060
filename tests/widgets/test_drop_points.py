"""Drop points: traits in Python; the network, the rules and the exact answers in a browser, against PyTorch."""

import json

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import built, readable, stand_alone

from attncourse.tasks import geometry, geometry_metrics
from attncourse.widgets import DropPoints

BOOK_PAGE = "notebooks/14_pointer_networks.html"
ROOT = "document.querySelector('.attn-drop-points')"
SIZES = {"hull": (3, 5, 10, 20, 30), "tsp": (3, 5, 7, 9, 10, 12, 16, 20)}


def drawn(n, seed):
    return torch.rand(n, 2, generator=torch.Generator().manual_seed(seed)).mul(1000).round().div(1000).tolist()


# ---- Python ----


@pytest.mark.parametrize("task", SIZES)
def test_the_state_is_small_and_holds_no_weights(task):
    state = DropPoints(task).get_state()
    state.pop("layout")
    assert state["zoo"] == f"pointer-{task}" and state["output"][-1] == geometry.STOP
    assert len(json.dumps(state)) < 60_000


@pytest.mark.parametrize("task", SIZES)
def test_the_example_is_the_run(task):
    widget = DropPoints(task)
    symbols, weights = widget.run()
    assert widget.example["points"] == widget.points and widget.example["symbols"] == symbols.tolist() == widget.output
    np.testing.assert_allclose(widget.example["weights"], weights, atol=1e-4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(symbols)))


@pytest.mark.parametrize("task", SIZES)
def test_the_first_screen_is_solved_exactly(task):
    """A reader's first look is at an answer that is right."""
    widget = DropPoints(task)
    assert widget.output[:-1] == widget.exact()


@pytest.mark.parametrize(
    "wrong", [{"points": [[0, 0], [1, 1]]}, {"points": [[0.5, 0.5]] * 31}, {"points": [[0, 0], [1, 1], [0.5, 2]]},
              {"task": "sort"}, {"points": 7}, {"arrows": -2}],
)  # fmt: skip
def test_malformed_traits_are_refused(wrong):
    with pytest.raises(TraitError):
        DropPoints(**wrong)


# ---- JavaScript against PyTorch ----


@pytest.fixture(scope="module", params=SIZES)
def desk(request, tmp_path_factory):
    """task, and the URL of its page"""
    with stand_alone(tmp_path_factory.mktemp(request.param), DropPoints(request.param)) as url:
        yield request.param, url


def settled(page, points):
    page.wait_for_function(
        f"(wanted) => {ROOT}.dataset.points === wanted && {ROOT}.dataset.state === 'ready'",
        arg=page.evaluate("(points) => JSON.stringify(points)", points),
    )
    return page.evaluate(f"{ROOT}.result")


def same_as_torch(task, result):
    widget = DropPoints(task, points=result["points"])  # whose example is PyTorch's run, see above
    assert result["symbols"] == widget.output
    np.testing.assert_allclose(result["weights"], widget.example["weights"], atol=1e-3)
    return widget


def test_fifty_random_sets_equal_pytorch(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, complaints):
        page.get_by_role("button", name="one step").focus()  # the weights are loaded on first use
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
        right = 0
        for i in range(50):
            points = drawn(SIZES[task][i % len(SIZES[task])], seed=i)
            page.evaluate("(points) => model.set('points', points)", points)
            result = settled(page, points)
            widget = same_as_torch(task, result)
            assert page.evaluate("model.get('output')") == widget.output
            if task == "tsp" and len(points) > geometry.LARGEST:
                assert sorted(result["exact"]) == list(range(1, len(points) + 1))
                continue
            if len(points) > 3 or task == "hull":  # a tour of three is a matter of taste: all are shortest
                assert result["exact"] == widget.exact()
            answer, exact = (torch.tensor([row]) for row in (widget.output, [*widget.exact(), geometry.STOP]))
            found = geometry_metrics.same_polygon(answer, exact).item()
            assert (page.locator(".attn-drop-verdict").inner_text().startswith("This is the")) == found
            right += found
        assert right >= (35 if task == "hull" else 22)
        assert page.evaluate("cleanup(), model.set('points', [[0, 0], [0, 1], [1, 1]]), 1") == 1
        assert page.evaluate(f"JSON.parse({ROOT}.dataset.points).length") == len(points)  # it listens no more
    assert not complaints


def test_the_search_finds_the_shortest_tour_where_it_is_known(browser, desk):
    """Beyond twelve points the page compares with a local search. Where the exact tour is known, how good is it?"""
    task, url = desk
    if task == "hull":
        pytest.skip("a hull is solved exactly, however many points it has")
    sets = [drawn(n, seed) for n in (4, 8, 12) for seed in range(15)]
    with visit(browser, url) as (page, _):
        found = page.evaluate("(sets) => sets.map((p) => [module.search(p), module.length(p, module.search(p))])", sets)
    shortest = [geometry_metrics.length(torch.tensor([p]), geometry.tsp(torch.tensor([p]))).item() for p in sets]
    assert all(sorted(cycle) == list(range(1, len(p) + 1)) for (cycle, _), p in zip(found, sets, strict=True))
    over = np.array([length for _, length in found]) / shortest - 1
    assert (over > -1e-5).all() and (over < 1e-5).mean() > 0.9 and over.max() < 0.05


def test_what_was_pointed_at_stays_and_what_comes_is_faint(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, complaints):
        steps = len(DropPoints(task).output)
        page.emulate_media(reduced_motion="reduce")
        for shown in (3, steps):
            page.evaluate("(n) => model.set('arrows', n)", shown if shown < steps else -1)
            seen = page.locator(".attn-row").evaluate_all("(all) => all.map((row) => getComputedStyle(row).opacity)")
            assert seen == ["1"] * shown + ["0.35"] * (steps - shown)
    assert not complaints


def test_area_and_length_in_the_page(browser, desk):
    _, url = desk
    points = drawn(8, seed=3)
    cycle = [3, 1, 7, 5, 8]
    expected = (geometry_metrics.area, geometry_metrics.length)
    with visit(browser, url) as (page, _):
        found = page.evaluate("([p, c]) => [module.area(p, c), module.length(p, c)]", [points, cycle])
    wanted = [f(torch.tensor([points]), torch.tensor([[*cycle, geometry.STOP]])).item() for f in expected]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


# ---- in the hand ----


def test_the_first_screen_needs_no_weights(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.state") is None
        assert page.evaluate(f"{ROOT}.result.symbols") == DropPoints(task).output
        page.locator(".attn-words").filter(has_text="The answer: ").wait_for()
        assert page.locator(".attn-arrow").count() == len(DropPoints(task).output) - 1
    assert not complaints


def explore(page, task):
    """By keyboard: a point moved, one added, one deleted, arrow by arrow."""
    here = page.locator(".attn-drop-points").nth(0 if task == "hull" else -1)
    root = f"[...document.querySelectorAll('.attn-drop-points')].at({0 if task == 'hull' else -1})"

    def result(points):
        wanted = page.evaluate("(points) => JSON.stringify(points)", points)
        page.wait_for_function(f"(w) => {root}.dataset.points === w && {root}.dataset.state === 'ready'", arg=wanted)
        return page.evaluate(f"{root}.result")

    points = [list(p) for p in DropPoints(task).points]
    here.get_by_role("slider", name="point 2;").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    points[1] = [round(points[1][0] + 0.02, 3), round(points[1][1] - 0.1, 3)]
    same_as_torch(task, result(points))
    page.keyboard.press("Delete")
    del points[1]
    found = result(points)
    same_as_torch(task, found)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("point 1;")
    here.get_by_role("button", name="begin").press("Enter")
    here.locator(".attn-words").filter(has_text="It has not pointed at anything yet.").wait_for()
    here.get_by_role("button", name="one step").press("Enter")
    page.keyboard.press("Enter")
    first, second = found["symbols"][:2]
    said = f"Step 2 of {len(found['symbols'])}: after point {first} it points at point {second} ("
    here.locator(".attn-words").filter(has_text=said).wait_for()
    assert here.locator(".attn-arrow").count() == 1
    here.get_by_role("slider", name="step").focus()
    page.keyboard.press("End")
    here.locator(".attn-words").filter(has_text="The answer: ").wait_for()


def test_by_keyboard(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, complaints):
        explore(page, task)
    assert not complaints


def test_by_pointer(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, complaints):
        here, points = page.locator(".attn-drop-points"), DropPoints(task).points
        box = here.locator(".attn-plane").first.bounding_box()

        def at(x, y):
            return box["x"] + box["width"] * (0.5 + (x - 0.5) / 1.14), box["y"] + box["height"] * (
                0.5 - (y - 0.5) / 1.14
            )

        page.mouse.click(*at(0.04, 0.96))
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready' && {ROOT}.result.points.length === {len(points) + 1}")
        new = page.evaluate("model.get('points')")[-1]
        np.testing.assert_allclose(new, [0.04, 0.96], atol=0.02)
        same_as_torch(task, page.evaluate(f"{ROOT}.result"))
        page.mouse.move(*at(*points[0]))
        page.mouse.down()
        page.mouse.move(*at(0.5, 0.3), steps=4)
        page.mouse.up()
        np.testing.assert_allclose(page.evaluate("model.get('points')")[0], [0.5, 0.3], atol=0.02)
        assert page.evaluate("model.get('points').length") == len(points) + 1  # a drag is no click
        here.get_by_role("button", name="take one away").click()
        assert page.evaluate("model.get('points').length") == len(points)
        largest = SIZES[task][-1]
        here.get_by_role("button", name="10 at random").click()
        for _ in range(largest - 10 + 2):
            here.get_by_role("button", name="add a point").click()
        assert page.evaluate("model.get('points').length") == largest  # and no more
        same_as_torch(task, settled(page, page.evaluate("model.get('points')")))
    assert not complaints


def test_playing_and_reduced_motion(browser, desk):
    _, url = desk
    with visit(browser, url) as (page, complaints):
        here = page.locator(".attn-drop-points")
        page.evaluate("model.set('points', [[0.1, 0.1], [0.9, 0.2], [0.4, 0.8]])")
        settled(page, [[0.1, 0.1], [0.9, 0.2], [0.4, 0.8]])
        here.get_by_role("button", name="play").click()
        page.wait_for_function(f"{ROOT}.dataset.shown === '1'")
        here.get_by_role("button", name="pause").click()
        page.emulate_media(reduced_motion="reduce")
        here.get_by_role("button", name="play").click()
        assert page.evaluate(f"{ROOT}.dataset.shown") == "4"
    assert not complaints


def test_missing_weights_are_said_to_be_missing(browser, desk):
    task, url = desk
    with visit(browser, url) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.get_by_role("button", name="5 at random").click()
        page.locator(".attn-notes").filter(has_text="could not be loaded: the weights are damaged").wait_for()
        assert page.locator(".attn-arrow").count() == 0
        page.evaluate("window.kernel = 'answers'")
        page.get_by_role("button", name="Try again").click()
        same_as_torch(task, settled(page, page.evaluate("model.get('points')")))
        assert page.locator(".attn-notes").inner_text() == ""


def test_readable_by_all_on_screen_and_paper(browser, desk):
    _, url = desk
    with visit(browser, url, width=380) as (page, complaints):
        page.get_by_role("button", name="10 at random").click()
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready' && {ROOT}.result.points.length === 10")
        readable(page, ".attn-drop-row")
    assert not complaints


# ---- on the built page, without a kernel ----


@pytest.mark.book
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (380, "dark")])
def test_on_the_built_page(browser, site, html, width, scheme):
    with built(browser, site, html, BOOK_PAGE, width, scheme) as page:
        page.locator(".attn-drop-points").first.wait_for()
        for task in SIZES:
            explore(page, task)
