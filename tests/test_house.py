"""The house: which module may import which, what an import costs, and that old names still lead somewhere."""

import ast
import subprocess
import sys

import pytest
from places import ROOT

import attncourse

PACKAGE = ROOT / "attncourse"
# Each may import those before it in the list (and itself); a name that is missing here is a new room without a place.
ROOMS = [
    {"errors"},
    {"course"},
    {"core"},
    {"markup", "running"},
    {"mechanisms"},
    {"tasks"},
    {"zoo", "bench", "quizzes", "family"},
    {"diagrams"},
    {"widgets"},
    {"exercises"},
    {"grading", "teaching", "page"},
    {"cli"},
    {"__main__"},
]
ALLOWED = {("course", "widgets"), ("course", "diagrams")}  # asks which file holds what: tables without any code


def imports(path):
    """(line, what) for every import of the package's own modules, those inside functions too."""
    here = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level]
            names = [".".join((*base, *(node.module or "").split("."), alias.name)) for alias in node.names]
            yield from ((node.lineno, name.replace("..", ".")) for name in names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attncourse"):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("attncourse."))


def room(dotted):
    parts = dotted.split(".")[1:]
    return parts[0] if parts else ""


def floor(name):
    return next(i for i, names in enumerate(ROOMS) if name in names)


def test_imports_go_one_way():
    upwards = []
    for path in sorted(PACKAGE.rglob("*.py")):
        mine = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if mine == "__init__":
            continue
        for line, target in imports(path):
            other = room(target)
            if other in ("__version__", "EXPORTS", "") or (mine, other) in ALLOWED:
                continue
            if floor(other) > floor(mine) or (floor(other) == floor(mine) and other != mine):
                upwards.append(f"{path.relative_to(ROOT)}:{line} imports {target}")
    assert upwards == []


def test_mechanisms_know_no_task_and_no_exercise_knows_another_chapter():
    for path in (PACKAGE / "mechanisms").glob("*.py"):
        assert not [t for _, t in imports(path) if room(t) in ("tasks", "zoo", "exercises", "widgets")], path
    for path in (PACKAGE / "exercises/chapters").glob("*/*.py"):
        others = [t for _, t in imports(path) if t.startswith("attncourse.exercises.chapters.")]
        assert all(t.split(".")[3] == path.parent.name for t in others), path


def test_the_engine_knows_no_chapter():
    """Else a student's view of the package would need the solutions."""
    for path in (PACKAGE / "exercises/engine").glob("*.py"):
        assert not [t for _, t in imports(path) if "exercises.chapters" in t], path


@pytest.mark.parametrize("name", attncourse.EXPORTS)
def test_names_of_the_root_are_found(name):
    assert getattr(attncourse, name) is not None


def test_a_name_that_does_not_exist_is_told_what_does():
    with pytest.raises(AttributeError, match=r"no attribute 'atend'; it has: attend, bench"):
        attncourse.atend  # noqa: B018
    with pytest.raises(ImportError):
        from attncourse import nothing  # noqa: F401


@pytest.mark.slow
@pytest.mark.parametrize("program", ["import attncourse", "from attncourse import cli; cli.parser()"])
def test_no_torch_is_loaded_before_it_is_needed(program):
    program += "; import sys; sys.exit(bool({'torch', 'numpy', 'matplotlib', 'IPython'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_one_screen_per_mechanism():
    """300 lines per module of core and mechanisms, 40 per function or class without its docstring."""
    for path in [*(PACKAGE / "core").glob("*.py"), *(PACKAGE / "mechanisms").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 300, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                assert lines <= 60, (path, node.name, lines)
