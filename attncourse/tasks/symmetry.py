"""Mirrored patterns: images whose far-apart parts must agree, and an exact score of whether they do.

An image is 32×32 pixels, two rows of eight cells of one colour each. The colours of the left half are drawn at
random; the right half is their mirror image. What stands in a cell says nothing about any other but its partner.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

SIZE = 32  # pixels along each side
ROWS, COLUMNS = 2, 8
CELL = (SIZE // ROWS, SIZE // COLUMNS)  # 16×4 pixels
HALF = COLUMNS // 2
REACH = 0.9  # colours are uniform from -0.9 to 0.9 in red, green and blue: inside what a tanh reaches
VARIANCE = REACH**2 / 3
TINY = 1e-9  # one image n times: 0/0 counts as no agreement
APART = [CELL[1] * (2 * k + 1) for k in range(HALF)]  # pixels from a cell's middle to its partner's: 4, 12, 20, 28


class Score(NamedTuple):
    """What `consistency` finds in n images."""

    each: Tensor  # (n,): an image's own score
    at: list[float]  # the score of the pairs that are APART[k] pixels from each other
    spread: float  # variance of the cells over the images, beside the data's: 1, and 0 for one image n times

    @property
    def value(self) -> float:
        return self.each.mean().item()


def patterns(n: int, rng: torch.Generator) -> Tensor:
    """Mirrored left to right.    -> colours (n, 3, 2, 8)"""
    left = unmirrored(n, rng)[..., :HALF]
    return torch.cat([left, left.flip(3)], 3)


def unmirrored(n: int, rng: torch.Generator) -> Tensor:
    """The same without the rule: whatever agrees here agrees by chance.    -> colours (n, 3, 2, 8)"""
    return REACH * (2 * torch.rand(n, 3, ROWS, COLUMNS, generator=rng) - 1)


def render(colours: Tensor) -> Tensor:
    """colours (n, 3, 2, 8) -> images (n, 3, 32, 32), from -1 to 1"""
    return colours.repeat_interleave(CELL[0], 2).repeat_interleave(CELL[1], 3)


def images(n: int, seed: int) -> Tensor:
    """n images of the task that no training sees, the same for the same seed.    -> (n, 3, 32, 32)"""
    return render(patterns(n, torch.Generator().manual_seed(10**9 + seed)))


def stream(n: int, seed: int) -> Iterator[Tensor]:
    """Batches of n training images without end; the same for the same seed."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        yield render(patterns(n, rng))


def cells(pictures: Tensor) -> Tensor:
    """The mean colour of each cell.    pictures (n, 3, 32, 32) -> (n, 3, 2, 8)"""
    return F.avg_pool2d(pictures, CELL)


def halves(pictures: Tensor) -> tuple[Tensor, Tensor]:
    """Cells of the left, and their partners: the k-th column is APART[k] from its own.    -> 2 of (n, 3, 2, 4)"""
    means = cells(pictures)
    return means[..., :HALF].flip(3), means[..., HALF:]


def consistency(pictures: Tensor) -> Score:
    """Do partners agree? 1 − (how far a cell is from its partner) / (how far from the same place in other images).

    Distances are squared. All other images are the measure, exactly: the mean over j ≠ i of |left_i − right_j|².
    1 when every partner has the same colour. 0 by chance: when the two halves have nothing to do with each other,
    also for a generator that makes one image again and again, which agrees with all alike.
    """
    left, right = halves(pictures.double())
    own = (left - right).square().mean((1, 2)) + TINY  # (n, 4)
    others = strangers(left, right)  # (4,)
    spread = cells(pictures).var(0).mean().item() / VARIANCE
    each = 1 - own.mean(1) / others.mean()
    return Score(each, (1 - own.mean(0) / others).tolist(), spread)


def strangers(left: Tensor, right: Tensor) -> Tensor:
    """How far a cell is from the place of its partner in another image: the mean over i ≠ j of |left_i − right_j|².

    left, right (n, 3, rows, columns) -> (columns,)
    """
    n = len(left)
    own = (left - right).square().mean((0, 1, 2))  # (columns,)
    # the mean over all pairs i, j of |left_i − right_j|², without the n²: both variances and the gap of the means
    every = (left.var(0, False) + right.var(0, False) + (left.mean(0) - right.mean(0)).square()).mean((0, 1))
    return (n * every - own) / (n - 1) + TINY  # without i = j


def beyond_chance(left: Tensor, right: Tensor) -> list[float]:
    """`consistency` for cells and their partners, one number per column.    2 of (n, 3, rows, columns) -> columns"""
    own = (left - right).square().mean((0, 1, 2)) + TINY
    return (1 - own / strangers(left, right)).tolist()
