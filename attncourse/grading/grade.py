"""A whole class: workers with a runner each, one judge, a journal, and the tables and pages at the end."""

import hashlib
import os
import queue
import secrets
import shutil
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from .. import __version__
from ..errors import BadInput
from ..exercises import manifest
from ..exercises.engine.catalogue import find
from ..exercises.engine.core import Case, Exercise
from ..exercises.engine.examine import telling_cases
from .judging import entry
from .protocol.examiner import Examined, Examiner
from .protocol.wire import Broken
from .report import pages, tables
from .report.journal import NAME, Journal
from .sandbox import isolate
from .sandbox.launch import MODES, NoRunner, Runner, supported
from .sandbox.view import PACKAGE, Limits
from .sandbox.walls import Walls
from .submissions import Submission, gather

Asked = dict[Exercise, Sequence[Case]]  # what is asked, and on which cases


@dataclass
class Order:
    """What the command line asks for."""

    submissions: Path
    out: Path
    chapter: str | None = None
    seed: int | None = None
    workers: int | None = None
    students: Path | None = None
    old: Path | None = None
    full: bool = False
    resume: bool = False
    seconds: float | None = None


def main(order: Order) -> int:
    """Everything is looked at before anything is written."""
    if not supported():
        raise BadInput("grading needs fork and Unix sockets: run it on Linux or macOS, or under WSL on Windows")
    handed = gather(order.submissions, order.students)
    exercises = chosen(order.chapter)
    old = tables.read(order.old) if order.old else None
    journal, settings = prepare(order, [x.id for x in exercises])
    isolate.undumpable()
    asked: Asked = {exercise: telling_cases(exercise, settings["seed"]) for exercise in exercises}
    with closing(Class(order, asked, journal)) as class_:
        walls = class_.open()
        if not journal.at:
            journal.create(settings)
        todo = class_.left(handed)
        with tqdm(total=len(handed), initial=len(handed) - len(todo), unit="student", disable=None) as progress:
            for line in class_.grade(todo):
                journal.add(line)
                progress.update()
    names = [submission.student for submission in handed]
    tables.write(order.out, journal.entries(names), {x.id: x.points for x in exercises})
    tally = pages.write(order.out, journal.entries(names), exercises, walls.words(), settings["seed"])
    _summary(order, tally, exercises, walls, settings["seed"])
    if old is not None:
        lines = tables.changes(old, tables.read(order.out))
        print("\n".join([f"{len(lines)} rows differ from {order.old}:", *lines]) if lines else f"As in {order.old}.")
    return 0


def chosen(chapter: str | None) -> list[Exercise]:
    """The exercises of a chapter ("04", "bahdanau", "04_bahdanau"), or of the whole course."""
    names = {entry.chapter for entry in manifest()}
    known = {name for name in names if chapter is None or chapter in (name, name[:2], name[3:])}
    if not known:
        raise BadInput(f"there is no chapter {chapter!r} with exercises; there are: {', '.join(sorted(names))}")
    return [find(entry.id) for entry in manifest() if entry.chapter in known]


def prepare(order: Order, ids: list[str]) -> tuple[Journal, dict]:
    """The journal of this run, and its settings: on a resumed run those of the first."""
    if order.out.exists() and not order.out.is_dir():
        raise BadInput(f"--out {order.out} is a file; give a folder")
    journal = Journal(order.out)
    settings = {"version": __version__, "exercises": ids, "full": order.full, "seconds": order.seconds}
    if not journal.path.exists():
        seed = secrets.randbelow(2**31) if order.seed is None else order.seed
        return journal, settings | {"seed": seed}
    if not order.resume:
        raise BadInput(f"--out {order.out} holds a run already; add --resume to go on with it, or give another folder")
    before = journal.open()
    asked = settings | ({} if order.seed is None else {"seed": order.seed})
    other = [name for name, value in asked.items() if before.get(name) != value]
    if other:
        raise BadInput(
            f"{journal.path} is of a run with another {other[0]}; resume with the same, or give another --out"
        )
    return journal, before


class Class:
    """The students' code in `workers` runners; the judge here, in the main thread."""

    def __init__(self, order: Order, asked: Asked, journal: Journal):
        self.order, self.asked, self.journal = order, asked, journal
        self.limits = Limits(seconds=order.seconds)
        self.done: queue.Queue = queue.Queue(maxsize=8)
        self.stop = threading.Event()
        self.runners: list[Runner] = []

    def _runner(self, mode: str) -> Runner:
        hidden = [self.order.submissions.resolve(), self.order.out.resolve()]
        runner = Runner(mode, self.limits, hidden, ("matplotlib.pyplot",) if self.order.full else ())
        self.runners.append(runner)
        return runner

    def _examiner(self, mode: str) -> Examiner:
        return Examiner(lambda: self._runner(mode), self.limits, self.order.full)

    def open(self) -> Walls:
        """The strongest walls that stand here, tried from inside; the first runner stays."""
        failed: list[str] = []
        for mode in MODES:
            if mode == "bubblewrap" and not shutil.which("bwrap"):
                continue
            try:
                self.first = self._examiner(mode)
                self.walls = Walls(mode, self._probe(self.first), tuple(failed))
                return self.walls
            except NoRunner as error:
                failed.append(str(error))
        raise BadInput(f"no process for students' code could be started here: {'; '.join(failed)}")

    def _probe(self, examiner: Examiner) -> dict:
        with socket.create_server(("127.0.0.1", 0)) as server:
            secret = [str(path) for path in (PACKAGE / "exercises/chapters").rglob("*.py")]
            try:
                facts = examiner.probe([*secret, str(self.journal.path)], os.getpid(), server.getsockname()[1])
                if not facts["python"]:
                    raise NoRunner(f"Python's own files in {sys.prefix} cannot be read by user {facts['user']}")
                return facts
            except (Broken, NoRunner) as error:
                examiner.close()
                raise NoRunner(str(error)) from None

    def left(self, handed: list[Submission]) -> list[Submission]:
        """Those that the journal does not know, or knows otherwise."""
        if not self.journal.at:
            return handed
        return [x for x in handed if not self.journal.has(x.student, _digest(*x.load()))]

    def grade(self, todo: list[Submission]) -> Iterator[dict]:
        """One entry of the journal a student, as they come."""
        wanted = self.order.workers or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
        number, queued, lock = max(1, min(wanted, len(todo))), iter(todo), threading.Lock()
        for worker in range(number):
            threading.Thread(target=self._work, args=(worker, queued, lock), daemon=True).start()
        while number:
            it = self.done.get()
            if isinstance(it, BaseException):
                raise it
            number -= it is None
            if it is not None:
                student, digest, refused, examined = it
                yield entry(student, digest, refused, examined, self.asked)

    def close(self) -> None:
        """Also when the grader is interrupted, nothing that it started stays."""
        self.stop.set()
        for runner in self.runners:
            runner.close()

    def _work(self, worker: int, queued: Iterator[Submission], lock: threading.Lock) -> None:
        """In a thread: only talking to processes. What they say is judged elsewhere."""
        try:
            examiner = self.first if worker == 0 else self._examiner(self.walls.mode)
            try:
                while not self.stop.is_set():
                    with lock:
                        submission = next(queued, None)
                    if submission is None:
                        break
                    contents, refused = submission.load()
                    examined = examiner.examine(contents, self.asked) if contents else Examined(nothing=True)
                    self.done.put((submission.student, _digest(contents, refused), refused, examined))
            finally:
                examiner.close()
            self.done.put(None)
        except NoRunner as error:  # one worker less; without the first there is none
            self.done.put(error if worker == 0 else None)
        except BaseException as error:
            self.done.put(error)


def _digest(contents: dict[str, bytes], refused: list[str]) -> str:
    total = hashlib.sha256()
    for name, data in contents.items():
        total.update(f"{name}\0{len(data)}\0".encode(errors="backslashreplace") + data)
    total.update("\0".join(refused).encode(errors="backslashreplace"))
    return total.hexdigest()


def _summary(order: Order, tally: pages.Tally, exercises: list[Exercise], walls: Walls, seed: int) -> None:
    total = sum(x.points for x in exercises)
    print(f"{tally.students} students, {len(exercises)} exercises, seed {seed}")
    print(f"{tally.points / tally.students:.2f} of {total} points on average")
    for (id, name), count in tally.misconceptions.most_common(3):
        print(f"  {count:4} × {name} ({id})")
    if tally.unreadable:
        print(f"not readable: {', '.join(tally.unreadable)}")
    for line in walls.words():
        print(f"isolation: {line}")
    print(f"written: {order.out}/ grades.csv, gradebook.csv, class.html, feedback/ ({NAME} lets --resume go on)")
