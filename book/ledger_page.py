"""book/ledger.md: every claim of every executed chapter, each with a link to where it was measured."""

import json
import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "attncourse/zoo/weights"
HEAD = """\
# The ledger

Every figure that a chapter claims, as its notebook measured it when it was last executed. A *guard* is a bound that was set after pilots: it is no prediction, it keeps the book honest when code changes, and a claim that breaks it stops the build. Intervals are 95%, and *n* says what they rest on: images, sentences, or training runs with seeds of their own. A paper's figure stands beside ours only where it measures the same thing. Each claim leads to its cell.

<!-- This page is written by `make notebooks` from the notebooks' outputs; do not edit it. -->
"""  # noqa: E501
COLUMNS = "| claim | measured | guard | the paper |\n|---|---|---|---|"


def claims_of(notebook) -> list[dict]:
    """What `ledger.claim` and `ledger.together` left in the metadata of their outputs."""
    outputs = [out.get("metadata", {}) for cell in notebook["cells"] for out in cell.get("outputs", [])]
    return [
        claim for kept in outputs for claim in [*kept.get("claims", []), *([kept["claim"]] if "claim" in kept else [])]
    ]


def page(notebooks: Path) -> str:
    read = {path.name: nbformat.read(path, as_version=4) for path in sorted(notebooks.glob("*.ipynb"))}
    claims = {name: found for name, notebook in read.items() if (found := claims_of(notebook))}
    every = [claim for found in claims.values() for claim in found]
    guarded, crossed = sum(claim["holds"] is True for claim in every), sum(claim["crosses"] for claim in every)
    count = (
        f"{len(every)} figures: {guarded} with a guard, all of which hold (the intervals of {crossed} reach beyond it, "
        f"marked ↔), and {len(every) - guarded} that are only reported."
    )
    search = '<div class="attn-filter" data-filter="table" data-label="Search the ledger"></div>'
    return "\n".join(
        [HEAD, count, "", search, *(_chapter(name, read[name], found) for name, found in claims.items()), ""]
    )


def _chapter(name: str, notebook, claims: list[dict]) -> str:
    title = notebook["cells"][0]["source"].splitlines()[0].lstrip("# ")
    rows = [f"| [{_cell(c['text'])}](../notebooks/{name}#{c['id']}) | {_figures(c)} |" for c in claims]
    return "\n".join([f"\n## [{title}](../notebooks/{name})\n", *_models(notebook), COLUMNS, *rows])


def _figures(claim: dict) -> str:
    guard = claim["guard"] + (" ↔" if claim["crosses"] else "")
    return " | ".join(_cell(text) or "–" for text in (claim["measured"], guard, claim["paper"]))


def _cell(text: str) -> str:
    return re.sub(r"([|\[\]])", r"\\\1", text)


def _models(notebook) -> list[str]:
    """The zoo models that the chapter used when it was executed, with the seeds and minutes of their training."""
    used = notebook["metadata"].get("attncourse", {}).get("used", {}).get("model", [])
    return ["Trained before: " + "; ".join(map(_model, used)) + ".\n"] if used else []


def _model(name: str) -> str:
    card = json.loads((CARDS / f"{name}.json").read_text(encoding="utf-8"))
    runs = [card, *card.get("runs", [])]
    seeds, minutes = ", ".join(str(run["seed"]) for run in runs), sum(run["minutes"] for run in runs)
    return f"`{name}` (seed{'s' * (len(runs) > 1)} {seeds}, {minutes:.0f} min)"
