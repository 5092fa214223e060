"""`attncourse bench glimpse`: what a look costs beside a convolution over everything, as the image grows."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from ..mechanisms.glimpse import RAM, glimpse
from ..mechanisms.implicit import ConvNet


def loop_glimpse(images: Tensor, place: Tensor, size: int) -> Tensor:
    """One scale, an image at a time, as one would write it first: round, pad, cut.    -> (B, C, size, size)"""
    padded, cuts = F.pad(images, (size,) * 4), []
    for image, (x, y) in zip(padded, place.tolist(), strict=True):
        row, column = (round((at + 1) / 2 * n + size / 2) for at, n in ((y, images.shape[2]), (x, images.shape[3])))
        cuts.append(image[:, row : row + size, column : column + size])
    return torch.stack(cuts)


def bench(sizes: tuple[int, ...] = (28, 60, 120, 240), rows: int = 16):
    ram, net = RAM().eval(), ConvNet().eval()
    images = {s: torch.rand(rows, 1, s, s) for s in sizes}
    place, h = torch.zeros(rows, 2), torch.zeros(rows, ram.core.out_features)
    shape, many = f"B {rows}", torch.rand(128, 2) * 2 - 1
    ground = torch.rand(128, 1, 60, 60)

    def quietly(run: Callable, *inputs):
        with torch.no_grad():
            return run(*inputs)

    return {
        f"one look of RAM, {shape}": {f"S {s}": partial(quietly, ram.look, x, place, h) for s, x in images.items()},
        f"one pass of ConvNet, {shape}": {f"S {s}": partial(quietly, net, x) for s, x in images.items()},
        "glimpses of 12×12 at 128 images of 60×60": {
            "one grid_sample": partial(quietly, glimpse, ground, many, 12),
            "a loop over the images": partial(quietly, loop_glimpse, ground, many, 12),
            "one grid_sample, three scales": partial(quietly, glimpse, ground, many, 12, 3),
        },
    }
