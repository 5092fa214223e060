"""`fold: title` in a cell's header folds the cell wherever it is read; the text stays clean."""

import json

import make_notebooks
import nbformat
import pytest
from places import ROOT

from attncourse.teaching import copies

CELL = "```{{code-cell}} ipython3\n{}\nx = 1\n```\n"


def converted(tmp_path, header):
    chapter = tmp_path / "04_bahdanau.md"
    chapter.write_text("# Title\n\n" + CELL.format(header), encoding="utf-8")
    notebook = make_notebooks.convert(chapter)
    nbformat.validate(notebook)
    return notebook.cells[-1]


TITLE = "How this was measured"
SPELLINGS = [f":fold: {TITLE}\n", f"---\nfold: {TITLE}\n---", f'---\nfold: "{TITLE}"\n---']
UNTITLED = [
    ":tags: [hide-input]\n",
    "---\nfold: true\n---",
    "---\nfold:\n---",
    '---\nfold: ""\n---',
    '---\nfold: "two\\nlines"\n---',
]


@pytest.mark.parametrize("header", SPELLINGS)
def test_one_line_folds_a_cell_everywhere(tmp_path, header):
    cell = converted(tmp_path, header)
    assert cell.metadata == {
        "tags": ["hide-input"],
        "mystnb": {"code_prompt_show": TITLE, "code_prompt_hide": TITLE},
        "jupyter": {"source_hidden": True},
        "cellView": "form",
    }
    assert cell.source == f"#@title {TITLE}\nx = 1"


def test_a_fold_keeps_what_else_the_header_says(tmp_path):
    header = "---\nfold: How this was drawn\nmystnb:\n  image:\n    alt: A line.\ntags: [no-invert]\n---"
    cell = converted(tmp_path, header)
    assert cell.metadata["tags"] == ["no-invert", "hide-input"]
    assert cell.metadata["mystnb"]["image"] == {"alt": "A line."}


def test_a_cell_without_a_fold_stays_as_it_is(tmp_path):
    cell = converted(tmp_path, ":tags: [nbval-check-output]\n")
    assert cell.metadata == {"tags": ["nbval-check-output"]} and cell.source == "x = 1"


@pytest.mark.parametrize("header", UNTITLED)
def test_a_fold_without_a_title_is_refused(tmp_path, header):
    with pytest.raises(SystemExit, match=r"04_bahdanau.md: fold is .*; expected a title such as"):
        converted(tmp_path, header)


@pytest.mark.parametrize("chapter", make_notebooks.chapters(), ids=lambda c: c.stem)
def test_every_folded_cell_of_the_course_has_its_title(chapter):
    for cell in make_notebooks.convert(chapter).cells:
        folded = "hide-input" in cell.metadata.get("tags", [])
        assert folded == cell.source.startswith("#@title ") == ("cellView" in cell.metadata)
        assert "fold" not in cell.metadata


def test_a_hand_out_is_folded_as_the_chapter_is():
    notebook = json.loads(nbformat.writes(make_notebooks.convert(ROOT / "book/chapters/04_bahdanau.md")))
    copy = copies.student_copy(notebook, "04_bahdanau", copies.Kind(("04_bahdanau",), outputs=False))
    before = [cell["metadata"] for cell in notebook["cells"]]
    folding = ("tags", "mystnb", "jupyter", "cellView")
    assert [cell["metadata"] for cell in copy["cells"]] == [
        {key: value for key, value in metadata.items() if key in folding} for metadata in before
    ]
    assert sum(metadata.get("cellView") == "form" for metadata in before) > 3
