"""Inside the walls: a process that has imported torch once, and forks once a student.

It takes orders from the grader over one socket (a student's end of a conversation comes with the order), never
looks at what a student says, and makes sure that nothing of a student is left when the conversation is over.
"""

import contextlib
import importlib
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import time

import torch

from ...exercises.engine.run import wake_autograd
from . import isolate, student

GONE = b"g"  # the grader's word for: the student has hung up
WARM = (  # what answers import, besides the course itself
    "torch.nn.functional",
    "numpy",
    "IPython.core.inputtransformer2",
    "attncourse.exercises.engine.notebook",
    "attncourse.mechanisms.seq2seq",
    "attncourse.mechanisms.transformer",
    "attncourse.running.decoding",
)


def main(plan: dict) -> None:
    """Say that all is ready, then one student after another, until the grader has gone."""
    control = socket.socket(fileno=plan["control"])
    torch.set_num_threads(1)
    isolate.undumpable()
    for name in [*WARM, *plan["warm"]]:
        with contextlib.suppress(Exception):  # what is missing here is missing in the answers that want it, too
            importlib.import_module(name)
    wake_autograd()
    _say(control, {"ready": plan["mode"]})
    while True:
        order, ends, _, _ = socket.recv_fds(control, 1, 1)
        if not order:
            return
        _say(control, {"ended": _student(plan, control, *ends)})


def _say(control: socket.socket, message: dict) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


def _student(plan: dict, control: socket.socket, end: int) -> str:
    """Fork; when the grader says that it is over, leave nothing. -> how the student's process ended, if by itself."""
    folder = isolate.DESK if plan["mode"] != "user" else _folder(plan)
    plan = plan | {"held": isolate.held()}
    ended, report = os.pipe()
    child = os.fork()
    if not child:
        control.close()
        os.close(ended)
        _lead(plan, folder, end, report)
    os.close(end)
    os.close(report)
    word = control.recv(1)  # GONE: the student's end was closed. Empty: the grader itself has gone
    how = os.read(ended, 500) if word == GONE and select.select([ended], [], [], 5.0)[0] else b""
    os.kill(child, signal.SIGKILL)
    if plan["mode"] == "user":
        _clear(plan, child, folder)
    os.waitpid(child, 0)
    with contextlib.suppress(ChildProcessError):  # orphans of this namespace come here: some of the student before
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    os.close(ended)
    if not word:
        os._exit(0)
    return how.decode(errors="replace")


def _folder(plan: dict) -> str:
    folder = tempfile.mkdtemp(prefix="attncourse-student-")
    if plan["uid"]:
        os.chown(folder, plan["uid"], plan["uid"])
    return folder


def _clear(plan: dict, child: int, folder: str) -> None:
    """Where no namespace ends with its first process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if plan["uid"]:
        isolate.sweep(plan["uid"])
    shutil.rmtree(folder, ignore_errors=True)


def _lead(plan: dict, folder: str, end: int, report: int) -> None:
    """The student's process, and the one that waits for it. Never returns."""
    try:
        os.setsid()
        if plan["mode"] != "user":
            isolate.call("unshare", isolate.NEWPID | isolate.NEWNS | isolate.NEWIPC)
            first = os.fork()  # the first process of the new namespace: all others end with it
            if first:
                os.close(end)
                os.close(report)
                os.waitpid(first, 0)
                os._exit(0)
            isolate.cell(plan)
        child = os.fork()
        if not child:
            _serve(plan, folder, end)
        os.close(end)
        os.write(report, _attend(plan, child).encode())
    except BaseException as error:
        os.write(report, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(0)


def _attend(plan: dict, child: int) -> str:
    """Wait for the student's process and its orphans; -> how it ended. What they hold together has a limit, too."""
    most, base = plan["limits"]["memory"], plan["held"][1]
    while True:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done == child:
            code = os.waitstatus_to_exitcode(status)
            return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        if not done and plan["mode"] != "user" and isolate.together(base) > most:
            return f"its processes together took more than {most >> 20} MB"
        if not done:
            time.sleep(0.05)


def _serve(plan: dict, folder: str, end: int) -> None:
    try:
        student.serve(isolate.confine(plan, folder, end))
    finally:
        os._exit(0)
