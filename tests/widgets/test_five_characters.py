"""Teach it five characters: traits in Python; the network in a browser against PyTorch, alone and on the built page."""

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import built, readable, stand_alone, stored

from attncourse import zoo
from attncourse.tasks import glyphs
from attncourse.widgets import FiveCharacters
from attncourse.widgets.five_characters.widget import SIDE, drawings, pack, unpack

CHAPTER = "notebooks/15_snail.html"
ROOT = "document.querySelector('.attn-five-characters')"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("five"), FiveCharacters()) as url:
        yield url


def settled(page):
    """Wait until the weights are there and the last change is computed."""
    page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(f"{ROOT}.result")


def same_as_torch(result):
    probabilities, weights = FiveCharacters(images=result["images"]).run()
    np.testing.assert_allclose(result["probabilities"], probabilities, atol=2e-3)
    np.testing.assert_allclose(result["weights"], weights, atol=2e-3)


# ---- Python ----


def test_the_module_is_small_and_the_state_without_weights():
    assert stored(FiveCharacters()) < 90_000


def test_the_widget_runs_the_zoo_model():
    images = glyphs.episodes(1, 3, 5, 1, test=True).images[0]
    widget, model = FiveCharacters(images=images), zoo.load("snail-glyphs")[0]
    packed = torch.stack([unpack(text) for text in widget.images])
    torch.testing.assert_close(packed, images, atol=1 / 255, rtol=0)
    with torch.no_grad():
        logits, looks = model(packed[None], torch.arange(5)[None])
    probabilities, weights = widget.run()
    torch.testing.assert_close(probabilities, logits[0, 0].softmax(-1))
    torch.testing.assert_close(weights, torch.stack([look[0, 0, 5] for look in looks]))
    np.testing.assert_allclose(widget.example["probabilities"], probabilities, atol=1e-4)


def test_the_palette_has_letters_of_test_scripts_only():
    names = [name.split()[0].upper() for name, _, _ in drawings()]
    assert len(names) == 20 and set(names) == set(glyphs.TEST)


def test_images_are_taken_as_a_tensor_and_refused_with_a_reason():
    for wrong in (torch.rand(5, SIDE, SIDE), 2 * torch.rand(6, SIDE, SIDE) + 1, ["not base64"] * 6, None, 3):
        with pytest.raises(TraitError, match="it needs"):
            FiveCharacters(images=wrong)


# ---- JavaScript against PyTorch ----


def test_the_network_equals_pytorch_on_twenty_episodes(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="put Lao").first.click()
        settled(page)
        for images in glyphs.episodes(20, 8, 5, 1, test=True).images:
            page.evaluate("(images) => model.set('images', images)", [pack(image) for image in images])
            result = settled(page)
            same_as_torch(result)
            assert page.evaluate(f"{ROOT}.dataset.read") == str(1 + int(np.argmax(result["probabilities"])))
        page.evaluate("model.set('images', Array(6).fill(btoa(String.fromCharCode(...new Uint8Array(784)))))")
        same_as_torch(settled(page))  # six empty fields
    assert not complaints


# ---- in the hand ----


def test_the_first_screen_needs_no_weights(browser, desk):
    with visit(browser, desk) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.state") is None
        page.locator(".attn-words").filter(has_text="It takes the query for character").wait_for()
        assert page.locator("td.attn-best").count() == 1
    assert not complaints


def test_picking_and_drawing(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="edit character 2").press("Enter")
        page.get_by_role("button", name="clear the field").click()
        assert page.locator(".attn-editing").inner_text() == "Character 2"
        page.get_by_role("button", name="put Hebrew").first.press("Enter")
        picked = settled(page)
        same_as_torch(picked)
        assert page.evaluate("model.get('images')") == picked["images"]  # Python is told
        name, shot, query = next(row for row in drawings() if row[0].startswith("Hebrew"))
        assert picked["images"][1] == shot
        page.get_by_role("button", name="edit the query").click()
        page.get_by_role("button", name=f"put {name} here").click()
        assert settled(page)["images"][5] == query  # as another drawer has it
        page.locator(".attn-words").filter(has_text="It takes the query for character").wait_for()

        page.get_by_role("button", name="clear the field").click()
        box = page.get_by_role("slider").bounding_box()
        x, y, size = box["x"], box["y"], box["width"]
        page.mouse.move(x + 0.5 * size, y + 0.2 * size)
        page.mouse.down()
        page.mouse.move(x + 0.5 * size, y + 0.8 * size, steps=10)
        page.mouse.up()
        drawn = settled(page)
        ink = unpack(drawn["images"][5])
        assert ink[6:22, 12:16].sum() > 0.7 * ink.sum() and ink.max() == 1
        same_as_torch(drawn)
    assert not complaints


def test_drawing_by_keyboard(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="edit character 1").press("Enter")
        page.get_by_role("button", name="clear the field").press("Enter")
        pen = page.get_by_role("slider")
        pen.focus()
        page.keyboard.press("Shift+ArrowUp")
        page.keyboard.press("Space")
        for _ in range(3):
            page.keyboard.press("Shift+ArrowDown")
        page.keyboard.press("Space")
        assert pen.get_attribute("aria-valuetext") == "column 14, row 22, pen up"
        result = settled(page)
        assert unpack(result["images"][0]).sum() > 20
        same_as_torch(result)
    assert not complaints


def test_weights_that_cannot_be_had(browser, desk):
    with visit(browser, desk) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.get_by_role("button", name="clear the field").click()
        page.locator(".attn-notes").filter(has_text="could not be loaded: the weights are damaged").wait_for()
        page.evaluate("window.kernel = 'answers'")
        page.get_by_role("button", name="Try again").click()
        settled(page)
        assert page.locator(".attn-notes").inner_text() == ""


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk, width=380) as (page, complaints):
        page.get_by_role("button", name="put Georgian").first.click()
        settled(page)
        readable(page, ".attn-board")
    assert not complaints


@pytest.mark.book
def test_on_the_built_page(browser, site, html):
    for look in ({}, {"width": 380, "scheme": "dark"}):
        with built(browser, site, html, CHAPTER, **look) as page:
            page.locator(".attn-board").wait_for()
            assert page.evaluate("globalThis.attncourseZoo") is None
            page.get_by_role("button", name="put Georgian").nth(2).click()
            same_as_torch(settled(page))
