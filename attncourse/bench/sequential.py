"""`attncourse bench sequential`: three ways to the same map, for a recurrent and a convolutional model."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..mechanisms.sequential import ByteNet, lstm, rnn, sequential_jacobian


def jacobian_by_loop(model: Callable[..., Tensor], x: Tensor, *rest: Tensor) -> Tensor:
    """The same as sequential_jacobian by T · K separate backward passes: what the bench and the tests compare with."""
    x = x.detach().requires_grad_()
    y = model(x, *rest)  # (B, T, K)
    numbers = [number.sum() for number in y.flatten(1).unbind(1)]
    gradients = [torch.autograd.grad(number, x, retain_graph=True)[0] for number in numbers]
    return torch.stack(gradients, 1).unflatten(1, y.shape[1:]).square().sum((2, -1)).sqrt()  # (B, T, S)


def jacobian_by_vmap(model: Callable[..., Tensor], x: Tensor, *rest: Tensor) -> Tensor:
    """The same by one backward pass that torch vectorises."""
    x = x.detach().requires_grad_()
    y = model(x, *rest)  # (B, T, K)
    (B, T, K), n = y.shape, y[0].numel()
    one_hot = torch.eye(n, dtype=y.dtype, device=y.device).view(n, 1, T, K).expand(n, B, T, K)
    [gradients] = torch.autograd.grad(y, x, one_hot, is_grads_batched=True)  # (T·K, B, S, D)
    return gradients.unflatten(0, (T, K)).square().sum((1, -1)).sqrt().transpose(0, 1)  # (B, T, S)


def bench() -> dict[str, dict[str, Callable[[], object]]]:
    x = torch.randn(4, 32, 13)
    models = {"RNN": rnn(13, 32, 8), "LSTM": lstm(13, 32, 8), "ByteNet": ByteNet(13, 32, 8, (1, 2, 4, 8), (2, 0))}
    ways = {
        "copies, one backward": sequential_jacobian,
        "vmap over one graph": jacobian_by_vmap,
        "T · K separate backward passes": jacobian_by_loop,
    }
    return {
        f"sequential Jacobian, {name}, B 4, T 32, K 8": {
            way: lambda call=call, model=model: call(model, x) for way, call in ways.items()
        }
        for name, model in models.items()
    }
