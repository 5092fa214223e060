"""What the pages share: fonts of their own, names that light up together, and the search above the ledger."""

import re

import pytest
from browser import visit
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from places import HTML, ROOT

pytestmark = pytest.mark.book

FONTS = ROOT / "book/assets/vendor/fonts"
LIT = """() => [...document.querySelectorAll(".attn-lit")].map((e) => [
    e.closest("svg") ? "drawing" : e.closest("table") ? "table" : "code", e.dataset.name ?? e.textContent])"""
PLACES = "() => [...document.querySelectorAll('main *')].map((e) => { const r = e.getBoundingClientRect(); " \
    "return [r.x + scrollX, r.y + scrollY, r.width, r.height].join() })"  # fmt: skip


def pages_with(selector):
    """Pages of the built book that have it, without opening a browser."""
    found = [path for folder in ("notebooks", "book") for path in sorted((HTML / folder).glob("*.html"))]
    return [
        path.relative_to(HTML).as_posix()
        for path in found
        if BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one(selector)
    ]


# --- fonts ---------------------------------------------------------------------------------------------------


def characters(text):
    return {c for c in text if not c.isspace() and c.isprintable()}


def test_the_fonts_have_what_the_book_writes():
    """Latin, Greek, arrows, minus and times, a hat: in the font itself, not borrowed from whatever a machine has."""
    wanted = {
        "serif/regular": "ĥ ← → − × √ ≤ ≥ ≈ ≠ ∂ γ σ – … “ ” é ø ü",
        "serif/it": "ĥ ← γ σ −",
        "sans/regular": "ĥ ← → − × √ ≤ ≥ γ σ",
        "code/upright": "ĥ ← → − × √ ≤ ≥ γ σ ‖ …",
        "math/regular": "∇ ⊤ ∘ ‖ ∑ √ 𝑥 𝐖 𝜎 ℎ ℝ 𝔼 ⌈ ⌊",
    }
    for name, text in wanted.items():
        has = set(map(chr, TTFont(FONTS / f"{name}.woff2").getBestCmap()))
        assert characters(text) <= has, (name, characters(text) - has)


def test_the_maths_font_keeps_its_table():
    """Without it a browser does not know where to put a subscript, and cuts letters off."""
    table = TTFont(FONTS / "math/regular.woff2")["MATH"].table
    assert table.MathConstants.SubscriptShiftDown.Value > 0
    grown = {glyph for glyph in table.MathVariants.VertGlyphCoverage.glyphs if glyph.startswith(("paren", "radical"))}
    assert len(grown) >= 3, grown


def test_a_part_of_a_font_does_not_carry_its_reserved_name():
    for path in FONTS.rglob("*.woff2"):
        names = TTFont(path)["name"]
        family, licence = names.getDebugName(1), names.getDebugName(13)
        assert family.startswith("Attn ") and "Source" not in names.getDebugName(6)
        assert "Open Font License" in licence and list(path.parent.glob("LICENSE*"))


@pytest.mark.parametrize("way", ["http", "file"])
def test_text_code_and_formulas_use_them(way, site, html, browser):
    """Over http and from disk: the browser says of each kind of text which font it drew it with."""
    page_of = "notebooks/04_bahdanau.html"
    url = site + page_of if way == "http" else (html / page_of).as_uri()
    wanted = {
        ".bd-article section > p": "Attn Serif",
        ".bd-article h2": "Attn Sans",
        ".bd-article .highlight pre": "Attn Code",
        ".attn-exercise math mi": "Attn Math",
    }
    with visit(browser, url) as (page, complaints):
        devtools = page.context.new_cdp_session(page)
        devtools.send("DOM.enable")
        devtools.send("CSS.enable")
        root = devtools.send("DOM.getDocument")["root"]["nodeId"]
        for selector, family in wanted.items():
            node = devtools.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
            fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
            most = max(fonts, key=lambda font: font["glyphCount"])
            assert (most["familyName"], most["isCustomFont"]) == (family, True), (selector, fonts)
    assert not complaints


def test_the_fonts_are_light():
    """All pages share them; a page loads those that it shows."""
    assert sum(path.stat().st_size for path in FONTS.rglob("*.woff2")) < 400_000


# --- linked names --------------------------------------------------------------------------------------------


def test_a_name_in_the_table_lights_drawing_and_table(site, browser):
    with visit(browser, site + "book/primers.html") as (page, complaints):
        before = page.evaluate(PLACES)
        name = page.locator('td code[data-name="candidate"]').first
        name.hover()
        assert {(where, what) for where, what in page.evaluate(LIT)} == {
            ("table", "candidate"),
            ("drawing", "candidate"),
        }
        assert page.evaluate(PLACES) == before, "nothing moves"
        page.mouse.move(5, 5)
        assert page.evaluate(LIT) == []
    assert not complaints


def test_a_name_in_a_drawing_lights_the_table(site, browser):
    with visit(browser, site + "book/primers.html") as (page, _):
        page.locator('svg [data-name="o_t"]').first.hover()
        assert ["table", "o_t"] in page.evaluate(LIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_lit_can_be_told_and_read(scheme, site, browser):
    """A thicker line in the drawing, a ground and a line below in table and code; letters keep their contrast."""
    with visit(browser, site + "book/primers.html", scheme=scheme) as (page, _):
        line = "e => parseFloat(getComputedStyle(e.querySelector('path, rect')).strokeWidth)"
        part = page.locator('svg [data-name="z_t"].layer').first
        plain = part.evaluate(line)
        code = page.locator('td code[data-name="z_t"]').first
        code.focus()
        assert part.evaluate(line) > 1.5 * plain
        page.evaluate((ROOT / "tests/vendor/axe.min.js").read_text())
        found = page.evaluate("axe.run('td .attn-lit', {runOnly: ['color-contrast']})")
        assert found["passes"] and not found["violations"]
        page.emulate_media(media="print")
        assert part.evaluate(line) == plain and code.evaluate("e => getComputedStyle(e).boxShadow") == "none"


def test_the_keyboard_reaches_names_and_code_lights_too(site, browser):
    """Tab goes from name to name; the code of the chapter lights where it is not folded, formulas never."""
    with visit(browser, site + "notebooks/04_bahdanau.html") as (page, _):
        page.locator("td code[data-name]").first.focus()
        reached = []
        for _ in range(5):
            reached.append(page.evaluate("document.activeElement.dataset.name"))
            lit = page.evaluate(LIT)
            assert lit and {what for _, what in lit} == {reached[-1]}
            page.keyboard.press("Tab")
        assert len(set(reached)) == 5
        page.locator('td code[data-name="keys"]').first.focus()
        assert ["code", "keys"] in page.evaluate(LIT)
        assert page.evaluate("document.querySelectorAll('mjx-container .attn-lit, math .attn-lit').length") == 0
        folded = "[...document.querySelectorAll('details:not([open]) .attn-lit')].length"
        assert page.evaluate(folded) == 0
        page.locator('td code[data-name="weights"]').first.hover()  # the pointer goes before the focus
        assert {what for _, what in page.evaluate(LIT)} == {"weights"}
        page.mouse.move(5, 5)
        assert {what for _, what in page.evaluate(LIT)} == {"keys"}


def test_only_the_column_of_variables_is_linked(site, browser):
    """`True` in a remark and `(B, Tq, Tk)` are code, and no names."""
    with visit(browser, site + "notebooks/04_bahdanau.html") as (page, _):
        linked = page.evaluate("[...document.querySelectorAll('td code[data-name]')].map((e) => e.dataset.name)")
        assert "True" not in linked and all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in linked)


@pytest.mark.parametrize("name", pages_with(".attn-diagram [data-name]") or ["no drawing"])
def test_what_a_drawing_names_is_found_beside_it(name, site, browser):
    """Whoever points at a name in a drawing sees it light in the page's table or code, too."""
    with visit(browser, site + name) as (page, _):
        names = page.evaluate("[...document.querySelectorAll('.attn-diagram [data-name]')].map((e) => e.dataset.name)")
        visible = set(page.evaluate("[...document.querySelectorAll('.highlight span')].map((e) => e.textContent)"))
        visible |= set(page.evaluate("[...document.querySelectorAll('td code[data-name]')].map((e) => e.dataset.name)"))
        assert names and not set(names) - visible


# --- the ledger ----------------------------------------------------------------------------------------------


def test_the_ledger_can_be_searched(site, browser):
    rows = "[...document.querySelectorAll('tbody tr')].filter((e) => e.checkVisibility()).map((e) => e.textContent)"
    with visit(browser, site + "book/ledger.html") as (page, complaints):
        every = page.evaluate(rows)
        page.get_by_label("Search the ledger").fill("SEEDS jacobian")
        found = page.evaluate(rows)
        assert 0 < len(found) < len(every)
        assert all("seeds" in row.lower() and "jacobian" in row.lower() for row in found)
        assert page.locator(".attn-filter-count").inner_text() == f"{len(found)} of {len(every)}"
        shown = page.evaluate(
            "[...document.querySelectorAll('section section')].filter((e) => e.checkVisibility()).length"
        )
        assert shown == page.evaluate("new Set([...document.querySelectorAll('tbody tr')].filter((e) => "
            "e.checkVisibility()).map((e) => e.closest('section'))).size")  # fmt: skip
        page.get_by_label("Search the ledger").fill("no such thing anywhere")
        assert page.evaluate(rows) == [] and "0 of" in page.locator(".attn-filter-count").inner_text()
        page.get_by_label("Search the ledger").fill("")
        assert page.evaluate(rows) == every
    assert not complaints
