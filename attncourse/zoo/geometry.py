"""Pointer networks on the paper's three problems and on sorting; decoders with a fixed vocabulary (chapter 14)."""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.symbols import shift_right
from ..mechanisms import pointer
from ..mechanisms.pointer import STOP, Attending, PointerNetwork, solve
from ..mechanisms.seq2seq import AttentiveDecoder, OneVectorDecoder, Translator, nll
from ..running.decoding import greedy
from ..running.training import batches, fit
from ..tasks import geometry as task
from ..tasks.geometry_metrics import METRICS
from . import Recipe, load

HELD_OUT = 10**9  # seeds from here on are for measuring


class Annotate(nn.Module):
    """What a decoder of words takes from `Attending`: all annotations, or their mean as the only one."""

    def __init__(self, encoder: Attending, all_: bool):
        super().__init__()
        self.encoder, self.all = encoder, all_

    def forward(self, items: Tensor, sizes: Tensor) -> Tensor:
        read = self.encoder(items, sizes)
        return read.annotations if self.all else read.summary[:, None]  # (B, n or 1, D)


def build(config: dict) -> nn.Module:
    d_item, H, D = 1 if config["task"] == "sort" else 2, config["d_hidden"], config["d_model"]
    encoder = Attending(d_item, D, config["layers"], config["heads"], config["d_ff"])
    if config["kind"] == "attending":
        return PointerNetwork(encoder, H, config["d_score"])
    words, d_embed = config["n"][1] + 1, 32  # a symbol for each place of the list: it is made for one n
    if config["kind"] == "attention, words":
        return Translator(Annotate(encoder, True), AttentiveDecoder(words, d_embed, H))  # reads 2H = D numbers
    return Translator(Annotate(encoder, False), OneVectorDecoder(words, d_embed, H, d_context=D, d_start=D))


# ---- data ----


def turned(made: task.Problems, rng: torch.Generator) -> task.Problems:
    """The same tours seen from elsewhere: the square turned or mirrored, the points listed in a new order.

    Exact tours are dear, and what is shortest stays shortest under all of these.
    """
    B, n, _ = made.points.shape
    tour = made.target[:, :n, None].expand(-1, -1, 2) - 1
    along = made.points.gather(1, tour) - 0.5  # (B, n, 2): the points in the tour's own order
    flips, swap = torch.randint(0, 2, (B, 1, 2), generator=rng) * 2 - 1, torch.rand(B, generator=rng) < 0.5
    along = along * flips
    along = torch.where(swap[:, None, None], along.flip(-1), along)
    mirrored = (flips[:, 0].prod(1) < 0) ^ swap  # (B,): an odd number of mirrors, so it goes clockwise now
    along = torch.where(mirrored[:, None, None], along.flip(1), along) + 0.5
    place = torch.rand(B, n, generator=rng).argsort(1)  # (B, n): where in the list each stop of the tour is put
    points = torch.empty_like(along).scatter(1, place[..., None].expand(-1, -1, 2), along)
    start = place.argmin(1, keepdim=True)  # the stop that is listed first
    order = place.gather(1, (torch.arange(n) + start) % n) + 1
    return made._replace(points=points, target=F.pad(order, (0, 1), value=STOP))


def some_size(low: int, high: int, lean: int, rng: torch.Generator) -> int:
    """How many points the next batch has. Near n, a size comes about as often as n^lean says.

    lean -1: as many batches of 5 to 10 points as of 10 to 20, and of 20 to 40. lean 2: 20 points four times as often
    as 10, because long tours are what is hard.
    """
    u = torch.rand((), generator=rng, dtype=torch.double)
    if lean == -1:
        return int(low * ((high + 1) / low) ** u)
    a, b = low ** (lean + 1), (high + 1) ** (lean + 1)
    return min(high, int((a + u * (b - a)) ** (1 / (lean + 1))))


def stream(config: dict, seed: int) -> Iterator[task.Problems]:
    """One n per batch, so that nothing is padded; see `some_size` for how often each comes."""
    rng, (low, high) = torch.Generator().manual_seed(seed), config["n"]
    fixed = {}  # the sets on disk
    for n in range(low, high + 1) if "rows" in config else ():
        made = task.cached(config["task"], config["rows"], n, seed + n)
        fixed[n] = batches(made, config["batch"], seed)
    while True:
        n = some_size(low, high, config.get("lean", -1), rng)
        if not fixed:
            fresh = int(torch.randint(0, HELD_OUT, (), generator=rng))
            yield task.problems(config["task"], config["batch"], n, fresh)
        else:
            made = task.Problems(*next(fixed[n]))
            yield turned(made, rng) if config["task"] == "tsp" else made


def loss(model: nn.Module, batch: task.Problems) -> Tensor:
    if isinstance(model, Translator):
        points, sizes, target, lengths = batch
        return nll(model(points, sizes, shift_right(target, pointer.STOP))[0], target, lengths)
    return pointer.loss(model, batch)


def train(model, config, seed, steps, checkpoint=None, device=None):
    """`start` names a model of the zoo whose weights this one begins with: short problems first, then long ones."""
    warm = steps // 20
    if "start" in config:
        model.load_state_dict(load(config["start"])[0].state_dict())

    def one_cycle(step):
        return min((step + 1) / warm, (steps - step) / (steps - warm))

    return fit(
        model, stream(config, seed), loss, steps, lr=config["lr"], schedule=one_cycle, clip=1.0, seed=seed,
        checkpoint=checkpoint, device=device,
    )  # fmt: skip


# ---- measuring: free-running, under the task's rule ----


def fresh(name: str, n: int, seed: int, rows: int = 1000) -> task.Problems:
    """Problems that no training saw; a tour of more than twelve points comes without its answer."""
    seed = HELD_OUT + 1000 * seed + n
    if name != "tsp" or n <= task.LARGEST:
        return task.cached(name, rows, n, seed)
    return task.Problems(task.draw(name, rows, n, seed), torch.full((rows,), n), None, None)


def answer(model: nn.Module, name: str, made: task.Problems, **how) -> Tensor:
    device, steps = next(model.parameters()).device, task.longest(name, made.points.shape[1])
    points, sizes = made.points.to(device), made.sizes.to(device)
    if isinstance(model, Translator):  # its symbols are places too, but it has no mask to give a rule
        return greedy(model.step, model.begin(points, sizes), STOP, STOP, steps).symbols.cpu()
    return solve(model, points, sizes, how.pop("rule", task.RULES[name]), steps, **how).symbols.cpu()


def measure(model: nn.Module, name: str, n: int, seed: int, rows: int = 1000, **how) -> dict[str, float]:
    """The paper's numbers for n points, e.g. {"accuracy_5": …, "area_5": …}."""
    made = fresh(name, n, seed, rows)
    found = METRICS[name](made.points, answer(model, name, made, **how), made.target)
    return {f"{metric}_{n}": value for metric, value in found.items()}


def evaluate(model, config, seed) -> dict[str, float]:
    found = {}
    for n in config["measured"]:
        found |= measure(model, config["task"], n, seed)
    return found


def network(name: str, n: tuple[int, int], measured: tuple[int, ...], **more) -> dict:
    size = {"kind": "attending", "d_model": 96, "layers": 3, "heads": 4, "d_ff": 192, "d_hidden": 96, "d_score": 64}
    return {"task": name, "n": list(n), "measured": list(measured), "batch": 64, "lr": 2e-3} | size | more


def beside(kind: str) -> dict:
    """For ten points: one encoder, and three ways to say the answer. Small, chapter 14 trains them on its page."""
    size = {"d_model": 64, "d_ff": 128, "d_hidden": 32, "d_score": 32}
    return network("hull", (10, 10), (10,), kind=kind, batch=48, **size)


LONG_TOURS = network("tsp", (5, 20), (5, 10, 20), rows=30_000, lean=2, lr=1e-3, start="pointer-tsp-12")
KINDS = {  # name: what it is, config, steps
    "pointer-hull": ("convex hull, 5 to 50 points", network("hull", (5, 50), (5, 10, 20, 50, 100)), 8_000),
    "pointer-tsp-12": ("shortest tour, 5 to 12 points", network("tsp", (5, 12), (5, 10, 20), rows=20_000), 10_000),
    "pointer-tsp": ("shortest tour, 5 to 20 points, from `pointer-tsp-12` on", LONG_TOURS, 6_000),
    "pointer-sort": ("sorting, 5 to 15 numbers", network("sort", (5, 15), (5, 10, 15, 30)), 1_500),
    "pointer-delaunay": ("Delaunay triangulation, 5 points", network("delaunay", (5, 5), (5,), rows=100_000), 2_500),
}
RECIPES = [
    Recipe(name, f"pointer network: {about}", partial(dict, config), build, train, steps, evaluate)
    for name, (about, config, steps) in KINDS.items()
]
