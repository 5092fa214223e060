"""The explorable of chapter 06: the scores are the model's, the window's arithmetic is the package's."""

import json

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone

from attncourse import zoo
from attncourse.widgets import LocalWindow
from attncourse.widgets.window.widget import NAME, WIDEST, examples
from attncourse.zoo.translation import forced

BOOK_PAGE = "notebooks/06_luong.html"


@pytest.fixture(scope="module")
def widget():
    return LocalWindow()


def test_state_is_small_and_holds_no_weights(widget):
    state = widget.get_state()
    assert len(json.dumps(state["sentences"])) < 15_000 and "zoo" not in state


def test_at_the_models_own_centre_the_weights_are_the_models(widget):
    """Against the forced decoding of the whole model: nothing but rounding between them."""
    model, card = zoo.load(NAME)
    for i, example in enumerate(examples()):
        _, weights = forced(model, [example], card["config"])
        for t in range(len(example.french)):
            here = LocalWindow(sentence=i, word=t)
            before, after = here.weights()
            near_edge = abs((here.centre + here.radius) % 1 - 0.5) > 0.49  # rounded to the other side of a word
            if not near_edge:
                assert (after - weights[0, t].double()).abs().max() < 0.02
            assert before.sum() == pytest.approx(1) and after.sum() < 1


def test_bahdanaus_sentence_is_there(widget):
    assert widget.chosen["french"][widget.word] == "zone" and "european" in widget.chosen["english"]
    assert [widget.chosen["english"][s] for s in widget.chosen["gold"][widget.word]] == ["area"]


@pytest.mark.parametrize("traits", [{"sentence": 4}, {"word": 40}, {"centre": -0.5}, {"radius": 0}, {"radius": 7}])
def test_malformed_traits_are_refused(traits):
    with pytest.raises(TraitError):
        LocalWindow(**traits)


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("window"), widget) as url:
        yield url


def shown(page):
    return [float(x) for x in page.locator(".attn-window").get_attribute("data-weights").split()]


def test_every_window_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        for sentence in range(4):
            for word in (0, 3):
                for centre, radius in ((0.0, 1), (2.4, 2), (5.0, 3), (6.0, WIDEST)):
                    traits = {"sentence": sentence, "word": word, "centre": centre, "radius": radius}
                    page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
                    np.testing.assert_allclose(shown(page), LocalWindow(**traits).weights()[1], atol=1e-5)
        assert page.evaluate("cleanup(), model.set('radius', 1), 1") == 1
        np.testing.assert_allclose(shown(page), LocalWindow(**traits).weights()[1], atol=1e-5)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard: another word, then the window away from it and back."""
    here = page.locator(".attn-window")
    radio = here.get_by_role("radio", name="économique", exact=True)
    radio.focus()
    page.keyboard.press("Space")
    own = LocalWindow(sentence=3, word=5)
    np.testing.assert_allclose(shown(page), own.weights()[1], atol=1e-5)
    here.get_by_role("slider", name="radius D").focus()
    page.keyboard.press("Home")
    here.get_by_role("slider", name="centre pₜ").focus()
    page.keyboard.press("Home")
    moved = LocalWindow(sentence=3, word=5, centre=0.0, radius=1)
    np.testing.assert_allclose(shown(page), moved.weights()[1], atol=1e-5)
    page.wait_for_function(
        "document.querySelector('.attn-window .attn-words').textContent.includes('The window misses “economic”')"
    )
    here.get_by_role("button", name="where the model looks").click()
    np.testing.assert_allclose(shown(page), own.weights()[1], atol=1e-5)
    assert torch.tensor(shown(page)).sum() < 1


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-window-bars", staticmethod(explore)
