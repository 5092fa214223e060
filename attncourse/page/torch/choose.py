"""Entries by index and by mask: gather and scatter, joining, shifting, triangles."""

from itertools import product
from math import prod

from . import dtypes
from .dtypes import bool_, int64
from .graph import record
from .indexing import put
from .pointwise import where
from .shapes import Size, axes, axis, broadcast, positions, row_major, sizes
from .tensor import FUNCTIONS, Tensor, both, drop, flat, flat_as, function, in_place, make, method, pick, wrap, writing
from .unknown import refuse


def _indices(index, size, dim):
    if index.dtype is not int64 and index.dtype is not dtypes.int32:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    values = flat(index)
    for i in values:
        if not 0 <= i < size:
            raise RuntimeError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    return values


def _addresses(input, dim, index):
    """For gather and scatter: where in `input` each entry of `index` points."""
    d = axis(dim, input.ndim)
    if index.ndim != input.ndim and index.numel():
        if max(index.ndim, 1) != max(input.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if not input.shape:
        return [0] * index.numel()
    for axis_, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)):
        if axis_ != d and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {axis_} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {d}"
            )
    strides = list(row_major(input.shape))
    step, strides[d] = strides[d], 0
    chosen = _indices(index, input.shape[d], d)
    return [p + i * step for p, i in zip(positions(index.shape, tuple(strides)), chosen, strict=True)]


@both
def gather(input, dim, index, *, sparse_grad=False):
    return pick(input, _addresses(input, dim, index), index.shape)


@both
def take_along_dim(input, indices, dim=None):
    if dim is None:
        return pick(input, flat(indices), indices.shape)
    d = axis(dim, input.ndim)
    shape = broadcast(*(Size((*x.shape[:d], 1, *x.shape[d + 1 :])) for x in (input, indices)))
    stretched = [x.expand(*shape[:d], x.shape[d], *shape[d + 1 :]) for x in (input, indices)]
    return gather(stretched[0], d, stretched[1])


@both
def take(input, index):
    return pick(input, [i % input.numel() for i in flat(index)], index.shape)


@both
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    if reduce is not None:
        refuse("scatter(reduce", reduce, ("add",))
        return scatter_add(input, dim, index, src)
    src = value if src is None else src
    places = _addresses(input, dim, index)
    if not isinstance(src, Tensor):
        src = make([src] * len(places), index.shape, input.dtype)
    elif src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return put(input, places, _corner(src, index.shape))


def _corner(src, shape):
    """Only the part of `src` that has the shape of the index counts."""
    if any(n > m for n, m in zip(shape, src.shape, strict=True)):
        raise RuntimeError(f"Expected index {list(shape)} to be no larger than src {list(src.shape)}")
    for d, n in enumerate(shape):
        src = src if src.shape[d] == n else src.narrow(d, 0, n)
    return src


@both
def scatter_add(input, dim, index, src):
    if src.dtype is not input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return input + drop(_corner(src, index.shape), _addresses(input, dim, index), input.shape)


def _lines(shape, dim, indices):
    """All entries whose index along `dim` is one of `indices`, in the order of reading."""
    ranges = [range(n) for n in shape]
    ranges[dim] = indices
    strides = row_major(shape)
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in product(*ranges)]


@both
def index_select(input, dim, index):
    d = axis(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    indices = [_within(i, input.shape[d]) for i in flat(index)]
    shape = (*input.shape[:d], len(indices), *input.shape[d + 1 :])
    return pick(input, _lines(input.shape, d, indices), shape)


def _within(i, size):
    if not 0 <= i < size:
        raise IndexError("index out of range in self")
    return i


@both
def index_add(input, dim, index, source, *, alpha=1):
    d = axis(dim, input.ndim)
    places = _lines(input.shape, d, [_within(i, input.shape[d]) for i in flat(index)])
    return input + drop(source * alpha if alpha != 1 else source, places, input.shape)


@both
def index_copy(input, dim, index, source):
    d = axis(dim, input.ndim)
    return put(input, _lines(input.shape, d, [_within(i, input.shape[d]) for i in flat(index)]), source)


@both
def index_fill(input, dim, index, value):
    d = axis(dim, input.ndim)
    places = _lines(input.shape, d, [i % input.shape[d] for i in flat(index)])
    return put(input, places, make([value], (), input.dtype).expand(len(places)))


@both
def masked_fill(input, mask, value):
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, Tensor) and value.shape:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    number = value.item() if isinstance(value, Tensor) else value
    if isinstance(number, float) and 0 < input.dtype.rank < 6 and not abs(number) < 2**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    shape = broadcast(input.shape, mask.shape)
    filling = input.dtype.fit([number])[0]
    values = [filling if m else v for m, v in zip(flat_as(mask, shape), flat_as(input, shape), strict=True)]
    inputs = [(input, lambda g: where(mask, 0.0, g))]
    if isinstance(value, Tensor):
        inputs.append((value, lambda g: where(mask, g, 0.0)))
    return record(wrap(values, shape, input.dtype), *inputs)


@both
def masked_select(input, mask):
    shape = broadcast(input.shape, mask.shape)
    return input.expand(shape)[mask.expand(shape)]


@both
def masked_scatter(input, mask, source):
    mask = mask.expand(input.shape)
    places = [i for i, m in enumerate(flat(mask)) if m]
    return put(input, places, source.flatten()[: len(places)])


@both
def nonzero(input, *, as_tuple=False):
    found = [i for i, v in enumerate(flat(input)) if v]
    strides = row_major(input.shape)
    columns = [[p // s % n for p in found] for n, s in zip(input.shape, strides, strict=True)]
    if as_tuple:
        return tuple(wrap(column, (len(found),), int64) for column in columns)
    return wrap([i for row in zip(*columns, strict=True) for i in row], (len(found), input.ndim), int64)


@both
def argwhere(input):
    return nonzero(input)


@function
def unravel_index(indices, shape):
    strides = row_major(Size(shape))
    values = flat(indices)
    return tuple(wrap([v // s % n for v in values], indices.shape, int64) for n, s in zip(shape, strides, strict=True))


# --- joining and repeating -------------------------------------------------------------------------


def _several(tensors, name):
    if isinstance(tensors, Tensor):
        tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
    return list(tensors)


@function
def cat(tensors, dim=0):
    given = _several(tensors, "torch.cat():")
    tensors = [x for x in given if x.shape != (0,)] or given[:1]
    first, empty = tensors[0], [x for x in given if x.shape == (0,)]  # empty lists fit anywhere
    if any(not x.shape for x in tensors):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = axis(dim, first.ndim)
    for i, x in enumerate(tensors):
        if x.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {x.ndim}")
        if (*x.shape[:d], *x.shape[d + 1 :]) != (*first.shape[:d], *first.shape[d + 1 :]):
            off = next(k for k in range(x.ndim) if k != d and x.shape[k] != first.shape[k])
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {first.shape[off]} but got size "
                f"{x.shape[off]} for tensor number {i} in the list."
            )
    kind = dtypes.meet(*tensors)
    blocks = [(flat(x), prod(x.shape[d:])) for x in tensors]
    values = []
    for i in range(prod(first.shape[:d])):
        for block, n in blocks:
            values += block[i * n : (i + 1) * n]
    shape = (*first.shape[:d], sum(x.shape[d] for x in tensors), *first.shape[d + 1 :])
    out = make(values, shape, kind) if any(x.dtype is not kind for x in tensors) else wrap(values, shape, kind)
    starts = [sum(x.shape[d] for x in tensors[:i]) for i in range(len(tensors))]

    def part(start, x):
        return lambda g: g.narrow(d, start, x.shape[d])

    edges = [(x, part(start, x)) for x, start in zip(tensors, starts, strict=True)]
    return record(out, *edges, *((x, lambda g: g.new_zeros(0)) for x in empty if x is not first))


FUNCTIONS["concat"] = FUNCTIONS["concatenate"] = FUNCTIONS["cat"]


@function
def stack(tensors, dim=0):
    tensors = _several(tensors, "stack")
    for i, x in enumerate(tensors):
        if x.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(x.shape)} at entry {i}"
            )
    return cat([x.unsqueeze(dim) for x in tensors], axis(dim, tensors[0].ndim + 1))


@function
def hstack(tensors):
    return cat([x.reshape(1) if not x.shape else x for x in tensors], 0 if tensors[0].ndim < 2 else 1)


@function
def vstack(tensors):
    return cat([x if x.ndim > 1 else x.reshape(1, -1) for x in tensors], 0)


@method
def repeat(input, *repeats):
    counts = sizes(repeats)
    if len(counts) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    input = input.reshape((*(1,) * (len(counts) - input.ndim), *input.shape))
    for d, n in enumerate(counts):
        if n != 1:
            input = cat([input] * n, d) if n else input.narrow(d, 0, 0)
    return input.clone()


@both
def tile(input, *dims):
    counts = sizes(dims)
    return repeat(input, *(1,) * (input.ndim - len(counts)), *counts)


@both
def repeat_interleave(input, repeats, dim=None):
    if dim is None:
        input, dim = input.flatten(), 0
    size = input.shape[axis(dim, input.ndim)]
    counts = list(flat(repeats)) if isinstance(repeats, Tensor) else [repeats]
    counts = counts * size if len(counts) == 1 else counts
    indices = [i for i, n in enumerate(counts) for _ in range(n)]
    return index_select(input, dim, wrap(indices, (len(indices),), int64))


@both
def flip(input, *dims):
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    for d in axes(tuple(given), input.ndim) if given else ():
        shape = input.shape
        input = pick(input, _lines(shape, d, range(shape[d] - 1, -1, -1)), shape)
    return input if given and input.shape else input.clone()


@both
def fliplr(input):
    return flip(input, 1)


@both
def flipud(input):
    return flip(input, 0)


@both
def roll(input, shifts, dims=None):
    if dims is None:
        return roll(input.flatten(), shifts, 0).reshape(input.shape)
    pairs = [(shifts, dims)] if isinstance(dims, int) else zip(shifts, dims, strict=True)
    for shift, dim in pairs:
        d, shape = axis(dim, input.ndim), input.shape
        n = shape[d]
        input = pick(input, _lines(shape, d, [(i - int(shift)) % n for i in range(n)]), shape)
    return input


# --- matrices --------------------------------------------------------------------------------------


def _triangle(name, keep):
    def operation(input, diagonal=0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        rows, columns = input.shape[-2:]
        mask = [keep(j - i, diagonal) for i in range(rows) for j in range(columns)]
        inside = wrap(mask, (rows, columns), bool_)
        zero = False if input.dtype is bool_ else 0
        values = [v if m else zero for m, v in zip(mask * prod(input.shape[:-2]), flat(input), strict=True)]
        out = make(values, input.shape, input.dtype)
        return record(out, (input, lambda g: where(inside, g, 0.0)))

    operation.__name__ = name
    both(operation)
    writing(name)


_triangle("tril", lambda off, diagonal: off <= diagonal)
_triangle("triu", lambda off, diagonal: off >= diagonal)


def _triangle_indices(name, keep):
    def operation(row, col, offset=0, *, dtype=int64, device=None):
        found = [(i, j) for i in range(row) for j in range(col) if keep(j - i, offset)]
        return make([i for i, _ in found] + [j for _, j in found], (2, len(found)), dtype)

    operation.__name__ = name
    function(operation)


_triangle_indices("tril_indices", lambda off, offset: off <= offset)
_triangle_indices("triu_indices", lambda off, offset: off >= offset)


@both
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    n = input.shape[-1]
    size = n + abs(offset)
    down, right = max(-offset, 0), max(offset, 0)
    inner = [(i + down) * size + i + right for i in range(n)]
    places = [b * size * size + p for b in range(prod(input.shape[:-1])) for p in inner]
    out = drop(input, places, (*input.shape[:-1], size, size))
    first, second = axis(dim1, out.ndim), axis(dim2, out.ndim)
    return out if (first, second) == (out.ndim - 2, out.ndim - 1) else out.movedim((-2, -1), (first, second))


@both
def diag(input, diagonal=0):
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return FUNCTIONS["diagonal"](input, diagonal).clone()


@both
def trace(input):
    if input.dtype is bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return FUNCTIONS["diagonal"](input).sum()


@function
def meshgrid(*tensors, indexing="ij"):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing == "xy" and len(tensors) > 1:
        second, first, *rest = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return (first, second, *rest)
    shape = [x.numel() for x in tensors]
    n = len(shape)
    views = (x.reshape([-1 if i == d else 1 for d in range(n)]) for i, x in enumerate(tensors))
    return tuple(x.expand(shape) for x in views)


@function
def cartesian_prod(*tensors):
    return stack([x.reshape(-1) for x in meshgrid(*tensors)], -1)


# --- in place --------------------------------------------------------------------------------------

writing(
    "scatter", "scatter_add", "index_add", "index_copy", "index_fill", "masked_fill", "masked_scatter",
)  # fmt: skip


@method
def fill_(input, value):
    return in_place(input, lambda x: x * 0 + value if isinstance(value, Tensor) else FUNCTIONS["full_like"](x, value))


@method
def zero_(input):
    return fill_(input, 0)


@method
def fill_diagonal_(input, fill_value, wrap=False):
    return in_place(input, lambda x: put(x, range(0, x.numel(), x.shape[-1] + 1)[: min(x.shape)],
                                         FUNCTIONS["full"]((min(x.shape),), fill_value, dtype=x.dtype)))  # fmt: skip


def _reshaping(name):
    """x.NAME_(…) that changes the shape of the tensor itself."""
    operation = getattr(Tensor, name)

    def method_(input, *args, **kwargs):
        new = operation(input, *args, **kwargs)
        input.shape, input.strides, input.offset = new.shape, new.strides, new.offset
        if new.node is not None:
            input.made_by(new.node)
        return input

    setattr(Tensor, f"{name}_", method_)


for _name in ("unsqueeze", "squeeze", "transpose", "t"):
    _reshaping(_name)
