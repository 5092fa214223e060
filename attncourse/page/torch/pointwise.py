"""Entry by entry: arithmetic, functions of one number, comparisons; with broadcasting and promotion."""

import math
import operator

from . import dtypes
from .graph import record
from .shapes import broadcast
from .tensor import FUNCTIONS, Tensor, also, both, flat, flat_as, function, make, wrap, writing

NUMBERS = (bool, int, float, complex)
INF, NAN = math.inf, math.nan


def _careful(operation, fallback):
    """Over lists at full speed; where Python raises (1/0, exp(1000)) entry by entry, as a processor computes."""

    def compute(*lists):
        try:
            return list(map(operation, *lists))
        except (ArithmeticError, ValueError):
            return [fallback(*entries) for entries in zip(*lists, strict=True)]

    return compute


def _or_else(operation, otherwise):
    def safe(*entries):
        try:
            return operation(*entries)
        except (ArithmeticError, ValueError):
            return otherwise(*entries)

    return safe


# --- one number ------------------------------------------------------------------------------------

_exp = _or_else(math.exp, lambda x: INF)
_log = _or_else(math.log, lambda x: -INF if x == 0 else NAN)


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _whole(function):
    return lambda x: float(function(x)) if x - x == 0 else x


def _softplus(x):
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _sign(x):
    return x / abs(x) if isinstance(x, complex) and x else (x > 0) - (x < 0)


def _erf_slope(x):
    return 2 / math.sqrt(math.pi) * (-x * x).exp()


# name: the function of one number, and its slope from the gradient g, the input x and the result y
FLOATING = {
    "exp": (_exp, lambda g, x, y: g * y, "y"),
    "exp2": (_or_else(lambda x: 2.0**x, lambda x: INF), lambda g, x, y: g * y * math.log(2), "y"),
    "expm1": (_or_else(math.expm1, lambda x: INF), lambda g, x, y: g * (y + 1), "y"),
    "log": (_log, lambda g, x, y: g / x, "x"),
    "log2": (_or_else(math.log2, lambda x: -INF if x == 0 else NAN), lambda g, x, y: g / (x * math.log(2)), "x"),
    "log10": (_or_else(math.log10, lambda x: -INF if x == 0 else NAN), lambda g, x, y: g / (x * math.log(10)), "x"),
    "log1p": (_or_else(math.log1p, lambda x: -INF if x == -1 else NAN), lambda g, x, y: g / (x + 1), "x"),
    "sqrt": (_or_else(math.sqrt, lambda x: NAN), lambda g, x, y: g / (2 * y), "y"),
    "rsqrt": (_or_else(lambda x: 1 / math.sqrt(x), lambda x: math.copysign(INF, x) if x == 0 else NAN),
              lambda g, x, y: -0.5 * g * y**3, "y"),
    "reciprocal": (_or_else(lambda x: 1 / x, lambda x: math.copysign(INF, x)), lambda g, x, y: -g * y * y, "y"),
    "sin": (_or_else(math.sin, lambda x: NAN), lambda g, x, y: g * x.cos(), "x"),
    "cos": (_or_else(math.cos, lambda x: NAN), lambda g, x, y: -g * x.sin(), "x"),
    "tan": (_or_else(math.tan, lambda x: NAN), lambda g, x, y: g * (1 + y * y), "y"),
    "asin": (_or_else(math.asin, lambda x: NAN), lambda g, x, y: g * (1 - x * x).rsqrt(), "x"),
    "acos": (_or_else(math.acos, lambda x: NAN), lambda g, x, y: -g * (1 - x * x).rsqrt(), "x"),
    "atan": (math.atan, lambda g, x, y: g / (1 + x * x), "x"),
    "sinh": (_or_else(math.sinh, lambda x: math.copysign(INF, x)), lambda g, x, y: g * x.cosh(), "x"),
    "cosh": (_or_else(math.cosh, lambda x: INF), lambda g, x, y: g * x.sinh(), "x"),
    "tanh": (math.tanh, lambda g, x, y: g * (1 - y * y), "y"),
    "sigmoid": (_sigmoid, lambda g, x, y: g * (1 - y) * y, "y"),
    "erf": (math.erf, lambda g, x, y: g * _erf_slope(x), "x"),
    "lgamma": (_or_else(math.lgamma, lambda x: INF), None, ""),
}  # fmt: skip
# These keep whole numbers whole.
KEEPING = {
    "neg": (operator.neg, lambda g, x, y: -g, ""),
    "abs": (abs, lambda g, x, y: g * x.sgn(), "x"),
    "square": (lambda x: x * x, lambda g, x, y: g * (2 * x), "x"),
    "sign": (_sign, lambda g, x, y: g * 0, ""),
    "sgn": (_sign, lambda g, x, y: g * 0, ""),
    "floor": (_whole(math.floor), lambda g, x, y: g * 0, ""),
    "ceil": (_whole(math.ceil), lambda g, x, y: g * 0, ""),
    "round": (_whole(round), lambda g, x, y: g * 0, ""),  # halves go to the even neighbour, in Python as in torch
    "trunc": (_whole(math.trunc), lambda g, x, y: g * 0, ""),
    "relu": (
        lambda x: x if x > 0 or x != x else 0 * x if x - x == 0 else 0.0,
        lambda g, x, y: where(y <= 0, 0.0, g),
        "y",
    ),
}
TESTS = {
    "isnan": lambda x: x != x,
    "isinf": lambda x: x in (INF, -INF),
    "isfinite": lambda x: x - x == 0,
    "logical_not": lambda x: not x,
}


def _of_truth(name):
    """The dtype of a result for True and False, where there is one."""
    if name in ("square", "sign", "sgn"):
        return dtypes.int64 if name == "square" else dtypes.bool_
    if name == "neg":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    if name == "relu":
        raise RuntimeError("Boolean inputs not supported for relu")
    raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")


def _unary(name, compute, slope, saves, floating):
    def operation(input):
        kind = dtypes.default() if floating and input.dtype.rank < 6 else input.dtype
        if kind is dtypes.bool_:
            kind = _of_truth(name)
        if kind.is_complex and name == "abs":
            kind = dtypes.float64 if kind is dtypes.complex128 else dtypes.float32
        out = make(list(map(compute, flat(input))), input.shape, kind)
        saved = [x for x, mark in ((input, "x"), (out, "y")) if mark in saves]
        return record(out, (input, lambda g: slope(g, input, out), *saved))

    operation.__name__ = name
    both(operation)


for _name, (_compute, _slope, _saves) in (FLOATING | KEEPING).items():
    _unary(_name, _compute, _slope, _saves, _name in FLOATING)


def _test(name, compute):
    def operation(input):
        return wrap(list(map(compute, flat(input))), input.shape, dtypes.bool_)

    operation.__name__ = name
    both(operation)


for _name, _compute in TESTS.items():
    _test(_name, _compute)

for _new, _old in {"negative": "neg", "absolute": "abs", "arctan": "atan", "arcsin": "asin", "arccos": "acos"}.items():
    also(_new, getattr(Tensor, _old))
Tensor.__neg__, Tensor.__abs__ = Tensor.neg, Tensor.abs
Tensor.__pos__ = lambda input: input
Tensor.real = property(lambda input: make([complex(v).real for v in flat(input)], input.shape, dtypes.float32)
                       if input.dtype.is_complex else input)  # fmt: skip
Tensor.imag = property(lambda input: make([complex(v).imag for v in flat(input)], input.shape, dtypes.float32))


# --- two numbers -----------------------------------------------------------------------------------


def operands(a, b, floating=False):
    """-> lists of entries in the dtype that both meet in, the shape, the dtype"""
    kind = dtypes.meet(a, b)
    if floating and kind.rank < 6:
        kind = dtypes.default()
    shape = broadcast(*(x.shape for x in (a, b) if isinstance(x, Tensor)))
    lists = []
    for x in (a, b):
        if isinstance(x, Tensor):
            values = flat_as(x, shape)
            lists.append(values if x.dtype is kind or kind.rank < 6 or x.dtype.rank > 5 else list(map(float, values)))
        elif isinstance(x, NUMBERS):
            lists.append(kind.fit([x]) * shape.numel())
        else:
            raise TypeError(f"other must be a Tensor or a number, not {type(x).__name__}")
    return *lists, shape, kind


def _no_bools(a, b):
    bools = [x for x in (a, b) if isinstance(x, bool) or getattr(x, "dtype", None) is dtypes.bool_]
    if bools:
        what = "two bool tensors" if len(bools) == 2 else "a bool tensor"
        raise RuntimeError(
            f"Subtraction, the `-` operator, with {what} is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def _tensors(*pairs):
    """Only tensors have gradients."""
    return [pair for pair in pairs if isinstance(pair[0], Tensor)]


def _with(*candidates):
    return [x for x in candidates if isinstance(x, Tensor)]


def _scaled(other, alpha):
    return (other * alpha).to(other.dtype) if isinstance(other, Tensor) else other * alpha


@both
def add(input, other, *, alpha=1):
    other = other if alpha == 1 else _scaled(other, alpha)
    x, y, shape, kind = operands(input, other)
    out = make(list(map(operator.or_ if kind.rank == 0 else operator.add, x, y)), shape, kind)
    return record(out, *_tensors((input, lambda g: g), (other, lambda g: g)))


@both
def sub(input, other, *, alpha=1):
    _no_bools(input, other)
    other = other if alpha == 1 else _scaled(other, alpha)
    x, y, shape, kind = operands(input, other)
    out = make(list(map(operator.sub, x, y)), shape, kind)
    return record(out, *_tensors((input, lambda g: g), (other, lambda g: -g)))


@both
def mul(input, other):
    x, y, shape, kind = operands(input, other)
    out = make(list(map(operator.mul, x, y)), shape, kind)
    return record(
        out, *_tensors((input, lambda g: g * other, *_with(other)), (other, lambda g: g * input, *_with(input)))
    )


def _quotient(a, b):
    return NAN if a != a or b != b or a == 0 else math.copysign(INF, a) * math.copysign(1.0, b)


_divide = _careful(operator.truediv, _or_else(operator.truediv, _quotient))


@both
def div(input, other, *, rounding_mode=None):
    if rounding_mode:
        return floor_divide(input, other) if rounding_mode == "floor" else _truncated(input, other)
    x, y, shape, kind = operands(input, other, floating=True)
    out = make(_divide(x, y), shape, kind)
    # The first slope needs the divisor alone, the second both.
    return record(
        out,
        *_tensors(
            (input, lambda g: g / other, *_with(other)),
            (other, lambda g: -g * ((input / other) / other), *_with(input, other)),
        ),
    )


def _truncated(input, other):
    kind = dtypes.meet(input, other)
    return div(input, other).trunc().to(kind)


def _zero_division(a, b):
    if isinstance(a, int) and isinstance(b, int):
        raise RuntimeError("ZeroDivisionError")
    return _quotient(a, b)


@both
def floor_divide(input, other):
    x, y, shape, kind = operands(input, other)
    _not_of_bools("div_floor", kind)
    compute = _careful(operator.floordiv, _or_else(operator.floordiv, _zero_division))
    return record(make(compute(x, y), shape, kind), *_tensors((input, _no_derivative), (other, _no_derivative)))


def _no_derivative(g):
    raise RuntimeError("derivative for aten::floor_divide is not implemented")


def _not_of_bools(name, kind):
    if kind is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")


def _rest(a, b):
    if isinstance(a, int) and isinstance(b, int):
        raise RuntimeError("ZeroDivisionError")
    return NAN


@both
def remainder(input, other):
    x, y, shape, kind = operands(input, other)
    _not_of_bools("remainder", kind)
    out = make(_careful(operator.mod, _or_else(operator.mod, _rest))(x, y), shape, kind)
    back = (other, lambda g: -g * floor_divide(input, other), *_with(input, other))
    return record(out, *_tensors((input, lambda g: g), back))


@both
def fmod(input, other):
    x, y, shape, kind = operands(input, other)
    _not_of_bools("fmod", kind)
    compute = math.fmod if kind.rank > 5 else lambda a, b: int(math.fmod(a, b))
    return record(make(_careful(compute, _or_else(compute, _rest))(x, y), shape, kind), *_tensors((input, lambda g: g)))


def _power(a, b):
    if a == 0:  # to a negative power
        return math.copysign(INF, a) if b % 2 == 1 else INF
    return INF if a > 0 or b % 2 == 0 else -INF  # too large


def _real_power(a, b):
    if a < 0 and b - b == 0 and b != int(b):
        return NAN
    if isinstance(a, float) or isinstance(b, float):
        return math.pow(a, b)
    return a**b if b >= 0 or a == 0 else int(float(a) ** b)  # of whole numbers: 0, but for 1 and -1


@both
def pow(input, exponent):
    x, y, shape, kind = operands(input, exponent)
    if isinstance(exponent, Tensor):
        _not_of_bools("pow", kind)
    if kind.rank < 6 and not isinstance(exponent, Tensor) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    out = make(_careful(_real_power, _or_else(_real_power, _power))(x, y), shape, kind)

    def base_slope(g):
        if not isinstance(exponent, Tensor):
            return g * 0 if exponent == 0 else g * (exponent * pow(input, exponent - 1))
        return g * where(exponent == 0, 0.0, exponent * pow(input, exponent - 1))

    def exponent_slope(g):
        base = input if isinstance(input, Tensor) else make([input], (), kind)
        return g * where((base == 0) & (exponent >= 0), 0.0, out * base.to(kind).log())

    return record(
        out,
        *_tensors((input, base_slope, *_with(input, exponent)), (exponent, exponent_slope, *_with(input, exponent))),
    )


def _extreme(name, better):
    def choose(a, b):
        return a if a != a or better(a, b) else b

    def operation(input, other):
        x, y, shape, kind = operands(input, other)
        out = make(list(map(choose, x, y)), shape, kind)

        def share(mine, others):  # where both are equal, each has half
            return lambda g: g * where(better(mine, others), 1.0, where(mine == others, 0.5, 0.0))

        return record(out, (input, share(input, other), input, other), (other, share(other, input), input, other))

    operation.__name__ = name
    both(operation)


_extreme("maximum", operator.gt)
_extreme("minimum", operator.lt)
maximum, minimum = FUNCTIONS["maximum"], FUNCTIONS["minimum"]


@both
def atan2(input, other):
    x, y, shape, kind = operands(input, other, floating=True)
    out = make(list(map(math.atan2, x, y)), shape, kind)

    def spread():
        return input * input + other * other

    both_ = (input, other)
    return record(
        out, (input, lambda g: g * (other / spread()), *both_), (other, lambda g: g * (-input / spread()), *both_)
    )


@both
def hypot(input, other):
    return (input * input + other * other).sqrt()


@function
def where(condition, input=None, other=None):
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if not isinstance(condition, Tensor) or condition.dtype is not dtypes.bool_:
        raise RuntimeError("where expected condition to be a boolean tensor")
    kind = dtypes.meet(input, other)
    x, y = (v if isinstance(v, Tensor) else make([v], (), kind) for v in (input, other))
    shape = broadcast(condition.shape, x.shape, y.shape)
    lists = (flat_as(v, shape) for v in (condition, x, y))
    values = [a if c else b for c, a, b in zip(*lists, strict=True)]
    out = make(values, shape, kind)
    return record(
        out, *_tensors((input, lambda g: where(condition, g, 0.0)), (other, lambda g: where(condition, 0.0, g)))
    )


def _where(self, condition, other):
    return where(condition, self, other)


Tensor.where = _where


@both
def lerp(input, end, weight):
    """Nearer to the end it is counted from the end, as torch does."""
    if end.dtype is not input.dtype:
        raise RuntimeError(f"expected dtype {input.dtype} for `end` but got dtype {end.dtype}")
    if input.dtype.rank < 6 and not isinstance(weight, Tensor):
        raise NotImplementedError(f"\"lerp_kernel_scalar\" not implemented for '{dtypes.shown(input.dtype)}'")
    if isinstance(weight, Tensor):
        return where(weight.abs() < 0.5, input + weight * (end - input), end - (end - input) * (1 - weight))
    return input + weight * (end - input) if abs(weight) < 0.5 else end - (end - input) * (1 - weight)


@both
def addcmul(input, tensor1, tensor2, *, value=1):
    kind = dtypes.meet(input, tensor1, tensor2)
    _not_of_bools("addcmul", kind)
    value = value if kind.rank > 5 else int(value)
    return input + value * tensor1.to(kind) * tensor2


@both
def addcdiv(input, tensor1, tensor2, *, value=1):
    return input + value * (tensor1 / tensor2)


@both
def clamp(input, min=None, max=None):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    limits = [x for x in (min, max) if x is not None]
    kind = dtypes.meet(input, *limits)
    shape = broadcast(input.shape, *(x.shape for x in limits if isinstance(x, Tensor)))
    n = shape.numel()
    x = flat_as(input, shape)
    low, high = (
        [empty] * n if v is None else flat_as(v, shape) if isinstance(v, Tensor) else kind.fit([v]) * n
        for v, empty in ((min, -INF), (max, INF))
    )
    triples = list(zip(x, low, high, strict=True))
    values = [
        v if v != v else top if least > top or v > top else least if v < least else v for v, least, top in triples
    ]
    kept, at_low, at_high = (
        wrap([test(*triple) for triple in triples], shape, dtypes.bool_)
        for test in (
            lambda v, least, top: least <= v <= top,
            lambda v, least, top: v < least <= top,
            lambda v, least, top: v > top or least > top,
        )
    )
    return record(
        make(values, shape, kind),
        (input, lambda g: where(kept, g, 0.0), input),
        *_tensors((min, lambda g: where(at_low, g, 0.0)), (max, lambda g: where(at_high, g, 0.0))),
    )


@both
def clamp_min(input, min):
    return clamp(input, min)


@both
def clamp_max(input, max):
    return clamp(input, None, max)


also("clip", clamp)


@both
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    if not input.dtype.is_floating_point:
        return input.clone()
    limits = dtypes.finfo(input.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = flat(input)
    out = make([nan if v != v else high if v == INF else low if v == -INF else v for v in x], input.shape, input.dtype)
    kept = wrap([v - v == 0 for v in x], input.shape, dtypes.bool_)
    return record(out, (input, lambda g: where(kept, g, 0.0)))


def or_not_implemented(operation):
    def operate(input, other):
        return operation(input, other) if isinstance(other, (Tensor, *NUMBERS)) else NotImplemented

    return operate


# --- operators -------------------------------------------------------------------------------------

for _word, _operation in {"add": add, "sub": sub, "mul": mul, "truediv": div, "floordiv": floor_divide,
                          "mod": remainder, "pow": pow}.items():  # fmt: skip
    setattr(Tensor, f"__{_word}__", or_not_implemented(_operation))
    setattr(Tensor, f"__r{_word}__", or_not_implemented(lambda a, b, _operation=_operation: _operation(b, a)))

also("subtract", sub)
also("multiply", mul)
also("divide", div)
also("true_divide", div)


@both
def rsub(input, other):
    return sub(other, input)


writing(
    "add", "sub", "mul", "div", "pow", "remainder", "floor_divide", "fmod", "clamp", "clamp_min", "clamp_max",
    "nan_to_num", "lerp", "addcmul", "addcdiv", "atan2", *FLOATING, *KEEPING,
)  # fmt: skip
for _word, _name in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
                     "mod": "remainder", "pow": "pow"}.items():  # fmt: skip
    setattr(Tensor, f"__i{_word}__", getattr(Tensor, f"{_name}_"))


@function
def is_tensor(obj):
    return isinstance(obj, Tensor)


@function
def is_floating_point(input):
    return input.dtype.is_floating_point


@function
def is_complex(input):
    return input.dtype.is_complex
