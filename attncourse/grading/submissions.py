"""Who handed in what: a folder or a zip of notebooks and scripts, read without believing any of its names.

`alice.ipynb` and everything in `alice/` belong to the student alice; a table (file, student) says otherwise where
names are others. A folder that a zip wraps around everything does not count as a student.
"""

import csv
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from ..errors import BadInput

SUFFIXES = (".ipynb", ".py")
LITTER = ("__MACOSX", "__pycache__")
FILE, STUDENT = 16 << 20, 48 << 20  # bytes that are read, of a file and of a student


class Refused(Exception):
    """Why a file is not read: half a sentence."""


@dataclass
class File:
    name: str  # its path inside the folder or zip
    read: Callable[[], bytes]


@dataclass
class Submission:
    student: str
    files: list[File] = field(default_factory=list)

    def load(self) -> tuple[dict[str, bytes], list[str]]:
        """The contents by name, and what was not read and why."""
        contents, refused, size = {}, [], 0
        for file in self.files:
            try:
                data = file.read()
                size += len(data)
                if size > STUDENT:
                    raise Refused(f"with it, this student's files have more than {STUDENT >> 20} MB")
                contents[file.name] = data
            except Refused as why:
                refused.append(f"{file.name} was not read: {why}")
        return contents, refused


def gather(path: Path, table: Path | None = None) -> list[Submission]:
    """All submissions, by student."""
    if path.is_dir():
        found = list(_in_folder(path))
    elif path.is_file():
        found = list(_in_zip(path))
    else:
        raise BadInput(f"{path} is not there; give a folder or a .zip with one .ipynb or .py (or folder) a student")
    names = _read_table(table, [file.name for file in found]) if table else {}
    students: dict[str, Submission] = {}
    for file in found:
        who = _mapped(file.name, names) or _student(file.name)
        entry = students.setdefault(who, Submission(who))
        if PurePosixPath(file.name).suffix.lower() in SUFFIXES:
            entry.files.append(file)
    for who in names.get("", []):
        students.setdefault(who, Submission(who))
    if not any(submission.files for submission in students.values()):
        raise BadInput(
            f"{path} holds no submission; expected .ipynb or .py files, or a folder of them for each student"
        )
    for submission in students.values():
        submission.files.sort(key=lambda file: file.name)
    return [students[who] for who in sorted(students)]


def printable(name: str) -> str:
    """A name that can stand in a table: what cannot be printed is spelt out."""
    text = name.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)[:150] or "(no name)"


def _student(name: str) -> str:
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    first = parts[0] if parts else name
    return printable(first if len(parts) > 1 or name.endswith("/") else PurePosixPath(first).stem)


def _is_litter(parts: tuple[str, ...]) -> bool:
    return any(part in LITTER or (part.startswith(".") and part not in (".", "..")) for part in parts)


# --- a folder -----------------------------------------------------------------------------------------------


def _in_folder(root: Path) -> Iterator[File]:
    """Files and folders, links not followed. A student's folder without a notebook is there, too: as "name/"."""
    for folder, inner, files in os.walk(root, onerror=_unreadable):
        inside = Path(folder).relative_to(root)
        inner[:] = sorted(x for x in inner if not _is_litter((x,)))
        for name in inner:
            link = Path(folder, name).is_symlink()
            if inside == Path(".") and not link:
                yield File(f"{name}/", partial(_refuse, "it is a folder"))
            elif link:  # as if it were a notebook: its owner is to hear of it
                yield File(f"{(inside / name).as_posix()}.ipynb", partial(_refuse, "it is a symbolic link"))
        for name in sorted(files):
            relative = (inside / name).as_posix()
            if not _is_litter((name,)) and relative.lower().endswith(SUFFIXES):
                yield File(relative, partial(_read_file, Path(folder, name)))


def _unreadable(error: OSError) -> None:
    raise BadInput(f"{error.filename} cannot be read: {error.strerror}")


def _refuse(why: str) -> bytes:
    raise Refused(why)


def _read_file(path: Path) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise Refused("it is a symbolic link" if path.is_symlink() else str(error.strerror)) from None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused("it is not an ordinary file")
        return _bounded(file.read(FILE + 1))


def _bounded(data: bytes) -> bytes:
    if len(data) > FILE:
        raise Refused(f"it has more than {FILE >> 20} MB; clear its outputs")
    return data


# --- a zip --------------------------------------------------------------------------------------------------


def _in_zip(path: Path) -> Iterator[File]:
    """Nothing is unpacked: members are read one by one, so that no path can lead out of anywhere."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {_slashes(info.filename): info for info in archive.infolist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadInput(f"{path} is neither a folder nor a .zip that can be read ({error})") from None
    kept = {name: info for name, info in members.items() if not _is_litter(tuple(name.split("/")))}
    safe = {name: why for name, info in kept.items() if not (why := _suspicion(name, info))}
    top = next(iter(safe), "").split("/")[0]
    wrapped = all(name.startswith(f"{top}/") for name in safe)
    for name, info in sorted(kept.items()):
        inner = name.partition("/")[2] if wrapped and name.startswith(f"{top}/") and ".." not in name else name
        if not inner or not (inner.lower().endswith(SUFFIXES) or (inner.count("/") == 1 and inner.endswith("/"))):
            continue
        why = _suspicion(name, info)
        yield File(inner, partial(_refuse, why) if why else partial(_read_member, path, info.filename))


def _slashes(name: str) -> str:
    return name.replace("\\", "/")


def _suspicion(name: str, info: zipfile.ZipInfo) -> str:
    """Why a member is not read; nothing for an ordinary one."""
    if name.startswith("/") or ".." in name.split("/") or ":" in name.split("/")[0]:
        return "its path leads out of the folder"
    kind = stat.S_IFMT(info.external_attr >> 16)
    return "" if kind in (0, stat.S_IFREG, stat.S_IFDIR) else "it is a symbolic link"


def _read_member(path: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return _bounded(file.read(FILE + 1))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError, EOFError, KeyError) as error:
        raise Refused(f"it cannot be unpacked ({error})") from None


# --- the table of students ----------------------------------------------------------------------------------


def _read_table(path: Path, files: list[str]) -> dict[str, list[str]]:
    """file -> [student]; under "" the students who handed in nothing."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path} cannot be read as a table of students ({error})") from None
    names: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 2):
        if "file" not in row or not (row.get("student") or "").strip():
            raise BadInput(f"{path}, line {number}: expected the columns file and student, with a student in each line")
        named = _slashes((row["file"] or "").strip()).strip("/")
        if named and not any(name.strip("/") == named or name.startswith(f"{named}/") for name in files):
            raise BadInput(f"{path}, line {number}: there is no {named} among the submissions")
        names.setdefault(named, []).append(printable(row["student"].strip()))
    if not rows:
        raise BadInput(f"{path} is empty; expected the columns file and student, and a line for each file")
    return names


def _mapped(name: str, names: dict[str, list[str]]) -> str:
    """The table's student for a file, or for the innermost folder around it that the table names."""
    path = PurePosixPath(name.strip("/"))
    for known in (path, *path.parents):
        if str(known) in names:
            return names[str(known)][-1]
    return ""
