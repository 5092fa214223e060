"""Shapes, strides and broadcasting: where the entries of a tensor lie in its flat list."""

from functools import lru_cache
from math import prod


class Size(tuple):
    """The shape of a tensor: a tuple that counts."""

    def numel(self):
        return prod(self)

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self):
        return f"torch.Size({list(self)})"


@lru_cache(maxsize=4096)
def row_major(shape):
    """The strides of a tensor whose entries lie one after the other."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def positions(shape, strides, offset=0):
    """Where each entry lies, in the order of reading."""
    found = [offset]
    for size, stride in zip(shape, strides, strict=True):
        steps = [i * stride for i in range(size)]
        found = [p + step for p in found for step in steps]
    return found


def lies_in_order(shape, strides):
    """Sizes of 1 have any stride."""
    return all(s == t or n == 1 for n, s, t in zip(shape, strides, row_major(shape), strict=True)) or 0 in shape


@lru_cache(maxsize=4096)
def broadcast(*shapes):
    """The shape that all of them broadcast to."""
    if len(set(shapes)) == 1:
        return shapes[0]
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for d, sizes in reversed(list(enumerate(zip(*padded, strict=True)))):  # torch complains of the last axis first
        several = [n for n in dict.fromkeys(sizes) if n != 1]
        if len(several) > 1:
            raise RuntimeError(
                f"The size of tensor a ({several[0]}) must match the size of tensor b ({several[1]}) "
                f"at non-singleton dimension {d}"
            )
        result.append(several[0] if several else 1)
    return Size(reversed(result))


def stretched(shape, strides, target):
    """The strides with which a tensor reads as the broadcast shape `target`."""
    missing = len(target) - len(shape)
    return (0,) * missing + tuple(
        0 if n == 1 and m != 1 else s for n, s, m in zip(shape, strides, target[missing:], strict=True)
    )


def axis(dim, ndim):
    """A dim counted from either end, as one that counts from the front."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        if hasattr(dim, "__index__"):
            return axis(dim.__index__(), ndim)
        raise TypeError(f"a dim must be an int, not {type(dim).__name__}")
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim % span


def axes(dim, ndim):
    """One dim, several, or None for all."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    if not isinstance(dim, (tuple, list)):
        return (axis(dim, ndim),) if ndim else (axis(dim, ndim),)[:0]
    found = tuple(axis(d, ndim) for d in dim)
    if len(set(found)) < len(found):
        repeated = next(d for d in found if found.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return found if ndim else ()


def sizes(args):
    """The sizes of f(2, 3), f((2, 3)) and f([2, 3]) alike."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    try:
        return Size(n.__index__() for n in args)
    except AttributeError:
        wrong = next(n for n in args if not hasattr(n, "__index__"))
        raise TypeError(f"sizes must be ints, not {type(wrong).__name__}") from None


def complete(shape, numel):
    """A shape in which one size may be -1, for so many entries."""
    shape = list(shape)
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    known = prod(n for n in shape if n != -1)
    if -1 in shape:
        if known == 0 and numel == 0:
            text = "the unspecified dimension size -1 can be any value and is ambiguous"
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {shape} because {text}")
        if known and numel % known == 0:
            shape[shape.index(-1)] = numel // known
            known = numel
    if known != numel or -1 in shape:
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {numel}")
    return Size(shape)


def without_copy(shape, strides, target):
    """The strides with which the same memory reads as `target`; None where it has to be copied."""
    if 0 in shape or lies_in_order(shape, strides):
        return row_major(target)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result, left = [], list(target)
    runs: list[list] = []  # neighbouring axes that lie like one: [entries, smallest stride]
    for n, s in old:
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    for entries, stride in reversed(runs):
        step = 1
        while left and (step < entries or left[-1] == 1):
            size = left.pop()
            result.append(step * stride)
            step *= size
        if step != entries:
            return None
    result += [1] * len(left)  # all of size 1
    return tuple(reversed(result))
