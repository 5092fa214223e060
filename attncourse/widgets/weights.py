"""The weights of zoo models as explorables need them: bytes under a kernel, a script beside the built page."""

import base64
from collections.abc import Iterable
from pathlib import Path


def zoo_bytes(name: str) -> bytes:
    """The weights file of a zoo model as it stands, after its card has been found."""
    from .. import zoo

    zoo.card(name)
    return (zoo.WEIGHTS / f"{name}.safetensors").read_bytes()


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
