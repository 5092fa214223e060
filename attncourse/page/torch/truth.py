"""True or False, entry by entry: comparisons, logic, and whether numbers are close."""

import operator

from . import dtypes
from .pointwise import NUMBERS, operands, or_not_implemented
from .tensor import Tensor, also, both, flat, make, wrap, writing


def _comparison(names, compare):
    def operation(input, other):
        x, y, shape, _ = operands(input, other)
        return wrap(list(map(compare, x, y)), shape, dtypes.bool_)

    for name in names:
        operation.__name__ = name
        also(name, operation)
    return operation


Tensor.__lt__ = _comparison(["lt", "less"], operator.lt)
Tensor.__le__ = _comparison(["le", "less_equal"], operator.le)
Tensor.__gt__ = _comparison(["gt", "greater"], operator.gt)
Tensor.__ge__ = _comparison(["ge", "greater_equal"], operator.ge)
_eq, _ne = _comparison(["eq"], operator.eq), _comparison(["ne", "not_equal"], operator.ne)
_comparison(["logical_and"], lambda a, b: bool(a) and bool(b))
_comparison(["logical_or"], lambda a, b: bool(a) or bool(b))
_comparison(["logical_xor"], lambda a, b: bool(a) != bool(b))


Tensor.__eq__ = lambda input, other: _eq(input, other) if isinstance(other, (Tensor, *NUMBERS)) else False
Tensor.__ne__ = lambda input, other: _ne(input, other) if isinstance(other, (Tensor, *NUMBERS)) else True


def _bitwise(name, compute, word):
    def operation(input, other):
        x, y, shape, kind = operands(input, other)
        if kind.rank > 5:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.shown(kind)}'")
        return make(list(map(compute, x, y)), shape, kind)

    operation.__name__ = name
    both(operation)
    setattr(Tensor, f"__{word}__", or_not_implemented(operation))
    setattr(Tensor, f"__r{word}__", or_not_implemented(operation))


_bitwise("bitwise_and", operator.and_, "and")
_bitwise("bitwise_or", operator.or_, "or")
_bitwise("bitwise_xor", operator.xor, "xor")


@both
def bitwise_not(input):
    if input.dtype.rank > 5:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    invert = operator.not_ if input.dtype is dtypes.bool_ else operator.invert
    return make(list(map(invert, flat(input))), input.shape, input.dtype)


Tensor.__invert__ = bitwise_not


@both
def isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{dtypes.shown(input.dtype)} did not match {dtypes.shown(other.dtype)}")
    x, y, shape, _ = operands(input, other)
    return wrap([_close(a, b, rtol, atol, equal_nan) for a, b in zip(x, y, strict=True)], shape, dtypes.bool_)


def _close(a, b, rtol, atol, equal_nan):
    if a == b or (equal_nan and a != a and b != b):
        return True
    return abs(a - b) <= atol + abs(rtol * b) and b - b == 0


@both
def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return all(flat(isclose(input, other, rtol, atol, equal_nan)))


@both
def equal(input, other):
    return input.shape == other.shape and list(flat(input)) == list(flat(other))


writing("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "logical_and", "logical_or", "logical_not")
for _word in ("and", "or", "xor"):
    setattr(Tensor, f"__i{_word}__", getattr(Tensor, f"bitwise_{_word}_"))
