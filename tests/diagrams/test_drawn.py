"""Drawings in a real browser: nothing touches, all of it can be read, and neighbours leave each other alone."""

import pytest
from drawn import LOOK, PAGE, complaints, unreadable
from widget_page import built

from attncourse import course, diagrams
from attncourse.diagrams import kit, opened

WORDS = "the black cat sees the dog end".split()
DRAWINGS = {name: getattr(diagrams, name)() for name in diagrams.EXPORTS} | {
    "opened_layer": opened.opened_layer(WORDS, 4, 1),
    "opened_stack": opened.opened_stack(WORDS, 7),
}
COLAB = ":root { --colab-primary-text-color: #e3e3e3; --colab-primary-surface-color: #1f1f1f }"
LAB = ":root { --jp-content-font-color0: rgba(255, 255, 255, 1); --jp-layout-color0: #111 }"

# What each element looks like; positions are the drawing's own.
STYLES = """svg => [...svg.querySelectorAll("*")].map((node) => {
  const s = getComputedStyle(node);
  return [node.tagName, s.fill, s.stroke, s.strokeWidth, s.fontSize, s.fontFamily, s.opacity, s.paintOrder].join("|");
})"""


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 380, "height": 800})
    yield context.new_page()
    context.close()


def show(page, *drawings, style=""):
    page.set_content(PAGE.replace("DRAWINGS", "".join(drawings)))
    if style:
        page.evaluate("document.querySelectorAll('style')[0].remove()")  # the book's colours
        page.add_style_tag(content=style)


@pytest.mark.parametrize("name", DRAWINGS)
def test_nothing_touches_and_all_can_be_read_on_a_phone(page, name):
    show(page, DRAWINGS[name]._repr_html_())
    assert complaints(page, smallest=10) == []
    page.evaluate("document.documentElement.className = 'dark'")
    assert unreadable(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


@pytest.mark.parametrize(("where", "style"), [("no theme at all", "p { color: red }"), ("Colab", COLAB), ("Lab", LAB)])
def test_readable_without_the_books_colours(page, where, style):
    for name, drawing in DRAWINGS.items():
        show(page, drawing._repr_html_(), style=style)
        assert unreadable(page) == [], (where, name)


@pytest.mark.parametrize("look", ["", "dark"])
def test_a_number_can_be_read_on_every_weight(page, look):
    d = kit.Diagram("every_weight", 420, 220, "Every weight", "From 0 to 1.")
    steps = [[(10 * i + j) / 100 for j in range(10)] for i in range(10)] + [[1.0] * 10]
    d.grid(0, 0, 11, 10, (40, 20), "weights", labels=[[f"{w:.2f}" for w in row] for row in steps], weights=steps)
    show(page, d._repr_html_())
    page.evaluate("(look) => (document.documentElement.className = look)", look)
    found = page.locator("svg").evaluate(LOOK)
    assert len(found) == 110 and min(found, key=lambda t: t["contrast"])["contrast"] >= 4.5


def test_neighbours_leave_each_other_alone(page):
    """Each of them looks in the crowd as it does alone; and what is no drawing is not touched."""
    alone = {}
    for name, drawing in DRAWINGS.items():
        show(page, drawing._repr_html_())
        alone[name] = page.locator("svg").evaluate(STYLES)
    stranger = '<svg id="stranger"><g class="query layer"><rect class="cell"/><text class="note">x</text></g></svg>'
    show(page, stranger)
    before = page.locator("#stranger").evaluate(STYLES)
    show(page, stranger, *(d._repr_html_() for d in DRAWINGS.values()))
    assert page.locator("#stranger").evaluate(STYLES) == before
    for i, name in enumerate(DRAWINGS):
        assert page.locator("svg.attn-diagram").nth(i).evaluate(STYLES) == alone[name], name
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))


def test_the_same_drawing_twice(page):
    """A folded copy hides its own tips and hatching, not those of the other."""
    d = DRAWINGS["gru_cell"]
    show(page, f'<div style="display: none">{d.to_svg("first")}</div>', d.to_svg("second"))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))
    second = page.locator("svg").nth(1)
    used = second.evaluate("svg => [...svg.outerHTML.matchAll(/url\\(#([\\w-]+)\\)/g)].map((m) => m[1])")
    assert used and all(id.startswith("second-") for id in used)
    assert second.evaluate("(svg, ids) => ids.every((id) => svg.querySelector(`#${id}`))", used)


PAGES = {f"notebooks/{page.id}.html": len(page.diagrams) for page in course.read().executed if page.diagrams}


@pytest.mark.book
@pytest.mark.parametrize("name", [*PAGES, "book/primer_recurrent.html"])
@pytest.mark.parametrize(("width", "scheme"), [(380, "light"), (1300, "dark")])
def test_on_the_built_page(browser, site, html, name, width, scheme):
    """With the book's own fonts, colours and margins."""
    with built(browser, site, html, name, width, scheme) as page:
        drawings = page.locator("figure.attn-drawing > svg.attn-diagram")
        assert drawings.count() >= PAGES.get(name, 2)
        for i in range(drawings.count()):
            assert complaints(page, f"figure.attn-drawing > svg.attn-diagram >> nth={i}", smallest=10) == []


def test_the_complaints_complain(page):
    """A drawing with one fault of each kind."""
    d = kit.Diagram("faulty", 700, 100, "t", "d")
    d.box(60, 30, 40, 24, "too long for it")
    d.text(200, 30, "over")
    d.text(205, 32, "each other")
    d.arrow((300, 20), (390, 80))
    d.text(690, 90, "beyond the edge")
    d.add('<text x="400" y="30" style="fill:#bbb">pale</text>')
    show(page, d._repr_html_())
    said = "\n".join(complaints(page, smallest=10))
    for fault in (
        "lines: too long",
        "texts: over | each other",
        "ends: 390,80",
        "outside: beyond",
        ": pale",
        " px: over",
    ):
        assert fault in said, said
