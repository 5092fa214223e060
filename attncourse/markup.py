"""Markdown with `$…$` -> HTML with MathML, which browsers draw without a script: in JupyterLab, Colab, the page."""

from functools import cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin


@cache
def _parser() -> MarkdownIt:
    def mathml(tex: str, options: dict) -> str:
        return convert(tex, display="block" if options["display_mode"] else "inline")

    return MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin, renderer=mathml)


def to_html(text: str) -> str:
    """A text of paragraphs, lists, code and formulas."""
    return _parser().render(text)


def to_html_inline(text: str) -> str:
    """One line: no paragraph around it."""
    return _parser().renderInline(text)
