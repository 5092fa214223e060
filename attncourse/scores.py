"""Scores: how well does a query match a key? Each takes query (B, Tq, Dq), keys (B, Tk, Dk) -> (B, Tq, Tk)."""

import torch
from torch import Tensor, nn


def dot(query: Tensor, keys: Tensor) -> Tensor:
    """score = queryᵀ key                                   Luong et al. 2015, sec. 3.1"""
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"dot needs equal sizes: query has {query.shape[-1]}, keys have {keys.shape[-1]}; "
            f"Additive({query.shape[-1]}, {keys.shape[-1]}, size) learns to compare them"
        )
    return query @ keys.transpose(-2, -1)  # (B, Tq, Tk)


def scaled_dot(query: Tensor, keys: Tensor) -> Tensor:
    """score = queryᵀ key / √D, so that its variance does not grow with D    Vaswani et al. 2017, eq. 1"""
    return dot(query, keys) / query.shape[-1] ** 0.5


class Additive(nn.Module):
    """score = vᵀ tanh(W_q query + W_k key)                 Bahdanau et al. 2015, sec. A.1.2

    query (B, Tq, Dq), keys (B, Tk, Dk) -> scores (B, Tq, Tk)

    W_k key does not depend on the query: a decoder computes `project(keys)` once a sentence
    and calls `match` at every step.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.W_q = nn.Linear(d_query, d_hidden, bias=False)
        self.W_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) * d_hidden**-0.5)

    def project(self, keys: Tensor) -> Tensor:
        return self.W_k(keys)  # (B, Tk, d_hidden)

    def match(self, query: Tensor, projected: Tensor) -> Tensor:
        hidden = torch.tanh(self.W_q(query)[..., :, None, :] + projected[..., None, :, :])  # (B, Tq, Tk, d_hidden)
        return hidden @ self.v  # (B, Tq, Tk)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.match(query, self.project(keys))
