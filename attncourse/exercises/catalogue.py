"""Every exercise of the course: one module of this package a chapter, found by its name and loaded on first use.

A chapter's module holds `CHAPTER`, the name of its notebook, and `EXERCISES`, a list.
"""

import importlib
import json
import pkgutil
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .core import Exercise

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "manifest.json"


class UnknownExercise(ValueError):
    pass


class Entry(NamedTuple):
    """One line of the manifest: what a report needs to know without loading the exercise."""

    id: str
    chapter: str  # "04_bahdanau", the name of its notebook
    title: str
    points: int


def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules([str(FOLDER)]) if not module.name.startswith("_")]


@cache
def _chapter(name: str) -> dict[str, Exercise]:
    """The exercises of one module; none for a module of the engine, or one that does not exist."""
    if name not in _modules():
        return {}
    module = importlib.import_module(f"{__package__}.{name}")
    return {exercise.id: exercise for exercise in getattr(module, "EXERCISES", [])}


def find(id: str) -> Exercise:
    name = str(id).partition(".")[0]
    chapter = _chapter(name)
    if id in chapter:
        return chapter[id]
    known = f"chapter {name!r} has: {', '.join(chapter)}"
    if not chapter:
        known = (
            f"the chapters with exercises are: {', '.join(dict.fromkeys(e.id.partition('.')[0] for e in manifest()))}"
        )
    raise UnknownExercise(f"there is no exercise {id!r}; {known}")


def manifest() -> list[Entry]:
    """All exercises, in the order of the chapters."""
    entries = []
    for name in _modules():
        for exercise in _chapter(name).values():
            notebook = importlib.import_module(f"{__package__}.{name}").CHAPTER
            entries.append(Entry(exercise.id, notebook, exercise.title, exercise.points))
    return sorted(entries, key=lambda entry: entry.chapter)


def manifest_text() -> str:
    return json.dumps([entry._asdict() for entry in manifest()], indent=1, ensure_ascii=False) + "\n"
