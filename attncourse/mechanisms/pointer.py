"""Pointer networks: the output is a position of the input (Vinyals et al. 2015).

The vocabulary is the input itself. Symbol 0 is the stop, symbols 1 … n are the n items, as in the paper.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..core import masks
from ..core.recurrent import both_ways, last
from ..core.scores import Additive
from ..core.symbols import shift_right
from ..running.decoding import Output, greedy
from .seq2seq import nll
from .transformer import EncoderLayer, PreNorm

STOP = 0  # as an output "stop" (the paper's ⇐), as the first input "begin" (⇒)

Rule = Callable[[Tensor, Tensor], Tensor]  # written (B, t) int, real (B, 1 + n) bool -> may come next (B, 1 + n) bool


class Read(NamedTuple):
    """What an encoder knows of n items. An encoder says the three widths in `sizes`, in this order."""

    annotations: Tensor  # e_j, (B, n, d_key): what is pointed at
    inputs: Tensor  # (B, n, d_input): what the decoder is given after it has pointed at item j
    summary: Tensor  # (B, d_summary): what the decoder starts from


class ForwardEncoder(nn.Module):
    """One LSTM over the items in their order: the paper's encoder.    items (B, n, d), sizes (B,) -> Read"""

    def __init__(self, d_item: int, d_hidden: int):
        super().__init__()
        self.forwards = nn.LSTM(d_item, d_hidden, batch_first=True)
        self.sizes = d_hidden, d_item, d_hidden

    def forward(self, items: Tensor, sizes: Tensor) -> Read:
        states, _ = self.forwards(items)  # (B, n, H)
        return Read(states, items, last(states, sizes))


class BothWays(nn.Module):
    """Two of them, one from the last item to the first: every annotation has read all items.

        e_j = [→e_j ; ←e_j],   summary = [→e_n ; ←e_1]

    Of a BiLSTM *both* ends belong into the summary: →e_n and ←e_1 have read everything, →e_1 and ←e_n one item.
    """

    def __init__(self, d_item: int, d_hidden: int):
        super().__init__()
        self.ahead, self.back = ForwardEncoder(d_item, d_hidden), ForwardEncoder(d_item, d_hidden)
        self.sizes = 2 * d_hidden, d_item, 2 * d_hidden

    def forward(self, items: Tensor, sizes: Tensor) -> Read:
        annotations = both_ways(self.ahead.forwards, self.back.forwards, items, sizes)  # (B, n, 2H)
        ahead, back = annotations.chunk(2, -1)  # (B, n, H) each
        return Read(annotations, items, torch.cat([last(ahead, sizes), back[:, 0]], -1))


class Attending(nn.Module):
    """Layers of self-attention over a set of items, each with its index as one more coordinate.

    An item's neighbours in the plane are rarely its neighbours in the list; here every pair is one step apart.
    The index runs from 0 to 1 whatever n is, so a list longer than any in training holds no index never seen. The
    decoder is given the annotation of the item that it chose, not the bare item: what it knows of its surroundings.
    """

    def __init__(self, d_item: int, d_model: int, layers: int, heads: int, d_ff: int):
        super().__init__()
        self.embed = nn.Linear(d_item + 1, d_model)
        self.layers = nn.ModuleList(EncoderLayer(d_model, heads, d_ff, 0.0, PreNorm) for _ in range(layers))
        self.last = PreNorm.last(d_model)
        self.sizes = d_model, d_model, d_model

    def forward(self, items: Tensor, sizes: Tensor) -> Read:
        return self.annotate(torch.cat([items, index(items, sizes)], -1), sizes)

    def annotate(self, x: Tensor, sizes: Tensor) -> Read:
        """From items with their index (B, n, d + 1): of a set, whose order in memory does not matter."""
        mask = masks.padding(sizes, x.shape[1])  # (B, 1, n)
        x = self.embed(x)  # (B, n, D)
        for layer in self.layers:
            x = layer(x, mask[:, None])
        x = self.last(x)
        return Read(x, x, (mask.to(x.dtype) @ x)[:, 0] / sizes[:, None])  # the mean of the real items


def index(items: Tensor, sizes: Tensor) -> Tensor:
    """0 for the first item, 1 for the last.    items (B, n, d), sizes (B,) -> (B, n, 1)"""
    place = torch.arange(items.shape[1], device=items.device, dtype=items.dtype)  # (n,)
    return (place / (sizes[:, None] - 1).clamp(min=1))[..., None]


class Carry(NamedTuple):
    """What the decoder keeps while it points; every tensor is batch first, and position 0 is the stop."""

    state: Tensor  # d_{i-1}, (B, H)
    cell: Tensor  # the LSTM's other half, (B, H)
    keys: Tensor  # W_1 e_j, (B, 1 + n, A), computed once
    inputs: Tensor  # (B, 1 + n, d_input)
    mask: Tensor  # True = the stop or a real item, (B, 1, 1 + n)
    written: Tensor  # begin and the symbols so far, (B, t) int


class Pointer(nn.Module):
    """At every step a distribution over the items: attention's weights are the answer, nothing is read with them.

        u_ij = vᵀ tanh(W_1 e_j + W_2 d_i),   p(C_i = j | C_1 … C_{i-1}, P) = softmax_j(u_ij)        eq. 3

    The decoder's state d_i does not depend on u, only on the symbols before: with teacher forcing all states come
    from one call of the LSTM, and all scores from one product.
    """

    def __init__(self, d_key: int, d_input: int, d_summary: int, d_hidden: int, d_score: int):
        super().__init__()
        self.score, self.start = Additive(d_hidden, d_key, d_score), nn.Linear(d_summary, 2 * d_hidden)
        self.lstm = nn.LSTM(d_input, d_hidden, batch_first=True)
        self.stop, self.go = nn.Parameter(torch.randn(d_key) * 0.1), nn.Parameter(torch.randn(d_input) * 0.1)

    def begin(self, read: Read, sizes: Tensor) -> Carry:
        state, cell = self.start(read.summary).tanh().chunk(2, -1)  # (B, H) each
        keys = self.score.project(_prepend(self.stop, read.annotations))  # (B, 1 + n, A)
        mask = masks.padding(sizes + 1, keys.shape[1])  # (B, 1, 1 + n)
        written = sizes.new_empty(len(sizes), 0)
        return Carry(state, cell, keys, _prepend(self.go, read.inputs), mask, written)

    def forward(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry]:
        """Any number of steps at once: training takes all of them, writing one after another.

        previous (B, T) int -> logits (B, T, 1 + n), the lowest finite number on padding; carry after the last step
        """
        wide = previous[..., None].expand(-1, -1, carry.inputs.shape[-1])  # (B, T, d_input)
        first = carry.state[None], carry.cell[None]  # (1, B, H) each
        states, (state, cell) = self.lstm(carry.inputs.gather(1, wide), first)  # (B, T, H): d_i
        logits = masks.fill(self.score.match(states, carry.keys), carry.mask)  # (B, T, 1 + n)
        written = torch.cat([carry.written, previous], 1)
        return logits, carry._replace(state=state[0], cell=cell[0], written=written)


class PointerNetwork(nn.Module):
    """An encoder of the items, and a pointer.    Vinyals et al. 2015

    Differs from the paper: the decoder starts from tanh of a linear map of the encoder's summary, not from the
    encoder's own state and cell; stop is a learned key beside the items' annotations. `BothWays` and `Attending` are
    stronger than its single LSTM, `ForwardEncoder`; `Attending` feeds annotations to the decoder, the paper items.
    """

    def __init__(self, encoder: nn.Module, d_hidden: int, d_score: int):
        super().__init__()
        self.encoder, self.pointer = encoder, Pointer(*encoder.sizes, d_hidden, d_score)

    def begin(self, items: Tensor, sizes: Tensor) -> Carry:
        """items (B, n, d) with `sizes` (B,) real ones, padding after them"""
        return self.pointer.begin(self.encoder(items, sizes), sizes)

    def forward(self, items: Tensor, sizes: Tensor, previous: Tensor) -> Tensor:
        """Teacher forcing: previous (B, T) = `shift_right(target, STOP)` -> logits (B, T, 1 + n)"""
        return self.pointer(previous, self.begin(items, sizes))[0]

    def step(self, previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        """previous (B,) int -> logits (B, 1 + n), carry, weights (B, 1 + n): the distribution itself"""
        logits, carry = self.pointer(previous[:, None], carry)
        return logits[:, 0], carry, masks.softmax(logits[:, 0], carry.mask[:, 0])


def _prepend(special: Tensor, rows: Tensor) -> Tensor:
    """(D,), (B, n, D) -> (B, 1 + n, D)"""
    return torch.cat([special.to(rows.dtype).expand(len(rows), 1, -1), rows], 1)


def loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tensor:
    """Mean -log p of the right item. batch: items (B, n, d), sizes (B,), target (B, T), its lengths with the stop (B,)

    Of *logits*: cross-entropy takes the softmax itself. Given probabilities of k positions it would take a second one,
    and stay above log(1 + (k-1)/e): 0.905 for five.
    """
    items, sizes, target, lengths = batch
    return nll(model(items, sizes, shift_right(target, STOP)), target, lengths)


def feasible(step: Callable, rule: Rule) -> Callable:
    """A step that gives what the rule forbids no chance. The mask comes from the task and is not learned."""

    def allowed_step(previous: Tensor, carry: Carry) -> tuple[Tensor, Carry, Tensor]:
        logits, carry, _ = step(previous, carry)
        real = carry.mask[:, 0]  # (B, 1 + n)
        allowed = rule(carry.written[:, 1:], real) & real  # without begin
        return masks.fill(logits, allowed), carry, masks.softmax(logits, allowed)

    return allowed_step


def solve(
    model: PointerNetwork, items: Tensor, sizes: Tensor, rule: Rule, max_steps: int, search: Callable = greedy
) -> Output:
    """Free-running: the model goes on from what it has written itself. search: `greedy`, or `partial(beam, width=4)`

    -> symbols (B, T), from 1; STOP from where the answer has ended; and each step's distribution (B, T, 1 + n)
    """
    with torch.no_grad():
        return search(feasible(model.step, rule), model.begin(items, sizes), STOP, STOP, max_steps)
