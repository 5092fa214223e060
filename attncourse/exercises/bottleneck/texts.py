"""Texts for the cases of this chapter: random ones, and what a model writes by itself."""

import torch

from ...decoding import greedy
from ...tasks.text import BEGIN, END, PAD
from ..fixtures.bottleneck import SOURCE, Speller


def sources(draw: torch.Generator, lengths: tuple[int, ...], size: int) -> torch.Tensor:
    """Random texts, padded.    -> (B, size) int"""
    source = torch.randint(4, SOURCE, (len(lengths), size), generator=draw)
    return source.masked_fill(torch.arange(size) >= torch.tensor(lengths)[:, None], PAD)


def own_outputs(model: Speller, source: torch.Tensor, lengths: torch.Tensor, steps: int) -> list[list[int]]:
    """What the model writes on its own, without the END."""
    rows = greedy(model.step, model.begin(source, lengths), BEGIN, END, steps).symbols.tolist()
    return [row[: row.index(END)] if END in row else row for row in rows]
