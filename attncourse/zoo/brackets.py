"""LSTMN beside LSTM on brackets that match at a distance (chapter 09): equal parameters, data, steps, tuning."""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms.selfattention import LSTMN
from ..mechanisms.sequential import Recurrent
from ..running.training import fit
from ..tasks import brackets as task
from ..tasks.recall import PAD, one_hot
from . import Recipe

FARTHEST = 12  # distance of the farthest pair in training
BEYOND = (12, 24, 48)  # distances that are measured; 12 was trained
CORES = {"lstm": partial(nn.LSTM, batch_first=True), "lstmn": LSTMN}


def config(core: str, d_hidden: int) -> dict:
    return {"core": core, "d_hidden": d_hidden, "lr": 5e-3, "batch": 64, "farthest": FARTHEST}


def build(config: dict) -> Recurrent:
    return Recurrent(CORES[config["core"]](len(task.BRACKETS), config["d_hidden"]), len(task.OPEN))


def data(config: dict, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Fresh batches without end: one distance a batch, from 1 to the farthest; from few brackets to many in each."""
    rng = torch.Generator().manual_seed(seed)
    for i in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        distance = int(torch.randint(1, config["farthest"] + 1, (), generator=rng))
        noise = torch.rand(config["batch"], generator=rng)
        symbols, target, _ = task.matching(config["batch"], distance, i, noise)
        yield one_hot(symbols, task.BRACKETS), target


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, target = batch
    return F.cross_entropy(model(x).transpose(1, 2), target, ignore_index=PAD)


def train(model, config, seed, steps, checkpoint=None, device=None):
    def schedule(step):
        return min((step + 1) / 50, 1 - step / steps)

    return fit(
        model, data(config, seed), loss, steps, lr=config["lr"], schedule=schedule, seed=seed, checkpoint=checkpoint,
        device=device,
    )  # fmt: skip


@torch.no_grad()
def right(model: nn.Module, distance: int, seed: int, noise: float, n: int = 1_000) -> Tensor:
    """Is the last bracket of each row, opened `distance` steps before, named right?    -> bool (n,)"""
    symbols, target, _ = task.matching(n, distance, 10**9 + seed, noise)  # no seed of the training
    x = one_hot(symbols, task.BRACKETS).to(next(model.parameters()).device)
    return model(x)[:, -1].argmax(-1).cpu() == target[:, -1]


def evaluate(model, config, seed) -> dict[str, float]:
    """Accuracy at each distance with brackets between (`match`), and with noise only (`copy`); chance is 1/4."""
    found = {}
    for name, noise in {"match": 0.3, "copy": 1.0}.items():
        found |= {f"{name}_{d}": right(model, d, seed + d, noise).float().mean().item() for d in BEYOND}
    return found


KINDS = {"brackets-lstm": ("lstm", 48), "brackets-lstmn": ("lstmn", 40)}
RECIPES = [
    Recipe(
        name, f"{core.upper()}: which bracket does this one close?", partial(config, core, d_hidden), build, train,
        steps=1_000, evaluate=evaluate,
    )
    for name, (core, d_hidden) in KINDS.items()
]  # fmt: skip
