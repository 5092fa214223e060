"""Attention = score -> normalise -> read."""

from torch import Tensor

from . import masks
from .protocols import Score
from .scores import scaled_dot


def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    score: Score = scaled_dot,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Read `values` where `keys` match `query`.

        softmax(score(query, keys)) values                  Vaswani et al. 2017, eq. 1

    query (B, Tq, D), keys (B, Tk, D), values (B, Tk, Dv), mask bool (B, Tq, Tk)
    returns context (B, Tq, Dv), weights (B, Tq, Tk)
    """
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"one value for each key: keys have {keys.shape[-2]} positions (shape {tuple(keys.shape)}), "
            f"values have {values.shape[-2]} (shape {tuple(values.shape)})"
        )
    weights = masks.softmax(score(query, keys), mask)  # (B, Tq, Tk), over keys
    return weights @ values, weights
