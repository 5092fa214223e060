"""Trained models: float16 weights, and a card each that says how they were made and what they reach.

>>> model, card = zoo.load("bahdanau-dates")

A recipe (one module of this package per task) knows how to build, train and evaluate its model;
`attncourse train NAME` runs it and writes the two files of `weights/`.
"""

import hashlib
import importlib
import json
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import nn

from ..errors import BadInput
from ..running import record
from ..running.training import History

WEIGHTS = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Recipe:
    """How a zoo model comes to be. `config` is kept in the card and is all that `build` needs."""

    name: str
    about: str  # one line for `attncourse train --list`
    config: Callable[[], dict]
    build: Callable[[dict], nn.Module]
    train: Callable[..., History]  # train(model, config, seed, steps, checkpoint, device)
    steps: int
    evaluate: Callable[[nn.Module, dict, int], dict[str, float]]  # evaluate(model, config, seed) -> metrics


class UnknownModel(BadInput):
    pass


class DamagedWeights(BadInput):
    pass


@cache
def _recipes_in(module: str) -> dict[str, Recipe]:
    return {recipe.name: recipe for recipe in importlib.import_module(f"{__name__}.{module}").RECIPES}


@cache
def _modules() -> dict[str, str]:
    """Every model -> the module of its recipe; loads them all."""
    return {name: m.name for m in pkgutil.iter_modules(__path__) for name in _recipes_in(m.name)}


def recipes() -> dict[str, Recipe]:
    return {name: _recipes_in(module)[name] for name, module in _modules().items()}


def recipe(name: str) -> Recipe:
    """A model that ships has its module in its card: then no other mechanism is loaded."""
    try:
        module = json.loads((WEIGHTS / f"{name}.json").read_text(encoding="utf-8"))["recipe"]
        return _recipes_in(module)[name]
    except (OSError, ValueError, KeyError, ImportError):
        pass
    if name not in _modules():
        raise UnknownModel(f"there is no model {name!r} in the zoo; there are: {', '.join(sorted(_modules()))}")
    return recipes()[name]


def card(name: str, folder: Path = WEIGHTS) -> dict:
    recipe(name)
    record.used("model", name)
    try:
        return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"{name} has no weights in {folder.name}/; `attncourse train {name}` makes them"
        raise DamagedWeights(message) from None
    except ValueError as error:
        raise DamagedWeights(f"the card {name}.json is damaged ({error}); reinstall the package") from None


def load(name: str, device: torch.device | str = "cpu", folder: Path = WEIGHTS) -> tuple[nn.Module, dict]:
    """The model in eval mode with its trained weights (float32), and its card."""
    about = card(name, folder)
    data = (folder / f"{name}.safetensors").read_bytes()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        message = f"{name}.safetensors is not the file its card describes (checksum differs); reinstall the package"
        raise DamagedWeights(message)
    model = recipe(name).build(about["config"])
    try:
        model.load_state_dict({k: v.float() for k, v in load_tensors(data).items()})
    except RuntimeError as error:
        raise DamagedWeights(f"{name}'s weights do not fit its model, the code has changed: {error}") from None
    return model.to(device).eval(), about


def train(name: str, folder: Path, seed: int = 0, steps: int | None = None, device=None, beside: bool = False) -> dict:
    """Train from scratch, or go on from a checkpoint in `folder`; write weights and card there.

    `beside`: a run with another seed, of which only the numbers are kept, in `runs` of the card that is there.
    """
    if beside:
        card(name, folder)  # complain before the training, not after it
    chosen = recipe(name)
    config, steps = chosen.config(), steps or chosen.steps
    checkpoint = folder / f"{name}.seed{seed}.checkpoint"
    torch.manual_seed(seed)
    model = chosen.build(config)
    history = chosen.train(model, config, seed=seed, steps=steps, checkpoint=checkpoint, device=device)
    command = f"attncourse train {name} --seed {seed} --steps {steps}"
    about = write(name, model, history, folder, seed, steps, beside, command)
    checkpoint.unlink(missing_ok=True)
    return about


def write(
    name: str, model: nn.Module, history: History, folder: Path, seed: int, steps: int, beside: bool, command: str
) -> dict:
    """Measure a trained model as it ships, and write weights and card, or its numbers into the card that is there."""
    chosen = recipe(name)
    config = chosen.config()
    used = next(model.parameters()).device
    half = {k: v.detach().cpu().half() for k, v in model.state_dict().items()}
    data = save_tensors(half)
    model.load_state_dict({k: v.float() for k, v in half.items()})  # measure what ships
    about = {
        "name": name,
        "recipe": _modules()[name],
        "about": chosen.about,
        "command": command,
        "seed": seed,
        "steps": steps,
        "minutes": round(history.seconds / 60, 1),
        "device": used.type,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__.split("+")[0],
        "parameters": sum(p.numel() for p in model.parameters()),
        "final_loss": round(history.smoothed()[-1], 5),
        "metrics": {k: round(v, 5) for k, v in chosen.evaluate(model, config, seed + 1000).items()},
        "metrics_seed": seed + 1000,
        "sha256": hashlib.sha256(data).hexdigest(),
        "config": config,
    }
    folder.mkdir(parents=True, exist_ok=True)
    if beside:
        run = {key: about[key] for key in ("command", "seed", "minutes", "metrics", "metrics_seed")}
        about = card(name, folder)
        about["runs"] = [old for old in about.get("runs", []) if old["seed"] != seed] + [run]
    else:
        (folder / f"{name}.safetensors").write_bytes(data)
    (folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return about


def seeds(name: str, metric: str) -> list[float]:
    """The metric of the shipped run and of every run beside it."""
    about = card(name)
    return [run["metrics"][metric] for run in (about, *about.get("runs", []))]


def evaluate(name: str, seed: int, device="cpu", folder: Path = WEIGHTS) -> dict:
    """Measure the shipped weights afresh, on data drawn with this seed."""
    model, about = load(name, device, folder)
    started = time.perf_counter()
    metrics = recipe(name).evaluate(model, about["config"], seed)
    return {
        "name": name,
        "seed": seed,
        "metrics": metrics,
        "seconds": round(time.perf_counter() - started, 2),
    }
