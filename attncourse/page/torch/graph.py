"""Reverse-mode gradients: what an operation remembers, and the way back.

An operation records, for each of its inputs, a function that turns the gradient of its result into that of the input.
`Node` is one such operation (torch: grad_fn). These functions are written with tensor operations, so that gradients of
gradients come for free.
"""

import functools
import heapq
from itertools import count

from .shapes import broadcast

_numbers = count(1)


class _Mode:
    """Is what is computed now remembered for gradients?"""

    enabled = True


mode = _Mode()


class set_grad_enabled:
    """A context manager, and a decorator. `torch.no_grad()` and `torch.enable_grad()` are the two cases of it."""

    def __init__(self, enabled=True):
        self.wanted, self.before = enabled, []

    def __enter__(self):
        self.before.append(mode.enabled)
        mode.enabled = self.wanted

    def __exit__(self, *_):
        mode.enabled = self.before.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with set_grad_enabled(self.wanted):
                return function(*args, **kwargs)

        return inside


def _fixed(wanted):
    def make(function=None):
        manager = set_grad_enabled(wanted)
        return manager(function) if callable(function) else manager

    return make


no_grad, enable_grad = _fixed(False), _fixed(True)
inference_mode = _fixed(False)


class Node:
    """One operation of the graph: `edges` lead to those that made its inputs."""

    def __init__(self, shape, dtype, edges=(), leaf=None):
        self.number = next(_numbers)  # an operation has a larger number than all that it rests on
        self.shape, self.dtype, self.edges, self.leaf = shape, dtype, edges, leaf
        self.retained = []  # tensors that asked to keep this gradient
        self.used = False

    @property
    def next_functions(self):
        return tuple((edge.node, 0) for edge in self.edges)


class Edge:
    """To one input of an operation: how its gradient follows, and the tensors that this needs unchanged."""

    __slots__ = ("node", "saved", "slope")

    def __init__(self, node, slope, saved):
        self.node, self.slope = node, slope
        self.saved = [(x.version, x.version[0]) for x in saved]

    def back(self, gradient):
        for version, then in self.saved:
            if version[0] != then:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"it is at version {version[0]}; expected version {then} instead"
                )
        found = self.slope(gradient)
        return None if found is None else fitted(found, self.node)


def record(out, *inputs):
    """`out` was computed from `inputs`, each as (tensor, slope, tensors that the slope uses ...). -> out"""
    if mode.enabled:
        edges = [Edge(edge_of(x), slope, saved) for x, slope, *saved in inputs if x.requires_grad]
        if edges and out.dtype.rank > 5:
            out.made_by(Node(out.shape, out.dtype, edges))
    return out


def edge_of(tensor):
    """The node that a gradient of `tensor` goes to."""
    if tensor.node is None and tensor.requires_grad:
        if tensor.end is None:
            tensor.end = Node(tensor.shape, tensor.dtype, leaf=tensor)
        return tensor.end
    return tensor.node


def fitted(gradient, node):
    """Sum over the axes along which the input was broadcast; give it the input's dtype."""
    if gradient.shape != node.shape:
        extra = len(gradient.shape) - len(node.shape)
        dims = [d for d, n in enumerate(gradient.shape) if d < extra or (node.shape[d - extra] == 1 and n != 1)]
        gradient = (gradient.sum(dims, keepdim=True) if dims else gradient).reshape(node.shape)
    return gradient if gradient.dtype is node.dtype else gradient.to(node.dtype)


def _start(outputs, gradients):
    """The gradients to begin with: one for each output, ones for a single number."""
    outputs = [outputs] if hasattr(outputs, "dtype") else list(outputs)
    gradients = [gradients] if gradients is None or hasattr(gradients, "dtype") else list(gradients)
    gradients += [None] * (len(outputs) - len(gradients))
    pairs = []
    for i, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if not output.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if gradient is None:
            if output.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            gradient = output.detach().new_ones(output.shape)
        elif gradient.shape != output.shape and broadcast(gradient.shape, output.shape) != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of "
                f"{output.shape}."
            )
        pairs.append((edge_of(output), gradient))
    return pairs


def _leading_to(starts, targets):
    """The nodes that lie between the outputs and the targets (all of them if there are no targets)."""
    seen, order, stack = set(), [], list(starts)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
            stack += [edge.node for edge in node.edges]
    if targets is None:
        return seen
    wanted = set(targets)
    for node in sorted(order, key=lambda node: node.number):
        if any(edge.node in wanted for edge in node.edges):
            wanted.add(node)
    return wanted


def flow(outputs, gradients, targets=None, keep=False, create_graph=False):
    """Carry gradients back, latest operation first. -> gradient of each target; without targets, leaves collect."""
    pairs = _start(outputs, gradients)
    wanted = _leading_to([node for node, _ in pairs], targets)
    pending, heap, found = {}, [], {}

    def arrive(node, gradient):
        if node in pending:
            pending[node] = pending[node] + gradient
        else:
            pending[node] = gradient
            heapq.heappush(heap, (-node.number, node))

    with set_grad_enabled(create_graph):
        for node, gradient in pairs:
            if node in wanted:
                arrive(node, gradient)
        while heap:
            _, node = heapq.heappop(heap)
            gradient = pending.pop(node)
            _deliver(node, gradient, targets, found)
            if targets is not None and not any(edge.node in wanted for edge in node.edges):
                continue
            if node.used:
                raise RuntimeError(
                    "Trying to backward through the graph a second time (or directly access saved tensors after they "
                    "have already been freed). Specify retain_graph=True if you need to backward through the graph a "
                    "second time or if you need to access saved tensors after calling backward."
                )
            for edge in node.edges:
                if edge.node in wanted:
                    part = edge.back(gradient)
                    if part is not None:
                        arrive(edge.node, part)
            if not (keep or create_graph):
                node.used = any(edge.saved for edge in node.edges)
    return found


def _deliver(node, gradient, targets, found):
    if targets is not None:
        if node in targets:
            found[node] = gradient
        return
    takers = [*node.retained, *([node.leaf] if node.leaf is not None else [])]
    for tensor in takers:
        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """torch.autograd.grad"""
    inputs = [inputs] if hasattr(inputs, "dtype") else list(inputs)
    if any(not x.requires_grad for x in inputs):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    nodes = [edge_of(x) for x in inputs]
    found = flow(outputs, grad_outputs, set(nodes), bool(retain_graph), create_graph)
    gradients = [found.get(node) for node in nodes]
    if materialize_grads:
        gradients = [x.new_zeros(x.shape) if g is None else g for x, g in zip(inputs, gradients, strict=True)]
    elif not allow_unused and None in [g if g is None else 0 for g in gradients]:
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return tuple(gradients)
