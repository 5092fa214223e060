"""Markdown with `$…$` -> HTML with MathML, which browsers draw without a script: in JupyterLab, Colab, the page."""

import re
from functools import cache

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "pi": "π", "sigma": "σ", "nabla": "∇", "sum": "Σ", "sqrt": "√", "top": "ᵀ",
    "infty": "∞", "cdot": "·", "times": "×", "circ": "∘", "le": "≤", "approx": "≈", "dots": "…", "lVert": "‖",
    "rVert": "‖", "lfloor": "⌊", "rfloor": "⌋", "mathit": "", "tilde": "~",
}  # fmt: skip


@cache
def _parser() -> MarkdownIt:
    # Rules of our own: the plugin's would wrap formulas in class "math", which MathJax and the theme take for theirs.
    def inline(self, tokens, index, options, env) -> str:
        return convert(tokens[index].content)

    def block(self, tokens, index, options, env) -> str:
        formulas = re.split(r",?\s*\\qquad\s*", tokens[index].content)  # one below the other: they fit a phone
        return "".join(convert(formula, display="block") for formula in formulas)

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


def to_plain(text: str) -> str:
    """For a terminal: each `$…$` in plain characters, the rest as it is."""

    def plain(formula: re.Match) -> str:
        tex = re.sub(r"\\t?frac(\w|{.*?})(\w|{.*?})", r"\1/\2", formula[1].replace(r"^\top", r"\top"))
        tex = re.sub(r"\\([A-Za-z]+)", lambda name: SIGNS.get(name[1], name[1]), re.sub(r"\\, *", " ", tex))
        tex = re.sub(r"(?<![_^]){(\w+)}", r"\1", tex)
        return re.sub(r"(?<![_^]){(.*?)}", r"(\1)", tex)

    return re.sub(r"\$(.+?)\$", plain, text, flags=re.DOTALL)
