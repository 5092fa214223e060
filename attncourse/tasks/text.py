"""Text as symbols: the one vocabulary class of every character-level task."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ..core.symbols import END, PAD, UNKNOWN


class Vocabulary:
    """Characters <-> ids. `encode` pads and closes each text with END, so even an empty one has a symbol to read."""

    def __init__(self, characters: str):
        self.characters = characters
        self.ids = {c: i for i, c in enumerate(characters, start=UNKNOWN + 1)}

    def __len__(self) -> int:
        return UNKNOWN + 1 + len(self.characters)

    def encode(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """-> ids (B, T) padded with PAD, lengths (B,) that count the END"""
        if isinstance(texts, str):
            raise TypeError(f"encode takes a list of texts; for one text write encode([{texts!r}])")
        rows = [torch.tensor([self.ids.get(c, UNKNOWN) for c in text] + [END]) for text in texts]
        lengths = torch.tensor([len(row) for row in rows])
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD), lengths

    def decode(self, ids: Iterable[Iterable[int]]) -> list[str]:
        """The texts up to their first END."""
        return ["".join(self._until_end(row)) for row in ids]

    def _until_end(self, row: Iterable[int]) -> Iterable[str]:
        for i in map(int, row):
            if i == END:
                return
            yield self.characters[i - UNKNOWN - 1] if i > UNKNOWN else "\N{REPLACEMENT CHARACTER}"
