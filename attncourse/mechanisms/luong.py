"""Luong's family: score × scope × feeding compose into one decoder (Luong et al. 2015)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.protocols import Score, matcher, prepare
from .seq2seq import BidirectionalEncoder


class Global(nn.Module):
    """Look at every source position.                      Luong et al. 2015, sec. 3.1

    query (B, Tq, H), keys (B, S, A), values (B, S, Dv), mask (B, 1, S), t (B, Tq) -> context, weights (B, Tq, S)
    """

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, score: Score, mask: Tensor, t: Tensor):
        return attend(query, keys, values, score, mask)


class LocalM(nn.Module):
    """Look at 2·radius + 1 positions around the target's own: p_t = t    Luong et al. 2015, sec. 3.2 ("local-m")"""

    def __init__(self, radius: int):
        super().__init__()
        self.radius = radius

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, score: Score, mask: Tensor, t: Tensor):
        return attend_window(query, keys, values, score, mask, t.to(query.dtype), self.radius)


class LocalP(nn.Module):
    """Predict where to look, and prefer what is near there.    Luong et al. 2015, eq. 9 and 10 ("local-p")

        p_t = S · sigmoid(v_pᵀ tanh(W_p h_t)),   a_t(s) = softmax_s(score) · exp(-(s - p_t)² / 2σ²),   σ = radius / 2

    The product is not normalised again. It is the only way in which p_t meets the output, so without the
    Gaussian W_p and v_p would get no gradient. S is each sentence's own length; positions count from 0.
    """

    def __init__(self, d_query: int, radius: int):
        super().__init__()
        self.radius = radius
        self.W_p = nn.Linear(d_query, d_query, bias=False)
        self.v_p = nn.Linear(d_query, 1, bias=False)

    def centre(self, query: Tensor, mask: Tensor) -> Tensor:
        """p_t, a real number between 0 and S.    query (B, Tq, H), mask (B, 1, S) -> (B, Tq)"""
        return mask.sum(-1) * torch.sigmoid(self.v_p(torch.tanh(self.W_p(query)))[..., 0])

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, score: Score, mask: Tensor, t: Tensor):
        def near(distance: Tensor) -> Tensor:
            return torch.exp(-2 * (distance / self.radius).square())  # σ = radius / 2

        return attend_window(query, keys, values, score, mask, self.centre(query, mask), self.radius, near)


def attend_window(
    query: Tensor, keys: Tensor, values: Tensor, score: Score, mask: Tensor, centre: Tensor, radius: int,
    near: Callable[[Tensor], Tensor] = torch.ones_like,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`attend` to the positions s with |s - centre| <= radius only, by gathering them: W = 2·radius + 1 for each query.

    query (B, Tq, H), keys (B, S, A), values (B, S, Dv), mask (B, 1, S), centre (B, Tq) real
    `near` maps distances s - centre to factors that multiply the weights after the softmax
    returns context (B, Tq, Dv), weights (B, Tq, S)

    However long the source, W keys are scored and W values read. Only the zeros around the weights grow with S.
    """
    size, first = keys.shape[1], torch.ceil(centre.detach() - radius)  # first (B, Tq)
    place = first[..., None] + torch.arange(2 * radius + 1, device=keys.device)  # (B, Tq, W), whole numbers
    distance = place - centre[..., None]
    index = place.long().clamp(0, size - 1)
    real = mask[:, 0].gather(1, index.flatten(1)).view_as(index)
    inside = (place >= 0) & (place < size) & (distance <= radius) & real  # (B, Tq, W)
    scores = score(query[:, :, None], _pick(keys, index))  # (B, Tq, 1, W)
    weights = masks.softmax(scores, inside[:, :, None]) * near(distance)[:, :, None]
    context = (weights @ _pick(values, index))[:, :, 0]  # (B, Tq, Dv)
    spread = weights.new_zeros(*index.shape[:2], size)  # what was clamped to the edge carries weight 0: add, not set
    return context, spread.scatter_add(-1, index, weights[:, :, 0])


def _pick(x: Tensor, index: Tensor) -> Tensor:
    """x (B, S, D), index (B, Tq, W) -> (B, Tq, W, D)"""
    rows = index.flatten(1)[..., None].expand(-1, -1, x.shape[-1])  # (B, Tq·W, D)
    return x.gather(1, rows).unflatten(1, index.shape[1:])


class Carry(NamedTuple):
    """What the decoder keeps while it writes one sentence; every tensor is batch first."""

    state: Tensor  # h_{t-1}             (B, H)
    attentional: Tensor  # h̃_{t-1}       (B, H)
    t: Tensor  # words written so far    (B,) int
    keys: Tensor  # what is scored       (B, S, A), projected once a sentence
    values: Tensor  # h̄_s                (B, S, H)
    mask: Tensor  # True = a real source word, (B, 1, S)


class InputFeeding:
    """The next step is told what the last one decided: the cell reads [y_{t-1}; h̃_{t-1}]    Luong 2015, sec. 3.3"""

    def extra(self, d_hidden: int) -> int:
        return d_hidden

    def unroll(self, decoder: "LuongDecoder", y: Tensor, carry: Carry) -> tuple[Tensor, Tensor, Carry]:
        """One step after the other: h̃_{t-1} is part of the input.    y (B, T, E) -> h̃ (B, T, H), weights, carry"""
        found, looked = [], []
        for now in y.unbind(1):
            x = torch.cat([now, carry.attentional], -1)[:, None]  # (B, 1, E + H)
            attentional, weights, carry = decoder.look(x, carry)
            found.append(attentional)
            looked.append(weights)
        return torch.cat(found, 1), torch.cat(looked, 1), carry


class NoFeeding:
    """Every step looks for itself; so all steps of a known target run at once."""

    def extra(self, d_hidden: int) -> int:
        return 0

    def unroll(self, decoder: "LuongDecoder", y: Tensor, carry: Carry) -> tuple[Tensor, Tensor, Carry]:
        return decoder.look(y, carry)


class LuongDecoder(nn.Module):
    """Update the state, look with the *current* one, combine, predict.

        h_t = GRU(h_{t-1}, y_{t-1} …),   c_t = Σ_s a_t(s) h̄_s,   h̃_t = tanh(W_c [c_t; h_t]),   p(y_t) = softmax(W_s h̃_t)

    Luong et al. 2015, eq. 5 to 7. `score`, `scope` and `feeding` are objects: any of them goes with any other.
    """

    def __init__(self, vocab: int, d_embed: int, d_hidden: int, score: Score, scope, feeding, dropout: float):
        super().__init__()
        self.score, self.scope, self.feeding = score, scope, feeding
        self.embed = nn.Embedding(vocab, d_embed)
        self.start = nn.Linear(d_hidden // 2, d_hidden)
        self.rnn = nn.GRU(d_embed + feeding.extra(d_hidden), d_hidden, batch_first=True)
        self.combine = nn.Linear(2 * d_hidden, d_hidden, bias=False)
        self.out = nn.Linear(d_hidden, vocab)
        self.dropout = nn.Dropout(dropout)

    def begin(self, annotations: Tensor, lengths: Tensor) -> Carry:
        """h_0 from the backward state that has read the whole source; h̃_0 = 0"""
        state = torch.tanh(self.start(annotations[:, 0].chunk(2, -1)[1]))  # (B, H)
        keys = prepare(self.score, annotations)  # (B, S, A)
        mask = masks.padding(lengths, annotations.shape[1])  # (B, 1, S)
        return Carry(state, torch.zeros_like(state), torch.zeros_like(lengths), keys, annotations, mask)

    def look(self, x: Tensor, carry: Carry) -> tuple[Tensor, Tensor, Carry]:
        """x (B, T, ·), the cell's inputs -> h̃ (B, T, H), weights (B, T, S), carry"""
        states, _ = self.rnn(x, carry.state[None].contiguous())  # (B, T, H)
        t = carry.t[:, None] + torch.arange(x.shape[1], device=x.device)  # (B, T)
        context, weights = self.scope(states, carry.keys, carry.values, matcher(self.score), carry.mask, t)
        attentional = torch.tanh(self.combine(torch.cat([context, states], -1)))  # (B, T, H)
        carry = carry._replace(state=states[:, -1], attentional=attentional[:, -1], t=t[:, -1] + 1)
        return attentional, weights, carry

    def forward(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        """previous (B, T) int, the true last words -> logits (B, T, V), carry, weights (B, T, S)"""
        attentional, weights, carry = self.feeding.unroll(self, self.dropout(self.embed(previous)), carry)
        return self.out(self.dropout(attentional)), carry, weights


class Luong(nn.Module):
    """Encoder and decoder; `Luong(…, score=General(H, H), scope=LocalP(H, radius=3), feeding=InputFeeding())`.

    Differs from the paper: one bidirectional GRU layer of H/2 a direction (so that `dot` finds equal sizes) where
    the paper stacks four LSTM layers that read forwards.
    """

    def __init__(
        self, source_vocab: int, target_vocab: int, score: Score, scope: nn.Module, feeding,
        d_embed: int = 64, d_hidden: int = 128, dropout: float = 0.0,
    ):  # fmt: skip
        super().__init__()
        self.encoder = BidirectionalEncoder(source_vocab, d_embed, d_hidden // 2)
        self.decoder = LuongDecoder(target_vocab, d_embed, d_hidden, score, scope, feeding, dropout)

    def begin(self, source: Tensor, lengths: Tensor) -> Carry:
        x = self.decoder.dropout(self.encoder.embed(source))  # (B, S, E)
        return self.decoder.begin(self.encoder.annotate(x, lengths), lengths)

    def step(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        """previous (B,) int, the last word -> logits (B, V), carry, weights (B, S)"""
        logits, carry, weights = self.decoder(previous[:, None], carry)
        return logits[:, 0], carry, weights[:, 0]

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        """Teacher forcing: previous (B, T), starting with BEGIN -> logits (B, T, V), weights (B, T, S)"""
        logits, _, weights = self.decoder(previous, self.begin(source, lengths))
        return logits, weights
