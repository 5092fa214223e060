"""torch.nn.functional: layers and losses as functions, made of the operations of the other modules."""

import math
from math import prod

from .. import dtypes
from ..choose import gather
from ..create import full, tensor
from ..linalg import vector_norm
from ..pointwise import where
from ..reduce import log_softmax, softmax, sum_
from ..shapes import Size, positions, row_major
from ..tensor import FUNCTIONS, flat, pick, wrap
from ..unknown import getter, refuse

__getattr__ = getter("torch.nn.functional")
_stack, _cat, zeros_like = FUNCTIONS["stack"], FUNCTIONS["cat"], FUNCTIONS["zeros_like"]
__all__ = ["log_softmax", "softmax"]

tanh, sigmoid = FUNCTIONS["tanh"], FUNCTIONS["sigmoid"]


def relu(input, inplace=False):
    return input.relu_() if inplace else input.relu()


# --- functions of one number -----------------------------------------------------------------------


def softplus(input, beta=1.0, threshold=20.0):
    scaled = input * beta
    # Far to the right it is a straight line; where() would still follow exp() there, so exp() never sees it.
    large = scaled > threshold
    soft = (where(large, 0.0, scaled).exp().log1p()) / beta
    return where(large, input, soft)


def logsigmoid(input):
    return input.clamp(max=0) - (-input.abs()).exp().log1p()


def silu(input, inplace=False):
    return input * input.sigmoid()


def gelu(input, approximate="none"):
    if approximate == "tanh":
        return 0.5 * input * (1 + (math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)).tanh())
    return 0.5 * input * (1 + (input / math.sqrt(2)).erf())


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return where(input > 0, input, input * negative_slope)


def elu(input, alpha=1.0, inplace=False):
    return where(input > 0, input, alpha * input.clamp(max=0).expm1())


def relu6(input, inplace=False):
    return input.clamp(0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return input.clamp(min_val, max_val)


def dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    keep = FUNCTIONS["bernoulli"](zeros_like(input) + (1 - p))
    return input * (keep / (1 - p) if p < 1 else keep)


def glu(input, dim=-1):
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def softmin(input, dim):
    return softmax(-input, dim)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    noise = -(-FUNCTIONS["rand_like"](logits).log()).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = FUNCTIONS["scatter"](zeros_like(logits), dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


# --- vectors and tables ----------------------------------------------------------------------------


def linear(input, weight, bias=None):
    out = input @ weight.mT if weight.ndim > 1 else input @ weight
    return out if bias is None else out + bias


def bilinear(input1, input2, weight, bias=None):
    out = FUNCTIONS["einsum"]("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if input.dtype.rank > 5 or input.dtype is dtypes.bool_:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dtypes.shown(input.dtype)}Tensor instead (while checking arguments for embedding)"
        )
    if any(not 0 <= i < weight.shape[0] for i in flat(input)):
        raise IndexError("index out of range in self")
    return weight[input]


def one_hot(tensor, num_classes=-1):
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    values = flat(tensor)
    if min(values, default=0) < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = max(values, default=-1) + 1 if num_classes == -1 else num_classes
    if max(values, default=-1) >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return wrap([int(v == i) for v in values for i in range(n)], (*tensor.shape, n), dtypes.int64)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / vector_norm(input, p, dim, True).clamp_min(eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    a, b = FUNCTIONS["broadcast_tensors"](x1, x2)
    lengths = [vector_norm(x, 2, dim, True).clamp_min(eps) for x in (a, b)]
    return sum_((a / lengths[0]) * (b / lengths[1]), dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    n = len(normalized_shape)
    if tuple(input.shape[-n:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    dims = list(range(-n, 0))
    centred = input - input.mean(dims, keepdim=True)
    out = centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def rms_norm(input, normalized_shape, weight=None, eps=None):
    dims = list(range(-len(normalized_shape), 0))
    eps = dtypes.finfo(input.dtype).eps if eps is None else eps
    out = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return out if weight is None else out * weight


# --- padding, convolution, pooling -----------------------------------------------------------------


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
    if mode != "circular" and input.dtype.rank < 6:
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


# --- reading images --------------------------------------------------------------------------------


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


# --- attention -------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (FUNCTIONS["repeat_interleave"](x, times, -3) for x in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = wrap([True], (), dtypes.bool_).expand(scores.shape[-2:]).clone().tril()
    hidden = None
    if attn_mask is not None and attn_mask.dtype is dtypes.bool_:
        hidden = ~attn_mask
        scores = where(hidden, -math.inf, scores)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return dropout(_safe_softmax(scores), dropout_p) @ value


def _safe_softmax(scores):
    """A row that may attend to nothing gives zeros, in value and gradient."""
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))


# --- losses ----------------------------------------------------------------------------------------


def _reduce(each, reduction):
    ways = {"none": lambda x: x, "mean": lambda x: x.mean(), "sum": lambda x: x.sum()}
    if reduction not in ways:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ways[reduction](each)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    d = 1 if input.ndim > 1 else 0
    if target.shape != (*input.shape[:d], *input.shape[d + 1 :]):
        if input.ndim > 1 and target.shape[:1] != input.shape[:1]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
            )
        raise RuntimeError(
            f"input and target shapes do not match: input {list(input.shape)}, target {list(target.shape)}"
        )
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.shown(target.dtype)}")
    real = target != ignore_index
    for i, keep in zip(flat(target), flat(real), strict=True):
        if keep and not 0 <= i < input.shape[d]:
            raise IndexError(f"Target {i} is out of bounds.")
    chosen = where(real, target, 0)
    each = -gather(input, d, chosen.unsqueeze(d)).squeeze(d)
    counts = real.to(input.dtype) if weight is None else where(real, weight[chosen], 0.0)
    each = where(real, each * (1 if weight is None else counts), 0.0)
    return each.sum() / counts.sum() if reduction == "mean" else _reduce(each, reduction)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    d = 1 if input.ndim > 1 else 0
    logs = log_softmax(input, d)
    if target.dtype.is_floating_point:
        if target.shape != input.shape:
            raise RuntimeError("Expected floating point type for target with class probabilities of the input's shape")
        each = -sum_(logs * target, d)
        return each.sum() / max(each.numel(), 1) if reduction == "mean" else _reduce(each, reduction)
    hard = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return hard
    real = target != ignore_index
    soft = where(real, -logs.mean(d), 0.0)
    soft = soft.sum() / real.sum() if reduction == "mean" else _reduce(soft, reduction)
    return (1 - label_smoothing) * hard + label_smoothing * soft


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduce((input - target).square(), reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduce((input - target).abs(), reduction)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    gap = (input - target).abs()
    return _reduce(where(gap < beta, 0.5 * gap.square() / beta, gap - 0.5 * beta), reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    each = -(target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100))
    return _reduce(each if weight is None else each * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    each = (1 - target) * input - logsigmoid(input)
    return _reduce(each if weight is None else each * weight, reduction)


def kl_div(input, target, reduction="mean", log_target=False):
    if log_target:
        each = target.exp() * (target - input)
    else:
        each = where(target > 0, target * (where(target > 0, target, 1.0).log() - input), 0.0)
    return each.sum() / len(input) if reduction == "batchmean" else _reduce(each, reduction)


def hinge_embedding_loss(input, target, margin=1.0, reduction="mean"):
    return _reduce(where(target == 1, input, (margin - input).clamp(min=0)), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    return _reduce((-target * (input1 - input2) + margin).clamp(min=0), reduction)
