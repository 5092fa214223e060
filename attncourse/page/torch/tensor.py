"""The tensor: a flat list of numbers, a shape, and the strides that say where in the list each entry lies.

Several tensors may share one list (views): a transposed or sliced tensor writes where its origin reads.
Operations live in the other modules and enter the class, and the namespace `torch`, by the decorators below.
"""

import functools
import inspect
from math import prod

from . import dtypes
from .graph import Edge, Node, edge_of, flow, mode, record
from .shapes import Size, lies_in_order, positions, row_major, stretched
from .unknown import Unknown, sentence

FUNCTIONS: dict = {}  # what `torch.NAME` offers
ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}  # NumPy's words


DEVICES = ["cpu"]  # the innermost `with torch.device(…)` comes last


class device:  # named as torch names it
    """There is one, the CPU; and `meta`, for shapes without numbers."""

    def __init__(self, type="cpu", index=None):
        self.type, self.index = getattr(type, "type", str(type).partition(":")[0]), index
        if self.type not in ("cpu", "meta"):
            raise RuntimeError(f"this page's small torch has no {self.type}; open the notebook to use it")

    def __enter__(self):
        DEVICES.append(self.type)
        return self

    def __exit__(self, *_):
        DEVICES.pop()

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type

    def __hash__(self):
        return hash(self.type)

    def __repr__(self):
        return f"device(type='{self.type}')"

    def __str__(self):
        return self.type


class Tensor:
    """`values` list, `version` [how often it was written], shape, strides, offset, dtype; and where it came from."""

    def __new__(cls, *args, **kwargs):
        if len(args) == 1 and isinstance(args[0], (list, tuple, Tensor)):
            return FUNCTIONS["tensor"](args[0], dtype=dtypes.default())
        return FUNCTIONS["zeros"](*args)  # torch.Tensor(2, 3)

    @property
    def node(self):
        """The operation that made it. A view whose memory was written since is made anew, from what was written."""
        if self.base is not None and self.seen != self.version[0]:
            self.seen = self.version[0]
            origin = self.base
            if origin.requires_grad:
                place = region(origin, self)
                edge = Edge(edge_of(origin), lambda g: drop(g, place, origin.shape), ())
                self._node = Node(self.shape, self.dtype, [edge])
        return self._node

    def made_by(self, node):
        self._node = node
        self.seen = self.version[0]

    @property
    def requires_grad(self):
        return self.wants_grad or self.node is not None

    @requires_grad.setter
    def requires_grad(self, wanted):
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad=True):
        if requires_grad and self.dtype.rank < 6:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.node is not None:
            if not requires_grad:
                raise RuntimeError("you can only change requires_grad flags of leaf variables.")
            return self
        self.wants_grad = bool(requires_grad)
        return self

    grad_fn = property(lambda self: self.node)
    is_leaf = property(lambda self: self.node is None)
    ndim = property(lambda self: len(self.shape))
    device = property(lambda self: device("meta" if self.values is None else "cpu"))
    layout = property(lambda self: "strided")
    itemsize = property(lambda self: self.dtype.itemsize)
    is_cuda = property(lambda self: False)
    _version = property(lambda self: self.version[0])

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        flow(self, gradient, None, bool(retain_graph), create_graph)

    def retain_grad(self):
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.node is not None and not any(x is self for x in self.node.retained):
            self.node.retained.append(self)

    def detach(self):
        """The same memory, without a past."""
        return share(self, self.shape, self.strides, self.offset, version=self.version)

    def detach_(self):
        self._node, self.wants_grad, self.base = None, False, None
        return self

    @property
    def data(self):
        return share(self, self.shape, self.strides, self.offset, version=[0])

    @data.setter
    def data(self, other):
        self.values, self.strides, self.offset = other.values, other.strides, other.offset
        self.shape, self.dtype = other.shape, other.dtype

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return len(self.shape)

    def numel(self):
        return prod(self.shape)

    nelement = numel
    ndimension = dim

    def stride(self, dim=None):
        return self.strides if dim is None else self.strides[dim]

    def element_size(self):
        return self.dtype.itemsize

    def is_contiguous(self):
        return lies_in_order(self.shape, self.strides)

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def data_ptr(self):
        return id(self.values) + self.offset

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[i] for i in range(self.shape[0])])

    def __hash__(self):
        return id(self)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unknown(sentence(f"Tensor.{name}"))

    def __deepcopy__(self, memo):
        copy = wrap(list(flat(self)), self.shape, self.dtype)
        copy.__class__, copy.wants_grad = self.__class__, self.wants_grad
        return copy


def wrap(values, shape, dtype):
    """A fresh tensor of numbers that its dtype can hold already."""
    made = object.__new__(Tensor)
    made.values, made.version, made.dtype = values, [0], dtype
    made.shape = shape if type(shape) is Size else Size(shape)
    made.strides, made.offset = row_major(made.shape), 0
    made.base = made._node = made.end = made.grad = None
    made.seen, made.wants_grad = 0, False
    return made


def make(values, shape, dtype):
    """A fresh tensor of any numbers: they are rounded to what its dtype can hold."""
    return wrap(dtype.fit(values), shape, dtype)


def share(origin, shape, strides, offset, version):
    """Another tensor over the same list."""
    made = object.__new__(Tensor)
    made.values, made.version, made.dtype = origin.values, version, origin.dtype
    made.shape, made.strides, made.offset = Size(shape), tuple(strides), offset
    made.base = made._node = made.end = made.grad = None
    made.seen, made.wants_grad = version[0], False
    return made


def alias(origin, shape, strides, offset):
    """A view: what is written into it is written into `origin`, for values and gradients alike."""
    made = share(origin, shape, strides, offset, origin.version)
    made.base = origin if origin.base is None else origin.base
    return made


def flat(tensor):
    """The entries in the order of reading. May be the tensor's own list: never write into it."""
    values, shape, offset = tensor.values, tensor.shape, tensor.offset
    if values is None:
        raise NotImplementedError("a meta tensor has a shape and no numbers")
    if tensor.strides == row_major(shape) or lies_in_order(shape, tensor.strides):
        n = prod(shape)
        return values if n == len(values) else values[offset : offset + n]
    return list(map(values.__getitem__, positions(shape, tensor.strides, offset)))


def flat_as(tensor, shape):
    """The entries, broadcast to `shape`."""
    if tensor.shape == shape:
        return flat(tensor)
    if tensor.numel() == 1:
        return [tensor.values[tensor.offset]] * prod(shape)
    strides = stretched(tensor.shape, tensor.strides, shape)
    return list(map(tensor.values.__getitem__, positions(Size(shape), strides, tensor.offset)))


def pick(input, places, shape):
    """The entries of `input` at `places`, counted in the order of reading. Its gradient is `drop`."""
    out = wrap(list(map(flat(input).__getitem__, places)), shape, input.dtype)
    return record(out, (input, lambda g: drop(g, places, input.shape)))


def drop(input, places, shape):
    """Zeros, and every entry of `input` added at its place. Its gradient is `pick`."""
    values = [0 if input.dtype.rank < 6 else 0.0] * prod(shape)
    for place, value in zip(places, flat(input), strict=True):
        values[place] += value
    return record(make(values, shape, input.dtype), (input, lambda g: pick(g, places, input.shape)))


def region(origin, part):
    """Which entries of `origin`, in the order of reading, a view of it consists of."""
    places = positions(part.shape, part.strides, part.offset)
    if origin.offset == 0 and origin.is_contiguous():
        return places
    where = {p: i for i, p in enumerate(positions(origin.shape, origin.strides, origin.offset))}
    return [where[p] for p in places]


def overwrite(target, new):
    """Put `new`, of the same shape, into the memory of `target`. Views of it, and gradients, follow."""
    origin = target if target.base is None else target.base
    if mode.enabled and target.requires_grad and origin.wants_grad and origin.node is None:
        what = "a leaf Variable" if origin is target else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    tracked = mode.enabled and (origin.requires_grad or new.requires_grad) and origin.dtype.rank > 5
    before = edge_of(origin) if tracked else None
    _write(target, flat(new) if new.dtype is target.dtype else target.dtype.fit(flat(new)))
    target.version[0] += 1
    if tracked:
        _follow(target, origin, before, new)
    return target


def _write(target, values):
    if any(n > 1 and s == 0 for n, s in zip(target.shape, target.strides, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if target.is_contiguous():
        target.values[target.offset : target.offset + len(values)] = list(values)
    else:
        memory, values = target.values, list(values)
        for place, value in zip(positions(target.shape, target.strides, target.offset), values, strict=True):
            memory[place] = value


def _follow(target, origin, before, new):
    """The origin is now its old self but for the part that was written."""
    edges, place = [], None if origin is target else region(origin, target)
    if before is not None:
        edges.append(Edge(before, lambda g: _emptied(g, place), ()))
    if new.requires_grad:
        edges.append(Edge(edge_of(new), (lambda g: g) if place is None else (lambda g: pick(g, place, new.shape)), ()))
    origin.made_by(Node(origin.shape, origin.dtype, edges))


def _emptied(g, place):
    if place is None:
        return g * 0 if mode.enabled else g.new_zeros(g.shape)
    keep = wrap([1.0] * g.numel(), g.shape, g.dtype)
    for p in place:
        keep.values[p] = 0.0
    return FUNCTIONS["where"](keep != 0, g, 0.0)


def apart(target, other):
    """Two looks at the same block of memory, one of them written: only the very same look is safe."""
    if target.values is not other.values or target.values is None:
        return
    blocks = []
    for x in (target, other):
        places = positions(x.shape, x.strides, x.offset)
        if not places or len(set(places)) != len(places) or max(places) - min(places) + 1 != len(places):
            return
        blocks.append((min(places), max(places), [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]))
    (first, last, _), (start, end, _) = blocks
    if first <= end and start <= last and blocks[0] != blocks[1]:
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def in_place(target, operation, *args, **kwargs):
    """x.add_(y) from x.add(y): computed beside it, then written."""
    for other in args:
        if isinstance(other, Tensor):
            apart(target, other)
    # A copy with the same past: the operation may need the old values on the way back.
    copy = wrap(list(flat(target)), target.shape, target.dtype)
    if mode.enabled and target.requires_grad:
        copy.made_by(Node(target.shape, target.dtype, [Edge(edge_of(target), lambda g: g, ())]))
    new = operation(copy, *args, **kwargs)
    if new.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(new.shape)}"
        )
    _may_become(new.dtype, target.dtype)
    overwrite(target, new)
    for edge in new.node.edges if new.node else ():  # what the way back needs of the result lies in `target` now
        edge.saved = [(target.version, target.version[0]) if v is new.version else (v, n) for v, n in edge.saved]
    return target


def _may_become(kind, wanted):
    lossy = (kind.is_floating_point and not wanted.is_floating_point) or (wanted.rank == 0 and kind.rank > 0)
    if lossy and not wanted.is_complex:
        names = dtypes.shown(kind), dtypes.shown(wanted)
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")


def _named(function):
    """Let NumPy's names of arguments pass, as torch does, and refuse `out=`."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def called(*args, **kwargs):
        if kwargs:
            kwargs = {k if k in known else ALIASES.get(k, k): v for k, v in kwargs.items()}
            if "out" in kwargs and "out" not in known:
                raise NotImplementedError(sentence("the argument out="))
        return function(*args, **kwargs)

    return called


def method(function):
    """x.NAME(…)"""
    setattr(Tensor, function.__name__, _named(function))
    return function


def function(function):
    """torch.NAME(…)"""
    FUNCTIONS[function.__name__] = _named(function)
    return function


def both(operation):
    """torch.NAME(x, …) and x.NAME(…)"""
    return function(method(operation))


def called(name):
    """Both, under a name that Python has taken already."""

    def register(operation):
        also(name, operation)
        return operation

    return register


def also(name, operation):
    """A second name for an operation."""
    FUNCTIONS[name] = _named(operation)
    setattr(Tensor, name, FUNCTIONS[name])


def writing(*names):
    """x.NAME_(…), in place, for operations that are there already."""
    for name in names:
        operation = getattr(Tensor, name)

        def method_(self, *args, _operation=operation, **kwargs):
            return in_place(self, _operation, *args, **kwargs)

        method_.__name__ = f"{name}_"
        setattr(Tensor, f"{name}_", method_)
