"""Tensors from nothing: from Python's numbers and lists, ranges, constants; and copies in another dtype."""

import math
from math import prod

from . import dtypes
from .graph import record
from .shapes import Size, sizes
from .tensor import DEVICES, FUNCTIONS, Tensor, both, device, flat, function, make, method, wrap


def _nested(data):
    """-> shape, flat list of Python numbers, and the dtype that they ask for"""
    if isinstance(data, Tensor):
        return data.shape, list(flat(data)), data.dtype
    if isinstance(data, (bool, int, float, complex)):
        return Size(), [data], dtypes.of_number(data)
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    if not isinstance(data, (list, tuple, range)):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if not len(data):
        return Size((0,)), [], dtypes.default()
    kinds = set(map(type, data))
    if len(kinds) == 1 and kinds <= {bool, int, float}:  # a plain list of numbers, made short
        return Size((len(data),)), list(data), dtypes.of_number(data[0])
    parts = [_nested(item) for item in data]
    shape = parts[0][0]
    for i, (other, *_) in enumerate(parts):
        if other != shape:
            raise ValueError(
                f"expected sequence of length {shape[0] if shape else 1} at dim 1 "
                f"(got {other[0] if other else 1} at item {i})"
            )
        if isinstance(data[i], Tensor) and other.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
    kind = parts[0][2]
    for _, _, other_kind in parts[1:]:
        kind = dtypes.promote_types(kind, other_kind)
    return Size((len(parts), *shape)), [v for _, values, _ in parts for v in values], kind


@function
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    shape, values, kind = _nested(data)
    return make(values, shape, dtype or kind).requires_grad_(requires_grad)


@function
def as_tensor(data, dtype=None, device=None):
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return tensor(data, dtype=dtype)


def from_numpy(array):
    """For what looks like an array of NumPy: there is no NumPy in the page."""
    return tensor(array.tolist())


def constant(shape, value, dtype=None, device_=None, requires_grad=False):
    kind = dtype or dtypes.of_number(value)
    if str(device_ or DEVICES[-1]) == "meta":
        return wrap(None, shape, kind)
    device(device_ or "cpu")  # complains about what is not there
    return make([value], (), kind)._repeated(shape).requires_grad_(requires_grad)


@method
def _repeated(input, shape):
    return wrap(input.values * prod(shape), shape, input.dtype)


def _filled(name, value):
    def create(*size, dtype=None, device=None, requires_grad=False, out=None, layout=None, **named):
        shape = sizes(size or (named.get("size", ()),))
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
        return constant(shape, value, dtype or dtypes.default(), device, requires_grad)

    def like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None, layout=None):
        kind = "meta" if input.values is None else device
        return constant(input.shape, value, dtype or input.dtype, kind, requires_grad)

    def new(input, *size, dtype=None, device=None, requires_grad=False, **named):
        return constant(sizes(size or (named.get("size", ()),)), value, dtype or input.dtype, device, requires_grad)

    create.__name__, like.__name__, new.__name__ = name, f"{name}_like", f"new_{name}"
    function(create)
    function(like)
    method(new)


_filled("zeros", 0.0)
_filled("ones", 1.0)
_filled("empty", 0.0)


@function
def full(size, fill_value, *, dtype=None, device=None, requires_grad=False):
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return constant(sizes((size,) if isinstance(size, (tuple, list)) else ((size,),)), fill_value, dtype, device,
                    requires_grad)  # fmt: skip


@function
def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    return full(input.shape, fill_value, dtype=dtype or input.dtype, requires_grad=requires_grad)


@method
def new_full(input, size, fill_value, *, dtype=None, device=None, requires_grad=False):
    return full(size, fill_value, dtype=dtype or input.dtype, requires_grad=requires_grad)


@method
def new_tensor(input, data, *, dtype=None, device=None, requires_grad=False):
    return tensor(data, dtype=dtype or input.dtype, requires_grad=requires_grad)


@function
def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False, out=None):
    start, end = (0, start) if end is None else (start, end)
    numbers = [x.item() if isinstance(x, Tensor) else x for x in (start, end, step)]
    start, end, step = numbers
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype or (dtypes.default() if any(isinstance(x, float) for x in numbers) else dtypes.int64)
    count = math.ceil((end - start) / step)
    return make([start + i * step for i in range(count)], (count,), kind).requires_grad_(requires_grad)


@function
def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    start, end, steps = (x.item() if isinstance(x, Tensor) else x for x in (start, end, steps))
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    half = steps // 2  # from both ends, as torch does
    values = [start + i * step if i < half or steps == 1 else end - (steps - 1 - i) * step for i in range(steps)]
    return make(values, (steps,), dtype or dtypes.default()).requires_grad_(requires_grad)


@function
def logspace(start, end, steps, base=10.0, *, dtype=None):
    return base ** linspace(start, end, steps, dtype=dtype)


@function
def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    m = n if m is None else m
    values = [float(i == j) for i in range(n) for j in range(m)]
    return make(values, (n, m), dtype or dtypes.default()).requires_grad_(requires_grad)


# --- copies ----------------------------------------------------------------------------------------


@both
def clone(input, *, memory_format=None):
    if input.values is None:
        return wrap(None, input.shape, input.dtype)
    return record(wrap(list(flat(input)), input.shape, input.dtype), (input, lambda g: g))


@method
def contiguous(input, memory_format=None):
    return input if input.is_contiguous() else clone(input)


def cast(input, kind):
    if input.dtype is kind:
        return input
    if input.values is None:
        return wrap(None, input.shape, kind)
    return record(make(flat(input), input.shape, kind), (input, lambda g: g))


@method
def to(input, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    for arg in args:
        if isinstance(arg, dtypes.dtype):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype = arg.dtype
        elif arg is not None and not isinstance(arg, bool):
            device = arg
    if device is not None:
        FUNCTIONS["device"](device)
    out = input if dtype is None else cast(input, dtype)
    return clone(out) if copy and out is input else out


def _type(input, dtype=None):
    return f"torch.{dtypes.shown(input.dtype)}Tensor" if dtype is None else cast(input, dtype)


Tensor.type = _type


@method
def type_as(input, other):
    return cast(input, other.dtype)


@method
def cpu(input, *args):
    return input


@method
def as_subclass(input, cls):
    return input


@method
def to_dense(input):
    return input


def _caster(name, kind):
    def convert(input):
        return cast(input, kind)

    convert.__name__ = name
    method(convert)


for _name in ("bool", "half", "bfloat16", "float", "double", "short", "int", "long"):
    _caster(_name, dtypes.NAMES[_name])

FUNCTIONS["device"] = device
FUNCTIONS["from_numpy"] = from_numpy


# --- to Python -------------------------------------------------------------------------------------


@method
def item(input):
    if input.numel() != 1:
        raise RuntimeError(f"a Tensor with {input.numel()} elements cannot be converted to Scalar")
    return flat(input)[0]


@method
def tolist(input):
    return _lists(flat(input), input.shape)


def _lists(values, shape):
    if not shape:
        return values[0]
    step = prod(shape[1:])
    return [_lists(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


@method
def __bool__(input):
    if input.numel() != 1:
        what = "more than one value" if input.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return flat(input)[0] != 0


@method
def __float__(input):
    return float(item(input))


@method
def __int__(input):
    return int(item(input))


@method
def __index__(input):
    if input.numel() != 1 or input.dtype.rank > 5:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(input))


@method
def __complex__(input):
    return complex(item(input))


@method
def __format__(input, spec):
    return format(input.item(), spec) if not input.shape else repr(input)


@method
def __repr__(input):
    if input.values is None:
        return f"tensor(..., device='meta', size={tuple(input.shape)})"
    words = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in flat(input)]
    width = max(map(len, words), default=0)
    text = _written([w.rjust(width) for w in words], input.shape, len("tensor("))
    plain = input.dtype in (dtypes.default(), dtypes.int64, dtypes.bool_)
    end = "" if plain else f", dtype={input.dtype}"
    return f"tensor({text}{end}{', requires_grad=True' if input.requires_grad else ''})"


def _written(words, shape, indent):
    if not shape:
        return words[0]
    if len(shape) == 1:
        return f"[{', '.join(words)}]"
    step = prod(shape[1:])
    rows = [_written(words[i * step : (i + 1) * step], shape[1:], indent + 1) for i in range(shape[0])]
    gap = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return f"[{gap.join(rows)}]"
