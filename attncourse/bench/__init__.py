"""Ratios measured in one run, the candidates interleaved, with their spread: never a timed test.

A suite is a module of this package with a function `bench() -> {title: {name: what is timed}}`; the first candidate of
a group is the measure of the others.
"""

import importlib
import statistics
import time
from collections.abc import Callable

Groups = dict[str, dict[str, Callable[[], object]]]  # title -> name -> what is timed; the first is the measure
SUITES = ("core", "seq2seq", "glimpse", "transformer", "ntm", "pointer", "sagan")


def suite(name: str) -> Groups:
    """The groups of one suite."""
    return importlib.import_module(f"{__name__}.{name}").bench()


def compare(candidates: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, tuple[float, float, float]]:
    """Seconds of each candidate beside the first one's *in the same round*, so that a busy machine slows both.

    -> {name: (median ratio, lower quartile, upper quartile)}; 2.0 means twice as slow as the first
    """
    for run in candidates.values():
        run()  # warm caches and allocators
    seconds = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    base = next(iter(seconds.values()))
    result = {}
    for name, times in seconds.items():
        low, median, high = statistics.quantiles([t / b for t, b in zip(times, base, strict=True)], n=4)
        result[name] = (median, low, high)
    return result
