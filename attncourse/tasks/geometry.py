"""Answers that are positions of the input: convex hull, Delaunay triangulation, shortest tour, sorting.

Vinyals et al. 2015, sec. 3: points are uniform in the unit square, and every problem has one answer, written in a
canonical order. An answer is a row of indices from 1, ended by STOP = 0: (B, n, d) -> (B, T), zeros after the end.
"""

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load, save
from scipy.spatial import Delaunay
from torch import Tensor

from .geometry_metrics import STOP, area
from .geometry_tours import short_tour

VERSION = 1  # of the answers: a new one makes every set on disk anew
LARGEST = 12  # points of a tour that is solved exactly


class Problems(NamedTuple):
    """Rows of points and their answers: what `pointer.loss` takes, in this order."""

    points: Tensor  # (B, n, d) in [0, 1)
    sizes: Tensor  # (B,): how many of the n are real; padding comes after them
    target: Tensor  # (B, T) int: 1 … n, then STOP
    lengths: Tensor  # (B,): symbols of the target, the first STOP among them


def hull(points: Tensor) -> Tensor:
    """The corners of the convex hull, counter-clockwise, from the one with the lowest index.

    Gift wrapping, all rows at once: from the corner where we stand, go to the point that asks for the smallest turn
    to the left. Points must be in general position (no three on a line), as random ones are.

    points (B, n, 2) -> (B, T) from 1, then STOP
    """
    _need_points("a hull", 3, points)
    x, rows = points.double(), torch.arange(len(points))
    first = here = x[..., 1].argmin(1)  # (B,): the lowest point is a corner, and all others lie above it
    heading, corners = torch.zeros(len(x), dtype=torch.double), []
    done = torch.zeros(len(x), dtype=torch.bool)
    while not done.all():
        corners.append(here.masked_fill(done, -1))
        towards = x - x[rows, here][:, None]  # (B, n, 2)
        turn = torch.atan2(towards[..., 1], towards[..., 0]) - heading[:, None]
        turn = turn.remainder(2 * torch.pi)  # (B, n)
        turn[rows, here] = torch.inf
        left, here = turn.min(1)
        heading = heading + left
        done = done | (here == first)
    return _from_lowest(torch.stack(corners, 1))


def _from_lowest(cycle: Tensor) -> Tensor:
    """Turn each cycle until its lowest index leads.    cycle (B, T) from 0, padded with -1 -> from 1, with STOP"""
    length = (cycle >= 0).sum(1, keepdim=True)  # (B, 1)
    lead = cycle.masked_fill(cycle < 0, cycle.shape[1] + cycle.max() + 1).argmin(1, keepdim=True)
    t = torch.arange(cycle.shape[1])
    turned = cycle.gather(1, (t + lead) % length)
    return _close((turned + 1).masked_fill(t >= length, STOP))


def _close(answer: Tensor) -> Tensor:
    """Room for one STOP after the longest answer, and none for more."""
    longest = int((answer != STOP).sum(1).max())
    return F.pad(answer[:, :longest], (0, 1), value=STOP)


def sort(points: Tensor) -> Tensor:
    """The numbers' indices in ascending order.    points (B, n, 1) -> (B, n + 1)"""
    return _close(points[..., 0].argsort(1) + 1)


def tsp(points: Tensor, chunk: int = 128) -> Tensor:
    """The shortest tour through all points, from the first one, counter-clockwise.

    Held & Karp 1962: d(S, j) is the shortest way from point 0 through all of S to its member j,

        d(S, j) = min over i in S \\ {j} of  d(S \\ {j}, i) + |ij|,

    for all sets of one size and all rows at once. The direction is our choice, so that there is one
    answer: a shortest tour never crosses itself, and the sign of its area says which way round it goes.

    points (B, n, 2) -> (B, n + 1)
    """
    _need_points("a tour", 3, points)
    if points.shape[1] > LARGEST:
        raise ValueError(f"the exact tour is for up to {LARGEST} points, time and memory grow as 2ⁿ; "
                         f"these are {points.shape[1]}")  # fmt: skip
    return torch.cat([_held_karp(part.double()) for part in points.split(chunk)])


def _held_karp(x: Tensor) -> Tensor:
    distance, m = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist"), x.shape[1] - 1
    between = distance[:, 1:, 1:].permute(1, 2, 0).contiguous()  # (m, m, B): rows last, they are what is contiguous
    sets, bit = torch.arange(2**m), 2 ** torch.arange(m)  # bit j: point j + 1 is in the set
    inside = (sets[:, None] & bit) > 0  # (2ᵐ, m)
    best = x.new_full((2**m, m, len(x)), torch.inf)  # d(S, j)
    best[bit, torch.arange(m)] = distance[:, 0, 1:].mT
    for size in range(2, m + 1):
        for j in range(m):
            chosen = sets[(inside.sum(1) == size) & inside[:, j]]
            best[chosen, j] = (best[chosen - bit[j]] + between[j]).amin(1)  # (sets, m, B) -> (sets, B)
    rows, left = torch.arange(len(x)), torch.full((len(x),), 2**m - 1)
    tour = [torch.zeros_like(left)]
    for _ in range(m):  # from the end of the tour back to its start
        j = (best[left, :, rows] + distance[rows, tour[-1], 1:]).argmin(-1)  # (B,)
        tour.append(j + 1)
        left = left - bit[j]
    back = torch.stack(tour, 1) + 1  # (B, n): the first point, then the last, the last but one, …
    clockwise = area(x, back) < 0
    back[:, 1:] = torch.where(clockwise[:, None], back[:, 1:].flip(1), back[:, 1:])
    return _close(back)


def delaunay(points: Tensor) -> Tensor:
    """The triangles that hold no other point in their circumcircle: sorted by incentre, ascending indices in each.

    points (B, n, 2) -> (B, T), three symbols a triangle
    """
    _need_points("a triangulation", 3, points)
    answers = [_triangles(x) for x in points.double().numpy()]
    answer = torch.full((len(answers), max(map(len, answers))), STOP)
    for row, found in zip(answer, answers, strict=True):
        row[: len(found)] = torch.from_numpy(found) + 1
    return _close(answer)


def _triangles(x: np.ndarray) -> np.ndarray:
    """(n, 2) -> (3 · triangles,) from 0"""
    corners = np.sort(Delaunay(x).simplices.astype(np.int64), 1)  # (t, 3)
    a, b, c = x[corners].swapaxes(0, 1)  # (t, 2) each
    opposite = np.linalg.norm(np.stack([b - c, c - a, a - b], 1), axis=-1)  # (t, 3)
    centre = (opposite[..., None] * x[corners]).sum(1) / opposite.sum(1, keepdims=True)  # (t, 2)
    return corners[np.lexsort(centre.T[::-1])].ravel()


SOLVERS = {"hull": hull, "delaunay": delaunay, "tsp": tsp, "sort": sort}


def draw(task: str, rows: int, n: int, seed: int) -> Tensor:
    """Uniform points without an answer.    -> (rows, n, 2), or (rows, n, 1) to sort"""
    if task not in SOLVERS:
        raise ValueError(f"there is no task {task!r}; there are: {', '.join(SOLVERS)}")
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(rows, n, 1 if task == "sort" else 2, generator=rng)


def problems(task: str, rows: int, n: int, seed: int) -> Problems:
    """`rows` problems of n random points, with their answers; the same for the same seed.

    Tours of more than LARGEST points are those of local search: short, and nearly always the shortest.
    """
    points = draw(task, rows, n, seed)
    solver = short_tour if task == "tsp" and n > LARGEST else SOLVERS[task]
    target = solver(points)
    return Problems(points, torch.full((rows,), n), target, (target != STOP).sum(1) + 1)


def longest(task: str, n: int) -> int:
    """Symbols of the longest answer about n points, with its STOP. Of n points come at most 2n - 5 triangles."""
    return 1 + (3 * (2 * n - 5) if task == "delaunay" else n)


def together(*parts: Problems) -> Problems:
    """Problems of several sizes in one batch, padded with zeros."""
    n, T = (max(part[i].shape[1] for part in parts) for i in (0, 2))
    points = torch.cat([F.pad(p.points, (0, 0, 0, n - p.points.shape[1])) for p in parts])
    target = torch.cat([F.pad(p.target, (0, T - p.target.shape[1]), value=STOP) for p in parts])
    return Problems(points, torch.cat([p.sizes for p in parts]), target, torch.cat([p.lengths for p in parts]))


def _need_points(what: str, least: int, points: Tensor) -> None:
    if points.dim() != 3 or points.shape[-1] != 2 or points.shape[1] < least:
        raise ValueError(
            f"{what} needs at least {least} points in the plane, (B, n, 2); these are {tuple(points.shape)}"
        )


# ---- what may come next: rules for `pointer.feasible` ----
# written (B, t) int, what was chosen so far; real (B, 1 + n) bool -> allowed (B, 1 + n) bool


def anything(written: Tensor, real: Tensor) -> Tensor:
    """Whatever the network says."""
    return real


def polygons(written: Tensor, real: Tensor) -> Tensor:
    """No corner twice, and at least three of them."""
    allowed = real & ~_seen(written, real)
    allowed[:, STOP] = written.shape[1] >= 3
    return allowed


def tours(written: Tensor, real: Tensor) -> Tensor:
    """No point twice, and no stop before all of them were visited. Also for sorting."""
    allowed = real & ~_seen(written, real)
    allowed[:, STOP] = ~allowed[:, 1:].any(1)
    return allowed


def triangles(written: Tensor, real: Tensor) -> Tensor:
    """Threes of ascending indices, at least one of them."""
    t, place = written.shape[1], torch.arange(real.shape[1], device=real.device)
    left = real.sum(1, keepdim=True) - 1 - place  # (B, 1 + n): points that come after this one
    allowed = real & (place > 0) & (left >= 2 - t % 3)  # the rest of the triangle still fits
    if t % 3:
        allowed &= place > written[:, -1:]
    else:
        allowed[:, STOP] = t > 0
    ended = (written == STOP).any(1, keepdim=True)
    return torch.where(ended, place == STOP, allowed)


RULES = {"hull": polygons, "delaunay": triangles, "tsp": tours, "sort": tours}


def _seen(written: Tensor, real: Tensor) -> Tensor:
    return torch.zeros_like(real).scatter(1, written, True)


# ---- labelled sets, kept on disk: Delaunay and exact tours cost more than a training step ----


def folder() -> Path:
    """$ATTNCOURSE_CACHE, or `attncourse` in the user's cache folder."""
    if os.environ.get("ATTNCOURSE_CACHE"):
        return Path(os.environ["ATTNCOURSE_CACHE"]).expanduser()
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "attncourse"


def cached(task: str, rows: int, n: int, seed: int) -> Problems:
    """`problems`, made once. A damaged file is set aside, a folder that cannot be written to is done without."""
    file = folder() / f"{task}-{rows}x{n}-seed{seed}-v{VERSION}.bin"
    try:
        return _parse(file.read_bytes())
    except OSError:
        pass
    except ValueError:
        with suppress(OSError):
            os.replace(file, file.with_name(file.name + ".damaged"))
    made = problems(task, rows, n, seed)
    with suppress(OSError):
        _write(file, save(made._asdict()))
    return made


def _parse(data: bytes) -> Problems:
    digest, body = data[:32], data[32:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("not what was written")
    return Problems(**load(body))


def _write(file: Path, body: bytes) -> None:
    """In one move: whoever reads meanwhile finds all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(hashlib.sha256(body).digest() + body)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
