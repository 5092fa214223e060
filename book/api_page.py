"""book/api.md: every public name of the package, grouped as the tree is; made from the code when the book is built."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from attncourse import course, diagrams, widgets

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {  # folder -> what is kept there
    "core": "What every mechanism is made of: score, normalise, read.",
    "mechanisms": "Every mechanism of the course, one module each.",
    "tasks": "The data, made here or shipped: nothing is downloaded.",
    "running": "Training, decoding, claims and figures.",
    "zoo": "Trained models. `zoo.load(NAME)` gives one with its card.",
}
TABLES = {  # names that are looked up on first use
    "diagrams": (diagrams, "Drawings: each function gives one, shown as it is by notebooks and pages."),
    "widgets": (widgets, "Explorables: they compute in the page, without a kernel."),
}


def page(repository: str) -> str:
    """Markdown below the page's title. `repository`: the address under which a file of the tree is found."""
    blocks = []
    for room, about in ROOMS.items():
        blocks += [f"## {room}", about]
        for module in modules(room):
            blocks += _module(module, repository)
    for room, (table, about) in TABLES.items():
        blocks += [f"## {room}", about]
        for name in table.EXPORTS:
            blocks += _name(name, getattr(table, name), repository, _pages_with(room, name))
    return "\n\n".join(blocks) + "\n"


def modules(room: str) -> list[ModuleType]:
    package = importlib.import_module(f"attncourse.{room}")
    if room == "zoo":  # its modules are recipes; what one calls is in the package itself
        return [package]
    return [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]


def public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Classes and functions that are defined there, in the order of the file."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, getattr(module, node.name)


def anchor(module: str) -> str:
    """The slug of a module's heading; the module as course.toml writes it: "ntm" or "core.scores"."""
    return (module if "." in module else f"mechanisms.{module}").replace(".", "")


def _module(module: ModuleType, repository: str) -> list[str]:
    names = list(public(module))
    if not names:
        return []
    inside = module.__name__.removeprefix("attncourse.")
    links = [_source(module, repository), *_chapters(inside)]
    blocks = [f"### {inside}", *prose(module.__doc__ or ""), " · ".join(links)]
    for name, thing in names:
        blocks += _name(name, thing, repository)
    return blocks


def _name(name: str, thing: object, repository: str, links: list[str] | None = None) -> list[str]:
    lines = [_signature(name, thing)]
    if inspect.isclass(thing):
        own = [(n, f) for n, f in vars(thing).items() if inspect.isfunction(f) and not n.startswith("_") and f.__doc__]
        lines += [f"    .{_signature(n, f)}" for n, f in own]
    code = "\n".join(lines)
    about = prose(inspect.getdoc(thing) if (thing.__doc__ and not _inherited(thing)) else "")
    head = " · ".join([f"**{name}**", _source(thing, repository), *(links or [])])
    return [head, f"```python\n{code}\n```", *about]


def _inherited(thing: object) -> bool:
    return inspect.isclass(thing) and "__doc__" not in vars(thing)


def _signature(name: str, thing: object) -> str:
    """As it is written, without types: those stand in the docstring as shapes."""
    try:
        signature = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    shown = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return name + re.sub(r"<(?:function|class|module) '?([\w.]+)'?[^>]*>", lambda m: m[1].rpartition(".")[2], shown)


def prose(text: str) -> list[str]:
    """A docstring as Markdown: what is indented there is an equation or an example, and stays as it is."""
    blocks = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = block.splitlines()
        if not block.strip():
            continue
        if all(line.startswith(("    ", ">>>", "...")) for line in lines) or block.startswith(">>>"):
            blocks.append("```text\n" + inspect.cleandoc("\n" + block) + "\n```")
        else:
            blocks.append("\\\n".join(_escaped(line.strip()) for line in lines).replace("-\\>", "→"))
    return blocks


def _escaped(line: str) -> str:
    """Only `code` is markup in our docstrings."""
    line = line.replace("$…$", "`$…$`")  # how formulas are written, not one of them
    pieces = re.split(r"(`[^`]+`)", line)
    return "".join(
        p if p.startswith("`") and len(p) > 1 else re.sub(r"([\\*_<>\[\]$|#~^{}])", r"\\\1", p) for p in pieces
    )


def _source(thing: object, repository: str) -> str:
    thing = inspect.unwrap(thing)  # type: ignore[arg-type]
    path = Path(inspect.getsourcefile(thing)).resolve().relative_to(ROOT).as_posix()  # type: ignore[arg-type]
    line = "" if inspect.ismodule(thing) else f"#L{inspect.getsourcelines(thing)[1]}"  # type: ignore[arg-type]
    return f"[source]({repository}/{path}{line})"


def _chapters(module: str) -> list[str]:
    room, _, name = module.partition(".")
    read = course.read()
    found = {
        "mechanisms": [c for c in read.chapters if name in c.mechanisms],
        "core": [c for c in read.chapters if module in c.mechanisms],
        "tasks": [c for c in read.chapters if name in c.tasks],
    }.get(room, [])
    return [_link(chapter) for chapter in found]


def _pages_with(room: str, name: str) -> list[str]:
    return [_link(page) for page in (*course.read().chapters, *course.read().pages) if name in getattr(page, room)]


def _link(page: course.Page) -> str:
    title = f"chapter {page.number}, {page.short}" if isinstance(page, course.Chapter) else page.title
    return f"[{title}](../notebooks/{page.id}.ipynb)"
