"""In the page, where `torch` is the page's: an exercise from what the build has written, and the check of an answer.

The engine is the notebook's own, file by file: it runs the answer and judges it on the page's torch. What the solution
and the wrong versions give was recorded by PyTorch (`record`), so that nothing but the answer has to run.
"""

import ast
import inspect
import linecache
import math
from collections.abc import Callable
from typing import Any

from ..exercises.engine.attempt import no_function, not_python
from ..exercises.engine.core import (
    Case,
    Exercise,
    Fixture,
    Foreign,
    Misconception,
    Output,
    Problem,
    Recorded,
    Result,
    Verdict,
)
from ..exercises.engine.examine import assess

FILE = "<your answer>"


def load(data: dict) -> Exercise:
    """From `record.record`, by way of `packed`."""
    texts = data["texts"]
    cases = [_case(*question) for question in data["questions"]]
    signature = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in texts["parameters"]]
    )

    def recorded(found: list) -> Recorded:
        results = {case.kind: _result(**one) for case, one in zip(cases, found, strict=True)}
        return Recorded(texts["name"], signature, results)

    wrong = [
        Misconception(name, message, tuple(recorded(version) for version in versions))
        for (name, message), versions in zip(texts["wrong"], data["results"]["wrong"], strict=True)
    ]
    return Exercise(
        **{name: texts[name] for name in ("id", "title", "points", "task", "stub", "axes", "seconds")},
        hints=tuple(texts["hints"]),
        solution=recorded(data["results"]["solution"]),
        spellings=(),
        wrong=tuple(wrong),
        cases=lambda seed: cases,
        returns=tuple(Output(*output) for output in texts["returns"]),
    )


def _case(kind: str, inputs: dict, gradients: list) -> Case:
    return Case(kind, {name: _input(value) for name, value in inputs.items()}, tuple(gradients))


def _input(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return Fixture(value["make"], tuple(value["args"]), dtype=value["dtype"], weights=value["weights"])


def _result(value: Any = None, gradients: dict | None = None, problem: str = "") -> Result:
    return Result(_value(value), gradients=gradients or {}, problem=Problem(problem, "") if problem else None)


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return tuple(_value(x) for x in value["tuple"]) if "tuple" in value else Foreign(value["foreign"])


def check(exercise: Exercise, source: str) -> Verdict:
    """The verdict on the text in the editor."""
    try:
        tree = ast.parse(source, FILE)
    except SyntaxError as error:
        return not_python(error.lineno, error.text or "", error.msg)
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)  # so that an error can quote its line
    space = namespace()
    try:
        exec(compile(tree, FILE, "exec"), space)
    except BaseException as error:
        return no_function(f"{type(error).__name__}: {error}")
    name = exercise.solution.__name__
    if not callable(space.get(name)):
        return no_function(f"there is no function {name} in it")
    return assess(exercise, space[name])


def namespace() -> dict[str, Any]:
    """What an answer may use without importing it: as in the notebook, after its first cell."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    def exercise(id: str) -> Callable[[Callable], Callable]:
        return lambda answer: answer

    return {"__name__": "answers", "torch": torch, "nn": nn, "F": F, "math": math, "exercise": exercise}
