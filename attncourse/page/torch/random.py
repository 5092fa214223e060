"""Random numbers: the generator is torch's (Mersenne twister), so a seed draws the same uniform and normal numbers.

Only what torch draws by another library's generator (bernoulli, exponential, multinomial) comes out differently.
"""

import math
import random as python
from contextlib import contextmanager
from math import prod

from . import dtypes
from .dtypes import int64
from .reduce import rows
from .shapes import sizes
from .tensor import DEVICES, FUNCTIONS, both, flat, function, make, method, overwrite, wrap
from .unknown import getter

__getattr__ = getter("torch.random")


class Generator:
    def __init__(self, device="cpu"):
        self.twister, self.kept = python.Random(), None
        self.device = FUNCTIONS["device"](device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed):
        seed = int(seed)
        self.first, self.kept = seed, None
        state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) & 0xFFFFFFFF)
        self.twister.setstate((3, (*state, 624), None))
        return self

    def initial_seed(self):
        return self.first

    def seed(self):
        self.manual_seed(python.SystemRandom().getrandbits(63))
        return self.first

    def get_state(self):
        return self.twister.getstate(), self.kept, self.first

    def set_state(self, state):
        twister, self.kept, self.first = state
        self.twister.setstate(twister)

    def bits(self):
        return self.twister.getrandbits(32)

    def single(self):
        return (self.bits() & 0xFFFFFF) / (1 << 24)

    def double(self):
        return ((self.bits() << 32 | self.bits()) & (1 << 53) - 1) / (1 << 53)

    def normal(self):
        """One of a pair; the other is kept for the next call."""
        if self.kept is not None:
            value, self.kept = self.kept, None
            return value
        u1, u2 = self.double(), self.double()
        radius, angle = math.sqrt(-2 * math.log1p(-u2)), 2 * math.pi * u1
        self.kept = radius * math.sin(angle)
        return radius * math.cos(angle)


default_generator = Generator()


def manual_seed(seed):
    return default_generator.manual_seed(seed)


def seed():
    return default_generator.seed()


def initial_seed():
    return default_generator.initial_seed()


get_rng_state = default_generator.get_state
set_rng_state = default_generator.set_state


@contextmanager
def fork_rng(devices=None, enabled=True):
    """What is drawn inside leaves the numbers outside as they were."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)


def _uniform(count, kind, generator):
    generator = generator or default_generator
    draw = generator.double if kind is dtypes.float64 else generator.single
    return [draw() for _ in range(count)]


def _normal(count, kind, generator):
    generator = generator or default_generator
    if count < 16:
        return [generator.normal() for _ in range(count)]
    values = _uniform(count, kind, generator)
    for start in range(0, count - 15, 16):
        _sixteen(values, start)
    if count % 16:  # the last sixteen are drawn once more
        values[count - 16 :] = _uniform(16, kind, generator)
        _sixteen(values, count - 16)
    return values


def _sixteen(values, start):
    for j in range(start, start + 8):
        radius, angle = math.sqrt(-2 * math.log(1 - values[j])), 2 * math.pi * values[j + 8]
        values[j], values[j + 8] = radius * math.cos(angle), radius * math.sin(angle)


def _create(name, draw):
    def create(*size, generator=None, dtype=None, device=None, requires_grad=False, **named):
        shape, kind = sizes(size or (named.get("size", ()),)), dtype or dtypes.default()
        if _meta(device):
            return wrap(None, shape, kind)
        return make(draw(prod(shape), kind, generator), shape, kind).requires_grad_(requires_grad)

    def like(input, *, generator=None, dtype=None, device=None, requires_grad=False):
        return create(input.shape, generator=generator, dtype=dtype or input.dtype, requires_grad=requires_grad)

    create.__name__, like.__name__ = name, f"{name}_like"
    function(create)
    function(like)


def _meta(wanted=None):
    return str(wanted or DEVICES[-1]) == "meta"


_create("rand", _uniform)
_create("randn", _normal)


@function
def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None):
    if size is None:  # randint(high, size)
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    generator, shape = generator or default_generator, sizes((size,))
    return make([low + generator.bits() % (high - low) for _ in range(prod(shape))], shape, dtype or int64)


@function
def randperm(n, *, generator=None, dtype=None, device=None):
    generator, values = generator or default_generator, list(range(n))
    for i in range(n - 1):
        j = i + generator.bits() % (n - i)
        values[i], values[j] = values[j], values[i]
    return make(values, (n,), dtype or int64)


@function
def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None):
    shape = size or next(x.shape for x in (mean, std) if hasattr(x, "shape"))
    return mean + std * FUNCTIONS["randn"](shape, generator=generator, dtype=dtype)


@both
def bernoulli(input, p=None, *, generator=None):
    draws = _uniform(input.numel(), dtypes.float64, generator)
    chances = flat(input) if p is None else [p] * input.numel()
    return make([u < c for u, c in zip(draws, chances, strict=True)], input.shape, input.dtype)


@both
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Draw by weight: the largest of weight / exponential wins, and so on down the order."""
    generator, found = generator or default_generator, []
    lines = rows(input, (input.ndim - 1,))
    for line in lines:
        if not replacement and num_samples > sum(v > 0 for v in line):
            raise RuntimeError(
                "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)"
            )
        if replacement:
            found += [_race(line, generator)[0] for _ in range(num_samples)]
        else:
            found += _race(line, generator)[:num_samples]
    return wrap(found, (*input.shape[:-1], num_samples), int64)


def _race(weights, generator):
    keys = [w / (-math.log1p(-generator.double()) or 1e-300) for w in weights]
    return sorted(range(len(keys)), key=lambda i: -keys[i])


def _fill(name, draw):
    def fill(input, *args, generator=None, **kwargs):
        if input.values is None:
            return input
        values = draw(input.numel(), input.dtype, generator, *args, **kwargs)
        return overwrite(input, make(values, input.shape, input.dtype))

    fill.__name__ = name
    method(fill)


def _between(count, kind, generator, a=0.0, b=1.0, **named):
    a, b = named.get("from", a), named.get("to", b)
    return [a + (b - a) * u for u in _uniform(count, kind, generator)]


def _around(count, kind, generator, mean=0.0, std=1.0):
    return [mean + std * x for x in _normal(count, kind, generator)]


def _below(count, kind, generator, low=0, high=1 << 24):
    return [low + (generator or default_generator).bits() % (high - low) for _ in range(count)]


def _waiting(count, kind, generator, lambd=1.0):
    return [-math.log1p(-u) / lambd for u in _uniform(count, dtypes.float64, generator)]


_fill("uniform_", _between)
_fill("normal_", _around)
_fill("exponential_", _waiting)
_fill("bernoulli_", lambda n, kind, g, p=0.5: [float(u < p) for u in _uniform(n, dtypes.float64, g)])
_fill("random_", _below)

for _name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"):
    FUNCTIONS[_name] = globals()[_name]
