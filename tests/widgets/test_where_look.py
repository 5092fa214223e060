"""Where would you look: traits in Python; the model's looks in a browser, alone and on the built page."""

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import built, readable, stand_alone, stored

from attncourse import zoo
from attncourse.mechanisms.glimpse import glimpse
from attncourse.tasks import digits
from attncourse.widgets import WhereLook, bundle
from attncourse.widgets.where_look.widget import INDICES, LOOKS, SIZE

BOOK_PAGE = "notebooks/07_hard_attention.html"
ROOT = "document.querySelector('.attn-where-look')"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The URL of the widget's page, and the weights as a kernel gives them."""
    with stand_alone(tmp_path_factory.mktemp("look"), WhereLook()) as url:
        yield url


def settled(page, looks):
    """Wait until the guess after so many looks is there."""
    page.wait_for_function(f"{ROOT}.dataset.looks === '{looks}' && {ROOT}.dataset.state === 'ready'")
    return page.evaluate(f"{ROOT}.result")


def same_as_torch(result):
    """Within 1e-3 of PyTorch: the guesses, and at the end the model's own places and guesses."""
    guesses, places, own = WhereLook(digit=result["digit"], places=result["places"]).run()
    np.testing.assert_allclose(result["guesses"], guesses, atol=1e-3)
    assert (len(result["places"]) == LOOKS) == bool(result["own"])
    if result["own"]:
        np.testing.assert_allclose(result["own"]["places"], places, atol=1e-3)
        np.testing.assert_allclose(result["own"]["guesses"], own, atol=1e-3)


# ---- Python ----


def test_the_state_is_small_and_holds_no_weights():
    assert stored(WhereLook()) < 60_000 and len(bundle.esm("where_look")) < 25_000


def test_the_widget_runs_the_zoo_model():
    model, _ = zoo.load("ram-mnist")
    images, labels = digits.mnist("test")
    assert [label for label, _ in WhereLook().digits] == labels[list(INDICES)].tolist()
    places = torch.tensor([[0.0, 0.0], [0.4, -0.3], [-1.0, 0.9]])
    guesses, _, own = WhereLook(digit=3, places=places.tolist()).run()
    image, h = images[INDICES[3]][None, None] / 255, torch.zeros(1, 256)
    with torch.no_grad():
        for place, guess in zip(places, guesses, strict=True):
            h = model.look(image, place[None], h)
            torch.testing.assert_close(model.action(h).softmax(-1)[0], guess)
    assert own.shape == (LOOKS, 10)


def test_the_model_reads_most_of_the_hidden_digits_by_itself():
    right = [WhereLook(digit=i).run()[2][-1].argmax().item() == WhereLook().digits[i][0] for i in range(len(INDICES))]
    assert sum(right) >= len(INDICES) - 2


@pytest.mark.parametrize(
    "wrong", [{"digit": 12}, {"digit": -1}, {"places": []}, {"places": [[0, 2]]}, {"places": [[0, 0, 0]]},
              {"places": [[0, 0]] * 7}],
)  # fmt: skip
def test_malformed_traits_are_refused(wrong):
    with pytest.raises(TraitError):
        WhereLook(**wrong)


# ---- JavaScript against PyTorch ----


def test_a_glimpse_in_the_page_is_grid_sample(browser, desk):
    torch.manual_seed(0)
    image, places = torch.rand(28, 28), torch.rand(40, 2) * 2.4 - 1.2
    places = torch.cat([places, torch.tensor([[1.0, 1.0], [-1.0, 0.3], [0.0, 0.0]])])
    with visit(browser, desk) as (page, _):
        call = "([image, places, size]) => places.map((p) => Array.from(module.glimpse(image, p, size)))"
        found = page.evaluate(call, [image.flatten().tolist(), places.tolist(), SIZE])
    expected = glimpse(image[None, None].expand(len(places), 1, 28, 28), places, SIZE).flatten(1)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_every_digit_equals_pytorch(browser, desk):
    torch.manual_seed(0)
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("slider").focus()  # the weights are loaded on first use
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
        for digit in range(len(INDICES)):
            places = [[0.0, 0.0], *(torch.rand(LOOKS - 1, 2) * 2 - 1).round(decimals=3).tolist()]
            page.evaluate("([digit, places]) => { model.set('digit', digit); model.set('places', places); }",
                          [digit, places[: digit % LOOKS + 1]])  # fmt: skip
            same_as_torch(settled(page, digit % LOOKS + 1))
            page.evaluate("(places) => model.set('places', places)", places)
            same_as_torch(settled(page, LOOKS))
        assert page.evaluate("cleanup(), model.set('places', [[0, 0]]), 1") == 1
        assert page.evaluate(f"{ROOT}.dataset.looks") == str(LOOKS)  # it listens no more
    assert not complaints


# ---- in the hand ----


def test_the_first_screen_needs_no_weights(browser, desk):
    with visit(browser, desk) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.state") is None
        first = page.evaluate(f"{ROOT}.result")
        np.testing.assert_allclose(first["guesses"], WhereLook().run()[0], atol=1e-4)
        page.locator(".attn-words").filter(has_text="Look 1 of 6, at column 14, row 14: the model guesses").wait_for()
        assert page.get_by_text("its own looks").is_hidden()
    assert not complaints


def test_by_pointer(browser, desk):
    with visit(browser, desk) as (page, complaints):
        box = page.get_by_role("slider").bounding_box()
        for n, (x, y) in enumerate([(0.25, 0.25), (0.75, 0.5), (0.5, 0.9)]):
            page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
            result = settled(page, n + 2)
            np.testing.assert_allclose(result["places"][-1], [2 * x - 1, 2 * y - 1], atol=0.02)
            same_as_torch(result)
        page.mouse.click(box["x"] + 9, box["y"] + 9)
        settled(page, 5)
        page.mouse.click(box["x"] + 50, box["y"] + 50)
        done = settled(page, LOOKS)
        same_as_torch(done)
        page.mouse.click(box["x"] + 20, box["y"] + 50)  # a seventh look there is none
        assert page.evaluate("model.get('places').length") == LOOKS
        assert page.get_by_text("its own looks").is_visible()
    assert not complaints


def play(page):
    """Five looks by keyboard, then the next digit."""
    here = page.locator(".attn-where-look")
    cross = here.get_by_role("slider")
    cross.focus()
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("ArrowLeft")
    assert cross.get_attribute("aria-valuetext") == "column 13, row 10"
    for n, key in enumerate(["ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowLeft"]):
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        same_as_torch(settled(page, n + 2))
    label = WhereLook().digits[page.evaluate(f"{ROOT}.result.digit")][0]
    here.locator(".attn-words").filter(has_text=f"It was a {label}. After your six looks the model says").wait_for()
    assert here.locator("tbody td").count() == 12 and "–" not in here.locator("tbody").inner_text()
    here.get_by_role("button", name="new digit").press("Enter")
    same_as_torch(settled(page, 1))
    assert page.evaluate(f"{ROOT}.result.digit") == 1 and here.get_by_text("its own looks").is_hidden()


def test_by_keyboard(browser, desk):
    with visit(browser, desk) as (page, complaints):
        play(page)
    assert not complaints


def test_what_was_not_looked_at_stays_dark(browser, desk):
    with visit(browser, desk) as (page, _):
        colours = page.evaluate("""() => { const canvas = document.querySelector("canvas");
            return Array.from(canvas.getContext("2d").getImageData(0, 0, 28, 28).data); }""")
        seen = torch.tensor(colours).view(28, 28, 4)[..., :3]
        window = torch.zeros(28, 28, dtype=torch.bool)
        window[10:18, 10:18] = True
        ink = digits.mnist("test")[0][INDICES[0]]
        assert seen[window].equal(ink[window][:, None].expand(-1, 3).long())
        assert (seen[~window] == torch.tensor([47, 56, 70])).all()


def test_weights_that_cannot_be_had(browser, desk):
    with visit(browser, desk) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.get_by_role("button", name="new digit").click()
        page.locator(".attn-notes").filter(has_text="could not be loaded: the weights are damaged").wait_for()
        page.evaluate("window.kernel = 'answers'")
        page.get_by_role("button", name="Try again").click()
        same_as_torch(settled(page, 1))
        assert page.locator(".attn-notes").inner_text() == ""


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk, width=380) as (page, complaints):
        play(page)
        page.evaluate("model.set('places', [[0,0],[0.1,0.1],[0.5,0.5],[-0.5,0],[0,-0.5],[0.9,0.9]])")
        settled(page, LOOKS)
        readable(page, ".attn-look-bars")
    assert not complaints


# ---- on the built page ----


@pytest.mark.book
@pytest.mark.parametrize("look", [{}, {"way": "file", "width": 380, "scheme": "dark"}])
def test_on_the_built_page(browser, site, html, look):
    with built(browser, site, html, BOOK_PAGE, **look) as page:
        page.locator(".attn-where-look canvas").first.wait_for()
        play(page)
