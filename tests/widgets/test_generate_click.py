"""Generate and click: traits in Python; the generator and both maps in a browser, alone and on the built page."""

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import built, readable, stand_alone, stored

from attncourse import zoo
from attncourse.widgets import GenerateClick, bundle
from attncourse.widgets.generate_click.widget import LATENT, latent

BOOK_PAGE = "notebooks/16_sagan.html"
ROOT = "document.querySelector('.attn-generate-click')"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The URL of the widget's page, and the weights as a kernel gives them."""
    with stand_alone(tmp_path_factory.mktemp("click"), GenerateClick()) as url:
        yield url


def settled(page):
    """Wait until what stands there is what the traits ask for, drawn by the network itself."""
    page.wait_for_function(f"""() => {{ const root = {ROOT};
        const asked = ["latent", "place", "network"].map((name) => model.get(name));
        const shown = root.result && ["latent", "place", "network"].map((name) => root.result[name]);
        return root.dataset.state === "ready" && root.result.picture && JSON.stringify(asked) === JSON.stringify(shown);
    }}""")
    return page.evaluate(f"{ROOT}.result")


def same_as_torch(result):
    picture, weights = GenerateClick(**{name: result[name] for name in ("latent", "place", "network")}).run()
    np.testing.assert_allclose(result["picture"], picture.flatten(), atol=2e-3)
    np.testing.assert_allclose(result["weights"], weights, atol=1e-3)


# ---- Python ----


def test_the_state_is_small_and_holds_no_weights():
    assert stored(GenerateClick()) < 60_000 and len(bundle.esm("generate_click")) < 25_000


def test_the_widget_asks_the_zoo_model():
    model, _ = zoo.load("sagan-symmetry")
    z = torch.tensor([latent(8)])
    with torch.no_grad():
        features = model.generator.before(z)
        weights = model.generator.block.weights(features)[0].view(16, 16, 64)
        judged = model.discriminator.block.weights(model.discriminator.before(model(z)))[0].view(16, 16, 64)
        picture, found = GenerateClick(latent=latent(8), place=[2, 13]).run()
        torch.testing.assert_close(picture, model(z)[0])
    torch.testing.assert_close(found, weights[2, 13])
    other = GenerateClick(latent=latent(8), place=[15, 0], network="discriminator").run()[1]
    torch.testing.assert_close(other, judged[15, 0])


@pytest.mark.parametrize(
    "wrong", [{"latent": [0.0] * 3}, {"latent": [4.0] * LATENT}, {"latent": ["a"] * LATENT}, {"place": [16, 0]},
              {"place": [0]}, {"place": [0.5, 1]}, {"network": "both"}],
)  # fmt: skip
def test_malformed_traits_are_refused(wrong):
    with pytest.raises(TraitError):
        GenerateClick(**wrong)


# ---- JavaScript against PyTorch ----


def test_the_first_screen_needs_no_weights(browser, desk):
    with visit(browser, desk) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.state") is None
        first = page.evaluate(f"{ROOT}.result")
        np.testing.assert_allclose(first["weights"], GenerateClick().run()[1], atol=1e-4)
        shown = page.evaluate("""() => Array.from(document.querySelector("canvas").getContext("2d")
            .getImageData(0, 0, 32, 32).data)""")
        pixels = torch.tensor(shown).view(32, 32, 4)[..., :3].movedim(-1, 0)
        expected = (GenerateClick().run()[0] + 1) * 127.5
        assert (pixels - expected).abs().max() <= 1
    assert not complaints


def test_pictures_and_maps_equal_pytorch(browser, desk):
    with visit(browser, desk) as (page, complaints):
        for seed, (place, network) in enumerate([([0, 0], "generator"), ([15, 15], "generator"), ([7, 8], "generator"),
                                                 ([3, 12], "discriminator"), ([15, 0], "discriminator")]):  # fmt: skip
            page.evaluate(
                "([latent, place, network]) => { for (const [name, value] of Object.entries({latent, place, network}))"
                " model.set(name, value); }", [latent(100 + seed), place, network],
            )  # fmt: skip
            same_as_torch(settled(page))
        assert page.evaluate("cleanup(), model.set('place', [1, 1]), 1") == 1
        assert page.evaluate(f"{ROOT}.result.place") == [15, 0]  # it listens no more
    assert not complaints


def test_all_maps_have_one_scale(browser, desk):
    """A cell is as dark as its weight says, whatever the largest of its map: a flat map looks flat."""
    shades = "(all) => all.map((cell) => Number(cell.style.getPropertyValue('--w')))"
    with visit(browser, desk) as (page, complaints):
        for network in ("generator", "discriminator"):
            page.evaluate("(network) => { model.set('network', network); model.set('place', [9, 2]); }", network)
            weights = settled(page)["weights"]
            shown = page.locator(".attn-click-map span").evaluate_all(shades)
            np.testing.assert_allclose(shown, np.sqrt(weights), atol=1e-3)
        scale = page.locator(".attn-click-scale i").evaluate_all(shades)
        assert scale == sorted(scale) and scale[0] == 0 and scale[-1] == 1
        assert page.locator(".attn-click-chance").inner_text().split() == ["even", "share", "0.016"]
        assert page.locator(".attn-click-chance i").evaluate_all(shades) == [0.125]  # the root of 1/64
    assert not complaints


# ---- in the hand ----


def play(page):
    """Everything by keyboard: a position, a latent, the other network, a new picture."""
    here = page.locator(".attn-generate-click")
    cover = here.get_by_role("slider", name="picture")
    cover.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
    page.wait_for_function(f"JSON.stringify({ROOT}.result.place) === '[3,7]'")
    assert cover.get_attribute("aria-valuetext") == "row 4, column 8 of 16"
    before = page.evaluate(f"{ROOT}.result.latent")
    here.get_by_role("slider", name="latent 2").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    after = page.evaluate(f"{ROOT}.result.latent")
    assert after[1] == pytest.approx(before[1] + 0.05) and after[2:] == before[2:]
    here.get_by_role("radio", name="generator").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{ROOT}.result.network === 'discriminator'")
    same_as_torch(page.evaluate(f"{ROOT}.result"))
    here.get_by_role("button", name="new picture").press("Enter")
    same_as_torch(page.evaluate(f"{ROOT}.result"))
    assert page.evaluate(f"{ROOT}.result.latent") != after
    words = here.locator(".attn-words").filter(
        has_text="In the discriminator, the position at row 4, column 8 of 16 looks"
    )
    words.wait_for()
    assert "mirror partner" in words.inner_text()


def test_by_keyboard(browser, desk):
    with visit(browser, desk) as (page, complaints):
        play(page)
    assert not complaints


def test_by_pointer(browser, desk):
    with visit(browser, desk) as (page, complaints):
        box = page.get_by_role("slider", name="picture").bounding_box()
        page.mouse.click(box["x"] + 0.97 * box["width"], box["y"] + 0.28 * box["height"])
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
        result = settled(page)
        assert result["place"] == [4, 15]
        same_as_torch(result)
        partner = page.evaluate("[...document.querySelectorAll('.attn-click-map span')]"
                                ".findIndex((cell) => cell.classList.contains('attn-click-partner'))")  # fmt: skip
        assert partner == 2 * 8 + 0
    assert not complaints


def test_weights_that_cannot_be_had(browser, desk):
    with visit(browser, desk) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.get_by_role("button", name="new picture").click()
        page.locator(".attn-notes").filter(has_text="could not be loaded: the weights are damaged").wait_for()
        page.evaluate("window.kernel = 'answers'")
        page.get_by_role("button", name="Try again").click()
        same_as_torch(settled(page))
        assert page.locator(".attn-notes").inner_text() == ""


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk, width=380) as (page, complaints):
        play(page)
        readable(page, ".attn-click-map")
    assert not complaints


# ---- on the built page ----


@pytest.mark.book
@pytest.mark.parametrize("look", [{}, {"width": 380, "scheme": "dark"}])
def test_on_the_built_page(browser, site, html, look):
    with built(browser, site, html, BOOK_PAGE, **look) as page:
        page.locator(".attn-generate-click canvas").first.wait_for()
        play(page)
