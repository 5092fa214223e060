"""The questions at the end of each chapter: one module a chapter, with a list `QUESTIONS`.

Texts are Markdown with `$…$`; every answer, right or wrong, has feedback that says why.
"""

import importlib
import math
import pkgutil
from dataclasses import dataclass, field

from ..markup import to_html_inline
from ..running import record


class QuizError(ValueError):
    pass


@dataclass(frozen=True)
class Option:
    text: str
    feedback: str
    right: bool


def Right(text: str, feedback: str) -> Option:
    return Option(text, feedback, True)


def Wrong(text: str, feedback: str) -> Option:
    return Option(text, feedback, False)


@dataclass(frozen=True)
class SingleChoice:
    """One of several answers is right."""

    id: str
    text: str
    options: list[Option]

    def problems(self) -> list[str]:
        right = sum(option.right for option in self.options)
        found = [f"{right} right options, there must be exactly one"] if right != 1 else []
        found += ["fewer than three options"] if len(self.options) < 3 else []
        texts = [option.text for option in self.options]
        found += ["two options with the same text"] if len(set(texts)) < len(texts) else []
        return found + [f"no feedback for {o.text!r}" for o in self.options if not o.feedback.strip()]

    def as_html(self) -> dict:
        options = [
            {"text": to_html_inline(o.text), "feedback": to_html_inline(o.feedback), "right": o.right}
            for o in self.options
        ]
        return {"kind": "choice", "id": self.id, "text": to_html_inline(self.text), "options": options}


@dataclass(frozen=True)
class Numeric:
    """A number within `tolerance`. `traps` maps the result of a known mistake to the words that undo it."""

    id: str
    text: str
    answer: float
    right: str
    wrong: str
    tolerance: float = 0.01
    traps: dict[float, str] = field(default_factory=dict)

    def problems(self) -> list[str]:
        numbers = [self.answer, *self.traps]
        if not all(map(math.isfinite, [*numbers, self.tolerance])) or self.tolerance < 0:
            return ["answer, traps and tolerance must be finite, the tolerance not negative"]
        close = any(abs(a - b) <= 2 * self.tolerance for i, a in enumerate(numbers) for b in numbers[:i])
        found = ["two of the answer and the traps are closer than the tolerance tells apart"] if close else []
        empty = [text for text in (self.right, self.wrong, *self.traps.values()) if not text.strip()]
        return found + (["an empty feedback"] if empty else [])

    def as_html(self) -> dict:
        texts = {name: to_html_inline(getattr(self, name)) for name in ("text", "right", "wrong")}
        traps = [[value, to_html_inline(text)] for value, text in self.traps.items()]
        return {
            "kind": "numeric",
            "id": self.id,
            "answer": self.answer,
            "tolerance": self.tolerance,
            "traps": traps,
        } | texts


def check(name: str, questions: list) -> None:
    """Raise a QuizError that lists everything that is wrong with a quiz."""
    ids = [question.id for question in questions]
    found = [] if questions else ["there is no question"]
    found += [f"the id {i!r} is used more than once" for i in sorted(set(ids)) if ids.count(i) > 1]
    for question in questions:
        found += ["a question has no id"] if not question.id else []
        found += [f"{question.id}: no text"] if not question.text.strip() else []
        found += [f"{question.id}: {problem}" for problem in question.problems()]
    if found:
        raise QuizError(f"quiz {name!r}: " + "; ".join(found))


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> list:
    """The checked questions of a chapter."""
    if name not in names():
        raise QuizError(f"there is no quiz {name!r}; there are: {', '.join(names())}")
    record.used("quiz", name)
    questions = importlib.import_module(f"{__name__}.{name}").QUESTIONS
    check(name, questions)
    return questions
