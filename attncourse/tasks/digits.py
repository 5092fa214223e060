"""MNIST, complete and without a download; also moved about on a larger ground, with clutter, the digit's box known.

The task of Mnih et al. 2014: a digit somewhere on a dark ground of 40×40 or 60×60 pixels, alone (`clutter=0`) or
among pieces of other digits. The files under data/ are CC BY-SA 3.0, see data/README.md.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..running import record

DATA = Path(__file__).parent / "data"
PIECE = 8  # a piece of clutter is 8×8 pixels of another digit


class DamagedData(ValueError):
    pass


class Digits(NamedTuple):
    images: Tensor  # (N, 1, size, size) float, 0 = ground, 1 = ink
    labels: Tensor  # (N,) int
    boxes: Tensor  # (N, 4) int: top, left, bottom, right of the digit's ink; the last two are just outside


@cache
def mnist(split: str) -> tuple[Tensor, Tensor]:
    """The digits as they are.    split "train" or "test" -> images (N, 28, 28) uint8, labels (N,) int64"""
    if split not in ("train", "test"):
        raise ValueError(f"MNIST has the splits 'train' and 'test'; {split!r} is neither")
    hashes = json.loads((DATA / "mnist.json").read_text(encoding="utf-8"))["files"]
    parts = [_read(DATA / name, hashes[name]) for name in sorted(hashes) if f"-{split}-" in name]
    images, labels = (torch.from_numpy(np.concatenate(x)) for x in zip(*parts, strict=True))
    return images, labels.long()


def _read(path: Path, wanted: str) -> tuple[np.ndarray, np.ndarray]:
    record.used("data", path.name)
    data = path.read_bytes() if path.exists() else b""
    if hashlib.sha256(data).hexdigest() != wanted:
        raise DamagedData(f"{path.name} is missing or not the file that mnist.json describes; reinstall the package")
    with np.load(io.BytesIO(data)) as arrays:
        return arrays["images"], arrays["labels"]


def paste(ground: Tensor, stamps: Tensor, places: Tensor) -> Tensor:
    """Lay one stamp on each ground; where both have ink the darker stays.

    ground (N, S, S), stamps (N, s, s), places (N, 2): the row and column of each stamp's corner -> (N, S, S)
    """
    step = torch.arange(stamps.shape[-1], device=places.device)  # (s,)
    rows, columns = (places[:, i, None] + step for i in (0, 1))  # (N, s) each
    where = torch.arange(len(places), device=places.device)[:, None, None], rows[:, :, None], columns[:, None]
    return ground.index_put(where, torch.maximum(ground[where], stamps))


def ink_box(images: Tensor) -> Tensor:
    """The smallest box around all that is not zero.    images (N, h, w) -> (N, 4): top, left, bottom, right"""
    sides = []
    for axis in (2, 1):
        line = (images > 0).any(axis).int()  # (N, h), then (N, w)
        sides += [line.argmax(1), line.shape[1] - line.flip(1).argmax(1)]
    top, bottom, left, right = sides
    return torch.stack([top, left, bottom, right], 1)


def inside(boxes: Tensor, size: int) -> Tensor:
    """boxes (N, 4) -> bool (N, size, size), True inside"""
    at = torch.arange(size, device=boxes.device)
    top, left, bottom, right = boxes[:, :, None].unbind(1)  # (N, 1) each
    rows, columns = (at >= top) & (at < bottom), (at >= left) & (at < right)  # (N, size) each
    return rows[:, :, None] & columns[:, None]


def compose(stamps: Tensor, labels: Tensor, size: int, clutter: int, rng: torch.Generator) -> Digits:
    """Put each stamp (N, s, s) somewhere on a dark ground, then `clutter` pieces of the other stamps."""
    n, side = len(stamps), stamps.shape[-1]
    if size < side:
        raise ValueError(f"a digit of {side}×{side} pixels does not fit on a ground of {size}×{size}")

    def anywhere(room: int) -> Tensor:
        return torch.randint(room + 1, (n, 2), generator=rng)

    places = anywhere(size - side)
    images = paste(stamps.new_zeros(n, size, size), stamps, places)
    for _ in range(clutter):
        others = stamps[torch.randint(n, (n,), generator=rng)]
        step, corner = torch.arange(PIECE), 4 + anywhere(side - PIECE - 8)  # not from the empty margin
        rows, columns = (corner[:, i, None] + step for i in (0, 1))
        pieces = others[torch.arange(n)[:, None, None], rows[:, :, None], columns[:, None]]  # (N, 8, 8)
        images = paste(images, pieces, anywhere(size - PIECE))
    return Digits(images[:, None], labels, ink_box(stamps) + places.repeat(1, 2))


def sample(n: int, seed: int, size: int = 40, clutter: int = 0, held_out: bool = False) -> Digits:
    """n digits of MNIST's training set, or of its test set (`held_out`), each at a random place."""
    rng = torch.Generator().manual_seed(seed)
    images, labels = mnist("test" if held_out else "train")
    chosen = torch.randint(len(images), (n,), generator=rng)
    return compose(images[chosen] / 255, labels[chosen], size, clutter, rng)


def stream(n: int, seed: int, size: int = 40, clutter: int = 0, zoom: tuple[int, int] = (28, 28)) -> Iterator[Digits]:
    """Fresh batches of n training digits without end; `zoom` is the range of the side that 28 pixels become."""
    rng = torch.Generator().manual_seed(seed)
    images, labels = mnist("train")
    while True:
        chosen = torch.randint(len(images), (n,), generator=rng)
        side = int(torch.randint(zoom[0], zoom[1] + 1, (), generator=rng))
        stamps = images[chosen, None] / 255  # (n, 1, 28, 28)
        if side != 28:
            stamps = F.interpolate(stamps, size=(side, side), mode="bilinear", antialias=True).clamp(0, 1)
        yield compose(stamps[:, 0], labels[chosen], size, clutter, rng)
