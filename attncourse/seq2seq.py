"""RNNsearch: translate by searching the source anew for every output symbol (Bahdanau et al. 2015)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import masks
from .attention import attend
from .scores import Additive


def reverse(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each sequence within its own length; padding stays last.    x (B, T, D), lengths (B,)"""
    t = torch.arange(x.shape[1], device=x.device)  # (T,)
    index = torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)  # (B, T)
    return x.gather(1, index[..., None].expand_as(x))


class Encoder(nn.Module):
    """Annotate each source symbol with what precedes and what follows it.

        h_j = [→h_j ; ←h_j]                                 Bahdanau et al. 2015, eq. 7

    source (B, S) int, lengths (B,) -> annotations (B, S, 2·d_hidden)

    Padding costs no packing: the backward GRU reads the sequence reversed *within its length*,
    so padding comes last in both directions and changes nothing before it.
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
        ahead, _ = self.forwards(x)  # (B, S, H)
        back, _ = self.backwards(reverse(x, lengths))  # (B, S, H), last symbol first
        return torch.cat([ahead, reverse(back, lengths)], -1)  # (B, S, 2H)


class Memory(NamedTuple):
    """What the decoder keeps while it writes one sentence; every tensor is batch first."""

    state: Tensor  # s_{i-1}       (B, H)
    keys: Tensor  # W_k h_j        (B, S, A), computed once a sentence
    values: Tensor  # h_j          (B, S, 2H)
    mask: Tensor  # True = a real source symbol, (B, 1, S)


class Decoder(nn.Module):
    """Write one symbol: look with the *previous* state, read, update the state, predict.

        a_i = softmax_j(vᵀ tanh(W_q s_{i-1} + W_k h_j)),  c_i = Σ_j a_ij h_j
        s_i = GRU(s_{i-1}, [y_{i-1}; c_i]),  p(y_i) = softmax(W_o maxout(U [s_i; y_{i-1}; c_i]))

    Bahdanau et al. 2015, sec. 3.1 and A.2.2
    """

    def __init__(self, vocab: int, d_embed: int, d_hidden: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.score = Additive(d_hidden, 2 * d_hidden, d_hidden)
        self.start = nn.Linear(d_hidden, d_hidden)
        self.cell = nn.GRUCell(d_embed + 2 * d_hidden, d_hidden)
        self.readout = nn.Linear(d_hidden + d_embed + 2 * d_hidden, 2 * d_hidden)
        self.out = nn.Linear(d_hidden, vocab)

    def begin(self, annotations: Tensor, lengths: Tensor) -> Memory:
        """s_0 = tanh(W_s ←h_1): the backward state that has read the whole source."""
        back_first = annotations[:, 0].chunk(2, -1)[1]  # (B, H)
        mask = masks.padding(lengths, annotations.shape[1])  # (B, 1, S)
        return Memory(torch.tanh(self.start(back_first)), self.score.project(annotations), annotations, mask)

    def step(self, previous: Tensor, memory: Memory) -> tuple[Tensor, Memory, Tensor]:
        """previous (B,) int, the last symbol -> logits (B, V), memory, weights (B, S)"""
        state, keys, values, mask = memory
        y = self.embed(previous)  # (B, E)
        context, weights = attend(state[:, None], keys, values, self.score.match, mask)  # (B, 1, 2H), (B, 1, S)
        context = context[:, 0]  # (B, 2H)
        state = self.cell(torch.cat([y, context], -1), state)  # (B, H)
        pairs = self.readout(torch.cat([state, y, context], -1))  # (B, 2H)
        logits = self.out(pairs.unflatten(-1, (-1, 2)).amax(-1))  # (B, V), maxout of pairs
        return logits, memory._replace(state=state), weights[:, 0]


class RNNsearch(nn.Module):
    """Encoder, decoder and nothing between them but attention.

    Differs from the paper: one embedding size for both sides, no bias in the alignment model,
    the readout sees s_i (as the paper's eq. 4) where its appendix writes s_{i-1}.
    """

    def __init__(self, source_vocab: int, target_vocab: int, d_embed: int = 32, d_hidden: int = 96):
        super().__init__()
        self.encoder = Encoder(source_vocab, d_embed, d_hidden)
        self.decoder = Decoder(target_vocab, d_embed, d_hidden)

    def begin(self, source: Tensor, lengths: Tensor) -> Memory:
        return self.decoder.begin(self.encoder(source, lengths), lengths)

    def step(self, previous: Tensor, memory: Memory) -> tuple[Tensor, Memory, Tensor]:
        return self.decoder.step(previous, memory)

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        """Teacher forcing: `previous` (B, T) holds the true last symbols, starting with the begin symbol.

        returns logits (B, T, V), weights (B, T, S)
        """
        memory, logits, weights = self.begin(source, lengths), [], []
        for y in previous.unbind(1):  # the recurrence s_{i-1} -> a_i -> s_i leaves no other way
            logit, memory, weight = self.step(y, memory)
            logits.append(logit)
            weights.append(weight)
        return torch.stack(logits, 1), torch.stack(weights, 1)


def nll(logits: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
    """Mean negative log-likelihood of the real target symbols; padding does not count.

    logits (B, T, V), target (B, T) int, lengths (B,) -> scalar
    """
    each = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")  # (B, T)
    real = masks.padding(lengths, target.shape[1])[:, 0]  # (B, T)
    return each.masked_fill(~real, 0.0).sum() / real.sum()
