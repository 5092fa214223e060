"""Masks are bool and True means *may attend*, as in torch's own `scaled_dot_product_attention`."""

import torch
from torch import Tensor


def softmax(scores: Tensor, mask: Tensor | None = None, temperature: Tensor | float = 1.0) -> Tensor:
    """Turn scores into weights over the last axis, the keys; masked keys get exactly zero.

        weights_i = exp(scores_i / τ) / sum_j exp(scores_j / τ)     over the j that may be attended

    scores (..., Tq, Tk), mask bool, broadcastable to scores; temperature τ > 0, small = sharp
    returns weights (..., Tq, Tk); each row sums to one, or to zero where everything is masked
    """
    weights = fill(scores, mask, temperature).softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def fill(scores: Tensor, mask: Tensor | None = None, temperature: Tensor | float = 1.0) -> Tensor:
    """scores / temperature, and the lowest finite number where the mask is False: what a softmax is taken of."""
    if isinstance(temperature, Tensor) or temperature != 1.0:
        if not isinstance(temperature, Tensor) and not temperature > 0:
            raise ValueError(
                f"a temperature is above 0, this one is {temperature}; towards 0 the largest score takes all, "
                "for a choice of one key see attncourse.core.hard"
            )
        scores = scores / temperature
    if mask is None:
        return scores
    if mask.dtype != torch.bool:
        raise TypeError(f"a mask is bool, True = may attend; this one is {mask.dtype}. Did you mean mask > 0?")
    _check_fits(mask, scores)
    # The most negative finite number, not -inf: a fully masked row would be 0/0, NaN forward and backward.
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def _check_fits(mask: Tensor, scores: Tensor) -> None:
    # By hand: torch.broadcast_shapes loads sympy on its first call, seconds in the middle of somebody's first look.
    pairs = zip(reversed(mask.shape), reversed(scores.shape), strict=False)
    if mask.dim() > scores.dim() or not all(m in (1, s) for m, s in pairs):
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


def window(centre: Tensor, size: int, radius: float) -> Tensor:
    """Only the positions s with |s - centre| <= radius: local attention    Luong et al. 2015, sec. 3.2

    centre (..., Tq), whole or not, one for each query; size = Tk; radius is the paper's D
    returns mask (..., Tq, Tk); with padding: `masks.window(...) & masks.padding(...)`
    """
    return (torch.arange(size, device=centre.device) - centre[..., None]).abs() <= radius
