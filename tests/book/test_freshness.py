"""Freshness that is true: a change of anything that a page shows or rests on is noticed, and the pages are named."""

import json
import os
import subprocess
import sys

import freshness
import nbformat
import pytest
from places import NOTEBOOKS, ROOT

from attncourse import course


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The checkout again, by links: a test replaces the files that it changes, and puts them back."""
    copy = tmp_path_factory.mktemp("tree")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file() and not name.startswith(("tests/", "book/assets/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(ROOT / name, copy / name)
    return copy


def check(tree):
    """What `make test STEP=fresh` asks, in that tree.    -> exit code, what it printed"""
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "book/make_notebooks.py", "--check"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def stale_after(tree, name, change):
    """-> the pages that are named when this file is changed"""
    before = (tree / name).read_bytes()
    try:
        (tree / name).unlink()  # the link, not the file
        (tree / name).write_bytes(change(before))
        code, said = check(tree)
    finally:
        (tree / name).unlink()
        os.link(ROOT / name, tree / name)
    assert code == 1, said
    assert "make notebooks brings them up to date" in said
    return {line.partition(":")[0]: line for line in said.splitlines() if f"{name}" in line}


def replaced(before, after):
    def change(data):
        assert before.encode() in data
        return data.replace(before.encode(), after.encode(), 1)

    return change


@pytest.mark.slow
def test_nothing_is_stale_at_first(tree):
    assert check(tree) == (0, "notebooks are fresh\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "named", "spared"),
    [
        (  # a constant in a core module: everything that attends
            "attncourse/core/masks.py",
            replaced("weights.masked_fill(~mask, 0.0)", "weights.masked_fill(~mask, 1e-9)"),
            {"04_bahdanau", "05_query_key_value", "09_self_attention", "10_transformer", "jacobian"},
            {"map"},
        ),
        (  # a weight file, loaded by a name that is put together in the notebook
            "attncourse/zoo/weights/transformer-small.json",
            replaced('"seed": 0', '"seed": 10'),
            {"11_inside_the_transformer"},
            {"04_bahdanau", "10_transformer"},
        ),
        (
            "attncourse/zoo/weights/bahdanau-dates.safetensors",
            lambda data: data[:-1] + bytes([data[-1] ^ 1]),
            {"00_start", "04_bahdanau", "errata", "jacobian"},
            {"05_query_key_value", "13_ntm"},
        ),
        (  # the message of an exercise
            "attncourse/exercises/chapters/ntm/interpolation.py",
            replaced("previous", "last"),
            {"13_ntm"},
            {"12_memory_networks", "04_bahdanau"},
        ),
        (  # the judge that all exercises share
            "attncourse/exercises/engine/judge.py",
            replaced("Correct", "Right"),
            {"01_implicit_attention", "16_sagan"},
            {"map"},
        ),
        (
            "attncourse/widgets/date_translator/widget.py",
            replaced("import", "import sys\nimport"),
            {"00_start", "04_bahdanau"},
            {"05_query_key_value"},
        ),
        (  # what `make widgets` made of its script and style
            "attncourse/widgets/bundles/date_translator.css",
            replaced("attn-heatmap", "attn-map"),
            {"00_start", "04_bahdanau"},
            {"05_query_key_value"},
        ),
        (
            "attncourse/quizzes/ntm.py",
            replaced("QUESTIONS", "EXTRA = 1\nQUESTIONS"),
            {"13_ntm"},
            {"12_memory_networks"},
        ),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else None,
)
def test_a_change_is_noticed_and_the_pages_are_named(tree, name, change, named, spared):
    found = stale_after(tree, name, change)
    assert named <= found.keys() and not spared & found.keys(), found
    assert all(f"{name} changed since it was executed" in line or f"{name}," in line for line in found.values())


@pytest.mark.slow
def test_a_comment_changes_no_result(tree):
    name = "attncourse/core/masks.py"
    (tree / name).unlink()
    (tree / name).write_text("# a comment\n\n" + (ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    try:
        assert check(tree)[0] == 0
    finally:
        (tree / name).unlink()
        os.link(ROOT / name, tree / name)


def test_a_new_name_in_a_table_changes_no_page(tmp_path):
    program = 'EXPORTS = {{"a": "b"{more}}}\nLIMIT = {limit}\n'
    cases = {"before": ("", 1), "longer": (', "c": "d"', 1), "other": ("", 2)}
    for name, (more, limit) in cases.items():
        (tmp_path / f"{name}.py").write_text(program.format(more=more, limit=limit), encoding="utf-8")
    before, longer, other = (freshness.digest(tmp_path / f"{name}.py") for name in cases)
    assert before == longer != other


@pytest.mark.slow
def test_a_title_in_course_toml_reaches_every_list(tree):
    change = replaced('short = "Bahdanau"', 'short = "RNNsearch"')
    before = (tree / "course.toml").read_bytes()
    (tree / "course.toml").unlink()
    (tree / "course.toml").write_bytes(change(before))
    try:
        code, said = check(tree)
    finally:
        (tree / "course.toml").unlink()
        os.link(ROOT / "course.toml", tree / "course.toml")
    assert code == 1
    assert "book/chapters/00_start.md is not what course.toml gives" in said
    assert "book/instructors.md is not what course.toml gives" in said


def test_what_a_notebook_loads_by_a_name_put_together_is_recorded():
    read = nbformat.read(NOTEBOOKS / "11_inside_the_transformer.ipynb", as_version=4)
    used = read.metadata["attncourse"]["used"]["model"]
    assert {"transformer-small", "transformer-small-cold", "transformer-small-sharp"} <= set(used)


def test_imports_are_followed_through_names_of_the_root():
    files = {p.relative_to(ROOT).as_posix() for p in freshness.imported("from attncourse import attend, ntm", None)}
    assert {"attncourse/__init__.py", "attncourse/core/attention.py", "attncourse/mechanisms/ntm.py"} <= files
    assert "attncourse/mechanisms/luong.py" not in files
    files = {p.relative_to(ROOT).as_posix() for p in freshness.imported("from attncourse.widgets import Heads", None)}
    assert "attncourse/widgets/heads/widget.py" in files and "attncourse/widgets/machine/widget.py" not in files


@pytest.mark.parametrize("page", course.read().executed, ids=lambda page: page.id)
def test_the_record_of_a_notebook_is_complete(page):
    """Every recorded file exists, and its own mechanisms are among them."""
    notebook = json.loads((NOTEBOOKS / f"{page.id}.ipynb").read_text(encoding="utf-8"))
    inputs = notebook["metadata"]["attncourse"]["inputs"]
    assert all((ROOT / name).is_file() for name in inputs)
    for name in getattr(page, "mechanisms", ()):
        assert course.module_file(name).relative_to(ROOT).as_posix() in inputs, name


def test_a_page_rests_on_the_drawings_and_stories_that_it_showed(tmp_path):
    """What was noted while a notebook ran leads to every file behind it: the story, its drawing, the kit, the look."""
    record = tmp_path / "record"
    shown = "from attncourse import diagrams, widgets\ndiagrams.gru_cell()\nwidgets.walkthrough('rnnsearch')"
    environment = os.environ | {"ATTNCOURSE_RECORD": str(record), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", shown], env=environment, check=True)
    used = {}
    for line in sorted(set(record.read_text(encoding="utf-8").splitlines())):
        kind, _, name = line.partition(" ")
        used.setdefault(kind, []).append(name)
    assert used == {
        "drawing": ["gru_cell"], "model": ["bahdanau-dates"], "walkthrough": ["rnnsearch"], "widget": ["Walkthrough"],
    }  # fmt: skip
    rests_on = freshness.inputs(ROOT / "book/chapters/04_bahdanau.md", "", used)
    files = {"walkthroughs/rnnsearch.py", "walkthroughs/__init__.py", "diagrams/seq2seq.py", "diagrams/look.py",
             "diagrams/kit.py", "diagrams/diagram.css", "diagrams/cells.py", "zoo/weights/bahdanau-dates.safetensors",
             "widgets/stepped/widget.py", "widgets/bundles/stepped.mjs"}  # fmt: skip
    assert {f"attncourse/{name}" for name in files} <= rests_on.keys()
    assert not {"attncourse/diagrams/transformer.py", "attncourse/diagrams/opened.py"} & rests_on.keys()
    page = course.read().page("04_bahdanau")
    assert freshness.check_records({"drawing": ["gru_cell"]}, page) == [
        "it uses the drawing gru_cell, which course.toml does not name there"
    ]
