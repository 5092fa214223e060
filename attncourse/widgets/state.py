"""The saved state of a notebook's widgets, as Jupyter keeps it in the notebook's metadata."""

import json
import re
from collections.abc import Iterable

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def reachable(state: dict[str, dict], shown: Iterable[str]) -> list[str]:
    """The ids of the shown widgets and of those inside them; others (a closed progress bar, say) need not be kept."""
    kept: list[str] = []
    todo = list(shown)
    while todo:
        name = todo.pop(0)
        if name in state and name not in kept:
            kept.append(name)
            todo += re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[name]))
    return kept


def zoo_names(notebook: dict) -> set[str]:
    """Models that the widgets of a notebook (parsed JSON) load in the page: their trait `zoo`."""
    saved = notebook.get("metadata", {}).get("widgets", {}).get(STATE, {})
    names = {widget.get("state", {}).get("zoo") for widget in saved.get("state", {}).values()}
    return {name for name in names if isinstance(name, str) and name}
