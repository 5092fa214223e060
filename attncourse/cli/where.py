"""Say which files belong to a chapter, a mechanism, a model, an exercise or an explorable.

attncourse where 13            everything about chapter 13
attncourse where ntm           the mechanism, its chapter and what belongs to it
attncourse where ntm-copy      a model of the zoo: its recipe, its weights, the chapters that use it
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from .. import course
from ..errors import BadInput

Row = tuple[str, Path]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as 13, ntm, 13_ntm, ntm-copy, ntm.interpolation or RunMachine")


def run(args: argparse.Namespace) -> int:
    read, shown = course.read(), 0
    for page in _pages(read, args.name):
        number = f"{page.number} · " if isinstance(page, course.Chapter) else ""
        print(f"{number}{page.title}")
        rows = list(dict.fromkeys([*course.files(page), *_more(page)]))
        for what, path in rows:
            if path.exists():
                mark = "  <-" if _is(args.name, what, path) else ""
                print(f"  {what:12} {_shown(path)}{mark}")
                shown += 1
    if not shown:
        raise BadInput(f"nothing in course.toml is called {args.name!r}; `attncourse chapters` lists the chapters")
    return 0


def _pages(read: course.Course, name: str) -> list[course.Page]:
    """The chapter of that name, or every page that something of that name belongs to."""
    try:
        return [read.chapter(name)]
    except BadInput:
        pass
    everything = (*read.chapters, *read.pages)
    return [page for page in everything if name == page.id or any(_is(name, *row) for row in _all(page))]


def _all(page: course.Page) -> Iterator[Row]:
    yield from course.files(page)
    yield from _more(page)


def _more(page: course.Page) -> Iterator[Row]:
    """Recipes of its models, an explorable's script and style, and the tests of all of it."""
    for what, path in list(course.files(page)):
        if what == "model":
            yield "weights", path.with_suffix(".safetensors")
            yield from (("recipe", recipe) for recipe in _recipes(path.stem))
        if what == "explorable":
            yield from (("script", path.with_suffix(suffix)) for suffix in (".mjs", ".css"))
        if path.is_relative_to(course.PACKAGE) and path.suffix == ".py":
            yield from (("test", test) for test in course.tests_of(path))


def _recipes(model: str) -> list[Path]:
    """The module of the zoo that trains it: its card says so."""
    import json

    card = course.PACKAGE / f"zoo/weights/{model}.json"
    try:
        module = json.loads(card.read_text(encoding="utf-8")).get("recipe")
    except (OSError, ValueError):
        module = None
    return [course.PACKAGE / f"zoo/{module}.py"] if module else []


def _is(name: str, what: str, path: Path) -> bool:
    """Is this the file of that name?"""
    spelt = name.replace("-", "_").casefold()
    names = {path.stem, f"{path.parent.name}.{path.stem}"}
    if what in ("explorable", "script"):
        from ..widgets import EXPORTS

        names = {path.parent.name, *(x for x, where in EXPORTS.items() if where.split(".")[0] == path.parent.name)}
    return spelt in {x.replace("-", "_").casefold() for x in names}


def _shown(path: Path) -> Path:
    return path.relative_to(course.HOME) if path.is_relative_to(course.HOME) else path
