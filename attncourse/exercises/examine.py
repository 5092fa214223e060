"""All cases together: run an answer, judge each result, and look for the idea behind what is wrong."""

import dis
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from .attempt import before_running
from .compare import alike
from .core import Case, Exercise, Misconception, Outcome, Result, Verdict
from .judge import join, judge, reference, written
from .run import run


def assess(exercise: Exercise, answer: Callable, seed: int = 0) -> Verdict:
    """Everything that the Check button does: look at the answer, run it on every case, judge."""
    early = before_running(exercise, answer)
    if early:
        return early
    with torch.device("cpu"):  # whatever the notebook has made the default
        cases, results = cases_of(exercise, seed), []
        for case in cases:
            results.append(run(answer, case, exercise.seconds))
            if results[-1].timed_out:
                break
        found = verdict(exercise, cases, results)
    names = outside(answer)
    if names and found.outcome is not Outcome.CORRECT:
        line = f"it reads {join(names)} from the notebook, outside the function: is that meant?"
        found = replace(found, seen=(*found.seen, line))
    return found


def outside(answer: Callable) -> list[str]:
    """Tensors of the notebook that an answer uses by name: a forgotten line finds those of an earlier cell."""
    inner = inspect.unwrap(answer)
    space = getattr(inner, "__globals__", None)
    steps = dis.get_instructions(inner) if space else []
    names = dict.fromkeys(step.argval for step in steps if step.opname == "LOAD_GLOBAL")
    return [name for name in names if isinstance(space.get(name), Tensor)]


@lru_cache(maxsize=256)
def cases_of(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    return tuple(exercise.cases(seed))


def verdict(exercise: Exercise, cases: Sequence[Case], results: Sequence[Result]) -> Verdict:
    """One verdict from the results on all cases (fewer, if the last of them timed out)."""
    judged = [(case, result, judge(exercise, case, result)) for case, result in zip(cases, results, strict=False)]
    failed = [entry for entry in judged if entry[2].outcome is not Outcome.CORRECT]
    if not failed:
        text = f"It agrees with the solution on every kind of input: {join(case.kind for case in cases)}."
        return Verdict(Outcome.CORRECT, "Correct", text, printed=results[0].printed)
    if results[-1].timed_out:
        return replace(failed[-1][2], printed=results[-1].printed)
    wrong = find_misconception(exercise, cases, results)
    if wrong:
        # Show it where it matters, not where an input was merely written into.
        differs = [entry for entry in failed if not alike(reference(exercise.solution, entry[0]), entry[1])]
        return _as_misconception(wrong, _completed((differs or failed)[0]))
    first = _completed(failed[0])
    return replace(first, seen=(*first.seen, *_elsewhere(judged)))


def _completed(entry: tuple[Case, Result, Verdict]) -> Verdict:
    case, result, found = entry
    names = [] if found.outcome is Outcome.CHANGED else written(case, result)
    also = [f"besides, it changes its input {names[0]}"] if names else []
    return replace(found, seen=(*found.seen, *also), printed=result.printed)


def _elsewhere(judged: list[tuple[Case, Result, Verdict]]) -> list[str]:
    """Which kinds of input are right, and which fail besides the first."""
    right = [case.kind for case, _, v in judged if v.outcome is Outcome.CORRECT]
    others = [case.kind for case, _, v in judged if v.outcome is not Outcome.CORRECT][1:]
    if not right:
        return []
    if not others:
        return [f"the other {len(right)} kinds of input are right"]
    return [f"right on {join(right)}", f"wrong also on {join(others)}"]


def find_misconception(exercise: Exercise, cases: Sequence[Case], results: Sequence[Result]) -> Misconception | None:
    """The wrong idea whose program behaves like the answer on every case, and unlike the solution on one."""
    pairs = list(zip(cases, results, strict=True))
    # Values tell first; gradients, of which there are more spellings, only where all values are right.
    for gradients in (False, True):
        wrong = [r for c, r in pairs if not r.problem and not alike(reference(exercise.solution, c), r, gradients)]
        if wrong:  # an error alone tells too little: one case has returned something, and something wrong
            return _first_match(exercise, pairs, gradients)
    return None


def _first_match(exercise: Exercise, pairs: list[tuple[Case, Result]], gradients: bool) -> Misconception | None:
    for wrong in exercise.wrong:
        for version in wrong.versions:
            if all(alike(reference(version, case), result, gradients) for case, result in pairs):
                return wrong
    return None


def _as_misconception(wrong: Misconception, first: Verdict) -> Verdict:
    headline = wrong.name[0].upper() + wrong.name[1:]
    told = {"headline": headline, "message": wrong.message, "misconception": wrong.name}
    return replace(first, outcome=Outcome.MISCONCEPTION, **told)
