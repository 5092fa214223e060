"""`attncourse handout`: chapters for a class. All is made in memory and searched for leaks; only then it is written.

DIR/classroom/    a template repository: notebooks, README, requirements, a workflow that checks what is pushed
DIR/lms.zip       the notebooks and the README, for a learning platform
"""

import io
import json
import re
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadInput
from ..exercises import Exercise, find, manifest
from . import classroom
from .copies import Kind, address, leaks, student_copy

HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Order:
    """What the command line asks for."""

    chapters: str  # "01-06", "04", "01,03-05"
    out: Path
    notebooks: Path | None = None  # None: those of the checkout that this package lies in
    hints: bool = True
    outputs: bool = True
    repository: str = ""
    branch: str = "main"


def main(order: Order) -> int:
    """Write the hand-out; nothing is written where something is wrong."""
    _expect_room(order.out)
    folder = order.notebooks or _own_notebooks()
    stems = chosen(order.chapters, folder)
    kind = Kind(stems, order.hints, order.outputs, _repository(order.repository), order.branch)
    files = made(folder, kind)
    place(files, order.out)
    points = sum(entry.points for entry in manifest() if entry.chapter in stems)
    print(f"{len(stems)} chapters, {points} points, no solutions: {order.out}")
    print("  classroom/  a template repository for GitHub Classroom; its workflow runs attncourse check")
    print("  lms.zip     the same notebooks for a learning platform")
    if not kind.repository:
        print("There are no links to Colab: --repository https://github.com/OWNER/NAME says where classroom/ will lie.")
    return 0


def _expect_room(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise BadInput(f"--out {out} is a file; give a folder that does not exist yet, or an empty one")
    if out.is_dir() and any(out.iterdir()):
        raise BadInput(f"--out {out} is not empty; give a folder that does not exist yet, or an empty one")


def _own_notebooks() -> Path:
    folder = HOME / "notebooks"
    if not folder.is_dir():
        raise BadInput(
            "the installed package holds no notebooks; clone the course and run the command there, "
            "or name its folder: --notebooks DIR"
        )
    return folder


def _repository(url: str) -> str:
    url = url.strip().removesuffix("/").removesuffix(".git")
    if url and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", url):
        raise BadInput(f"--repository {url} is no address that Colab opens; expected https://github.com/OWNER/NAME")
    return url


def chosen(chapters: str, folder: Path) -> tuple[str, ...]:
    """ "01-03,05" -> the names of these notebooks, in order."""
    if not folder.is_dir():
        raise BadInput(f"--notebooks {folder} is not a folder; expected the course's notebooks/")
    there = {path.stem[:2]: path.stem for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))}
    if not there:
        raise BadInput(f"{folder} holds no chapters; expected notebooks such as 04_bahdanau.ipynb")
    numbers = set()
    for part in chapters.split(","):
        ends = re.fullmatch(r"\s*(\d{1,2})(?:\s*-\s*(\d{1,2}))?\s*", part)
        if not ends or int(ends[2] or ends[1]) < int(ends[1]):
            raise BadInput(f"--chapters {chapters} is not understood; expected numbers such as 04, 01-06 or 01,03-05")
        numbers |= {f"{n:02}" for n in range(int(ends[1]), int(ends[2] or ends[1]) + 1)}
    if missing := sorted(numbers - there.keys()):
        raise BadInput(f"--chapters {chapters}: {folder} has no chapter {missing[0]}; it has {', '.join(there)}")
    return tuple(there[number] for number in sorted(numbers))


def made(folder: Path, kind: Kind) -> dict[str, bytes]:
    """path -> content, of the whole hand-out."""
    copies, files = {}, {}
    exercises = [find(entry.id) for entry in manifest()]
    for stem in kind.stems:
        notebook = _read(folder / f"{stem}.ipynb")
        course = address(notebook, stem).partition("/blob/")[0]
        copies[stem] = student_copy(notebook, stem, kind)
        _refuse_leaks(copies[stem], stem, exercises, kind)
        files[f"notebooks/{stem}.ipynb"] = (json.dumps(copies[stem], indent=1, ensure_ascii=False) + "\n").encode()
    posed = [entry for entry in manifest() if entry.chapter in kind.stems]
    titles = {stem: "".join(copies[stem]["cells"][0]["source"]).splitlines()[0].lstrip("# ") for stem in kind.stems}
    files["README.md"] = classroom.readme(titles, posed, kind, course).encode()
    classroom_only = {"requirements.txt": classroom.requirements(course).encode()}
    if posed:
        classroom_only[".github/workflows/classroom.yml"] = classroom.workflow(posed).encode()
    whole = {f"classroom/{name}": content for name, content in (files | classroom_only).items()}
    return whole | {"lms.zip": _zip(files)}


def _read(path: Path) -> dict:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        good = all({"cell_type", "source", "metadata"} <= cell.keys() for cell in notebook["cells"])
        good = good and isinstance(notebook["metadata"], dict)
    except (ValueError, KeyError, TypeError, AttributeError):
        good = False
    if not good:
        raise BadInput(f"{path} is not a notebook; expected JSON with cells and metadata (nbformat 4)")
    return notebook


def _refuse_leaks(notebook: dict, stem: str, exercises: list[Exercise], kind: Kind) -> None:
    hints = "\n".join(hint for exercise in exercises for hint in exercise.hints)
    if found := leaks(notebook, exercises, hints if kind.hints else ""):
        raise BadInput(f"{stem}.ipynb: an output or widget shows a line of a solution ({found[0]}); execute it afresh")


def _zip(files: dict[str, bytes]) -> bytes:
    """The same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def place(files: dict[str, bytes], out: Path) -> None:
    """Beside the target first, then moved there at once."""
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        for name, content in files.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(content)
        work.chmod(0o755)  # mkdtemp's folder is for its owner only
        if out.is_dir():
            out.rmdir()
        work.rename(out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
