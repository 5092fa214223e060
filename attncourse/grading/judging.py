"""From what a student's process sent to a line of the journal: here, and only here, answers meet solutions."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from ..exercises import manifest
from ..exercises.engine.core import Case, Exercise, Outcome, Verdict
from ..exercises.engine.examine import conclude
from .protocol.examiner import Attempt, Examined


def entry(
    student: str, digest: str, refused: list[str], examined: Examined, asked: dict[Exercise, Sequence[Case]]
) -> dict:
    """`refused`: files that were not read, and why; `asked`: the exercises, and the cases that answers were given."""
    known = {entry.id for entry in manifest()}
    strange = [id for id in examined.ids if id not in known][:5]
    notes = [f"There is no exercise {id!r}: is its name spelt as in the notebook?" for id in strange]
    rows = [_row(exercise, cases, examined, refused) for exercise, cases in asked.items()]
    return {"student": student, "digest": digest, "notes": [*refused, *examined.bad, *notes], "rows": rows}


def _row(exercise: Exercise, cases: Sequence[Case], examined: Examined, refused: list[str]) -> dict:
    attempt = examined.attempts.get(exercise.id) or Attempt(_missing(examined, refused))
    verdict = attempt.verdict or judged(exercise, cases, attempt)
    return {
        "exercise": exercise.id,
        "points": exercise.points if verdict.outcome is Outcome.CORRECT else 0,
        "outcome": verdict.outcome.value,
        "misconception": verdict.misconception,
        "seconds": round(attempt.seconds, 2),
        "verdict": asdict(verdict),
    }


def judged(exercise: Exercise, cases: Sequence[Case], attempt: Attempt) -> Verdict:
    """What a student's process sent, before the judge that learners use."""
    try:
        verdict = conclude(exercise, cases, attempt.seen, attempt.results)
    except Exception as error:  # numbers of a kind that no honest answer has
        text = "What it returned could not be compared with anything."
        return Verdict(Outcome.TYPE, "The answer cannot be judged", text, (type(error).__name__,))
    if verdict.outcome is Outcome.RAISED and attempt.earlier:
        verdict = replace(verdict, seen=(*verdict.seen, f"before that, this failed: {attempt.earlier}"))
    return verdict


def _missing(examined: Examined, refused: list[str]) -> Verdict:
    """The verdict on an exercise of which nothing was found."""
    if examined.lost or refused or (examined.bad and not examined.ids):
        seen = tuple(filter(None, [examined.lost, *refused, *examined.bad]))
        text = "It should be a notebook (.ipynb) as Jupyter saves it, or a script (.py)."
        return Verdict(Outcome.UNREADABLE, "What was handed in cannot be read", text, seen)
    text = "There is no cell with this exercise's `@exercise(…)` in what was handed in."
    return Verdict(Outcome.NOT_ATTEMPTED, "Not handed in", "Nothing was handed in." if examined.nothing else text)
