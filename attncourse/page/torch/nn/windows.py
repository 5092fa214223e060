"""Windows over sequences and images: padding, convolution, pooling, and reading an image anywhere."""

import math
from math import prod

from .. import dtypes
from ..choose import gather
from ..create import full, tensor
from ..pointwise import where
from ..shapes import Size, positions, row_major
from ..tensor import FUNCTIONS, pick
from ..unknown import refuse

_stack, _cat, zeros_like = FUNCTIONS["stack"], FUNCTIONS["cat"], FUNCTIONS["zeros_like"]


def pad(input, pad, mode="constant", value=None):
    if len(pad) % 2 or len(pad) // 2 > input.ndim:
        raise RuntimeError("Padding length must be divisible by 2 and at most twice the number of dimensions")
    if mode != "constant" and input.ndim - len(pad) // 2 not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor with mode {mode!r}: the batch "
            "and the channels are never padded"
        )
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        input = _padded(input, input.ndim - 1 - i, before, after, mode, 0.0 if value is None else value)
    return input


def _padded(input, dim, before, after, mode, value):
    n = input.shape[dim]
    if mode == "constant":
        start, stop = max(-before, 0), n - max(-after, 0)
        if stop < start:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after}, resulted in a negative output size, "
                "which is invalid."
            )
        parts = [input.narrow(dim, start, stop - start)]
        for count, first in ((before, True), (after, False)):
            if count > 0:
                shape = (*input.shape[:dim], count, *input.shape[dim + 1 :])
                block = full(shape, value, dtype=input.dtype)
                parts = [block, *parts] if first else [*parts, block]
        return _cat(parts, dim) if len(parts) > 1 else parts[0].clone()
    ways = {
        "replicate": lambda i: min(max(i, 0), n - 1),
        "circular": lambda i: i % n,
        "reflect": lambda i: -i if i < 0 else 2 * (n - 1) - i if i >= n else i,
    }
    refuse("F.pad(mode", mode, ways)
    if mode != "circular" and input.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{mode}_pad\" not implemented for '{dtypes.shown(input.dtype)}'")
    if mode == "reflect" and max(before, after) >= n:
        raise RuntimeError("Padding size should be less than the corresponding input dimension")
    if mode == "circular" and max(before, after) > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    chosen = [ways[mode](i) for i in range(-before, n + after)]
    return FUNCTIONS["index_select"](input, dim, tensor(chosen))


def _several(value, n):
    return (value,) * n if isinstance(value, int) else tuple(value)


def _conv(input, weight, bias, stride, padding, dilation, groups, n):
    """Windows side by side, (B, C·taps, places), times the weight as a matrix."""
    single = input.ndim == n + 1
    input = input.unsqueeze(0) if single else input
    stride, dilation = _several(stride, n), _several(dilation, n)
    if input.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to conv{n}d, but got input of size: "
            f"{list(input.shape)}"
        )
    if input.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have "
            f"{weight.shape[1] * groups} channels, but got {input.shape[1]} channels instead"
        )
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"Input type ({dtypes.shown(input.dtype)}) and bias type ({dtypes.shown(weight.dtype)}) should be the same"
        )
    taps = weight.shape[2:]
    if padding == "same":
        reach = [d * (k - 1) for k, d in zip(taps, dilation, strict=True)]
        sides = [(r // 2, r - r // 2) for r in reach]
    else:
        sides = [(p, p) for p in _several(0 if padding == "valid" else padding, n)]
    if any(map(any, sides)):
        input = pad(input, [p for side in reversed(sides) for p in side])
    sizes = [(m - d * (k - 1) - 1) // s + 1 for m, k, s, d in zip(input.shape[2:], taps, stride, dilation, strict=True)]
    if any(m - d * (k - 1) < 1 for m, k, d in zip(input.shape[2:], taps, dilation, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, input.shape[2:]))}). Kernel size: "
            f"({' x '.join(map(str, taps))}). Kernel size can't be greater than actual input size"
        )
    windows = _windows(input, taps, sizes, stride, dilation)  # (B, C, taps, places)
    outs = []
    for x, w in zip(windows.chunk(groups, 1), weight.chunk(groups, 0), strict=True):
        outs.append(w.flatten(1) @ x.flatten(1, 2))  # (B, out, places)
    out = (outs[0] if groups == 1 else _cat(outs, 1)).reshape((len(input), weight.shape[0], *sizes))
    if bias is not None:
        out = out + bias.reshape((-1, *(1,) * n))
    return out[0] if single else out


def _windows(input, taps, sizes, stride, dilation):
    """(B, C, taps, places)"""
    inner = row_major(input.shape)[2:]
    steps = [t * d for t, d in zip(inner, dilation, strict=True)]
    jumps = [t * s for t, s in zip(inner, stride, strict=True)]
    B, C = input.shape[:2]
    shape = Size((B, C, *taps, *sizes))
    places = positions(shape, (*row_major(input.shape)[:2], *steps, *jumps))
    return pick(input, places, (B, C, prod(taps), prod(sizes)))


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _conv(input, weight, bias, stride, padding, dilation, groups, 1)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _conv(input, weight, bias, stride, padding, dilation, groups, 2)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    taps, dilation, stride = (_several(v, 2) for v in (kernel_size, dilation, stride))
    rows, columns = _several(padding, 2)
    input = pad(input, (columns, columns, rows, rows))
    sizes = [(m - d * (k - 1) - 1) // s + 1 for m, k, s, d in zip(input.shape[2:], taps, stride, dilation, strict=True)]
    return _windows(input, taps, sizes, stride, dilation).flatten(1, 2)


def _pool(input, kernel_size, stride, padding, n, merge, filling):
    single = input.ndim == n + 1
    input = input.unsqueeze(0) if single else input
    taps = _several(kernel_size, n)
    stride = _several(stride or kernel_size, n)
    sides = [p for p in reversed(_several(padding, n)) for _ in range(2)]
    input = pad(input, sides, value=filling) if any(sides) else input
    sizes = [(m - k) // s + 1 for m, k, s in zip(input.shape[2:], taps, stride, strict=True)]
    out = merge(_windows(input, taps, sizes, stride, (1,) * n)).reshape((*input.shape[:2], *sizes))
    return out[0] if single else out


def avg_pool1d(input, kernel_size, stride=None, padding=0):
    return _pool(input, kernel_size, stride, padding, 1, lambda x: x.mean(2), 0.0)


def avg_pool2d(input, kernel_size, stride=None, padding=0):
    return _pool(input, kernel_size, stride, padding, 2, lambda x: x.mean(2), 0.0)


def max_pool1d(input, kernel_size, stride=None, padding=0):
    return _pool(input, kernel_size, stride, padding, 1, lambda x: x.max(2).values, -math.inf)


def max_pool2d(input, kernel_size, stride=None, padding=0):
    return _pool(input, kernel_size, stride, padding, 2, lambda x: x.max(2).values, -math.inf)


def adaptive_avg_pool2d(input, output_size):
    sizes = [n if m is None else m for m, n in zip(_several(output_size, 2), input.shape[-2:], strict=True)]
    for dim, size in ((-2, sizes[0]), (-1, sizes[1])):
        n = input.shape[dim]
        bounds = [(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
        input = _cat([input.narrow(dim, a, b - a).mean(dim, keepdim=True) for a, b in bounds], dim)
    return input


def affine_grid(theta, size, align_corners=False):
    n, _, height, width = size

    def line(count):
        if align_corners:
            return FUNCTIONS["linspace"](-1, 1, count, dtype=theta.dtype) if count > 1 else theta.new_zeros(1)
        return (FUNCTIONS["arange"](count, dtype=theta.dtype) * 2 + 1) / count - 1

    y, x = FUNCTIONS["meshgrid"](line(height), line(width), indexing="ij")
    points = _stack([x, y, zeros_like(x) + 1], -1).reshape(1, -1, 3)
    return (points.expand(n, -1, 3) @ theta.mT).reshape(n, height, width, 2)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    refuse("F.grid_sample(mode", mode, ("bilinear", "nearest"))
    refuse("F.grid_sample(padding_mode", padding_mode, ("zeros", "border", "reflection"))
    if grid.ndim != 4 or input.ndim != 4 or grid.shape[-1] != 2:
        raise RuntimeError(
            "grid_sampler(): expected grid to have size 2 in last dimension, and 4-D input and grid, but got input "
            f"with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    height, width = input.shape[-2:]
    x, y = (
        _inside(_pixels(grid[..., i], n, align_corners), n, padding_mode, align_corners)
        for i, n in ((0, width), (1, height))
    )
    if mode == "nearest":
        return _read_at(input, x.round(), y.round()) + ((x + y) * 0).unsqueeze(1)  # the slope is there, and it is 0
    left, top = x.detach().floor(), y.detach().floor()
    right, down = x - left, y - top  # (B, h, w), how far towards the next pixel
    total = 0.0
    for dx, wx in ((0, 1 - right), (1, right)):
        for dy, wy in ((0, 1 - down), (1, down)):
            total = total + _read_at(input, left + dx, top + dy) * (wx * wy).unsqueeze(1)
    return total


def _pixels(place, size, align_corners):
    return (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2


def _inside(place, size, padding_mode, align_corners):
    if padding_mode == "border":
        return place.clamp(0, size - 1)
    if padding_mode == "reflection":
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        span = (high - low) / 2
        if span == 0:
            return place * 0
        away = (place - low / 2).abs()
        turns = (away.detach() / span).floor()
        rest = away - turns * span
        return where(turns.remainder(2) == 0, rest + low / 2, span - rest + low / 2).clamp(0, size - 1)
    return place


def _read_at(input, x, y):
    """The pixels at whole places (B, h, w), 0 outside."""
    B, C, height, width = input.shape
    there = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    column, row = (where(there, v, 0.0).long() for v in (x, y))
    places = (row * width + column).flatten(1).unsqueeze(1).expand(B, C, -1)
    read = gather(input.flatten(2), 2, places).reshape(B, C, *x.shape[1:])
    return where(there.unsqueeze(1), read, 0.0)
