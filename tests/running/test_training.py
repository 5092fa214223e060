"""fit(): the same numbers after a kill, a clear word when the loss is gone, nothing half-written."""

import itertools
import json
import signal
import subprocess
import sys
import time

import pytest
import torch
from torch import nn

from attncourse.running.training import TrainingStopped, batches, fit


def data():
    rng = torch.Generator().manual_seed(5)
    x = torch.randn(64, 3, generator=rng)
    return batches((x, x.sum(-1, keepdim=True)), 16, seed=1)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 1))  # dropout: the random state matters


def loss(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def test_loss_falls_and_history_tells():
    history = fit(net(), data(), loss, 60, lr=1e-2, seed=0, device="cpu")
    assert len(history.loss) == 60
    assert history.smoothed()[-1] < history.loss[0] / 2
    assert "60 steps" in repr(history)
    assert history.plot().get_xlabel() == "step"


def test_same_seed_same_losses():
    assert fit(net(), data(), loss, 20, seed=3).loss == fit(net(), data(), loss, 20, seed=3).loss
    assert fit(net(), data(), loss, 20, seed=3).loss != fit(net(), data(), loss, 20, seed=4).loss


def test_resume_gives_the_remaining_losses(tmp_path):
    whole = fit(net(), data(), loss, 50, seed=0, schedule=lambda s: 1 / (1 + s))
    file = tmp_path / "run.pt"
    fit(net(), data(), loss, 23, seed=0, schedule=lambda s: 1 / (1 + s), checkpoint=file)
    resumed = fit(net(), data(), loss, 50, seed=0, schedule=lambda s: 1 / (1 + s), checkpoint=file)
    assert resumed.loss == whole.loss
    assert resumed.lr == whole.lr


SCRIPT = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
from test_training import data, loss, net
from attncourse.running.training import fit
def slow(model, batch):
    time.sleep(0.01)
    return loss(model, batch)
print(json.dumps(fit(net(), data(), slow, 300, seed=0, checkpoint=sys.argv[1], checkpoint_seconds=0.05).loss))
"""


def test_kill_minus_nine_and_resume(tmp_path, request):
    """A real process, really killed while it trains; the second one ends with the losses of an undisturbed run."""
    file = tmp_path / "run.pt"
    command = [sys.executable, "-c", SCRIPT, str(file), str(request.path.parent)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    assert first.poll() is None, "it should still be training"
    first.send_signal(signal.SIGKILL)
    first.wait()
    reached = torch.load(file, weights_only=True)["step"]
    assert 0 < reached < 300
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(second.stdout) == fit(net(), data(), loss, 300, seed=0).loss


def test_nan_stops_and_keeps_the_last_good_checkpoint(tmp_path):
    file = tmp_path / "run.pt"

    def breaks(model, batch):
        value = loss(model, batch)
        return value * float("nan") if next(steps) == 10 else value

    steps = itertools.count()
    with pytest.raises(TrainingStopped, match=r"loss is nan at step 10.*last good checkpoint is .*run\.pt"):
        fit(net(), data(), breaks, 20, seed=0, checkpoint=file, checkpoint_seconds=0)
    state = torch.load(file, weights_only=True)
    assert state["step"] == 10
    assert all(w.isfinite().all() for w in state["model"].values())


def test_weights_that_blew_up_are_not_saved(tmp_path):
    file = tmp_path / "run.pt"

    def explodes(model, batch):
        value = loss(model, batch)
        return value + (0 * model[0].weight.sum()).sqrt() if next(steps) == 5 else value  # gradient of sqrt at 0: NaN

    steps = itertools.count()
    with pytest.raises(TrainingStopped, match="at step 6"):
        fit(net(), data(), explodes, 20, seed=0, clip=None, checkpoint=file, checkpoint_seconds=0)
    assert torch.load(file, weights_only=True)["step"] == 5


def test_a_foreign_checkpoint_is_refused(tmp_path):
    file = tmp_path / "run.pt"
    file.write_bytes(b"not a checkpoint")
    with pytest.raises(ValueError, match="delete it to start afresh"):
        fit(net(), data(), loss, 5, checkpoint=file)
    assert file.read_bytes() == b"not a checkpoint"


def test_data_that_ends_early_is_said():
    with pytest.raises(ValueError, match="ended after 3 batches; 5 steps"):
        fit(net(), itertools.islice(data(), 3), loss, 5)


def test_measure_runs_in_eval_mode():
    seen = []
    history = fit(net(), data(), loss, 25, measure=lambda m: seen.append(m.training) or {"x": 1.0}, measure_every=10)
    assert [m["step"] for m in history.measured] == [10, 20, 25]
    assert seen == [False] * 3


def test_bf16(tmp_path):
    history = fit(net(), data(), loss, 60, lr=1e-2, seed=0, amp=torch.bfloat16, device="cpu")
    assert history.smoothed()[-1] < history.loss[0] / 2


def test_batches_cover_each_epoch_once():
    epoch = list(itertools.islice(batches((torch.arange(12),), 4, seed=0), 3))
    assert sorted(torch.cat([b[0] for b in epoch]).tolist()) == list(range(12))
    with pytest.raises(ValueError, match="batch size 13 does not fit 12"):
        next(batches((torch.arange(12),), 13))
