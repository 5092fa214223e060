"""What the book needs beyond its configuration: see each function."""

import json
from pathlib import Path

from sphinx.util.fileutil import copy_asset_file

from attncourse import exercises
from attncourse.widgets import bundle


def anchor_references(app, env):
    """Let a notebook link to a paper as `../book/references.md#bahdanau2015`.

    MyST only knows the headings of a page as targets; the bibliography's entries are added to them.
    """
    for citation in env.get_domain("cite").citations:
        slugs = env.metadata[citation.bibliography_key.docname].setdefault("myst_slugs", {})
        slugs[citation.citation_id] = (0, citation.citation_id, citation.key)


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
        notebooks = [Path(app.env.doc2path(name)) for name in app.env.found_docs]
        texts = [path.read_text(encoding="utf-8") for path in notebooks if path.suffix == ".ipynb"]
        names = {name for text in texts for name in bundle.zoo_names(json.loads(text))}
        bundle.export_zoo(names, Path(app.outdir) / "_static/zoo")


def setup(app):
    app.set_html_assets_policy("always")  # MathJax also where the only formulas are inside widgets
    app.connect("env-updated", anchor_references, priority=600)  # after bibtex has numbered them
    app.add_css_file("card.css")
    app.connect("html-page-context", offer_codespaces, priority=600)  # after the theme has made its group
    app.connect("build-finished", export_package_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
