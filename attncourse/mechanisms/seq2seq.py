"""Recurrent encoder-decoders, one vector for the whole source (Cho, Sutskever et al. 2014) or a look at it before
every symbol (RNNsearch, Bahdanau et al. 2015). Both are made of the same parts; the score is the one that differs."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.recurrent import both_ways, last
from ..core.scores import Additive


class OneVectorEncoder(nn.Module):
    """Read the source once, from left to right, and keep one vector of it, whatever its length.

        h_j = GRU(h_{j-1}, x_j),  c = h_S                   Cho et al. 2014, sec. 2; Sutskever et al. 2014, sec. 2

    source (B, S) int, lengths (B,) -> the fixed vector, as the only annotation (B, 1, d_context)
    """

    def __init__(self, vocab: int, d_embed: int, d_context: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.forwards = nn.GRU(d_embed, d_context, batch_first=True)

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        return self.annotate(self.embed(source), lengths)

    def annotate(self, x: Tensor, lengths: Tensor) -> Tensor:
        """From embedded symbols (B, S, d_embed): where a Jacobian with respect to the input starts."""
        states, _ = self.forwards(x)  # (B, S, C)
        return last(states, lengths)[:, None]  # (B, 1, C)


class BidirectionalEncoder(nn.Module):
    """Annotate each source symbol with what precedes and what follows it.

        h_j = [→h_j ; ←h_j]                                 Bahdanau et al. 2015, eq. 7

    source (B, S) int, lengths (B,) -> annotations (B, S, 2·d_hidden)

    Padding costs no packing: see `recurrent.both_ways`.
    """

    def __init__(self, vocab: int, d_embed: int, d_hidden: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.forwards = nn.GRU(d_embed, d_hidden, batch_first=True)
        self.backwards = nn.GRU(d_embed, d_hidden, batch_first=True)

    def forward(self, source: Tensor, lengths: Tensor) -> Tensor:
        return self.annotate(self.embed(source), lengths)

    def annotate(self, x: Tensor, lengths: Tensor) -> Tensor:
        """From embedded symbols (B, S, d_embed): where a Jacobian with respect to the input starts."""
        return both_ways(self.forwards, self.backwards, x, lengths)  # (B, S, 2H)


class OneVectorCarry(NamedTuple):
    """What a decoder without attention keeps of a sentence; every tensor is batch first."""

    state: Tensor  # s_{i-1}       (B, H)
    context: Tensor  # c           (B, C), the same for every symbol


class AttentiveCarry(NamedTuple):
    """What the decoder keeps while it writes one sentence; every tensor is batch first."""

    state: Tensor  # s_{i-1}       (B, H)
    keys: Tensor  # W_k h_j        (B, S, A), computed once a sentence
    values: Tensor  # h_j          (B, S, 2H)
    mask: Tensor  # True = a real source symbol, (B, 1, S)


class OneVectorDecoder(nn.Module):
    """Write one symbol: take the context, update the state, predict. The context is one vector for all symbols.

        s_0 = tanh(W_s c),  s_i = GRU(s_{i-1}, [y_{i-1}; c]),  p(y_i) = softmax(W_o maxout(U [s_i; y_{i-1}; c]))

    Cho et al. 2014, sec. 2.2 and A.1
    """

    def __init__(self, vocab: int, d_embed: int, d_hidden: int, d_context: int, d_start: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.equip(d_hidden, d_context)  # here, so that a seed draws the weights that it always drew
        self.start = nn.Linear(d_start, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_context, d_hidden)
        self.readout = nn.Linear(d_hidden + d_embed + d_context, 2 * d_hidden)
        self.out = nn.Linear(d_hidden, vocab)

    def equip(self, d_hidden: int, d_context: int) -> None:
        """What is needed to choose a context: nothing, there is only one."""

    def begin(self, annotations: Tensor, lengths: Tensor) -> OneVectorCarry:
        context = annotations[:, 0]  # (B, C)
        return OneVectorCarry(torch.tanh(self.start(context)), context)

    def read(self, carry: OneVectorCarry) -> tuple[Tensor, Tensor]:
        """-> context (B, C), weights (B, 1): all of it on the one vector there is"""
        return carry.context, torch.ones_like(carry.context[:, :1])

    def step(self, previous: Tensor, carry) -> tuple[Tensor, NamedTuple, Tensor]:
        """previous (B,) int, the last symbol -> logits (B, V), carry, weights (B, S)"""
        context, weights = self.read(carry)
        y = self.embed(previous)  # (B, E)
        state = self.cell(torch.cat([y, context], -1), carry.state)  # (B, H)
        pairs = self.readout(torch.cat([state, y, context], -1))  # (B, 2H)
        logits = self.out(pairs.unflatten(-1, (-1, 2)).amax(-1))  # (B, V), maxout of pairs
        return logits, carry._replace(state=state), weights


class AttentiveDecoder(OneVectorDecoder):
    """A OneVectorDecoder with one object more, the score: it looks with the *previous* state before it writes.

        a_i = softmax_j(vᵀ tanh(W_q s_{i-1} + W_k h_j)),  c_i = Σ_j a_ij h_j in the place of c

    Bahdanau et al. 2015, sec. 3.1 and A.2.2
    """

    def __init__(self, vocab: int, d_embed: int, d_hidden: int):
        super().__init__(vocab, d_embed, d_hidden, d_context=2 * d_hidden, d_start=d_hidden)

    def equip(self, d_hidden: int, d_context: int) -> None:
        self.score = Additive(d_hidden, d_context, d_hidden)

    def begin(self, annotations: Tensor, lengths: Tensor) -> AttentiveCarry:
        """s_0 = tanh(W_s ←h_1): the backward state that has read the whole source."""
        back_first = annotations[:, 0].chunk(2, -1)[1]  # (B, H)
        mask = masks.padding(lengths, annotations.shape[1])  # (B, 1, S)
        return AttentiveCarry(torch.tanh(self.start(back_first)), self.score.project(annotations), annotations, mask)

    def read(self, carry: AttentiveCarry) -> tuple[Tensor, Tensor]:
        """-> context (B, 2H), weights (B, S)"""
        state, keys, values, mask = carry
        context, weights = attend(state[:, None], keys, values, self.score.match, mask)  # (B, 1, 2H), (B, 1, S)
        return context[:, 0], weights[:, 0]


class Translator(nn.Module):
    """An encoder, a decoder, and what both kinds share: begin, step, and teacher forcing."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def begin(self, source: Tensor, lengths: Tensor) -> NamedTuple:
        return self.decoder.begin(self.encoder(source, lengths), lengths)

    def step(self, previous: Tensor, carry) -> tuple[Tensor, NamedTuple, Tensor]:
        return self.decoder.step(previous, carry)

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        """Teacher forcing: `previous` (B, T) holds the true last symbols, starting with the begin symbol.

        returns logits (B, T, V), weights (B, T, S)
        """
        carry, logits, weights = self.begin(source, lengths), [], []
        for y in previous.unbind(1):  # the recurrence s_{i-1} -> a_i -> s_i leaves no other way
            logit, carry, weight = self.step(y, carry)
            logits.append(logit)
            weights.append(weight)
        return torch.stack(logits, 1), torch.stack(weights, 1)


class EncoderDecoder(Translator):
    """The whole source in one vector of `d_context` numbers.    Cho et al. 2014; Sutskever et al. 2014

    Differs from the papers: one layer of GRUs (Sutskever et al.: four of LSTMs); the decoder sees c at every step, as
    in Cho et al., who squash it first (c = tanh(V h_S)); Sutskever et al. show it to the first step only.
    """

    def __init__(
        self, source_vocab: int, target_vocab: int, d_embed: int = 32, d_hidden: int = 96, d_context: int = 96
    ):
        encoder = OneVectorEncoder(source_vocab, d_embed, d_context)
        super().__init__(encoder, OneVectorDecoder(target_vocab, d_embed, d_hidden, d_context, d_start=d_context))


class RNNsearch(Translator):
    """Encoder, decoder and nothing between them but attention.

    Differs from the paper: one embedding size for both sides, no bias in the alignment model,
    the readout sees s_i (as the paper's eq. 4) where its appendix writes s_{i-1}.
    """

    def __init__(self, source_vocab: int, target_vocab: int, d_embed: int = 32, d_hidden: int = 96):
        super().__init__(
            BidirectionalEncoder(source_vocab, d_embed, d_hidden),
            AttentiveDecoder(target_vocab, d_embed, d_hidden),
        )


def nll(logits: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
    """Mean negative log-likelihood of the real target symbols; padding does not count.

    logits (B, T, V), target (B, T) int, lengths (B,) -> scalar
    """
    each = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")  # (B, T)
    real = masks.padding(lengths, target.shape[1])[:, 0]  # (B, T)
    return each.masked_fill(~real, 0.0).sum() / real.sum()
