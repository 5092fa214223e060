"""`attncourse verify`: what an instructor runs after an edit. The steps are those of run.py, in one table.

python tests/verify.py [CHAPTER]

fresh        each notebook is what its text and everything it rests on give, executed, with its outputs
exercises    the proofs of the exercises: solutions pass, each wrong version is told by its name
leaks        no solution in what would be handed out
nbval        the notebooks run, in an empty folder, as in Colab
book         the pages build without a warning
explorables  they compute what PyTorch computes, in a real browser
links        every link, anchor and file of the pages exists
"""

import sys
from collections.abc import Callable
from functools import partial

import run

from attncourse import course

Step = Callable[[], tuple[int, int]]  # -> passed, failed
SHARED = (  # of all explorables together
    "tests/widgets/test_widgets.py", "tests/widgets/test_explorables.py", "tests/widgets/test_predict.py",
    "tests/browser/test_widgets_page.py",
)  # fmt: skip
FRESH, EXERCISES = "tests/book/test_notebooks_fresh.py", "tests/exercises/test_exercises.py"
LEAKS, LINKS = "tests/teaching/test_teaching.py", "tests/browser/test_book.py"


def whole() -> dict[str, Step]:
    own = sorted(str(path.relative_to(run.ROOT)) for path in run.ROOT.glob("tests/widgets/test_*.py"))
    return {
        "fresh": run.fresh,
        "exercises": partial(run.pytest, EXERCISES),
        "leaks": partial(run.pytest, LEAKS, "-k", "leak"),
        "nbval": run.nbval,
        "book": run.book,
        "explorables": partial(run.browser, *dict.fromkeys([*SHARED, *own])),
        "links": partial(run.pytest, LINKS, "-k", "test_links or test_colab or test_outputs"),
    }


def steps(page: course.Page) -> dict[str, Step]:
    """The same for one page; the book is built whole, since its links cross."""
    ids = getattr(page, "exercises", ())
    topics, files = " or ".join(sorted({id.partition(".")[0] for id in ids})), explorables(page)
    chosen = whole() | {
        "fresh": partial(run.pytest, FRESH, "-k", f"{page.id} or test_nothing_is_stale"),
        "exercises": partial(run.pytest, EXERCISES, "-k", topics),
        "leaks": partial(run.pytest, LEAKS, "-k", f"leak and ({topics})"),
        "nbval": partial(run.nbval, page.id),
        "explorables": partial(run.browser, *files),
        "links": partial(run.pytest, LINKS, "-k", f"{page.id} and not test_page"),
    }
    without = ({"exercises", "leaks"} if not topics else set()) | ({"explorables"} if not files else set())
    return {name: step for name, step in chosen.items() if name not in without}


def explorables(page: course.Page) -> list[str]:
    """The tests of the explorables that course.toml gives the page, and of its quiz."""
    tests = {name: list(course.tests_of(course.widget_folder(name) / "widget.py")) for name in page.widgets}
    files = [str(test.relative_to(run.ROOT)) for own in tests.values() for test in own]
    if not all(tests.values()):  # the first two explorables are tried where all of them are
        return [*dict.fromkeys(files), *SHARED]
    quiz = getattr(page, "quiz", "")
    return [
        *dict.fromkeys(files),
        *([f"{SHARED[0]}::test_every_quiz_is_sound[{quiz}]"] if quiz else []),
    ]


def main(arguments: list[str]) -> int:
    if not arguments:
        return run.table(whole())
    read = course.read()
    known = {page.id: page for page in read.pages}
    return run.table(steps(known.get(arguments[0]) or read.chapter(arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
