"""A sequence that attends to itself: at once (scaled dot), while it is read (LSTMN), by levels (HAN)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.recurrent import both_ways
from ..core.scores import Additive, dot


class SelfAttention(nn.Module):
    """Every position asks, every position answers.

        softmax(X W_q (X W_k)ᵀ / √Dh) X W_v                 Vaswani et al. 2017, eq. 1 with Q, K, V from one X

    x (B, T, D), mask bool (B, 1 or T, T) -> context (B, T, Dh), weights (B, T, T)

    `masks.padding(lengths, T)` hides padding, `masks.causal(T)` the future, `&` joins them.
    Differs from the paper: one head, so no output projection.
    """

    def __init__(self, d_model: int, d_head: int):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_model, d_head, bias=False) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return attend(self.query(x), self.key(x), self.value(x), mask=mask)


class LSTMN(nn.Module):
    """An LSTM whose last state is replaced by a look at all its earlier ones.

        e_ti = vᵀ tanh(W_h h_i + W_x x_t + W_h̃ h̃_{t-1}),  i < t
        h̃_t = Σ_i a_ti h_i,  c̃_t = Σ_i a_ti c_i,  a_t = softmax(e_t)
        c_t = f ∘ c̃_t + i ∘ ĉ_t,  h_t = o ∘ tanh c_t,  the gates from [h̃_t; x_t]    Cheng et al. 2016, eq. 4-9

    x (B, T, D) -> h (B, T, d_hidden), weights (B, T, T): row t holds the look at i < t, row 0 is zero

    Keys are projected once, when they are written to the tape.
    Differs from the paper: one layer, and no second tape for a source to attend to.
    """

    def __init__(self, d_in: int, d_hidden: int):
        super().__init__()
        self.hidden_size = d_hidden  # as torch's recurrent layers call it
        self.score = Additive(d_in + d_hidden, d_hidden, d_hidden)
        self.gates = nn.Linear(d_hidden + d_in, 4 * d_hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        B, T, H = *x.shape[:2], self.hidden_size
        tape, keys = x.new_zeros(B, 0, 2 * H), x.new_zeros(B, 0, H)  # [h; c] of the past, and its projected keys
        adapted, weights = x.new_zeros(B, H), x.new_zeros(B, T, T)
        for t in range(T):  # h_t needs h̃_t, which needs every h_i before it
            query = torch.cat([x[:, t], adapted], -1)[:, None]  # (B, 1, D + H)
            read, look = attend(query, keys, tape, self.score.match)  # (B, 1, 2H), (B, 1, t)
            adapted, cell = read[:, 0].chunk(2, -1)  # h̃_t and c̃_t (B, H); zero while the tape is empty
            i, f, o, new = self.gates(torch.cat([adapted, x[:, t]], -1)).chunk(4, -1)
            cell = f.sigmoid() * cell + i.sigmoid() * new.tanh()
            hidden = o.sigmoid() * cell.tanh()
            tape = torch.cat([tape, torch.cat([hidden, cell], -1)[:, None]], 1)  # (B, t + 1, 2H)
            keys = torch.cat([keys, self.score.project(hidden)[:, None]], 1)  # (B, t + 1, H)
            weights[:, t, :t] = look[:, 0]
        return tape[..., :H], weights


class Pool(nn.Module):
    """A set becomes one vector: a learned question is asked of every item.

        u_i = tanh(W h_i + b),  a = softmax(u_iᵀ u_w),  s = Σ a_i h_i      Yang et al. 2016, eq. 5-7

    h (B, T, D), mask bool (B, 1, T) -> s (B, D), weights (B, T)
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.project = nn.Linear(d_model, d_model)
        self.question = nn.Parameter(torch.randn(d_model) * d_model**-0.5)

    def forward(self, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        query = self.question.expand(len(h), 1, -1)  # (B, 1, D): the same question for every example
        context, weights = attend(query, self.project(h).tanh(), h, dot, mask)
        return context[:, 0], weights[:, 0]


class Mean(nn.Module):
    """What Pool is compared with: the same weight for every item that is there.

    h (B, T, D), mask bool (B, 1, T) -> s (B, D), weights (B, T)
    """

    def __init__(self, d_model: int):
        super().__init__()  # made as Pool is; there is nothing to learn

    def forward(self, h: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = masks.softmax(h.new_zeros(len(h), 1, h.shape[1]), mask)  # (B, 1, T)
        return (weights @ h)[:, 0], weights[:, 0]


class BiGRU(nn.Module):
    """h_t = [→h_t; ←h_t], the backward half from the end of each sequence.    x (B, T, D) -> (B, T, 2·d_hidden)"""

    def __init__(self, d_in: int, d_hidden: int):
        super().__init__()
        self.ahead, self.back = (nn.GRU(d_in, d_hidden, batch_first=True) for _ in range(2))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        return both_ways(self.ahead, self.back, x, lengths)


class Reading(NamedTuple):
    logits: Tensor  # (B, classes)
    words: Tensor  # (B, N, W), weights inside each sentence
    sentences: Tensor  # (B, N)


class HAN(nn.Module):
    """Words make sentences, sentences make the document; each level has an attention of its own.

                                                            Yang et al. 2016, sec. 2.2
    document (B, N, W) int, lengths (B, N): words in each sentence, 0 where there is none -> Reading
    pool: Pool, or Mean for the same network without attention
    Differs from the paper: the embeddings are not pretrained.
    """

    def __init__(self, vocab: int, classes: int, d_embed: int = 32, d_hidden: int = 32, pool: type[nn.Module] = Pool):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.read_words, self.pool_words = BiGRU(d_embed, d_hidden), pool(2 * d_hidden)
        self.read_sentences, self.pool_sentences = BiGRU(2 * d_hidden, d_hidden), pool(2 * d_hidden)
        self.out = nn.Linear(2 * d_hidden, classes)

    def forward(self, document: Tensor, lengths: Tensor) -> Reading:
        B, N, W = document.shape
        words = self.read_words(self.embed(document.flatten(0, 1)), lengths.flatten())  # (B·N, W, 2H)
        sentences, word_weights = self.pool_words(words, masks.padding(lengths.flatten(), W))  # (B·N, 2H), (B·N, W)
        count = (lengths > 0).sum(1)  # (B,)
        h = self.read_sentences(sentences.unflatten(0, (B, N)), count)  # (B, N, 2H)
        vector, sentence_weights = self.pool_sentences(h, masks.padding(count, N))  # (B, 2H), (B, N)
        return Reading(self.out(vector), word_weights.unflatten(0, (B, N)), sentence_weights)
