"""The explorable of chapter 09: the weights are those of the real encoder, head by head."""

import json

import numpy as np
import pytest
import torch
from browser import visit
from torch.testing import assert_close
from traitlets import TraitError
from widget_page import PageTests, stand_alone

from attncourse import zoo
from attncourse.core import masks
from attncourse.tasks import translation
from attncourse.widgets import WhoLooks
from attncourse.widgets.who_looks.widget import NAME, UNIT, examples, maps
from attncourse.zoo.translation import words

BOOK_PAGE = "notebooks/09_self_attention.html"


@pytest.fixture(scope="module")
def widget():
    return WhoLooks()


def test_state_is_small_and_holds_no_weights(widget):
    state = widget.get_state()
    assert len(json.dumps(state["sentences"])) < 30_000 and "zoo" not in state


@torch.no_grad()
def test_the_weights_are_the_encoders_own_by_its_parts():
    """Layer by layer from the parameters, without the hooks that the widget's numbers come from."""
    model, card = zoo.load(NAME)
    english, _ = words(card["config"])
    for i, example in enumerate(examples()):
        source, _ = english.encode([example.english])
        x = model.encoder.embed(source)
        for n, layer in enumerate(model.encoder.layers):
            attention = layer.attention
            query, keys = attention.query(x), attention.key(x)  # (1, T, D)
            for h, (q, k) in enumerate(zip(query.chunk(4, -1), keys.chunk(4, -1), strict=True)):
                expected = masks.softmax(q @ k.mT / q.shape[-1] ** 0.5)[0]
                assert_close(maps(example)[n, h], expected)
                for t in range(len(expected)):
                    here = WhoLooks(sentence=i, layer=n, head=h, word=t)
                    assert (here.weights() - expected[t]).abs().max() <= 0.51 / UNIT
                    assert here.weights().sum() == pytest.approx(1, abs=0.01)
            x = layer(x)


def test_the_sentences_were_never_trained_on(widget):
    for example, sentence in zip(examples()[:-1], widget.sentences, strict=False):
        assert translation.is_held_out(example.english)
        assert sentence["words"][:-1] == list(example.english)
    assert "european" in widget.sentences[-1]["words"]


def test_the_first_view_is_an_adjective_at_its_noun(widget):
    """What the chapter tells the reader to look at first."""
    example = examples()[0]
    noun = widget.chosen["words"][int(widget.weights().argmax())]
    adjective = widget.chosen["words"][widget.word]
    assert f"(JJ {adjective})" in example.tree and f"(NN {noun})" in example.tree and widget.weights().max() > 0.8


def test_a_column_is_who_looks_at_the_word(widget):
    both = [WhoLooks(word=3, side=side).weights() for side in ("row", "column")]
    head = torch.tensor(widget.chosen["maps"][1][1]) / UNIT
    assert_close(both[0], head[3], check_dtype=False)
    assert_close(both[1], head[:, 3], check_dtype=False)


@pytest.mark.parametrize(
    "traits", [{"sentence": 5}, {"word": 40}, {"layer": 2}, {"head": 4}, {"head": -1}, {"side": "diagonal"}]
)
def test_malformed_traits_are_refused(traits):
    with pytest.raises(TraitError):
        WhoLooks(**traits)


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("who"), widget) as url:
        yield url


def shown(page):
    return [float(x) for x in page.locator(".attn-who").get_attribute("data-weights").split()]


def test_every_look_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        for sentence in range(5):
            for layer, head, word, side in (
                (0, 0, 0, "row"),
                (0, 3, 2, "column"),
                (1, 1, 5, "row"),
                (1, 2, 6, "column"),
            ):
                traits = {"word": word, "sentence": sentence, "layer": layer, "head": head, "side": side}
                page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
                np.testing.assert_allclose(shown(page), WhoLooks(**traits).weights(), atol=1e-9)
                numbers = page.locator(".attn-who-seen output").all_text_contents()
                np.testing.assert_allclose([float(x) for x in numbers], shown(page), atol=0.0051)
        page.evaluate("cleanup(), model.set('word', 0), 1")
        np.testing.assert_allclose(shown(page), WhoLooks(**traits).weights(), atol=1e-9)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard: down to the next word, to another head, to the other side; then by the mouse."""
    here, start = page.locator(".attn-who"), WhoLooks()
    adjective = start.chosen["words"][start.word]
    np.testing.assert_allclose(shown(page), start.weights(), atol=1e-9)
    here.get_by_role("button", name=adjective, exact=True).focus()
    np.testing.assert_allclose(shown(page), start.weights(), atol=1e-9)
    page.keyboard.press("ArrowUp")
    np.testing.assert_allclose(shown(page), WhoLooks(word=start.word - 1).weights(), atol=1e-9)
    assert here.locator("[aria-pressed=true]").text_content() == start.chosen["words"][start.word - 1]
    page.keyboard.press("End")
    np.testing.assert_allclose(shown(page), WhoLooks(word=len(start.weights()) - 1).weights(), atol=1e-9)
    page.keyboard.press("Home")
    here.get_by_role("radio", name="layer 2, head 2").focus()
    page.keyboard.press("ArrowRight")
    np.testing.assert_allclose(shown(page), WhoLooks(word=0, head=2).weights(), atol=1e-9)
    here.get_by_role("radio", name="who looks at it").focus()
    page.keyboard.press("Space")
    np.testing.assert_allclose(shown(page), WhoLooks(word=0, head=2, side="column").weights(), atol=1e-9)
    page.wait_for_function("document.querySelector('.attn-who .attn-words').textContent.includes('is looked at by')")
    here.get_by_role("button", name=start.chosen["words"][3], exact=True).hover()
    np.testing.assert_allclose(shown(page), WhoLooks(word=3, head=2, side="column").weights(), atol=1e-9)


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-who-board", staticmethod(explore)
