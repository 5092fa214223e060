"""`attncourse bench sagan`: the block with its map held in memory, and on the fused path; pooled beside whole."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from ..mechanisms.sagan import ImageAttention, NonLocal


def step(block: NonLocal, x: Tensor, context: Callable[[NonLocal, Tensor], Tensor]) -> None:
    """Forward and backward through what the block reads, by either path."""
    context(block, x).sum().backward()
    block.zero_grad()


def explicit(block: NonLocal, x: Tensor) -> Tensor:
    """The N×N map as a tensor, as NonLocal reads for any score."""
    return NonLocal.context(block, x)


def by_fusing(block: NonLocal, x: Tensor) -> Tensor:
    return block.context(x)


def candidates(side: int, rows: int = 16, channels: int = 64) -> dict[str, Callable[[], None]]:
    torch.manual_seed(0)
    x = torch.randn(rows, channels, side, side)
    whole, pooled = ImageAttention(channels), ImageAttention(channels, pool=2)
    return {
        "explicit map": partial(step, whole, x, explicit),
        "fused": partial(step, whole, x, by_fusing),
        "explicit map, keys and values pooled": partial(step, pooled, x, explicit),
        "fused, keys and values pooled": partial(step, pooled, x, by_fusing),
    }


def peak(side: int, name: str) -> float:
    """Peak memory of one step, in a process of its own, above what it had before.    -> MiB"""
    code = f"from attncourse.bench.sagan import alone; alone({side}, {name!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(run.stdout)


def alone(side: int, name: str) -> None:
    candidates(4, 1)[name]()  # what torch loads on its first step is not the step's
    run = candidates(side)[name]
    high_water()
    before = high_water()
    run()
    print((high_water() - before) / 1024)


def high_water() -> int:
    """The most memory that this process has held since the last call, in KiB; Linux only."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    Path("/proc/self/clear_refs").write_text("5")  # the mark goes down to what is held now
    return int(lines["VmHWM"].split()[0])


def bench(sides: tuple[int, ...] = (32, 64), rows: int = 16):
    groups = {}
    for side in sides:
        found = candidates(side, rows)
        named = {f"{name}; peak {peak(side, name):,.0f} MiB": run for name, run in found.items()}
        groups[f"attention forward and backward, 64 channels, {side}×{side}, B {rows}"] = named
    return groups
