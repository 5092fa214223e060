"""Say what is installed, what works here, and what to do about what does not."""

import argparse
import importlib.metadata
import platform
from collections.abc import Iterator

Finding = tuple[bool, str, str]  # is it well? what was seen; what to do about it


def arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(args: argparse.Namespace) -> int:
    problems = 0
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for report in (_versions, _device, _widgets, _weights, _data):
        for good, text, remedy in report():
            print(f"{'ok  ' if good else 'LOOK'}  {text}" + ("" if good else f"\n      -> {remedy}"))
            problems += not good
    print("Everything is in place." if not problems else f"{problems} to look at: see the lines marked LOOK.")
    return min(problems, 1)


def _versions() -> Iterator[Finding]:
    for name in ("torch", "numpy", "matplotlib", "ipywidgets", "anywidget", "Babel", "safetensors"):
        try:
            yield True, f"{name} {importlib.metadata.version(name)}", ""
        except importlib.metadata.PackageNotFoundError:
            yield False, f"{name} is not installed", f"pip install {name}"


def _device() -> Iterator[Finding]:
    import torch

    from ..running.training import best_device

    device = best_device()
    x = torch.randn(64, 64, device=device)
    good = bool(torch.isfinite(x @ x).all())
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    yield good, f"device {device.type} ({name})", "the device computes no finite product: check its driver"


def _widgets() -> Iterator[Finding]:
    from .. import widgets

    try:
        widgets.ScoreExplorer()
        yield True, "widgets can be built", ""
    except Exception as error:
        yield False, f"widgets fail: {error}", "pip install --upgrade ipywidgets anywidget"


def _weights() -> Iterator[Finding]:
    from .. import zoo

    for name in sorted(zoo.recipes()):
        try:
            card = zoo.load(name)[1]
            yield True, f"weights {name} ({card['parameters']:,} parameters)", ""
        except ValueError as error:
            yield False, f"weights {name}: {error}", "reinstall the package"


def _data() -> Iterator[Finding]:
    from ..tasks import dates

    example = dates.sample(1, seed=0)[0]
    yield True, f"data: dates ({example.text!r} is {example.iso})", ""
