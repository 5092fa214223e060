"""Start a runner behind its walls, and give it orders."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ..protocol.wire import Broken, Channel, Late, text
from . import view
from .isolate import DESK

try:
    import fcntl
except ImportError:  # Windows, where `supported` says no
    fcntl = None  # type: ignore[assignment]

START = 240.0  # seconds for a runner to import torch, on a busy machine
MODES = ("bubblewrap", "namespaces", "user")  # the strongest first


class NoRunner(Exception):
    """A runner did not start, and what it said."""


class Runner:
    """A warm process behind walls (isolate.py), and the socket that it takes orders from."""

    def __init__(self, mode: str, limits: view.Limits, hidden: Sequence[Path], warm: Sequence[str] = ()):
        uid, self.lock = _claim_user()
        self.folder = Path(tempfile.mkdtemp(prefix="attncourse-grade-"))
        self.folder.chmod(0o755)  # its name is no secret, and the unprivileged user has to come through
        (self.folder / "root").mkdir()
        view.build(self.folder / "course")
        self.control, theirs = socket.socketpair()
        plan = view.plan(mode, self.folder, uid, limits, hidden)
        order = [*view.command(plan), json.dumps(plan | {"control": theirs.fileno(), "warm": list(warm)})]
        log = open(self.folder / "log", "w+b")
        quiet: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": log,
            "start_new_session": True,
        }
        own: dict[str, Any] = (
            {"user": plan["launch_as"], "group": plan["launch_as"], "extra_groups": []} if plan["launch_as"] else {}
        )
        environment = _environment("/tmp" if mode == "user" else DESK)
        try:
            with log, theirs:  # closed before listening: else nobody would notice that the runner has ended
                fds = [theirs.fileno()]
                self.process = subprocess.Popen(order, env=environment, pass_fds=fds, cwd="/", **quiet, **own)
            self._listen(START)
        except (OSError, Broken, subprocess.SubprocessError) as error:
            words = (self.folder / "log").read_text(errors="replace").strip().splitlines()
            self.close()
            raise NoRunner(f"{mode}: {words[-1] if words else error}") from None

    def _listen(self, seconds: float) -> dict:
        """One line from the runner."""
        self.control.settimeout(seconds)
        line = b""
        try:
            while not line.endswith(b"\n"):
                piece = self.control.recv(1000)
                if not piece:
                    raise Broken("the runner has ended")
                line += piece
        except TimeoutError:
            raise Late("the runner does not answer") from None
        return json.loads(line)

    def admit(self) -> Channel:
        """A new student's process; -> our end of the conversation."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [b"s"], [theirs.fileno()])
        return Channel(ours)

    def dismiss(self, channel: Channel, gone: bool) -> str:
        """Nothing of the student is left afterwards. -> how its process ended, if it did (`gone`)."""
        if not gone:
            channel.close()
        self.control.sendall(b"g" if gone else b"s")
        how = self._listen(60.0)["ended"]
        channel.close()
        return text(how, 200)

    def close(self) -> None:
        self.control.close()  # the runner ends when its grader has gone
        process = getattr(self, "process", None)
        if process:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.lock:
            self.lock.close()


def _claim_user() -> tuple[int | None, IO | None]:
    """As root, an unprivileged user that no other runner on this machine has: two would end each other's processes."""
    if os.geteuid() != 0:
        return None, None
    for uid in view.USERS:
        lock = open(f"/run/attncourse-{uid}.lock" if os.path.isdir("/run") else f"/tmp/attncourse-{uid}.lock", "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return uid, lock
        except OSError:
            lock.close()
    raise NoRunner(f"the users {view.USERS[0]} to {view.USERS[-1]} are all taken: at most {len(view.USERS)} workers")


def _environment(home: str) -> dict[str, str]:
    fixed = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | fixed | {"MPLBACKEND": "Agg", "LANG": "C.UTF-8", "HOME": home, "MPLCONFIGDIR": home}


def supported() -> bool:
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "win32"
