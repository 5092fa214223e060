"""The map of the course, read from `course.toml`: which chapters there are, and what belongs to each.

>>> from attncourse import course
>>> course.read().chapter("bahdanau").exercises
('bahdanau.additive-score', 'bahdanau.masked-softmax', 'bahdanau.decoder-step')

Only the standard library is needed here, so that commands which only list things are quick.
"""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from .errors import BadInput

PACKAGE = Path(__file__).parent
HOME = PACKAGE.parent  # the checkout, where there is one
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page that is executed: book/chapters/ID.md becomes notebooks/ID.ipynb."""

    id: str
    title: str
    models: tuple[str, ...] = ()  # of the zoo
    widgets: tuple[str, ...] = ()  # classes of attncourse.widgets
    diagrams: tuple[str, ...] = ()  # functions of attncourse.diagrams
    was: tuple[str, ...] = ()  # ids of earlier versions: their addresses lead here


@dataclass(frozen=True, kw_only=True)
class Chapter(Page):
    short: str  # as it is called in a sentence
    part: str
    question: str
    can: str  # "after it, students can …"
    minutes: int  # to read; book/generated.py computes them from its text
    needs: tuple[int, ...] = ()  # chapters to read before
    returns: tuple[int, ...] = ()  # earlier chapters whose idea comes back
    mechanisms: tuple[str, ...] = ()  # modules: "ntm" of mechanisms/, or "core.scores"
    tasks: tuple[str, ...] = ()  # modules of tasks/
    exercises: tuple[str, ...] = ()  # ids
    quiz: str = ""  # a module of quizzes/

    @property
    def number(self) -> int:
        return int(self.id.split("_", 1)[0])

    @property
    def name(self) -> str:
        return self.id.split("_", 1)[1]


@dataclass(frozen=True, kw_only=True)
class Part:
    title: str
    question: str = ""


@dataclass(frozen=True, kw_only=True)
class Appendix:
    title: str
    pages: tuple[str, ...]  # without their endings, from the top of the repository


@dataclass(frozen=True, kw_only=True)
class Week:
    chapters: tuple[int, ...]
    exercises: tuple[str, ...] = ()  # none: all of its chapters


@dataclass(frozen=True, kw_only=True)
class Syllabus:
    title: str
    about: str
    weeks: tuple[Week, ...]


@dataclass(frozen=True)
class Course:
    parts: tuple[Part, ...]
    chapters: tuple[Chapter, ...]
    pages: tuple[Page, ...]
    appendices: tuple[Appendix, ...]
    syllabi: tuple[Syllabus, ...]
    exercises: dict[str, Chapter] = field(default_factory=dict)  # id -> the chapter that it belongs to

    @property
    def executed(self) -> tuple[Page, ...]:
        """All pages that are notebooks, in the order of their names."""
        return tuple(sorted((*self.chapters, *self.pages), key=lambda page: page.id))

    def chapter(self, which: str | int) -> Chapter:
        """By number (4, "04"), name ("bahdanau") or id ("04_bahdanau")."""
        wanted = str(which).strip()
        for chapter in self.chapters:
            if wanted in (chapter.id, chapter.name) or wanted.lstrip("0") == str(chapter.number):
                return chapter
        known = ", ".join(chapter.id for chapter in self.chapters)
        raise BadInput(f"there is no chapter {wanted!r}; there are: {known}")

    def page(self, id: str) -> Page:
        for page in (*self.chapters, *self.pages):
            if page.id == id:
                return page
        raise BadInput(f"course.toml has no page {id!r}")

    def of_part(self, title: str) -> tuple[Chapter, ...]:
        return tuple(chapter for chapter in self.chapters if chapter.part == title)

    def renamed(self) -> dict[str, str]:
        """Ids of earlier versions -> the id of today."""
        return {old: page.id for page in (*self.chapters, *self.pages) for old in page.was}


def path() -> Path:
    """In the wheel it lies beside this module, in a checkout at the top."""
    inside = PACKAGE / "course.toml"
    return inside if inside.exists() else HOME / "course.toml"


@cache
def read() -> Course:
    return parse(path().read_text(encoding="utf-8"))


def parse(text: str) -> Course:
    """From the text of a course.toml; BadInput says which entry is wrong, and what would be right."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"course.toml is not TOML: {error}") from None
    kinds = ("part", "chapter", "page", "appendix", "syllabus")
    if unknown := set(tables) - set(kinds):
        raise BadInput(f"course.toml: there is no kind of entry [[{unknown.pop()}]]; there are: {', '.join(kinds)}")
    for syllabus in tables.get("syllabus", []):
        syllabus["weeks"] = [_entry(Week, week, "a week") for week in syllabus.get("weeks", [])]

    def entries(name: str, kind: type[T]) -> tuple[T, ...]:
        found = [(entry, f"[[{name}]] {entry.get('id', entry.get('title', '?'))}") for entry in tables.get(name, [])]
        return tuple(_entry(kind, entry, where) for entry, where in found)

    chapters = entries("chapter", Chapter)
    course = Course(
        parts=entries("part", Part),
        chapters=chapters,
        pages=entries("page", Page),
        appendices=entries("appendix", Appendix),
        syllabi=entries("syllabus", Syllabus),
        exercises={id: chapter for chapter in chapters for id in chapter.exercises},
    )
    _check(course)
    return course


def _entry(kind: type[T], entry: dict[str, Any], where: str) -> T:
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name in entry:
        if name not in known:
            raise BadInput(f"course.toml, {where}: there is no field {name!r}; there are: {', '.join(known)}")
    for name, f in known.items():
        if f.default is MISSING and name not in entry:
            raise BadInput(f"course.toml, {where}: the field {name!r} is missing")
        wanted = f.type if f.type in (str, int) else list
        if name in entry and not isinstance(entry[name], wanted):
            what = {str: "a text", int: "a whole number"}.get(wanted, "a list")
            raise BadInput(f"course.toml, {where}: {name} is {entry[name]!r}; it should be {what}")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})


def _check(course: Course) -> None:
    """What the entries say of each other."""
    numbers = []
    for chapter in course.chapters:
        number, _, name = chapter.id.partition("_")
        if not (len(number) == 2 and number.isdigit() and name.isidentifier()):
            raise BadInput(f"course.toml: the id {chapter.id!r} should be two digits and a name, as 04_bahdanau")
        numbers.append(int(number))
        if chapter.part not in {part.title for part in course.parts}:
            raise BadInput(f"course.toml, {chapter.id}: there is no [[part]] {chapter.part!r}")
        for field_name in ("needs", "returns"):
            for earlier in getattr(chapter, field_name):
                if not 0 < earlier < chapter.number:
                    raise BadInput(
                        f"course.toml, {chapter.id}: {field_name} names chapter {earlier}, which is not earlier"
                    )
    if numbers != list(range(1, len(numbers) + 1)):
        raise BadInput(f"course.toml: chapters should be numbered 1, 2, … in their order; they are {numbers}")
    for what, names in (
        ("id", [page.id for page in (*course.chapters, *course.pages)]),
        ("exercise", [id for chapter in course.chapters for id in chapter.exercises]),
    ):
        if twice := {name for name in names if names.count(name) > 1}:
            raise BadInput(f"course.toml: the {what} {sorted(twice)[0]!r} stands there twice")
    for syllabus in course.syllabi:
        for week in syllabus.weeks:
            if missing := [n for n in week.chapters if n not in numbers]:
                raise BadInput(f"course.toml, {syllabus.title}: there is no chapter {missing[0]}")
            if strange := [id for id in week.exercises if id not in course.exercises]:
                raise BadInput(f"course.toml, {syllabus.title}: there is no exercise {strange[0]!r}")


# --- files ---------------------------------------------------------------------------------------------------


def module_file(name: str, folder: str = "mechanisms") -> Path:
    """ "ntm" -> attncourse/mechanisms/ntm.py, "core.scores" -> attncourse/core/scores.py"""
    dotted = name if "." in name else f"{folder}.{name}"
    return PACKAGE / (dotted.replace(".", "/") + ".py")


def exercise_file(id: str) -> Path:
    """The module of an exercise lies where its id says, whichever chapter it belongs to."""
    topic, _, name = id.partition(".")
    return PACKAGE / "exercises/chapters" / topic / f"{name.replace('-', '_')}.py"


def widget_folder(name: str) -> Path:
    from .widgets import EXPORTS

    if name not in EXPORTS:
        raise BadInput(f"there is no explorable {name!r} in attncourse.widgets; there are: {', '.join(EXPORTS)}")
    return PACKAGE / "widgets" / EXPORTS[name].split(".")[0]


def diagram_file(name: str) -> Path:
    from .diagrams import EXPORTS

    if name not in EXPORTS:
        raise BadInput(f"there is no drawing {name!r} in attncourse.diagrams; there are: {', '.join(EXPORTS)}")
    return PACKAGE / f"diagrams/{EXPORTS[name]}.py"


def files(page: Page, home: Path = HOME) -> Iterator[tuple[str, Path]]:
    """Every file that belongs to a page: (what it is, where it lies), existing or not."""
    yield "text", home / f"book/chapters/{page.id}.md"
    yield "notebook", home / f"notebooks/{page.id}.ipynb"
    if isinstance(page, Chapter):
        for name in page.mechanisms:
            yield "mechanism", module_file(name)
        for name in page.tasks:
            yield "task", module_file(name, "tasks")
        for id in page.exercises:
            yield "exercise", exercise_file(id)
        if page.quiz:
            yield "quiz", PACKAGE / f"quizzes/{page.quiz}.py"
    for name in page.widgets:
        yield "explorable", widget_folder(name) / "widget.py"
    for name in page.diagrams:
        yield "diagram", diagram_file(name)
    for name in page.models:
        yield "model", PACKAGE / f"zoo/weights/{name}.json"


def tests_of(file: Path, home: Path = HOME) -> Iterator[Path]:
    """Tests mirror the package: attncourse/mechanisms/ntm.py is tried in tests/mechanisms/test_ntm.py."""
    inside = file.relative_to(PACKAGE)
    name = inside.parent.name if inside.name == "widget.py" else inside.stem
    folder = inside.parent.parent if inside.name == "widget.py" else inside.parent
    for base in ("tests", "tests/browser"):
        candidate = home / base / folder / f"test_{name}.py"
        if candidate.exists():
            yield candidate


def missing(course: Course, home: Path = HOME) -> list[str]:
    """Sentences about files that course.toml names and the tree lacks, and pages that the tree has and it lacks."""
    found = [
        f"{page.id}: its {what} {_shown(path, home)} does not exist"
        for page in course.executed
        for what, path in files(page, home)
        if not path.exists()
    ]
    there = {path.stem for path in (home / "book/chapters").glob("*.md")}
    found += [f"book/chapters/{id}.md has no entry in course.toml" for id in sorted(there - _ids(course.executed))]
    return found


def _ids(pages: Iterable[Page]) -> set[str]:
    return {page.id for page in pages}


def _shown(path: Path, home: Path) -> str:
    return str(path.relative_to(home) if path.is_relative_to(home) else path)
