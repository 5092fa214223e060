"""What the book needs beyond its configuration: see each function."""

import json
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.util.fileutil import copy_asset_file

from attncourse import course, diagrams, exercises
from attncourse.widgets import state, weights

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import api_page
from ledger_page import claims_of

MOVED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>This page has moved</title>
<link rel="canonical" href="{page}"><meta http-equiv="refresh" content="1; url={page}">
<script>location.replace("{page}" + location.hash)</script>
<p>This page is now <a href="{page}">{page}</a>.</p></html>
"""


class Drawing(Directive):
    """```{drawing} gru_cell```: a drawing of attncourse.diagrams on a page that is not executed."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", getattr(diagrams, self.arguments[0])()._repr_html_(), format="html")]


def write_api(app, page, source):
    """The page about the package is made from its code."""
    if page == "book/api":
        options = app.config.html_theme_options
        source[0] += "\n" + api_page.page(f"{options['repository_url']}/blob/{options['repository_branch']}")


def anchor_references(app, env):
    """Let a notebook link to a paper as `../book/references.md#bahdanau2015`.

    MyST only knows the headings of a page as targets; the bibliography's entries are added to them.
    """
    for citation in env.get_domain("cite").citations:
        slugs = env.metadata[citation.bibliography_key.docname].setdefault("myst_slugs", {})
        slugs[citation.citation_id] = (0, citation.citation_id, citation.key)


def anchor_claims(app, env):
    """Let the ledger link to the cell of a claim, which is no heading either."""
    for page, path in _notebooks(env).items():
        for claim in claims_of(json.loads(path.read_text(encoding="utf-8"))):
            env.metadata[page].setdefault("myst_slugs", {})[claim["id"]] = (0, claim["id"], claim["text"])


def drop_titles(app, doctree):
    """A folded cell begins with a line that gives Colab its title; in the page, the summary says the same."""
    for block in doctree.findall(nodes.literal_block):
        first, _, rest = block.astext().partition("\n")
        if first.startswith("#@title ") and block.parent.get("nb_element") == "cell_code_source":
            block.replace_self(nodes.literal_block(rest, rest, **block.attributes))


def _notebooks(env) -> dict[str, Path]:
    paths = {page: Path(env.doc2path(page)) for page in env.found_docs}
    return {page: path for page, path in paths.items() if path.suffix == ".ipynb"}


def offer_codespaces(app, page, template, context, doctree):
    """Beside the theme's own launch buttons, one for what .devcontainer/ describes; a link, nothing is loaded."""
    for group in context.get("header_buttons", []):
        if group.get("label") == "launch-buttons":
            address = app.config.html_theme_options["repository_url"].removeprefix("https://github.com/")
            button = {"type": "link", "text": "Codespaces", "tooltip": "Launch on GitHub Codespaces"}
            group["buttons"].append(
                button | {"icon": "fab fa-github", "url": f"https://codespaces.new/{address}?quickstart=1"}
            )


def export_package_files(app, exception):
    """Put beside the pages what the package keeps: the exercise card's style, and the weights that widgets load."""
    if exception is None:
        copy_asset_file(
            str(Path(exercises.__file__).with_name("engine") / "card.css"), str(Path(app.outdir) / "_static")
        )
        texts = [path.read_text(encoding="utf-8") for path in _notebooks(app.env).values()]
        names = {name for text in texts for name in state.zoo_names(json.loads(text))}
        weights.export_zoo(names, Path(app.outdir) / "_static/zoo")


def lead_on(app, exception):
    """A page that was renamed leaves one behind that leads to the new one, with whatever anchor was asked for."""
    if exception is None:
        for old, new in course.read().renamed().items():
            path = Path(app.outdir) / "notebooks" / f"{old}.html"
            path.write_text(MOVED.format(page=f"{new}.html"), encoding="utf-8")


def setup(app):
    app.set_html_assets_policy("always")  # MathJax also where the only formulas are inside widgets
    app.add_directive("drawing", Drawing)
    app.connect("source-read", write_api)
    app.connect("doctree-read", drop_titles)
    app.connect("env-updated", anchor_references, priority=600)  # after bibtex has numbered them
    app.connect("env-updated", anchor_claims, priority=600)
    app.add_css_file("card.css")
    app.connect("html-page-context", offer_codespaces, priority=600)  # after the theme has made its group
    app.connect("build-finished", export_package_files)
    app.connect("build-finished", lead_on)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
