"""The Neural Turing Machine on the paper's five tasks, and an LSTM beside it (chapter 13)."""

from collections.abc import Iterator
from functools import partial
from itertools import count

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms.ntm import NTM, Address, FeedForward, Recurrent, State
from ..running.training import fit
from ..tasks import algorithmic as task
from . import Recipe

SIZES = {  # task -> channels in, channels out, what a training batch draws
    "copy": (9, 8, {"length": (1, 20)}),
    "repeat_copy": (10, 9, {"length": (1, 10), "times": (1, 10)}),
    "associative_recall": (8, 6, {"items": (2, 6)}),
    "ngrams": (1, 1, {}),
    "priority_sort": (10, 8, {}),
}
CONTROLLERS = {"lstm": Recurrent, "feed-forward": FeedForward}


class Baseline(nn.Module):
    """Layers of LSTM and nothing to write on.    x (B, T, d_in) -> logits (B, T, d_out), the LSTM's state"""

    def __init__(self, d_in: int, d_out: int, d_hidden: int, layers: int):
        super().__init__()
        self.core, self.out = nn.LSTM(d_in, d_hidden, layers, batch_first=True), nn.Linear(d_hidden, d_out)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, state = self.core(x)
        return self.out(hidden), state


PINS = {"content": ("gate", 0.0), "shift": ("moves", [0.0, 1.0, 0.0]), "sharpening": ("power", 1.0)}


class Without(NTM):
    """A machine in which one number of every head is pinned, so that a stage of the addressing does nothing."""

    def __init__(self, part: str, *sizes, **more):
        super().__init__(*sizes, **more)
        self.pin, self.value = PINS[part]

    def told(self, h: Tensor) -> Address:
        told = super().told(h)
        free = getattr(told, self.pin)
        return told._replace(**{self.pin: free.new_tensor(self.value).expand_as(free)})


class Cluttered(NTM):
    """A machine whose memory starts with noise instead of (nearly) nothing; the same noise every time."""

    def __init__(self, *sizes, **more):
        super().__init__(*sizes, **more)
        self.register_buffer("noise", torch.rand(self.slots, self.width) - 0.5)

    def begin(self, x: Tensor) -> State:
        state = super().begin(x)
        return state._replace(memory=self.noise.expand_as(state.memory))


MACHINES = {None: NTM, "empty memory": Cluttered} | {part: partial(Without, part) for part in PINS}


def machine(task_: str, slots: int, heads: int = 1, controller: str = "lstm", d_hidden: int = 100) -> dict:
    size = {"slots": slots, "width": 20, "readers": heads, "writers": heads, "d_hidden": d_hidden}
    return {"task": task_, "controller": controller, "lr": 1e-3, "batch": 16, **size}


def baseline(task_: str, layers: int, d_hidden: int = 256) -> dict:
    return {"task": task_, "layers": layers, "lr": 1e-3, "batch": 16, "d_hidden": d_hidden}


def build(config: dict) -> nn.Module:
    d_in, d_out, _ = SIZES[config["task"]]
    if "layers" in config:
        return Baseline(d_in, d_out, config["d_hidden"], config["layers"])
    names = ("d_hidden", "slots", "width", "readers", "writers")
    kind = MACHINES[config.get("without")]
    return kind(d_in, d_out, CONTROLLERS[config["controller"]], **{name: config[name] for name in names})


def loss(model: nn.Module, batch: task.Batch) -> Tensor:
    logits = model(batch.inputs)[0][:, batch.counts]
    return F.binary_cross_entropy_with_logits(logits, batch.targets[:, batch.counts])


def lessons(n: int, seed: int, alone: int, growth: int) -> Iterator[task.Batch]:
    """Repeat copy in two lessons: `alone` batches of plain copies, up to 20 long, so that the state cannot hold them;
    then the paper's lengths, and over `growth` batches more and more repetitions.
    """
    rng = torch.Generator().manual_seed(seed)
    for step in count():
        most = 1 + round(9 * min(1, max(0, (step - alone) / growth)))
        length = int(torch.randint(1, 21 if step < alone else 11, (), generator=rng))
        times = int(torch.randint(1, most + 1, (), generator=rng))
        yield task.repeat_copy(n, length=length, times=times, rng=rng)


def train(model, config, seed, steps, checkpoint=None, device=None):
    if "lessons" in config:
        data = lessons(config["batch"], seed, *config["lessons"])
    else:
        ranges = config.get("ranges", SIZES[config["task"]][2])
        data = task.stream(getattr(task, config["task"]), config["batch"], seed, **ranges)

    def schedule(step):  # the last third goes down in a straight line
        return min(1.0, 3 * (1 - step / steps))

    return fit(
        model, data, loss, steps, lr=config["lr"], schedule=schedule, clip=1.0, seed=seed, checkpoint=checkpoint,
        device=device,
    )  # fmt: skip


@torch.no_grad()
def run(model: nn.Module, config: dict, seed: int, n: int = 200, **sizes: int) -> tuple[Tensor, task.Batch]:
    """The task once, with these sizes, on data that no training saw.    -> logits (n, T, d_out), the batch"""
    batch = getattr(task, config["task"])(n, rng=torch.Generator().manual_seed(10**9 + seed), **sizes)
    return model(batch.inputs.to(next(model.parameters()).device))[0].cpu(), batch


def wrong(model: nn.Module, config: dict, seed: int, n: int = 200, **sizes: int) -> Tensor:
    """Wrong bits a sequence.    -> (n,)"""
    return task.bit_errors(*run(model, config, seed, n, **sizes))


def bits(model: nn.Module, config: dict, seed: int, n: int = 200, **sizes: int) -> Tensor:
    """What each sequence costs: -Σ log2 P(the right bit), where the answer counts.    -> (n,)"""
    logits, batch = run(model, config, seed, n, **sizes)
    return task.cost(logits.sigmoid(), batch)


def evaluate_copy(model, config, seed) -> dict[str, float]:
    """Mean wrong bits a sequence; training has seen lengths up to 20."""
    return {f"bit_errors_{n}": wrong(model, config, seed + n, length=n).mean().item() for n in (20, 50, 120)}


def evaluate_small(model, config, seed) -> dict[str, float]:
    """For the ablations, which have seen lengths up to 10 and have 32 slots."""
    return {f"bit_errors_{n}": wrong(model, config, seed + n, length=n).mean().item() for n in (10, 20, 30)}


def evaluate_repeat(model, config, seed) -> dict[str, float]:
    """Mean wrong bits a sequence over the training range; then longer, and more often."""
    inside = [(length, times) for length in range(1, 11) for times in range(1, 11)]
    found = [wrong(model, config, seed + i, 2, length=a, times=b) for i, (a, b) in enumerate(inside)]
    return {
        "bit_errors": torch.cat(found).mean().item(),
        "bit_errors_length_20": wrong(model, config, seed + 200, 100, length=20, times=10).mean().item(),
        "bit_errors_times_20": wrong(model, config, seed + 201, 100, length=10, times=20).mean().item(),
    }


def evaluate_recall(model, config, seed) -> dict[str, float]:
    """Cost of the answer in bits, of 18; training has seen up to 6 items."""
    return {f"bits_{n}": bits(model, config, seed + n, items=n).mean().item() for n in (6, 10, 15)}


def evaluate_ngrams(model, config, seed) -> dict[str, float]:
    """Bits a sequence above the optimum, which knows how the sequences are made and counts."""
    logits, batch = run(model, config, seed, 500)
    best = task.cost(task.optimal(batch.inputs), batch)
    return {
        "excess_bits": (task.cost(logits.sigmoid(), batch) - best).mean().item(),
        "optimal_bits": best.mean().item(),
    }


def evaluate_sort(model, config, seed) -> dict[str, float]:
    return {
        "bit_errors": wrong(model, config, seed).mean().item(),
        "bits": bits(model, config, seed).mean().item(),
    }


EVALUATE = {
    "copy": evaluate_copy,
    "repeat_copy": evaluate_repeat,
    "associative_recall": evaluate_recall,
    "ngrams": evaluate_ngrams,
    "priority_sort": evaluate_sort,
}
KINDS = {  # name: config, steps
    "ntm-copy": (machine("copy", 128), 6_000),
    "lstm-copy": (baseline("copy", 2), 6_000),
    "ntm-repeat-copy": (machine("repeat_copy", 64) | {"lessons": [1_600, 2_500]}, 6_000),
    "ntm-associative-recall": (machine("associative_recall", 128), 10_000),
    "ntm-ngrams": (machine("ngrams", 128), 800),
    "lstm-ngrams": (baseline("ngrams", 1), 800),
    "ntm-priority-sort": (machine("priority_sort", 128, 4, "feed-forward", 256), 2_000),
}
SMALL = machine("copy", 32) | {"ranges": {"length": [1, 10]}}
ABLATIONS = {  # name: what is taken away
    "ntm-small": None,
    "ntm-small-no-content": "content",
    "ntm-small-no-shift": "shift",
    "ntm-small-no-sharpening": "sharpening",
    "ntm-small-noisy-memory": "empty memory",
}
RECIPES = [
    Recipe(
        name, f"{'LSTM' if 'layers' in config else 'Neural Turing Machine'}: {config['task'].replace('_', ' ')}",
        partial(dict, config), build, train, steps, EVALUATE[config["task"]],
    )
    for name, (config, steps) in KINDS.items()
]  # fmt: skip
RECIPES += [
    Recipe(
        name, f"Neural Turing Machine on short copies, {'without ' + part if part else 'whole'}",
        partial(dict, SMALL | {"without": part}), build, train, 2_000, evaluate_small,
    )
    for name, part in ABLATIONS.items()
]  # fmt: skip
