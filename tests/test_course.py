"""The map of the course: what is wrong with an entry is said, and the tree has what the map names."""

import re

import pytest
from places import ROOT

from attncourse import course, widgets, zoo
from attncourse.errors import BadInput

TEXT = (ROOT / "course.toml").read_text(encoding="utf-8")


def test_the_tree_has_what_the_map_names():
    assert course.missing(course.read()) == []


def test_everything_there_is_belongs_to_some_page():
    """A model, explorable, task, mechanism or quiz that no page names would never be looked at again."""
    read = course.read()
    pages = read.executed
    named = {kind: {x for page in pages for x in getattr(page, kind, ())} for kind in ("models", "widgets", "tasks")}
    weights = {path.stem for path in (course.PACKAGE / "zoo/weights").glob("*.json")}
    assert weights == named["models"] and weights <= set(zoo.recipes())
    assert set(widgets.EXPORTS) - {"Quiz", "quiz", "predict", "walkthrough"} == named["widgets"]
    helpers = {"__init__", "text", "grammar", "french"}
    assert {p.stem for p in (course.PACKAGE / "tasks").glob("*.py")} - helpers <= named["tasks"]
    modules = {m for page in read.chapters for m in page.mechanisms}
    assert {p.stem for p in (course.PACKAGE / "mechanisms").glob("[a-z]*.py")} <= modules
    assert {p.stem for p in (course.PACKAGE / "quizzes").glob("[a-z]*.py")} == {c.quiz for c in read.chapters} - {""}


@pytest.mark.parametrize("which", [4, "4", "04", "bahdanau", "04_bahdanau", " 4 "])
def test_a_chapter_is_found_by_number_name_or_id(which):
    assert course.read().chapter(which).id == "04_bahdanau"


@pytest.mark.parametrize("which", ["77", "0", "", "bahdano", "4_bahdanau"])
def test_an_unknown_chapter_is_told_which_there_are(which):
    with pytest.raises(BadInput, match=r"there is no chapter .*; there are: 01_implicit_attention, 02_sequential"):
        course.read().chapter(which)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("minutes = ", "minuets = ", r"01_implicit_attention: there is no field 'minuets'; there are: id, title"),
        ("minutes = ", "# ", r"01_implicit_attention: the field 'minutes' is missing"),
        ("minutes = ", 'minutes = "40"  # ', r"minutes is '40'; it should be a whole number"),
        ('tasks = ["digits"]', 'tasks = "digits"', r"tasks is 'digits'; it should be a list"),
        ('id = "02_', 'id = "2_', r"the id '2_sequential_jacobian' should be two digits and a name"),
        ('id = "02_', 'id = "03_', r"numbered 1, 2, … in their order; they are \[1, 3, 3"),
        ('part = "Looking"', 'part = "Lokking"', r"07_hard_attention: there is no \[\[part\]\] 'Lokking'"),
        ("needs = [2]", "needs = [12]", r"03_bottleneck: needs names chapter 12, which is not earlier"),
        (
            '"bottleneck.reversal"',
            '"bahdanau.additive-score"',
            r"the exercise 'bahdanau.additive-score' stands",
        ),
        ("[[appendix]]", "[[apendix]]", r"no kind of entry \[\[apendix\]\]; there are: part, chapter"),
        ("{ chapters = [3, 4],", "{ chapters = [3, 44],", r"Five weeks: there is no chapter 44"),
        ('exercises = ["bottleneck.log-likelihood", "bah', 'exercises = ["x", "bah', r"there is no exercise 'x'"),
        ("[[part]]", "[[part]", r"course.toml is not TOML"),
    ],
)
def test_a_wrong_entry_is_told_what_is_wrong(before, after, sentence):
    assert before in TEXT
    with pytest.raises(BadInput, match=sentence):
        course.parse(TEXT.replace(before, after, 1))


def test_what_the_tree_lacks_is_named(tmp_path):
    (tmp_path / "book/chapters").mkdir(parents=True)
    (tmp_path / "book/chapters/99_extra.md").write_text("# 99")
    found = course.missing(course.read(), tmp_path)
    assert "01_implicit_attention: its text book/chapters/01_implicit_attention.md does not exist" in found
    assert "book/chapters/99_extra.md has no entry in course.toml" in found


def test_old_addresses_lead_to_pages_that_exist():
    ids = {page.id for page in course.read().executed}
    for old, new in course.read().renamed().items():
        assert old not in ids and new in ids


def test_a_returning_chapter_says_so_in_its_text():
    """The ones it returns to are linked."""
    for chapter in course.read().chapters:
        text = (ROOT / f"book/chapters/{chapter.id}.md").read_text(encoding="utf-8")
        linked = {int(n) for n in re.findall(r"\(0*(\d+)_\w+\.ipynb", text)}
        assert set(chapter.returns) <= linked, chapter.id
