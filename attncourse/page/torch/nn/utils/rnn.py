"""Sequences of different lengths in one tensor."""

from ...tensor import FUNCTIONS
from ...unknown import getter

__getattr__ = getter("torch.nn.utils.rnn")


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    longest = max(len(x) for x in sequences)
    rows = [FUNCTIONS["cat"]([x, x.new_full((longest - len(x), *x.shape[1:]), padding_value)]) for x in sequences]
    return FUNCTIONS["stack"](rows, 0 if batch_first else 1)
