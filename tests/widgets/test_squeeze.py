"""The explorable of chapter 03: the three networks in the page write what PyTorch writes."""

import numpy as np
import pytest
from browser import visit
from traitlets import TraitError
from widget_page import built, readable, stand_alone, stored

from attncourse import zoo
from attncourse.tasks import numbers
from attncourse.tasks.text import Vocabulary
from attncourse.widgets import Squeeze
from attncourse.widgets.squeeze.widget import SIZES
from attncourse.zoo.numbers import translate

BOOK_PAGE = "notebooks/03_bottleneck.html"
TEXTS = [e.text for e in numbers.sample(20, seed=9, test=True)] + ["", "hello ☃", "vingt  Et UN "]


@pytest.fixture(scope="module")
def widget():
    return Squeeze()


@pytest.fixture(scope="module")
def networks():
    return zoo.load("squeeze-numbers")


def test_state_is_small_json_without_weights(widget):
    assert stored(widget) < 40_000 and widget.zoo == "squeeze-numbers"


def test_facts_are_true(widget, networks):
    models, card = networks
    assert widget.alphabet == card["config"]["alphabet"] and widget.trained_length == numbers.LONGEST
    assert widget.accuracy == {size: card["metrics"][f"exact_match_{size}"] for size in SIZES}
    for tag, _, digits, text in widget.examples:
        assert text == numbers.say(int(digits), tag)
    for size in SIZES:
        shown = widget.example[size]
        assert [shown["output"]] == translate(models[size], [widget.example["text"]], widget.alphabet)[0]
        assert len(shown["vector"]) == int(size)


def test_malformed_traits_are_refused():
    with pytest.raises(TraitError):
        Squeeze(size="32")
    with pytest.raises(TraitError):
        Squeeze().alphabet = "abc"
    assert Squeeze(text="  Fünf ").example["text"] == "fünf"


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("squeeze"), widget) as url:
        yield url


def ask(page, text, size):
    """Type a text and choose a size; what is written."""
    here = page.locator(".attn-squeeze")
    here.get_by_role("radio", name=size, exact=True).check()
    here.get_by_role("textbox").fill(text)
    read = " ".join(text.lower().split())
    page.wait_for_function(
        "([text, size]) => { const d = document.querySelector('.attn-squeeze').dataset;"
        " return d.text === text && d.size === size; }",
        arg=[read, size],
    )
    return here.get_attribute("data-output")


def same_as_torch(page, networks, texts):
    models, card = networks
    for size in SIZES:
        wanted, _ = translate(
            models[size], [" ".join(text.lower().split()) for text in texts], card["config"]["alphabet"]
        )
        assert [ask(page, text, size) for text in texts] == wanted


def test_outputs_and_vectors_are_torchs(browser, stand, networks):
    models, card = networks
    with visit(browser, stand) as (page, complaints):
        page.locator(".attn-vector span").first.wait_for()
        same_as_torch(page, networks, TEXTS)
        source = Vocabulary(card["config"]["alphabet"]).encode(TEXTS[:1])
        for size in SIZES:
            ask(page, TEXTS[0], size)
            vector = models[size].begin(*source).context[0].tolist()
            drawn = page.locator(".attn-vector span")
            assert drawn.count() == int(size)
            signs = page.evaluate(
                "() => [...document.querySelectorAll('.attn-vector span')].map((s) => s.className === 'attn-plus')"
            )
            sure = np.abs(vector) > 1e-3
            assert (np.array(signs)[sure] == (np.array(vector) >= 0)[sure]).all()
    assert not complaints


def explore(page):
    """The first screen needs no weights; an example and another size, by keyboard, say whether they are right."""
    here = page.locator(".attn-squeeze")
    widget = Squeeze()
    assert here.get_attribute("data-output") == widget.output
    here.get_by_role("radio", name="16", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert here.get_attribute("data-output") == widget.example["64"]["output"]
    page.keyboard.press("ArrowRight")
    assert here.get_attribute("data-size") == "256"
    digits, text = widget.examples[4][2:]
    button = here.get_by_role("button", name=f"{digits} · Danish")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("(t) => document.querySelector('.attn-squeeze').dataset.text === t", arg=text)
    [wanted], _ = translate(zoo.load("squeeze-numbers")[0]["256"], [text], widget.alphabet)
    assert here.get_attribute("data-output") == wanted
    assert here.get_attribute("data-verdict") == ("right" if wanted == digits else "wrong")
    page.wait_for_function(
        "(w) => document.querySelector('.attn-squeeze .attn-words').textContent.includes(w)", arg=f"wrote {wanted}"
    )


def test_by_keyboard(browser, stand):
    for way in ("", "?book"):
        with visit(browser, stand + way) as (page, complaints):
            explore(page)
            page.evaluate("cleanup(), model.set('text', 'fem')")
            assert page.locator(".attn-squeeze").get_attribute("data-text") != "fem"  # it no longer listens
        assert not complaints


def test_without_weights_it_says_so_and_tries_again(browser, stand):
    with visit(browser, stand) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.locator(".attn-squeeze").get_by_role("textbox").fill("seven")
        page.get_by_text("The model's weights could not be loaded: the weights are damaged.").wait_for()
        page.evaluate("window.kernel = ''")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function("() => document.querySelector('.attn-squeeze').dataset.text === 'seven'")


def test_readable_by_all_on_screen_and_paper(browser, stand):
    with visit(browser, stand, width=380) as (page, complaints):
        page.locator(".attn-vector span").first.wait_for()
        readable(page, ".attn-vector")
    assert not complaints


# ---- on the built page ----


@pytest.mark.book
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (380, "dark")])
def test_on_the_built_page(browser, site, html, networks, width, scheme):
    with built(browser, site, html, BOOK_PAGE, width, scheme) as page:
        page.locator(".attn-squeeze .attn-vector span").first.wait_for()
        explore(page)
        same_as_torch(page, networks, TEXTS[:3])
