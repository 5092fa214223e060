"""What a sequence model attends to without any attention: its sequential Jacobian, and four models to look at."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..core.recurrent import both_ways


def sequential_jacobian(model: Callable[..., Tensor], x: Tensor, *rest: Tensor, rows: int = 512) -> Tensor:
    """How strongly each output reacts to each input.

        J[t, s] = ‖∂y_t / ∂x_s‖, Frobenius over the features of y_t and x_s        Graves 2012, ch. 3

    model(x, *rest) -> y (B, T, K); x (B, S, D); rest (B, ...), lengths for example -> J (B, T, S)

    No pass for each output: the input is copied, copy n is asked for the gradient of one number of y, and one
    backward pass serves all copies (`rows` sequences at a time). So a row of y may depend on its own row of x only.
    """
    if x.dim() != 3 or not x.is_floating_point():
        message = f"x holds real vectors (B, S, D), symbols are embedded first; this is {x.dtype} {tuple(x.shape)}"
        raise ValueError(message)
    with torch.no_grad():
        y = model(x, *rest)
    if y.dim() != 3:
        raise ValueError(f"the model should return one tensor (B, T, K); it returned {tuple(y.shape)}")
    B, (T, K), squares = len(x), y.shape[1:], []
    # cuDNN has no backward for recurrent layers in eval mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        for asked in torch.arange(T * K, device=x.device).split(max(1, rows // B)):  # (n,)
            n = len(asked)
            copies, *others = (z.detach().repeat(n, *[1] * (z.dim() - 1)) for z in (x, *rest))  # (n·B, ...)
            copies.requires_grad_()
            y = model(copies, *others).flatten(1).unflatten(0, (n, B))  # (n, B, T·K)
            numbers = y.gather(2, asked[:, None, None].expand(n, B, 1))  # (n, B, 1)
            [gradient] = torch.autograd.grad(numbers.sum(), copies)  # (n·B, S, D)
            squares.append(gradient.square().sum(-1).unflatten(0, (n, B)))  # (n, B, S)
    return torch.cat(squares).unflatten(0, (T, K)).sum(1).sqrt().transpose(0, 1)  # (B, T, S)


def by_distance(jacobian: Tensor) -> Tensor:
    """The mean entry at each distance t - s = 0, 1, ... into the past.    (..., T, T) -> (T,)"""
    T = jacobian.shape[-1]
    return torch.stack([jacobian.diagonal(-d, -2, -1).mean() for d in range(T)])


def fitted_decay(profile: Tensor, first: int = 1) -> float:
    """The g of norm ≈ c · g^distance: a straight line through the logarithms, from distance `first` on.

    profile (T,) positive -> the factor by which one more step weakens the influence
    """
    if not bool((profile[first:] > 0).all()):
        raise ValueError("an exponential has no zeros; cut the profile where the reach of the model ends")
    d = torch.arange(first, len(profile), dtype=torch.float64, device=profile.device)
    log = profile[first:].double().log()
    slope = ((d - d.mean()) * (log - log.mean())).sum() / (d - d.mean()).square().sum()
    return slope.exp().item()


class Recurrent(nn.Module):
    """A causal recurrent layer and a readout: y_t = W h_t + b, h_t = core(h_{t-1}, x_t).

    core: nn.RNN, nn.LSTM or nn.GRU, batch first; x (B, T, D) -> y (B, T, d_out)

    Padding comes last, so a causal layer cannot see it: `lengths` is accepted and not needed.
    """

    def __init__(self, core: nn.RNNBase, d_out: int):
        super().__init__()
        self.core, self.out = core, nn.Linear(core.hidden_size, d_out)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.out(self.core(x)[0])  # (B, T, d_out)


class Bidirectional(nn.Module):
    """One layer reads forwards, one backwards from the end of each sequence: y_t = W [→h_t ; ←h_t] + b.

    x (B, T, D), lengths (B,) -> y (B, T, d_out)                           Graves 2012, ch. 3
    """

    def __init__(self, ahead: nn.RNNBase, back: nn.RNNBase, d_out: int):
        super().__init__()
        self.ahead, self.back = ahead, back
        self.out = nn.Linear(ahead.hidden_size + back.hidden_size, d_out)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if lengths is None:
            lengths = torch.full((len(x),), x.shape[1], device=x.device)
        return self.out(both_ways(self.ahead, self.back, x, lengths))  # (B, T, d_out)


class Dilated(nn.Module):
    """A residual block around one dilated convolution.

        x + 1×1(φ(conv(φ(1×1(φ(x)))))),  φ = ReLU ∘ LayerNorm            Kalchbrenner et al. 2016, fig. 3

    taps = (past, future): (2, 0) sees t, t - r, t - 2r and is causal; (1, 1) sees t - r, t, t + r.
    x (B, T, D), real bool (B, T, 1) -> (B, T, D)
    """

    def __init__(self, d: int, dilation: int, taps: tuple[int, int]):
        super().__init__()
        self.pad = [0, 0, taps[0] * dilation, taps[1] * dilation]  # F.pad counts from the last axis
        self.norms = nn.ModuleList(nn.LayerNorm(n) for n in (d, d // 2, d // 2))
        self.narrow, self.widen = nn.Linear(d, d // 2), nn.Linear(d // 2, d)  # a 1×1 convolution is a Linear
        self.conv = nn.Conv1d(d // 2, d // 2, sum(taps) + 1, dilation=dilation)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        h = self.narrow(self.norms[0](x).relu())  # (B, T, D/2)
        h = self.norms[1](h).relu() * real  # what is convolved is zero on padding, as beyond the ends
        h = self.conv(F.pad(h, self.pad).transpose(1, 2)).transpose(1, 2)  # (B, T, D/2)
        return x + self.widen(self.norms[2](h).relu())  # (B, T, D)


class ByteNet(nn.Module):
    """A stack of dilated convolutions: it reaches sum(dilations) · taps positions far, and not one further.

    x (B, T, D), lengths (B,) -> y (B, T, d_out)                           Kalchbrenner et al. 2016
    Differs from the paper: one stack instead of an encoder with a decoder on top; no dynamic unfolding.
    """

    def __init__(self, d_in: int, d_hidden: int, d_out: int, dilations: Sequence[int], taps: tuple[int, int]):
        super().__init__()
        self.into, self.out = nn.Linear(d_in, d_hidden), nn.Linear(d_hidden, d_out)
        self.blocks = nn.ModuleList(Dilated(d_hidden, r, taps) for r in dilations)
        self.reach = taps[0] * sum(dilations), taps[1] * sum(dilations)  # into the past, into the future

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        real = x.new_ones(*x.shape[:2], 1, dtype=torch.bool)  # (B, T, 1)
        if lengths is not None:
            real = masks.padding(lengths, x.shape[1]).transpose(1, 2)  # (B, T, 1)
        h = self.into(x)  # (B, T, d_hidden)
        for block in self.blocks:
            h = block(h, real)
        return self.out(h.relu())  # (B, T, d_out)


def rnn(d_in: int, d_hidden: int, d_out: int) -> Recurrent:
    return Recurrent(nn.RNN(d_in, d_hidden, batch_first=True), d_out)


def lstm(d_in: int, d_hidden: int, d_out: int) -> Recurrent:
    return Recurrent(nn.LSTM(d_in, d_hidden, batch_first=True), d_out)


def bilstm(d_in: int, d_hidden: int, d_out: int) -> Bidirectional:
    return Bidirectional(*(nn.LSTM(d_in, d_hidden, batch_first=True) for _ in range(2)), d_out)
