"""book/ledger.md: every claim of every executed chapter, each with a link to where it was measured."""

import json
import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "attncourse/zoo/weights"
HEAD = """\
# The ledger

Here are the figures that the chapters claim, as their notebooks measured them when they were last executed. Each one links to the place where it was measured.

- **Measured** is the figure with its 95% interval. *n* says what the interval rests on: images, sentences, or training runs with seeds of their own.
- A **guard** is a bound that we set after pilots. It is not a prediction: it keeps the book honest when code changes, because a notebook whose figure falls outside its guard does not build. The mark ↔ says that the figure is inside and its interval reaches beyond, so that another sample might well fall outside.
- **The paper** has an entry only where the paper measured the same thing.

<!-- This page is written by `make notebooks` from the notebooks' outputs; do not edit it. -->
"""  # noqa: E501
SEARCH = '<div class="attn-filter" data-filter="Search the ledger"></div>'


def claims_of(notebook) -> list[dict]:
    """What `ledger.claim` and `ledger.together` left in the metadata of their outputs."""
    outputs = [out.get("metadata", {}) for cell in notebook["cells"] for out in cell.get("outputs", [])]
    return [
        claim for kept in outputs for claim in [*kept.get("claims", []), *([kept["claim"]] if "claim" in kept else [])]
    ]


def page(notebooks: Path) -> str:
    read = {path.name: nbformat.read(path, as_version=4) for path in sorted(notebooks.glob("*.ipynb"))}
    claims = {name: found for name, notebook in read.items() if (found := claims_of(notebook))}
    parts = (_chapter(name, read[name], found) for name, found in claims.items())
    return "\n".join([HEAD, _count([claim for found in claims.values() for claim in found]), "", SEARCH, *parts, ""])


def _count(claims: list[dict]) -> str:
    guarded, crossed = sum(bool(claim["guard"]) for claim in claims), sum(claim["crosses"] for claim in claims)
    reach = "The interval of 1 reaches" if crossed == 1 else f"The intervals of {crossed} reach"
    return (
        f"Of {len(claims)} figures, {guarded} have a guard and the others are only reported. {reach} beyond the guard."
    )


def _chapter(name: str, notebook, claims: list[dict]) -> str:
    """A table; a column that no claim of the chapter fills is left out."""
    title = notebook["cells"][0]["source"].splitlines()[0].lstrip("# ")
    columns = {
        "claim": [f"[{_cell(c['text'])}](../notebooks/{name}#{c['id']})" for c in claims],
        "measured": [_cell(c["measured"]) for c in claims],
        "guard (set after pilots)": [c["guard"] + " ↔" * c["crosses"] for c in claims],
        "the paper": [_cell(c["paper"]) for c in claims],
    }
    used = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [list(used), ["---"] * len(used), *zip(*used.values(), strict=True)]
    table = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"\n## [{title}](../notebooks/{name})\n", *_models(notebook), *table])


def _cell(text: str) -> str:
    return re.sub(r"([|\[\]])", r"\\\1", text)


def _models(notebook) -> list[str]:
    """The zoo models that the chapter used when it was executed, with the seeds and minutes of their training."""
    used = notebook["metadata"].get("attncourse", {}).get("used", {}).get("model", [])
    return ["Trained beforehand: " + "; ".join(map(_model, used)) + ".\n"] if used else []


def _model(name: str) -> str:
    card = json.loads((CARDS / f"{name}.json").read_text(encoding="utf-8"))
    runs = [card, *card.get("runs", [])]
    seeds, minutes = ", ".join(str(run["seed"]) for run in runs), sum(run["minutes"] for run in runs)
    return f"`{name}` (seed{'s' * (len(runs) > 1)} {seeds}, {minutes:.0f} min)"
