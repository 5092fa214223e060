"""`attncourse bench pointer`: the decoder in one call beside a loop over its steps; what making the problems costs."""

from functools import partial

import torch
from torch import Tensor

from ..core.symbols import shift_right
from ..mechanisms.pointer import STOP, BothWays, PointerNetwork, loss
from ..mechanisms.seq2seq import nll
from ..tasks import geometry


def one_by_one(model: PointerNetwork, points: Tensor, sizes: Tensor, previous: Tensor) -> Tensor:
    """Teacher forcing as one would write it first: a step, and another.    -> logits (B, T, 1 + n)"""
    carry, logits = model.begin(points, sizes), []
    for symbol in previous.unbind(1):
        scores, carry, _ = model.step(symbol, carry)
        logits.append(scores)
    return torch.stack(logits, 1)


def bench(n: int = 50, rows: int = 128, d_hidden: int = 256):
    torch.manual_seed(0)
    model = PointerNetwork(BothWays(2, d_hidden), d_hidden, d_hidden)

    def at_once(batch: geometry.Problems) -> None:
        loss(model, batch).backward()
        model.zero_grad()

    def in_a_loop(batch: geometry.Problems) -> None:
        points, sizes, target, lengths = batch
        nll(one_by_one(model, points, sizes, shift_right(target, STOP)), target, lengths).backward()
        model.zero_grad()

    groups = {}
    for size in (rows, max(rows // 8, 1)):  # the smaller the batch, the more of a step is overhead
        batch = geometry.problems("hull", size, n, 0)
        groups[f"training step, hull, {batch.target.shape[1]} symbols, n {n}, B {size}, H {d_hidden}"] = {
            "the decoder in one call": partial(at_once, batch),
            "a loop over its steps": partial(in_a_loop, batch),
        }
    points = {"hull": n, "sort": n, "delaunay": n, "tsp": min(n, 10)}
    return groups | {
        f"making {rows} problems beside a training step, n {n}, B {rows}, H {d_hidden}": {
            "training step, hull": partial(at_once, geometry.problems("hull", rows, n, 0)),
            **{f"{task}, n {m}": partial(geometry.problems, task, rows, m, 1) for task, m in points.items()},
        }
    }
