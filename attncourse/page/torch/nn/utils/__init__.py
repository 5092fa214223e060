"""torch.nn.utils: what the course uses of it."""

from ...unknown import getter
from . import rnn

__getattr__ = getter("torch.nn.utils")
__all__ = ["rnn"]
