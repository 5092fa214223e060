"""Reading a padded batch with recurrent layers, without packing: padding comes last, and changes nothing before it."""

from collections.abc import Callable

import torch
from torch import Tensor

Layer = Callable[[Tensor], tuple[Tensor, object]]  # nn.GRU or nn.LSTM, batch first: (B, T, D) -> states (B, T, H), …


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sequence within its own length; padding stays last.    x (B, T, D), lengths (B,) -> (B, T, D)"""
    t = torch.arange(x.shape[1], device=x.device)  # (T,)
    index = torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)  # (B, T)
    return x.gather(1, index[..., None].expand_as(x))


def both_ways(ahead: Layer, back: Layer, x: Tensor, lengths: Tensor) -> Tensor:
    """One layer reads forwards, the other backwards from the end of each sequence.

        h_t = [→h_t ; ←h_t]

    x (B, T, D), lengths (B,) -> (B, T, 2H)

    The backward layer is given the sequence reversed *within its length*, so that padding comes last for it, too.
    """
    backwards = reverse(back(reverse(x, lengths))[0], lengths)  # (B, T, H)
    return torch.cat([ahead(x)[0], backwards], -1)  # (B, T, 2H)


def last(states: Tensor, lengths: Tensor) -> Tensor:
    """The state after each sequence's last real symbol.    states (B, T, H), lengths (B,) -> (B, H)"""
    return states.gather(1, (lengths - 1)[:, None, None].expand(-1, 1, states.shape[-1]))[:, 0]
