"""Texts for the cases of this chapter: random ones, and what a model writes by itself."""

import torch

from ....core.symbols import BEGIN, END, PAD
from ....running.decoding import greedy
from ...fixtures.bottleneck import SOURCE, Speller


def sources(rng: torch.Generator, lengths: tuple[int, ...], size: int) -> torch.Tensor:
    """Random texts, padded.    -> (B, size) int"""
    source = torch.randint(4, SOURCE, (len(lengths), size), generator=rng)
    return source.masked_fill(torch.arange(size) >= torch.tensor(lengths)[:, None], PAD)


def own_outputs(model: Speller, source: torch.Tensor, lengths: torch.Tensor, steps: int) -> list[list[int]]:
    """What the model writes on its own, without the END."""
    rows = greedy(model.step, model.begin(source, lengths), BEGIN, END, steps).symbols.tolist()
    return [row[: row.index(END)] if END in row else row for row in rows]
