"""nn.Module and the layers that the course uses."""

import math
from collections import OrderedDict

from .. import dtypes
from ..create import cast
from ..tensor import FUNCTIONS, Tensor
from . import functional as F

_empty = FUNCTIONS["empty"]


class Parameter(Tensor):
    """A tensor that a module learns."""

    def __new__(cls, data=None, requires_grad=True):
        data = _empty(0) if data is None else data
        made = data.detach()
        made.__class__ = cls
        return made.requires_grad_(requires_grad)


class Module:
    def __init__(self, *args, **kwargs):
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _hooks=[], _before=[])

    def __setattr__(self, name, value):
        if "_modules" not in self.__dict__ and isinstance(value, (Parameter, Module)):
            raise AttributeError("cannot assign module before Module.__init__() call")
        for store, kind in ((self.__dict__.get("_parameters"), Parameter), (self.__dict__.get("_modules"), Module)):
            if store is not None and isinstance(value, kind):
                store[name] = value
                self.__dict__.pop(name, None)
                return
        for store in ("_parameters", "_modules", "_buffers"):
            if name in self.__dict__.get(store, ()):
                self.__dict__[store][name] = value
                return
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        for store in ("_parameters", "_modules", "_buffers"):
            if name in self.__dict__.get(store, ()):
                return self.__dict__[store][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def register_buffer(self, name, tensor, persistent=True):
        self._buffers[name] = tensor

    def register_parameter(self, name, param):
        self._parameters[name] = param

    def add_module(self, name, module):
        self._modules[name] = module

    register_module = add_module

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        for hook in list(self._before):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in list(self._hooks):
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result

    def register_forward_hook(self, hook, **_):
        self._hooks.append(hook)
        return _Handle(self._hooks, hook)

    def register_forward_pre_hook(self, hook, **_):
        self._before.append(hook)
        return _Handle(self._before, hook)

    def named_modules(self, prefix="", memo=None):
        memo = set() if memo is None else memo
        if id(self) not in memo:
            memo.add(id(self))
            yield prefix, self
            for name, child in self._modules.items():
                if child is not None:
                    yield from child.named_modules(f"{prefix}.{name}".lstrip("."), memo)

    def modules(self):
        return (module for _, module in self.named_modules())

    def named_children(self):
        return iter((name, child) for name, child in self._modules.items() if child is not None)

    def children(self):
        return (child for _, child in self.named_children())

    def _named(self, store):
        seen = set()
        for prefix, module in self.named_modules():
            for name, x in module.__dict__[store].items():
                if x is not None and id(x) not in seen:
                    seen.add(id(x))
                    yield f"{prefix}.{name}".lstrip("."), x

    def named_parameters(self, prefix="", recurse=True):
        return ((f"{prefix}.{name}".lstrip("."), x) for name, x in self._named("_parameters"))

    def parameters(self, recurse=True):
        return (x for _, x in self._named("_parameters"))

    def named_buffers(self):
        return self._named("_buffers")

    def buffers(self):
        return (x for _, x in self._named("_buffers"))

    def state_dict(self):
        found = OrderedDict()
        for prefix, module in _all(self):
            for store in ("_parameters", "_buffers"):
                for name, x in module.__dict__[store].items():
                    if x is not None:
                        found[f"{prefix}.{name}".lstrip(".")] = x.detach()
        return found

    def load_state_dict(self, state_dict, strict=True):
        mine = self.state_dict()
        if strict and mine.keys() != state_dict.keys():
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}: "
                f"{sorted(mine.keys() ^ state_dict.keys())} are missing or unexpected"
            )
        for name, x in mine.items():
            if name in state_dict:
                x.copy_(state_dict[name])

    def train(self, mode=True):
        for module in self.modules():
            module.__dict__["training"] = mode
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for x in self.parameters():
            x.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for x in self.parameters():
            x.grad = None

    def apply(self, fn):
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args, dtype=None, device=None):
        kinds = [a for a in (*args, dtype) if type(a).__name__ == "dtype"]
        for kind in kinds:
            for x in [*self.parameters(), *self.buffers()]:
                if x.dtype.is_floating_point:
                    x.data = cast(x.detach(), kind)
        return self

    def float(self):
        return self.to(dtypes.float32)

    def double(self):
        return self.to(dtypes.float64)

    def cpu(self):
        return self

    def extra_repr(self):
        return ""

    def __repr__(self):
        inner = "".join(f"\n  ({name}): " + repr(child).replace("\n", "\n  ") for name, child in self.named_children())
        return f"{type(self).__name__}({self.extra_repr()}{inner}{chr(10) if inner else ''})"


def _all(module, prefix=""):
    """As named_modules, a module that is used twice twice."""
    yield prefix, module
    for name, child in module.named_children():
        yield from _all(child, f"{prefix}.{name}".lstrip("."))


class _Handle:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook

    def remove(self):
        if self.hook in self.hooks:
            self.hooks.remove(self.hook)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def uniform(shape, bound):
    """A fresh parameter, as most layers of torch begin."""
    x = _empty(shape)
    return Parameter(x if x.values is None else x.uniform_(-bound, bound))


def _bound(n):
    return 1 / math.sqrt(n) if n > 0 else 0.0


# --- layers ----------------------------------------------------------------------------------------


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = uniform((out_features, in_features), _bound(in_features))
        self.register_parameter("bias", uniform((out_features,), _bound(in_features)) if bias else None)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True):
        super().__init__()
        self.weight = uniform((out_features, in1_features, in2_features), _bound(in1_features))
        self.register_parameter("bias", uniform((out_features,), _bound(in1_features)) if bias else None)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, **_):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        x = _empty(num_embeddings, embedding_dim)
        self.weight = Parameter(x if x.values is None else x.normal_())
        if padding_idx is not None and x.values is not None:
            self.weight.detach()[padding_idx].zero_()

    def forward(self, input):
        return F.embedding(input, self.weight)


class _Conv(Module):
    def __init__(self, n, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias):
        super().__init__()
        taps = (kernel_size,) * n if isinstance(kernel_size, int) else tuple(kernel_size)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, taps
        self.stride, self.padding, self.dilation, self.groups, self.n = stride, padding, dilation, groups, n
        bound = _bound(in_channels // groups * math.prod(taps))
        self.weight = uniform((out_channels, in_channels // groups, *taps), bound)
        self.register_parameter("bias", uniform((out_channels,), bound) if bias else None)

    def forward(self, input):
        convolve = F.conv1d if self.n == 1 else F.conv2d
        return convolve(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(1, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)


class Conv2d(_Conv):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(2, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.register_parameter("weight", Parameter(FUNCTIONS["ones"](shape)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(FUNCTIONS["zeros"](shape)) if elementwise_affine and bias else None)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.register_parameter("weight", Parameter(FUNCTIONS["ones"](shape)) if elementwise_affine else None)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


def _layer(name, function, defaults=()):
    """A layer without weights: the function, and the arguments that the layer keeps."""

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        self.kept = dict(defaults) | dict(zip(dict(defaults), args, strict=False)) | kwargs

    def forward(self, input):
        return function(input, **self.kept)

    return type(name, (Module,), {"__init__": __init__, "forward": forward})


ReLU = _layer("ReLU", F.relu, {"inplace": False})
Tanh = _layer("Tanh", F.tanh)
Sigmoid = _layer("Sigmoid", F.sigmoid)
GELU = _layer("GELU", F.gelu, {"approximate": "none"})
SiLU = _layer("SiLU", F.silu, {"inplace": False})
ELU = _layer("ELU", F.elu, {"alpha": 1.0})
Softplus = _layer("Softplus", F.softplus, {"beta": 1.0, "threshold": 20.0})
LogSigmoid = _layer("LogSigmoid", F.logsigmoid)
LeakyReLU = _layer("LeakyReLU", F.leaky_relu, {"negative_slope": 0.01})
Softmax = _layer("Softmax", F.softmax, {"dim": -1})
LogSoftmax = _layer("LogSoftmax", F.log_softmax, {"dim": -1})
AdaptiveAvgPool2d = _layer("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, {"output_size": 1})
AvgPool2d = _layer("AvgPool2d", F.avg_pool2d, {"kernel_size": 2, "stride": None, "padding": 0})
MaxPool2d = _layer("MaxPool2d", F.max_pool2d, {"kernel_size": 2, "stride": None, "padding": 0})
Flatten = _layer(
    "Flatten", lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim), {"start_dim": 1, "end_dim": -1}
)
Unflatten = _layer("Unflatten", lambda x, dim, unflattened_size: x.unflatten(dim, unflattened_size),
                   {"dim": 1, "unflattened_size": ()})  # fmt: skip


class Identity(Module):
    def forward(self, input):
        return input


class Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p = p

    def forward(self, input):
        return F.dropout(input, self.p, self.training)


def _loss(name, function):
    def __init__(self, **kwargs):
        Module.__init__(self)
        self.kept = kwargs

    def forward(self, input, target):
        return function(input, target, **self.kept)

    return type(name, (Module,), {"__init__": __init__, "forward": forward})


CrossEntropyLoss = _loss("CrossEntropyLoss", F.cross_entropy)
NLLLoss = _loss("NLLLoss", F.nll_loss)
MSELoss = _loss("MSELoss", F.mse_loss)
L1Loss = _loss("L1Loss", F.l1_loss)
BCELoss = _loss("BCELoss", F.binary_cross_entropy)
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
KLDivLoss = _loss("KLDivLoss", F.kl_div)


# --- containers ------------------------------------------------------------------------------------


class Sequential(Module):
    def __init__(self, *layers):
        super().__init__()
        named = layers[0].items() if len(layers) == 1 and isinstance(layers[0], dict) else enumerate(layers)
        for name, layer in named:
            self.add_module(str(name), layer)

    def forward(self, input):
        for layer in self._modules.values():
            input = layer(input)
        return input

    def __getitem__(self, index):
        layers = list(self._modules.values())
        return Sequential(*layers[index]) if isinstance(index, slice) else layers[index]

    def __iter__(self):
        return iter(self._modules.values())

    def __len__(self):
        return len(self._modules)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Sequential):
    def __init__(self, modules=()):
        super().__init__(*modules)

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    def __init__(self, modules=()):
        super().__init__()
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __iter__(self):
        return iter(self._modules)

    def __len__(self):
        return len(self._modules)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()


class ParameterList(Module):
    def __init__(self, values=()):
        super().__init__()
        for i, value in enumerate(values):
            self.register_parameter(str(i), value)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        return list(self._parameters.values())[index]

    def __len__(self):
        return len(self._parameters)
