"""Three seeds each of small models that recall at a distance or re-order, without any attention (chapter 02)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms import sequential
from ..running.training import History, fit
from ..tasks import recall as task
from . import Recipe

SEEDS = 3  # "A beats B" needs three: each zoo model is a list of three networks, trained one after the other
MAKE = {"rnn": sequential.rnn, "lstm": sequential.lstm, "bilstm": sequential.bilstm, "bytenet": sequential.ByteNet}


def build(config: dict) -> nn.ModuleList:
    return nn.ModuleList(MAKE[config["kind"]](*config["sizes"]) for _ in range(SEEDS))


def recall_data(seed: int, size: int = 64, rows: int = 32) -> Iterator[tuple[Tensor, ...]]:
    """Fresh batches without end: x (rows, size, V), target (rows, size, FARTHEST)"""
    for i in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        symbols, target = task.recall(rows, size, i)
        yield task.one_hot(symbols, task.RECALL), target


def latch_data(seed: int, size: int = 48, rows: int = 32) -> Iterator[tuple[Tensor, ...]]:
    """x (rows, size, V), target (rows, size)"""
    for i in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        symbols, target, _ = task.latch(rows, size, i)
        yield task.one_hot(symbols, task.LATCH), target


def reorder_data(seed: int, size: int = 20, rows: int = 32) -> Iterator[tuple[Tensor, ...]]:
    """x (rows, size, V), target (rows, size), lengths (rows,)"""
    for i in range(seed * 1_000_000, (seed + 1) * 1_000_000):
        symbols, target, _, lengths = task.reorder(rows, size, i)
        yield task.one_hot(symbols, task.REORDER), target, lengths


def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """Cross-entropy of every answer that is asked for; recall asks for FARTHEST of them at each step."""
    x, target, *lengths = batch
    logits = model(x, *lengths).flatten(1).unflatten(1, (target[0].numel(), -1))  # (B, answers, V)
    return F.cross_entropy(logits.transpose(1, 2), target.flatten(1), ignore_index=task.PAD)


def train(model, config, seed, steps, checkpoint=None, device=None) -> History:
    """Each network on its own stream of data; the history is that of all, one after the other."""
    data, whole, files = DATA[config["task"]], History(), []
    for i, network in enumerate(model):
        files.append(Path(f"{checkpoint}.{i}") if checkpoint else None)
        history = fit(
            network, data(SEEDS * seed + i), loss, steps, lr=config["lr"], seed=SEEDS * seed + i, device=device,
            schedule=lambda step: min((step + 1) / 50, 1 - step / steps), checkpoint=files[-1],
        )  # fmt: skip
        whole.loss += history.loss
        whole.lr += history.lr
        whole.seconds += history.seconds
    for file in files:
        if file is not None:
            file.unlink(missing_ok=True)
    return whole


@torch.no_grad()
def recalled(network: nn.Module, seed: int, n: int = 100) -> tuple[Tensor, int]:
    """Right answers at each distance, on n streams long enough that every distance can be asked.

    -> right (FARTHEST,), out of how many
    """
    symbols, target = task.recall(n, task.FARTHEST + 24, seed)
    x = task.one_hot(symbols, task.RECALL).to(next(network.parameters()).device)
    answer = network(x).unflatten(-1, (task.FARTHEST, -1)).argmax(-1).cpu()  # (n, T, FARTHEST)
    asked = slice(task.FARTHEST, None)
    return (answer == target)[:, asked].sum((0, 1)), n * 24


def evaluate_recall(model, config, seed) -> dict[str, float]:
    """Accuracy at some distances, mean of the three networks; chance is 1/4."""
    results = [recalled(network, seed) for network in model]
    right, n = sum(r for r, _ in results), sum(n for _, n in results)
    return {f"recall_{d}": right[d - 1].item() / n for d in (1, 5, 10, 15, 20, 25, 30, 31, 40)}


@torch.no_grad()
def latched(network: nn.Module, distance: int, seed: int, n: int = 500) -> int:
    """How many of n streams end with the right letter, `distance` steps after it was seen."""
    symbols, target, _ = task.latch_at(n, distance, seed)
    x = task.one_hot(symbols, task.LATCH).to(next(network.parameters()).device)
    return int((network(x)[:, -1].argmax(-1).cpu() == target[:, -1]).sum())


def evaluate_latch(model, config, seed, n: int = 500) -> dict[str, float]:
    """Accuracy at some distances, mean of the three networks; chance is 1/8."""
    return {f"latch_{d}": sum(latched(net, d, seed + d, n) for net in model) / (n * SEEDS) for d in (10, 30, 100, 300)}


@torch.no_grad()
def evaluate_reorder(model, config, seed, n: int = 500) -> dict[str, float]:
    """Share of the positions of n sentences that get the right word, mean of the three networks."""
    symbols, target, _, lengths = task.reorder(n, 20, seed)
    device, real = next(model.parameters()).device, target != task.PAD
    x = task.one_hot(symbols, task.REORDER).to(device)
    right = [network(x, lengths.to(device)).argmax(-1).cpu()[real] == target[real] for network in model]
    return {"accuracy": torch.cat(right).float().mean().item()}


DATA = {"recall": recall_data, "latch": latch_data, "reorder": reorder_data}
EVALUATE = {"recall": evaluate_recall, "latch": evaluate_latch, "reorder": evaluate_reorder}
ANSWERS = len(task.RECALL) * task.FARTHEST
MODELS = {  # name: what it is, steps, configuration
    "recall-rnn": (
        "three plain RNNs that name the letters 1 to 40 steps ago",
        1_000,
        {"kind": "rnn", "task": "recall", "sizes": [4, 32, ANSWERS], "lr": 3e-3},
    ),
    "recall-lstm": (
        "three LSTMs on the same task",
        800,
        {"kind": "lstm", "task": "recall", "sizes": [4, 32, ANSWERS], "lr": 1e-2},
    ),
    "recall-bytenet": (
        "three stacks of causal dilated convolutions on the same task",
        500,
        {"kind": "bytenet", "task": "recall", "sizes": [4, 64, ANSWERS, [1, 2, 4, 8], [2, 0]], "lr": 5e-3},
    ),
    "latch-rnn": (
        "three plain RNNs that hold the last letter seen in a stream of noise",
        1_200,
        {"kind": "rnn", "task": "latch", "sizes": [12, 32, 8], "lr": 3e-3},
    ),
    "reorder-bytenet": (
        "three stacks of dilated convolutions that move verbs to the end of their clause",
        600,
        {"kind": "bytenet", "task": "reorder", "sizes": [13, 32, 13, [1, 2, 4], [1, 1]], "lr": 5e-3},
    ),
}
RECIPES = [
    Recipe(name, about, partial(dict, config), build, train, steps=steps, evaluate=EVALUATE[config["task"]])
    for name, (about, steps, config) in MODELS.items()
]
