"""Read a notebook or a script, and pick out of it what its exercises need: imports, helpers, answers."""

import ast
import json
import re
import symtable
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import BadInput

PYTHON_MAGICS = {"time", "timeit", "capture", "prun"}  # cell magics whose cell is Python
MARK = re.compile(r"""^@\w*\.?exercise\(\s*["']([^"']+)["']""", re.MULTILINE)


@dataclass
class Step:
    """One statement of the top level."""

    cell: str  # "cell 3"; a file's name for a script
    node: ast.stmt
    ids: list[str]  # exercises that it answers
    defines: set[str]
    uses: set[str]

    @property
    def place(self) -> str:
        return f"{self.cell}, line {self.node.lineno}"


@dataclass
class Source:
    """A file that was read. `steps`: all of it, in order; `broken`: answers in cells that are not Python."""

    cells: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    broken: dict[str, SyntaxError] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


def read(path: str | Path) -> Source:
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"{path} is not a file; give a notebook (.ipynb) or a script (.py)")
    source = parse(str(path), path.read_bytes())
    if not source.ids:
        raise BadInput(f'{path} answers no exercise; an answer is a function below @exercise("chapter.name")')
    return source


def parse(path: str, data: bytes) -> Source:
    """The statements of a file; BadInput where it is neither notebook nor script."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not text in UTF-8; give a notebook (.ipynb) or a script (.py)") from None
    return _parse({Path(path).name: text} if path.endswith(".py") else _cells(path, text))


def _cells(path: str, text: str) -> dict[str, str]:
    """The code cells, numbered as a reader counts them."""
    try:
        content = json.loads(text)
        if "worksheets" in content:
            raise BadInput(f"{path} has the format of 2014 (nbformat 3); open it in Jupyter and save it")
        code = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} is not a notebook: it should be JSON with a list of cells") from None
    return {f"cell {n}": source for n, source in enumerate(code, 1)}


def _parse(cells: dict[str, str]) -> Source:
    source = Source(cells)
    for name, text in cells.items():
        try:
            steps, broken = [_step(name, node) for node in _tree(text).body], {}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a null byte, a thousand brackets
            error = error if isinstance(error, SyntaxError) else SyntaxError(str(error) or "it is nested too deeply")
            steps, broken = [], dict.fromkeys(MARK.findall(text), error)
        found = [id for step in steps for id in step.ids]
        for step in source.steps:  # the last definition of an id counts: of an earlier one only the name may be needed
            step.ids = [id for id in step.ids if id not in [*found, *broken]]
        source.broken = {id: e for id, e in source.broken.items() if id not in found} | broken
        source.ids = list(dict.fromkeys([*source.ids, *found, *broken]))
        source.steps += steps
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
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        defines = {node.name}
    else:
        defines = {x.id for x in names if isinstance(x.ctx, ast.Store)}
        inner = [x for x in ast.walk(node) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        defines |= {x.name for x in inner} | {_base(x) for x in ast.walk(node) if _is_write(x)}
        imports = [x for x in ast.walk(node) if isinstance(x, (ast.Import, ast.ImportFrom))]
        defines |= {(alias.asname or alias.name).partition(".")[0] for x in imports for alias in x.names}
    return Step(cell, node, _ids(node), defines, _uses(symtable.symtable(ast.unparse(node), cell, "exec")))


def _uses(table: symtable.SymbolTable) -> set[str]:
    """The names of the notebook that it reads: a function's own parameters and variables are none of them."""
    top = table.get_type() == "module"
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    return names.union(*map(_uses, table.get_children()))


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
    first = [x.args[0] for x in named]
    return [x.value for x in first if isinstance(x, ast.Constant) and isinstance(x.value, str)]


def needed(steps: list[Step], ids: Collection[str]) -> list[Step]:
    """The answers to `ids`, what they name, and what that names: a slow or failing cell beside them does no harm."""
    names, kept = {"*"}, set[int]()
    while True:
        wanted = [not step.defines.isdisjoint(names) or not set(ids).isdisjoint(step.ids) for step in steps]
        more = {i for i, it in enumerate(wanted) if it and i not in kept}
        if not more:
            return [steps[i] for i in sorted(kept)]
        kept |= more
        names |= {name for i in more for name in steps[i].uses}
