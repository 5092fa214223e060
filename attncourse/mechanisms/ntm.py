"""The Neural Turing Machine: a controller, and heads that move over a memory (Graves et al. 2014)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import scores

EMPTY = 1e-2  # a slot shorter than this resembles nothing: else a trace of 1e-6 would decide its direction


def content(key: Tensor, strength: Tensor, memory: Tensor) -> Tensor:
    """Look for the slot that resembles the key.           w_c(i) = softmax_i(β cos(k, M_i))        eq. 5, 6

    key (B, heads, W), strength β (B, heads), memory (B, N, W) -> weights (B, heads, N)
    """
    return scores.content(key, memory, strength[..., None], EMPTY).softmax(-1)


def interpolate(found: Tensor, previous: Tensor, gate: Tensor) -> Tensor:
    """Go there, or stay where the head was last.           w_g = g w_c + (1 - g) w_{t-1}            eq. 7

    found, previous (B, heads, N), gate g (B, heads) -> (B, heads, N); previous is the last step's *final* weighting
    """
    return previous + gate[..., None] * (found - previous)


def rotate(weights: Tensor, moves: Tensor) -> Tensor:
    """Step to a neighbour, round the end.                  w̃(i) = Σ_j w_g(j) s(i - j mod N)         eq. 8

    weights (B, heads, N), moves (B, heads, S): how much goes -S//2, …, 0, …, S//2 slots on -> (B, heads, N)
    """
    reach = moves.shape[-1] // 2
    if moves.shape[-1] % 2 == 0 or reach >= weights.shape[-1]:
        seen = f"{moves.shape[-1]} moves over {weights.shape[-1]} slots"
        raise ValueError(f"moves go equally far both ways and not once around: an odd number, fewer than slots; {seen}")
    steps = range(-reach, reach + 1)
    return sum(part[..., None] * weights.roll(by, -1) for by, part in zip(steps, moves.unbind(-1), strict=True))


def sharpen(weights: Tensor, power: Tensor) -> Tensor:
    """Undo the blur that shifting leaves.                  w(i) = w̃(i)^γ / Σ_j w̃(j)^γ              eq. 9

    weights (B, heads, N), power γ (B, heads), at least 1 -> (B, heads, N)
    """
    tiny = 1e-12  # a power of 0 has no gradient
    return (power[..., None] * weights.clamp_min(tiny).log()).softmax(-1)  # w^γ / Σ w^γ, safe for any γ


def write(memory: Tensor, weights: Tensor, erase: Tensor, add: Tensor) -> Tensor:
    """Erase, then add; of several heads all erase before any adds.

        M_i ← M_i ∘ Π_h (1 - w_h(i) e_h) + Σ_h w_h(i) a_h

    memory (B, N, W), weights (B, heads, N), erase in (0, 1) and add (B, heads, W) -> memory (B, N, W)    eq. 3, 4
    """
    kept = (1 - weights[..., None] * erase[:, :, None]).prod(1)  # (B, heads, N, W) -> (B, N, W)
    return torch.baddbmm(memory * kept, weights.transpose(1, 2), add)


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


class Address(NamedTuple):
    """What a controller tells its heads."""

    key: Tensor  # (B, heads, W): what to look for
    strength: Tensor  # (B, heads), β: how sure
    gate: Tensor  # (B, heads), g: by content, or from where it was
    moves: Tensor  # (B, heads, S): how much goes which way
    power: Tensor  # (B, heads), γ: how sharp


class NTM(nn.Module):
    """A controller that writes to and reads from N slots of W numbers.              Graves et al. 2014, sec. 3

    Every head gives k, β = softplus, g = sigmoid, s = softmax, γ = 1 + softplus; a writing head also e = sigmoid
    and a. All heads are addressed in one computation on the memory as it was; then it is written, then read.

    x (B, T, d_in) -> logits (B, T, d_out), final State; `step` does one step

    Differs from the paper: it leaves the order of writing and reading open. The memory starts at 1e-6, every head
    on slot 0, and the cosine is damped where a slot is all but empty (EMPTY): without that, training breaks down.
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

    def told(self, h: Tensor) -> Address:
        """h (B, d_hidden) -> the numbers of every head, in their ranges"""
        numbers = self.address(h).unflatten(-1, (-1, sum(self.sizes)))  # (B, heads, …)
        key, strength, gate, moves, power = (part.squeeze(-1) for part in numbers.split(self.sizes, -1))
        return Address(key, F.softplus(strength), gate.sigmoid(), moves.softmax(-1), 1 + F.softplus(power))

    def addressed(self, told: Address, state: State) -> Tensor:
        """Content → interpolate → shift → sharpen, all heads at once.    -> weights (B, heads, N)"""
        found = content(told.key, told.strength, state.memory)
        weights = interpolate(found, state.weights, told.gate)
        weights = rotate(weights, told.moves)
        return sharpen(weights, told.power)

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """x (B, d_in) -> what the output is made of (B, d_hidden + readers·W), the next State"""
        h, controller = self.controller(torch.cat([x, state.reads.flatten(1)], -1), state.controller)
        weights = self.addressed(self.told(h), state)  # (B, heads, N)
        reading, writing = weights.split([self.readers, self.writers], 1)
        erase, add = self.change(h).unflatten(-1, (self.writers, 2 * self.width)).chunk(2, -1)  # (B, writers, W) each
        memory = write(state.memory, writing, erase.sigmoid(), add)
        reads = read(memory, reading)  # (B, readers, W)
        return torch.cat([h, reads.flatten(1)], -1), State(memory, weights, reads, controller)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """x (B, d_in) -> logits (B, d_out), the next State"""
        features, state = self.advance(x, state)
        return self.out(features), state

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        state, features = self.begin(x) if state is None else state, []
        for x_t in x.unbind(1):  # each step reads what the last one wrote
            made, state = self.advance(x_t, state)
            features.append(made)
        return self.out(torch.stack(features, 1)), state  # one product for all steps
