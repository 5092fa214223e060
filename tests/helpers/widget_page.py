"""A widget alone on a page, with a stand-in for the kernel; and the same widget where the book shows it."""

import json
from contextlib import contextmanager

import pytest
from browser import serve, visit
from places import AXE

from attncourse.widgets import weights as zoo_weights

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>widget</title><link rel="icon" href="data:,">
<style>
html { --pst-color-text-base: #222832; --pst-color-background: #fff; color-scheme: light; }
html.dark { --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; color-scheme: dark; }
body { margin: 0; padding: 12px; background: var(--pst-color-background); }
STYLE</style>
<main><h1>Widget</h1></main>
<script type="module">
const options = new URLSearchParams(location.search);
if (options.has("book")) document.documentElement.dataset.content_root = "./";
if (options.has("dark")) document.documentElement.className = "dark";
const forbid = { get() { throw new Error("forbidden"); } };
if (options.has("forgetful")) Object.defineProperty(window, "localStorage", forbid);
const state = STATE;
const handlers = {};
const tell = (name, ...what) => (handlers[name] || []).forEach((handler) => handler(...what));
window.model = {
  get: (name) => state[name],
  set(name, value) { state[name] = value; tell(`change:${name}`); },
  save_changes() {},
  on: (name, handler) => (handlers[name] = [...(handlers[name] || []), handler]),
  off: (name, handler) => (handlers[name] = (handlers[name] || []).filter((h) => h !== handler)),
  async send({ zoo }) {
    if (window.kernel === "silent") return;
    if (window.kernel === "refuses") return tell("msg:custom", { zoo, error: "the weights are damaged" }, []);
    const bytes = await (await fetch("weights.safetensors")).arrayBuffer();
    tell("msg:custom", { zoo }, [new DataView(bytes)]);
  },
};
window.module = await import(URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" })));
window.cleanup = window.module.default.render({ model, el: document.querySelector("main") });
</script></html>"""


def write(folder, name, widget):
    """folder/NAME.html with the widget's state as the kernel would send it."""
    state = widget.get_state()
    state.pop("layout")
    text = json.dumps(state).replace("</", "<\\/")
    (folder / f"{name}.html").write_text(PAGE.replace("STYLE", state["_css"]).replace("STATE", text))


def weights(folder, name):
    """The zoo model's weights as a kernel and as the book give them."""
    (folder / "weights.safetensors").write_bytes(zoo_weights.zoo_bytes(name))
    zoo_weights.export_zoo([name], folder / "_static/zoo")


@contextmanager
def stand_alone(folder, widget):
    """The URL of a page that holds this widget and nothing else."""
    write(folder, "widget", widget)
    if hasattr(widget, "zoo"):
        weights(folder, widget.zoo)
    with serve(folder) as url:
        yield url + "widget.html"


@contextmanager
def built(browser, site, html, name, width=1280, scheme="light", way="http"):
    """The page of the built book that holds the widget; it is no wider than the screen, and nothing complains."""
    if not (html / name).is_file():
        pytest.fail(f"{name} is not in the built book", pytrace=False)
    url = site + name if way == "http" else (html / name).as_uri()
    with visit(browser, url, width=width, scheme=scheme) as (page, complaints):
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not complaints


def stored(widget):
    """How many characters a notebook keeps of the widget."""
    state = widget.get_state()
    state.pop("layout")
    return len(json.dumps(state))


def readable(page, figure):
    """At 380 px, in both looks, and on paper: the figure is there and the controls are not."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.add_script_tag(path=AXE)
    for look in ("", "dark"):
        page.evaluate("(look) => (document.documentElement.className = look)", look)
        found = page.evaluate("axe.run('.attn-widget', {resultTypes: ['violations']})")["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")] == []
    page.emulate_media(media="print")
    assert page.locator(figure).is_visible() and page.locator(".attn-control:visible").count() == 0


class PageTests:
    """What is asked of an explorable in a page. A file's subclass says

    `book_page`: where the book shows it; `figure`: what it draws, as a selector; `seen`: a part of it, and how many
    of them are visible on paper; `explore(page)`: uses it by keyboard and compares what it shows with Python.
    The file's fixture `stand` is the URL of the page that holds it alone.
    """

    seen = ".attn-widget", 1

    def test_by_hand(self, browser, stand):
        with visit(browser, stand) as (page, complaints):
            self.explore(page)
        assert not complaints

    def test_readable_by_all_on_screen_and_paper(self, browser, stand):
        with visit(browser, stand, width=380) as (page, complaints):
            page.locator(self.figure).wait_for()
            readable(page, self.figure)
            part, count = self.seen
            assert page.locator(f"{part}:visible").count() == count
        assert not complaints

    @pytest.mark.book
    @pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (380, "dark")])
    def test_on_the_built_page(self, browser, site, html, width, scheme):
        with built(browser, site, html, self.book_page, width, scheme) as page:
            page.locator(self.figure).wait_for()
            self.explore(page)
