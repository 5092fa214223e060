"""The index of traps: what every exercise recognises as wrong, by name, with the words that the learner would read.

Nothing but the misconceptions' own names and messages is taken from an exercise: no solution, no hint, no version.
"""

from collections import defaultdict
from html import escape

from ...markup import to_html, to_html_inline
from . import catalogue
from .catalogue import find, manifest
from .core import Exercise


class Page:
    """HTML that a notebook shows."""

    def __init__(self, text: str):
        self.text = text

    def _repr_html_(self) -> str:
        return self.text


def of_chapter(which: str | int) -> Page:
    """The traps of a chapter's exercises: `traps.of_chapter("bahdanau")`."""
    return Page("".join(of_exercise(exercise) for exercise in catalogue.of_chapter(which)))


def of_exercise(exercise: Exercise) -> str:
    folded = (
        f'<details class="attn-trap"><summary>{to_html_inline(wrong.name)}</summary>{to_html(wrong.message)}</details>'
        for wrong in exercise.wrong
    )
    title = f"{to_html_inline(exercise.title)} <small><code>{escape(exercise.id)}</code></small>"
    return f'<section class="attn-traps"><h3>{title}</h3>{"".join(folded)}</section>'


def repeated() -> Page:
    """Traps that lie in more than one chapter, and where: name -> numbers of the chapters."""
    places = defaultdict(set)
    for entry in manifest():
        for wrong in find(entry.id).wrong:
            places[wrong.name].add(int(entry.chapter[:2]))
    several = sorted(((name, sorted(at)) for name, at in places.items() if len(at) > 1), key=lambda x: (-len(x[1]), x))
    rows = (
        f"<tr><td>{to_html_inline(name)}</td><td>{', '.join(map(str, chapters))}</td></tr>"
        for name, chapters in several
    )
    head = '<tr><th scope="col">trap</th><th scope="col">chapters</th></tr>'
    return Page(f'<table class="attn-repeated"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>')


def count() -> tuple[int, int]:
    """-> exercises, misconceptions"""
    return len(manifest()), sum(len(find(entry.id).wrong) for entry in manifest())
