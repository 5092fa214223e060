"""book/ledger.md: every claim of every executed chapter, each with a link to where it was measured."""

import json
import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
CARDS = ROOT / "attncourse/zoo/weights"
HEAD = """\
# The ledger

Every claim of every chapter, as its notebook measured it when it was last executed, beside what was expected and what the paper reports. A claim that does not hold stops its notebook, and with it the build; one without an expectation is reported, and nothing was promised. Intervals are 95%, n is what they rest on: images, sentences, or training runs with seeds of their own. A claim leads to its cell. This page is written by `make notebooks` from the notebooks' outputs; do not edit it.
"""  # noqa: E501
COLUMNS = "| claim | measured | expected | the paper |\n|---|---|---|---|"


def claims_of(notebook) -> list[dict]:
    """What attncourse.ledger.claim() left in the metadata of its outputs."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", [])]
    return [out["metadata"]["claim"] for out in outputs if "claim" in out.get("metadata", {})]


def page(notebooks: Path) -> str:
    read = {path.name: nbformat.read(path, as_version=4) for path in sorted(notebooks.glob("*.ipynb"))}
    claims = {name: found for name, notebook in read.items() if (found := claims_of(notebook))}
    every = [claim for found in claims.values() for claim in found]
    held = sum(claim["holds"] is True for claim in every)
    count = f"{len(every)} claims: {held} with an expectation that holds, {len(every) - held} reported."
    return "\n".join([HEAD, count, *(_chapter(name, read[name], found) for name, found in claims.items()), ""])


def _chapter(name: str, notebook, claims: list[dict]) -> str:
    title = notebook["cells"][0]["source"].splitlines()[0].lstrip("# ")
    rows = [f"| [{_cell(c['text'])}](../notebooks/{name}#{c['id']}) | {_figures(c)} |" for c in claims]
    return "\n".join([f"\n## [{title}](../notebooks/{name})\n", *_models(notebook), COLUMNS, *rows])


def _figures(claim: dict) -> str:
    return " | ".join(_cell(claim[key]) or "–" for key in ("measured", "expected", "paper"))


def _cell(text: str) -> str:
    return re.sub(r"([|\[\]])", r"\\\1", text)


def _models(notebook) -> list[str]:
    """The zoo models that the chapter's code names, with the seeds and minutes of their training."""
    code = "\n".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code")
    named = sorted(set(re.findall(r"""["']([\w-]+)["']""", code)) & {path.stem for path in CARDS.glob("*.json")})
    return ["Trained before: " + "; ".join(map(_model, named)) + ".\n"] if named else []


def _model(name: str) -> str:
    card = json.loads((CARDS / f"{name}.json").read_text(encoding="utf-8"))
    runs = [card, *card.get("runs", [])]
    seeds, minutes = ", ".join(str(run["seed"]) for run in runs), sum(run["minutes"] for run in runs)
    return f"`{name}` (seed{'s' * (len(runs) > 1)} {seeds}, {minutes:.0f} min)"
