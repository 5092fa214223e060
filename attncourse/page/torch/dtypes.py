"""Kinds of numbers: what each can hold, and which one two of them meet in."""

import math
import struct
from array import array


class dtype:  # named as torch names it
    """`fit` brings a list of Python numbers to the numbers that this kind can hold."""

    def __init__(self, name, rank, fit, size):
        self.name, self.rank, self.fit, self.itemsize = name, rank, fit, size
        self.is_floating_point, self.is_complex = 5 < rank < 10, rank >= 10

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name


def _single(values):
    return array("f", values).tolist()  # rounds to the nearest, too large becomes infinite


def _half(values):
    return [_nearest_half(value) for value in values]


def _nearest_half(value):
    try:
        return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _brain(values):
    return [_nearest_brain(value) for value in array("f", values)]


def _nearest_brain(value):
    """The upper half of a float32, rounded to even."""
    if value != value or math.isinf(value):
        return value
    bits = struct.unpack("I", struct.pack("f", value))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


def _whole(bits, signed=True):
    span, low = 1 << bits, -(1 << bits - 1) if signed else 0
    lost = low  # what infinity and NaN become

    def fit(values):
        whole = [int(v) if v - v == 0 else lost for v in values]
        return [v if low <= v < low + span else (v - low) % span + low for v in whole]

    return fit


bool_ = dtype("bool", 0, lambda values: [v != 0 for v in values], 1)
uint8 = dtype("uint8", 1, _whole(8, signed=False), 1)
int8 = dtype("int8", 2, _whole(8), 1)
int16 = dtype("int16", 3, _whole(16), 2)
int32 = dtype("int32", 4, _whole(32), 4)
int64 = dtype("int64", 5, _whole(64), 8)
float16 = dtype("float16", 6, _half, 2)
bfloat16 = dtype("bfloat16", 7, _brain, 2)
float32 = dtype("float32", 8, _single, 4)
float64 = dtype("float64", 9, lambda values: list(map(float, values)), 8)
complex64 = dtype("complex64", 10, lambda values: list(map(complex, values)), 8)
complex128 = dtype("complex128", 11, lambda values: list(map(complex, values)), 16)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
NAMES = {kind.name: kind for kind in ALL} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
SHOWN = {"bool": "Bool", "uint8": "Byte", "int64": "Long", "int32": "Int", "float32": "Float", "float64": "Double"}


def shown(kind: dtype) -> str:
    """As torch's error messages call it."""
    return SHOWN.get(kind.name, kind.name.capitalize())


def promote_types(a: dtype, b: dtype) -> dtype:
    """The kind that holds both."""
    low, high = sorted((a, b), key=lambda kind: kind.rank)
    if low is not high and (low, high) in ((uint8, int8), (float16, bfloat16)):
        return int16 if low is uint8 else float32
    return complex128 if high is complex64 and low is float64 else high


def _group(kind: dtype) -> int:
    return 0 if kind is bool_ else 1 if kind.rank < 6 else 2 if kind.rank < 10 else 3


def of_number(value) -> dtype:
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return default() if isinstance(value, float) else complex64


def meet(*operands) -> dtype:
    """What an operation computes in: tensors with axes decide, then tensors without, then plain numbers.

    One of a later kind counts only if it is of a higher group (bool, whole, floating, complex) than those before.
    """
    found = None
    ranks = [[], [], []]
    for x in operands:
        kind = getattr(x, "dtype", None)
        ranks[2 if kind is None else 0 if x.shape else 1].append(of_number(x) if kind is None else kind)
    for kinds in ranks:
        if not kinds:
            continue
        kind = kinds[0]
        for other in kinds[1:]:
            kind = promote_types(kind, other)
        if found is None or _group(kind) > _group(found):
            found = kind
    return found


_default = [float32]


def default() -> dtype:
    return _default[0]


def set_default_dtype(kind: dtype) -> None:
    _default[0] = kind


# binary digits after the point, and the exponent that is too large
DIGITS = {"float16": (10, 16), "bfloat16": (7, 128), "float32": (23, 128), "float64": (52, 1024)}


class finfo:
    """The limits of a floating kind."""

    def __init__(self, kind=None):
        kind = kind or default()
        if not kind.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{kind}'")
        digits, top = DIGITS[kind.name]
        self.dtype, self.bits, self.eps = kind.name, 8 * kind.itemsize, 2.0**-digits
        self.max = math.ldexp(2.0 - self.eps, top - 1)
        self.min, self.tiny = -self.max, 2.0 ** (2 - top)
        self.smallest_normal = self.tiny


class iinfo:
    """The limits of a whole kind."""

    def __init__(self, kind):
        if kind.rank > 5:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{kind}'")
        self.dtype, self.bits = kind.name, 8 * kind.itemsize
        self.min, self.max = (0, 255) if kind is uint8 else (-(1 << self.bits - 1), (1 << self.bits - 1) - 1)
