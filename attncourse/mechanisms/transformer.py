"""The Transformer: attention, and nothing that has to be computed one step after another (Vaswani et al. 2017)."""

from contextlib import contextmanager
from inspect import signature
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.scores import scaled_dot

Pair = tuple[Tensor, Tensor]  # keys and values, (B, H, T, Dh) each


class MultiHead(nn.Module):
    """H attentions side by side, each in a subspace of its own.

        head_h = softmax(Q_h K_hᵀ / √Dh) V_h,   out = [head_1; …; head_H] W_o     Vaswani et al. 2017, sec. 3.2.2

    x (B, Tq, D), keys and values (B, H, Tk, Dh) from `memorise`, mask bool, broadcastable to (B, H, Tq, Tk)
    returns (B, Tq, D)

    Every head runs `attend`, all of them at once; `FusedMultiHead` computes the same numbers faster.
    """

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        if d_model % heads:
            raise ValueError(f"{heads} heads of equal size do not fit into d_model = {d_model}: {d_model % heads} over")
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, T, D) -> (B, H, T, Dh)

    def memorise(self, source: Tensor) -> Pair:
        """source (B, Tk, D) -> keys, values (B, H, Tk, Dh), which a decoder keeps while it writes"""
        return self.split(self.key(source)), self.split(self.value(source))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        query = self.split(self.query(x))  # (B, H, Tq, Dh)
        context, _ = attend(query, keys, values, mask=mask)  # (B, H, Tq, Dh): each head for itself
        return self.out(self.join(context))  # (B, Tq, D)

    def join(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(-2)  # (B, H, T, Dh) -> (B, T, D)

    def weights(self, x: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the heads look at.    -> weights (B, H, Tq, Tk)"""
        return masks.softmax(scaled_dot(self.split(self.query(x)), keys), mask)


class FusedMultiHead(MultiHead):
    """The same by torch's fused kernel, which never holds the weights: what the layers below are made of."""

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        query = self.split(self.query(x))  # (B, H, Tq, Dh)
        context = F.scaled_dot_product_attention(query, keys, values, mask)  # (B, H, Tq, Dh)
        return self.out(self.join(context))  # (B, Tq, D)


@contextmanager
def watch(*modules: MultiHead):
    """The weights of each of these, in the order in which they are called: a list that fills while the model runs."""
    maps = []

    def look(module: MultiHead, args: tuple, kwargs: dict, out: Tensor) -> None:
        given = signature(module.forward).bind(*args, **kwargs).arguments
        maps.append(module.weights(given["x"], given["keys"], given.get("mask")))

    handles = [module.register_forward_hook(look, with_kwargs=True) for module in modules]
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def feed_forward(d_model: int, d_ff: int) -> nn.Sequential:
    """The same two layers at every position: max(0, x W_1 + b_1) W_2 + b_2        Vaswani et al. 2017, eq. 2"""
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


def positions(size: int, d_model: int, like: Tensor, start: int = 0) -> Tensor:
    """A clock with d_model/2 hands, from one turn in 2π positions to one in 2π·10000.    sec. 3.5

        PE(p, 2i) = sin(p / 10000^(2i/d)),   PE(p, 2i+1) = cos(p / 10000^(2i/d))

    -> (size, d_model) for p = start, start + 1, …; device and dtype of `like`
    """
    p = torch.arange(start, start + size, device=like.device, dtype=torch.float32)[:, None]  # (T, 1)
    even = torch.arange(0, d_model, 2, device=like.device, dtype=torch.float32)  # (D/2,)
    angle = p * 10_000 ** (-even / d_model)  # (T, D/2)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :d_model].to(like.dtype)  # (T, D)


class Embed(nn.Module):
    """What the symbol is, plus where it stands: √D · table[symbol] + PE(position)        sec. 3.4, 3.5"""

    def __init__(self, table: nn.Embedding, dropout: float = 0.1):
        super().__init__()
        self.table, self.dropout = table, nn.Dropout(dropout)

    def forward(self, symbols: Tensor, start: int = 0) -> Tensor:
        x = self.table(symbols) * self.table.embedding_dim**0.5  # (B, T, D)
        return self.dropout(x + positions(symbols.shape[1], self.table.embedding_dim, x, start))


class PostNorm(nn.Module):
    """The paper's residual: LayerNorm(x + dropout(f(x)))."""

    last = nn.Identity  # what closes a stack of such layers, made with d_model

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        return x

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        return self.norm(x + self.dropout(y))

    def forward(self, x: Tensor, f) -> Tensor:
        return self.after(x, f(self.before(x)))


class PreNorm(PostNorm):
    """The residual that most later models took: x + dropout(f(LayerNorm(x)))."""

    last = nn.LayerNorm

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x)

    def after(self, x: Tensor, y: Tensor) -> Tensor:
        return x + self.dropout(y)


class EncoderLayer(nn.Module):
    """Every position looks at every position, then thinks for itself.    x (B, S, D) -> (B, S, D)"""

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, residual=PostNorm):
        super().__init__()
        self.attention, self.feed_forward = FusedMultiHead(d_model, heads), feed_forward(d_model, d_ff)
        self.residuals = nn.ModuleList(residual(d_model, dropout) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        look, think = self.residuals
        x = look(x, lambda y: self.attention(y, *self.attention.memorise(y), mask))
        return think(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Look back at what is written, look at the source, think.    x (B, T, D) -> (B, T, D)

    While writing, x is the newest position (T = 1) and `room` holds the keys and values of all positions, with the
    last place empty for it. Training and writing run the same lines, so a cache cannot drift from what was trained.
    """

    def __init__(self, d_model: int, heads: int, d_ff: int, dropout: float = 0.1, residual=PostNorm):
        super().__init__()
        self.itself, self.cross = FusedMultiHead(d_model, heads), FusedMultiHead(d_model, heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.residuals = nn.ModuleList(residual(d_model, dropout) for _ in range(3))

    def forward(self, x: Tensor, source: Pair, mask=None, causal=None, room: Pair | None = None) -> Tensor:
        """source: `self.cross.memorise(read)`, once a sentence; room: (B, H, written + 1, Dh) each, is filled"""
        back, look, think = self.residuals
        y = back.before(x)
        keys, values = self.itself.memorise(y)
        if room is not None:
            room[0][:, :, -1:], room[1][:, :, -1:] = keys, values
            keys, values = room
        x = back.after(x, self.itself(y, keys, values, causal))
        x = look(x, lambda y: self.cross(y, *source, mask))
        return think(x, self.feed_forward)


class EncoderStack(nn.Module):
    """source (B, S) int, lengths (B,) -> x (B, S, D), mask (B, 1, 1, S)"""

    def __init__(self, embed: Embed, layers: list[EncoderLayer], last: nn.Module):
        super().__init__()
        self.embed, self.layers, self.last = embed, nn.ModuleList(layers), last

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        mask = masks.padding(lengths, source.shape[1])[:, None]
        x = self.embed(source)
        for layer in self.layers:
            x = layer(x, mask)
        return self.last(x), mask


class Carry(NamedTuple):
    """What the decoder keeps while it writes; L layers, every tensor batch first."""

    keys: Tensor  # of what is written, (B, L, H, T, Dh)
    values: Tensor
    source_keys: Tensor  # (B, L, H, S, Dh), computed once a sentence
    source_values: Tensor
    mask: Tensor  # True = a real source symbol, (B, 1, 1, S)


class DecoderStack(nn.Module):
    """All positions at once (`forward`, teacher forcing) or one more symbol (`step`); the table is the output layer."""

    def __init__(self, embed: Embed, layers: list[DecoderLayer], last: nn.Module):
        super().__init__()
        self.embed, self.layers, self.last = embed, nn.ModuleList(layers), last

    def forward(self, previous: Tensor, read: Tensor, mask: Tensor) -> Tensor:
        """previous (B, T) int, read (B, S, D) -> logits (B, T, V)"""
        causal = masks.causal(previous.shape[1], previous.device)
        x = self.embed(previous)
        for layer in self.layers:
            x = layer(x, layer.cross.memorise(read), mask, causal)
        return F.linear(self.last(x), self.embed.table.weight)

    def begin(self, read: Tensor, mask: Tensor) -> Carry:
        keys, values = zip(*(layer.cross.memorise(read) for layer in self.layers), strict=True)
        keys, values = torch.stack(keys, 1), torch.stack(values, 1)  # (B, L, H, S, Dh)
        return Carry(keys[..., :0, :], values[..., :0, :], keys, values, mask)

    def step(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        """previous (B,) int -> logits (B, V), carry, weights (B, S): the last layer's look, its heads averaged

        The cache is copied once a step, all layers together, and filled in place: for writing, not for gradients.
        """
        x = self.embed(previous[:, None], start=carry.keys.shape[3])  # (B, 1, D)
        keys, values = (F.pad(part, (0, 0, 0, 1)) for part in carry[:2])  # (B, L, H, T + 1, Dh)
        with watch(self.layers[-1].cross) as maps:
            for i, layer in enumerate(self.layers):
                source, room = ((a[:, i], b[:, i]) for a, b in (carry[2:4], (keys, values)))
                x = layer(x, source, carry.mask, room=room)
        logits = F.linear(self.last(x[:, 0]), self.embed.table.weight)
        return logits, carry._replace(keys=keys, values=values), maps[0].mean(1)[:, 0]


class Maps(NamedTuple):
    """The weights of every layer and head."""

    encoder: Tensor  # (B, L, H, S, S)
    decoder: Tensor  # (B, L, H, T, T)
    cross: Tensor  # (B, L, H, T, S)


class Transformer(nn.Module):
    """Encoder and decoder stacks between two tables of embeddings; the target's is also the output layer.

    Give one table twice, and source, target and output share it, as in the paper.

    Differs from the paper: no bias in the output layer.
    """

    def __init__(self, source: nn.Embedding, target: nn.Embedding, layers=6, heads=8, d_ff=2048, dropout=0.1,
                 residual=PostNorm):  # fmt: skip
        super().__init__()
        d = target.embedding_dim
        sizes = d, heads, d_ff, dropout, residual
        self.encoder = EncoderStack(
            Embed(source, dropout), [EncoderLayer(*sizes) for _ in range(layers)], residual.last(d)
        )
        self.decoder = DecoderStack(
            Embed(target, dropout), [DecoderLayer(*sizes) for _ in range(layers)], residual.last(d)
        )
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> Tensor:
        """source (B, S), lengths (B,), previous (B, T) -> logits (B, T, V)"""
        return self.decoder(previous, *self.encoder(source, lengths))

    def begin(self, source: Tensor, lengths: Tensor) -> Carry:
        return self.decoder.begin(*self.encoder(source, lengths))

    def step(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        return self.decoder.step(previous, carry)

    def weights(self, source: Tensor, lengths: Tensor, previous: Tensor) -> Maps:
        groups = [[layer.attention for layer in self.encoder.layers]]
        groups += [[getattr(layer, kind) for layer in self.decoder.layers] for kind in ("itself", "cross")]
        with watch(*groups[0]) as encoder, watch(*groups[1]) as decoder, watch(*groups[2]) as cross:
            self(source, lengths, previous)
        return Maps(*(torch.stack(maps, 1) for maps in (encoder, decoder, cross)))


def warm_up(step: int, d_model: int, steps: int = 4_000) -> float:
    """lr = d^-½ · min(step^-½, step · steps^-1.5), step from 1        Vaswani et al. 2017, eq. 3"""
    return d_model**-0.5 * min(step**-0.5, step * steps**-1.5)
