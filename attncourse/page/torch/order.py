"""Order: sorting, the largest few, and where a number belongs among others."""

import builtins
import math
from bisect import bisect_left, bisect_right
from collections import namedtuple

from .dtypes import int64, shown
from .reduce import along, rows
from .shapes import axis
from .tensor import FUNCTIONS, Tensor, both, flat, function, make, pick, wrap
from .unknown import sentence

INF = math.inf


def _key(v):
    return (v != v, v)  # NaN counts as the largest


def order(row, descending):
    places = sorted(range(len(row)), key=lambda i: _key(row[i]))
    if descending:  # stable as well: equal ones stay in their order
        places = sorted(range(len(row)), key=lambda i: _key(-row[i]) if row[i] == row[i] else (False, -INF))
    return places


@both
def argsort(input, dim=-1, descending=False, stable=False):
    return along(input, dim, lambda row: order(row, descending), int64)


@both
def sort(input, dim=-1, descending=False, stable=False):
    places = argsort(input, dim, descending)
    values = input.gather(dim, places) if input.shape else input.clone()
    return namedtuple("sort", ["values", "indices"])(values, places)


@both
def topk(input, k, dim=-1, largest=True, sorted=True):
    d = axis(dim, input.ndim)
    if k > (input.shape[d] if input.shape else 1):
        raise RuntimeError("selected index k out of range")
    if not input.shape:
        return namedtuple("topk", ["values", "indices"])(input.clone(), wrap([0], (), int64))
    places = argsort(input, d, largest).narrow(d, 0, k).contiguous()
    return namedtuple("topk", ["values", "indices"])(input.gather(d, places), places)


@both
def kthvalue(input, k, dim=-1, keepdim=False):
    found = sort(input, dim)
    if not input.shape:
        return namedtuple("kthvalue", ["values", "indices"])(*found)
    pair = [x.narrow(dim, k - 1, 1) for x in found]
    return namedtuple("kthvalue", ["values", "indices"])(*(x if keepdim else x.squeeze(dim) for x in pair))


@both
def median(input, dim=None, keepdim=False):
    if dim is None:
        return pick(input, [order(flat(input), False)[(input.numel() - 1) // 2]], ())
    size = input.shape[axis(dim, input.ndim)] if input.shape else 1
    return kthvalue(input, (size + 1) // 2, dim, keepdim)


@function
def searchsorted(sorted_sequence, input, *, right=False, side=None, out_int32=False, sorter=None):
    find = bisect_right if right or side == "right" else bisect_left
    single = not isinstance(input, Tensor)
    input = FUNCTIONS["as_tensor"](input)
    if sorted_sequence.ndim > 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and "
            f"input value tensor {list(input.shape)}"
        )
    lists = rows(sorted_sequence, (sorted_sequence.ndim - 1,))
    wanted = rows(input, (input.ndim - 1,)) if sorted_sequence.ndim > 1 else [flat(input)]
    found = [find(line, v) for line, values in zip(lists, wanted, strict=True) for v in values]
    return wrap(found, () if single else input.shape, int64)


@function
def bucketize(input, boundaries, *, right=False):
    return searchsorted(boundaries, input, right=right)


@both
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    values = flat(input)
    kinds = list(dict.fromkeys(builtins.sorted(values, key=_key))) if dim is None else None
    if kinds is None:
        raise NotImplementedError(sentence("torch.unique(dim=…)"))
    out = [wrap(kinds, (len(kinds),), input.dtype)]
    if return_inverse:
        out.append(wrap([kinds.index(v) for v in values], input.shape, int64))
    if return_counts:
        out.append(wrap([values.count(v) for v in kinds], (len(kinds),), int64))
    return out[0] if len(out) == 1 else tuple(out)


@both
def bincount(input, weights=None, minlength=0):
    if input.dtype.rank > 5:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{shown(input.dtype)}'")
    values = flat(input)
    counts = [0] * max(minlength, max(values, default=-1) + 1)
    for v, w in zip(values, flat(weights) if weights is not None else [1] * len(values), strict=True):
        counts[v] += w
    return make(counts, (len(counts),), int64 if weights is None else weights.dtype)
