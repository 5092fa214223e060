import re

from attncourse.exercises import find
from attncourse.exercises.engine.catalogue import manifest
from attncourse.markup import to_html, to_html_inline, to_plain


def test_formulas_become_bare_mathml():
    inline = to_html_inline("let $W_q$ be")
    assert inline.startswith('let <math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">')
    assert "$" not in inline
    assert 'display="block"' in to_html("so\n\n$$\\sum_j a_j$$\n")
    assert to_html("$$a = 1, \\qquad b = 2$$").count("<math") == 2
    assert 'class="math' not in inline + to_html("$$x$$")


def test_html_of_the_learner_stays_text():
    assert "<script>" not in to_html("<script>alert(1)</script> and `<b>`")


def test_tables_and_code():
    assert "<table>" in to_html("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "<code>q @ W.T</code>" in to_html("`q @ W.T`")


def test_a_terminal_gets_no_tex():
    tex = r"`x` is $\nabla \log \alpha_s / \sqrt{D}$, $\tfrac12 k^\top M_{t-1}$ or $\frac{d+1}2$ of $\mathit{std}^2$"
    assert to_plain(tex) == "`x` is ∇ log α_s / √D, 1/2 kᵀ M_{t-1} or (d+1)/2 of std^2"
    said = [wrong.message for entry in manifest() for wrong in find(entry.id).wrong]
    assert [text for text in map(to_plain, said) if re.search(r"[$\\]", text)] == []
