"""The explorable of chapter 02: its numbers are the networks' own, and the page shows them."""

import json

import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone

from attncourse import zoo
from attncourse.bench.sequential import jacobian_by_loop
from attncourse.tasks import recall as task
from attncourse.widgets import MemoryHorizon
from attncourse.widgets.memory_horizon.widget import DISTANCES, NETWORKS, SIZE

BOOK_PAGE = "notebooks/02_sequential_jacobian.html"


@pytest.fixture(scope="module")
def widget():
    return MemoryHorizon()


def test_state_is_small_and_needs_no_weights(widget):
    state = widget.get_state()
    assert len(json.dumps([state["maps"], state["answers"], state["accuracy"], state["text"]])) < 34_000
    assert "zoo" not in state and len(state["text"]) == SIZE


@pytest.mark.parametrize("architecture", NETWORKS)
def test_rows_are_the_networks_jacobian(widget, architecture):
    """Against T · K separate backward passes, on the letters that are shown."""
    network = zoo.load(NETWORKS[architecture])[0][0]
    x = task.one_hot(torch.tensor([[task.RECALL.index(c) for c in widget.text]]), task.RECALL)
    for distance in (1, 8):
        first = 4 * (distance - 1)
        J = jacobian_by_loop(lambda x, first=first: network(x)[..., first : first + 4], x)[0]
        share = 100 * J / J.sum(-1, keepdim=True)
        for step in (0, 9, 31):
            shown = MemoryHorizon(architecture=architecture, distance=distance, step=step).row()
            assert torch.tensor(shown).sub(share[step, : step + 1]).abs().max() <= 0.51
            assert (share[step, step + 1 :] == 0).all()
        assert widget.answers[architecture][DISTANCES.index(distance)] == task.show(
            network(x)[0, :, first : first + 4].argmax(-1), task.RECALL
        )


def test_beyond_its_reach_a_convolution_sees_nothing(widget):
    row = MemoryHorizon(architecture="bytenet", distance=24, step=31).row()
    assert len(row) == 32 and row[0] == 0


@pytest.mark.parametrize("traits", [{"architecture": "gru"}, {"distance": 3}, {"step": SIZE}, {"step": -1}])
def test_malformed_traits_are_refused(traits):
    with pytest.raises(TraitError):
        MemoryHorizon(**traits)


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("horizon"), widget) as url:
        yield url


def shown(page):
    return [int(x) for x in page.locator(".attn-memory-horizon").get_attribute("data-row").split()]


def test_every_distance_shows_a_letter_to_ask_for(browser, stand):
    """On the first screen, and wherever the reader was: a distance never reaches back before the first letter."""
    with visit(browser, stand) as (page, complaints):
        assert MemoryHorizon().step >= max(DISTANCES)
        page.evaluate("model.set('step', 2)")
        for distance in DISTANCES:
            page.get_by_role("radio", name=str(distance), exact=True).check()
            assert page.locator(".attn-source").count() == 1 and page.evaluate("model.get('step')") >= distance
    assert not complaints


def explore(page):
    """By keyboard: another architecture, another distance, another step; the row is Python's."""
    here = page.locator(".attn-memory-horizon")  # the quiz has radios, too
    here.get_by_role("radio", name="RNN", exact=True).focus()
    page.keyboard.press("ArrowRight")  # LSTM
    here.get_by_role("radio", name="4", exact=True).focus()
    page.keyboard.press("ArrowRight")  # 8
    step = here.get_by_role("slider", name="time step")
    step.focus()
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    now = MemoryHorizon(architecture="lstm", distance=8, step=SIZE - 3)
    assert shown(page) == now.row()
    source = SIZE - 3 - 8
    assert page.locator(".attn-source").count() == 1
    words = f"asked for the letter 8 steps back, the {now.text[source]} at step {source}."
    page.wait_for_function("(w) => document.querySelector('.attn-memory-horizon .attn-words').textContent.includes(w)",
                           arg=words)  # fmt: skip
    right = now.answers["lstm"][DISTANCES.index(8)][SIZE - 3] == now.text[source]
    assert page.locator(".attn-memory-horizon").get_attribute("data-verdict") == ("right" if right else "wrong")
    step.focus()
    page.keyboard.press("Home")
    assert shown(page) == [100] and page.locator(".attn-source").count() == 0  # nothing to ask for yet


def test_every_row_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        for name in NETWORKS:
            for distance in DISTANCES:
                for step in (0, 13, 31):
                    traits = {"architecture": name, "distance": distance, "step": step}
                    page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
                    assert shown(page) == MemoryHorizon(**traits).row()
        explore_again = page.evaluate("cleanup(), model.set('step', 5), 1")
        assert explore_again == 1 and shown(page) == MemoryHorizon(**traits).row()  # it no longer listens
    assert not complaints


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-memory-horizon .attn-bars", staticmethod(explore)
