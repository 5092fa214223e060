"""Masks are bool and True means *may attend*, as in torch's own `scaled_dot_product_attention`."""

import torch
from torch import Tensor


def softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn scores into weights over the last axis, the keys; masked keys get exactly zero.

        weights_i = exp(scores_i) / sum_j exp(scores_j)     over the j that may be attended

    scores (..., Tq, Tk), mask bool, broadcastable to scores
    returns weights (..., Tq, Tk); each row sums to one, or to zero where everything is masked
    """
    if mask is None:
        return scores.softmax(-1)
    if mask.dtype != torch.bool:
        raise TypeError(f"a mask is bool, True = may attend; this one is {mask.dtype}. Did you mean mask > 0?")
    _check_fits(mask, scores)
    # The most negative finite number, not -inf: a fully masked row would be 0/0, NaN forward and backward.
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1).masked_fill(~mask, 0.0)


def _check_fits(mask: Tensor, scores: Tensor) -> None:
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask {tuple(mask.shape)} does not broadcast to scores {tuple(scores.shape)} = (..., Tq, Tk); "
            "a padding mask is (B, 1, Tk): masks.padding(lengths, Tk)"
        )


def padding(lengths: Tensor, size: int) -> Tensor:
    """True on the first `lengths[b]` of `size` positions.    lengths (B,) -> mask (B, 1, size)"""
    return (torch.arange(size, device=lengths.device) < lengths[:, None])[:, None]


def causal(size: int, device: torch.device | None = None) -> Tensor:
    """Position t may attend to positions up to and including t.    -> mask (size, size)"""
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()
