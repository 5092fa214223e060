"""The same numbers under another shape: nothing is copied where torch copies nothing."""

from math import prod

from .graph import record
from .shapes import Size, axes, axis, broadcast, complete, positions, row_major, sizes, without_copy
from .tensor import Tensor, alias, both, drop, function, method


def moved(input, shape, strides, back, offset=None):
    """A view of `input`; `back` turns the view's gradient into the input's."""
    out = alias(input, shape, strides, input.offset if offset is None else offset)
    return record(out, (input, back))


def seen_as(input, geometry):
    """A view by what `geometry(shape, strides, offset)` says; its gradient falls where the entries came from."""
    shape, strides, offset = geometry(input.shape, input.strides, input.offset)

    def back(g):
        shape, strides, offset = geometry(input.shape, row_major(input.shape), 0)
        return drop(g, positions(Size(shape), tuple(strides), offset), input.shape)

    return moved(input, shape, strides, back, offset)


@both
def reshape(input, *shape):
    if not shape:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    shape = complete(sizes(shape), input.numel())
    strides = without_copy(input.shape, input.strides, shape)
    if strides is None:
        input, strides = input.clone(), row_major(shape)
    origin = input.shape
    return moved(input, shape, strides, lambda g: reshape(g, origin))


@method
def view(input, *shape):
    if not shape:
        raise TypeError("view() received an invalid combination of arguments - got (), but expected sizes")
    if len(shape) == 1 and type(shape[0]).__name__ == "dtype":
        return input.to(shape[0])
    wanted = complete(sizes(shape), input.numel())
    if without_copy(input.shape, input.strides, wanted) is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return reshape(input, wanted)


@method
def view_as(input, other):
    return view(input, other.shape)


@method
def reshape_as(input, other):
    return reshape(input, other.shape)


@both
def flatten(input, start_dim=0, end_dim=-1):
    first, last = axis(start_dim, input.ndim), axis(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not input.shape:
        return reshape(input, 1)
    shape = input.shape
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@both
def ravel(input):
    return reshape(input, -1)


@both
def unflatten(input, dim, sizes):
    _has_axes(input, "unflatten got an unexpected error: Dimension specified as 0 but tensor has no dimensions")
    d = axis(dim, input.ndim)
    known = prod(n for n in sizes if n != -1)
    if (-1 in sizes and (not known or input.shape[d] % known)) or (-1 not in sizes and known != input.shape[d]):
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({input.shape[d]}) in "
            "the input tensor"
        )
    middle = complete(sizes, input.shape[d])
    return reshape(input, (*input.shape[:d], *middle, *input.shape[d + 1 :]))


@both
def permute(input, *dims):
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    if len(given) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(given)}"
        )
    order = axes(tuple(given), input.ndim) if given else ()
    inverse = sorted(range(len(order)), key=order.__getitem__)
    shape, strides = ([x[d] for d in order] for x in (input.shape, input.strides))
    return moved(input, shape, strides, lambda g: permute(g, inverse))


@both
def transpose(input, dim0, dim1):
    order = list(range(input.ndim))
    a, b = axis(dim0, input.ndim), axis(dim1, input.ndim)
    if order:
        order[a], order[b] = b, a
    return permute(input, order)


@both
def movedim(input, source, destination):
    sources, targets = ((x,) if isinstance(x, int) else x for x in (source, destination))
    sources, targets = axes(tuple(sources), input.ndim), axes(tuple(targets), input.ndim)
    rest = iter(d for d in range(input.ndim) if d not in sources)
    placed = dict(zip(targets, sources, strict=True))
    return permute(input, [placed[d] if d in placed else next(rest) for d in range(input.ndim)])


@both
def t(input):
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return permute(input, [*reversed(range(input.ndim))])


def _swapped(input):
    if not input.shape:
        return input
    if input.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor")
    return transpose(input, -2, -1)


Tensor.T = property(lambda input: permute(input, [*reversed(range(input.ndim))]))
Tensor.mT = Tensor.mH = property(_swapped)
Tensor.H = property(t)


@both
def unsqueeze(input, dim):
    d = axis(dim, input.ndim + 1)
    shape, strides, origin = list(input.shape), list(input.strides), input.shape
    strides.insert(d, strides[d] * shape[d] if d < len(shape) else 1)
    shape.insert(d, 1)
    return moved(input, shape, strides, lambda g: reshape(g, origin))


@both
def squeeze(input, dim=None):
    dims = axes(dim, input.ndim)
    kept = [d for d in range(input.ndim) if d not in dims or input.shape[d] != 1]
    shape, strides, origin = [input.shape[d] for d in kept], [input.strides[d] for d in kept], input.shape
    return moved(input, shape, strides, lambda g: reshape(g, origin))


@method
def expand(input, *sizes_):
    wanted = list(sizes(sizes_))
    missing = len(wanted) - input.ndim
    if missing < 0:
        raise RuntimeError(
            f"expand({list(input.shape)}, size={wanted}): the number of sizes provided ({len(wanted)}) must be greater "
            f"or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    strides = [0] * missing
    for d, (size, stride) in enumerate(zip(input.shape, input.strides, strict=True), missing):
        wanted[d] = size if wanted[d] == -1 else wanted[d]
        if size not in (1, wanted[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({wanted[d]}) must match the existing size ({size}) at "
                f"non-singleton dimension {d}.  Target sizes: {wanted}.  Tensor sizes: {list(input.shape)}"
            )
        strides.append(stride if size == wanted[d] else 0)
    if -1 in wanted:
        raise RuntimeError("expand: the size -1 is not allowed in a leading, non-existing dimension")
    return moved(input, wanted, strides, lambda g: g)  # the way back sums what was broadcast


@method
def expand_as(input, other):
    return expand(input, *other.shape)


@both
def broadcast_to(input, size):
    return expand(input, *size)


@function
def broadcast_tensors(*tensors):
    shape = broadcast(*(x.shape for x in tensors))
    return tuple(expand(x, *shape) for x in tensors)


def _has_axes(input, complaint):
    if not input.shape:
        raise RuntimeError(complaint)


@both
def narrow(input, dim, start, length):
    _has_axes(input, "narrow() cannot be applied to a 0-dim tensor.")
    d, start = axis(dim, input.ndim), int(start)
    start = start + input.shape[d] if start < 0 else start
    if length < 0 or start + length > input.shape[d]:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[d]}).")

    def part(shape, strides, offset):
        return (*shape[:d], length, *shape[d + 1 :]), strides, offset + start * strides[d]

    return seen_as(input, part)


@both
def select(input, dim, index):
    d, index = axis(dim, input.ndim), int(index)
    if not input.shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -input.shape[d] <= index < input.shape[d]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}"
        )
    index %= input.shape[d]

    def part(shape, strides, offset):
        return (*shape[:d], *shape[d + 1 :]), (*strides[:d], *strides[d + 1 :]), offset + index * strides[d]

    return seen_as(input, part)


@both
def unbind(input, dim=0):
    d = axis(dim, input.ndim)
    return tuple(select(input, d, i) for i in range(input.shape[d]))


@both
def split(tensor, split_size_or_sections, dim=0):
    _has_axes(tensor, "split expects at least a 1-dimensional tensor")
    d, parts = axis(dim, tensor.ndim), split_size_or_sections
    size = tensor.shape[d]
    if isinstance(parts, int):
        if parts <= 0 and size:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={parts}")
        parts = [min(parts, size - i) for i in range(0, max(size, 1), max(parts, 1))]
    elif sum(parts) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {d}), "
            f"but got split_sizes={list(parts)}"
        )
    starts = [sum(parts[:i]) for i in range(len(parts))]
    return tuple(narrow(tensor, d, start, length) for start, length in zip(starts, parts, strict=True))


@both
def chunk(input, chunks, dim=0):
    _has_axes(input, "chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[axis(dim, input.ndim)]
    return split(input, max(-(-size // chunks), 1), dim)


@both
def diagonal(input, offset=0, dim1=0, dim2=1):
    a, b = axis(dim1, input.ndim), axis(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = input.shape[a], input.shape[b]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    rest = [d for d in range(input.ndim) if d not in (a, b)]

    def part(shape, strides, start):
        step = strides[b] * offset if offset >= 0 else -strides[a] * offset
        shape = (*(shape[d] for d in rest), length)
        return shape, (*(strides[d] for d in rest), strides[a] + strides[b]), start + (step if length else 0)

    return seen_as(input, part)


@method
def unfold(input, dimension, size, step):
    d = axis(dimension, input.ndim)
    if not input.shape:
        input = input.reshape(1)
    if size > input.shape[d]:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {input.shape[d]} but size is {size}")
    count = (input.shape[d] - size) // step + 1

    def part(shape, strides, offset):
        new = (*shape[:d], count, *shape[d + 1 :], size)
        return new, (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]), offset

    return seen_as(input, part)


@both
def swapaxes(input, axis0, axis1):
    return transpose(input, axis0, axis1)


@both
def swapdims(input, dim0, dim1):
    return transpose(input, dim0, dim1)
