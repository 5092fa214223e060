"""attncourse: every attention mechanism of the course, once, in a screenful each."""

import torch

from . import masks, scores
from .attention import attend

__version__ = "0.1.0"
__all__ = ["attend", "masks", "scores", "setup"]


def setup(seed: int = 0) -> torch.device:
    """First line of every chapter: seed torch, set the figure style, pick the device, wake Colab's widgets."""
    from . import plots
    from .training import best_device

    try:  # Colab shows widgets nested in a container only after this call
        from google.colab import output
    except ImportError:
        pass
    else:
        output.enable_custom_widget_manager()
    torch.manual_seed(seed)
    plots.use_style()
    return best_device()
