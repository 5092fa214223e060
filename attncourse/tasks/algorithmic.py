"""The five tasks of the Neural Turing Machine: bits in, bits out, and where the answer counts.

Graves et al. 2014, sec. 4. A batch has one length, drawn for it, so nothing needs padding. Sizes are the paper's.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

BITS = 8  # copy, repeat copy, priority sort
ITEM = (3, 6)  # associative recall: an item is three vectors of six bits
HISTORY = 5  # n-grams: a bit depends on the five before it


class Batch(NamedTuple):
    inputs: Tensor  # (B, T, d_in)
    targets: Tensor  # (B, T, d_out), 0 or 1
    counts: Tensor  # (T,) bool: at these steps the output is judged


def bits(*shape: int, rng: torch.Generator) -> Tensor:
    return torch.randint(2, shape, generator=rng).float()


def copy(n: int, length: int, rng: torch.Generator) -> Batch:
    """`length` random vectors, a mark on a channel of its own, silence; then the same vectors are asked for.

    -> inputs (n, 2·length + 1, 9), targets (n, 2·length + 1, 8)
    """
    given = bits(n, length, BITS, rng=rng)
    inputs = torch.zeros(n, 2 * length + 1, BITS + 1)
    inputs[:, :length, :BITS], inputs[:, length, BITS] = given, 1
    targets = torch.zeros(n, 2 * length + 1, BITS)
    targets[:, length + 1 :] = given
    return Batch(inputs, targets, torch.arange(2 * length + 1) > length)


def repeat_copy(n: int, length: int, times: int, rng: torch.Generator, most: int = 10) -> Batch:
    """As copy, but `times` times over, then a mark for "finished". How often stands on a channel of its own,
    shifted and scaled so that 1 … `most` has mean 0 and variance 1.

    -> inputs (n, T, 10), targets (n, T, 9) with T = length + 1 + length·times + 1
    """
    given, said = bits(n, length, BITS, rng=rng), length + 1
    T = said + length * times + 1
    inputs, targets = torch.zeros(n, T, BITS + 2), torch.zeros(n, T, BITS + 1)
    inputs[:, :length, :BITS], inputs[:, length, BITS] = given, 1
    inputs[:, length, BITS + 1] = (times - (most + 1) / 2) / ((most**2 - 1) / 12) ** 0.5
    targets[:, said:-1, :BITS], targets[:, -1, BITS] = given.repeat(1, times, 1), 1
    return Batch(inputs, targets, torch.arange(T) >= said)


def associative_recall(n: int, items: int, rng: torch.Generator) -> Batch:
    """`items` items, a mark before each; then one of them between two other marks: which came after it?

    -> inputs (n, T, 8), targets (n, T, 6) with T = 4·items + 5 + 3
    """
    if items < 2:
        raise ValueError(f"one item is asked for by the one before it: at least 2 items, not {items}")
    rows, width = ITEM
    given = bits(n, items, rows, width, rng=rng)
    asked = torch.randint(items - 1, (n,), generator=rng)
    T = (rows + 1) * items + (rows + 2) + rows
    inputs, targets = torch.zeros(n, T, width + 2), torch.zeros(n, T, width)
    shown = torch.zeros(n, items, rows + 1, width + 2)
    shown[:, :, 0, width], shown[:, :, 1:, :width] = 1, given
    end = (rows + 1) * items
    inputs[:, :end] = shown.flatten(1, 2)
    inputs[:, end, width + 1], inputs[:, end + rows + 1, width + 1] = 1, 1
    inputs[:, end + 1 : end + 1 + rows, :width] = given[torch.arange(n), asked]
    targets[:, -rows:] = given[torch.arange(n), asked + 1]
    return Batch(inputs, targets, torch.arange(T) >= T - rows)


def ngrams(n: int, rng: torch.Generator, length: int = 200) -> Batch:
    """Bits of which each depends on the five before it; the 32 probabilities are drawn anew for each sequence.

    -> inputs (n, length, 1): the bits, targets: the next bits; judged from the sixth bit on
    """
    half = torch.full((n, 2**HISTORY, 2), 0.5)
    chance = torch._sample_dirichlet(half, rng)[..., 0]  # (n, 32), each Beta(½, ½)
    drawn, noise = bits(n, length + 1, rng=rng), torch.rand(n, length + 1, generator=rng)
    context = _context(drawn[:, :HISTORY])
    for t in range(HISTORY, length + 1):  # the next bit needs the last ones
        drawn[:, t] = (noise[:, t] < chance.gather(1, context[:, None])[:, 0]).float()
        context = (2 * context + drawn[:, t].long()) % 2**HISTORY
    return Batch(drawn[:, :-1, None], drawn[:, 1:, None], torch.arange(length) >= HISTORY - 1)


def _context(last: Tensor) -> Tensor:
    """Bits (..., 5) read as one number."""
    return (last.long() * 2 ** torch.arange(HISTORY - 1, -1, -1)).sum(-1)


def optimal(inputs: Tensor) -> Tensor:
    """The best that can be said of the next bit from the counts so far: (N1 + ½) / (N0 + N1 + 1)        eq. 10

    inputs (n, T, 1) of `ngrams` -> P(next bit is 1) (n, T, 1); ½ before five bits were seen
    """
    b = inputs[..., 0]
    windows = _context(b.unfold(1, HISTORY, 1))  # (n, T - 4): the context that stands before bit t + 5
    seen = windows[:, :-1, None] == torch.arange(2**HISTORY)  # (n, T - 5, 32): what was followed by a known bit
    one = (seen & (b[:, HISTORY:, None] > 0)).cumsum(1).float()
    both = seen.cumsum(1).float()
    first = torch.zeros(len(b), 1, 2**HISTORY)
    one, both = (torch.cat([first, x], 1).gather(2, windows[..., None])[..., 0] for x in (one, both))  # (n, T - 4)
    begin = torch.full((len(b), HISTORY - 1), 0.5)
    return torch.cat([begin, (one + 0.5) / (both + 1)], 1)[..., None]


def priority_sort(n: int, rng: torch.Generator, given: int = 20, asked: int = 16) -> Batch:
    """`given` vectors with a priority from -1 to 1 on a channel of its own, a mark; then the `asked` highest in order.

    -> inputs (n, given + 1 + asked, 10), targets (n, given + 1 + asked, 8)
    """
    vectors, priority = bits(n, given, BITS, rng=rng), 2 * torch.rand(n, given, generator=rng) - 1
    T = given + 1 + asked
    inputs, targets = torch.zeros(n, T, BITS + 2), torch.zeros(n, T, BITS)
    inputs[:, :given, :BITS], inputs[:, :given, BITS], inputs[:, given, BITS + 1] = vectors, priority, 1
    order = priority.argsort(1, descending=True)[:, :asked]  # (n, asked)
    targets[:, given + 1 :] = vectors[torch.arange(n)[:, None], order]
    return Batch(inputs, targets, torch.arange(T) > given)


def stream(make: Callable[..., Batch], n: int, seed: int, **ranges: tuple[int, int]) -> Iterator[Batch]:
    """Batches without end: stream(copy, 16, 0, length=(1, 20)); each range is drawn once a batch, ends included."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        sizes = {name: int(torch.randint(low, high + 1, (), generator=rng)) for name, (low, high) in ranges.items()}
        yield make(n, rng=rng, **sizes)


def bit_errors(logits: Tensor, batch: Batch) -> Tensor:
    """Wrong bits a sequence, where the answer counts.    logits (B, T, d_out) -> (B,)"""
    wrong = (logits > 0) != (batch.targets > 0.5)
    return wrong[:, batch.counts].sum((1, 2)).float()


def cost(chance: Tensor, batch: Batch) -> Tensor:
    """Bits that each sequence costs, -Σ log2 P(the right bit), where the answer counts.

    chance (B, T, d_out): P(bit is 1) -> (B,)
    """
    right = torch.where(batch.targets > 0.5, chance, 1 - chance)[:, batch.counts]
    return -right.clamp_min(1e-30).log2().sum((1, 2))
