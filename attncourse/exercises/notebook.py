"""Read a notebook or a script, and pick out of it what its exercises need: imports, helpers, answers."""

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

PYTHON_MAGICS = {"time", "timeit", "capture", "prun"}  # cell magics whose cell is Python
MARK = re.compile(r"""^@\w*\.?exercise\(\s*["']([^"']+)["']""", re.MULTILINE)


class BadInput(ValueError):
    """One sentence: which file, and what was expected."""


@dataclass
class Step:
    """One statement of the top level."""

    cell: str  # "cell 3"; a file's name for a script
    node: ast.stmt
    ids: list[str]  # exercises that it answers
    defines: set[str]
    uses: set[str]


@dataclass
class Source:
    """A file that was read. `steps`: what runs, in order; `broken`: answers in cells that are not Python."""

    cells: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    broken: dict[str, SyntaxError] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


def read(path: str | Path) -> Source:
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"{path} is not a file; give a notebook (.ipynb) or a script (.py)")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; give a notebook (.ipynb) or a script (.py)") from None
    cells = {path.name: text} if path.suffix == ".py" else _cells(path, text)
    source = _parse(cells)
    if not source.ids:
        raise BadInput(f'{path} answers no exercise; an answer is a function below @exercise("chapter.name")')
    return source


def _cells(path: Path, text: str) -> dict[str, str]:
    """The code cells, numbered as a reader counts them."""
    try:
        content = json.loads(text)
        if "worksheets" in content:
            raise BadInput(f"{path} has the format of 2014 (nbformat 3); open it in Jupyter and save it")
        code = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} is not a notebook: it should be JSON with a list of cells") from None
    return {f"cell {n}": source for n, source in enumerate(code, 1)}


def _parse(cells: dict[str, str]) -> Source:
    source = Source(cells)
    for name, text in cells.items():
        try:
            steps, broken = [_step(name, node) for node in _tree(text).body], {}
        except (SyntaxError, ValueError) as error:  # ValueError: a null byte
            error = error if isinstance(error, SyntaxError) else SyntaxError(str(error))
            steps, broken = [], dict.fromkeys(MARK.findall(text), error)
        found = [id for step in steps for id in step.ids]
        for step in source.steps:  # the last definition of an id counts: of an earlier one only the name may be needed
            step.ids = [id for id in step.ids if id not in [*found, *broken]]
        source.broken = {id: e for id, e in source.broken.items() if id not in found} | broken
        source.ids = list(dict.fromkeys([*source.ids, *found, *broken]))
        source.steps += steps
    source.steps = _needed(source.steps)
    return source


def _tree(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.parse(without_magics(text))


def without_magics(text: str) -> str:
    """Python with the same line numbers: %magics and !commands become calls that nothing depends on."""
    from IPython.core.inputtransformer2 import TransformerManager

    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    magic = re.match(r"%%(\w+)", lines[first])
    if magic and magic[1] not in PYTHON_MAGICS:
        return ""
    if magic:
        lines[first] = ""
    blank = next((n for n, line in enumerate(lines) if line.strip()), 0)
    return "\n" * blank + TransformerManager().transform_cell("\n".join(lines[blank:]))


def _step(cell: str, node: ast.stmt) -> Step:
    names = [x for x in ast.walk(node) if isinstance(x, ast.Name)]
    uses = {x.id for x in names if isinstance(x.ctx, ast.Load)}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        defines = {node.name}
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        defines = {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    else:
        defines = {x.id for x in names if isinstance(x.ctx, ast.Store)}
        inner = [x for x in ast.walk(node) if isinstance(x, (ast.FunctionDef, ast.ClassDef))]
        defines |= {x.name for x in inner} | {_base(x) for x in ast.walk(node) if _is_write(x)}
    return Step(cell, node, _ids(node), defines, uses)


def _is_write(node: ast.AST) -> bool:
    """`x[0] = …` and `x.y = …` change x."""
    return isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store)


def _base(node: ast.AST) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _ids(node: ast.stmt) -> list[str]:
    """Exercise ids among the decorators: @exercise("…"), also under another module's name."""
    functions = [x for x in ast.walk(node) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef))]
    calls = [x for function in functions for x in function.decorator_list if isinstance(x, ast.Call) and x.args]
    named = [x for x in calls if getattr(x.func, "id", getattr(x.func, "attr", "")) == "exercise"]
    return [x.args[0].value for x in named if isinstance(getattr(x.args[0], "value", None), str)]


def _needed(steps: list[Step]) -> list[Step]:
    """The answers, and what they name, and what that names: a slow or failing cell beside them does no harm."""
    names, kept = {"*"}, set()
    while True:
        more = {i for i, step in enumerate(steps) if i not in kept and (step.ids or step.defines & names)}
        if not more:
            return [steps[i] for i in sorted(kept)]
        kept |= more
        names |= {name for i in more for name in steps[i].uses}
