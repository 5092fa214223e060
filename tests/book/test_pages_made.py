"""Pages that are made: the ledger from the notebooks' claims, and the minutes of a chapter from its text."""

import tomllib

import generated
import ledger_page
import nbformat
import pytest
from places import ROOT

from attncourse import course
from attncourse.running.ledger import Measure, claim, together


def notebook(title, *shown):
    outputs = []
    for made in shown:
        data, metadata = made._repr_mimebundle_()
        outputs.append(nbformat.v4.new_output("execute_result", data, metadata=metadata, execution_count=1))
    cells = [nbformat.v4.new_markdown_cell(f"# {title}\n\ntext"), nbformat.v4.new_code_cell("x", outputs=outputs)]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture
def page(tmp_path):
    inside = claim("reads | dates", Measure(0.9, 0.8, 0.95, 50), at_least=0.5, paper="0.92")
    crosses = claim("gain", Measure(0.3, 0.1, 0.5, 3), at_least=0.2)
    reported = claim("only reported", 0.5)
    nbformat.write(notebook("1 · One", inside, together(crosses, reported)), tmp_path / "01_one.ipynb")
    nbformat.write(notebook("2 · Two", claim("alone", 0.25)), tmp_path / "02_two.ipynb")
    nbformat.write(notebook("3 · No claims"), tmp_path / "03_none.ipynb")
    return ledger_page.page(tmp_path)


def table(page, title):
    part = page.split(f"\n## [{title}]")[1].split("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("|")]


def test_claims_are_grouped_by_chapter_and_counted(page):
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## [1 · One](../notebooks/01_one.ipynb)",
        "## [2 · Two](../notebooks/02_two.ipynb)",
    ]
    assert (
        "Of 4 figures, 2 have a guard and the others are only reported. The interval of 1 reaches beyond the guard."
        in page
    )


def test_a_row_has_figure_guard_and_paper_and_leads_to_its_cell(page):
    head, _, first, second, third = table(page, "1 · One")
    assert head == "| claim | measured | guard (set after pilots) | the paper |"
    where = claim("reads | dates", 1.0).id
    text = rf"[reads \| dates](../notebooks/01_one.ipynb#{where})"
    assert first == rf"| {text} | 0.90 \[0.80, 0.95\], n = 50 | ≥ 0.5 | 0.92 |"
    assert second.endswith("| ≥ 0.2 ↔ |  |") and third.endswith("| 0.500 |  |  |")
    assert "expected" not in page


def test_a_column_that_no_claim_of_the_chapter_fills_is_left_out(page):
    assert table(page, "2 · Two")[0] == "| claim | measured |"


def test_the_page_can_be_searched(page):
    assert page.count('data-filter="Search the ledger"') == 1


# --- minutes -------------------------------------------------------------------------------------------------

FRONT = "---\nkernelspec:\n  name: python3\n---\n\n"
CELL = "\n```{{code-cell}} ipython3\n{head}{code}\n```\n"


def test_words_and_visible_lines_take_their_time():
    assert generated.minutes(FRONT + "word " * 1000, 0) == 10
    assert generated.minutes(FRONT + "word " * 1001, 0) == 15, "rounded up to five"
    lines = "\n".join(f"x{i} = {i}\n" for i in range(60))  # empty lines are not read
    assert generated.minutes(CELL.format(head="", code=lines), 0) == 10
    for head in (
        ":tags: [hide-input]\n\n",
        "---\nfold: What is inside\ntags: [hide-input]\n---\n",
        ":tags: [remove-cell]\n",
    ):
        assert generated.minutes(CELL.format(head=head, code=lines), 0) == 0, "folded code is not read"


def test_what_there_is_to_see_and_to_do_takes_its_time():
    figure = CELL.format(head="---\ntags: [hide-input]\nmystnb:\n  image:\n    alt: A plot.\n---\n", code="plt.show()")
    hidden = ":tags: [remove-input]\n\n"
    drawing, quiz, guess = (
        CELL.format(head=hidden, code=code) for code in ("diagrams.rnnsearch()", 'quiz("luong")', "predict(1)")
    )
    formula = "\n$$a = b$$\n\n$$\nc = d\n$$\n"
    assert generated.minutes(figure * 5, 0) == generated.minutes(drawing * 5, 0) == generated.minutes(guess * 5, 0) == 5
    assert generated.minutes(formula * 5, 0) == 5 and generated.minutes(quiz, 0) == 5
    assert generated.minutes("", 2) == 10


def test_the_map_holds_the_minutes_of_the_texts():
    """And nothing else of it changes."""
    made = tomllib.loads(generated.course_map())
    as_it_is = tomllib.loads((ROOT / "course.toml").read_text(encoding="utf-8"))
    assert made == as_it_is
    for chapter in course.read().chapters:
        text = (ROOT / f"book/chapters/{chapter.id}.md").read_text(encoding="utf-8")
        assert chapter.minutes == generated.minutes(text, len(chapter.widgets)) > 0
