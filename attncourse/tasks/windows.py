"""A mirrored front of stained glass: a row of eight tall windows, each with a twin on the other side.

An image is 32×32 pixels. The windows of the left half are drawn at random, one colour each; the right half is their
mirror image. So a window says nothing about any other but its partner, and the partners of the outermost columns are
28 pixels apart.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from .symmetry import REACH, VARIANCE, beyond_chance

ROWS, COLUMNS, PANE = 1, 8, (32, 4)  # windows down and across, pixels of one of them down and across
GRID, HALF = (ROWS, COLUMNS), COLUMNS // 2
APART = [PANE[1] * (2 * k + 1) for k in range(HALF)]  # pixels from a window's middle to its partner's: 4, 12, 20, 28
STONE = -0.9  # the dark wall around the glass


def cover() -> Tensor:
    """How much glass is in each pixel of a window: it ends in an arch above, and in a sill below.    -> (32, 4)"""
    glass = torch.ones(PANE)
    glass[0] = torch.tensor([0.0, 0.5, 0.5, 0.0])
    glass[1] = torch.tensor([0.4, 1.0, 1.0, 0.4])
    glass[-1] = 0.0
    return glass


def unmirrored(n: int, rng: torch.Generator) -> Tensor:
    """Without the rule: whatever agrees here agrees by chance.    -> colours (n, 3, 1, 8)"""
    return REACH * (2 * torch.rand(n, 3, ROWS, COLUMNS, generator=rng) - 1)


def patterns(n: int, rng: torch.Generator) -> Tensor:
    """Mirrored left to right.    -> colours (n, 3, 1, 8)"""
    left = unmirrored(n, rng)[..., :HALF]
    return torch.cat([left, left.flip(3)], 3)


def render(colours: Tensor) -> Tensor:
    """colours (n, 3, 1, 8) -> images (n, 3, 32, 32), from -1 to 1"""
    glass = cover().to(colours).tile(ROWS, COLUMNS)  # (32, 32)
    wide = colours.repeat_interleave(PANE[0], 2).repeat_interleave(PANE[1], 3)
    return glass * wide + (1 - glass) * STONE


def images(n: int, seed: int) -> Tensor:
    """n images of the task that no training sees, the same for the same seed.    -> (n, 3, 32, 32)"""
    return render(patterns(n, torch.Generator().manual_seed(10**9 + seed)))


def stream(n: int, seed: int) -> Iterator[Tensor]:
    """Batches of n training images without end; the same for the same seed."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        yield render(patterns(n, rng))


def partners() -> Tensor:
    """The place that mirrors each place, counted from the left.    -> (8,)"""
    return torch.arange(ROWS * COLUMNS).view(ROWS, COLUMNS).flip(1).flatten()


def colours_of(pictures: Tensor) -> Tensor:
    """The colour of each window, from the pixels that are all glass.    pictures (n, 3, 32, 32) -> (n, 3, 1, 8)"""
    each = pictures.unflatten(3, (COLUMNS, -1)).unflatten(2, (ROWS, -1)).transpose(3, 4)  # (n, 3, 4, 8, 8, 4)
    return each[..., cover() == 1].mean(-1)


def agreement(pictures: Tensor) -> list[float]:
    """Do partners agree, and how much more than windows of different images do? 1 for the data, 0 by chance.

    pictures (n, 3, 32, 32) -> one number for each distance of APART
    """
    colours = colours_of(pictures.double())
    return beyond_chance(colours[..., :HALF].flip(3), colours[..., HALF:])


def strangers(pictures: Tensor) -> float:
    """The same for windows that are no partners, though of one image: 0 for the data.

    More says that all windows of an image look alike, and then partners agree for no merit of their own. Each window
    of the left half is paired with those of the right half that do not mirror it.
    """
    colours = colours_of(pictures.double())
    left, right = colours[..., :HALF].flip(3), colours[..., HALF:]
    others = [beyond_chance(left, right.roll(k, 3)) for k in range(1, HALF)]
    return sum(map(sum, others)) / (HALF * len(others))


def spread(pictures: Tensor) -> float:
    """Variance of the windows over the images, beside the data's: 1, and 0 for one image n times."""
    return colours_of(pictures).var(0).mean().item() / VARIANCE
