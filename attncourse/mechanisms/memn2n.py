"""A memory that is read more than once: the question, answered in part, is the next question."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.recurrent import last
from ..core.scores import Additive, dot
from ..core.symbols import PAD
from .selfattention import BiGRU


class Reading(NamedTuple):
    logits: Tensor  # (B, vocab)
    weights: Tensor  # (B, hops, N): row k is what hop k looked at


def position_encoding(lengths: Tensor, size: int, d_model: int) -> Tensor:
    """How much word j of a sentence of J words speaks in feature k; both count from 1.

        l_kj = (1 - j/J) - (k/d)(1 - 2j/J)                  Sukhbaatar et al. 2015, sec. 4.1

    lengths (...) words in each sentence -> l (..., size, d_model), zero on padding
    """
    j = torch.arange(1, size + 1, device=lengths.device)[:, None]  # (size, 1)
    k = torch.arange(1, d_model + 1, device=lengths.device)  # (d_model,)
    share = j / lengths.clamp(min=1)[..., None, None]  # j/J (..., size, 1)
    encoding = (1 - share) - (k / d_model) * (1 - 2 * share)  # (..., size, d_model)
    return encoding.masked_fill(j > lengths[..., None, None], 0.0)


def age(count: Tensor, size: int) -> Tensor:
    """How many sentences were told since: 0 for the last one, whatever the story's length; 0 on padding, too.

    count (B,) -> (B, size)
    """
    return (count[:, None] - 1 - torch.arange(size, device=count.device)).clamp(min=0)


def linear(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """What takes the softmax's place in a linear start: the scores themselves.    Sukhbaatar et al. 2015, sec. 4.2"""
    return scores if mask is None else scores.masked_fill(~mask, 0.0)


def random_noise(story: Tensor, count: Tensor, share: float = 0.1) -> tuple[Tensor, Tensor]:
    """Empty sentences put between the others, so that no exact age is learned by heart.

                                                            Sukhbaatar et al. 2015, sec. 4.2
    story (B, N, W), count (B,); an empty one goes before each sentence with probability `share`
    returns story (B, N + the most that were added, W), count (B,)
    """
    B, N, W = story.shape
    real = torch.arange(N, device=story.device) < count[:, None]  # (B, N)
    added = (torch.rand(B, N, device=story.device) < share) & real
    place = torch.arange(N, device=story.device) + added.cumsum(1)  # (B, N), where each sentence goes
    more = added.sum(1)  # (B,)
    noisy = story.new_full((B, N + int(more.max()), W), PAD)
    return noisy.scatter(1, place[..., None].expand(B, N, W), story), count + more


class MemN2N(nn.Module):
    """An end-to-end memory network: every hop reads the story with a question, what it finds is added to the question.

        m_i = Σ_j l_j ∘ A x_ij + T_A(i),  c_i likewise with C and T_C,  u¹ = Σ_j l_j ∘ B q_j
        p = softmax(uᵀ m_i),  o = Σ_i p_i c_i,  u ← u + o,  answer = softmax(W u)
        adjacent tying: A^{k+1} = C^k,  B = A¹,  Wᵀ = C^K   Sukhbaatar et al. 2015, sec. 2

    story (B, N, W) int, padded with PAD; count (B,) sentences in each; question (B, Wq) int -> Reading
    normalise: masks.softmax, or `linear` while a linear start lasts

    Differs from the paper: J is each sentence's own number of words, not the longest one's;
    a story longer than `slots` is refused, not cut.
    """

    def __init__(self, vocab: int, d_model: int = 32, hops: int = 3, slots: int = 32):
        super().__init__()
        # A¹ = B, C¹ = A², …, C^K = Wᵀ: one table more than there are hops
        self.words = nn.ModuleList(nn.Embedding(vocab, d_model) for _ in range(hops + 1))
        self.times = nn.ModuleList(nn.Embedding(slots, d_model) for _ in range(hops + 1))
        for table in (*self.words, *self.times):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, story: Tensor, count: Tensor, question: Tensor, normalise: Callable = masks.softmax) -> Reading:
        self._check_fits(story)
        N, d_model = story.shape[1], self.words[0].embedding_dim
        when, mask = age(count, N), masks.padding(count, N)  # (B, N), (B, 1, N)
        place, asked = (position_encoding((x != PAD).sum(-1), x.shape[-1], d_model) for x in (story, question))
        memory = [(w(story) * place).sum(2) + t(when) for w, t in zip(self.words, self.times, strict=True)]  # (B, N, D)
        query, looks = (self.words[0](question) * asked).sum(1, keepdim=True), []  # u (B, 1, D)
        for keys, values in pairwise(memory):  # a hop's values are the next hop's keys
            weights = normalise(dot(query, keys), mask)  # (B, 1, N)
            query = query + weights @ values  # (B, 1, D)
            looks.append(weights)
        return Reading(query[:, 0] @ self.words[-1].weight.T, torch.cat(looks, 1))

    def _check_fits(self, story: Tensor) -> None:
        N, slots = story.shape[1], self.times[0].num_embeddings
        if N > slots:
            raise ValueError(f"a story of {N} sentences does not fit a memory of {slots}; make it with `slots={N}`")


class AttentiveReader(nn.Module):
    """The one-hop cousin: a recurrent net reads every word, the question looks at them once.

        m_j = tanh(W y_j + U u),  a = softmax(wᵀ m),  r = Σ_j a_j y_j,  g = tanh(W_r r + W_u u)
                                                            Hermann et al. 2015, sec. 3.2
    document (B, T) int, question (B, Tq) int, padded with PAD -> Reading with one look at T words

    Differs from the paper: gated recurrent units instead of LSTMs.
    """

    def __init__(self, vocab: int, d_embed: int = 32, d_hidden: int = 32):
        super().__init__()
        d_model = 2 * d_hidden
        self.embed = nn.Embedding(vocab, d_embed)
        self.read, self.ask = BiGRU(d_embed, d_hidden), BiGRU(d_embed, d_hidden)
        self.score = Additive(d_model, d_model, d_model)
        self.join = nn.Linear(2 * d_model, d_model, bias=False)  # [W_r W_u]
        self.out = nn.Linear(d_model, vocab)

    def forward(self, document: Tensor, question: Tensor) -> Reading:
        lengths, asked = (document != PAD).sum(1), (question != PAD).sum(1)  # (B,)
        y = self.read(self.embed(document), lengths)  # (B, T, D)
        ahead, back = self.ask(self.embed(question), asked).chunk(2, -1)  # (B, Tq, D/2)
        u = torch.cat([last(ahead, asked), back[:, 0]], -1)[:, None]  # (B, 1, D): each direction's last state
        r, weights = attend(u, y, y, self.score, masks.padding(lengths, y.shape[1]))  # (B, 1, D), (B, 1, T)
        return Reading(self.out(self.join(torch.cat([r, u], -1)).tanh())[:, 0], weights)
