"""A learner's file at work: its statements run one by one in a namespace of their own, its answers are collected."""

import ast
import linecache
import sys
from collections.abc import Callable
from types import ModuleType

from .. import collecting
from .limit import TimeUp, time_limit
from .notebook import Source, Step

STEP_SECONDS = 60.0  # for one statement of the file, before any answer is called


class Session:
    """`answers` by id, `failed`: what went wrong, by the place of the statement and by the ids it answers."""

    def __init__(self, source: Source, seconds: float = STEP_SECONDS):
        self.space, self.seconds = ModuleType("answers"), seconds
        self.answers: dict[str, Callable] = {}
        self.failed: dict[str, str] = {}
        for name, text in source.cells.items():  # so that an error can quote its line
            linecache.cache[f"<{name}>"] = (len(text), None, text.splitlines(True), f"<{name}>")

    def do(self, step: Step) -> None:
        """Execute one statement; whatever it raises is noted."""
        sys.modules["answers"] = self.space
        try:
            with collecting() as answers, time_limit(self.seconds):
                exec(compile(ast.Module([step.node], []), f"<{step.cell}>", "exec"), self.space.__dict__)
            self.answers |= answers
        except TimeUp:
            self.fail(step, f"it was stopped after {self.seconds:g} seconds")
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            self.fail(step, f"{type(error).__name__}: {_words(error)}")

    def fail(self, step: Step, why: str) -> None:
        self.failed |= dict.fromkeys([step.place, *step.ids], f"{step.place}: {why}")


def _words(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except Exception:  # an exception of the learner's own class
        return "(its message cannot be shown)"
