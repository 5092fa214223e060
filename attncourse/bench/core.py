"""`attncourse bench core`: attend, recurrent reading and decoding, the sequential Jacobian."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..core import masks
from ..core.attention import attend
from ..core.symbols import BEGIN, END
from ..mechanisms import seq2seq
from ..running.decoding import greedy
from . import sequential

Groups = dict[str, dict[str, Callable[[], object]]]


def loop_attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention one query at a time, as one would write it first."""
    context = torch.zeros(*query.shape[:2], values.shape[-1])
    for b in range(query.shape[0]):
        for t in range(query.shape[1]):
            weights = torch.softmax(keys[b] @ query[b, t] / query.shape[-1] ** 0.5, 0)
            context[b, t] = weights @ values[b]
    return context


def multi_head(x: Tensor, module: nn.MultiheadAttention) -> tuple[Tensor, Tensor]:
    """`attend` between the projections of a torch module: the same numbers, and each head's weights."""
    parts = F.linear(x, module.in_proj_weight, module.in_proj_bias).chunk(3, -1)  # 3 of (B, T, D)
    query, keys, values = (p.unflatten(-1, (module.num_heads, -1)).transpose(1, 2) for p in parts)  # (B, H, T, Dh)
    context, weights = attend(query, keys, values)
    return module.out_proj(context.transpose(1, 2).flatten(-2)), weights  # (B, T, D), (B, H, T, T)


def _attention() -> Groups:
    query, keys, values = (torch.randn(16, 64, 64) for _ in range(3))
    x, module = torch.randn(16, 64, 64), nn.MultiheadAttention(64, 4, batch_first=True).eval()

    def math_path():
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(query, keys, values)

    return {
        "attention, B 16, Tq = Tk 64, D 64": {
            "attend": lambda: attend(query, keys, values),
            "F.scaled_dot_product_attention, math path (no weights)": math_path,
            "F.scaled_dot_product_attention (no weights)": lambda: F.scaled_dot_product_attention(query, keys, values),
            "a loop over batch and queries": lambda: loop_attend(query, keys, values),
        },
        "four heads with projections and weights, B 16, T 64, D 64": {
            "attend": lambda: multi_head(x, module),
            "nn.MultiheadAttention, need_weights=True": lambda: module(
                x, x, x, need_weights=True, average_attn_weights=False
            ),
        },
    }


def _recurrent() -> Groups:
    model = seq2seq.RNNsearch(128, 16).eval()
    source, lengths = torch.randint(4, 128, (32, 24)), torch.randint(8, 25, (32,))

    def decode(rows):
        with torch.no_grad():
            carry = model.begin(source[rows], lengths[rows])
            return greedy(model.step, carry, BEGIN, END, max_steps=11)

    long_source, long_lengths = torch.randint(4, 128, (64, 40)), torch.randint(5, 41, (64,))
    embedded = model.encoder.embed(long_source).detach()
    packed = nn.GRU(32, 96, batch_first=True, bidirectional=True)

    def by_packing():
        rows = nn.utils.rnn.pack_padded_sequence(embedded, long_lengths, True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(packed(rows)[0], batch_first=True)

    state, annotations = torch.randn(32, 1, 96), torch.randn(32, 24, 192)
    score, mask = model.decoder.score, masks.padding(lengths, 24)
    projected = score.project(annotations).detach()
    return {
        "one additive look, B 32, S 24": {
            "keys projected once": lambda: attend(state, projected, annotations, score.match, mask),
            "keys projected at every step": lambda: attend(state, annotations, annotations, score, mask),
        },
        "bidirectional encoder, B 64, lengths 5-40": {
            "reversal within length": lambda: model.encoder.annotate(embedded, long_lengths),
            "packed sequences": by_packing,
        },
        "greedy decoding of 32 sentences": {
            "as one batch": lambda: decode(slice(None)),
            "one by one": lambda: [decode(slice(i, i + 1)) for i in range(32)],
        },
    }


def bench() -> Groups:
    return _attention() | _recurrent() | sequential.bench()
