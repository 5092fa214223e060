"""Which part of this machine a student's code may see: Python, its libraries, and the course without its solutions.

The plan is made here, as plain data; isolate.py or bubblewrap carries it out.
"""

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from .isolate import DESK, NOBODY

PACKAGE = Path(__file__).resolve().parents[2]
COURSE = "/course"  # where the student's process finds the package
SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/localtime")
ENGINE = ("__init__.py", "engine/*", "fixtures/*.py")  # of exercises/: nothing that holds a solution
USERS = range(65520, 65534)  # systemd's table of user ids calls these unused


@dataclass(frozen=True)
class Limits:
    """For one student, except `seconds`: of work for one statement or case, None for the exercise's own."""

    seconds: float | None = None
    cpu: int = 240  # seconds of work in all
    memory: int = 2 << 30  # bytes of address space beyond the libraries'
    processes: int = 24
    file: int = 16 << 20
    disk: int = 64 << 20


def build(folder: Path) -> None:
    """The package without its solutions: copies of the engine, links to the rest."""
    for name in ("engine", "fixtures"):
        (folder / "attncourse/exercises" / name).mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name not in ("exercises", "__pycache__"):
            (folder / "attncourse" / path.name).symlink_to(path)
    for pattern in ENGINE:
        for path in filter(Path.is_file, (PACKAGE / "exercises").glob(pattern)):
            shutil.copy(path, folder / "attncourse/exercises" / path.relative_to(PACKAGE / "exercises"))
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def plan(mode: str, work: Path, uid: int | None, limits: Limits, hidden: Iterable[Path]) -> dict:
    """Everything that isolate.py needs to know. `work` holds the course's view, `uid` is the user to become (None: no
    other than now), `hidden` must not be seen."""
    inside = mode != "user"
    path = [COURSE if inside else str(work / "course"), *_libraries()]
    return {
        "mode": mode,
        "root": str(work / "root"),
        "mounts": _mounts(work / "course", [*hidden, PACKAGE.parent]) if inside else [],
        "path": path,
        "uid": uid if mode != "bubblewrap" else None,  # inside bubblewrap there is only one user
        "owner": uid or NOBODY if mode != "bubblewrap" else 0,  # of the student's folder
        "launch_as": uid if mode == "bubblewrap" else None,
        "limits": asdict(limits),
    }


def _libraries() -> list[str]:
    """Python's own folders and those of installed packages; no folder of somebody's project."""
    known = {os.path.realpath(x) for x in [*sysconfig.get_paths().values(), *site.getsitepackages()]}
    known |= {os.path.realpath(site.getusersitepackages())} if site.ENABLE_USER_SITE else set()
    own = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep
    return [x for x in sys.path if x and (os.path.realpath(x) in known or os.path.realpath(x).startswith(own))]


def _mounts(course: Path, hidden: Iterable[Path]) -> list[tuple[str, str, str]]:
    """(what, source, target), the outer ones first."""
    shown = {sys.prefix, sys.base_prefix, *_libraries(), *_mapped_folders(), *SYSTEM}
    wanted = [("link" if os.path.islink(x) and x in SYSTEM else "bind", x) for x in shown if os.path.exists(x)]
    hide = {str(x) for x in hidden if not _is_library(x)} | {str(PACKAGE)}
    hide |= {os.path.join(x, "attncourse") for x in _libraries()}
    wanted += [("hide", x) for x in hide | set(map(os.path.realpath, hide))]
    mounts: list[tuple[str, str, str]] = []
    for kind, path in sorted(wanted, key=lambda pair: (pair[1].count(os.sep), pair[1])):
        around = [m for m in mounts if path == m[2] or path.startswith(m[2] + os.sep)]
        covered = bool(around) and around[-1][0] != "hide"
        if kind == "hide" and covered and os.path.isdir(path):
            mounts.append((kind, "", path))
        elif kind == "link" and not covered:
            mounts.append((kind, os.readlink(path), path))
        elif kind == "bind" and not covered:
            mounts.append((kind, os.path.realpath(path), path))
    engine = "attncourse/exercises"
    return [
        *mounts,
        ("bind", str(PACKAGE), f"{COURSE}/attncourse"),
        ("bind", str(course / engine), f"{COURSE}/{engine}"),
    ]


def _is_library(path: Path) -> bool:
    return os.path.realpath(path) in {os.path.realpath(x) for x in _libraries()}


def _mapped_folders() -> set[str]:
    """Folders of shared libraries that this process has loaded, wherever they lie."""
    try:
        with open("/proc/self/maps") as file:
            files = {line.split(maxsplit=5)[5].strip() for line in file if ".so" in line and "/" in line}
    except OSError:
        return set()
    return {os.path.dirname(x) for x in files}


def command(plan: dict) -> list[str]:
    """What starts the runner. `plan` as JSON goes behind it."""
    script = PACKAGE / "grading/sandbox/isolate.py"
    if plan["mode"] != "bubblewrap":
        return [sys.executable, "-s", str(script)]
    arguments = ["bwrap", "--unshare-user", "--unshare-all", "--die-with-parent", "--uid", "0", "--gid", "0"]
    arguments += ["--cap-add", "ALL"]  # in its own user namespace: the cells of the students are built with it
    for kind, source, target in plan["mounts"]:
        arguments += {
            "bind": ["--ro-bind", source, target],
            "link": ["--symlink", source, target],
            "hide": ["--tmpfs", target],
        }[kind]
    if not any(target.startswith("/tmp/") for _, _, target in plan["mounts"]):
        arguments += ["--symlink", DESK, "/tmp"]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", DESK, "--chdir", "/"]
    return [*arguments, sys.executable, "-s", f"{COURSE}/attncourse/grading/sandbox/isolate.py"]
