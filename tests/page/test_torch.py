"""The page's torch beside PyTorch, on random shapes: one test per family of operations, several hundred cases each.

The cases come from seeded generators; `agreement.agree` compares values, shape, dtype, gradients, and error or not.
"""

# ruff: noqa: B023, E501 - each lambda is called at once, and tables of lambdas are easier to scan in long lines

import math
import subprocess
import sys

import pytest
import torch as real
from page.agreement import Maker, agree, differs, smaller

import attncourse.page.torch as page
from attncourse.page.torch import pointwise

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-8, 30.0, -30.0, 100.0, -100.0, 800.0, math.inf, -math.inf, math.nan]


def rounds(count):
    return [Maker(seed) for seed in range(count)]


# --- entry by entry --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*pointwise.FLOATING, *pointwise.KEEPING, *pointwise.TESTS])
def test_functions_of_one_number(name):
    def method(torch, x):
        return getattr(x, name)()

    for dtype in (real.float32, real.float64):
        special = real.tensor(SPECIAL, dtype=dtype)
        if name != "lgamma":
            agree(method, special.requires_grad_())
    for make in rounds(12):
        if name != "lgamma":
            agree(method, make.tensor())
            agree(lambda torch, x: getattr(torch, name)(x.abs() * 0.9), make.tensor())


BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "eq", "ne", "lt", "le", "gt", "ge",
          "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "remainder",
          "floor_divide", "fmod"]  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    succeeded = 0
    for make in rounds(60):
        x = make.tensor()
        y = make.tensor(make.broadcastable(tuple(x.shape)))
        if name in ("floor_divide", "fmod", "remainder"):  # PyTorch's gradients of these are another story
            x, y = x.detach(), y.detach()
        succeeded += agree(lambda torch, x, y: getattr(torch, name)(x, y), x, y)
        number = make.any.choice([2, -1, 0.5, 3.0, True, 0])
        if name not in ("maximum", "minimum", "atan2", "logical_and", "logical_or", "logical_xor"):
            agree(lambda torch, x: getattr(x, name)(number), x)
    assert succeeded > (2 if name.startswith("bitwise") else 20)


OPERATORS = [
    lambda t, x, y: x + y, lambda t, x, y: x - y, lambda t, x, y: x * y, lambda t, x, y: x / y,
    lambda t, x, y: 2 - x, lambda t, x, y: 1.5 / x, lambda t, x, y: 2**y, lambda t, x, y: -x, lambda t, x, y: abs(x),
    lambda t, x, y: ~x, lambda t, x, y: x & y, lambda t, x, y: x | y, lambda t, x, y: x ^ y, lambda t, x, y: True & x,
    lambda t, x, y: x > y, lambda t, x, y: 1 < x, lambda t, x, y: x == y, lambda t, x, y: 1 - x, lambda t, x, y: x**2,
    lambda t, x, y: x**0.5, lambda t, x, y: x // 2, lambda t, x, y: x % 3, lambda t, x, y: "a" == x,
    lambda t, x, y: x + "a", lambda t, x, y: x + None, lambda t, x, y: x * [1.0], lambda t, x, y: torch_bool(x),
    lambda t, x, y: t.where(x > 0, x, y), lambda t, x, y: t.where(x > 0, x, 0.0), lambda t, x, y: x.where(y > 0, y),
    lambda t, x, y: t.where(x, y, 1), lambda t, x, y: x.lerp(y, 0.3), lambda t, x, y: t.lerp(x, y, y.sigmoid()),
    lambda t, x, y: x.clamp(-0.5, 1), lambda t, x, y: x.clamp(min=0), lambda t, x, y: x.clamp(max=y),
    lambda t, x, y: x.clamp(y, y + 1), lambda t, x, y: x.clamp_min(0.1), lambda t, x, y: (x / 0).nan_to_num(),
    lambda t, x, y: (x / 0).nan_to_num(1.0, 2.0, -2.0), lambda t, x, y: t.add(x, y, alpha=2),
    lambda t, x, y: t.allclose(x, y), lambda t, x, y: t.isclose(x, x + 1e-6), lambda t, x, y: t.equal(x, x.clone()),
    lambda t, x, y: x.addcmul(y, y, value=0.5), lambda t, x, y: t.rsub(x, y), lambda t, x, y: float(x.sum()),
    lambda t, x, y: x.masked_fill(y > 0, 0.0), lambda t, x, y: x.masked_fill(y > 0, -1e9),
    lambda t, x, y: x.masked_fill(y, 1), lambda t, x, y: (x != x).any() or x.sum() > 0,
]  # fmt: skip


def torch_bool(x):
    return bool(x)


@pytest.mark.parametrize("i", range(len(OPERATORS)))
def test_operators(i):
    for make in rounds(25):
        x = make.tensor()
        agree(OPERATORS[i], x, make.tensor(make.broadcastable(tuple(x.shape))))


def test_promotion_of_all_pairs():
    kinds = [real.bool, real.uint8, real.int8, real.int16, real.int32, real.int64, real.float16, real.bfloat16,
             real.float32, real.float64]  # fmt: skip
    for a in kinds:
        agree(lambda torch, x: (x * 1, x * 1.5, x * True, x.sum(), x.to(torch.uint8)), real.tensor([1, 0, 1]).to(a))
        for b in kinds:
            for shape in ((), (1,)):
                x, y = real.ones((), dtype=a), real.ones(shape, dtype=b)
                assert agree(lambda torch, x, y: x * y, x, y)
                assert agree(lambda torch, x, y: x * y, real.ones(2, dtype=a), y)


def test_rounding_is_that_of_each_dtype():
    x = real.tensor([*SPECIAL, 65519.0, 65520.0, 1e30, 3e38, 3.5e38, 1 / 3, 2049.0, 1e-7, -1e-45, 257.5])
    for kind in (real.float16, real.bfloat16, real.float32, real.float64):
        for other in (real.float16, real.bfloat16, real.float32, real.float64):
            assert agree(lambda torch, x, a, b: x.to(a).to(b), x, kind, other)
    assert agree(lambda torch, x: x.exp() * 1e-30, x)
    for kind in (real.uint8, real.int8, real.int16, real.int32, real.int64, real.bool):
        assert agree(lambda torch, x, a: x.to(a), real.tensor([0.0, 1.5, -1.5, 100.7]), kind)
        assert agree(lambda torch, x, a: x.to(a), real.tensor([0, 300, -300, 70000]), kind)


# --- many become one -------------------------------------------------------------------------------

REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "all", "any", "std", "var", "logsumexp", "norm", "nansum"]
TO_ONE_DIM = ["argmax", "argmin", "max", "min", "softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "median"]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    succeeded = 0
    for make in rounds(60):
        x = make.tensor()
        if name == "prod" and make.any.random() < 0.3 and x.numel() and x.dtype in (real.float32, real.float64):
            x = x.detach().index_fill(0, real.tensor([0]), 0.0).requires_grad_() if x.ndim else x
        dims = make.any.sample(range(x.ndim), make.any.randint(1, x.ndim)) if x.ndim else [0]
        one, keep = make.dim(x.ndim + (make.any.random() < 0.05)), make.any.random() < 0.5
        if name != "logsumexp":
            succeeded += agree(lambda torch, x: getattr(x, name)(), x)
        succeeded += agree(lambda torch, x: getattr(x, name)(dim=one, keepdim=keep), x)
        if name != "prod":
            succeeded += agree(lambda torch, x: getattr(x, name)(dim=tuple(dims), keepdim=keep), x)
    assert succeeded > 25


@pytest.mark.parametrize("name", TO_ONE_DIM)
def test_reductions_along_one_axis(name):
    for make in rounds(70):
        x = make.tensor(dtype=make.any.choice([real.float32, real.float64, real.float32, real.int64]))
        if name in ("argmax", "argmin", "max", "min", "median") and x.dtype is real.int64:
            continue  # PyTorch promises nothing about which of several equal ones it names
        dim = make.dim(x.ndim)
        agree(lambda torch, x: getattr(x, name)(dim), x)
        if name in ("argmax", "argmin", "max", "min"):
            agree(lambda torch, x: getattr(torch, name)(x), x)
            agree(lambda torch, x: getattr(torch, name)(x, dim=dim, keepdim=True), x)


def test_reductions_of_special_values():
    for make in rounds(100):
        x = real.tensor([make.any.choice(SPECIAL) for _ in range(6)]).reshape(2, 3)
        for name in ("sum", "mean", "softmax", "log_softmax", "logsumexp", "amax", "amin", "cumsum", "norm", "argmax"):
            agree(lambda torch, x, name=name: getattr(x, name)(dim=-1), x)


def test_sorting():
    for make in rounds(60):
        x, down = make.floats(), make.any.random() < 0.5
        dim = make.dim(x.ndim)
        agree(lambda torch, x: x.sort(dim, descending=down), x)
        agree(lambda torch, x: x.argsort(dim, down), x)
        k = make.any.randint(0, 4)
        agree(lambda torch, x: x.topk(k, dim, largest=down), x)
        whole = make.tensor((3, 4), real.int64)
        agree(lambda torch, x: x.sort(dim=1, stable=True, descending=down), whole)
        agree(lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True), whole)
        line = x.detach().flatten().sort().values
        agree(lambda torch, s, v: torch.searchsorted(s, v, right=down), line, make.tensor((5,), line.dtype, False))
        rows = x.detach().reshape(-1, 1 if not x.ndim else x.shape[-1]).sort(-1).values
        wanted = make.tensor((len(rows), 2), rows.dtype, False)
        agree(lambda torch, s, v: torch.searchsorted(s, v), rows, wanted)


# --- shapes ----------------------------------------------------------------------------------------


def random_view(make, x):
    """One operation that looks at the same numbers in another way, as a function of (torch, x)."""
    n, any_ = x.ndim, make.any
    d, e = make.dim(n), make.dim(n)
    order = any_.sample(range(n), n)
    size = x.shape[d] if n else 1
    start = any_.randint(0, size)
    choices = [
        lambda t, x: x.transpose(d, e), lambda t, x: x.permute(*order), lambda t, x: x.unsqueeze(e),
        lambda t, x: x.squeeze(), lambda t, x: x.squeeze(d), lambda t, x: x.flatten(), lambda t, x: x.reshape(-1),
        lambda t, x: x.view(-1), lambda t, x: x[..., None], lambda t, x: x.T if x.ndim < 3 else x.mT,
        lambda t, x: x.mT, lambda t, x: x.expand(2, *x.shape), lambda t, x: x.narrow(d, start, size - start),
        lambda t, x: x.select(d, start), lambda t, x: x.unbind(d)[-1], lambda t, x: x.chunk(2, d)[0],
        lambda t, x: x.split(2, d)[-1], lambda t, x: x.flatten(d), lambda t, x: x.unflatten(d, (-1, 1)),
        lambda t, x: x.unflatten(d, (1, -1)), lambda t, x: x.movedim(d, e), lambda t, x: x[::2], lambda t, x: x[1:],
        lambda t, x: x.reshape(*x.shape[::-1]), lambda t, x: x.view(*x.shape[::-1]), lambda t, x: x.contiguous(),
        lambda t, x: x.diagonal(any_.choice([0]), d, e), lambda t, x: x.unfold(d, 2, 1), lambda t, x: x.t(),
        lambda t, x: x.swapaxes(d, e), lambda t, x: x.reshape(2, -1), lambda t, x: x.view(-1, 2), lambda t, x: x.ravel(),
    ]  # fmt: skip
    return any_.choice(choices)


def test_chains_of_views():
    """Values, gradients, and strides: whether `view` is refused depends on them."""
    succeeded = 0
    for make in rounds(400):
        x, steps = make.tensor(make.shape(1, 4), gradient=True), []
        at = x.detach()
        for _ in range(make.any.randint(1, 4)):
            steps.append(random_view(make, at))
            try:
                at = steps[-1](real, at)
            except (RuntimeError, IndexError, TypeError):
                break

        def chain(torch, x, steps=steps):
            for step in steps:
                x = step(torch, x)
            # The strides of axes of size 1 mean nothing.
            strides = [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1] if x.numel() else []
            return x, strides, x.is_contiguous()

        succeeded += agree(chain, x)
    assert succeeded > 200


SHAPING = [
    lambda t, x: t.stack([x, x * 2], 0), lambda t, x: t.stack([x, x], -1), lambda t, x: t.cat([x, x], 0),
    lambda t, x: t.cat([x, x[:1]], -1), lambda t, x: t.cat([x, x.double()]), lambda t, x: t.cat([x, x[None]]),
    lambda t, x: x.repeat(2, *(1,) * x.ndim), lambda t, x: x.repeat(2), lambda t, x: x.tile(2),
    lambda t, x: x.repeat_interleave(2, 0), lambda t, x: x.flip(0), lambda t, x: x.flip(-1, 0), lambda t, x: x.flip((0,)),
    lambda t, x: x.roll(1, 0), lambda t, x: x.roll((1, -2), (0, -1)), lambda t, x: x.roll(2), lambda t, x: x.tril(),
    lambda t, x: x.triu(1), lambda t, x: x.tril(-1), lambda t, x: t.diag_embed(x), lambda t, x: t.diag_embed(x, 1),
    lambda t, x: x.diag(), lambda t, x: t.meshgrid(x.flatten(), x.flatten()[:2], indexing="ij"),
    lambda t, x: t.meshgrid(x.flatten(), x.flatten()[:2], indexing="xy"), lambda t, x: t.zeros_like(x),
    lambda t, x: t.full_like(x, 2), lambda t, x: x.new_zeros(2, 3), lambda t, x: x.new_tensor([1, 2]),
    lambda t, x: x.new_full((2,), 3), lambda t, x: t.ones_like(x, dtype=t.bool), lambda t, x: x.nonzero(),
    lambda t, x: t.nn.functional.pad(x, (1, 2)), lambda t, x: t.nn.functional.pad(x, (-1, 1), value=3.0),
    lambda t, x: t.nn.functional.pad(x[None, None], (1, 1), mode="circular"), lambda t, x: t.trace(x),
    lambda t, x: t.nn.functional.pad(x[None, None], (1, 0), mode="replicate"), lambda t, x: x.tolist(),
    lambda t, x: t.stack(list(x)), lambda t, x: list(x), lambda t, x: len(x), lambda t, x: x.numel(),
    lambda t, x: x.size(0), lambda t, x: list(x.size()), lambda t, x: x.dim(), lambda t, x: t.vstack([x, x]),
    lambda t, x: t.hstack([x, x]), lambda t, x: t.stack([x, x[:1]]), lambda t, x: t.stack([]), lambda t, x: t.cat([1.0]),
    lambda t, x: t.diff(x), lambda t, x: t.nn.functional.one_hot(x.abs()), lambda t, x: t.bincount(x.abs().flatten()),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(SHAPING)))
def test_joining_repeating_shifting(i):
    for make in rounds(20):
        agree(SHAPING[i], make.tensor())


CREATION = [
    lambda t: t.arange(5), lambda t: t.arange(1, 7, 2), lambda t: t.arange(0, 1, 0.3), lambda t: t.arange(3.0),
    lambda t: t.arange(5, 1), lambda t: t.arange(5, 1, -1), lambda t: t.linspace(0, 1, 5), lambda t: t.linspace(-1, 1, 1),
    lambda t: t.eye(3), lambda t: t.eye(2, 3, dtype=t.int64), lambda t: t.full((2, 2), 7), lambda t: t.full((2,), 1.5),
    lambda t: t.full((), True), lambda t: t.zeros(2, 3), lambda t: t.zeros((2, 3), dtype=t.bool), lambda t: t.ones([2]),
    lambda t: t.zeros(0, 3), lambda t: t.zeros(()), lambda t: t.tensor([[1, 2], [3, 4]]), lambda t: t.tensor([1, 2.5]),
    lambda t: t.tensor([True, False]), lambda t: t.tensor(3), lambda t: t.tensor([]), lambda t: t.tensor([[1], [2, 3]]),
    lambda t: t.tensor([t.tensor(1.0), t.tensor(2.0)]), lambda t: t.tensor(["a"]), lambda t: t.tensor([True, 2]),
    lambda t: t.as_tensor([1.0, 2.0]), lambda t: t.tril_indices(3, 3), lambda t: t.triu_indices(3, 4, 1),
    lambda t: t.zeros(-1), lambda t: t.zeros(2.5), lambda t: t.finfo(t.float32).min, lambda t: t.finfo(t.float64).eps,
    lambda t: t.finfo(t.float16).max, lambda t: t.iinfo(t.int64).max, lambda t: t.finfo(t.int64), lambda t: t.pi,
    lambda t: t.tensor([1.0], requires_grad=True) * 2, lambda t: t.tensor([1], requires_grad=True),
    lambda t: t.cartesian_prod(t.arange(2), t.arange(3)), lambda t: list(t.broadcast_shapes((2, 1), (3,))),
    lambda t: t.tensor([1.0, 2.0]).item(), lambda t: t.tensor([2]).item(), lambda t: int(t.tensor(2.7)),
    lambda t: [1, 2, 3][t.tensor(1)], lambda t: [1, 2, 3][t.tensor(1.0)], lambda t: 2.0 in t.tensor([1.0, 2.0]),
    lambda t: t.Size([2, 3]).numel(), lambda t: list(t.Size([2, 3])[:1]), lambda t: t.Tensor([1, 2]), lambda t: len(t.tensor(1)),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(CREATION)))
def test_creation(i):
    agree(CREATION[i])


# --- indices ---------------------------------------------------------------------------------------


def random_index(make, shape):
    """An index of all that torch allows, now and then one that it does not."""
    any_, parts, left = make.any, [], list(shape)
    while left and any_.random() < 0.85:
        n = left.pop(0)
        kind = any_.choice(["number", "slice", "slice", "full", "none", "tensor", "list", "mask", "matrix", "outside"])
        if kind == "number":
            parts.append(any_.randint(-n, n - 1))
        elif kind == "outside" and any_.random() < 0.3:
            parts.append(n)
        elif kind == "slice":
            low, high = sorted(any_.choice(range(-n, n + 2)) for _ in range(2))
            parts.append(slice(any_.choice([low, None]), any_.choice([high, None]), any_.choice([None, 1, 2])))
        elif kind == "none":
            parts.append(None)
            left.insert(0, n)
        elif kind == "tensor":
            parts.append(real.randint(-n, n, (any_.choice([1, 2, 3]),), generator=make.numbers))
        elif kind == "matrix":
            parts.append(real.randint(0, n, (any_.choice([1, 2]), any_.choice([1, 2, 3])), generator=make.numbers))
        elif kind == "list":
            parts.append([any_.randint(0, n - 1) for _ in range(2)])
        elif kind == "mask":
            rows = any_.choice([1, min(2, 1 + len(left))])
            sizes = [n, *left[: rows - 1]]
            left = left[rows - 1 :]
            parts.append(real.rand(sizes, generator=make.numbers) < 0.5)
        else:
            parts.append(slice(None))
    if any_.random() < 0.25:
        parts.insert(any_.randint(0, len(parts)), ...)
    return parts[0] if len(parts) == 1 and any_.random() < 0.7 else tuple(parts)


def test_reading_by_index():
    succeeded = 0
    for make in rounds(500):
        x = make.tensor(make.shape(0, 4))
        index = random_index(make, x.shape)
        succeeded += agree(lambda torch, x, index: x[index], x, index)
    assert succeeded > 250


def test_writing_by_index():
    """Into a tensor and into a view of one, with gradients on both sides."""
    succeeded = 0
    for make in rounds(500):
        x = make.floats(make.shape(1, 3))
        index = random_index(make, x.shape)
        try:
            part = tuple(x[index].shape)
        except (RuntimeError, IndexError, ValueError):
            part = ()
        if not _once(x, index):
            continue  # which of two values stays is nobody's promise
        value = make.any.choice([0.0, 2, make.tensor(make.broadcastable(part), x.dtype)])
        turned = make.any.random() < 0.4

        def write(torch, x, index, value, turned=turned):
            y = x * 1
            z = y.transpose(0, -1) if turned and x.shape[0] == x.shape[-1] else y
            z[index] = value
            return y, z * 2

        def add(torch, x, index, value):
            y = x * 1
            y[index] += value
            return y.exp()

        succeeded += agree(write, x, index, value)
        succeeded += agree(add, x, index, value)
    assert succeeded > 350


def _once(x, index):
    try:
        places = real.arange(x.numel()).reshape(x.shape)[index].flatten()
    except (RuntimeError, IndexError, ValueError):
        return True
    return len(places.unique()) == len(places)


def test_gather_scatter_and_relatives():
    succeeded = 0
    for make in rounds(120):
        x = make.floats(make.shape(1, 3))
        d = make.dim(x.ndim)
        sizes = [make.any.randint(1, n) for n in x.shape]
        sizes[d] = make.any.randint(1, 4)
        top = x.shape[d] + (make.any.random() < 0.05)
        index = real.randint(0, top, sizes, generator=make.numbers)
        source = make.tensor(sizes, x.dtype)
        line = real.randperm(x.shape[d], generator=make.numbers)[: make.any.randint(1, 3)]
        rows = make.tensor([len(line) if i == d % x.ndim else n for i, n in enumerate(x.shape)], x.dtype)
        succeeded += agree(lambda t, x, i: x.gather(d, i), x, index)
        agree(lambda t, x, i, s: x.scatter_add(d, i, s), x, index, source)
        agree(lambda t, x, i: x.scatter(d, i, 2.0), x, index)
        agree(lambda t, x, i: t.zeros_like(x).scatter_(d, i, 1.0), x, index)
        distinct = real.rand(sizes, generator=make.numbers).argsort(d) % x.shape[d]
        if sizes[d] <= x.shape[d]:
            agree(lambda t, x, i, s: x.scatter(d, i, s), x, distinct, source)
        agree(lambda t, x, i: x.index_select(d, i), x, line)
        agree(lambda t, x, i, s: x.index_add(d, i, s), x, line, rows)
        agree(lambda t, x, i, s: x.index_copy(d, i, s), x, line, rows)
        agree(lambda t, x, i: t.take_along_dim(x, i, d), x, x.detach().argsort(d))
        mask = real.rand(x.shape, generator=make.numbers) < 0.5
        agree(lambda t, x, m: x.masked_select(m), x, mask)
        agree(lambda t, x, m: x.masked_fill(m, -math.inf).softmax(d), x, mask)
        agree(lambda t, m: (m.nonzero(), t.where(m), m.long().cumsum(d), m.float().mean()), mask)
    assert succeeded > 80


# --- products --------------------------------------------------------------------------------------


def test_matrix_products():
    succeeded = 0
    for make in rounds(150):
        k = make.any.choice([1, 2, 3])
        batch = make.shape(0, 2, (1, 2, 3))
        a = make.tensor((*batch, make.any.choice([1, 2, 4]), k) if make.any.random() < 0.8 else (k,), real.float32)
        other = make.broadcastable(batch)
        k2 = k + (make.any.random() < 0.1)
        b = make.tensor((*other, k2, make.any.choice([1, 2, 4])) if make.any.random() < 0.8 else (k2,), real.float32)
        succeeded += agree(lambda t, a, b: a @ b, a, b)
        for name in ("mm", "bmm", "mv", "dot", "outer", "inner"):
            agree(lambda t, a, b, name=name: getattr(t, name)(a, b), a, b)
        agree(lambda t, a, b: t.nn.functional.linear(a, b), a, b) if b.ndim <= 2 else None
    assert succeeded > 90
    agree(lambda t, a, b: a @ b, real.ones(2, 2), real.ones(2, 2).double())
    agree(lambda t, a, b: a @ b, real.ones(2, 2), real.ones(2, 2).long())
    agree(lambda t, a, b: a @ b, real.ones(2, 2).long(), real.ones(2, 2).long())
    agree(lambda t, a: a @ 2.0, real.ones(2, 2))
    agree(lambda t, a, b: a @ b, real.ones(()), real.ones(2))


EQUATIONS = [
    "i,i->", "i,j->ij", "ij,jk->ik", "bij,bjk->bik", "bqd,bkd->bqk", "bqk,bkd->bqd", "bqhd,bkhd->bhqk", "ij->ji",
    "ij->", "ii->i", "ii->", "bii->b", "ij,j->i", "bqd,ad->bqa", "bqka,a->bqk", "...d,ad->...a", "...ij,...jk->...ik",
    "i,ij,j->", "bi,ij,bj->b", "bkhw->bk", "bk,bkhw->bhw", "ij,ij->ij", "ij,ij->i", "bhn,bhw->bhnw", "ab,cd->abcd", "ij",
    "ij,jk", "b...d->...d", "bqi,ij,bqj->bq", "abc->cab", "ij,kj->ik", "ij,jk->ijk",
]  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    for make in rounds(12):
        sizes = {letter: make.any.choice([1, 2, 3]) for letter in "abcdhijknqwxyz"}
        dots = make.shape(0, 2)
        operands = []
        for term in equation.partition("->")[0].split(","):
            letters = [sizes[c] for c in term if c != "."]
            if "..." in term:
                at = term.index("...")
                letters = [*letters[:at], *dots, *letters[at:]]
            wrong = make.any.random() < 0.05
            operands.append(make.tensor([*letters, 2] if wrong else letters, real.float64))
        agree(lambda t, *xs: t.einsum(equation, *xs), *operands)


def test_einsum_complains_where_torch_does():
    x = real.ones(2, 3)
    for equation in ("ij,jk->ik", "ij->ijk", "ij->iij", "ijk->i", "i->i", "i1->i", "ij,ij->i"):
        agree(lambda t, x, equation=equation: t.einsum(equation, x), x)
        agree(lambda t, x, equation=equation: t.einsum(equation, x, x), x)


def test_linalg():
    for make in rounds(20):
        a = make.tensor((3, 3), real.float64)
        b = make.tensor((make.any.choice([2, 3, 4]), make.any.choice([2, 3])), real.float64)
        agree(lambda t, a: (t.linalg.matrix_power(a, 3), t.linalg.matrix_power(a, 0)), a)
        agree(lambda t, a: (t.linalg.inv(a), t.linalg.det(a)), a)
        agree(lambda t, a: t.linalg.matrix_power(a, 2), b)
        for order in ("fro", 2, -2, 1, math.inf, "nuc"):
            agree(lambda t, b, order=order: t.linalg.matrix_norm(b, order), b)
        for p in (1, 2, 3, math.inf, 0.5):
            agree(lambda t, b, p=p: (t.linalg.vector_norm(b, p), t.linalg.vector_norm(b, p, 1, True), b.norm(p, 0)), b)
        agree(lambda t, b: (t.linalg.norm(b), b.norm(), b.norm(dim=-1, keepdim=True), t.norm(b, dim=(0, 1))), b)
        agree(lambda t, b: t.linalg.svdvals(b), b)
        agree(lambda t, b: (lambda U, S, V: (U * S @ V, S))(*t.linalg.svd(b, full_matrices=False)), b.detach())
        agree(lambda t, a: t.linalg.eigvals(a).abs().max(), a)
    zero = real.zeros(3, requires_grad=True)
    agree(lambda t, x: x.norm(), zero)
    agree(lambda t, x: (t.cosine_similarity(x, x, 0), t.nn.functional.normalize(x, dim=0)), zero)


# --- gradients -------------------------------------------------------------------------------------

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def writes_into_a_clone(t, x, y):
    z = x.clone()
    z[0] = y[0] * 2
    z *= 3
    return z


@program
def fills_rows_one_by_one(t, x, y):
    out = t.zeros_like(x)
    for i in range(len(x)):
        out[i] = x[i] * y[i].sum()
    return out


@program
def a_view_sees_what_is_written(t, x, y):
    z = x.clone()
    row = z[0]
    z *= y
    return row * 2, z


@program
def writing_into_a_view_reaches_the_base(t, x, y):
    z = x * 1
    z.mT[0] = 5.0
    z[:, 1].mul_(y[:, 0])
    return z.exp()


@program
def leaf_cannot_be_written(t, x, y):
    z = x.detach().requires_grad_()
    z += 1
    return z


@program
def view_of_a_leaf_cannot_be_written(t, x, y):
    z = x.detach().requires_grad_()
    z[0] = 1.0
    return z


@program
def leaf_may_be_written_without_grad(t, x, y):
    z = x.detach().clone().requires_grad_()
    with t.no_grad():
        z += 1
        z[0] = 0
    return z * y


@program
def overwriting_what_backward_needs(t, x, y):
    z = x.exp()
    z += 1
    return z


@program
def overwriting_what_backward_does_not_need(t, x, y):
    z = x + y
    z += 1
    z.relu_()
    return z


@program
def overwriting_an_input_of_a_product(t, x, y):
    z, w = x * 1, y * 1
    out = z * w
    w.zero_()
    return out


@program
def sigmoid_then_fill(t, x, y):
    z = x.sigmoid()
    z.masked_fill_(y > 0, 0.0)
    return z


@program
def data_is_not_watched(t, x, y):
    z = x.exp()
    z.data.mul_(2)
    return z * y


@program
def detached_shares_memory(t, x, y):
    z = x.exp()
    z.detach().mul_(2)
    return z


@program
def expanded_cannot_be_written(t, x, y):
    z = x[:1].expand(3, x.shape[1])
    z += 1
    return z


@program
def graph_is_freed(t, x, y):
    z = (x * y).sum()
    t.autograd.grad(z, x)
    return t.autograd.grad(z, x)


@program
def graph_is_kept(t, x, y):
    z = (x * y).sum()
    return t.autograd.grad(z, x, retain_graph=True)[0] + t.autograd.grad(z, x)[0]


@program
def gradients_of_gradients(t, x, y):
    [g] = t.autograd.grad((x.tanh() * y).softmax(-1).square().sum(), x, create_graph=True)
    return g.square().sum()


@program
def third_derivative(t, x, y):
    z = (x**4).sum()
    for _ in range(3):
        [g] = t.autograd.grad(z, x, create_graph=True)
        z = (g * y).sum()
    return z


@program
def unused_input(t, x, y):
    return t.autograd.grad(x.sum(), y)


@program
def unused_input_allowed(t, x, y):
    return t.autograd.grad(x.sum(), [x, y], allow_unused=True)[0]


@program
def not_a_number(t, x, y):
    return t.autograd.grad(x, x)


@program
def nothing_to_differentiate(t, x, y):
    return t.autograd.grad(x.detach().sum(), x)


@program
def backward_collects(t, x, y):
    z = x.detach().clone().requires_grad_()
    (z * 2).sum().backward()
    (z.square() * y.detach()).sum().backward()
    return z.grad


@program
def retain_grad_keeps(t, x, y):
    z = x.detach().clone().requires_grad_()
    w = z * 2
    w.retain_grad()
    w.square().sum().backward()
    return w.grad, z.grad


@program
def no_grad_as_decorator(t, x, y):
    @t.no_grad()
    def inside(a):
        return a * 2

    return inside(x) + y


@program
def enable_inside_no_grad(t, x, y):
    with t.no_grad(), t.enable_grad():
        z = x * 2
    return z, z.requires_grad, t.is_grad_enabled()


@program
def jacobian(t, x, y):
    return t.autograd.functional.jacobian(lambda z: (z * y.detach()).tanh().sum(0), x.detach())


@program
def leaf_flags(t, x, y):
    z = x * 2
    return [x.is_leaf, z.is_leaf, z.requires_grad, z.detach().requires_grad, (z > 0).requires_grad, z.grad_fn is None]


@program
def float_into_whole(t, x, y):
    n = t.arange(3)
    n += 0.5
    return n


@program
def broadcast_in_place(t, x, y):
    z = x[0].clone()
    z += x
    return z


@program
def with_respect_to_the_middle(t, x, y):
    middle = x.tanh()
    return t.autograd.grad((middle * y).sum(), middle)[0] * x


@program
def chunk_and_cat(t, x, y):
    a, b = t.cat([x, y], -1).chunk(2, -1)
    return t.stack([a * b, a + b], 1).flatten(1).logsumexp(-1)


@program
def unsqueeze_in_place(t, x, y):
    z = x * 1
    z.unsqueeze_(0)
    return z * y


@program
def copies(t, x, y):
    z = t.empty_like(x)
    z.copy_(y)
    w = t.zeros(3, *x.shape, dtype=x.dtype)
    w[1].copy_(x)
    return z * x, w


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    for make in rounds(8):
        n = make.any.choice([2, 3])
        agree(PROGRAMS[name], make.tensor((n, 3), real.float64, True), make.tensor((n, 3), real.float64, True))


def random_step(make):
    """A line of a program on three matrices, written in place or not."""
    a, b, c = (make.any.choice(["x", "y", "z"]) for _ in range(3))
    i, j = make.any.randint(0, 2), make.any.choice(["", "[0]", "[:, 1]", "[1:]", ".mT", "[..., None, 0]"])
    return make.any.choice(
        [
            f"{a} = {b} * {c}", f"{a} = {b} + {c}.mT", f"{a} = {b} @ {c}", f"{a} = {b}.tanh()", f"{a} = {b}.softmax(-1)",
            f"{a} = {b}.clone()", f"{a} = {b}.detach()", f"{a} = {b}.exp()", f"{a} += {b}", f"{a} *= {b}",
            f"{a}{j} *= 2", f"{a}{j} += {b}{j}", f"{a}[{i}] = {b}[{i}]", f"{a}[:, {i}] = 0.5", f"{a} = {b}.mT",
            f"{a}[{b} > 0] = 0.1", f"{a} = {b}.masked_fill({c} > 0, 0.5)", f"{a}.clamp_(-1, 1)", f"{a} = {b}[[2, 0, 1]]",
            f"{a}.sigmoid_()", f"{a} = t.where({b} > 0, {b}, {c})", f"{a} = {b} / {c}.exp()", f"{a} = {b}.cumsum({i % 2})",
        ]
    )  # fmt: skip


def test_random_programs():
    """Writing, views and gradients in any order: the hardest part to get right."""
    succeeded = 0
    for make in rounds(300):
        lines = [random_step(make) for _ in range(make.any.randint(2, 6))]
        code = compile("\n".join(["x, y, z = x * 1, y * 1, z * 1", *lines]), "<program>", "exec")

        def run(t, x, y, z, code=code):
            space = {"t": t, "x": x, "y": y, "z": z}
            exec(code, space)
            return space["x"], space["y"], space["z"]

        inputs = [make.tensor((3, 3), real.float64, True) for _ in range(3)]
        try:
            succeeded += agree(run, *inputs)
        except AssertionError as error:
            raise AssertionError("\n".join(lines)) from error
    assert succeeded > 150


# --- nn --------------------------------------------------------------------------------------------

FUNCTIONAL = [
    lambda F, x, w, n: F.softplus(x), lambda F, x, w, n: F.softplus(x * 30), lambda F, x, w, n: F.logsigmoid(x * 20),
    lambda F, x, w, n: F.gelu(x), lambda F, x, w, n: F.gelu(x, approximate="tanh"), lambda F, x, w, n: F.silu(x),
    lambda F, x, w, n: F.leaky_relu(x), lambda F, x, w, n: F.elu(x), lambda F, x, w, n: F.relu(x),
    lambda F, x, w, n: F.normalize(x, dim=-1), lambda F, x, w, n: F.normalize(x), lambda F, x, w, n: F.softmax(x, -1),
    lambda F, x, w, n: F.cosine_similarity(x, w, dim=-1), lambda F, x, w, n: F.layer_norm(x, x.shape[-1:]),
    lambda F, x, w, n: F.layer_norm(x, (7,)), lambda F, x, w, n: F.cross_entropy(x[:, :, 0], n[:, 0]),
    lambda F, x, w, n: F.cross_entropy(x.mT, n, reduction="none"), lambda F, x, w, n: F.cross_entropy(x, n),
    lambda F, x, w, n: F.cross_entropy(x.mT, n, reduction="sum", ignore_index=1), lambda F, x, w, n: F.nll_loss(x.mT, n),
    lambda F, x, w, n: F.cross_entropy(x.mT, n, label_smoothing=0.1), lambda F, x, w, n: F.cross_entropy(x, w.softmax(1)),
    lambda F, x, w, n: F.mse_loss(x, w), lambda F, x, w, n: F.mse_loss(x, w, reduction="none"),
    lambda F, x, w, n: F.l1_loss(x, w), lambda F, x, w, n: F.binary_cross_entropy_with_logits(x, w.sigmoid()),
    lambda F, x, w, n: F.binary_cross_entropy(x.sigmoid(), w.sigmoid()), lambda F, x, w, n: F.one_hot(n, 4),
    lambda F, x, w, n: F.kl_div(x.log_softmax(-1), w.softmax(-1), reduction="sum"), lambda F, x, w, n: F.one_hot(n, 2),
    lambda F, x, w, n: F.embedding(n, w[0]), lambda F, x, w, n: F.embedding(n + 9, w[0]),
    lambda F, x, w, n: F.scaled_dot_product_attention(x, w, w),
    lambda F, x, w, n: F.scaled_dot_product_attention(x, w, w, is_causal=True),
    lambda F, x, w, n: F.scaled_dot_product_attention(x, w, w, attn_mask=(n > 0)[:, None]),
    lambda F, x, w, n: F.scaled_dot_product_attention(x, w, w, scale=0.3), lambda F, x, w, n: F.dropout(x, 0.5, False),
    lambda F, x, w, n: F.conv1d(x, w[:, :, :2]), lambda F, x, w, n: F.conv1d(x, w[:, :, :2], padding=2, dilation=2),
    lambda F, x, w, n: F.conv1d(x, w[:, :1]), lambda F, x, w, n: F.conv1d(x[0], w[:, :, :1], w[:, 0, 0], stride=2),
    lambda F, x, w, n: F.conv1d(x, w[:, :, :2], padding="same"), lambda F, x, w, n: F.conv1d(x.double(), w),
    lambda F, x, w, n: F.conv2d(x[None], w[None, :, :2, :2], padding=1), lambda F, x, w, n: F.glu(x[..., :2]),
    lambda F, x, w, n: F.conv2d(x[:, None], w[:, None, :2, :1], stride=(1, 2), dilation=(1, 2)),
    lambda F, x, w, n: F.max_pool2d(x, 2), lambda F, x, w, n: F.avg_pool2d(x, 2, 1), lambda F, x, w, n: F.linear(x, w[0]),
    lambda F, x, w, n: F.adaptive_avg_pool2d(x, 2), lambda F, x, w, n: F.adaptive_avg_pool2d(x, (1, 3)),
    lambda F, x, w, n: F.unfold(x[:, None], (2, 1)), lambda F, x, w, n: F.rms_norm(x, x.shape[-1:]),
    lambda F, x, w, n: F.smooth_l1_loss(x, w), lambda F, x, w, n: F.pad(x, (1, 1, 0, 2), value=-1.0),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(FUNCTIONAL)))
def test_functional(i):
    for make in rounds(8):
        n = make.any.choice([2, 3, 4])
        x, w = (make.tensor((n, 4, 4), real.float32) for _ in range(2))
        target = real.randint(0, 4, (n, 4), generator=make.numbers)
        agree(lambda t, x, w, target: FUNCTIONAL[i](t.nn.functional, x, w, target), x, w, target)


def test_reading_images():
    for make in rounds(30):
        image = make.tensor((2, 1, make.any.choice([1, 3, 4]), make.any.choice([2, 5])), real.float64)
        grid = make.tensor((2, 3, 2, 2), real.float64)
        for mode in ("bilinear", "nearest"):
            for padding in ("zeros", "border", "reflection"):
                align = make.any.random() < 0.5
                agree(
                    lambda t, x, g, m=mode, p=padding, a=align: t.nn.functional.grid_sample(x, g, m, p, a), image, grid
                )
        theta = make.tensor((2, 2, 3), real.float64)
        agree(lambda t, x: t.nn.functional.affine_grid(x, (2, 1, 3, 4), align_corners=False), theta)
        agree(lambda t, x: t.nn.functional.affine_grid(x, (2, 1, 3, 4), align_corners=True), theta)


MODULES = {
    "linear": (lambda nn: nn.Linear(4, 3), (2, 5, 4)), "no bias": (lambda nn: nn.Linear(4, 3, bias=False), (4,)),
    "gru": (lambda nn: nn.GRU(4, 3, batch_first=True), (2, 5, 4)), "gru time first": (lambda nn: nn.GRU(4, 3), (5, 2, 4)),
    "lstm": (lambda nn: nn.LSTM(4, 3, batch_first=True), (2, 5, 4)), "rnn": (lambda nn: nn.RNN(4, 3), (5, 2, 4)),
    "two layers both ways": (lambda nn: nn.GRU(4, 3, 2, batch_first=True, bidirectional=True), (2, 5, 4)),
    "one sequence": (lambda nn: nn.LSTM(4, 3), (5, 4)), "gru cell": (lambda nn: nn.GRUCell(4, 3), (2, 4)),
    "lstm cell": (lambda nn: nn.LSTMCell(4, 3), (2, 4)), "rnn cell": (lambda nn: nn.RNNCell(4, 3), (2, 4)),
    "relu cell": (lambda nn: nn.RNNCell(4, 3, nonlinearity="relu"), (4,)), "conv1d": (lambda nn: nn.Conv1d(3, 2, 2), (2, 3, 4)),
    "conv2d": (lambda nn: nn.Conv2d(3, 2, 3, padding=1), (2, 3, 4, 4)), "norm": (lambda nn: nn.LayerNorm(4), (2, 3, 4)),
    "groups": (lambda nn: nn.Conv1d(4, 4, 2, groups=2), (2, 4, 5)), "misfit": (lambda nn: nn.Linear(4, 3), (2, 5)),
    "stack": (lambda nn: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Softmax(-1)), (2, 4)),
    "pool": (lambda nn: nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 1, 3, 3)),
    "gelu": (lambda nn: nn.Sequential(nn.GELU(), nn.Dropout(0.1), nn.Identity()), (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    make_module, shape = MODULES[name]
    for make in rounds(5):
        real.manual_seed(make.any.randint(0, 99))
        theirs = make_module(real.nn).eval()
        ours = make_module(page.nn).eval()
        assert list(ours.state_dict()) == list(theirs.state_dict())
        ours.load_state_dict({key: smaller(x) for key, x in theirs.state_dict().items()})

        def run(t, x, theirs=theirs, ours=ours):
            module = theirs if t is real else ours
            out = module(x)
            first = out[0] if isinstance(out, tuple) else out
            weights = (
                t.autograd.grad(first.sum(), list(module.parameters()), create_graph=True) if name != "gelu" else ()
            )
            return [first, *(g.detach() for g in weights)]

        agree(run, make.tensor(shape, real.float32, True))


def test_distributions():
    for make in rounds(50):
        x = make.tensor((2, 3, 4), real.float64)
        index = real.randint(0, 4, (2, 3), generator=make.numbers)
        agree(lambda t, x, i: t.distributions.Categorical(logits=x).log_prob(i), x, index)
        agree(lambda t, x, i: t.distributions.Categorical(probs=x.exp()).log_prob(i), x, index)
        agree(lambda t, x: t.distributions.Categorical(logits=x).entropy(), x)
        agree(lambda t, x: t.distributions.Normal(x, x.exp()).log_prob(x * 2), x)


def test_a_seed_draws_what_it_draws_in_torch():
    """Uniform, normal, whole numbers and permutations; in one stream, small and large."""
    programs = [
        lambda t, g: [t.rand(3, generator=g), t.randn(5, generator=g), t.randn(4, 4, generator=g)],
        lambda t, g: [t.randn(7, generator=g), t.randn(7, generator=g), t.randint(10, (6,), generator=g)],
        lambda t, g: [t.randn(35, generator=g), t.randperm(9, generator=g), t.rand(2, 2, generator=g, dtype=t.float64)],
        lambda t, g: [t.randn(20, generator=g, dtype=t.float64), t.randint(-3, 8, (5, 2), generator=g)],
    ]
    for seed in (0, 1, 2024, 2**40 + 5):
        for i, draw in enumerate(programs):
            wanted = draw(real, real.Generator().manual_seed(seed))
            got = draw(page, page.Generator().manual_seed(seed))
            assert not any(map(differs, wanted, got)), (seed, i)
    assert real.manual_seed(3) and page.manual_seed(3)
    assert not differs(real.randn(3), page.randn(3))


def test_drawing_by_weight():
    weights = page.tensor([[0.1, 0.0, 0.9], [1.0, 1.0, 0.0]])
    page.manual_seed(0)
    drawn = page.stack([page.multinomial(weights, 1).squeeze(-1) for _ in range(2000)]).tolist()
    shares = [[sum(row[b] == i for row in drawn) / 2000 for i in range(3)] for b in range(2)]
    for found, wanted in zip(shares, [[0.1, 0, 0.9], [0.5, 0.5, 0]], strict=True):
        assert all(abs(a - b) < 4 * math.sqrt(b * (1 - b) / 2000) + 1e-9 for a, b in zip(found, wanted, strict=True))


# --- what it does not know -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: page.fft, "torch.fft"), (lambda: page.tensor([1.0]).numpy(), "Tensor.numpy"),
        (lambda: page.nn.Transformer, "torch.nn.Transformer"), (lambda: page.nn.functional.ctc_loss, "torch.nn.functional.ctc_loss"),
        (lambda: page.linalg.qr, "torch.linalg.qr"), (lambda: page.distributions.Beta, "torch.distributions.Beta"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_one_clear_sentence(ask, name):
    with pytest.raises(AttributeError) as told:
        ask()
    assert str(told.value) == f"this page's small torch does not know {name}; open the notebook to use it"


def test_python_can_still_ask_what_is_there():
    assert not hasattr(page, "fft") and not hasattr(page.tensor(1.0), "numpy") and hasattr(page, "softmax")


def test_it_needs_nothing_but_python():
    program = (
        "import sys, attncourse.page.torch, attncourse.page.packed; print(*{m.partition('.')[0] for m in sys.modules})"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy"} & set(out)
    assert set(out) - {"attncourse", "__main__", "site", "_virtualenv", "sitecustomize", "usercustomize"} <= (
        set(sys.stdlib_module_names) | {m for m in out if m.startswith(("_", "__editable__", "distutils"))}
    )
