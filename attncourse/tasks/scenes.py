"""Scenes of coloured shapes, a caption for each, and for every content word of it the region that it names.

A scene is 48×48 pixels, three by three cells; two to four of the cells hold a shape, somewhere inside the cell. The
caption names them in reading order, so a scene has exactly one: "a small red circle above a blue square beside …".
Four combinations of colour and shape (`UNSEEN`) never occur in training, though each colour and each shape does.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.symbols import END, PAD, UNKNOWN
from .text import Vocabulary

SIZE, CELLS, PATCH = 48, 3, 4  # pixels, cells and pixels of a patch, along each side
GRID = SIZE // PATCH  # 12: patches along each side; a model that looks chooses among 144
COLOURS = {
    "red": (0.84, 0.15, 0.16), "green": (0.17, 0.63, 0.17), "blue": (0.12, 0.36, 0.80),
    "yellow": (0.95, 0.80, 0.10), "purple": (0.60, 0.25, 0.75), "cyan": (0.10, 0.72, 0.78),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle", "cross")
RADII = ((3.5, 4.5), (6.5, 7.5))  # small, and what is not called small
GROUND = 0.94
UNSEEN = (("red", "cross"), ("green", "circle"), ("blue", "triangle"), ("yellow", "square"))
COUNTS = (2, 3, 4)
WORDS = ("a", "above", "beside", "small", *COLOURS, *SHAPES)
IDS = {word: i for i, word in enumerate(WORDS, start=UNKNOWN + 1)}
KINDS = [(colour, shape) for colour in COLOURS for shape in SHAPES]
SEEN_KINDS = torch.tensor([i for i, kind in enumerate(KINDS) if kind not in UNSEEN])
UNSEEN_KINDS = torch.tensor([i for i, kind in enumerate(KINDS) if kind in UNSEEN])


class Scenes(NamedTuple):
    """N scenes of K shapes each, in reading order; every row is a scene."""

    cell: Tensor  # (N, K) int, 0 … 8, increasing
    colour: Tensor  # (N, K) int
    shape: Tensor  # (N, K) int
    small: Tensor  # (N, K) bool
    box: Tensor  # (N, K, 3) float: the middle's row and column and the radius, in pixels


class Batch(NamedTuple):
    images: Tensor  # (N, 3, 48, 48) float
    captions: Tensor  # (N, T) int, closed with END
    lengths: Tensor  # (N,) int, words and END
    regions: Tensor  # (N, T, 144) bool: the patches that a content word names; none for the other words


class Words(Vocabulary):
    """Whole words instead of characters: a caption is split at its spaces."""

    def __init__(self, words: Sequence[str] = WORDS):
        super().__init__(words)

    def decode(self, ids) -> list[str]:
        return [" ".join(self._until_end(row)) for row in ids]


def gauges(y: Tensor, x: Tensor) -> Tensor:
    """1 on the outline of each shape, less inside; y, x in radii from the middle.    (…) -> (…, 4)"""
    up, side = y.abs(), x.abs()
    circle = torch.hypot(y, x)
    square = torch.maximum(up, side) / 0.88
    triangle = torch.maximum(y / 0.85, 2 * side - y)  # stands on its base, points up
    cross = torch.minimum(torch.maximum(up, side / 0.36), torch.maximum(up / 0.36, side))
    return torch.stack([circle, square, triangle, cross], -1)


def render(scenes: Scenes) -> Tensor:
    """-> images (N, 3, 48, 48). Each shape is drawn in its own cell of 16×16 pixels, its edge one pixel soft."""
    n, side = len(scenes.cell), SIZE // CELLS
    at = torch.arange(side) + 0.5  # (16,), middles of the pixels
    row, column, radius = scenes.box.unbind(-1)  # (N, K) each
    y = (at + (scenes.cell // CELLS * side - row)[..., None]) / radius[..., None]  # (N, K, 16)
    x = (at + (scenes.cell % CELLS * side - column)[..., None]) / radius[..., None]
    y, x = torch.broadcast_tensors(y[..., :, None], x[..., None, :])  # (N, K, 16, 16)
    pick = scenes.shape[..., None, None, None].expand(*y.shape, 1)
    gauge = gauges(y, x).gather(-1, pick)[..., 0]
    ink = ((1 - gauge) * radius[..., None, None] + 0.5).clamp(0, 1)  # (N, K, 16, 16), 1 = all shape
    paint = torch.tensor(list(COLOURS.values()))[scenes.colour]  # (N, K, 3)
    patches = GROUND + ink[:, :, None] * (paint - GROUND)[..., None, None]  # (N, K, 3, 16, 16)
    cells = torch.full((n, CELLS**2, 3, side, side), GROUND)
    cells[torch.arange(n)[:, None], scenes.cell] = patches
    return cells.unflatten(1, (CELLS, CELLS)).permute(0, 3, 1, 4, 2, 5).reshape(n, 3, SIZE, SIZE)


def regions(scenes: Scenes) -> Tensor:
    """The patches that touch the square around each shape.    -> bool (N, K, 144)"""
    low = torch.arange(GRID) * PATCH  # (12,), where each patch begins
    row, column, radius = scenes.box[..., None].unbind(-2)  # (N, K, 1) each

    def touch(middle: Tensor) -> Tensor:
        return (low < middle + radius) & (low + PATCH > middle - radius)  # (N, K, 12)

    return (touch(row)[..., :, None] & touch(column)[..., None, :]).flatten(-2)


def describe(scenes: Scenes) -> tuple[Tensor, Tensor, Tensor]:
    """The captions -> words (N, T), lengths (N,), and which shape each word names (N, T) int, -1 for none.

    Five places a shape: the relation to the shape before, "a", "small", colour, shape. What is not said is cut out.
    """
    n, count = scenes.cell.shape
    below = (scenes.cell // CELLS).diff(dim=1) > 0  # (N, K - 1)
    relation = torch.cat([torch.full((n, 1), PAD), torch.where(below, IDS["above"], IDS["beside"])], 1)  # (N, K)
    article, small = torch.full((n, count), IDS["a"]), torch.where(scenes.small, IDS["small"], PAD)
    each = [relation, article, small, scenes.colour + IDS["red"], scenes.shape + IDS["circle"]]
    words = torch.cat([torch.stack(each, -1).flatten(1), torch.full((n, 1), END)], 1)  # (N, 5K + 1)
    content = torch.tensor([False, False, True, True, True])
    named = torch.where(content, torch.arange(count)[:, None], -1).flatten()  # (5K,)
    named = torch.cat([named, torch.tensor([-1])]).expand(n, -1).masked_fill(words == PAD, -1)  # (N, 5K + 1)
    order = (words == PAD).int().argsort(dim=1, stable=True)  # what is said, in its order, then the gaps
    lengths = (words != PAD).sum(1)
    longest = int(lengths.max())
    return words.gather(1, order)[:, :longest], lengths, named.gather(1, order)[:, :longest]


def batch(scenes: Scenes) -> Batch:
    words, lengths, named = describe(scenes)
    places = regions(scenes)  # (N, K, 144)
    each = places.gather(1, named.clamp_min(0)[..., None].expand(-1, -1, places.shape[-1]))  # (N, T, 144)
    return Batch(render(scenes), words, lengths, each & (named >= 0)[..., None])


def draw(n: int, count: int, rng: torch.Generator, unseen: bool = False) -> Scenes:
    """n scenes of `count` shapes in seen combinations; with `unseen`, one shape of each scene has an unseen one."""
    cell = torch.rand(n, CELLS**2, generator=rng).argsort(1)[:, :count].sort(1).values  # (N, K)
    kind = SEEN_KINDS[torch.randint(len(SEEN_KINDS), (n, count), generator=rng)]
    if unseen:
        other = UNSEEN_KINDS[torch.randint(len(UNSEEN_KINDS), (n, 1), generator=rng)]
        kind = kind.scatter(1, torch.randint(count, (n, 1), generator=rng), other)
    small = torch.rand(n, count, generator=rng) < 0.5
    low, high = torch.where(small[..., None], torch.tensor(RADII[0]), torch.tensor(RADII[1])).unbind(-1)
    radius = low + (high - low) * torch.rand(n, count, generator=rng)
    side = SIZE // CELLS
    corner = torch.stack([cell // CELLS, cell % CELLS], -1) * side  # (N, K, 2)
    room = (side - 2 * radius)[..., None]  # (N, K, 1): how far a shape can move inside its cell
    middle = corner + radius[..., None] + room * torch.rand(n, count, 2, generator=rng)
    box = torch.cat([middle, radius[..., None]], -1)
    return Scenes(cell, kind // len(SHAPES), kind % len(SHAPES), small, box)


def is_held_out(scenes: Scenes) -> Tensor:
    """An eighth of all arrangements, by a checksum of what stands where, is never trained on.    -> bool (N,)"""
    each = ((scenes.cell * len(COLOURS) + scenes.colour) * len(SHAPES) + scenes.shape) * 2 + scenes.small  # (N, K)
    code = (each * 433 ** torch.arange(each.shape[1])).sum(1)  # one number for one arrangement: each < 432
    return code * 7919 % 1_000_003 % 8 == 0


def choose(n: int, count: int, rng: torch.Generator, held_out: bool, unseen: bool) -> Scenes:
    """Draw until n scenes are on the asked side of the checksum."""
    found, size = [], 0
    while size < n:
        scenes = draw(9 * n + 32 if held_out else n + n // 4 + 8, count, rng, unseen)
        kept = is_held_out(scenes) == held_out
        found.append([x[kept] for x in scenes])
        size += int(kept.sum())
    return Scenes(*(torch.cat(parts)[:n] for parts in zip(*found, strict=True)))


def sample(n: int, seed: int, held_out: bool = False, unseen: bool = False, counts: Sequence[int] = COUNTS) -> Batch:
    """n scenes, as many of each count as of the others; `unseen` ones are always held out.

    The same examples for the same arguments; a training scene and a held-out one never show the same arrangement.
    """
    rng = torch.Generator().manual_seed(seed)
    each = [n // len(counts) + (i < n % len(counts)) for i in range(len(counts))]
    parts = [batch(choose(m, c, rng, held_out or unseen, unseen)) for m, c in zip(each, counts, strict=True) if m]
    return _join(parts)


def _join(parts: Sequence[Batch]) -> Batch:
    """Captions padded to the longest"""
    longest = max(part.captions.shape[1] for part in parts)
    wide = [
        Batch(
            images, F.pad(captions, (0, longest - captions.shape[1]), value=PAD), lengths,
            F.pad(where, (0, 0, 0, longest - where.shape[1])),
        )
        for images, captions, lengths, where in parts
    ]  # fmt: skip
    return Batch(*(torch.cat(x) for x in zip(*wide, strict=True)))


def stream(n: int, seed: int, counts: Sequence[int] = COUNTS) -> Iterator[Batch]:
    """Fresh batches of n training scenes without end.

    Every batch mixes the counts: with one count a batch, a batch norm's statistics would tell it, in training only.
    """
    rng = torch.Generator().manual_seed(seed)
    while True:
        count = torch.randint(len(counts), (n,), generator=rng).bincount(minlength=len(counts)).tolist()
        pairs = [(m, c) for m, c in zip(count, counts, strict=True) if m]
        yield _join([batch(choose(m, c, rng, held_out=False, unseen=False)) for m, c in pairs])
