"""`attncourse bench ntm`: a copy training step beside the forms that one writes first; growth in slots and heads."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms.ntm import NTM, Address, State, interpolate
from ..tasks import algorithmic as task


class Plain(NTM):
    """All samples at once, every stage as its equation reads: a normalised memory, a gather for the shift, a power."""

    def find(self, key: Tensor, memory: Tensor) -> Tensor:
        return F.cosine_similarity(key[:, :, None], memory[:, None], dim=-1, eps=1e-2)  # (B, heads, N)

    def rotate(self, weights: Tensor, moves: Tensor) -> Tensor:
        slots, reach = weights.shape[-1], moves.shape[-1] // 2
        by = torch.arange(-reach, reach + 1, device=weights.device)
        source = (torch.arange(slots, device=weights.device)[:, None] - by) % slots  # (N, S)
        return (weights[..., source] * moves[:, :, None]).sum(-1)

    def addressed(self, told: Address, state: State) -> Tensor:
        found = (told.strength[..., None] * self.find(told.key, state.memory)).softmax(-1)
        weights = self.rotate(interpolate(found, state.weights, told.gate), told.moves)
        raised = weights.clamp_min(1e-12) ** told.power[..., None]
        return raised / raised.sum(-1, keepdim=True)


class PerSample(Plain):
    """As in much public code: the shift is a convolution for one sample and one head after another."""

    def rotate(self, weights: Tensor, moves: Tensor) -> Tensor:
        reach, rows = moves.shape[-1] // 2, []
        for w, s in zip(weights.flatten(0, 1), moves.flatten(0, 1), strict=True):
            around = torch.cat([w[-reach:], w, w[:reach]])
            rows.append(F.conv1d(around[None, None], s.flip(0)[None, None])[0, 0])
        return torch.stack(rows).view_as(weights)


class OneByOne(Plain):
    """One sample after another, from the first input to the last."""

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, None]:
        return torch.cat([super(OneByOne, self).forward(row[None])[0] for row in x]), None


def step(model: nn.Module, batch: task.Batch) -> None:
    logits = model(batch.inputs)[0][:, batch.counts]
    F.binary_cross_entropy_with_logits(logits, batch.targets[:, batch.counts]).backward()
    model.zero_grad()


def bench(rows: int = 16, length: int = 20) -> dict[str, dict[str, Callable[[], None]]]:
    batch = task.copy(rows, length, torch.Generator().manual_seed(0))
    run = partial(step, batch=batch)
    d_in, d_out = batch.inputs.shape[-1], batch.targets.shape[-1]
    shape = f"B {rows}, T {2 * length + 1}, LSTM 100"
    kinds = {"ours": NTM, "the equations, vectorised": Plain, "a shift for each sample": PerSample}
    kinds["one sample after another"] = OneByOne
    return {
        f"copy training step, {shape}, 128×20": {name: partial(run, kind(d_in, d_out)) for name, kind in kinds.items()},
        f"slots, {shape}": {f"{n} slots": partial(run, NTM(d_in, d_out, slots=n)) for n in (128, 256, 512, 1024)},
        f"reading and writing heads, {shape}, 128×20": {
            f"{n} of each": partial(run, NTM(d_in, d_out, readers=n, writers=n)) for n in (1, 2, 4, 8)
        },
    }
