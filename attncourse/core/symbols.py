"""The symbols that every vocabulary reserves, and what a decoder is fed while it learns."""

import torch
from torch import Tensor

PAD, BEGIN, END, UNKNOWN = range(4)  # in this order


def shift_right(target: Tensor, first: int = BEGIN) -> Tensor:
    """Teacher forcing's input: `first`, then the target without its last column.    (B, T) -> (B, T)"""
    return torch.cat([torch.full_like(target[:, :1], first), target[:, :-1]], 1)
