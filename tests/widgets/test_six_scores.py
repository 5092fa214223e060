"""Six scores, one picture: traits in Python; numbers, draws and behaviour in a browser, alone and on the built page."""

import json

import numpy as np
import pytest
import torch
from browser import visit
from places import ROOT
from traitlets import TraitError
from widget_numbers import LIB, RUN, as_js
from widget_page import built, readable, stand_alone, stored

from attncourse.core import masks, scores
from attncourse.widgets import SixScores
from attncourse.widgets.plane import QueryAmongKeys
from attncourse.widgets.six_scores.widget import NAMES, uniforms

CHAPTER = "05_query_key_value"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The URL of a page that holds the widget and a model that stands in for the kernel."""
    with stand_alone(tmp_path_factory.mktemp("six"), SixScores()) as url:
        yield url


def shown(page, name="weight"):
    """(6, N) numbers from the table."""
    rows = page.evaluate(
        """(name) => [...document.querySelectorAll(".attn-six-scores tr[data-score]")].map((row) =>
        [...row.querySelectorAll("td[data-weight]")].map((cell) => Number(cell.dataset[name])))""",
        name,
    )
    return np.array(rows)


def contexts(page):
    rows = page.locator(".attn-six-scores tr[data-score]").all()
    return np.array([[float(x) for x in row.get_attribute("data-context").split()] for row in rows])


def same_as_python(page, six):
    context, weights = six.attend()
    np.testing.assert_allclose(shown(page), weights, atol=1e-5)
    if not six.hard:
        return np.testing.assert_allclose(contexts(page), context, atol=1e-5)
    index, shares = six.sample()
    np.testing.assert_allclose(shown(page, "share"), shares, atol=1e-9)
    drawn = page.locator(".attn-six-scores td.attn-drawn")
    assert drawn.count() == 6
    np.testing.assert_allclose(contexts(page), np.array(six.values)[index], atol=1e-5)


# ---- Python ----


def test_the_module_is_small_and_needs_nothing_else():
    assert stored(SixScores()) < 60_000


def test_weights_are_the_packages():
    six = SixScores(temperature=0.5, query=[-0.5, 1.0])
    context, weights = six.attend()
    query, keys = torch.tensor([six.query]).double(), torch.tensor(six.key_vectors).double()
    assert list(six.scores()) == NAMES and weights.shape == (6, 5)
    expected = masks.softmax(scores.scaled_dot(query, keys), temperature=0.5)[0]
    torch.testing.assert_close(weights[NAMES.index("scaled_dot")], expected)
    expected = masks.softmax(scores.content(query, keys, 2.0), temperature=0.5)[0]
    torch.testing.assert_close(weights[NAMES.index("content")], expected)
    torch.testing.assert_close(context, weights @ torch.tensor(six.values).double())


def test_location_does_not_see_the_keys_and_general_turns_them():
    here, there = SixScores(), SixScores(key_vectors=[[x, -y] for x, y in SixScores().key_vectors])
    at = NAMES.index("location")
    torch.testing.assert_close(here.attend()[1][at], there.attend()[1][at])
    turned = SixScores(key_vectors=[[-y, x] for x, y in here.key_vectors])  # by a quarter, as W does
    weights = here.attend()[1][NAMES.index("general")]
    torch.testing.assert_close(turned.attend()[1][NAMES.index("dot")], weights)


def test_draws_come_from_the_weights_and_are_repeatable():
    six = SixScores(hard=True, draws=10_000, seed=5)
    index, shares = six.sample()
    _, weights = six.attend()
    assert (shares - weights).abs().max() < 0.02 and index.shape == (6,)
    assert torch.equal(SixScores(draws=10_000, seed=5).sample()[1], shares)
    numbers = np.array(uniforms(0, 10_000))
    assert 0 <= numbers.min() and numbers.max() < 1 and abs(numbers.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"query": [1, 2, 3]}, r"query\[0\] is \[1, 2, 3\]; it needs 2 numbers from -2 to 2"),
        ({"key_vectors": [[0, 0]] * 9}, "1 to 8 keys; these are 9"),
        ({"values": [[0, 0, 1]] * 4}, "one value per key: 5 keys, 4 values"),
        ({"score": "cosine"}, "cosine"),
        ({"temperature": 0}, "temperature"),
        ({"draws": 0}, "draws"),
        ({"v": [1.0]}, "hidden sizes of the additive score differ"),
        ({"places": [[1, 0]]}, "places needs one for each of 5 keys, has 1"),
        ({"W": [[1, 0]]}, "W needs 2 rows and has 1"),
    ],
)
def test_malformed_traits_are_refused_with_a_reason(traits, message):
    with pytest.raises(TraitError, match=message):
        SixScores(**traits)


# ---- in a browser ----


def test_new_functions_of_the_library_equal_python(browser, desk):
    torch.manual_seed(0)
    query, key, W, places = torch.randn(2), torch.randn(2), torch.randn(2, 2), torch.randn(6, 2)
    with torch.no_grad():
        general, location = scores.General(2, 2), scores.Location(2, 6)
        general.W.weight.copy_(W)
        location.W.weight.copy_(places)
        q, k = query[None], key[None]
        expected = {
            "SCORES.content": (as_js([query, key, {"strength": 3.0}]), scores.content(q, k, 3.0)),
            "SCORES.general": (as_js([query, key, {"W": W}]), general(q, k)),
            "SCORES.location": (as_js([query, key, {"places": places}, 4]), location(q, key.expand(6, 2))[0, 4]),
            "cosine": (as_js([torch.zeros(2), key]), torch.zeros(1)),
            "uniforms": ([2024, 50], torch.tensor(uniforms(2024, 50))),
            "drawn": ([[0.2, 0.5, 0.3], 0.71], torch.tensor([2.0])),
        }
    with visit(browser, desk) as (page, complaints):
        found = page.evaluate(RUN, [LIB, {name: [name, args] for name, (args, _) in expected.items()}])
        assert page.evaluate(RUN, [LIB, {"end": ["drawn", [[0.5, 0.49999], 0.999999]]}]) == {"end": [1]}
    assert not complaints
    for name, (_, value) in expected.items():
        np.testing.assert_allclose(found[name], value.flatten(), atol=2e-6, err_msg=name)


def test_by_keyboard_it_equals_python(browser, desk):
    with visit(browser, desk) as (page, complaints):
        same_as_python(page, SixScores())
        page.get_by_role("slider", name="key 2").focus()
        page.keyboard.press("Shift+ArrowLeft")
        page.get_by_role("slider", name="query").focus()
        page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("ArrowRight")
        keys = [*SixScores().key_vectors]
        keys[1] = [0.05, 1.4]
        moved = {"key_vectors": keys, "query": [0.65, 0.65]}
        for temperature in (0.1, 0.5, 1.0, 4.0):
            page.evaluate("(t) => model.set('temperature', t)", temperature)
            same_as_python(page, SixScores(**moved, temperature=temperature))
        for name in ("content", "location", "scaled dot"):
            radio = page.get_by_role("radio", name=name, exact=True)
            radio.check()
            assert radio.evaluate("(node) => node === document.activeElement || node.checked")
            at = NAMES.index(name.replace(" ", "_"))
            picture = [float(x) for x in page.locator(".attn-six-scores").get_attribute("data-context").split()]
            np.testing.assert_allclose(picture, SixScores(**moved, temperature=4.0).attend()[0][at], atol=1e-5)
        page.get_by_role("radio", name="scaled dot", exact=True).focus()
        page.keyboard.press("ArrowUp")
        assert page.evaluate("model.get('score')") == "dot"
        assert page.evaluate("document.activeElement.value") == "dot"  # the redrawn table keeps the focus
        page.get_by_role("button", name="start again").click()
        same_as_python(page, SixScores())
    assert not complaints


def test_hard_reads_are_draws_that_follow_the_weights(browser, desk):
    with visit(browser, desk) as (page, complaints):
        assert not page.get_by_role("button", name="draw again").is_visible()
        page.get_by_role("radio", name="hard: a draw").check()
        same_as_python(page, SixScores(hard=True))
        page.get_by_role("button", name="draw again").click()
        same_as_python(page, SixScores(hard=True, draws=2))
        for _ in range(3):
            page.get_by_role("button", name="draw 100").click()
        same_as_python(page, SixScores(hard=True, draws=302))
        words = page.locator(".attn-words").filter(has_text="Drawn: content ")
        words.wait_for()
        page.get_by_role("button", name="new random numbers").click()
        same_as_python(page, SixScores(hard=True, seed=1))
        page.get_by_role("radio", name="soft: the mixture").check()
        same_as_python(page, SixScores())
        assert page.locator(".attn-drawn, .attn-share").count() == 0
    assert not complaints


def test_it_follows_its_traits(browser, desk):
    with visit(browser, desk) as (page, complaints):
        two = {"key_vectors": [[1, 0], [0, 1]], "values": [[1, 0, 0], [0, 0, 1]]}
        for name, value in two.items():
            page.evaluate("([name, value]) => model.set(name, value)", [name, value])
        page.evaluate("model.set('strength', 5); model.set('W', [[2, 0], [0, 1]])")
        six = SixScores(**two, strength=5.0, W=[[2, 0], [0, 1]])
        same_as_python(page, six)
        assert page.locator(".attn-key").count() == 2
        page.evaluate("cleanup(); model.set('query', [0, 0])")
        same_as_python(page, six)
    assert not complaints


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk, width=380) as (page, complaints):
        page.get_by_role("radio", name="hard: a draw").check()
        readable(page, ".attn-plane")
    assert not complaints


# ---- on the built page ----


def six_of_the_page():
    saved = json.loads((ROOT / f"notebooks/{CHAPTER}.ipynb").read_text())["metadata"]["widgets"]
    states = [w["state"] for w in saved["application/vnd.jupyter.widget-state+json"]["state"].values()]
    names = [*QueryAmongKeys.class_own_traits(), *SixScores.class_own_traits()]
    [state] = [state for state in states if state.get("_anywidget_id", "").endswith("SixScores")]
    return SixScores(**{k: state[k] for k in names if k in state and k != "extent"})


@pytest.mark.book
@pytest.mark.parametrize("look", [{}, {"way": "file", "width": 380, "scheme": "dark"}])
def test_in_the_chapter_without_a_kernel(browser, site, html, look):
    with built(browser, site, html, f"notebooks/{CHAPTER}.html", **look) as page:
        six, root = six_of_the_page(), page.locator(".attn-six-scores")
        root.locator("td[data-weight]").first.wait_for()
        same_as_python(page, six)
        root.get_by_role("slider", name="query").focus()
        page.keyboard.press("Shift+ArrowLeft")
        six.query = [round(six.query[0] - 0.25, 2), six.query[1]]
        same_as_python(page, six)
        root.get_by_role("radio", name="hard: a draw").check()
        root.get_by_role("button", name="draw 100").click()
        six.hard, six.draws = True, 101
        same_as_python(page, six)
