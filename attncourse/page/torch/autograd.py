"""torch.autograd: gradients on request, and Jacobians by rows."""

from types import SimpleNamespace

from .graph import enable_grad, flow, grad, inference_mode, no_grad, set_grad_enabled
from .tensor import FUNCTIONS, Tensor, wrap
from .unknown import getter

__getattr__ = getter("torch.autograd")
__all__ = ["backward", "enable_grad", "functional", "grad", "inference_mode", "no_grad", "set_grad_enabled"]


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False):
    flow(tensors, grad_tensors, None, bool(retain_graph), create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """One gradient per number of the output."""
    several = isinstance(inputs, tuple)
    leaves = [_leaf(x, create_graph) for x in (inputs if several else (inputs,))]
    with enable_grad():
        output = func(*leaves)
        if not isinstance(output, Tensor):
            raise NotImplementedError("this page's small torch takes the Jacobian of functions that return one tensor")
        rows = [_row(y, leaves, create_graph) for y in output.reshape(-1).unbind(0)]
    columns = zip(*rows, strict=True)
    found = [FUNCTIONS["stack"](column).reshape((*output.shape, *x.shape))
             for column, x in zip(columns, leaves, strict=True)]  # fmt: skip
    return tuple(found) if several else found[0]


def _leaf(x, create_graph):
    return x.clone() if create_graph and x.requires_grad else x.detach().clone().requires_grad_()


def _row(y, leaves, create_graph):
    if not y.requires_grad:
        return [x.new_zeros(x.shape) for x in leaves]
    return grad(y, leaves, retain_graph=True, create_graph=create_graph, allow_unused=True, materialize_grads=True)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    leaf = _leaf(inputs, create_graph)
    with enable_grad():
        output = func(leaf)
    start = output.new_ones(output.shape) if v is None else v
    return output.detach(), grad(output, leaf, start, create_graph=create_graph, materialize_grads=True)[0]


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """J v, from the whole Jacobian: these are small."""
    table = jacobian(func, inputs, create_graph)
    output = func(inputs)
    start = wrap([1.0] * inputs.numel(), inputs.shape, inputs.dtype) if v is None else v
    return output.detach(), (table.reshape(-1, inputs.numel()) @ start.reshape(-1)).reshape(output.shape)


def hessian(func, inputs, create_graph=False, **_):
    return jacobian(lambda x: jacobian(func, x, create_graph=True), inputs.detach().requires_grad_(), create_graph)


functional = SimpleNamespace(jacobian=jacobian, vjp=vjp, jvp=jvp, hessian=hessian)
