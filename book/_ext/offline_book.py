"""What the book needs beyond its configuration: see each function."""

import json
import sys
from pathlib import Path

from sphinx.util.fileutil import copy_asset_file

from attncourse import exercises
from attncourse.widgets import bundle

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from ledger_page import claims_of


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
        copy_asset_file(str(Path(exercises.__file__).with_name("card.css")), str(Path(app.outdir) / "_static"))
        texts = [path.read_text(encoding="utf-8") for path in _notebooks(app.env).values()]
        names = {name for text in texts for name in bundle.zoo_names(json.loads(text))}
        bundle.export_zoo(names, Path(app.outdir) / "_static/zoo")


def setup(app):
    app.set_html_assets_policy("always")  # MathJax also where the only formulas are inside widgets
    app.connect("env-updated", anchor_references, priority=600)  # after bibtex has numbered them
    app.connect("env-updated", anchor_claims, priority=600)
    app.add_css_file("card.css")
    app.connect("html-page-context", offer_codespaces, priority=600)  # after the theme has made its group
    app.connect("build-finished", export_package_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
