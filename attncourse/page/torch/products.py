"""Products that sum an axis away: matmul and its relatives, and einsum, which is all of them."""

from math import prod
from operator import add, mul

try:
    from math import sumprod
except ImportError:  # before Python 3.12

    def sumprod(p, q):
        return sum(map(mul, p, q))


from . import dtypes
from .graph import record
from .shapes import broadcast
from .tensor import FUNCTIONS, Tensor, also, both, flat_as, function, wrap


def _same_dtype(a, b):
    if a.dtype is not b.dtype:
        names = [{"float32": "float", "float64": "double", "int64": "long int"}.get(x.dtype.name, x.dtype.name)
                 for x in (a, b)]  # fmt: skip
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


def _matrices(a, b):
    """(…, n, k) times (…, k, m)"""
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    (n, k), m = a.shape[-2:], b.shape[-1]
    if a.dtype is dtypes.bool_:
        raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    x, y = flat_as(a, (*batch, n, k)), flat_as(b, (*batch, k, m))
    # Two halves, each rounded: the order of summation shows in the last digit, as it does in PyTorch.
    halves = [(0, k // 2), (k // 2, k)] if k > 2 and a.dtype.is_floating_point else [(0, k)]
    parts = [a.dtype.fit(_sums(x, y, prod(batch), (n, k, m), half)) for half in halves]
    values = a.dtype.fit(list(map(add, *parts))) if len(parts) > 1 else parts[0]
    out = wrap(values, (*batch, n, m), a.dtype)
    return record(out, (a, lambda g: _matrices(g, b.mT), b), (b, lambda g: _matrices(a.mT, g), a))


def _sums(x, y, batch, sizes, half):
    """Rows times columns, over the entries of a half only."""
    n, k, m = sizes
    first, last = half
    values = []
    for i in range(batch):
        start = i * k * m
        columns = [y[start + first * m + j : start + last * m : m] for j in range(m)]
        for r in range(i * n, (i + 1) * n):
            row = x[r * k + first : r * k + last]
            values += [sumprod(row, column) for column in columns]
    return values


@both
def matmul(input, other):
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul(): argument 'other' must be Tensor, not {type(other).__name__}")
    if not input.shape or not other.shape:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D"
        )
    rows, columns = input.ndim == 1, other.ndim == 1
    a = input.unsqueeze(0) if rows else input
    b = other.unsqueeze(1) if columns else other
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(_misfit(input, other, a, b))
    _same_dtype(input, other)
    out = _matrices(a, b)
    if rows and columns:
        return out.reshape(())
    return out.squeeze(-2) if rows else out.squeeze(-1) if columns else out


def _misfit(input, other, a, b):
    if input.ndim == 1 and other.ndim == 1:
        return (
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{other.shape[0]}] to have the same "
            f"number of elements, but got {input.shape[0]} and {other.shape[0]} elements respectively"
        )
    if other.ndim > 2:
        batch = prod(broadcast(a.shape[:-2], b.shape[:-2]))
        return (
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {a.shape[-1]}] but got: "
            f"[{batch}, {b.shape[-2]}]."
        )
    left = f"{prod(a.shape[:-1])}x{a.shape[-1]}"
    if other.ndim == 1:
        return f"size mismatch, got input ({prod(a.shape[:-1])}), mat ({left}), vec ({other.shape[0]})"
    return f"mat1 and mat2 shapes cannot be multiplied ({left} and {b.shape[-2]}x{b.shape[-1]})"


Tensor.__matmul__ = lambda a, b: matmul(a, b) if isinstance(b, Tensor) else NotImplemented


def _of_dims(name, left, right, more=()):
    """mm, bmm, mv, dot: matmul for one combination of axes only."""

    def operation(input, other):
        if not isinstance(other, Tensor):
            raise TypeError(f"{name}(): argument must be Tensor, not {type(other).__name__}")
        if (input.ndim, other.ndim) != (left, right):
            word = {"mm": "matrix", "bmm": "batched matrix"}.get(name, "vector")
            raise RuntimeError(
                f"{name}: expected a {word} product of {left}D and {right}D tensors, got {input.ndim}D and "
                f"{other.ndim}D tensors"
            )
        if name == "bmm" and input.shape[0] != other.shape[0]:
            raise RuntimeError(
                f"batch1 and batch2 must have same number of batches, got {input.shape[0]} and {other.shape[0]}"
            )
        return matmul(input, other)

    for known in (name, *more):
        operation.__name__ = known
        also(known, operation)


_of_dims("mm", 2, 2)
_of_dims("bmm", 3, 3)
_of_dims("mv", 2, 1)
_of_dims("dot", 1, 1, ["vdot"])


@both
def inner(input, other):
    if not input.shape or not other.shape:
        return input * other
    return FUNCTIONS["tensordot"](input, other, ([-1], [-1]))


@both
def outer(input, vec2):
    if input.ndim != 1 or vec2.ndim != 1:
        bad = input if input.ndim != 1 else vec2
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {bad.ndim}-D")
    return input.unsqueeze(1) * vec2


also("ger", outer)


@both
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    return beta * input + alpha * (mat1 @ mat2)


also("baddbmm", addmm)
also("addmv", addmm)


@function
def tensordot(a, b, dims=2):
    if isinstance(dims, int):
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    left, right = ([d % x.ndim for d in ds] for x, ds in zip((a, b), dims, strict=True))
    keep = [[d for d in range(x.ndim) if d not in ds] for x, ds in ((a, left), (b, right))]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        raise RuntimeError("contracted dimensions need to match")
    n = prod(a.shape[d] for d in left)
    x = a.permute([*keep[0], *left]).reshape(-1, n) if n else a
    y = b.permute([*right, *keep[1]]).reshape(n, -1) if n else b
    return (x @ y).reshape([*(a.shape[d] for d in keep[0]), *(b.shape[d] for d in keep[1])])


@function
def kron(input, other):
    n = max(input.ndim, other.ndim)
    shapes = [(1,) * (n - x.ndim) + tuple(x.shape) for x in (input, other)]
    a = input.reshape([m for size in shapes[0] for m in (size, 1)])
    b = other.reshape([m for size in shapes[1] for m in (1, size)])
    return (a * b).reshape([p * q for p, q in zip(*shapes, strict=True)])


@function
def cross(input, other, dim=-1):
    (a, b, c), (x, y, z) = input.unbind(dim), other.unbind(dim)
    return FUNCTIONS["stack"]([b * z - c * y, c * x - a * z, a * y - b * x], dim)


@function
def cdist(x1, x2, p=2.0):
    gap = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return FUNCTIONS["norm"](gap, p, -1)


# --- einsum ----------------------------------------------------------------------------------------


@function
def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    names, result = _read(equation, operands)
    parts = [_diagonals(x, axes) for x, axes in zip(operands, names, strict=True)]
    value, have = parts[0]
    for i, (other, theirs) in enumerate(parts[1:], 1):
        needed = set(result).union(*(axes for _, axes in parts[i + 1 :]))
        value, have = _contract(value, have, other, theirs, needed)
    gone = [d for d, name in enumerate(have) if name not in result]
    value = value.sum(gone) if gone else value
    have = [name for name in have if name in result]
    return value.permute([have.index(name) for name in result])


def _read(equation, operands):
    """-> the names of each operand's axes, and those of the result; an ellipsis becomes numbers"""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        few = "fewer" if len(terms) > len(operands) else "more"
        raise RuntimeError(f"einsum(): {few} operands were provided than specified in the equation")
    names = [_axes_of(term, x, i) for i, (term, x) in enumerate(zip(terms, operands, strict=True))]
    dots = max((sum(isinstance(name, int) for name in axes) for axes in names), default=0)
    sizes: dict = {}
    for i, (axes, x) in enumerate(zip(names, operands, strict=True)):
        for name, size in zip(axes, x.shape, strict=True):
            if sizes.setdefault(name, size) != size and 1 not in (sizes[name], size):
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {sizes[name]}"
                )
            sizes[name] = max(sizes[name], size) if size else size
    if not arrow:
        letters = sorted("".join(terms).replace(".", ""))
        return names, [*range(-dots, 0), *(c for c in letters if letters.count(c) == 1)]
    before, there, after = output.partition("...")
    result = [*before, *(range(-dots, 0) if there else ()), *after]
    for name in result:
        if result.count(name) > 1:
            raise RuntimeError(f"einsum(): output subscript {name} appears more than once in the output")
        if name not in sizes and not isinstance(name, int):
            raise RuntimeError(
                f"einsum(): output subscript {name} does not appear in the equation for any input operand"
            )
    return names, result


def _axes_of(term, operand, i):
    before, dots, after = term.partition("...")
    for letter in before + after:
        if not letter.isalpha():
            raise RuntimeError(f"einsum(): invalid subscript given at index {i} in the equation string")
    free = operand.ndim - len(before) - len(after)
    if free < 0 or (free and not dots):
        few = "more" if free < 0 else "fewer"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(before + after)}) is {few} than the number of "
            f"dimensions ({operand.ndim}) for operand {i}"
        )
    return [*before, *(range(-free, 0) if dots else ()), *after]


def _diagonals(operand, names):
    """A letter that stands twice in one operand takes the diagonal."""
    names = list(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            a = names.index(name)
            b = names.index(name, a + 1)
            operand = FUNCTIONS["diagonal"](operand, 0, a, b)
            names = [n for d, n in enumerate(names) if d not in (a, b)] + [name]
    return operand, names


def _contract(a, have, b, theirs, needed):
    """Two operands become one: a batched matrix product over the names that both have and nobody needs later."""
    a, have = _summed(a, have, needed.union(theirs))
    b, theirs = _summed(b, theirs, needed.union(have))
    shared = [n for n in have if n in theirs]
    for name in shared:  # a size of 1 broadcasts
        p, q = have.index(name), theirs.index(name)
        if a.shape[p] != b.shape[q]:
            a = a.expand(*[b.shape[q] if d == p and n == 1 else n for d, n in enumerate(a.shape)])
            b = b.expand(*[a.shape[p] if d == q and n == 1 else n for d, n in enumerate(b.shape)])
    batch = [n for n in shared if n in needed]
    inner_ = [n for n in shared if n not in needed]
    left, right = [n for n in have if n not in shared], [n for n in theirs if n not in shared]
    sizes = dict(zip(have, a.shape, strict=True)) | dict(zip(theirs, b.shape, strict=True))
    count = [prod(sizes[n] for n in group) for group in (batch, left, inner_, right)]
    x = a.permute([have.index(n) for n in batch + left + inner_]).reshape(count[0], count[1], count[2])
    y = b.permute([theirs.index(n) for n in batch + inner_ + right]).reshape(count[0], count[2], count[3])
    _same_dtype(a, b)
    names = batch + left + right
    return _matrices(x, y).reshape([sizes[n] for n in names]), names


def _summed(x, names, needed):
    gone = [d for d, name in enumerate(names) if name not in needed]
    return (x.sum(gone), [n for n in names if n in needed]) if gone else (x, names)


@function
def block_diag(*tensors):
    tensors = [x.reshape(1, -1) if x.ndim < 2 else x for x in tensors]
    width, rows = sum(x.shape[1] for x in tensors), []
    for i, x in enumerate(tensors):
        start = sum(y.shape[1] for y in tensors[:i])
        rows.append(
            FUNCTIONS["cat"]([x.new_zeros(len(x), start), x, x.new_zeros(len(x), width - start - x.shape[1])], 1)
        )
    return FUNCTIONS["cat"](rows, 0)
