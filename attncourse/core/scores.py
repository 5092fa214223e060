"""Scores: how well does a query match a key? Each takes query (B, Tq, Dq), keys (B, Tk, Dk) -> (B, Tq, Tk)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def content(query: Tensor, keys: Tensor, strength: Tensor | float = 1.0, shortest: float = 1e-6) -> Tensor:
    """score = β cos(query, key): direction alone counts    Graves et al. 2014, eq. 5 and 6

    `strength` β is a number or broadcasts to (B, Tq, 1): one for each query. A zero vector scores 0, and a key shorter
    than `shortest` is taken to be that long: it scores less than its direction deserves.
    """
    _need_equal("content", query, keys)
    # 1e-6 and not torch's 1e-12, which float16 rounds to 0: a zero vector would be 0/0
    wanted = strength * F.normalize(query, dim=-1, eps=1e-6)  # (B, Tq, D)
    lengths = keys.norm(dim=-1).clamp_min(shortest)  # (B, Tk): dividing the scores is cheaper than dividing the keys
    return wanted @ keys.mT / lengths[..., None, :]  # (B, Tq, Tk)


def dot(query: Tensor, keys: Tensor) -> Tensor:
    """score = queryᵀ key                                   Luong et al. 2015, sec. 3.1"""
    _need_equal("dot", query, keys)
    return query @ keys.mT  # (B, Tq, Tk)


def scaled_dot(query: Tensor, keys: Tensor) -> Tensor:
    """score = queryᵀ key / √D, so that its variance does not grow with D    Vaswani et al. 2017, eq. 1"""
    return dot(query, keys) / query.shape[-1] ** 0.5


class General(nn.Module):
    """score = queryᵀ W key                                 Luong et al. 2015, sec. 3.1 ("general")

    query (B, Tq, Dq), keys (B, Tk, Dk) -> scores (B, Tq, Tk)

    A dot product with the keys brought into the query's space: a decoder computes `project(keys)` once a
    sentence and calls `match`, which is `dot`, at every step.
    """

    match = staticmethod(dot)

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        self.W = nn.Linear(d_key, d_query, bias=False)

    def project(self, keys: Tensor) -> Tensor:
        return self.W(keys)  # (B, Tk, Dq)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        _need(self, (self.W.out_features, self.W.in_features), query, keys)
        return self.match(query, self.project(keys))


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
        _need(self, (self.W_q.in_features, self.W_k.in_features), query, keys)
        return self.match(query, self.project(keys))


class Location(nn.Module):
    """score_j = (W query)_j: the query names a place; what the keys hold is not looked at

                                                            Luong et al. 2015, eq. 8 ("location")

    query (B, Tq, Dq), keys (B, Tk, any) -> scores (B, Tq, Tk); W has `max_length` rows, the first Tk are used
    """

    def __init__(self, d_query: int, max_length: int):
        super().__init__()
        self.W = nn.Linear(d_query, max_length, bias=False)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        _need(self, (self.W.in_features, None), query, keys)
        if keys.shape[-2] > self.W.out_features:
            raise ValueError(
                f"Location knows {self.W.out_features} places, keys have {keys.shape[-2]} positions; "
                f"use `Location({self.W.in_features}, {keys.shape[-2]})` or another score"
            )
        return self.W(query)[..., : keys.shape[-2]]  # (B, Tq, Tk)


def _need_equal(name: str, query: Tensor, keys: Tensor) -> None:
    d_query, d_key = query.shape[-1], keys.shape[-1]
    if d_query != d_key:
        raise ValueError(
            f"{name} needs equal sizes: query has {d_query}, keys have {d_key}; use `General({d_query}, {d_key})`"
        )


def _need(module: nn.Module, sizes: tuple[int, int | None], query: Tensor, keys: Tensor) -> None:
    """Does a learned score meet the sizes that it was made for? None: any size will do."""
    seen = query.shape[-1], keys.shape[-1]
    if any(wanted not in (None, size) for wanted, size in zip(sizes, seen, strict=True)):
        wanted = " and ".join(f"{n} in {name}" for n, name in zip(sizes, ("query", "keys"), strict=True) if n)
        raise ValueError(
            f"this {type(module).__name__} was made for {wanted}; query has {seen[0]}, keys have {seen[1]}: "
            "its first arguments are the sizes of query and keys, in this order"
        )
