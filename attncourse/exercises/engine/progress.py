"""What has been solved on this machine: a small JSON file. Nothing here may ever stop a learner.

Where: $ATTNCOURSE_PROGRESS, or progress.json in the user's data folder. Nothing leaves the machine.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: two kernels that write in the same instant are not kept apart there
    fcntl = None  # type: ignore[assignment]

WAIT = 2.0  # seconds for another kernel to finish writing


def path() -> Path:
    if os.environ.get("ATTNCOURSE_PROGRESS"):
        return Path(os.environ["ATTNCOURSE_PROGRESS"]).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", "~")).expanduser()
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return base / "attncourse" / "progress.json"


def read() -> dict[str, dict]:
    """Exercise id -> {"solved": when or None, "attempts": number, "last": outcome}. A damaged file is set aside."""
    file = path()
    try:
        return _parse(file.read_bytes())
    except OSError:
        return {}
    except ValueError:
        try:
            os.replace(file, file.with_name(file.name + ".damaged"))
        except OSError:
            pass
        return {}


def _parse(data: bytes) -> dict[str, dict]:
    entries = json.loads(data)
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        raise ValueError("not a progress file")
    return entries


def record(id: str, outcome: str, solved: bool) -> dict:
    """Add one attempt; what was solved once stays solved. Returns the entry, written or not."""
    try:
        path().parent.mkdir(parents=True, exist_ok=True)
        with _lock():
            entries = read()  # inside the lock: another kernel may have written since
            entry = entries[id] = _next(entries.get(id, {}), outcome, solved)
            _write(entries)
            return entry
    except OSError:
        return _next({}, outcome, solved)


def _next(before: dict, outcome: str, solved: bool) -> dict:
    attempts = before.get("attempts", 0)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "solved": before.get("solved") or (now if solved else None),
        "attempts": (attempts if isinstance(attempts, int) else 0) + 1,
        "last": outcome,
    }


def _write(entries: dict) -> None:
    temporary = path().with_name(f"{path().name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, path())
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _lock() -> Iterator[None]:
    """One writer at a time; after a while without the lock rather than not at all."""
    if fcntl is None:
        yield
        return
    with open(path().with_name(path().name + ".lock"), "w") as file:
        until = time.monotonic() + WAIT
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    break
                time.sleep(0.01)
        yield
