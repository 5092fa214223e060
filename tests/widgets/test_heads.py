"""Heads: the Transformer in the page is PyTorch's, in its words and in every map; unknown words are named."""

import numpy as np
import pytest
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse import zoo
from attncourse.tasks import translation as task
from attncourse.widgets import Heads
from attncourse.widgets.heads.widget import EXAMPLES, KINDS

BOOK_PAGE = "notebooks/11_inside_the_transformer.html"
NAME = "transformer-translation"
ROOT = "document.querySelector('.attn-heads')"
HELD_OUT = [" ".join(e.english) for e in task.sample(30, seed=55, held_out=True)]
HELD_OUT += [" ".join(e.english) for e in task.sample(6, seed=56, held_out=True, lengths=(11, 15))]


# ---- Python ----


def test_the_module_is_small_and_the_state_without_weights():
    assert stored(Heads()) < 60_000


def test_the_example_is_the_models():
    widget = Heads()
    output, maps = widget.run()
    assert widget.output == output == widget.example["output"]
    for kind, expected in zip(KINDS, maps, strict=True):
        np.testing.assert_allclose(widget.example["maps"][kind], expected[0], atol=6e-4)
    steps, words = len(output.split()) + 1, len(widget.text.split()) + 1  # with END
    assert maps.cross.shape[1:] == (2, 4, steps, words) and maps.decoder.shape[3:] == (steps, steps)


def test_the_examples_are_sentences_of_the_grammar():
    english, _ = task.vocabularies()
    assert all(word in english.ids for text in EXAMPLES for word in text.split())
    assert all(task.is_held_out(text.split()) for text in EXAMPLES[:3])  # never trained on, the first screen least


def test_traits_are_checked():
    assert Heads(text="no such words at all").example == {}
    for traits in ({"kind": "self"}, {"layer": -1}):
        with pytest.raises(TraitError):
            Heads(**traits)
    with pytest.raises(TraitError, match="this model has heads 0 to 3; this one is 4"):
        Heads().head = 4


# ---- in a browser ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("heads"), Heads()) as url:
        yield url


def write(page, text):
    page.locator(".attn-heads input[type=text]").fill(text)
    page.wait_for_function(f"(text) => {ROOT}.dataset.text === text", arg=text, timeout=60_000)
    return page.evaluate(f"{ROOT}.result")


def same_as_torch(page, texts):
    for text in texts:
        shown, (output, maps) = write(page, text), Heads(text=text).run()
        assert shown["output"] == output, text
        for kind, expected in zip(KINDS, maps, strict=True):
            np.testing.assert_allclose(shown["maps"][kind], expected[0], atol=1e-3, err_msg=f"{kind}: {text}")


def test_every_map_is_pytorchs_on_held_out_sentences(browser, stand):
    with visit(browser, stand) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.output") == Heads().output  # before any weights are there
        assert page.evaluate(f"{ROOT}.dataset.state") is None
        same_as_torch(page, HELD_OUT)
        assert len(HELD_OUT) >= 30 and page.evaluate("model.get('output')") == Heads(text=HELD_OUT[-1]).run()[0]
    assert not complaints


def explore(page):
    """By keyboard: another attention, another head, another word."""
    here = page.locator(".attn-heads")
    said = here.locator(".attn-words")
    here.get_by_role("radio", name="encoder: source to source").focus()
    page.keyboard.press("Space")
    here.get_by_role("radio", name="layer 2 head 1").focus()
    page.keyboard.press("ArrowRight")
    said.filter(has_text="encoder: source to source, layer 2, head 2").wait_for()
    here.get_by_role("radio", name="black").focus()
    page.keyboard.press("Space")
    maps = Heads().run()[1].encoder[0, 1, 1, 2]  # “the old black”: the third word
    best, columns = int(maps.argmax()), [*EXAMPLES[0].split(), "∎"]
    said.filter(has_text=f"“black” looks at “{columns[best]}” {maps[best]:.2f}").wait_for()
    assert page.evaluate("document.activeElement.value") == "2"  # the choice keeps the focus


def test_traits_follow_and_lead(browser, stand):
    with visit(browser, stand) as (page, complaints):
        explore(page)
        assert page.evaluate("['kind', 'layer', 'head', 'row'].map((n) => model.get(n))") == ["encoder", 1, 1, 2]
        page.evaluate("model.set('kind', 'decoder'), model.set('row', 0)")
        page.locator(".attn-heads .attn-words").filter(has_text="looks at “▷” 1.00").wait_for()
        assert page.locator(".attn-heads-grid input").count() == 8
    assert not complaints


def test_words_are_offered_and_strange_ones_named(browser, stand):
    with visit(browser, stand) as (page, complaints):
        here, box = page.locator(".attn-heads"), page.locator(".attn-heads input[type=text]")
        box.fill("the cat me")
        offered = page.evaluate(f"[...{ROOT}.querySelectorAll('datalist option')].map((o) => o.value)")
        known = [w for w in task.vocabularies()[0].characters if w.startswith("me")]
        assert offered == [f"the cat {w}" for w in known][:12] and "the cat meets" in offered
        assert here.locator(".attn-notes").inner_text() == ""  # the word may yet become one
        box.fill("the zebra meets the cat")
        here.get_by_text(
            "The grammar does not know “zebra”. The list below has all the words that it knows."
        ).wait_for()
        assert page.evaluate(f"{ROOT}.dataset.output") == "" and here.locator(".attn-heads-map").count() == 0
        box.fill("the banana meets the cat")
        here.get_by_text("The grammar does not know “banana”. Did you mean “bad”?").wait_for()
        known = [*task.vocabularies()[0].characters]
        typed = {
            "hause": "house",
            "libary": "library",
            "beatiful": "beautiful",
            "goverment": "government",
            "zebra": None,
        }
        found = page.evaluate("([typed, known]) => typed.map((w) => module.likeliest(w, known))", [[*typed], known])
        assert found == [*typed.values()]
        write(page, "the cat")
        here.get_by_text("all the words that the grammar knows").click()
        here.get_by_role("button", name="sleeps", exact=True).click()
        page.wait_for_function(f"{ROOT}.dataset.output === 'le chat dort'")
        write(page, EXAMPLES[4])
        here.get_by_text("The model was trained on at most 10 words").wait_for()
        box.fill("")
        here.locator(".attn-words").filter(has_text="Write a sentence, and it will be translated here.").wait_for()
    assert not complaints


class TestPage(PageTests):
    book_page, figure = BOOK_PAGE, ".attn-heads-map"

    @staticmethod
    def explore(page):
        explore(page)
        same_as_torch(page, HELD_OUT[:4])


def test_missing_weights_are_said_to_be_missing(browser, stand):
    with visit(browser, stand) as (page, _):
        page.route("**/weights.safetensors", lambda route: route.fulfill(status=404))
        page.locator(".attn-heads input[type=text]").fill("the cat sleeps")
        page.locator(".attn-heads .attn-notes").get_by_text("The model's weights could not be loaded").wait_for()
        page.unroute("**/weights.safetensors")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function(f"{ROOT}.dataset.output === 'le chat dort'")
    assert zoo.card(NAME)["parameters"] < 1_000_000
