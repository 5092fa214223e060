"""The pointer network: a loop over steps as the oracle, padding, permutations, rules, search."""

from functools import partial
from itertools import permutations

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from attncourse import bench
from attncourse.bench import pointer as pointer_bench
from attncourse.core import masks
from attncourse.core.symbols import shift_right
from attncourse.mechanisms import pointer
from attncourse.mechanisms.pointer import STOP, Attending, BothWays, ForwardEncoder, PointerNetwork, loss, solve
from attncourse.running import decoding
from attncourse.running.training import batches, fit
from attncourse.tasks import geometry as task

ENCODERS = {
    "ForwardEncoder": lambda: ForwardEncoder(2, 7),
    "BothWays": lambda: BothWays(2, 5),
    "Attending": lambda: Attending(2, 8, 2, 2, 12),
}


@pytest.fixture(params=ENCODERS)
def model(request):
    torch.manual_seed(0)
    return PointerNetwork(ENCODERS[request.param](), 6, 9).double()


def batch(*sizes, seed=0):
    made = task.together(*(task.problems("hull", 3, n, seed + n) for n in sizes))
    return made._replace(points=made.points.double())


# ---- the mechanism ----


def test_all_steps_at_once_are_one_step_after_another(model):
    """The paper's equations, item by item, with an LSTM cell: what one call computes for all steps."""
    points, sizes, target, _ = batch(4, 6)
    logits = model(points, sizes, shift_right(target, STOP))  # (B, T, 1 + n)
    read = model.encoder(points, sizes)
    state, cell = model.pointer.start(read.summary).tanh().chunk(2, -1)
    lstm = torch.nn.LSTMCell(model.pointer.lstm.input_size, model.pointer.lstm.hidden_size).double()
    lstm.load_state_dict({name.removesuffix("_l0"): value for name, value in model.pointer.lstm.state_dict().items()})
    W_1, W_2, v = model.pointer.score.W_k.weight, model.pointer.score.W_q.weight, model.pointer.score.v
    for b in range(len(points)):
        d, c, fed = state[b], cell[b], model.pointer.go
        for i, right in enumerate(target[b].tolist()):
            d, c = lstm(fed, (d, c))
            keys = [model.pointer.stop, *read.annotations[b, : sizes[b]]]
            u = torch.stack([v @ torch.tanh(W_1 @ e + W_2 @ d) for e in keys])
            assert_close(logits[b, i, : sizes[b] + 1], u)
            fed = model.pointer.go if right == STOP else read.inputs[b, right - 1]


def test_writing_step_by_step_is_what_was_trained(model):
    points, sizes, target, _ = batch(5, 7)
    trained, carry = model(points, sizes, shift_right(target, STOP)), model.begin(points, sizes)
    for i, previous in enumerate(shift_right(target, STOP).unbind(1)):
        logits, carry, weights = model.step(previous, carry)
        assert_close(logits, trained[:, i])
        assert_close(weights, masks.softmax(trained[:, i], carry.mask[:, 0]))
    assert torch.equal(carry.written, shift_right(target, STOP))


def test_padding_changes_nothing(model):
    points, sizes, target, lengths = batch(4, 6)
    alone = batch(4)
    logits = model(points, sizes, shift_right(target, STOP))[:3, : alone.target.shape[1]]
    assert_close(logits[..., :5], model(alone.points, alone.sizes, shift_right(alone.target, STOP)))
    assert (logits[..., 5:] == torch.finfo(torch.double).min).all()
    noisy = points.clone()
    noisy[:3, 4:] = 100.0
    assert_close(loss(model, (noisy, sizes, target, lengths)), loss(model, (points, sizes, target, lengths)))


def test_masked_positions_get_no_probability_and_gradients_are_finite(model):
    points, sizes, target, lengths = batch(4, 6)
    points.requires_grad_()
    logits = model(points, sizes, shift_right(target, STOP))
    weights = logits.softmax(-1)
    assert (weights[:3, :, 5:] == 0).all()
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    loss(model, (points, sizes, target, lengths)).backward()
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in model.parameters())
    assert points.grad.isfinite().all() and (points.grad[:3, 4:] == 0).all() and (points.grad[3:] != 0).all()


def test_gradcheck(model):
    points, sizes, target, _ = batch(3, 4)
    points = points[2:4].clone().requires_grad_()
    run = partial(_scores, model, sizes[2:4], shift_right(target, STOP)[2:4, :3])
    assert torch.autograd.gradcheck(run, points)


def _scores(model, sizes, previous, points):
    return model(points, sizes, previous).softmax(-1)  # finite on padding


def test_a_set_with_its_indices_may_lie_in_memory_in_any_order():
    torch.manual_seed(0)
    encoder, (points, sizes, *_) = Attending(2, 8, 2, 2, 12).double(), batch(6)
    x, order = torch.cat([points, pointer.index(points, sizes)], -1), torch.randperm(6)
    straight, shuffled = encoder.annotate(x, sizes), encoder.annotate(x[:, order], sizes)
    assert_close(straight.annotations[:, order], shuffled.annotations)
    assert_close(straight.summary, shuffled.summary)
    other = encoder(points[:, order], sizes).annotations  # with new indices it is another problem
    assert not torch.allclose(straight.annotations[:, order], other)


def test_the_index_runs_from_0_to_1_whatever_the_size():
    points = torch.zeros(3, 5, 2)
    place = pointer.index(points, torch.tensor([5, 3, 1]))[..., 0]
    assert place[0].tolist() == [0, 0.25, 0.5, 0.75, 1] and place[1, :3].tolist() == [0, 0.5, 1] and place[2, 0] == 0


def test_both_ends_of_both_directions_are_in_the_summary():
    """Each half has read all items: it depends on the first and on the last one."""
    encoder, points = BothWays(2, 4).double(), torch.rand(1, 6, 2).double().requires_grad_()
    for half in encoder(points, torch.tensor([6])).summary[0].chunk(2):
        (grad,) = torch.autograd.grad(half.sum(), points, retain_graph=True)
        assert (grad[0, [0, -1]].abs() > 1e-8).all()


def test_the_loss_is_of_logits_and_counts_no_padding():
    points, sizes, target, lengths = batch(4, 6)

    def says(sure):
        return lambda items, sizes, previous: sure * F.one_hot(target, 7).double()

    assert loss(says(50.0), (points, sizes, target, lengths)) < 1e-12
    uniform = loss(says(0.0), (points, sizes, target, lengths)).item()
    assert uniform == pytest.approx(torch.tensor(7.0).log().item())
    beyond = torch.arange(target.shape[1]) >= lengths[:, None]
    assert beyond.any()

    def wrong_after_the_end(items, sizes, previous):
        return 50.0 * F.one_hot(target.masked_fill(beyond, 3), 7).double()

    assert loss(wrong_after_the_end, (points, sizes, target, lengths)) < 1e-12


def test_a_second_softmax_has_a_floor():
    """What the loss's docstring says: certain and right, and still 0.905 with five positions."""
    target = torch.tensor([[2, 0]])
    certain = lambda *_: F.one_hot(target, 5).double()  # noqa: E731
    found = loss(certain, (torch.rand(1, 4, 2), torch.tensor([4]), target, torch.tensor([2])))
    assert found.item() == pytest.approx(0.905, abs=5e-4)


# ---- search under rules ----


def random_answers(model, rule, steps, search=decoding.greedy, n=(5, 8)):
    made = batch(*n)
    with torch.no_grad():
        model.pointer.score.v.mul_(20)  # an untrained network, but one with firm opinions
    return made, solve(model, made.points, made.sizes, rule, steps, search)


@pytest.mark.parametrize("search", [decoding.greedy, partial(decoding.beam, width=3)])
def test_tours_visit_every_point_once(model, search):
    made, out = random_answers(model, task.tours, 9, search)
    for row, size in zip(out.symbols.tolist(), made.sizes.tolist(), strict=True):
        assert sorted(row[:size]) == list(range(1, size + 1)) and set(row[size:]) <= {STOP}


@pytest.mark.parametrize("search", [decoding.greedy, partial(decoding.beam, width=3)])
def test_polygons_have_three_corners_or_more_and_none_twice(model, search):
    made, out = random_answers(model, task.polygons, 9, search)
    for row, size in zip(out.symbols.tolist(), made.sizes.tolist(), strict=True):
        corners = row[: row.index(STOP)] if STOP in row else row
        assert 3 <= len(corners) == len(set(corners)) and max(corners) <= size


def test_triangles_ascend(model):
    made, out = random_answers(model, task.triangles, 13)
    for row, size in zip(out.symbols.tolist(), made.sizes.tolist(), strict=True):
        corners = row[: row.index(STOP)] if STOP in row else row[:12]
        assert len(corners) % 3 == 0 and max(corners) <= size
        assert all(a < b < c for a, b, c in zip(*(corners[i::3] for i in range(3)), strict=True))


def test_an_unruly_network_repeats_itself(model):
    """The same networks do name a point twice where only the stop is forbidden, so that the tests above can fail."""
    _, out = random_answers(model, lambda written, real: real & (torch.arange(real.shape[1]) != STOP), 5)
    assert any(len(set(row)) < 5 for row in out.symbols.tolist())


def test_what_a_rule_forbids_has_no_chance_and_the_rest_is_shared_out(model):
    made, out = random_answers(model, task.tours, 9, n=(7,))
    assert_close(out.weights.sum(-1), torch.ones_like(out.weights[..., 0]))
    free = solve(model, made.points, made.sizes, task.anything, 1).weights[:, 0]  # the first step, unruled
    assert_close(out.weights[:, 0, 1:], free[:, 1:] / free[:, 1:].sum(1, keepdim=True))  # all but the stop
    for t in range(1, 7):
        assert (out.weights[:, t].gather(1, out.symbols[:, :t]) == 0).all()


def test_greedy_is_the_most_probable_step_after_step(model):
    """A loop over whole training passes, one for each prefix."""
    made, out = random_answers(model, task.anything, 6)
    prefix = torch.full((len(made.points), 1), STOP)
    while prefix.shape[1] <= out.symbols.shape[1]:
        choice = model(made.points, made.sizes, prefix)[:, -1].argmax(-1)
        ended = (prefix[:, 1:] == STOP).any(1)
        prefix = torch.cat([prefix, choice.masked_fill(ended, STOP)[:, None]], 1)
    assert torch.equal(out.symbols, prefix[:, 1:])


def test_a_wide_beam_finds_the_most_probable_tour(model):
    """As many hypotheses as there are tours of four points: the best of all, by enumeration."""
    made, out = random_answers(model, task.tours, 5, partial(decoding.beam, width=24), n=(4,))
    every = torch.tensor([[*p, STOP] for p in permutations(range(1, 5))])  # (24, 5)
    real = torch.ones(24, 5, dtype=torch.bool)
    for b in range(len(made.points)):
        points, sizes = made.points[b : b + 1].expand(24, -1, -1), made.sizes[b : b + 1].expand(24)
        allowed = torch.stack([task.tours(every[:, :t], real) for t in range(5)], 1)
        log_p = masks.fill(model(points, sizes, shift_right(every, STOP)), allowed).log_softmax(-1)  # (24, 5, 5)
        total = log_p.gather(2, every[..., None])[..., 0].sum(1)
        assert out.symbols[b].tolist() == every[total.argmax()].tolist()
        assert out.log_prob[b].item() == pytest.approx(total.max().item(), abs=1e-5)


def test_it_learns_to_sort():
    torch.manual_seed(0)
    made = task.problems("sort", 512, 4, seed=1)
    model = PointerNetwork(Attending(1, 16, 1, 2, 32), 16, 16)
    history = fit(model, batches(made, 64), loss, 150, lr=5e-3, device="cpu", seed=0)
    assert history.smoothed()[-1] < 0.5 * history.loss[0]
    fresh = task.problems("sort", 200, 4, seed=2)
    answer = solve(model, fresh.points, fresh.sizes, task.tours, 5).symbols
    assert (answer == fresh.target).all(1).float().mean() > 0.5  # chance is 1/24


# ---- the benchmark ----


def test_the_loop_of_the_benchmark_is_the_same_network(model):
    points, sizes, target, _ = batch(5)
    assert_close(
        pointer_bench.one_by_one(model, points, sizes, shift_right(target, STOP)),
        model(points, sizes, shift_right(target, STOP)),
    )


def test_the_bench_runs_on_small_sizes():
    assert "pointer" in bench.SUITES
    for candidates in pointer_bench.bench(n=5, rows=4, d_hidden=8).values():
        assert all(ratio[0] > 0 for ratio in bench.compare(candidates, rounds=2).values())
