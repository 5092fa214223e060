"""The small encoder-decoder that the answers of this chapter are given."""

import torch

from ...decoding import greedy
from ...seq2seq import EncoderDecoder
from ...tasks.text import BEGIN, END, PAD, UNKNOWN

SOURCE, TARGET = 12, 8  # sizes of the vocabularies; PAD, BEGIN, END, UNKNOWN are the first four of each


class Speller(EncoderDecoder):
    """Untrained, with larger weights than PyTorch begins with: what it is fed has to show in what it writes."""

    def __init__(self, d_hidden: int):
        super().__init__(SOURCE, TARGET, d_embed=6, d_hidden=d_hidden, d_context=d_hidden)
        with torch.no_grad():
            for p in self.parameters():
                p *= 2.5
            self.decoder.out.bias[[PAD, BEGIN, UNKNOWN]] -= 20  # what stands for nothing is never written


def sources(draw: torch.Generator, lengths: tuple[int, ...], size: int) -> torch.Tensor:
    """Random texts, padded.    -> (B, size) int"""
    source = torch.randint(4, SOURCE, (len(lengths), size), generator=draw)
    return source.masked_fill(torch.arange(size) >= torch.tensor(lengths)[:, None], PAD)


def own_outputs(model: Speller, source: torch.Tensor, lengths: torch.Tensor, steps: int) -> list[list[int]]:
    """What the model writes on its own, without the END."""
    rows = greedy(model.step, model.begin(source, lengths), BEGIN, END, steps).symbols.tolist()
    return [row[: row.index(END)] if END in row else row for row in rows]
