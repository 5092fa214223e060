"""The committed notebooks are what the chapters' texts give, executed, complete and clean."""

import json
import re

import freshness
import ledger_page
import make_notebooks
import nbformat
import pytest
from places import ROOT

from attncourse import course
from attncourse.widgets import state
from attncourse.widgets.state import STATE, VIEW

CHAPTERS = make_notebooks.chapters()


def notebook(chapter):
    return nbformat.read(make_notebooks.NOTEBOOKS / f"{chapter.stem}.ipynb", as_version=4)


def code_cells(chapter):
    return [c for c in notebook(chapter).cells if c.cell_type == "code"]


def outputs(chapter):
    return [out for cell in code_cells(chapter) for out in cell.outputs]


each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.stem)


def test_nothing_is_stale():
    """Sources equal, no notebook without a text, the ledger page is what the notebooks claim."""
    assert make_notebooks.check() == []


@each_chapter
def test_every_cell_was_executed_without_error(chapter):
    assert [c.execution_count for c in code_cells(chapter)] == list(range(1, len(code_cells(chapter)) + 1))
    assert not [out for out in outputs(chapter) if out.output_type == "error"]
    assert outputs(chapter), "a notebook without outputs passes nbval's check-output vacuously"


@each_chapter
def test_checked_cells_have_outputs(chapter):
    for cell in code_cells(chapter):
        if "nbval-check-output" in cell.metadata.get("tags", []):
            assert cell.outputs, cell.source


@each_chapter
def test_shown_widgets_have_their_state(chapter):
    state = notebook(chapter).metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for out in outputs(chapter):
        if VIEW in out.get("data", {}):
            assert out.data[VIEW]["model_id"] in state


@each_chapter
def test_small_and_without_traces_of_a_machine(chapter):
    text = (make_notebooks.NOTEBOOKS / f"{chapter.stem}.ipynb").read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert str(ROOT) not in text
    assert not re.search(r"/(home|root|tmp|Users)/|site-packages", text)
    assert not re.search(r"\d+(\.\d+)?it/s|step/s", text), "a progress bar was left in an output"


@each_chapter
def test_printed_lines_fit_the_page(chapter):
    printed = [line for out in outputs(chapter) if out.output_type == "stream" for line in out.text.splitlines()]
    assert not [line for line in printed if len(line) > 96], "the end of such a line is out of sight"


@each_chapter
def test_a_run_takes_less_than_a_minute(chapter):
    """Of work on one thread, as measured when it was last executed; the header says it."""
    took = make_notebooks.timings()[chapter.stem]
    assert took["seconds"] < 60 and took["gigabytes"] < 4
    assert f"runs in {took['seconds']} s on one CPU thread" in notebook(chapter).cells[0].source


@each_chapter
def test_one_setup_cell_that_seeds(chapter):
    [cell] = [c for c in code_cells(chapter) if "setup" in c.metadata.get("tags", [])]
    assert cell == code_cells(chapter)[0]
    assert len([line for line in cell.source.splitlines() if not line.startswith("#@title ")]) <= 8
    assert "attncourse.setup(seed=" in cell.source
    assert make_notebooks.repository()["url"] in cell.source


@each_chapter
def test_colab_link_points_at_this_file(chapter):
    links = re.findall(r"https://colab[^)\s]+", notebook(chapter).cells[0].source)
    assert links == [f"{make_notebooks.colab_url(chapter.stem)}"]
    assert links[0].endswith(f"/blob/main/notebooks/{chapter.stem}.ipynb")


@each_chapter
def test_every_figure_has_alternative_text(chapter):
    for cell in code_cells(chapter):
        if any("image/png" in out.get("data", {}) for out in cell.outputs):
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt) > 20, f"say what this figure shows:\n{cell.source}"


@each_chapter
def test_claims_hold(chapter):
    claims = ledger_page.claims_of(notebook(chapter))
    assert all(claim["holds"] is not False for claim in claims)
    assert len({claim["id"] for claim in claims}) == len(claims), "two claims in the same words"


def test_conversion_is_deterministic():
    for chapter in CHAPTERS:
        assert json.dumps(make_notebooks.convert(chapter)) == json.dumps(make_notebooks.convert(chapter))


def test_the_check_sees_a_hand_edited_notebook(tmp_path, monkeypatch):
    for path in make_notebooks.NOTEBOOKS.glob("*.ipynb"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(make_notebooks, "NOTEBOOKS", tmp_path)
    chapter = CHAPTERS[-1]
    edited = notebook(chapter)
    edited.cells[-1].source += " edited"
    nbformat.write(edited, tmp_path / f"{chapter.stem}.ipynb")
    (tmp_path / "99_orphan.ipynb").write_text((tmp_path / f"{chapter.stem}.ipynb").read_text(encoding="utf-8"))
    problems = make_notebooks.check()
    assert f"{chapter.stem}: its cells differ from the text" in problems
    assert "99_orphan: a notebook without a text in book/chapters" in problems


@pytest.mark.parametrize("chapter", course.read().chapters, ids=lambda c: c.id)
def test_the_header_says_the_minutes_of_the_map(chapter):
    head = nbformat.read(make_notebooks.NOTEBOOKS / f"{chapter.id}.ipynb", as_version=4).cells[0].source
    assert head.startswith(f"# {chapter.number} · {chapter.title}\n")
    assert f"\n{chapter.minutes} minutes to read · " in head


@each_chapter
def test_what_a_notebook_used_is_on_the_map(chapter):
    """And what the map gives a page is used there: models by their names, explorables, exercises and quiz."""
    page, used = course.read().page(chapter.stem), notebook(chapter).metadata["attncourse"]["used"]
    assert freshness.check_records(used, page) == []
    assert set(page.models) <= {*used.get("model", []), *_shown_by_widgets(chapter)}
    assert set(page.widgets) <= set(used.get("widget", []))
    assert set(getattr(page, "exercises", ())) == set(used.get("exercise", []))


def _shown_by_widgets(chapter):
    return state.zoo_names(notebook(chapter))
