"""`attncourse check notebook.ipynb`: every answer in a file, checked from the command line.

The file's code runs in a process of its own, so that whatever it does is an outcome. This is no protection
against code that means harm: for work that others hand in there is grading.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...markup import to_plain
from .attempt import ended_the_process, no_function, not_python
from .catalogue import UnknownExercise, find
from .core import Exercise, Outcome, Verdict
from .examine import assess
from .notebook import Source, needed, read
from .session import STEP_SECONDS, Session

ICON = {Outcome.CORRECT: "✓", Outcome.NOT_ATTEMPTED: "○", Outcome.RAISED: "⚠", Outcome.TIMED_OUT: "⚠"}


def main(path: str) -> int:
    """Print one line an exercise, and why, where it is wrong. 0: all correct, 1: not. BadInput: nothing to check."""
    source = read(path)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a console without ✓ shows a question mark, and the word beside it
    verdicts = _in_processes(Path(path).resolve(), source.ids)
    points = total = 0
    print(path)
    for id in source.ids:
        try:
            worth = find(id).points
        except UnknownExercise:
            worth = 0
        gained = worth if verdicts[id].outcome is Outcome.CORRECT else 0
        points, total = points + gained, total + worth
        print("\n".join(lines(id, verdicts[id], f"{gained}/{worth}")))
    correct = sum(verdict.outcome is Outcome.CORRECT for verdict in verdicts.values())
    print(f"{correct} of {len(verdicts)} correct, {points} of {total} points")
    return 0 if correct == len(verdicts) else 1


def lines(id: str, verdict: Verdict, points: str) -> list[str]:
    """For the terminal: the formulas of a message in plain characters."""
    known = [Outcome.CORRECT, Outcome.NOT_ATTEMPTED]
    what = verdict.outcome.value + ("" if verdict.outcome in known else f": {verdict.headline}")
    head = f"  {ICON.get(verdict.outcome, '✗')} {id:32} {points:>5}  {what}"
    if verdict.outcome in known:
        return [head]
    wrapped = textwrap.wrap(to_plain(verdict.message), 100, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return [head, *wrapped, *(f"      | {line}" for line in verdict.seen)]


def _in_processes(path: Path, ids: list[str]) -> dict[str, Verdict]:
    """One process for all; when it dies, another one without what killed it."""
    verdicts: dict[str, Verdict] = {}
    without: list[str] = []
    while set(ids) - verdicts.keys():
        events, how = _process(path, [*without, *verdicts])
        at = ""
        for event in events:
            at = event.get("at", at)
            if "id" in event:
                verdict = event["verdict"]
                told = verdict | {"outcome": Outcome(verdict["outcome"]), "seen": tuple(verdict["seen"])}
                verdicts[event["id"]] = Verdict(**told)
        left = [id for id in ids if id not in verdicts]
        if left:
            blamed = [at] if at in left else left if at in without or not at else []
            verdicts |= {id: ended_the_process(how) for id in blamed}
            without.append(at)
    return verdicts


def _process(path: Path, without: list[str]) -> tuple[list[dict], str]:
    """Run `work` below; -> what it reported, and how it ended."""
    home = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        report.touch()
        command = [sys.executable, "-m", __name__, str(path), str(report), *without]
        environment = os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
        quiet: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        try:
            ended = subprocess.run(command, cwd=path.parent, env=environment, timeout=10 * STEP_SECONDS, **quiet)
            how = f"exit code {ended.returncode}"
        except subprocess.TimeoutExpired:
            how = f"stopped after {10 * STEP_SECONDS} seconds"
        whole = [line for line in report.read_text(encoding="utf-8").splitlines(True) if line.endswith("\n")]
        return [json.loads(line) for line in whole], how


def work(path: str, report: str, *without: str) -> None:
    """In the process: run what the answers need, then check each. `without`: statements and answers to leave out."""
    source = read(path)
    with open(report, "a", encoding="utf-8") as file:

        def tell(**event):
            print(json.dumps(event), file=file, flush=True)

        session = Session(source)
        for step in needed(source.steps, source.ids):
            if step.place not in without:
                tell(at=step.place)
                session.do(step)
        tell(at="")
        for id in source.ids:
            if id not in without:
                tell(at=id)
                tell(id=id, verdict=asdict(_verdict(source, id, session)))


def _verdict(source: Source, id: str, session: Session) -> Verdict:
    try:
        exercise: Exercise = find(id)
    except UnknownExercise as error:
        return Verdict(Outcome.RAISED, "There is no such exercise", f"{str(error)[0].upper()}{str(error)[1:]}.")
    if id in source.broken:
        broken = source.broken[id]
        return not_python(broken.lineno, broken.text or "", broken.msg)
    if id in session.failed or id not in session.answers:
        return no_function(session.failed.get(id, "it was left out"))
    verdict = assess(exercise, session.answers[id])
    if verdict.outcome is Outcome.RAISED and session.failed:
        first = next(iter(session.failed.values()))
        verdict = replace(verdict, seen=(*verdict.seen, f"before that, this failed: {first}"))
    return verdict


if __name__ == "__main__":
    work(*sys.argv[1:])
