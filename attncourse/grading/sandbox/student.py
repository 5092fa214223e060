"""The student's side: parse what was handed in, run its statements, call its answers, send plain data home.

From the first statement on, everything in this process is in the student's hands. That is why nothing here knows a
solution, and why the grader treats every reply as an answer to be checked and as nothing else.
"""

import os
import random
import socket
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from ...errors import BadInput
from ...exercises.engine.attempt import look
from ...exercises.engine.core import Case
from ...exercises.engine.notebook import Source, Step, needed, parse
from ...exercises.engine.run import run
from ...exercises.engine.session import Session
from ..protocol.wire import Broken, Channel


def serve(end: socket.socket) -> None:
    """Answer one request after another, until the grader hangs up."""
    channel, desk = Channel(end), Desk()
    try:
        while True:
            request = channel.receive()
            number, do = request.pop("number"), getattr(desk, f"do_{request.pop('do')}")
            try:
                reply = do(**request)
            except Exception as error:
                reply = {"fault": f"{type(error).__name__}: {error}"[:300]}
            channel.send({**reply, "number": number})
    except Broken:
        return


class Desk:
    """One student's files, at work."""

    def __init__(self):
        self.steps: list[tuple[Session, Step]] = []
        self.by_id: dict[str, Session] = {}
        self.broken: dict[str, SyntaxError] = {}

    def do_probe(self, files: tuple[str, ...], process: int, port: int) -> dict:
        """What the walls keep out, tried from inside, before any student is let in."""
        if not all(os.access(str(module.__file__), os.R_OK) for module in (os, torch)):
            return {"user": os.geteuid(), "python": False}
        return {
            "user": os.geteuid(),
            "python": True,
            "readable": [file for file in files if os.access(file, os.R_OK)],
            "sees_grader": process > 0 and _signals(process),
            "network": _connects(port),
        }

    def do_open(self, names: tuple, files: tuple, ids: tuple, full: bool, seconds: float) -> dict:
        """Parse the files in order; the last file that answers an id counts. -> what there is to run"""
        sources, bad = [], []
        for name, data in zip(names, files, strict=True):
            try:
                sources.append(parse(name, data))
            except BadInput as error:
                bad.append(str(error))
        found = list(dict.fromkeys(id for source in sources for id in source.ids))
        taken: set[str] = set()
        for source in reversed(sources):
            mine = [id for id in source.ids if id in ids and id not in taken]
            taken |= set(mine)
            self._take(source, mine, full, seconds)
        return {"steps": len(self.steps), "ids": found[:200], "bad": bad[:20]}

    def _take(self, source: Source, ids: list[str], full: bool, seconds: float) -> None:
        session = Session(source, seconds)
        self.by_id |= dict.fromkeys(ids, session)
        self.broken |= {id: source.broken[id] for id in ids if id in source.broken}
        steps = source.steps if full else needed(source.steps, ids)
        self.steps = [(session, step) for step in steps] + self.steps

    def do_step(self, at: int, without: str) -> dict:
        """Execute a statement; `without`: why it must not be, this time."""
        session, step = self.steps[at]
        if without:
            session.fail(step, without)
        else:
            session.do(step)
        return {}

    def do_look(self, id: str, stub: str, parameters: tuple[str, ...]) -> dict:
        """The answer before it is called."""
        session = self.by_id[id]
        if id in self.broken:
            error = self.broken[id]
            return {"broken": (error.lineno, (error.text or "")[:200], error.msg)}
        if id in session.failed or id not in session.answers:
            return {"failed": session.failed.get(id, "no function was handed in by it")}
        seen = look(session.answers[id], stub, parameters)
        return {"look": asdict(seen), "earlier": next(iter(session.failed.values()), "")}

    def do_call(self, id: str, inputs: dict, gradients: tuple[str, ...], seconds: float) -> dict:
        """The answer on one case."""
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 -- whatever an answer draws, it draws the same each time
        with torch.device("cpu"):
            result = run(self.by_id[id].answers[id], Case("", inputs, gradients), seconds)
        fields = {name: getattr(result, name) for name in ("value", "after", "gradients", "printed")}
        return {**fields, "timed_out": bool(result.timed_out), "problem": _dict(result.problem)}


def _dict(problem: Any) -> dict | None:
    return asdict(problem) if problem else None


def _signals(process: int) -> bool:
    try:
        os.kill(process, 0)
        return True
    except OSError:
        return False


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False
