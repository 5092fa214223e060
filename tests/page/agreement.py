"""Does the page's torch do what PyTorch does? Values, shapes, dtypes, gradients, and whether there is an error."""

import math
import random

import torch as real

import attncourse.page.torch as page

FLOATS = (real.float32, real.float64)
CLOSE = {
    real.float32: (2e-5, 1e-6),
    real.float64: (1e-9, 1e-11),
    real.float16: (2e-3, 1e-4),
    real.bfloat16: (2e-2, 1e-3),
}


def name(dtype):
    return str(dtype).removeprefix("torch.")


def smaller(x):
    """A tensor of PyTorch as one of the page's, laid out row by row."""
    made = page.tensor(x.detach().flatten().tolist(), dtype=getattr(page, name(x.dtype))).reshape(tuple(x.shape))
    return made.detach().clone().requires_grad_(x.requires_grad)


def translated(value):
    """Inputs of any kind; tensors inside tuples, lists and slices as well."""
    if isinstance(value, real.Tensor):
        return smaller(value)
    if isinstance(value, real.dtype):
        return getattr(page, name(value))
    if type(value) in (tuple, list):
        return type(value)(translated(x) for x in value)
    return value


def _run(torch, function, inputs):
    """-> the outputs and the gradients of a fixed weighted sum of them, or the exception"""
    leaves = [x for x in inputs if isinstance(x, torch.Tensor) and x.requires_grad]
    copies = [x.clone() if isinstance(x, torch.Tensor) and x.requires_grad else x for x in inputs]
    try:
        value = function(torch, *copies)
        outputs = list(value) if isinstance(value, (tuple, list)) else [value]
        graded = [x for x in outputs if isinstance(x, torch.Tensor) and x.requires_grad]
        gradients = []
        if leaves and graded:
            weights = [torch.arange(x.numel(), dtype=x.dtype).cos().reshape(x.shape) for x in graded]
            gradients = list(torch.autograd.grad(graded, leaves, weights, allow_unused=True))
    except Exception as error:
        return error
    return [*outputs, len(graded), *gradients]


def agree(function, *inputs):
    """Run `function(torch, *inputs)` on both; complain about the first difference. -> did both succeed?"""
    wanted = _run(real, function, inputs)
    got = _run(page, function, [translated(x) for x in inputs])
    shown = [(tuple(x.shape), name(x.dtype)) if isinstance(x, real.Tensor) else x for x in inputs]
    if isinstance(wanted, Exception) or isinstance(got, Exception):
        same = type(wanted).__name__ == type(got).__name__
        assert same, f"{shown}: PyTorch {wanted!r}, page {got!r}"
        return False
    assert len(wanted) == len(got), f"{shown}: {wanted} and {got}"
    for x, y in zip(wanted, got, strict=True):
        difference = differs(x, y)
        assert not difference, f"{shown}: {difference}\nPyTorch {wanted}\npage {got}"
    return True


def differs(x, y):
    if isinstance(x, real.Tensor) != isinstance(y, page.Tensor):
        return f"{type(x)} and {type(y)}"
    if isinstance(x, (tuple, list)):
        return len(x) != len(y) or next((d for d in map(differs, x, y) if d), "")
    if not isinstance(x, real.Tensor):
        return "" if x == y or (x != x and y != y) or _near(x, y) else f"{x} and {y}"
    if tuple(x.shape) != tuple(y.shape) or name(x.dtype) != name(y.dtype):
        return f"{tuple(x.shape)} {x.dtype} and {tuple(y.shape)} {y.dtype}"
    relative, absolute = CLOSE.get(x.dtype, (0.0, 0.0))
    z = real.tensor(y.detach().flatten().tolist(), dtype=x.dtype).reshape(x.shape)
    close = real.isclose(x.detach().double(), z.double(), relative, absolute, equal_nan=True)
    return "" if close.all() else "values differ"


def _near(x, y):
    return isinstance(x, float) and isinstance(y, float) and math.isclose(x, y, rel_tol=1e-6)


class Maker:
    """Random inputs from one seed."""

    def __init__(self, seed):
        self.any, self.numbers = random.Random(seed), real.Generator().manual_seed(seed)

    def shape(self, least=0, most=3, sizes=(1, 2, 3, 4)):
        return tuple(self.any.choice(sizes) for _ in range(self.any.randint(least, most)))

    def dim(self, ndim):
        return self.any.randint(-ndim, ndim - 1) if ndim else self.any.choice([0, -1])

    def tensor(self, shape=None, dtype=None, gradient=None):
        """Normal numbers, small whole numbers, or truth values."""
        shape = self.shape() if shape is None else shape
        dtype = dtype or self.any.choice([real.float32] * 4 + [real.float64, real.int64, real.bool])
        if dtype in FLOATS:
            x = real.randn(shape, generator=self.numbers, dtype=dtype)
            return x.requires_grad_(self.any.random() < 0.7 if gradient is None else gradient)
        low, high = (0, 2) if dtype is real.bool else (-4, 5)
        return real.randint(low, high, shape, generator=self.numbers).to(dtype)

    def floats(self, shape=None, gradient=None):
        return self.tensor(shape, self.any.choice(FLOATS), gradient)

    def broadcastable(self, shape):
        """A shape that broadcasts with `shape`, mostly."""
        kept = list(shape[self.any.randint(0, len(shape)) :]) if shape else []
        kept = [1 if self.any.random() < 0.3 else n for n in kept]
        return tuple(n + (self.any.random() < 0.04) for n in kept)
