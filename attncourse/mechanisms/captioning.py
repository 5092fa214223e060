"""Show, attend and tell: a decoder that looks at an image before every word, softly or hard (Xu et al. 2015)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import hard, masks
from ..core.attention import attend
from ..core.scores import Additive


class Look(NamedTuple):
    """What a read leaves behind beside its context; every tensor is batch first."""

    weights: Tensor  # α_t                              (B, T, L)
    chosen: Tensor  # the place that was read, -1: all  (B, T) int
    log_prob: Tensor  # log α_t[chosen], 0 where soft   (B, T)


class Soft(nn.Module):
    """Read the expectation, z = Σ_i α_i a_i: every place a little    Xu et al. 2015, sec. 4.2"""

    def begin(self, values: Tensor) -> Tensor:
        """Which images are read softly: all.    values (B, L, D) -> bool (B,)"""
        return torch.ones_like(values[:, 0, 0], dtype=torch.bool)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, score, softly: Tensor) -> tuple[Tensor, Look]:
        context, weights = attend(query, keys, values, score)  # (B, 1, D), (B, 1, L)
        none = torch.full_like(weights[..., 0], -1)  # (B, 1)
        return context, Look(weights, none.long(), torch.zeros_like(none))


class Hard(nn.Module):
    """Read one place, z = a_s with s ~ Categorical(α); the likeliest one in eval mode    Xu et al. 2015, sec. 4.1

    In training, each image is read by expectation with probability `mix`, throughout its caption: those images
    pass a gradient through the weights, which steadies the estimator that trains the draws of the others.
    """

    def __init__(self, mix: float = 0.5):
        super().__init__()
        self.mix = mix

    def begin(self, values: Tensor) -> Tensor:
        share = self.mix if self.training else 0.0
        return torch.rand_like(values[:, 0, 0]) < share  # (B,)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, score, softly: Tensor) -> tuple[Tensor, Look]:
        scores = score(query, keys)  # (B, 1, L), computed once for both reads
        expected, weights = attend(query, keys, values, lambda *_: scores)
        if self.training:
            drawn, (index, log_prob) = hard.attend(query, keys, values, lambda *_: scores)
        else:
            log_prob, index = scores.log_softmax(-1).max(-1)  # (B, 1)
            drawn = hard.gather(values, index)
        context = torch.where(softly[:, None, None], expected, drawn)  # (B, 1, D)
        none = softly[:, None]
        return context, Look(weights, index.masked_fill(none, -1), log_prob.masked_fill(none, 0.0))


class ImageEncoder(nn.Module):
    """L = (side/4)² annotation vectors, each of what 14×14 pixels show, and of where they are.

        a_i = conv(image)_i + row_i + column_i

    images (B, 3, side, side) -> annotations (B, L, d_model)

    The fields are small on purpose: a vector that had seen the whole image could be read anywhere, and the weights
    would mean nothing. Small fields do not know their place, so it is added: a learned vector a row and a column.
    """

    def __init__(self, d_model: int, channels: tuple[int, int] = (32, 64), side: int = 48):
        super().__init__()
        first, second = channels

        def layer(inputs: int, outputs: int, size: int, stride: int, padding: int) -> list[nn.Module]:
            conv = nn.Conv2d(inputs, outputs, size, stride, padding, bias=False)
            return [conv, nn.BatchNorm2d(outputs), nn.ReLU()]

        # sizes that keep each field centred on its patch: 4×4, then 6×6, then 14×14 pixels
        parts = layer(3, first, 4, 2, 1), layer(first, second, 2, 2, 0), layer(second, d_model, 3, 1, 1)
        self.see = nn.Sequential(*(module for part in parts for module in part))
        self.row = nn.Parameter(torch.randn(side // 4, 1, d_model) * 0.5)
        self.column = nn.Parameter(torch.randn(1, side // 4, d_model) * 0.5)

    def forward(self, images: Tensor) -> Tensor:
        seen = self.see(images).permute(0, 2, 3, 1)  # (B, side/4, side/4, D)
        return (seen + self.row + self.column).flatten(1, 2)  # (B, L, D)


class Carry(NamedTuple):
    """What the decoder keeps while it writes one caption; every tensor is batch first."""

    state: Tensor  # h_{t-1}                        (B, H)
    cell: Tensor  # c_{t-1} of the LSTM             (B, H)
    keys: Tensor  # annotations, projected once     (B, L, A)
    values: Tensor  # annotations                   (B, L, D)
    softly: Tensor  # read by expectation?          (B,) bool


class CaptionDecoder(nn.Module):
    """Look with the last state, gate what was seen, step, tell.

        α_t = softmax_i(vᵀ tanh(W_q h_{t-1} + W_k a_i)),   z_t = β_t · read(α_t, a),   β_t = sigmoid(w_β h_{t-1})
        h_t = LSTM(h_{t-1}, [E y_{t-1}; z_t]),             p(y_t) = softmax(L_o(E y_{t-1} + L_h h_t + L_z z_t))

    Xu et al. 2015, eq. 1 to 7 and sec. 4.2.1. `read` is an object, Soft() or Hard(): nothing else differs.
    """

    def __init__(self, vocab: int, read: nn.Module, d_model: int, d_embed: int, d_hidden: int, d_score: int):
        super().__init__()
        self.read = read
        self.embed = nn.Embedding(vocab, d_embed)
        self.start = nn.Linear(d_model, 2 * d_hidden)
        self.score = Additive(d_hidden, d_model, d_score)
        self.gate = nn.Linear(d_hidden, 1)
        self.cell = nn.LSTMCell(d_embed + d_model, d_hidden)
        self.L_h = nn.Linear(d_hidden, d_embed, bias=False)
        self.L_z = nn.Linear(d_model, d_embed, bias=False)
        self.out = nn.Linear(d_embed, vocab)

    def begin(self, values: Tensor) -> Carry:
        """h_0, c_0 from the mean annotation; what does not depend on the words is computed here, once."""
        state, cell = torch.tanh(self.start(values.mean(1))).chunk(2, -1)  # (B, H) each
        return Carry(state, cell, self.score.project(values), values, self.read.begin(values))

    def look(self, y: Tensor, carry: Carry) -> tuple[Tensor, Carry, Look]:
        """One step of the recurrence.    y (B, E), the last word -> z_t (B, D), carry, Look of (B, 1, …)"""
        state, cell, keys, values, softly = carry
        context, look = self.read(state[:, None], keys, values, self.score.match, softly)  # (B, 1, D)
        z = torch.sigmoid(self.gate(state)) * context[:, 0]  # (B, D)
        state, cell = self.cell(torch.cat([y, z], -1), (state, cell))  # (B, H) each
        return z, carry._replace(state=state, cell=cell), look

    def tell(self, y: Tensor, state: Tensor, z: Tensor) -> Tensor:
        """y (…, E), state (…, H), z (…, D) -> logits (…, V)"""
        return self.out(y + self.L_h(state) + self.L_z(z))


class Captioner(nn.Module):
    """An encoder of images and a decoder that looks at its annotations before every word.

    Differs from the paper: a small convolutional encoder, trained along, with a learned vector for each place, where
    the paper takes the fixed features of a network trained on ImageNet; one layer, not an MLP, makes h_0 and c_0.
    """

    def __init__(self, encoder: nn.Module, decoder: CaptionDecoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def begin(self, images: Tensor) -> Carry:
        return self.decoder.begin(self.encoder(images))

    def step(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        """previous (B,) int -> logits (B, V), carry, weights (B, L): of what was read, so one-hot for a hard read"""
        y = self.decoder.embed(previous)  # (B, E)
        z, carry, look = self.decoder.look(y, carry)
        return self.decoder.tell(y, carry.state, z), carry, reading(look)[:, 0]

    def forward(self, images: Tensor, previous: Tensor) -> tuple[Tensor, Look]:
        """Teacher forcing: previous (B, T), starting with BEGIN -> logits (B, T, V), Look of (B, T, …)"""
        carry, y = self.begin(images), self.decoder.embed(previous)  # (B, T, E)
        found, looks = [], []
        for now in y.unbind(1):  # z_t is an input of h_t, and h_t asks for z_{t+1}: no other way
            z, carry, look = self.decoder.look(now, carry)
            found.append((carry.state, z))
            looks.append(look)
        states, contexts = (torch.stack(x, 1) for x in zip(*found, strict=True))  # (B, T, H), (B, T, D)
        return self.decoder.tell(y, states, contexts), Look(*(torch.cat(x, 1) for x in zip(*looks, strict=True)))


def reading(look: Look) -> Tensor:
    """The weights with which values were really read: α for a soft read, one-hot for a hard one.    -> (B, T, L)"""
    places = torch.arange(look.weights.shape[-1], device=look.weights.device)  # (L,)
    one_hot = (look.chosen[..., None] == places).to(look.weights.dtype)
    return torch.where(look.chosen[..., None] < 0, look.weights, one_hot)


def log_likelihoods(logits: Tensor, target: Tensor, lengths: Tensor) -> Tensor:
    """log p(y_t | …) of every real word, 0 on padding.    logits (B, T, V), target (B, T), lengths (B,) -> (B, T)"""
    each = -F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(target.shape)
    return each.masked_fill(~masks.padding(lengths, target.shape[1])[:, 0], 0.0)


def doubly_stochastic(weights: Tensor, lengths: Tensor) -> Tensor:
    """Σ_i (1 - Σ_t α_ti)²: over its caption, a model should look at every place    Xu et al. 2015, eq. 14

    weights (B, T, L), lengths (B,) -> (B,); padding words look at nothing
    """
    real = masks.padding(lengths, weights.shape[1]).mT  # (B, T, 1)
    return (1 - weights.masked_fill(~real, 0.0).sum(1)).square().sum(-1)


def returns(rewards: Tensor, discount: float = 1.0) -> Tensor:
    """Reward to go: what the draw at t can still influence, Σ_{u ≥ t} γ^{u-t} r_u.    (B, T) -> (B, T)"""
    t = torch.arange(rewards.shape[1], device=rewards.device)
    ahead = (t - t[:, None]).to(rewards.dtype)  # (T, T): u - t
    kernel = torch.where(ahead < 0, torch.zeros_like(ahead), discount ** ahead.clamp_min(0))
    return rewards @ kernel.mT


def entropy(weights: Tensor) -> Tensor:
    """H(α_t) in nats.    weights (B, T, L) -> (B, T)"""
    return torch.special.entr(weights).sum(-1)


def reinforce(rewards: Tensor, look: Look, discount: float = 1.0) -> Tensor:
    """A surrogate whose gradient is the score-function estimator's, to be minimised.    Xu et al. 2015, eq. 11 to 13

        Σ_t (b_t - R_t) log α_t[s_t],   R_t = Σ_{u ≥ t} γ^{u-t} log p(y_u | …),   over the images that were drawn

    rewards (B, T), look of (B, T, …) -> (B,). The baseline b_t is the mean return at step t of the *other* drawn
    images of the batch: it does not depend on the draw that it is subtracted from, so the estimator stays unbiased.

    Differs from the paper: reward to go and a baseline a step, in place of the caption's log-likelihood and one
    moving average.
    """
    drawn = (look.chosen >= 0).to(rewards.dtype)  # (B, T)
    to_go = returns(rewards.detach(), discount) * drawn  # (B, T)
    others = drawn.sum(0) - drawn  # (B, T)
    baseline = (to_go.sum(0) - to_go) / others.clamp_min(1.0)
    advantage = torch.where(others > 0, to_go - baseline, torch.zeros_like(to_go)) * drawn
    return -(advantage * look.log_prob).sum(-1)
