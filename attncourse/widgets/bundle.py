"""From lib.mjs and a widget's own files to one ES module and one style sheet: no import, no CDN, no build step.

The text of a module is stored with every widget of a notebook, so only what a widget uses goes in: a
declaration of lib.mjs is taken when its name occurs in the widget or in a declaration already taken.
"""

import base64
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
DECLARATION = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
IMPORT = re.compile(r'^import \{[^}]*\} from "\.\./lib\.mjs";\n', re.MULTILINE)
PART = re.compile(r"^/\* lib\.mjs: (\w+)\(\) \*/\n", re.MULTILINE)  # of base.css
COMMENT = re.compile(r"^\s*//.*\n|^\s*\n", re.MULTILINE)  # whole lines only: nothing inside a string is touched


@cache
def declarations() -> dict[str, str]:
    """The declarations of lib.mjs by name, in order."""
    text = COMMENT.sub("", (HERE / "lib.mjs").read_text(encoding="utf-8"))
    starts = [*DECLARATION.finditer(text)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return {m[1]: text[m.start() : end].removeprefix("export ") for m, end in zip(starts, ends, strict=True)}


def _used(text: str) -> list[str]:
    """Names of the declarations that `text` needs, also through others."""
    found, ahead = set(), [text]
    while ahead:
        names = set(re.findall(r"\w+", ahead.pop())) & declarations().keys() - found
        found |= names
        ahead += [declarations()[name] for name in names]
    return [name for name in declarations() if name in found]


def esm(folder: str) -> str:
    """The ES module of a widget: what anywidget calls `_esm`."""
    source = (HERE / folder / "widget.mjs").read_text(encoding="utf-8")
    body = COMMENT.sub("", IMPORT.sub("", source))
    return "".join(declarations()[name] for name in _used(body)) + body


def css(folder: str) -> str:
    """The shared look, the parts of it that belong to the functions the widget uses, and the widget's own."""
    first, *parts = PART.split((HERE / "base.css").read_text(encoding="utf-8"))
    module = esm(folder)
    used = [text for name, text in zip(parts[::2], parts[1::2], strict=True) if f"function {name}(" in module]
    texts = [first, *used, (HERE / folder / "widget.css").read_text(encoding="utf-8")]
    return re.sub(r"/\*.*?\*/\n?", "", "".join(texts), flags=re.DOTALL)


def zoo_bytes(name: str) -> bytes:
    """The weights file of a zoo model as it stands, after its card has been found."""
    from .. import zoo

    zoo.card(name)
    return (zoo.WEIGHTS / f"{name}.safetensors").read_bytes()


def zoo_names(notebook: dict) -> set[str]:
    """Models that the widgets of a notebook (parsed JSON) load in the page: their trait `zoo`."""
    saved = notebook.get("metadata", {}).get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    names = {widget.get("state", {}).get("zoo") for widget in saved.get("state", {}).values()}
    return {name for name in names if isinstance(name, str) and name}


def export_zoo(names: Iterable[str], folder: Path) -> list[Path]:
    """Write `folder`/NAME.js for every model: a classic script, because a page on file:// may read nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in sorted(set(names)):
        text = base64.b64encode(zoo_bytes(name)).decode()
        path = folder / f"{name}.js"
        path.write_text(f'(globalThis.attncourseZoo ??= {{}})["{name}"] = "{text}";\n', encoding="utf-8")
        written.append(path)
    return written
