"""The hard choice: read one key's value instead of a mixture of all. Soft = expectation, hard = a sample."""

from typing import NamedTuple

import torch
from torch import Tensor

from . import masks
from .protocols import Score
from .scores import scaled_dot


class Choice(NamedTuple):
    """Which key was drawn, and how probable that was; -1 and 0 where nothing may be attended."""

    index: Tensor  # type: ignore[assignment]  # (..., Tq) int; tuple has a method of that name
    log_prob: Tensor  # (..., Tq), carries the gradient to the scores


def gumbel(scores: Tensor, rng: torch.Generator | None = None) -> Tensor:
    """-log(-log u), u uniform: the noise whose argmax with `scores` is a draw from softmax(scores). Shape of scores."""
    dtype = torch.promote_types(scores.dtype, torch.float32)  # half precision would draw some keys never
    noise = torch.empty_like(scores, dtype=dtype, requires_grad=False)
    return -noise.exponential_(generator=rng).log()


def draw(
    scores: Tensor,
    mask: Tensor | None = None,
    temperature: Tensor | float = 1.0,
    rng: torch.Generator | None = None,
) -> Choice:
    """index ~ Categorical(softmax(scores / τ)) among the keys that may be attended, with its log-probability.

    No gradient passes through the draw itself; log_prob gives the score-function estimator its gradient:
    E[reward ∇ log_prob] = ∇ E[reward]                      Williams 1992 (REINFORCE)

    scores (..., Tq, Tk), mask bool, broadcastable to scores -> Choice of (..., Tq)
    """
    logits = masks.fill(scores, mask, temperature)  # (..., Tq, Tk)
    with torch.no_grad():
        noisy = logits + gumbel(logits, rng)
        index = (noisy if mask is None else noisy.masked_fill(~mask, float("-inf"))).argmax(-1)  # (..., Tq)
    log_prob = logits.log_softmax(-1).gather(-1, index[..., None])[..., 0]  # (..., Tq)
    if mask is None:
        return Choice(index, log_prob)
    nothing = ~mask.any(-1).expand(index.shape)  # (..., Tq)
    return Choice(index.masked_fill(nothing, -1), log_prob.masked_fill(nothing, 0.0))


def gather(values: Tensor, index: Tensor) -> Tensor:
    """Read the chosen values.    values (..., Tk, Dv), index (..., Tq) -> (..., Tq, Dv); zeros where index is -1"""
    rows = index.clamp_min(0)[..., None].expand(*index.shape, values.shape[-1])  # (..., Tq, Dv)
    return values.gather(-2, rows).masked_fill((index < 0)[..., None], 0.0)


def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    score: Score = scaled_dot,
    mask: Tensor | None = None,
    rng: torch.Generator | None = None,
) -> tuple[Tensor, Choice]:
    """`attncourse.attend` with a sample in place of the expectation: values[index]    Xu et al. 2015, sec. 4.1

    query (B, Tq, D), keys (B, Tk, D), values (B, Tk, Dv), mask bool (B, Tq, Tk)
    returns context (B, Tq, Dv), Choice of (B, Tq)
    """
    choice = draw(score(query, keys), mask, rng=rng)
    return gather(values, choice.index), choice


def straight_through(weights: Tensor, index: Tensor) -> Tensor:
    """One-hot weights forward, the soft weights' gradient backward: a biased but low-variance estimator.

        one_hot(index) + weights - stop_gradient(weights)   Bengio et al. 2013

    weights (..., Tq, Tk), index (..., Tq) -> (..., Tq, Tk); a row of zeros where index is -1
    """
    places = torch.arange(weights.shape[-1], device=weights.device)  # (Tk,)
    one_hot = (index[..., None] == places).to(weights.dtype)  # (..., Tq, Tk)
    return one_hot + (weights - weights.detach())


def gumbel_softmax(
    scores: Tensor,
    mask: Tensor | None = None,
    temperature: Tensor | float = 1.0,
    rng: torch.Generator | None = None,
) -> Tensor:
    """A softened sample: softmax((scores + gumbel) / τ), one-hot as τ → 0    Jang et al. 2017, Maddison et al. 2017

    scores (..., Tq, Tk) -> weights (..., Tq, Tk). `straight_through(w, w.argmax(-1))` makes it one-hot forward.
    """
    return masks.softmax(scores + gumbel(scores, rng).to(scores.dtype), mask, temperature)
