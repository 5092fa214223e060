"""Exercises that say why.

>>> from attncourse.exercises import exercise
>>>
>>> @exercise("bahdanau.additive-score")
... def additive_score(query, keys, W_q, W_k, v):
...     ...  # your code

The decorator gives the function back and shows a card with the task, Check, Hint and Solution.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..running import record
from .engine.catalogue import Entry, UnknownExercise, find, manifest
from .engine.core import Case, Exercise, Fixture, Misconception, Outcome, Output, Verdict
from .engine.examine import assess

__all__ = [
    "Case",
    "Entry",
    "Exercise",
    "Fixture",
    "Misconception",
    "Outcome",
    "Output",
    "UnknownExercise",
    "Verdict",
    "assess",
    "exercise",
    "find",
    "manifest",
]

ANSWERS: dict[str, Callable] = {}  # the latest answer to each exercise: a cell that is run again replaces it
_only_collect = False


def exercise(id: str) -> Callable[[Callable], Callable]:
    """Hand in the decorated function as the answer to exercise `id`."""
    if not isinstance(id, str):
        raise TypeError('the exercise needs its id: write @exercise("chapter.name"), as in the cell you were given')

    def hand_in(answer: Callable) -> Callable:
        if not _only_collect:
            record.used("exercise", id)
            _show(find(id), answer)
        ANSWERS[id] = answer
        return answer

    return hand_in


def _show(chosen: Exercise, answer: Callable) -> None:
    """A live card in a notebook, a static one while the book is built, nothing in a script."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return
    from .engine import card

    page = os.environ.get("ATTNCOURSE_STATIC")
    if page is not None:
        ipython.display.display(ipython.display.HTML(card.static(chosen, page)))
    else:
        ipython.display.display(card.of(chosen, answer).box)


@contextmanager
def collecting() -> Iterator[dict[str, Callable]]:
    """Inside, the decorator only notes the answers, whatever their ids: for a check from the command line."""
    global _only_collect
    _only_collect = True
    ANSWERS.clear()
    try:
        yield ANSWERS
    finally:
        _only_collect = False
