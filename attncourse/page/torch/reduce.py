"""Many entries become one, or follow each other: sums, means, extremes, softmax, running sums."""

import itertools
import math
import operator
from collections import namedtuple
from math import prod

from . import dtypes
from .dtypes import bool_, int64
from .graph import record
from .pointwise import where
from .shapes import Size, axes, axis
from .tensor import FUNCTIONS, Tensor, also, both, called, flat, function, make, wrap, writing

NAN, INF = math.nan, math.inf


def rows(input, dims):
    """The entries as lists along `dims`, one list for each place of the other axes."""
    kept = [d for d in range(input.ndim) if d not in dims]
    values = (
        flat(input.detach().permute([*kept, *dims])) if kept + list(dims) != list(range(input.ndim)) else flat(input)
    )
    length, count = prod(input.shape[d] for d in dims), prod(input.shape[d] for d in kept)
    return [values[i * length : (i + 1) * length] for i in range(count)]


def shape_after(input, dims, keepdim):
    if keepdim:
        return Size(1 if d in dims else n for d, n in enumerate(input.shape))
    return Size(n for d, n in enumerate(input.shape) if d not in dims)


def spread(gradient, input, dims, keepdim):
    """The gradient of a result that lost `dims`, in a shape that broadcasts to the input's."""
    return gradient if keepdim else gradient.reshape(shape_after(input, dims, True))


def _reduced(input, compute, dims, keepdim, kind):
    return make([compute(row) for row in rows(input, dims)], shape_after(input, dims, keepdim), kind)


def totals(lists, kind):
    """The sum of each list. Two halves, each rounded: their order shows in the last digit, as it does in PyTorch."""
    if not kind.is_floating_point or not lists or len(lists[0]) < 3:
        return list(map(sum, lists))
    half = len(lists[0]) // 2
    parts = (kind.fit([sum(row[:half]) for row in lists]), kind.fit([sum(row[half:]) for row in lists]))
    return kind.fit(list(map(operator.add, *parts)))


@called("sum")
def sum_(input, dim=None, keepdim=False, *, dtype=None):
    dims = axes(dim, input.ndim)
    kind = dtype or (int64 if input.dtype.rank < 6 else input.dtype)
    out = make(totals(rows(input, dims), kind), shape_after(input, dims, keepdim), kind)
    return record(out, (input, lambda g: spread(g, input, dims, keepdim).expand(input.shape)))


@both
def mean(input, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        input = input.to(dtype)
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {dtypes.shown(input.dtype)}"
        )
    dims = axes(dim, input.ndim)
    count = prod(input.shape[d] for d in dims)
    sums = totals(rows(input, dims), input.dtype)
    out = make([v / count if count else NAN for v in sums], shape_after(input, dims, keepdim), input.dtype)
    return record(out, (input, lambda g: spread(g, input, dims, keepdim).expand(input.shape) / count))


@both
def nansum(input, dim=None, keepdim=False):
    return sum_(where(input.isnan(), 0.0, input) if input.dtype.is_floating_point else input, dim, keepdim)


@both
def nanmean(input, dim=None, keepdim=False):
    return nansum(input, dim, keepdim) / sum_(~input.isnan(), dim, keepdim)


def prod_(input, dim=None, keepdim=False, *, dtype=None):
    dims = axes(dim, input.ndim)
    kind = dtype or (int64 if input.dtype.rank < 6 else input.dtype)
    out = _reduced(input, prod, dims, keepdim, kind)

    def back(g):
        """The product of all the others, which a quotient does not give where an entry is 0."""
        order = [d for d in range(input.ndim) if d not in dims] + list(dims)
        lined = input.permute(order).reshape(-1, prod(input.shape[d] for d in dims))  # (places, n)
        n = lined.shape[1]
        apart = where(FUNCTIONS["eye"](n, dtype=bool_), 1.0, lined.unsqueeze(1))  # (places, n, n)
        others = apart[:, :, 0] if n else lined
        for i in range(1, n):
            others = others * apart[:, :, i]
        inverse = sorted(range(input.ndim), key=order.__getitem__)
        return spread(g, input, dims, keepdim) * others.reshape([input.shape[d] for d in order]).permute(inverse)

    return record(out, (input, back, input))


also("prod", prod_)


@called("all")
def all_(input, dim=None, keepdim=False):
    return _reduced(input, all, axes(dim, input.ndim), keepdim, bool_)


@called("any")
def any_(input, dim=None, keepdim=False):
    return _reduced(input, any, axes(dim, input.ndim), keepdim, bool_)


@both
def count_nonzero(input, dim=None):
    return sum_(input != 0, dim)


@both
def var(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    minus = (1 if unbiased else 0) if correction is None else correction
    dims = axes(dim, input.ndim)
    count = prod(input.shape[d] for d in dims)
    centred = input - mean(input, dims or None, True)
    spread_ = sum_(centred * centred, dims or None, keepdim)
    return spread_ / max(count - minus, 0)


@both
def std(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return var(input, dim, unbiased, keepdim, correction=correction).sqrt()


@function
def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


# --- extremes --------------------------------------------------------------------------------------


def highest(row):
    """NaN, where there is one, as torch has it."""
    top = max(row)
    return top if top == top and not any(v != v for v in row) else NAN


def lowest(row):
    low = min(row)
    return low if low == low and not any(v != v for v in row) else NAN


def _first(row, value):
    return next(i for i, v in enumerate(row) if v == value or (v != v and value != value))


def _not_empty(input, dims, name):
    if any(input.shape[d] == 0 for d in dims):
        raise IndexError(f"{name}(): Expected reduction dim to have non-zero size.")


def _extremes(word, best):
    pair = namedtuple(word, ["values", "indices"])

    def over(input, dim=None, keepdim=False):  # amax: equal ones share the gradient
        dims = axes(dim, input.ndim)
        _not_empty(input, dims, f"a{word}")
        out = _reduced(input, best, dims, keepdim, input.dtype)

        def back(g):
            ties = input == spread(out, input, dims, keepdim)
            return where(ties, spread(g, input, dims, keepdim) / sum_(ties, dims or None, True), 0.0)

        return record(out, (input, back, input, out))

    def where_(input, dim=None, keepdim=False):  # argmax: the first of equal ones
        if dim is None:
            shape = (1,) * input.ndim if keepdim else ()
            row = flat(input)
            if not row:
                raise IndexError(f"arg{word}(): Expected reduction dim to be specified for input.numel() == 0.")
            return wrap([_first(row, best(row))], shape, int64)
        dims = axes(dim, input.ndim)
        _not_empty(input, dims, f"arg{word}")
        return _reduced(input, lambda row: _first(row, best(row)), dims, keepdim, int64)

    def general(input, dim=None, keepdim=False, *, other=None):  # max(x), max(x, dim), max(x, y)
        if isinstance(dim, Tensor) or other is not None:
            return FUNCTIONS[word + "imum"](input, dim if other is None else other)
        if dim is None:
            if not input.numel():
                raise RuntimeError(f"{word}(): Expected reduction dim to be specified for input.numel() == 0.")
            return over(input)
        d = axis(dim, input.ndim)
        places = where_(input, d, keepdim)
        if not input.shape:
            return pair(input.clone(), places)
        along = places if keepdim else places.unsqueeze(d)
        values = input.gather(d, along)
        return pair(values if keepdim else values.squeeze(d), places)

    also(f"a{word}", over)
    also(f"arg{word}", where_)
    also(word, general)
    return over


amax, amin = _extremes("max", highest), _extremes("min", lowest)


@function
def aminmax(input, *, dim=None, keepdim=False):
    return namedtuple("aminmax", ["min", "max"])(amin(input, dim, keepdim), amax(input, dim, keepdim))


# --- along one axis --------------------------------------------------------------------------------


def along(input, dim, compute, kind=None):
    """`compute(list) -> list of equal length`, for each line of entries along `dim`."""
    d = axis(dim, input.ndim)
    kind = kind or input.dtype
    if not input.shape:
        return make(compute(flat(input)), (), kind)
    found = make([v for row in rows(input, (d,)) for v in compute(row)], (), kind).values
    if d == input.ndim - 1:
        return wrap(found, input.shape, kind)
    shape = (*input.shape[:d], *input.shape[d + 1 :], input.shape[d])
    return wrap(list(flat(wrap(found, shape, kind).movedim(-1, d))), input.shape, kind)


def _softmax_row(row, kind):
    top = max(row, default=0.0)
    exps = [math.exp(v - top) for v in row]
    [below] = totals([exps], kind)
    return [v / below for v in exps]  # the largest is 1, so it is never 0


def _log_softmax_row(row):
    top = max(row, default=0.0)
    below = math.log(sum(math.exp(v - top) for v in row) or 1.0)
    return [v - top - below for v in row]


def _floating(input, dtype, name):
    if dtype is not None:
        return input.to(dtype)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{dtypes.shown(input.dtype)}'")
    return input


@both
def softmax(input, dim, dtype=None):
    input = _floating(input, dtype, "softmax")
    out = along(input, dim, lambda row: _softmax_row(row, input.dtype))
    return record(out, (input, lambda g: out * (g - sum_(g * out, dim, True)), out))


@both
def log_softmax(input, dim, dtype=None):
    input = _floating(input, dtype, "log_softmax")
    out = along(input, dim, _log_softmax_row)
    return record(out, (input, lambda g: g - out.exp() * sum_(g, dim, True), out))


@both
def logsumexp(input, dim, keepdim=False):
    input = input if input.dtype.is_floating_point else input.to(dtypes.default())
    dims = axes(dim, input.ndim)

    def compute(row):
        top = max(row, default=-INF)
        if top in (INF, -INF):
            return NAN if any(v != v for v in row) else top
        return top + math.log(sum(math.exp(v - top) for v in row))

    out = _reduced(input, compute, dims, keepdim, input.dtype)

    def back(g):
        return spread(g, input, dims, keepdim) * (input - spread(out, input, dims, keepdim)).exp()

    return record(out, (input, back, input, out))


@both
def cumsum(input, dim, *, dtype=None):
    kind = dtype or (int64 if input.dtype.rank < 6 else input.dtype)
    out = along(input, dim, lambda row: list(itertools.accumulate(row)), kind)
    return record(out, (input, lambda g: cumsum(g.flip(dim), dim).flip(dim) if input.shape else g))


@both
def cumprod(input, dim, *, dtype=None):
    kind = dtype or (int64 if input.dtype.rank < 6 else input.dtype)
    if input.requires_grad and input.shape:  # composed, so that zeros have their slopes
        parts, product = [], None
        for x in input.unbind(dim):
            product = x if product is None else product * x
            parts.append(product)
        return FUNCTIONS["stack"](parts, dim)
    out = along(input, dim, lambda row: list(itertools.accumulate(row, lambda a, b: a * b)), kind)
    return record(out, (input, lambda g: g))  # without axes there is nothing to multiply


def _running(word, best):
    def operation(input, dim):
        def places(row):
            at, found = 0, []
            for i, v in enumerate(row):
                at = i if best(v, row[at]) else at
                found.append(at)
            return found

        indices = along(input, dim, places, int64)
        return namedtuple(f"cum{word}", ["values", "indices"])(input.gather(dim, indices), indices)

    also(f"cum{word}", operation)


_running("max", lambda a, b: a >= b or a != a)
_running("min", lambda a, b: a <= b or a != a)


@both
def logcumsumexp(input, dim):
    _floating(input, None, "logcumsumexp")
    top = amax(input, dim, True).detach()
    return cumsum((input - top).exp(), dim).log() + top


@both
def diff(input, n=1, dim=-1):
    if not input.shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    for _ in range(n):
        size = input.shape[axis(dim, input.ndim)]
        ahead, behind = input.narrow(dim, 1, size - 1), input.narrow(dim, 0, size - 1)
        input = ahead ^ behind if input.dtype is bool_ else ahead - behind
    return input


writing("cumsum", "cumprod")
