"""attncourse: every attention mechanism of the course, once, in a screenful each.

>>> from attncourse import attend, scores, masks, zoo, transformer

Names are looked up on first use, so `import attncourse` costs nothing: torch is loaded by whoever needs it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

__version__ = "0.2.0.dev0"

# name -> where it lives: a module, or MODULE:NAME for something inside one
EXPORTS = {
    "attend": "core.attention:attend",
    **{name: f"core.{name}" for name in ("hard", "masks", "protocols", "recurrent", "scores", "symbols")},
    **{
        name: f"mechanisms.{name}"
        for name in (
            "captioning", "glimpse", "implicit", "luong", "memn2n", "mirror", "ntm", "pointer", "sagan",
            "selfattention", "seq2seq", "sequential", "snail", "tape", "transformer",
        )
    },
    **{name: f"running.{name}" for name in ("decoding", "ledger", "plots", "training")},
    **{name: name for name in ("bench", "course", "diagrams", "exercises", "family", "tasks", "widgets", "zoo")},
}  # fmt: skip
__all__ = [*EXPORTS, "setup"]


def __getattr__(name: str) -> Any:
    if name not in EXPORTS:
        raise AttributeError(f"module 'attncourse' has no attribute {name!r}; it has: {', '.join(sorted(__all__))}")
    module, _, inside = EXPORTS[name].partition(":")
    found = importlib.import_module(f"{__name__}.{module}")
    found = getattr(found, inside) if inside else found
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def setup(seed: int = 0) -> "torch.device":
    """First line of every chapter: seed torch, set the figure style, pick the device, wake Colab's widgets."""
    import torch

    from .running import plots
    from .running.training import best_device

    try:  # Colab shows widgets nested in a container only after this call
        from google.colab import output
    except ImportError:
        pass
    else:
        output.enable_custom_widget_manager()
    torch.manual_seed(seed)
    plots.use_style()
    return best_device()
