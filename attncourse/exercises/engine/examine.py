"""All cases together: run an answer, judge each result, and look for the idea behind what is wrong."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

import torch

from .attempt import before_running, look
from .compare import alike
from .core import Case, Exercise, Look, Misconception, Outcome, Result, Verdict
from .judge import join, judge, reference, written
from .run import run


def assess(exercise: Exercise, answer: Callable, seed: int = 0) -> Verdict:
    """Everything that the Check button does: look at the answer, run it on every case, judge."""
    seen = look(answer, exercise.stub, exercise.parameters)
    early = before_running(exercise, seen)
    if early:
        return early
    with torch.device("cpu"):  # whatever the notebook has made the default
        cases, results = cases_of(exercise, seed), []
        for case in cases:
            results.append(run(answer, case, exercise.seconds))
            if results[-1].timed_out:
                break
        return conclude(exercise, cases, seen, results)


def conclude(exercise: Exercise, cases: Sequence[Case], seen: Look, results: Sequence[Result]) -> Verdict:
    """At home: the verdict on an answer that ran, here or elsewhere."""
    found = verdict(exercise, cases, results)
    if seen.outside and found.outcome is not Outcome.CORRECT:
        line = f"it reads {join(seen.outside)} from the notebook, outside the function: is that meant?"
        found = replace(found, seen=(*found.seen, line))
    return found


@lru_cache(maxsize=256)
def cases_of(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    return tuple(exercise.cases(seed))


@cache
def telling_cases(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    """Cases of `seed` that no registered wrong version passes; on an unlucky seed, those of the next that has such."""
    for near in range(seed, seed + 100 * 64, 100):
        cases = cases_of(exercise, near)
        if not any(_passes(exercise, version, cases) for wrong in exercise.wrong for version in wrong.versions):
            return cases
    raise RuntimeError(f"the cases of {exercise.id} let a wrong version pass on 64 seeds, {seed} and following")


def _passes(exercise: Exercise, version: Callable, cases: Sequence[Case]) -> bool:
    return all(judge(exercise, case, reference(version, case)).outcome is Outcome.CORRECT for case in cases)


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
    found = replace(first, outcome=Outcome.MISCONCEPTION, misconception=wrong.name)
    return replace(found, headline=headline, message=wrong.message)
