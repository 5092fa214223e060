"""The explorable of chapter 08: the weights are the models', the regions the task's, the arithmetic PyTorch's."""

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse import zoo
from attncourse.core.symbols import shift_right
from attncourse.mechanisms import captioning
from attncourse.tasks import scenes
from attncourse.widgets import WordByWord
from attncourse.widgets.word_by_word.widget import DRAWN, MODELS, STEP, arrangements, pack, unpack

BOOK_PAGE = "notebooks/08_show_attend_tell.html"
ROOT = "document.querySelector('.attn-word-by-word')"


@pytest.fixture(scope="module")
def widget():
    return WordByWord()


def test_state_is_small_and_holds_no_weights_of_a_model(widget):
    assert stored(widget) < 60_000 and not hasattr(widget, "zoo")


def test_packing_loses_half_a_step_at_most():
    torch.manual_seed(0)
    weights = torch.randn(4, 144).mul(3).softmax(-1)
    logs = unpack(pack(weights))
    expected = (weights.log() - weights.amax(-1, keepdim=True).log()).double()
    assert (logs - expected.clamp_min(-255 * STEP)).abs().max() <= STEP / 2 + 1e-6


def test_the_weights_are_the_models(widget):
    """At temperature 1, against teacher forcing of the whole model: nothing but rounding between them."""
    for i, drawn in enumerate(arrangements()):
        batch = scenes.batch(drawn)
        looks = {}
        for read, name in MODELS.items():
            with torch.no_grad():
                looks[read] = zoo.load(name)[0](batch.images, shift_right(batch.captions))[1]
        for t in range(batch.captions.shape[1]):
            soft, hard = WordByWord(scene=i, word=t).weights()
            assert (soft - looks["soft"].weights[0, t]).abs().max() < 0.04
            alpha = looks["hard"].weights[0, t]
            assert alpha[hard.argmax()] > 0.94 * alpha.max()  # the likeliest, or one that rounding cannot tell from it
            assert captioning.reading(looks["hard"])[0, t].sum() == hard.sum() == 1


def test_words_and_regions_are_the_tasks():
    for i, (drawn, (count, unseen)) in enumerate(zip(arrangements(), DRAWN, strict=True)):
        batch, shown = scenes.batch(drawn), WordByWord(scene=i, word=0)
        assert [*scenes.Words().decode(batch.captions.tolist())[0].split(), "(end)"] == shown.scenes[i]["words"]
        for t in range(batch.captions.shape[1]):
            shown.word = t
            assert torch.equal(shown.region(), batch.regions[0, t])
        kinds = {(s["colour"], s["shape"]) for s in shown.scenes[i]["shapes"]}
        assert len(shown.scenes[i]["shapes"]) == count and bool(kinds & {*scenes.UNSEEN}) == unseen
        assert scenes.is_held_out(drawn).all()


@pytest.mark.parametrize(
    "traits", [{"scene": 4}, {"word": 60}, {"word": -1}, {"temperature": 0.0}, {"draw": -1}, {"volume": 3}]
)
def test_malformed_traits_are_refused(traits):
    with pytest.raises(TraitError):
        WordByWord(**traits)


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("words"), widget) as url:
        yield url


def same(page, **traits):
    """What the page has computed is Python's."""
    here, found = WordByWord(**traits), page.evaluate(f"{ROOT}.result")
    soft, hard = here.weights()
    np.testing.assert_allclose(found["soft"], soft, atol=1e-5)
    assert found["hard"] == hard.tolist()
    inside = here.region()
    if not inside.any():
        assert found["area"] is None and found["share"] == {"soft": None, "hard": None}
    else:
        assert found["area"] == pytest.approx(inside.double().mean().item())
        assert found["share"]["soft"] == pytest.approx((soft * inside).sum().item(), abs=1e-5)
        assert found["share"]["hard"] == (hard * inside).sum().item()


def test_every_word_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        for scene in range(len(DRAWN)):
            for word in range(0, len(WordByWord().scenes[scene]["words"]), 2):
                for temperature, draw in ((1.0, 0), (0.2, 3), (4.0, 7)):
                    traits = {"scene": scene, "word": word, "temperature": temperature, "draw": draw}
                    page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))",
                                  {"word": 0} | traits)  # fmt: skip
                    same(page, **traits)
        page.evaluate("cleanup(), model.set('temperature', 1)")
        same(page, **traits)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard: another scene, on through its words, a draw and back."""
    here = page.locator(".attn-word-by-word")
    here.get_by_role("radio", name="3 shapes", exact=True).focus()
    page.keyboard.press("Space")
    same(page, scene=1, word=0)
    here.get_by_role("radio", name="a", exact=True).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    same(page, scene=1, word=2)
    here.get_by_role("button", name="hard: draw a place").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    same(page, scene=1, word=2, draw=2)
    here.get_by_role("button", name="hard: the likeliest place").click()
    here.get_by_role("slider", name="temperature of the soft weights").focus()
    page.keyboard.press("Home")
    same(page, scene=1, word=2, temperature=0.1)
    page.wait_for_function(
        f"{ROOT}.querySelector('.attn-words').textContent.includes('of the image. The soft model puts')"
    )
    assert here.locator(".attn-scene").count() == 2


def test_the_picture_is_the_scene(browser, stand):
    """The shapes that the page draws, beside the pixels that the models see: the middle of each has its colour."""
    with visit(browser, stand) as (page, complaints):
        drawn = page.locator(".attn-scene").first.locator("circle, polygon").count()
        assert drawn == len(WordByWord().scenes[0]["shapes"])
        page.evaluate("document.querySelectorAll('.attn-veil, .attn-region').forEach((node) => node.remove())")
        picture = page.locator(".attn-scene").first.screenshot()
    from io import BytesIO

    from PIL import Image

    image = Image.open(BytesIO(picture)).convert("RGB")
    pixels = scenes.render(arrangements()[0])[0]  # (3, 48, 48)
    for row, column, _ in arrangements()[0].box[0].tolist():
        shown = np.array(image.getpixel((round(image.width * column / 48), round(image.height * row / 48)))) / 255
        np.testing.assert_allclose(shown, pixels[:, int(row), int(column)], atol=0.03)
    assert not complaints


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-scene >> nth=0", staticmethod(explore)
