"""What does a page rest on, and has any of it changed since its notebook was executed?

A page rests on its text, on the modules that its code imports (followed through their imports), and on the models,
exercises, quizzes, explorables and data files that it *used* when it was last executed: `attncourse.running.record`
noted their names. A notebook keeps the digest of each of these files; here they are compared with the files of today.
"""

import ast
import hashlib
import importlib
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import attncourse
from attncourse import course
from attncourse.widgets import EXPORTS as WIDGETS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "attncourse"
DRAWN = PACKAGE / "diagrams/diagram.css"  # the look of every drawing
TOOLS = [ROOT / "book/make_notebooks.py"]  # what turns a text into a notebook changes every notebook
SHOWN = PACKAGE / "exercises/chapters"  # cards show the source of these: here a comment counts, too
ROOTS = {"attncourse": attncourse.EXPORTS, "attncourse.widgets": WIDGETS}  # packages whose names are looked up lazily
TABLE = "EXPORTS"  # of names: a new one changes no page, and the file behind a name that a page uses counts by itself

Used = dict[str, list[str]]  # kind -> names


def inputs(text: Path, code: str, used: Used) -> dict[str, str]:
    """Every file that a page rests on -> its digest.    text: of the page; code: of its cells, as Python"""
    start = {PACKAGE / "__init__.py", *imported(code, None), *(path for file in _used(used) for path in file)}
    found, todo = {text, *TOOLS}, list(start)
    while todo:
        path = todo.pop()
        if path not in found and path.is_file():
            found.add(path)
            if path.suffix == ".py":
                todo += imported(path.read_text(encoding="utf-8"), path)
    return {path.relative_to(ROOT).as_posix(): digest(path) for path in sorted(found)}


def changed(recorded: dict[str, str]) -> list[str]:
    """The files whose digest is no longer the recorded one."""
    return [name for name, value in recorded.items() if not (ROOT / name).is_file() or digest(ROOT / name) != value]


@cache
def digest(path: Path) -> str:
    """Of a module, its program: comments, line breaks and tables of names change no result."""
    data = path.read_bytes()
    if path.suffix == ".py" and SHOWN not in path.parents:
        tree = ast.parse(data)
        tree.body = [node for node in tree.body if not (isinstance(node, ast.Assign) and _named(node, TABLE))]
        data = ast.dump(tree).encode()
    return hashlib.sha256(data).hexdigest()[:12]


def _named(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _used(used: Used) -> Iterable[list[Path]]:
    for kind, names in used.items():
        for name in names:
            yield {
                "model": _model,
                "exercise": lambda id: [course.exercise_file(id), *(PACKAGE / "exercises/engine").glob("*")],
                "quiz": lambda name: [PACKAGE / f"quizzes/{name}.py"],
                "widget": _widget,
                "data": lambda name: [PACKAGE / f"tasks/data/{name}"],
                "drawing": lambda name: [course.diagram_file(name), DRAWN],
                "walkthrough": lambda name: [PACKAGE / f"walkthroughs/{name}.py", DRAWN],
            }[kind](name)


def _model(name: str) -> list[Path]:
    card = PACKAGE / f"zoo/weights/{name}.json"
    recipe = json.loads(card.read_text(encoding="utf-8"))["recipe"] if card.exists() else ""
    return [card, card.with_suffix(".safetensors"), PACKAGE / f"zoo/{recipe}.py"]


def _widget(name: str) -> list[Path]:
    if name not in WIDGETS:  # of no use by itself: the text of a container, say
        return []
    folder = course.widget_folder(name)
    bundles = PACKAGE / "widgets/bundles"
    return [folder / "widget.py", bundles / f"{folder.name}.mjs", bundles / f"{folder.name}.css"]


def python(cells: Iterable[str]) -> str:
    """The code of notebook cells without magics."""
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", "\n".join(cells), flags=re.M)


def imported(code: str, importer: Path | None) -> list[Path]:
    """The package's files that this code imports; importer None: a notebook, outside of the package."""
    files: list[Path] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            files += [file for alias in node.names for file in _module(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, importer)
            if base.split(".")[0] == "attncourse":
                files += [*_module(base), *(file for alias in node.names for file in _inside(base, alias.name))]
    return files


def _absolute(node: ast.ImportFrom, importer: Path | None) -> str:
    if not node.level or importer is None:
        return node.module or ""
    folder = importer.parent
    for _ in range(node.level - 1):
        folder = folder.parent
    return ".".join([*folder.relative_to(ROOT).parts, *([node.module] if node.module else [])])


def _inside(base: str, name: str) -> list[Path]:
    """What `from base import name` loads: a module, or the module behind a name that is looked up on first use."""
    where = ROOTS.get(base, {}).get(name)
    return _module(f"{base}.{where.partition(':')[0] if where else name}")


def _module(dotted: str) -> list[Path]:
    """The file of a module, and the `__init__` of each package around it."""
    parts, files = dotted.split("."), []
    if parts[0] != "attncourse":
        return []
    for n in range(1, len(parts) + 1):
        path = ROOT.joinpath(*parts[:n])
        files += [p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()]
    return files


def check_records(used: Used, page: course.Page) -> list[str]:
    """What a notebook used and course.toml does not give its page."""
    given = {
        "model": page.models,
        "widget": (*page.widgets, "Quiz", "predict"),
        "drawing": page.diagrams,
        "exercise": getattr(page, "exercises", ()),
        "quiz": (getattr(page, "quiz", ""),),
    }
    return [
        f"it uses the {kind} {name}, which course.toml does not name there"
        for kind, names in used.items()
        for name in names
        if kind in given and name not in given[kind]
    ]


def _reload() -> None:
    """For tests that change files: forget what was read."""
    digest.cache_clear()
    course.read.cache_clear()
    importlib.invalidate_caches()
