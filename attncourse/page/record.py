"""For the build: what a page needs to check an exercise, computed by PyTorch, as plain data.

`questions` are the inputs of the cases and the weights of the networks among them; `results` is what the solution and
every wrong version make of them. Sources are not needed: in the page only the learner's function runs.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..exercises.engine.compare import TOLERANCE, alike
from ..exercises.engine.core import Case, Exercise, Fixture, Foreign, Result
from ..exercises.engine.examine import telling_cases
from ..exercises.engine.judge import reference
from ..exercises.engine.run import build

# Where on the cases of seed 0 the last digit of a float32 would decide; tests/page proves that here it does not.
SEEDS = {"self_attention.hierarchical-pooling": 1, "self_attention.equivariance": 2}


def cases_for_the_page(exercise: Exercise) -> tuple[Case, ...]:
    return telling_cases(exercise, SEEDS.get(exercise.id, 0))


def questions(cases: Sequence[Case]) -> list:
    return [[case.kind, {k: _input(v) for k, v in case.inputs.items()}, list(case.gradients)] for case in cases]


def _input(value: Any) -> Any:
    if isinstance(value, Fixture):
        weights = {name: x.detach() for name, x in build(value).state_dict().items()}
        return {"make": value.make, "args": list(value.args), "dtype": value.dtype, "weights": weights}
    return value


def texts(exercise: Exercise) -> dict:
    """What the card shows, and what the judge says."""
    plain = ("id", "title", "points", "task", "stub", "hints", "axes", "seconds")
    return {name: getattr(exercise, name) for name in plain} | {
        "solution": exercise.solution_source,
        "name": exercise.solution.__name__,
        "parameters": list(exercise.parameters),
        "returns": [[output.name, output.axes, output.distribution] for output in exercise.returns],
        "wrong": [[wrong.name, wrong.message] for wrong in exercise.wrong],
    }


def results(exercise: Exercise, cases: Sequence[Case]) -> dict:
    """Of the solution all, of a wrong version what the judge can look at.

    Gradients of a wrong version are compared only where all its values are the solution's: `find_misconception`.
    """
    right = [reference(exercise.solution, case) for case in cases]
    wrong = []
    for idea in exercise.wrong:
        versions = [[reference(version, case) for case in cases] for version in idea.versions]
        wrong.append([[_result(r, _silent(right, found)) for r in found] for found in versions])
    return {"solution": [_result(r, True) for r in right], "wrong": wrong}


def _silent(right: list[Result], found: list[Result]) -> bool:
    return all(alike(a, b) for a, b in zip(right, found, strict=True))


def _result(result: Result, gradients: bool) -> dict:
    if result.problem:
        return {"problem": result.problem.type}
    found: dict[str, Any] = {"value": _value(result.value)}
    if gradients and result.gradients:
        found["gradients"] = {name: _value(x) for name, x in result.gradients.items()}
    return found


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_value(x) for x in value]}
    if isinstance(value, Foreign):
        return {"foreign": value.type}
    return rounded(value) if isinstance(value, Tensor) and value.dtype in TOLERANCE else value


def rounded(x: Tensor) -> Tensor:
    """To 15 of the 23 binary digits of a float32, a relative error of at most 1.6e-5: the judge lets 1e-4 pass."""
    bits = x.float().view(torch.int32)
    found = ((bits + 0x80) & ~0xFF).view(torch.float32).to(x.dtype)
    kept = (found.isfinite() == x.isfinite()) & (
        found.isnan() == x.isnan()
    )  # the largest numbers would become infinite
    return torch.where(kept, found, x)


def record(exercise: Exercise) -> dict:
    """Everything for one exercise: `packed.pack` makes bytes of it, `check.load` makes an exercise of those."""
    cases = cases_for_the_page(exercise)
    return {"texts": texts(exercise), "questions": questions(cases), "results": results(exercise, cases)}
