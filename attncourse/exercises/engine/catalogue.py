"""Every exercise of the course: `course.toml` says which there are, and each is loaded on first use."""

import importlib
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ... import course
from ...errors import BadInput
from .core import Exercise

MANIFEST = Path(__file__).parents[1] / "manifest.json"


class UnknownExercise(BadInput):
    pass


class Entry(NamedTuple):
    """One line of the manifest: what a report needs to know without loading the exercise."""

    id: str
    chapter: str  # "04_bahdanau", the name of its notebook
    title: str
    points: int


@cache
def find(id: str) -> Exercise:
    """The exercise of that id: `EXERCISE` of its module in exercises/chapters/."""
    if id in course.read().exercises:
        topic, _, name = id.partition(".")
        module = importlib.import_module(f"attncourse.exercises.chapters.{topic}.{name.replace('-', '_')}")
        return module.EXERCISE
    topic = str(id).partition(".")[0]
    near = [known for known in course.read().exercises if known.startswith(f"{topic}.")]
    topics = dict.fromkeys(known.partition(".")[0] for known in course.read().exercises)
    others = f"{topic!r} has: {', '.join(near)}" if near else f"their names begin with: {', '.join(topics)}"
    raise UnknownExercise(f"there is no exercise {id!r}; {others}")


def of_chapter(which: str | int) -> list[Exercise]:
    return [find(id) for id in course.read().chapter(which).exercises]


@cache
def manifest() -> list[Entry]:
    """All exercises, in the order of the chapters."""
    entries = []
    for id, chapter in course.read().exercises.items():
        exercise = find(id)
        entries.append(Entry(id, chapter.id, exercise.title, exercise.points))
    return entries


def manifest_text() -> str:
    return json.dumps([entry._asdict() for entry in manifest()], indent=1, ensure_ascii=False) + "\n"
