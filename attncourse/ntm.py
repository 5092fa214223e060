"""The Neural Turing Machine: a controller, and heads that move over a memory (Graves et al. 2014)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def content(key: Tensor, strength: Tensor, memory: Tensor) -> Tensor:
    """Look for the slot that resembles the key.           w_c(i) = softmax_i(β cos(k, M_i))        eq. 5, 6

    key (B, heads, W), strength β (B, heads), memory (B, N, W) -> weights (B, heads, N)
    """
    cosine = F.normalize(key, dim=-1) @ F.normalize(memory, dim=-1).transpose(1, 2)  # (B, heads, N)
    return (strength[..., None] * cosine).softmax(-1)


def interpolate(found: Tensor, previous: Tensor, gate: Tensor) -> Tensor:
    """Go there, or stay where the head was last.           w_g = g w_c + (1 - g) w_{t-1}            eq. 7

    found, previous (B, heads, N), gate g (B, heads) -> (B, heads, N); previous is the last step's *final* weighting
    """
    return previous + gate[..., None] * (found - previous)


def shift(weights: Tensor, moves: Tensor) -> Tensor:
    """Step to a neighbour, round the end.                  w̃(i) = Σ_j w_g(j) s(i - j mod N)         eq. 8

    weights (B, heads, N), moves (B, heads, S): how much goes -S//2, …, 0, …, S//2 slots on -> (B, heads, N)
    """
    reach = moves.shape[-1] // 2
    if moves.shape[-1] % 2 == 0 or reach >= weights.shape[-1]:
        seen = f"{moves.shape[-1]} moves over {weights.shape[-1]} slots"
        raise ValueError(f"moves go equally far both ways and not once around: an odd number, fewer than slots; {seen}")
    round_the_end = torch.cat([weights[..., -reach:], weights, weights[..., :reach]], -1) if reach else weights
    windows = round_the_end.unfold(-1, moves.shape[-1], 1)  # (B, heads, N, S): slot i sees i - reach … i + reach
    return (windows @ moves.flip(-1)[..., None])[..., 0]


def sharpen(weights: Tensor, power: Tensor) -> Tensor:
    """Undo the blur that shifting leaves.                  w(i) = w̃(i)^γ / Σ_j w̃(j)^γ              eq. 9

    weights (B, heads, N), power γ (B, heads), at least 1 -> (B, heads, N)
    """
    largest = weights.amax(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    raised = (weights / largest).clamp_min(1e-12) ** power[..., None]  # the largest is 1: no sum can vanish
    return raised / raised.sum(-1, keepdim=True)


def write(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """Erase, then add; of several heads all erase before any adds.

        M_i ← M_i ∘ Π_h (1 - w_h(i) e_h) + Σ_h w_h(i) a_h

    memory (B, N, W), weights (B, heads, N), erase in (0, 1) and add (B, heads, W) -> memory (B, N, W)    eq. 3, 4
    """
    kept = (1 - weights[..., None] * erase[:, :, None]).prod(1)  # (B, heads, N, W) -> (B, N, W)
    return memory * kept + weights.transpose(1, 2) @ add


def read(memory: Tensor, weights: Tensor) -> Tensor:
    """r = Σ_i w(i) M_i, eq. 2.    memory (B, N, W), weights (B, heads, N) -> (B, heads, W)"""
    return weights @ memory


class FeedForward(nn.Module):
    """A controller without a memory of its own: whatever it knows of the past, it has to read."""

    def __init__(self, d_in: int, d_hidden: int):
        super().__init__()
        self.layer, self.size = nn.Linear(d_in, d_hidden), d_hidden

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        return ()

    def forward(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.layer(x).tanh(), state


class Recurrent(nn.Module):
    """An LSTM as the controller."""

    def __init__(self, d_in: int, d_hidden: int):
        super().__init__()
        self.cell, self.size = nn.LSTMCell(d_in, d_hidden), d_hidden

    def begin(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.new_zeros(len(x), self.size), x.new_zeros(len(x), self.size)

    def forward(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        h, c = self.cell(x, state)
        return h, (h, c)


class State(NamedTuple):
    """All that the machine keeps between two steps."""

    memory: Tensor  # (B, N, W)
    weights: Tensor  # (B, heads, N): the reading heads, then the writing heads
    reads: Tensor  # (B, readers, W)
    controller: tuple[Tensor, ...]


class NTM(nn.Module):
    """A controller that writes to and reads from N slots of W numbers.              Graves et al. 2014, sec. 3

    Every head gives k, β = softplus, g = sigmoid, s = softmax, γ = 1 + softplus; a writing head also e = sigmoid
    and a. All heads are addressed in one computation on the memory as it was; then it is written, then read.

    x (B, T, d_in) -> logits (B, T, d_out), final State; `step` does one step

    Differs from the paper: it leaves the order of writing and reading open. The memory starts at 1e-6, and every
    head on slot 0.
    """

    def __init__(
        self, d_in, d_out, controller=Recurrent, d_hidden=100, slots=128, width=20, readers=1, writers=1, reach=1
    ):
        super().__init__()  # fmt: skip
        self.slots, self.width, self.readers, self.writers = slots, width, readers, writers
        self.controller = controller(d_in + readers * width, d_hidden)
        self.sizes = [width, 1, 1, 2 * reach + 1, 1]  # k, β, g, s, γ of every head
        self.address = nn.Linear(d_hidden, (readers + writers) * sum(self.sizes))
        self.change = nn.Linear(d_hidden, writers * 2 * width)  # e, a of the writing heads
        self.out = nn.Linear(d_hidden + readers * width, d_out)

    def begin(self, x: Tensor) -> State:
        """The state before the first of the inputs x (B, ...)."""
        memory = x.new_full((len(x), self.slots, self.width), 1e-6)
        weights = x.new_zeros(len(x), self.readers + self.writers, self.slots)
        weights[..., 0] = 1
        return State(memory, weights, x.new_zeros(len(x), self.readers, self.width), self.controller.begin(x))

    def addressed(self, h: Tensor, state: State) -> Tensor:
        """Content → interpolate → shift → sharpen, all heads at once.    h (B, d_hidden) -> weights (B, heads, N)"""
        numbers = self.address(h).unflatten(-1, (-1, sum(self.sizes)))  # (B, heads, …)
        key, strength, gate, moves, power = numbers.split(self.sizes, -1)
        found = content(key, F.softplus(strength[..., 0]), state.memory)
        weights = interpolate(found, state.weights, gate[..., 0].sigmoid())
        weights = shift(weights, moves.softmax(-1))
        return sharpen(weights, 1 + F.softplus(power[..., 0]))

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """x (B, d_in) -> logits (B, d_out), the next State"""
        h, controller = self.controller(torch.cat([x, state.reads.flatten(1)], -1), state.controller)
        weights = self.addressed(h, state)  # (B, heads, N)
        erase, add = self.change(h).unflatten(-1, (self.writers, 2 * self.width)).chunk(2, -1)  # (B, writers, W) each
        memory = write(state.memory, weights[:, self.readers :], erase.sigmoid(), add)
        reads = read(memory, weights[:, : self.readers])
        return self.out(torch.cat([h, reads.flatten(1)], -1)), State(memory, weights, reads, controller)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        state = self.begin(x) if state is None else state
        logits = []
        for x_t in x.unbind(1):  # each step reads what the last one wrote
            y, state = self.step(x_t, state)
            logits.append(y)
        return torch.stack(logits, 1), state
