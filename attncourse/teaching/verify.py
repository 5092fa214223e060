"""`attncourse verify`: what an instructor runs after an edit. The steps are those of tests/run.py, in one table.

fresh        each notebook's cells are those of its text, executed, with their outputs
exercises    the proofs of the exercises: solutions pass, each wrong version is told by its name
leaks        no solution in what would be handed out
nbval        the notebooks run, in an empty folder, as in Colab
book         the pages build without a warning
explorables  they compute what PyTorch computes, in a real browser
links        every link, anchor and file of the pages exists
"""

import importlib.util
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

from .. import widgets
from ..exercises import manifest
from ..exercises.notebook import BadInput

HOME = Path(__file__).resolve().parents[2]
Step = Callable[[], tuple[int, int]]  # -> passed, failed
SHARED = ("tests/test_widgets.py", "tests/test_widgets_page.py")  # of the explorables that have no file of their own


def main(chapter: str | None = None) -> int:
    """0: all is well, 1: something failed."""
    run = runner()
    return run.table(steps(run, chosen(chapter)) if chapter is not None else whole(run))


def runner(home: Path = HOME) -> ModuleType:
    """tests/run.py of the checkout that this package lies in."""
    path = home / "tests/run.py"
    if not (path.is_file() and (home / "book/build.py").is_file()):
        raise BadInput(
            f"verify needs a checkout of the course's repository, and this package lies in {home}, which is none; "
            "clone the course and run `make verify` there"
        )
    spec = importlib.util.spec_from_file_location("attncourse_run", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chosen(chapter: str, home: Path = HOME) -> str:
    """ "4" or "04" -> "04_bahdanau"."""
    there = {path.stem[:2]: path.stem for path in sorted((home / "book/chapters").glob("[0-9][0-9]_*.md"))}
    number = chapter.strip().zfill(2)
    if number not in there:
        raise BadInput(f"--chapter {chapter}: there is no such chapter in book/chapters; there are {', '.join(there)}")
    return there[number]


def whole(run: ModuleType) -> dict[str, Step]:
    own = sorted(str(path.relative_to(run.ROOT)) for path in run.ROOT.glob("tests/test_widget_*.py"))
    return {
        "fresh": run.fresh,
        "exercises": partial(run.pytest, "tests/test_exercises.py"),
        "leaks": partial(run.pytest, "tests/test_teaching.py", "-k", "leak"),
        "nbval": run.nbval,
        "book": run.book,
        "explorables": partial(run.browser, *SHARED, *own),
        "links": partial(run.pytest, "tests/test_book.py", "-k", "test_links or test_colab or test_outputs"),
    }


def steps(run: ModuleType, stem: str) -> dict[str, Step]:
    """The same for one chapter; the book is built whole, since its links cross."""
    topics = " or ".join(sorted({entry.id.partition(".")[0] for entry in manifest() if entry.chapter == stem}))
    files = explorables(stem, run.ROOT)
    chosen = whole(run) | {
        "fresh": partial(run.pytest, "tests/test_notebooks_fresh.py", "-k", f"{stem} or test_nothing_is_stale"),
        "exercises": partial(run.pytest, "tests/test_exercises.py", "-k", topics),
        "leaks": partial(run.pytest, "tests/test_teaching.py", "-k", f"leak and ({topics})"),
        "nbval": partial(run.nbval, stem),
        "explorables": partial(run.browser, *files),
        "links": partial(run.pytest, "tests/test_book.py", "-k", f"{stem} and not test_page"),
    }
    without = ({"exercises", "leaks"} if not topics else set()) | ({"explorables"} if not files else set())
    return {name: step for name, step in chosen.items() if name not in without}


def explorables(stem: str, home: Path) -> list[str]:
    """The tests of the explorables that a chapter imports, and of its quiz."""
    text = (home / f"book/chapters/{stem}.md").read_text(encoding="utf-8")
    names = re.findall(r"\w+", " ".join(re.findall(r"^from attncourse\.widgets import (.+)$", text, re.MULTILINE)))
    folders = [getattr(widgets, name).__module__.split(".")[-2] for name in names if name != "quiz"]
    own = {folder: f"tests/test_widget_{folder}.py" for folder in folders}
    there = [name for name in own.values() if (home / name).is_file()]
    if len(there) < len(own):  # the shared files try all quizzes, too
        return [*there, *SHARED]
    return [
        *there,
        *(f"{SHARED[0]}::test_every_quiz_is_sound[{quiz}]" for quiz in re.findall(r'quiz\("(\w+)"\)', text)),
    ]
