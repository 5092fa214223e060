"""One fit() for every notebook and for the command line."""

import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TrainingStopped(RuntimeError):
    """The loss is no longer a number; the last good checkpoint is kept."""


def best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def to(batch: Any, device: torch.device) -> Any:
    """Move a tensor, or a (named) tuple or list of them, to the device; leave other things alone."""
    if isinstance(batch, (tuple, list)):
        moved = [to(x, device) for x in batch]
        return type(batch)(*moved) if hasattr(batch, "_fields") else type(batch)(moved)
    return batch.to(device) if isinstance(batch, Tensor) else batch


def batches(tensors: Sequence[Tensor], size: int, seed: int = 0) -> Iterator[tuple[Tensor, ...]]:
    """Shuffled batches, epoch after epoch, without end; the same for the same seed."""
    n = len(tensors[0])
    if not 0 < size <= n:
        raise ValueError(f"batch size {size} does not fit {n} examples")
    rng = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(n, generator=rng)
        for start in range(0, n - size + 1, size):
            index = order[start : start + size]
            yield tuple(x[index] for x in tensors)


@dataclass
class History:
    """What fit() saw. `plot()` draws it; in a notebook it shows one line."""

    loss: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    measured: list[dict[str, float]] = field(default_factory=list)  # one a measurement, with its "step"
    seconds: float = 0.0

    def smoothed(self, window: int = 20) -> list[float]:
        """Each step's mean over the last `window` steps."""
        return [fmean(self.loss[max(0, i + 1 - window) : i + 1]) for i in range(len(self.loss))]

    def plot(self, ax: "Axes | None" = None, label: str | None = None, title: str = "Does the loss fall?") -> "Axes":
        from . import plots

        return plots.curves({label or "loss": self.smoothed()}, xlabel="step", ylabel="loss", title=title, ax=ax)

    def __repr__(self) -> str:
        if not self.loss:
            return "History(no steps)"
        first, last = self.loss[0], self.smoothed()[-1]
        return f"{len(self.loss)} steps: loss {first:.3f} at the first, {last:.3f} over the last twenty"


def fit(
    model: nn.Module,
    data: Iterable,
    loss: Callable[[nn.Module, tuple], Tensor],
    steps: int,
    *,
    lr: float = 1e-3,
    optimizer: torch.optim.Optimizer | None = None,
    schedule: Callable[[int], float] | None = None,
    clip: float | None = 1.0,
    device: torch.device | str | None = None,
    amp: torch.dtype | None = None,
    seed: int | None = None,
    measure: Callable[[nn.Module], dict[str, float]] | None = None,
    measure_every: int = 100,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_seconds: float = 60.0,
) -> History:
    """Train `model` for `steps` batches of `data` and return the History.

    loss(model, batch) -> scalar. `schedule(step)` multiplies the learning rate (step counts from 0).
    `amp` is torch.bfloat16 or torch.float16. `measure(model)` runs in eval mode every `measure_every` steps.

    With `checkpoint`, the whole state is written there every `checkpoint_seconds`. If the file exists,
    training goes on from it: the data is wound forward and the random state restored, so that the remaining
    losses are the ones an uninterrupted run would have had. The data must start the same each time.
    """
    device = torch.device(device) if device is not None else best_device()
    model.to(device)
    if seed is not None:
        torch.manual_seed(seed)
        random.seed(seed)
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    run = _Run(model, optimizer, schedule or (lambda step: 1.0), device, amp)
    source = iter(data)
    if checkpoint is not None and Path(checkpoint).exists():
        run.resume(checkpoint, source)
    saved = time.monotonic()
    with tqdm(total=steps, initial=run.step, unit="step", leave=False, file=sys.stderr) as bar:
        while run.step < steps:
            try:
                batch = to(next(source), device)
            except StopIteration:
                raise ValueError(f"the data ended after {run.step} batches; {steps} steps were asked for") from None
            try:
                value = run.advance(batch, loss, clip)
            except FloatingPointError as error:
                kept = f"the last good checkpoint is {checkpoint}" if checkpoint else "no checkpoint was asked for"
                raise TrainingStopped(f"{error}; {kept}. Try a smaller learning rate or gradient clipping.") from None
            bar.update()
            bar.set_postfix(loss=f"{value:.3f}", refresh=False)
            if measure is not None and (run.step % measure_every == 0 or run.step == steps):
                model.eval()
                with torch.no_grad():
                    run.history.measured.append({"step": run.step, **measure(model)})
            if checkpoint is not None and (time.monotonic() - saved > checkpoint_seconds or run.step == steps):
                run.save(Path(checkpoint))
                saved = time.monotonic()
    model.eval()
    return run.history


class _Run:
    """What must survive a kill: weights, optimiser, schedule, scaler, step, random state, history."""

    def __init__(self, model, optimizer, schedule, device, amp):
        self.device, self.amp, self.step, self.history = device, amp, 0, History()
        self.model, self.optimizer = model, optimizer
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
        self.scaler = torch.amp.GradScaler(device.type, enabled=amp is torch.float16)

    @property
    def parts(self) -> dict:
        return {
            "model": self.model,
            "optimizer": self.optimizer,
            "scheduler": self.scheduler,
            "scaler": self.scaler,
        }

    def advance(self, batch: Any, loss: Callable, clip: float | None) -> float:
        """One step of gradient descent; returns the loss before it."""
        started = time.monotonic()
        self.model.train()
        with torch.autocast(self.device.type, self.amp, enabled=self.amp is not None):
            value = loss(self.model, batch)
        number = value.item()
        if not math.isfinite(number):
            before = ", ".join(f"{x:.3g}" for x in self.history.loss[-3:]) or "none"
            raise FloatingPointError(f"the loss is {number} at step {self.step} (the last ones: {before})")
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(value).backward()
        if clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.history.loss.append(number)
        self.history.lr.append(float(self.scheduler.get_last_lr()[0]))
        self.scheduler.step()
        self.step += 1
        self.history.seconds += time.monotonic() - started
        return number

    def save(self, path: Path) -> None:
        """Replace the file in one move, so that a kill leaves the old one or the new one, never half of one."""
        weights = self.model.state_dict().values()
        if not all(w.isfinite().all() for w in weights if w.is_floating_point()):
            return  # the next loss will stop the run; keep the last good file
        state = {name: part.state_dict() for name, part in self.parts.items()}
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        state["random"] = {"torch": torch.get_rng_state(), "cuda": cuda, "python": random.getstate()}
        state |= {"step": self.step, "history": asdict(self.history)}
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        torch.save(state, temporary)
        os.replace(temporary, path)

    def resume(self, path: str | os.PathLike, source: Iterator) -> None:
        """Take up a saved run: load it, wind the data forward, and only then restore the random state."""
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            for name, part in self.parts.items():
                part.load_state_dict(state[name])
        except Exception as error:
            message = f"{path} is not a checkpoint of this model ({error}); delete it to start afresh"
            raise ValueError(message) from error
        self.step, self.history = state["step"], History(**state["history"])
        for _ in islice(source, self.step):
            pass
        torch.set_rng_state(state["random"]["torch"].cpu())
        if state["random"]["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([x.cpu() for x in state["random"]["cuda"]])
        version, internal, gauss = state["random"]["python"]
        random.setstate((version, tuple(internal), gauss))
