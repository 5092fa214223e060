"""The built book, page by page, as a reader's browser sees it: `make book`, then `pytest -m book`."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import places
import pytest
import yaml
from browser import visit
from bs4 import BeautifulSoup
from places import HTML, ROOT

pytestmark = pytest.mark.book

AXE = places.AXE.read_text()
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
# index.html only redirects to the first page. Without a build, one test remains to say so.
PAGES = sorted(
    path.relative_to(HTML).as_posix()
    for path in HTML.rglob("*.html")
    if not path.relative_to(HTML).as_posix().startswith(("_static/", "_sources/", "index.html"))
) or ["no book"]
VISIBLE = ["img", "svg", "canvas", "video", "script"]  # in an output without text; a script becomes a widget
WIDGET = "application/vnd.jupyter.widget-view+json"
# Show what is folded; and keep one token of each colour in code: axe would measure thousands of others too.
PREPARE = """
document.querySelectorAll("details").forEach((details) => (details.open = true));
const seen = new Set();
for (const token of document.querySelectorAll(".highlight span")) {
  const kind = token.className + Boolean(token.closest(".cell_output"));
  if (seen.has(kind)) token.replaceWith(...token.childNodes);
  seen.add(kind);
}
"""


@cache
def soup(path):
    return BeautifulSoup(path.read_text(), "html.parser")


@cache
def notebook(name):
    return json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())


def widget_views(name):
    """The model id of each widget that a cell of the notebook shows."""
    outputs = [output for cell in notebook(name)["cells"] for output in cell.get("outputs", [])]
    return [o["data"][WIDGET]["model_id"] for o in outputs if WIDGET in o.get("data", {})]


# ---- The checks: each yields a sentence for each thing that is wrong with the open page ----


def math(page):
    yield from page.evaluate("""() => {
        const wrong = [];
        for (const error of document.querySelectorAll("mjx-merror"))
            wrong.push("MathJax: " + error.getAttribute("data-mjx-error"));
        for (const text of document.querySelectorAll("mjx-assistive-mml mtext[mathcolor=red]"))
            if (text.textContent.startsWith("\\\\")) wrong.push("MathJax does not know " + text.textContent);
        for (const math of document.querySelectorAll(".math"))
            if (!math.querySelector("mjx-container")) wrong.push("not typeset: " + math.textContent);
        return wrong;
    }""")


def raw_tex(page):
    """TeX in visible text: a formula that nobody has recognised."""
    text = page.evaluate("""() => {
        const style = document.createElement("style");
        style.textContent = "pre, code, mjx-container, .math, textarea { display: none !important }";
        document.head.append(style);
        const text = document.body.innerText;
        style.remove();
        return text;
    }""")
    for match in re.finditer(r"\$(?!\s)[^$\n]*[^\s$]\$|\\[(\[].*|\\(begin|frac|mathrm|text)\b.*", text):
        yield f"raw TeX in the text: {match[0]}"


def wide(page):
    """What is wider than the window and has no box of its own to scroll in."""
    yield from page.evaluate("""() => {
        const scrolls = (e) => e && e !== document.body
            && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
        const name = (e) => `<${e.localName} class="${e.className}"> ${e.textContent.trim().slice(0, 40)}`;
        const wide = [...document.querySelectorAll("main *")]
            .filter((e) => e.checkVisibility({visibilityProperty: true}))
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement));
        const page = document.documentElement.scrollWidth;
        return [
            ...(page > innerWidth ? [`the page is ${page} px wide in a window of ${innerWidth}`] : []),
            ...wide.slice(0, 3).map((e) => `sticks out of a window of ${innerWidth}: ${name(e)}`),
        ];
    }""")


def accessibility(page, **options):
    options |= {"resultTypes": ["violations"], "preload": False}
    for rule in page.evaluate("options => axe.run(document, options)", options)["violations"]:
        if rule["impact"] in ("serious", "critical"):
            for node in rule["nodes"][:3]:
                yield f"axe {rule['id']} ({rule['help']}): {node['html'][:200]}"


def widgets(page):
    notebook_path = Path(urlsplit(page.url).path)
    expected = len(widget_views(notebook_path.stem)) if notebook_path.parent.name == "notebooks" else 0
    areas = page.locator(".widget-subarea").all()
    if len(areas) != expected:
        yield f"{len(areas)} of {expected} widgets are drawn"
    for number, area in enumerate(areas):
        box = area.bounding_box()
        if not area.locator("*").count() or not box or box["height"] < 5:
            yield f"widget {number} is empty"


# ---- The tests ----


@pytest.mark.parametrize("name", PAGES)
def test_page(name, site, browser):
    """Over http, light and dark, wide and narrow."""
    with visit(browser, site + name) as (page, problems):
        page.evaluate(AXE + PREPARE)
        problems += [*math(page), *raw_tex(page), *widgets(page)]
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)
            page.set_viewport_size({"width": 1280, "height": 900})
            problems += (f"{scheme}: {problem}" for problem in accessibility(page))
            page.set_viewport_size({"width": 380, "height": 900})
            problems += (f"{scheme}: {problem}" for problem in wide(page))
        page.wait_for_timeout(400)  # the theme looks for boxes that scroll 300 ms after a change of size
        problems += accessibility(page, runOnly=["scrollable-region-focusable"])
    assert not problems, "\n".join([name, *problems])


def test_a_slow_machine_is_waited_for(site, browser):
    """anywidget gives up on a widget after two seconds; with two busy cores that is too early."""
    patience = "new Promise(done => { let s = AbortSignal.timeout(1); setTimeout(() => done(!s.aborted), 300) })"
    with visit(browser, site + "index.html") as (page, _):
        assert page.evaluate(patience)


def test_from_disk(html, browser):
    """Opened as files: the first page, and the notebook with the most widgets."""
    most = max(NOTEBOOKS, key=lambda name: len(widget_views(name)))
    for name in "index.html", f"notebooks/{most}.html":
        with visit(browser, (html / name).as_uri()) as (page, problems):
            problems += [*math(page), *raw_tex(page), *widgets(page)]
        assert not problems, "\n".join([name, *problems])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs(name, html):
    """A notebook without outputs or without its widgets' state would show nothing, and say nothing."""
    page = html / "notebooks" / f"{name}.html"
    assert page.is_file(), f"notebooks/{name}.ipynb is not in the book: is it in _toc.yml?"
    cells = [cell for cell in notebook(name)["cells"] if cell["cell_type"] == "code"]
    assert all(c["execution_count"] for c in cells if "".join(c["source"]).strip()), "not executed to its end"
    removed = {"remove-cell", "remove-output"}
    shown = [c for c in cells if c["outputs"] and removed.isdisjoint(c["metadata"].get("tags", []))]
    outputs = soup(page).select(".cell > .cell_output")
    rendered = [o for o in outputs if o.get_text(strip=True) or o.find(VISIBLE)]
    assert len(rendered) == len(shown), f"{len(shown)} cells have outputs, the page shows {len(rendered)}"
    state = notebook(name)["metadata"].get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    missing = set(widget_views(name)) - set(state.get("state", {}))
    assert not missing, f"the notebook's metadata lacks the state of the widgets {missing}"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_colab(name, html):
    """The launch buttons open this notebook, and any other link to Colab one that exists."""
    repository = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]
    base = repository["url"].replace("https://github.com", "https://colab.research.google.com/github")
    base += f"/blob/{repository['branch']}/notebooks/"
    page = soup(html / "notebooks" / f"{name}.html")
    links = [a["href"] for a in page.select('a[href^="https://colab.research.google.com"]')]
    project = repository["url"].removeprefix("https://github.com/")
    binder = f"https://mybinder.org/v2/gh/{project}/{repository['branch']}?urlpath=lab/tree/notebooks/{name}.ipynb"
    launched = [binder, f"{base}{name}.ipynb", f"https://codespaces.new/{project}?quickstart=1"]
    assert [a["href"] for a in page.select(".dropdown-launch-buttons a")] == launched
    assert set(links) <= {f"{base}{other}.ipynb" for other in NOTEBOOKS}


@pytest.mark.parametrize("name", PAGES)
def test_links(name, html):
    """Every link and file inside the book exists, with its anchor; nothing is loaded from outside."""
    page, problems = soup(html / name), []
    for tag in page.select("[href], [src]"):
        link = tag.get("href") or tag.get("src") or ""
        url = urlsplit(link)
        if url.scheme or url.netloc:
            if tag.name != "a" and url.scheme != "data" and "canonical" not in tag.get("rel", []):
                problems.append(f"<{tag.name}> loads {link}")
            continue
        target = ((html / name).parent / unquote(url.path)).resolve() if url.path else html / name
        if not target.is_file():
            problems.append(f"{link} does not exist")
        elif url.fragment and not soup(target).find(id=unquote(url.fragment)):
            problems.append(f"{link}: no such anchor")
    assert not problems, "\n".join([name, *problems])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_page_is_light(name, html):
    """The page with its images (a prediction's are inside of it); styles and scripts are shared, weights are loaded on
    use."""
    page = html / "notebooks" / f"{name}.html"
    images = {
        (page.parent / unquote(tag["src"])).resolve() for tag in soup(page).select('main img[src]:not([src^="data:"])')
    }
    assert page.stat().st_size + sum(path.stat().st_size for path in images if path.is_file()) < 2_500_000
