"""x[…] and x[…] = …: slices, None, numbers, ellipsis, masks and tensors of indices, as torch reads them."""

from math import prod

from . import dtypes
from .create import as_tensor, tensor
from .graph import record
from .pointwise import where
from .shapes import Size, broadcast, positions, row_major, stretched
from .tensor import Tensor, apart, drop, flat, flat_as, in_place, make, method, overwrite, pick
from .views import moved, seen_as


def _items(index):
    """The parts of an index, one for each pair of commas; lists become tensors."""
    parts = index if isinstance(index, tuple) else (index,)
    return [_item(part) for part in parts]


def _item(part):
    if isinstance(part, (list, range)):
        made = tensor(list(part))
        return made.long() if not made.numel() else made
    if isinstance(part, Tensor) and part.dtype.rank < 6 and part.dtype is not dtypes.bool_ and not part.shape:
        return part.__index__()
    if isinstance(part, bool):
        return make([part], (), dtypes.bool_)
    return part


def _axes_used(part):
    if part is None:
        return 0
    if isinstance(part, Tensor) and part.dtype is dtypes.bool_:
        return part.ndim
    return 1


def _spelled_out(parts, ndim):
    """An ellipsis, or the end, becomes as many full slices as axes are left."""
    used = sum(_axes_used(part) for part in parts if part is not Ellipsis)
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    rest = [slice(None)] * (ndim - used)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    if at is None:
        return [*parts, *rest]
    return [*parts[:at], *rest, *(part for part in parts[at + 1 :] if part is not Ellipsis)]


def _simple(parts):
    """Numbers, slices and None -> the geometry of a view; tensors are left as full slices."""

    def geometry(shape, strides, offset):
        sizes, steps, axis = [], [], 0
        for part in parts:
            if part is None or (isinstance(part, Tensor) and not part.shape):  # x[True] makes an axis, too
                sizes.append(1)
                steps.append(1)
                continue
            size, stride = shape[axis], strides[axis]
            if isinstance(part, slice):
                start, length, step = _bounds(part, size)
                offset += start * stride if length else 0
                sizes.append(length)
                steps.append(stride * step)
                axis += 1
            elif isinstance(part, Tensor):
                n = _axes_used(part)
                sizes += shape[axis : axis + n]
                steps += strides[axis : axis + n]
                axis += n
            else:
                offset += _place(part, size, axis) * stride
                axis += 1
        return Size(sizes), tuple(steps), offset

    return geometry


def _bounds(part, size):
    step = 1 if part.step is None else part.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(*(None if x is None else x.__index__() for x in (part.start, part.stop)), step).indices(
        size
    )
    return start, max(0, -(-(stop - start) // step)), step


def _place(part, size, axis):
    if not hasattr(part, "__index__"):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(part).__name__})"
        )
    index = part.__index__()
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {axis} with size {size}")
    return index % size


def _by_tensors(shape, parts):
    """Masks and index tensors -> the places of the chosen entries, and the shape of the result."""
    tensors, first, last, axis = {}, None, None, 0  # axis of the (simplified) tensor -> list of indices
    for part in parts:
        if isinstance(part, Tensor):
            for extra, index in enumerate(_as_indices(part, shape, axis)):
                tensors[axis + extra] = index
            first = axis if first is None else first
            axis += _axes_used(part)
            last = axis
        else:
            axis += 1
    together = broadcast_indices([index.shape for index in tensors.values()])
    lists = {d: _checked(flat_as(index, together), shape[d], d) for d, index in tensors.items()}
    used = list(lists)
    # Side by side they stay where they are; apart, the new axes come first.
    joined = used == list(range(first, last)) and len(used) == last - first
    before = list(range(first)) if joined else []
    after = [d for d in range(len(shape)) if d not in lists and d not in before]
    strides = row_major(shape)
    chosen = [sum(lists[d][i] * strides[d] for d in used) for i in range(prod(together))]
    heads = positions(Size(shape[d] for d in before), tuple(strides[d] for d in before))
    tails = positions(Size(shape[d] for d in after), tuple(strides[d] for d in after))
    places = [head + middle + tail for head in heads for middle in chosen for tail in tails]
    return places, Size([*(shape[d] for d in before), *together, *(shape[d] for d in after)])


def broadcast_indices(shapes):
    try:
        return broadcast(*shapes)
    except RuntimeError:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        text = f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        raise IndexError(text) from None


def _as_indices(part, shape, axis):
    """One tensor of indices for each axis that the part consumes: a mask becomes the places where it is True."""
    if part.dtype is not dtypes.bool_:
        if part.dtype.rank > 5:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return [part]
    if part.shape != shape[axis : axis + part.ndim]:
        d = next(d for d in range(part.ndim) if part.shape[d] != shape[axis + d])
        raise IndexError(
            f"The shape of the mask {list(part.shape)} at index {d} does not match the shape of the indexed tensor "
            f"{list(shape)} at index {axis + d}"
        )
    return list(part.nonzero(as_tuple=True))


def _checked(indices, size, axis):
    for index in indices:
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for dimension {axis} with size {size}")
    return [index % size for index in indices]


def _split(input, index):
    """-> a view by all that is simple, and for each of its axes the mask or index tensor, or a full slice"""
    parts = _spelled_out(_items(index), input.ndim)
    simple = seen_as(input, _simple(parts))
    left = [part if isinstance(part, Tensor) else slice(None) for part in parts if not _is_number(part)]
    return simple, [part.reshape(1) if isinstance(part, Tensor) and not part.shape else part for part in left]


def _is_number(part):
    return part is not None and not isinstance(part, (Tensor, slice))


@method
def __getitem__(input, index):
    if isinstance(index, int) and input.shape and not isinstance(index, bool):  # the common case, made short
        place = _place(index, input.shape[0], 0)
        rest, step = input.shape[1:], prod(input.shape[1:])

        def back(g):
            return drop(g, range(place * step, (place + 1) * step), input.shape)

        return moved(input, rest, input.strides[1:], back, input.offset + place * input.strides[0])
    if not input.shape and isinstance(index, int) and not isinstance(index, bool):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    simple, parts = _split(input, index)
    if not any(isinstance(part, Tensor) for part in parts):
        return simple
    places, shape = _by_tensors(simple.shape, parts)
    return pick(simple, places, shape)


@method
def __setitem__(input, index, value):
    value = value if isinstance(value, Tensor) else as_tensor(value, dtype=input.dtype)
    simple, parts = _split(input, index)
    if not any(isinstance(part, Tensor) for part in parts):
        copy_(simple, value)
        return
    places, shape = _by_tensors(simple.shape, parts)
    if value.dtype is not input.dtype:
        if isinstance(value, Tensor) and value.shape:
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {dtypes.shown(input.dtype)} for the "
                f"destination and {dtypes.shown(value.dtype)} for the source."
            )
        value = value.to(input.dtype)
    in_place(simple, put, places, _stretched(value, shape))


def _stretched(value, shape):
    """Leading axes of size 1 may be too many."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    try:
        stretched(value.shape, value.strides, shape)
        return value.expand(shape)
    except (ValueError, RuntimeError):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of "
            f"shape {list(shape)}"
        ) from None


def put(input, places, value):
    """`input` with the entries of `value` at `places`."""
    values = list(flat(input))
    for place, v in zip(places, flat(value), strict=True):
        values[place] = v
    kept = [1] * len(values)
    for place in places:
        kept[place] = 0
    out = make(values, input.shape, input.dtype)
    mask = make(kept, input.shape, dtypes.bool_)
    return record(out, (input, lambda g: where(mask, g, 0.0)), (value, lambda g: pick(g, places, value.shape)))


@method
def copy_(input, other, non_blocking=False):
    if broadcast(input.shape, other.shape) != input.shape:
        raise RuntimeError(
            f"The expanded size of the tensor ({input.shape[-1] if input.shape else 1}) must match the existing size "
            f"({other.shape[-1]}) at non-singleton dimension.  Target sizes: {list(input.shape)}.  "
            f"Tensor sizes: {list(other.shape)}"
        )
    apart(input, other)
    return overwrite(input, other.expand(input.shape).clone())


@method
def index_put_(input, indices, values, accumulate=False):
    if accumulate:
        places, shape = _by_tensors(input.shape, _spelled_out(_items(tuple(indices)), input.ndim))
        return in_place(input, lambda x: x + drop(_stretched(values, shape), places, x.shape))
    input[tuple(indices)] = values
    return input


@method
def __contains__(input, value):
    return bool((input == value).any())


@method
def __delitem__(input, index):
    raise TypeError("Tensor does not support deleting items")
