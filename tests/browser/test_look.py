"""What the pages share: fonts of their own, names that light up together, and the search above the ledger."""

import re

import pytest
from browser import visit
from bs4 import BeautifulSoup
from places import HTML, ROOT

pytestmark = pytest.mark.book

FONTS = ROOT / "book/assets/vendor/fonts"
LIT = """() => [...document.querySelectorAll(".attn-lit")].map((e) => [
    e.closest("svg") ? "drawing" : e.closest("table") ? "table" : "code", e.dataset.name ?? e.textContent])"""
PLACES = "() => [...document.querySelectorAll('.bd-article *')].map((e) => { const r = e.getBoundingClientRect(); " \
    "return [r.x + scrollX, r.y + scrollY, r.width, r.height].join() })"  # fmt: skip

PROBE = """async ([family, text]) => {
    const probe = Object.assign(document.createElement("div"), { id: family.slice(2), textContent: text });
    probe.style.fontFamily = `var(${family})`;
    document.querySelector(".bd-article").append(probe);
    await document.fonts.ready;
}"""


def pages_with(selector):
    """Pages of the built book that have it, without opening a browser."""
    found = [path for folder in ("notebooks", "book") for path in sorted((HTML / folder).glob("*.html"))]
    return [
        path.relative_to(HTML).as_posix()
        for path in found
        if BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one(selector)
    ]


# --- fonts ---------------------------------------------------------------------------------------------------


def drawn_with(page, selector):
    """[(family, PostScript name, is it the book's own, glyphs)] of the text of the first such element, the most used
    one first, as the browser drew it."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    node = devtools.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    fonts = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    fonts.sort(key=lambda font: -font["glyphCount"])
    return [(f["familyName"], f["postScriptName"], f["isCustomFont"], f["glyphCount"]) for f in fonts]


@pytest.mark.parametrize("way", ["http", "file"])
def test_text_code_and_formulas_come_with_the_book(way, site, html, browser):
    """Over http and from disk. A part of a font bears a name of ours: its licence reserves the original's."""
    name = "notebooks/04_bahdanau.html"
    with visit(browser, site + name if way == "http" else (html / name).as_uri()) as (page, complaints):
        page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        for selector, family in {
            ".bd-article section > p": "Attn Serif",
            ".bd-article h2": "Attn Sans",
            ".bd-article .highlight pre": "Attn Code",
            ".attn-exercise math mi": "Attn Math",
        }.items():
            first = drawn_with(page, selector)[0]
            assert first[:3] == (family, family.replace(" ", ""), True), (selector, first)
    assert not complaints
    assert all(list(folder.glob("LICENSE*")) for folder in FONTS.iterdir())


def test_the_fonts_have_what_the_book_writes(site, browser):
    """Latin, Greek, arrows, minus and times, a hat: nothing is borrowed from whatever a machine has."""
    probes = {
        "--attn-serif": "ĥ ← → − × √ ≤ ≥ ≈ ≠ ∂ ∇ γ σ ‖ ⊤ ⇒ ✓ – … “ ” ½ é ø ü",
        "--attn-sans": "ĥ ← → − × √ ≤ ≥ ≈ γ σ ⇒ ✓ ↔ ① é",
        "--attn-mono": "ĥ ← → − × √ ≤ ≥ ≈ ≠ γ σ ‖ … – é",
    }
    with visit(browser, site + "book/notation.html") as (page, _):
        for family, text in probes.items():
            page.evaluate(PROBE, [family, text])
            page.wait_for_timeout(200)
            fonts = drawn_with(page, f"#{family[2:]}")
            assert all(own for _, _, own, _ in fonts), (family, fonts)


def test_the_maths_font_keeps_its_table(site, browser):
    """Without its MATH table a browser cannot let a bracket grow around what stands inside."""
    grow = """(family) => {
        const fraction = (n) => n ? `<mfrac><mi>x</mi>${fraction(n - 1)}</mfrac>` : "<mi>y</mi>";
        document.querySelector(".bd-article").insertAdjacentHTML("beforeend",
            `<math id="probe" style="font-family: '${family}'"><mo>(</mo>${fraction(4)}<mo>)</mo></math>`);
        const probe = document.getElementById("probe");
        const high = probe.querySelector("mo").getBoundingClientRect().height;
        const inside = probe.querySelector("mfrac").getBoundingClientRect().height;
        probe.remove();
        return high / inside;
    }"""
    with visit(browser, site + "notebooks/04_bahdanau.html") as (page, _):
        assert page.evaluate(grow, "Attn Math") > 0.9 > page.evaluate(grow, "Attn Serif")


def test_the_fonts_are_light():
    """All pages share them; a page loads those that it shows."""
    assert sum(path.stat().st_size for path in FONTS.rglob("*.woff2")) < 400_000


# --- linked names --------------------------------------------------------------------------------------------


def test_a_name_in_the_table_lights_drawing_and_table(site, browser):
    with visit(browser, site + "book/primer_recurrent.html") as (page, complaints):
        name = page.locator('td code[data-name="candidate"]').first
        name.scroll_into_view_if_needed()
        before = page.evaluate(PLACES)
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
    with visit(browser, site + "book/primer_recurrent.html") as (page, _):
        page.locator('svg [data-name="o_t"]').first.hover()
        assert ["table", "o_t"] in page.evaluate(LIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_lit_can_be_told_and_read(scheme, site, browser):
    """A thicker line in the drawing, a ground and a line below in table and code; letters keep their contrast."""
    with visit(browser, site + "book/primer_recurrent.html", scheme=scheme) as (page, _):
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
        drawings = (
            "[...document.querySelectorAll('.attn-diagram [data-name]')].filter((e) => !e.closest('.attn-widget'))"
        )
        names = page.evaluate(f"{drawings}.map((e) => e.dataset.name)")  # a stepped one has its own code beside it
        visible = set(page.evaluate("[...document.querySelectorAll('.highlight span')].map((e) => e.textContent)"))
        visible |= set(page.evaluate("[...document.querySelectorAll('td code[data-name]')].map((e) => e.dataset.name)"))
        assert names and not set(names) - visible


# --- the ledger ----------------------------------------------------------------------------------------------


def test_the_ledger_can_be_searched(site, browser):
    rows = "[...document.querySelectorAll('tbody tr')].filter((e) => e.checkVisibility()).map((e) => e.textContent)"
    with visit(browser, site + "book/ledger.html") as (page, complaints):
        every = page.evaluate(rows)
        page.get_by_label("Search the ledger").fill("SEEDS one vector")
        found = page.evaluate(rows)
        assert 0 < len(found) < len(every)
        headings = page.evaluate("[...document.querySelectorAll('tbody tr')].filter((e) => e.checkVisibility())"
            ".map((e) => e.closest('section').querySelector('h2').textContent)")  # fmt: skip
        both = [(heading + row).lower() for heading, row in zip(headings, found, strict=True)]
        assert all("seeds" in text and "one vector" in text for text in both)
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


# --- what follows a prediction ---------------------------------------------------------------------------------

VEILED = "() => [...document.querySelectorAll('.attn-veiled')].map((e) => [e.inert, e.textContent.trim().slice(0, 25)])"


def test_what_follows_a_prediction_does_not_give_it_away(site, browser):
    """The sentences after it are veiled, for every reader, until a guess; the next heading and exercise are not."""
    with visit(browser, site + "notebooks/10_transformer.html") as (page, complaints):
        card = page.locator(".attn-predict").first
        tells = [True, "So the verb cannot tell i"]
        assert tells in page.evaluate(VEILED)
        assert not page.locator(".attn-veiled :is(h2, .attn-exercise, .attn-predict)").count()
        card.get_by_role("radio").first.check()
        assert tells in page.evaluate(VEILED), "a choice is no guess yet"
        card.get_by_role("button", name="This is my guess").click()
        assert tells not in page.evaluate(VEILED)
        card.get_by_role("button", name="Guess again").click()
        assert tells in page.evaluate(VEILED)
        page.emulate_media(media="print")
        veiled = page.locator(".attn-veiled").first
        assert veiled.evaluate("(e) => getComputedStyle(e).filter") == "none", "on paper everything is shown"
        assert complaints == []


def test_a_link_lifts_the_veil(site, html, browser):
    """The ledger leads to claims, and some of them follow a prediction."""
    page_name = "notebooks/03_bottleneck.html"
    text = BeautifulSoup((html / page_name).read_text(encoding="utf-8"), "html.parser")
    ids = [tag["id"] for tag in text.select(".attn-predict")[0].find_all_next(id=re.compile("^claim-"))]
    inside = {tag["id"] for card in text.select(".attn-predict") for tag in card.find_all(id=re.compile("^claim-"))}
    target = next(id for id in ids if id not in inside)
    with visit(browser, f"{site}{page_name}#{target}") as (page, _):
        assert not page.locator(f".attn-veiled #{target}").count()
