"""Drawings of the mechanisms, one function each, in one visual grammar.

>>> from attncourse import diagrams
>>> diagrams.rnnsearch()
"""

import importlib
from typing import Any

from ..running import record

EXPORTS = {  # drawing -> the module that holds it
    "score_normalise_read": "look",
    "legend": "grammar",
    "gru_cell": "cells",
    "lstm_cell": "cells",
    "axes_of_a_batch": "primers",
    "broadcasting": "primers",
    "softmax_axis": "primers",
    "splitting_heads": "primers",
    "unrolled_rnn": "primers",
    "encoder_decoder": "seq2seq",
    "bidirectional_encoder": "seq2seq",
    "rnnsearch": "seq2seq",
    "multi_head": "transformer",
    "encoder_layer": "transformer",
    "decoder_layer": "transformer",
    "whole_transformer": "transformer",
}
__all__ = list(EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in EXPORTS:
        raise AttributeError(f"there is no drawing {name!r}; there are: {', '.join(EXPORTS)}")
    record.used("drawing", name)
    return getattr(importlib.import_module(f"{__name__}.{EXPORTS[name]}"), name)
