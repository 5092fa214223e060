"""Search: from a model that predicts the next symbol to a whole output, a batch at a time.

A model offers `step(previous (B,), carry) -> logits (B, V), carry, weights (B, S)`, where carry is a
NamedTuple of batch-first tensors. Every decoder of the course does, so these two searches serve them all.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

Step = Callable[[Tensor, Any], tuple[Tensor, Any, Tensor]]  # `protocols.Stepper.step`


class Output(NamedTuple):
    symbols: Tensor  # (B, T) int; `end` from where the sentence has ended
    weights: Tensor  # (B, T, S), the attention of each step
    log_prob: Tensor  # (B,), of the symbols up to and including the first `end`


@torch.no_grad()
def greedy(step: Step, carry: Any, begin: int, end: int, max_steps: int) -> Output:
    """Take the most probable symbol at every step; stop when every sentence has ended."""
    batch = carry[0]
    previous = torch.full(batch.shape[:1], begin, device=batch.device)  # (B,)
    done = torch.zeros_like(previous, dtype=torch.bool)
    log_prob = torch.zeros(batch.shape[:1], device=batch.device)
    symbols, weights = [], []
    for _ in range(max_steps):
        logits, carry, weight = step(previous, carry)
        best, previous = logits.float().log_softmax(-1).max(-1)  # (B,), (B,)
        log_prob = log_prob + best.masked_fill(done, 0.0)
        previous = previous.masked_fill(done, end)
        symbols.append(previous)
        weights.append(weight)
        done = done | (previous == end)
        if done.all():
            break
    return Output(torch.stack(symbols, 1), torch.stack(weights, 1), log_prob)


@torch.no_grad()
def beam(step: Step, carry: Any, begin: int, end: int, max_steps: int, width: int = 4) -> Output:
    """Keep the `width` most probable beginnings of every sentence; return the best one.

    Sentences (B) and hypotheses (K = width) share one batch axis of B·K, so a step costs one call.
    """
    if width < 1:
        raise ValueError(f"a beam keeps at least one hypothesis; width is {width}")
    device, B, K = carry[0].device, len(carry[0]), width
    carry = type(carry)(*(x.repeat_interleave(K, 0) for x in carry))
    previous = torch.full((B * K,), begin, device=device)
    done = torch.zeros(B, K, dtype=torch.bool, device=device)
    log_prob = torch.full((B, K), -torch.inf, device=device)
    log_prob[:, 0] = 0.0  # all K copies are alike at first: let one of them speak
    first = torch.arange(B, device=device)[:, None] * K  # (B, 1), where each sentence's copies begin
    symbols, weights = torch.empty(B * K, 0, dtype=torch.long, device=device), list[Tensor]()
    for _ in range(max_steps):
        logits, carry, weight = step(previous, carry)
        gain = logits.float().log_softmax(-1).unflatten(0, (B, K))  # (B, K, V)
        stay = torch.full_like(gain, -torch.inf)
        stay[..., end] = 0.0  # an ended hypothesis goes on in one way only, for free
        gain = torch.where(done[..., None], stay, gain)
        log_prob, choice = (log_prob[..., None] + gain).flatten(1).topk(K, -1)  # (B, K) out of K·V
        parent = (first + choice // gain.shape[-1]).flatten()  # (B·K,)
        previous = (choice % gain.shape[-1]).flatten()  # (B·K,)
        carry = type(carry)(*(x[parent] for x in carry))
        symbols = torch.cat([symbols[parent], previous[:, None]], 1)
        weights = [w[parent] for w in [*weights, weight]]
        done = done.flatten()[parent].unflatten(0, (B, K)) | (previous == end).unflatten(0, (B, K))
        if done.all():
            break
    best = first[:, 0]  # topk sorts: each sentence's first hypothesis is its best
    return Output(symbols[best], torch.stack(weights, 1)[best], log_prob[:, 0])
