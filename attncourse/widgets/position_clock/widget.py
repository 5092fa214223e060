"""Positions as clocks: two positions on every dial, and their dot product against their distance."""

import torch
import traitlets
from torch import Tensor

from ...mechanisms.transformer import positions
from .. import bundle
from ..base import Explorable

SIZES = (8, 16, 32, 64, 128)
FARTHEST = 60


class PositionClock(Explorable):
    """Choose a position p, a distance k and the model's size; see PE(p) and PE(p + k) as hands of clocks.

        PE(p) · PE(p + k) = Σ_i cos(k ω_i),   ω_i = 10000^(-2i/d): whatever p is

    Traits, both ways: position 0 … 100, distance -60 … 60, size (d_model, one of 8, 16, 32, 64, 128).
    `encodings` and `products` compute by the package what the page shows.
    """

    _esm = bundle.esm("position_clock")
    _css = bundle.css("position_clock")

    challenge = traitlets.Unicode(
        "Find the distance k with the smallest dot product, then move p. Does the answer change?"
    ).tag(sync=True)
    position = traitlets.Int(12, min=0, max=100).tag(sync=True)
    distance = traitlets.Int(5, min=-FARTHEST, max=FARTHEST).tag(sync=True)
    size = traitlets.Enum(SIZES, 32).tag(sync=True)
    sizes = traitlets.List(list(SIZES), read_only=True).tag(sync=True)
    farthest = traitlets.Int(FARTHEST, read_only=True).tag(sync=True)

    def encodings(self) -> tuple[Tensor, Tensor]:
        """-> PE(position), PE(position + distance), (size,) each"""
        like = torch.zeros((), dtype=torch.float64)
        return tuple(positions(1, self.size, like, start=self.position + k)[0] for k in (0, self.distance))

    def products(self) -> Tensor:
        """-> PE(position) · PE(position + k) for k = -60 … 60, (121,)"""
        like = torch.zeros((), dtype=torch.float64)
        around = positions(2 * FARTHEST + 1, self.size, like, start=self.position - FARTHEST)
        return around @ self.encodings()[0]
