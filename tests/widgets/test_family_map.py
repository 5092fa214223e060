"""The family on one map: the data against the book that it points into; filters and links in a browser."""

import itertools
import json
import re
from pathlib import Path

import pytest
import yaml
from browser import visit
from places import ROOT
from traitlets import TraitError
from widget_page import built, readable, stand_alone

from attncourse import course, family
from attncourse.widgets import FamilyMap

MECHANISMS = {m.name: m for m in family.MECHANISMS}
BOOK_PAGE = "notebooks/map.html"


def in_toc():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return {Path(name).name for name in files if name.startswith("notebooks/")}


# ---- the data ----


def test_what_is_taken_was_there_before():
    assert len(MECHANISMS) == len(family.MECHANISMS)
    for m in family.MECHANISMS:
        assert all(MECHANISMS[giver].when <= m.when and what for giver, what in m.took), m.name
        assert set(m.kinds.replace(", ", ",").split(",")) <= {"", *itertools.chain(*family.PROPERTIES.values())}, m.name
    assert {m.cite for m in family.MECHANISMS} | {cite for _, cite in family.SOURCES.values()} <= set(
        re.findall(r"@\w+\{(\w+)", (ROOT / "book/references.bib").read_text(encoding="utf-8"))
    )


def test_every_chapter_has_a_mechanism_on_the_map():
    """A chapter that only takes apart what an earlier one built needs none."""
    seen, first = set(), set()
    for chapter in course.read().chapters:
        first |= {chapter.id} if set(chapter.mechanisms) - seen else set()
        seen |= set(chapter.mechanisms)
    pages = {m.page for m in family.MECHANISMS}
    assert first - {"04_bahdanau"} <= pages <= {chapter.id for chapter in course.read().chapters}
    assert "04_bahdanau" in pages  # its module is chapter 3's


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_section_is_a_heading_of_its_chapter(name):
    m = MECHANISMS[name]
    headings = re.findall(r"^## (.+)$", (ROOT / f"book/chapters/{m.page}.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert m.section in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_no_box_covers_another():
    for a, b in itertools.combinations(FamilyMap().nodes, 2):
        if a["y"] == b["y"]:
            room = 65 * abs(a["x"] - b["x"]) - 24 - 3.4 * (len(a["short"]) + len(b["short"]))
            assert room > 0, (a["name"], b["name"])


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"selected": "BERT"}, "'BERT' is not on the map; there are: Kernel smoothing"),
        ({"filters": {"read": "semi"}}, "no mechanism is filtered by 'read': 'semi'; there are"),
        ({"filters": {"year": "2015"}}, "no mechanism is filtered by 'year'"),
    ],
)
def test_malformed_traits_are_refused_with_a_reason(traits, message):
    with pytest.raises(TraitError, match=message):
        FamilyMap(**traits)


# ---- in a browser ----


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("family"), FamilyMap()) as url:
        yield url


def left(page):
    return json.loads(page.locator(".attn-family").get_attribute("data-matching"))


def test_filters_leave_what_python_leaves(browser, desk):
    with visit(browser, desk) as (page, complaints):
        options = [[None, *words] for words in family.PROPERTIES.values()]
        for words in itertools.product(*options):
            filters = {name: word for name, word in zip(family.PROPERTIES, words, strict=True) if word}
            page.evaluate("(filters) => model.set('filters', filters)", filters)
            assert left(page) == FamilyMap(filters=filters).matching(), filters
        page.evaluate("model.set('filters', {})")
        page.get_by_role("radio", name="hard", exact=True).check()
        page.get_by_role("radio", name="places", exact=True).check()
        assert left(page) == ["Recurrent attention model", "Reinforcement-learning NTM", "Luong, local"]
        faded = page.locator('.attn-node[aria-disabled="true"]').count()
        assert faded == len(MECHANISMS) - 3
        page.get_by_role("radio", name="all", exact=True).first.check()  # of "read"
        assert page.evaluate("model.get('filters')") == {"looks at": "places"}
    assert not complaints


def test_by_keyboard_through_what_is_left(browser, desk):
    with visit(browser, desk + "?book") as (page, complaints):
        page.evaluate("model.set('filters', {score: 'scaled dot'})")
        page.locator('.attn-node[tabindex="0"]').focus()
        seen = []
        for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
            seen.append(page.evaluate("document.activeElement.dataset.name"))
            assert page.evaluate("model.get('selected')") == seen[-1]
        assert seen == ["Transformer", "SNAIL", "Transformer"]
        page.locator(".attn-words").filter(has_text="the dot product from Luong, global").wait_for()
        assert page.locator(".attn-words").inner_text().endswith("Taken up by SNAIL; Non-local block.")
        assert page.locator(".attn-edge.attn-near").count() == 7
        page.locator('[data-name="Saliency maps"]').dispatch_event("click")  # filtered out: not to be chosen
        assert page.evaluate("model.get('selected')") == "Transformer"
        page.evaluate("model.set('filters', {})")
        page.locator('[data-name="Saliency maps"]').click()
        assert page.locator(".attn-where a").get_attribute("href") == "01_implicit_attention.html#one-row-is-enough"
    assert not complaints


def test_a_filter_leaves_nothing_chosen_that_it_rules_out(browser, desk):
    with visit(browser, desk) as (page, complaints):
        assert page.evaluate("model.get('selected')") == "RNNsearch"  # which is soft
        page.get_by_role("radio", name="hard", exact=True).check()
        assert page.evaluate("model.get('selected')") == left(page)[0] == "Recurrent attention model"
        assert page.locator('.attn-node[aria-checked="true"][aria-disabled="true"]').count() == 0
        assert page.locator(".attn-words").inner_text().startswith("Recurrent attention model, 2014")
    assert not complaints


@pytest.mark.parametrize("width", [380, 600, 700, 1280])
def test_the_whole_map_fits(browser, desk, width):
    """No box beyond the edge, none on another; on a phone the map stands upright instead of scrolling."""
    with visit(browser, desk, width=width) as (page, complaints):
        edges = "(all) => all.map((box) => box.getBoundingClientRect()).map((r) => [r.left, r.top, r.right, r.bottom])"
        boxes = page.locator(".attn-node rect").evaluate_all(edges)
        [stage] = page.locator(".attn-family-stage").evaluate_all(edges)
        assert len(boxes) == len(MECHANISMS)
        assert all(stage[0] <= x1 and x2 <= stage[2] for x1, _, x2, _ in boxes)
        for (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) in itertools.combinations(boxes, 2):
            assert ax2 <= bx1 or bx2 <= ax1 or ay2 <= by1 or by2 <= ay1
        upright = page.locator(".attn-family-map").evaluate("(map) => map.clientHeight > map.clientWidth * 1.5")
        assert upright == (width < 620)
    assert not complaints


def test_where_nobody_knows_the_other_notebooks_there_is_no_link(browser, desk):
    """Neither the book nor Jupyter: Colab shows an output in a frame of its own."""
    with visit(browser, desk) as (page, complaints):
        assert page.locator(".attn-where").inner_text() == "Chapter 4 builds it."
        assert page.locator(".attn-where a").count() == 0
    assert not complaints


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk + "?book", width=380) as (page, complaints):
        page.evaluate("model.set('filters', {read: 'hard'})")
        readable(page, ".attn-family-map")
    assert not complaints


# ---- on the built page ----


@pytest.mark.book
def test_every_link_of_the_map_leads_to_its_section(browser, site, html):
    with built(browser, site, html, BOOK_PAGE) as page:
        page.locator(".attn-family-map").wait_for()
        for m in family.MECHANISMS:
            page.locator(f'[data-name="{m.name}"]').focus()
            page.locator(f'[data-name="{m.name}"]').dispatch_event("click")
            links = [a.get_attribute("href") for a in page.locator(".attn-where a").all()]
            [link] = links
            name, _, anchor = link.partition("#")
            assert f'id="{anchor}"' in (html / "notebooks" / name).read_text(encoding="utf-8"), link
