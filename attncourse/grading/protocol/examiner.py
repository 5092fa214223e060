"""The grader's side of the conversation with a student's process: one question at a time, every reply read strictly."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torch import Tensor

from ...exercises.engine.attempt import before_running, ended_the_process, no_function, not_python
from ...exercises.engine.core import Case, Exercise, Foreign, Look, Problem, Result, Verdict
from ...exercises.engine.limit import PATIENCE
from ...exercises.engine.session import STEP_SECONDS
from ..sandbox.launch import START, Runner
from ..sandbox.view import Limits
from .wire import REPLY, Broken, Channel, Gone, Late, identifier

GRACE = 10.0  # seconds by the clock that a reply may be late, beyond what its limit allows
STARTS = 12  # how often a student's process is begun anew, without what ended it; and twice for each exercise


@dataclass
class Attempt:
    """What came of one exercise: a verdict already, or what the judge needs."""

    verdict: Verdict | None = None
    seen: Look = field(default_factory=Look)
    results: list[Result] = field(default_factory=list)
    earlier: str = ""  # a statement of the notebook that failed before
    seconds: float = 0.0


@dataclass
class Examined:
    """What came of one submission."""

    attempts: dict[str, Attempt] = field(default_factory=dict)
    ids: tuple[str, ...] = ()  # all that it answers, also such that do not exist
    bad: tuple[str, ...] = ()  # sentences about files that are no notebooks
    lost: str = ""  # why its process could not even read it
    nothing: bool = False  # there was no file to read


# --- one student --------------------------------------------------------------------------------------------


class Examiner:
    """Puts one submission after another to a runner; a runner that breaks down is replaced."""

    def __init__(self, make: Callable[[], Runner], limits: Limits, full: bool = False):
        self.make, self.limits, self.full = make, limits, full
        self.runner = make()

    def close(self) -> None:
        self.runner.close()

    def probe(self, files: Sequence[str], process: int, port: int) -> dict:
        """What a student's process can reach: asked before any of them."""
        with self._visit() as visit:
            return visit.ask(START, do="probe", files=tuple(files), process=process, port=port)

    @contextmanager
    def _visit(self) -> Iterator["Visit"]:
        try:
            visit = Visit(self.runner.admit())
        except OSError:  # the runner has broken down between two students
            self._replace()
            visit = Visit(self.runner.admit())
        try:
            try:
                yield visit
            except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
                raise Broken(f"a reply is not in the format of replies ({type(error).__name__})") from error
        except Broken as error:
            visit.how = self._end(visit, isinstance(error, Gone)) or str(error)
            raise
        else:
            self._end(visit, gone=False)

    def _end(self, visit: "Visit", gone: bool) -> str:
        try:
            return self.runner.dismiss(visit.channel, gone)
        except (Broken, OSError, ValueError):
            self._replace()
            return ""

    def _replace(self) -> None:
        self.runner.close()
        self.runner = self.make()

    def examine(self, files: dict[str, bytes], asked: dict[Exercise, Sequence[Case]]) -> Examined:
        """Every exercise that the files answer. What ends the process is left out when it is begun anew."""
        done, without = Examined(), dict[int, str]()
        for _ in range(STARTS + 2 * len(asked)):
            try:
                with self._visit() as visit:
                    self._go_through(visit, files, asked, without, done)
                    return done
            except Broken as error:
                if visit.at is None:
                    done.lost = visit.how
                    return done
                if isinstance(visit.at, int):
                    why = "it was stopped, no end was in sight" if isinstance(error, Late) else "it ended the process"
                    without[visit.at] = f"{why} ({visit.how})"
                elif visit.exercises == 1 or isinstance(error, Late):
                    done.attempts[visit.at.id] = self._ended(visit, error)
                # Else an answer before it may be to blame: it is asked again, as the first of a new process.
        for exercise in asked:
            if exercise.id in done.ids and exercise.id not in done.attempts:
                done.attempts[exercise.id] = Attempt(ended_the_process("begun again and again, it ended each time"))
        return done

    def _go_through(self, visit: "Visit", files: dict, asked: dict, without: dict[int, str], done: Examined) -> None:
        pace = self.limits.seconds or STEP_SECONDS
        contents = {"names": tuple(files), "files": tuple(files.values()), "ids": tuple(x.id for x in asked)}
        opened = visit.ask(STEP_SECONDS, do="open", **contents, full=self.full, seconds=pace)
        done.ids, done.bad, steps = opened["ids"], opened["bad"], opened["steps"]
        for visit.at in range(steps):
            visit.ask(pace, do="step", at=visit.at, without=without.get(visit.at, ""))
        for exercise, cases in asked.items():
            if exercise.id in done.ids and exercise.id not in done.attempts:
                visit.at, visit.began, visit.exercises = exercise, time.monotonic(), visit.exercises + 1
                done.attempts[exercise.id] = self._attempt(visit, exercise, cases)

    def _attempt(self, visit: "Visit", exercise: Exercise, cases: Sequence[Case]) -> Attempt:
        pace = visit.pace = self.limits.seconds or exercise.seconds
        reply = visit.ask(pace, do="look", id=exercise.id, stub=exercise.stub, parameters=exercise.parameters)
        if "broken" in reply:
            line, quoted, message = reply["broken"]
            return Attempt(not_python(line if isinstance(line, int) else None, str(quoted)[:200], str(message)[:200]))
        if "failed" in reply:
            return Attempt(no_function(str(reply["failed"])[:700]))
        seen, earlier = read_look(reply["look"]), str(reply["earlier"])[:700]
        early = before_running(exercise, seen)
        if early:
            return Attempt(early)
        visit.results = []
        for case in cases:
            inputs = {"inputs": case.inputs, "gradients": case.gradients}
            reply = visit.ask(pace, do="call", id=exercise.id, **inputs, seconds=pace)
            visit.results.append(read_result(reply, case, pace))
            if visit.results[-1].timed_out:
                break
        return Attempt(None, seen, visit.results, earlier, time.monotonic() - visit.began)

    def _ended(self, visit: "Visit", error: Broken) -> Attempt:
        seconds = time.monotonic() - visit.began
        if isinstance(error, Late):
            late = Result(timed_out=self.limits.seconds or visit.pace)
            return Attempt(None, results=[*visit.results, late], seconds=seconds)
        return Attempt(ended_the_process(visit.how), seconds=seconds)


@dataclass
class Visit:
    """One process of a student, and where the conversation with it stands."""

    channel: Channel
    at: int | Exercise | None = None  # the statement, or the exercise, that is to blame if it ends now
    exercises: int = 0  # asked for so far
    results: list[Result] = field(default_factory=list)
    began: float = 0.0
    pace: float = 0.0  # seconds of work that the exercise allows
    number: int = 0
    how: str = ""

    def ask(self, pace: float, /, **request: Any) -> dict:
        """A question and its reply. A reply that came before its question is forged, and ends the visit."""
        if not self.channel.silent():
            raise Broken("it wrote replies that nobody had asked for")
        self.number += 1
        patience = PATIENCE * pace + GRACE
        self.channel.send(request | {"number": self.number}, patience)
        reply = self.channel.receive(patience, body=REPLY)
        if not isinstance(reply, dict) or type(reply.get("number")) is not int or reply["number"] != self.number:
            raise Broken("it wrote replies that nobody had asked for")
        if "fault" in reply:
            raise Broken(str(reply["fault"])[:300])
        return _Fields(reply)


class _Fields(dict):
    """A reply, some field of which may be missing."""

    def __missing__(self, name: str) -> NoReturn:
        raise Broken(f"a reply lacks {name!r}")


# --- replies ------------------------------------------------------------------------------------------------


def read_look(reply: dict) -> Look:
    if not isinstance(reply, dict):
        raise Broken("a reply is not in the format of replies")
    lists = {name: _names(reply.get(name)) for name in ("parameters", "outside")}
    return Look(stub=reply.get("stub") is True, refusal=str(reply.get("refusal", ""))[:300], **lists)


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(x)[:60] for x in value[:30]) if isinstance(value, tuple) else ()


def read_result(reply: dict, case: Case, seconds: float) -> Result:
    """Only what this case asked for, each of its kind; the rest of a reply is not looked at."""
    printed = reply["printed"] if isinstance(reply["printed"], str) else ""
    if reply["timed_out"] is not False:
        return Result(timed_out=seconds, printed=printed[:2_000])
    after = reply["after"] if isinstance(reply["after"], dict) else {}
    found = reply["gradients"] if isinstance(reply["gradients"], dict) else {}
    return Result(
        value=tuple(map(_value, reply["value"])) if isinstance(reply["value"], tuple) else _value(reply["value"]),
        after={name: x for name, x in after.items() if isinstance(x, Tensor)},
        gradients={name: found[name] for name in case.gradients if isinstance(found.get(name), Tensor)},
        problem=_problem(reply["problem"]),
        printed=printed[:2_000],
    )


def _value(value):
    """What `run.plain` can give, and nothing else."""
    known = value is None or isinstance(value, (Tensor, bool, int, float, str, Foreign))
    return value if known else Foreign("something else")


def _problem(reply: object) -> Problem | None:
    if reply is None:
        return None
    if not isinstance(reply, dict):
        raise Broken("a reply is not in the format of replies")
    line, shapes = reply.get("line"), reply.get("shapes")
    known = {str(k)[:60]: str(x)[:60] for k, x in list(shapes.items())[:20]} if isinstance(shapes, dict) else {}
    words = {name: str(reply.get(name, ""))[:500] for name in ("type", "message", "text")}
    kind = identifier(words["type"]) or "Exception"
    return Problem(kind, words["message"], line if type(line) is int else None, words["text"], known)
