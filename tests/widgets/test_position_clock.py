"""Position clock: the sinusoids of the page are the package's; two positions' angle depends on their distance only."""

import numpy as np
import pytest
import torch
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse.widgets import PositionClock, bundle
from attncourse.widgets.position_clock.widget import FARTHEST, SIZES

BOOK_PAGE = "notebooks/10_transformer.html"
ROOT = "document.querySelector('.attn-position-clock')"


def test_the_state_is_small():
    assert stored(PositionClock()) < 60_000 and len(bundle.esm("position_clock")) < 25_000


@pytest.mark.parametrize("size", SIZES)
def test_products_are_a_sum_of_cosines_of_the_distance(size):
    """By the formula, and the same from wherever one starts."""
    k = torch.arange(-FARTHEST, FARTHEST + 1).double()
    omega = 10_000 ** (-torch.arange(0, size, 2).double() / size)
    expected = (k[:, None] * omega).cos().sum(1)
    for position in (0, 12, 100):
        products = PositionClock(size=size, position=position).products()
        torch.testing.assert_close(products, expected, atol=1e-3, rtol=0)


def test_malformed_traits_are_refused():
    for traits in ({"position": -1}, {"position": 101}, {"distance": FARTHEST + 1}, {"size": 12}):
        with pytest.raises(TraitError):
            PositionClock(**traits)


# ---- in a browser ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("clock"), PositionClock()) as url:
        yield url


def same_as_python(page, **traits):
    here, shown = PositionClock(**traits), page.evaluate(f"{ROOT}.result")
    for name, expected in zip(("from", "to"), here.encodings(), strict=True):
        np.testing.assert_allclose(shown[name], expected, atol=1e-4)
    np.testing.assert_allclose(shown["products"], here.products(), atol=1e-3)


def test_every_setting_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        for size in SIZES:
            for position, distance in ((0, 0), (12, 5), (100, -FARTHEST), (37, FARTHEST)):
                traits = {"size": size, "position": position, "distance": distance}
                page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
                same_as_python(page, **traits)
                assert page.locator(".attn-dials figure").count() == min(16, size // 2)
                text = "all" if size <= 32 else f"16 of the {size // 2} hands"
                assert text in page.locator(".attn-dials + .attn-hint").inner_text()
        page.evaluate("cleanup(), model.set('position', 3)")
        same_as_python(page, **traits)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard; the dot product in words stays when both positions move."""
    here = page.locator(".attn-position-clock")
    here.get_by_role("radio", name="64", exact=True).check()
    here.get_by_role("slider", name="distance k").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    same_as_python(page, size=64, distance=3 - FARTHEST)
    here.get_by_role("slider", name="position p").focus()
    page.keyboard.press("End")
    same_as_python(page, size=64, distance=3 - FARTHEST, position=100)
    product = PositionClock(size=64).products()[3].item()
    sign = "−" if product < 0 else ""
    here.locator(".attn-words").filter(has_text=f"is {sign}{abs(product):.2f}, of at most 32").wait_for()


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-clock-chart", staticmethod(explore)
