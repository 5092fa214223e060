"""Recurrent layers: the cells of Elman, GRU and LSTM, and the layers that run them over a sequence."""

from ..tensor import FUNCTIONS
from ..unknown import refuse
from . import functional as F
from .modules import Module, _bound, uniform

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _step(kind, x, state, W_ih, W_hh, b_ih, b_hh, nonlinearity="tanh"):
    """One step of a cell: x (B, D), state (B, H) or a pair of them for the LSTM -> the next state."""
    h = state[0] if kind == "LSTM" else state
    seen, kept = F.linear(x, W_ih, b_ih), F.linear(h, W_hh, b_hh)
    if kind == "RNN":
        return (seen + kept).tanh() if nonlinearity == "tanh" else (seen + kept).relu()
    if kind == "GRU":
        (r, z, n), (r_, z_, n_) = seen.chunk(3, -1), kept.chunk(3, -1)
        new = (n + (r + r_).sigmoid() * n_).tanh()
        keep = (z + z_).sigmoid()
        return new + keep * (h - new)
    i, f, g, o = (seen + kept).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


class _Cell(Module):
    kind = ""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh"):
        super().__init__()
        self.input_size, self.hidden_size, self.nonlinearity = input_size, hidden_size, nonlinearity
        n, bound = GATES[self.kind] * hidden_size, _bound(hidden_size)
        self.weight_ih, self.weight_hh = uniform((n, input_size), bound), uniform((n, hidden_size), bound)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, uniform((n,), bound) if bias else None)

    def forward(self, input, hx=None):
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        if hx is None:
            zero = input.new_zeros(*input.shape[:-1], self.hidden_size)
            hx = (zero, zero) if self.kind == "LSTM" else zero
        state = hx[0] if self.kind == "LSTM" else hx
        if state.shape != (*input.shape[:-1], self.hidden_size):
            raise RuntimeError(
                f"hidden has inconsistent hidden_size: got {tuple(state.shape)}, expected "
                f"{(*input.shape[:-1], self.hidden_size)}"
            )
        return _step(
            self.kind, input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, self.nonlinearity
        )


class RNNCell(_Cell):
    kind = "RNN"


class GRUCell(_Cell):
    kind = "GRU"


class LSTMCell(_Cell):
    kind = "LSTM"


class _Layers(Module):
    kind = ""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, nonlinearity="tanh"):  # fmt: skip
        super().__init__()
        refuse(f"nn.{self.kind}(dropout", dropout, (0, 0.0))
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.batch_first, self.bidirectional, self.nonlinearity = batch_first, bidirectional, nonlinearity
        self.ways = ("", "_reverse") if bidirectional else ("",)
        n, bound = GATES[self.kind] * hidden_size, _bound(hidden_size)
        for layer in range(num_layers):
            below = input_size if layer == 0 else hidden_size * len(self.ways)
            for way in self.ways:
                for name, shape in (("weight_ih", (n, below)), ("weight_hh", (n, hidden_size)), ("bias_ih", (n,)),
                                    ("bias_hh", (n,))):  # fmt: skip
                    given = uniform(shape, bound) if bias or name.startswith("weight") else None
                    self.register_parameter(f"{name}_l{layer}{way}", given)

    def forward(self, input, hx=None):
        single = input.ndim == 2
        if single:
            input = input.unsqueeze(0 if self.batch_first else 1)
        x = input if self.batch_first else input.transpose(0, 1)  # (B, T, D)
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        lasts = []
        for layer in range(self.num_layers):
            halves = []
            for way in self.ways:
                states, last = self._run(x, layer, way, self._first(x, hx, len(lasts), single))
                halves.append(states)
                lasts.append(last)
            x = halves[0] if len(halves) == 1 else FUNCTIONS["cat"](halves, -1)
        out = x if self.batch_first else x.transpose(0, 1)
        stack = FUNCTIONS["stack"]
        end = tuple(stack(part) for part in zip(*lasts, strict=True)) if self.kind == "LSTM" else stack(lasts)
        if single:
            out = out.squeeze(0 if self.batch_first else 1)
            end = tuple(e.squeeze(1) for e in end) if self.kind == "LSTM" else end.squeeze(1)
        return out, end

    def _first(self, x, hx, i, single):
        if hx is None:
            zero = x.new_zeros(len(x), self.hidden_size)
            return (zero, zero) if self.kind == "LSTM" else zero
        pick = (lambda h: h[i].unsqueeze(0)) if single else (lambda h: h[i])
        return tuple(pick(h) for h in hx) if self.kind == "LSTM" else pick(hx)

    def _run(self, x, layer, way, state):
        names = (f"{name}_l{layer}{way}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        weights = [getattr(self, name) for name in names]
        steps = list(x.unbind(1))
        found = []
        for step in reversed(steps) if way else steps:
            state = _step(self.kind, step, state, *weights, self.nonlinearity)
            found.append(state[0] if self.kind == "LSTM" else state)
        return FUNCTIONS["stack"](found[::-1] if way else found, 1), state

    def flatten_parameters(self):
        """Nothing to do: the weights are lists."""


class RNN(_Layers):
    kind = "RNN"


class GRU(_Layers):
    kind = "GRU"


class LSTM(_Layers):
    kind = "LSTM"
