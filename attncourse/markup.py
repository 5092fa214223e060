"""Markdown with `$…$` -> HTML with MathML, which browsers draw without a script: in JupyterLab, Colab, the page."""

from functools import cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin


@cache
def _parser() -> MarkdownIt:
    # Rules of our own: the plugin's would wrap formulas in class "math", which MathJax and the theme take for theirs.
    def inline(self, tokens, index, options, env) -> str:
        return convert(tokens[index].content)

    def block(self, tokens, index, options, env) -> str:
        return convert(tokens[index].content, display="block")

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin)
    for name, rule in {"math_inline": inline, "math_inline_double": block, "math_block": block}.items():
        parser.add_render_rule(name, rule)
    return parser


def to_html(text: str) -> str:
    """A text of paragraphs, lists, code and formulas."""
    return _parser().render(text)


def to_html_inline(text: str) -> str:
    """One line: no paragraph around it."""
    return _parser().renderInline(text)
