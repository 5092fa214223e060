"""The explorables' modules and style sheets: `bundles/`, which `make widgets` makes of the sources beside it.

Making them needs Node, using them does not: they are committed. The text of a module is stored with every widget of a
notebook, so a bundle is minified and holds only what its widget uses.
"""

import hashlib
import json
from pathlib import Path

HERE = Path(__file__).parent
BUNDLES = HERE / "bundles"


def esm(name: str) -> str:
    """The ES module of the widget in folder `name`: what anywidget calls `_esm`."""
    return (BUNDLES / f"{name}.mjs").read_text(encoding="utf-8")


def css(name: str) -> str:
    """Its style: the look that all share, that of the controls it uses, and its own."""
    return (BUNDLES / f"{name}.css").read_text(encoding="utf-8")


def stale() -> list[str]:
    """Names of the bundles that are not those of the sources, by the hashes that build.mjs recorded."""
    records = json.loads((BUNDLES / "HASHES.json").read_text(encoding="utf-8"))
    widgets = {path.parent.name for path in HERE.glob("*/widget.mjs")}
    return sorted(name for name in {*records, *widgets} if name not in records or not _as_recorded(records[name]))


def _as_recorded(record: dict) -> bool:
    sources = [HERE / path for path in record["sources"]]
    files = {BUNDLES / name: digest for name, digest in record["files"].items()}
    if not all(path.is_file() for path in [*sources, *files]):
        return False
    made_of = hashlib.sha256()
    for name, path in zip(record["sources"], sources, strict=True):
        made_of.update(b"%b\0%b\0" % (name.encode(), path.read_bytes()))
    whole = all(hashlib.sha256(path.read_bytes()).hexdigest() == digest for path, digest in files.items())
    return whole and made_of.hexdigest() == record["digest"]
