"""The layers that a test of equivariance is given: x (B, T, D) -> y (B, T, D)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ... import masks
from ...selfattention import SelfAttention
from ...transformer import positions


class Attending(nn.Module):
    """Self-attention, moved away from zero: there a relative tolerance would have nothing to hold on to."""

    def __init__(self, d_model: int):
        super().__init__()
        self.attention = SelfAttention(d_model, d_model)
        with torch.no_grad():
            self.attention.query.weight *= 4  # sharp enough that the order of the keys would show

    def forward(self, x: Tensor) -> Tensor:
        return 4 + self.attention(x)[0]


class Causal(Attending):
    def forward(self, x: Tensor) -> Tensor:
        return 4 + self.attention(x, masks.causal(x.shape[1], x.device))[0]


class Placed(Attending):
    """With position encodings."""

    strength = 1.0

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + self.strength * positions(x.shape[1], x.shape[2], x))


class Faint(Placed):
    """With a trace of them."""

    strength = 0.02


class Numbered(nn.Module):
    """x, plus the number of the position: order changes y, but not its sum."""

    def __init__(self, d_model: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return 4 + x + self.scale * torch.arange(x.shape[1], device=x.device, dtype=x.dtype)[:, None]


class Pointwise(nn.Module):
    """The same small network at every position, each for itself."""

    def __init__(self, d_model: int):
        super().__init__()
        self.layer = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return 4 + torch.tanh(self.layer(x))


class Convolution(nn.Module):
    """Each position with its two neighbours."""

    def __init__(self, d_model: int):
        super().__init__()
        self.layer = nn.Conv1d(d_model, d_model, 3)

    def forward(self, x: Tensor) -> Tensor:
        return 4 + self.layer(F.pad(x, (0, 0, 1, 1)).transpose(1, 2)).transpose(1, 2)


class Everywhere(nn.Module):
    """The mean of all positions, at every position."""

    def __init__(self, d_model: int):
        super().__init__()
        self.layer = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return 4 + self.layer(x).mean(1, keepdim=True).expand_as(x)
