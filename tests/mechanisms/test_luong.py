"""Luong's family: every scope against the paper written out, every combination through one decoder."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from attncourse import bench
from attncourse.bench import seq2seq as bench_seq2seq
from attncourse.core import masks
from attncourse.core.scores import Additive, General, Location, dot
from attncourse.core.symbols import BEGIN, END
from attncourse.mechanisms.luong import Global, InputFeeding, LocalM, LocalP, Luong, NoFeeding, attend_window
from attncourse.mechanisms.seq2seq import nll
from attncourse.running.decoding import beam, greedy

H, S = 6, 9
SCORES = {"dot": lambda: dot, "general": lambda: General(H, H), "concat": lambda: Additive(H, H, 4),
          "location": lambda: Location(H, 20)}  # fmt: skip
SCOPES = {"global": Global, "local-m": lambda: LocalM(2), "local-p": lambda: LocalP(H, 2)}
FEEDING = {"feeding": InputFeeding, "none": NoFeeding}
KINDS = [k for k in product(SCORES, SCOPES, FEEDING) if k[0] != "location" or k[1] == "global"]


def make(score="general", scope="global", feeding="feeding"):
    torch.manual_seed(0)
    parts = SCORES[score](), SCOPES[scope](), FEEDING[feeding]()
    return Luong(20, 11, *parts, d_embed=5, d_hidden=H).double().eval()


def batch():
    torch.manual_seed(1)
    return torch.randint(4, 20, (4, S)), torch.tensor([9, 4, 1, 6])


def parts(Tq=3):
    torch.manual_seed(2)
    query, keys, values = torch.randn(4, Tq, H), torch.randn(4, S, H), torch.randn(4, S, 5)
    return query.double(), keys.double(), values.double(), masks.padding(batch()[1], S)


# ---- the window ----


@pytest.mark.parametrize("radius", [0, 1, 2, 5, 30])
def test_the_gathered_window_equals_a_mask_over_everything(radius):
    query, keys, values, mask = parts()
    centre = torch.tensor([[0.0, 3.5, 8.99], [-4.0, 2.0, 40.0], [0.2, 0.0, 1.0], [5.49, 5.5, 5.51]]).double()
    context, weights = attend_window(query, keys, values, dot, mask, centre, radius)
    whole = masks.softmax(dot(query, keys), masks.window(centre, S, radius) & mask)
    assert_close(weights, whole)
    assert_close(context, whole @ values)
    assert (weights[1, 0] == 0).all() or radius > 3  # nothing of the sentence in the window: zeros, not NaN


def local_p_loop(scope, query, keys, values, score, lengths):
    """The paper's section 3.2, one query and one position at a time."""
    weights = torch.zeros(*query.shape[:2], keys.shape[1], dtype=query.dtype)
    for b, t in product(range(len(query)), range(query.shape[1])):
        n, h = int(lengths[b]), query[b, t]
        p = n * torch.sigmoid(scope.v_p.weight[0] @ torch.tanh(scope.W_p.weight @ h))
        window = [s for s in range(n) if p - scope.radius <= s <= p + scope.radius]
        e = torch.stack([score(h[None], keys[b, s][None])[0, 0] for s in window])
        a = e.exp() / e.exp().sum()
        sigma = scope.radius / 2
        for s, weight in zip(window, a, strict=True):
            weights[b, t, s] = weight * torch.exp(-((s - p) ** 2) / (2 * sigma**2))
    return weights @ values, weights


def test_local_p_equals_the_paper_written_out():
    query, keys, values, mask = parts()
    scope = LocalP(H, 2).double()
    t = torch.zeros(4, 3, dtype=torch.long)
    context, weights = scope(query, keys, values, dot, mask, t)
    expected = local_p_loop(scope, query, keys, values, dot, batch()[1])
    assert_close((context, weights), expected)
    assert (weights.sum(-1) < 1).all()  # multiplied after the softmax and not normalised again


def test_local_p_is_differentiable_in_its_centre():
    query, keys, values, mask = parts()
    scope = LocalP(H, 2).double()
    t = torch.zeros(4, 3, dtype=torch.long)
    scope(query, keys, values, dot, mask, t)[0].square().sum().backward()
    assert all(p.grad.abs().max() > 1e-4 for p in scope.parameters())

    def read(centre, query, keys, values):
        def near(distance):
            return torch.exp(-distance.square() / 2)

        return attend_window(query, keys, values, dot, mask, centre, 2, near)[0]

    centre = torch.tensor([[0.3, 3.6, 7.7], [1.2, 2.3, 2.8], [0.4, 0.1, 0.7], [5.4, 4.2, 1.3]]).double()
    inputs = [x.detach().requires_grad_() for x in (centre, query, keys, values)]
    assert torch.autograd.gradcheck(read, inputs)


def test_without_the_gaussian_the_centre_would_learn_nothing():
    query, keys, values, mask = parts()
    centre = torch.full((4, 3), 1.3, dtype=torch.double, requires_grad=True)
    context, _ = attend_window(query, keys, values, dot, mask, centre, 2)
    assert not context.requires_grad  # the window's edges move in jumps


def test_local_m_looks_around_the_targets_own_position():
    query, keys, values, mask = parts()
    t = torch.tensor([[0, 4, 8]] * 4)
    _, weights = LocalM(1)(query, keys, values, dot, mask, t)
    assert [row.nonzero()[:, 0].tolist() for row in weights[0]] == [[0, 1], [3, 4, 5], [7, 8]]
    assert_close(weights[0].sum(-1), torch.ones(3).double())


# ---- the decoder ----


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_steps_one_by_one_equal_the_whole(kind):
    model, (source, lengths) = make(*kind), batch()
    previous = torch.randint(4, 11, (4, 5))
    logits, weights = model(source, lengths, previous)
    carry = model.begin(source, lengths)
    for t, y in enumerate(previous.unbind(1)):
        logit, carry, weight = model.step(y, carry)
        assert_close((logit, weight), (logits[:, t], weights[:, t]))
    assert weights.shape == (4, 5, S) and (weights >= 0).all()


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_padding_changes_nothing(kind):
    model, (source, lengths) = make(*kind), batch()
    previous = torch.randint(4, 11, (4, 5))
    logits, weights = model(source, lengths, previous)
    wider = torch.cat([source, torch.randint(4, 20, (4, 3))], 1)
    more_logits, more_weights = model(wider, lengths, previous)
    assert_close((more_logits, more_weights[..., :S]), (logits, weights))
    for row, n in enumerate(lengths):
        alone, _ = model(source[row : row + 1, :n], lengths[row : row + 1], previous[row : row + 1])
        assert_close(alone[0], logits[row])


def test_a_step_equals_the_paper_written_out():
    """h_t first, then the look with h_t (not h_{t-1}), then h̃_t; the second step is fed the first one's h̃."""
    model, (source, lengths) = make(), batch()
    decoder, carry = model.decoder, model.begin(source[:1], lengths[:1])
    bars, h, attentional = carry.values[0], carry.state[0], torch.zeros(H).double()
    gru = decoder.rnn
    for y in (BEGIN, 7):
        x = torch.cat([decoder.embed.weight[y], attentional])
        gates_x = (gru.weight_ih_l0 @ x + gru.bias_ih_l0).chunk(3)
        gates_h = (gru.weight_hh_l0 @ h + gru.bias_hh_l0).chunk(3)
        r, z = torch.sigmoid(gates_x[0] + gates_h[0]), torch.sigmoid(gates_x[1] + gates_h[1])
        h = (1 - z) * torch.tanh(gates_x[2] + r * gates_h[2]) + z * h
        a = torch.stack([h @ decoder.score.W.weight @ bar for bar in bars]).softmax(0)
        context = sum(w * bar for w, bar in zip(a, bars, strict=True))
        attentional = torch.tanh(decoder.combine.weight @ torch.cat([context, h]))
        logits, carry, weights = model.step(torch.tensor([y]), carry)
        assert_close(weights[0], a)
        assert_close(logits[0], decoder.out.weight @ attentional + decoder.out.bias)


def test_feeding_carries_the_decision_on():
    """With feeding, the second step depends on the first one's h̃; without it, only the state goes on."""
    for feeding, differs in (("feeding", True), ("none", False)):
        model, (source, lengths) = make(feeding=feeding), batch()
        carry = model.begin(source, lengths)
        other = carry._replace(attentional=torch.ones_like(carry.attentional))
        y = torch.full((4,), 5)
        assert torch.equal(model.step(y, carry)[0], model.step(y, other)[0]) is not differs


def test_both_searches_take_it_and_it_learns():
    model, (source, lengths) = make(scope="local-p").float().train(), batch()
    target = torch.tensor([[5, 6, END], [7, END, 0], [8, END, 0], [9, 10, END]])
    target_lengths = torch.tensor([3, 2, 2, 3])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    previous = torch.cat([torch.full((4, 1), BEGIN), target[:, :-1]], 1)
    for _ in range(120):
        loss = nll(model(source, lengths, previous)[0], target, target_lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1
    model.eval()
    found = greedy(model.step, model.begin(source, lengths), BEGIN, END, max_steps=6)
    assert found.symbols[:, :2].tolist() == [[5, 6], [7, END], [8, END], [9, 10]]
    assert torch.equal(
        beam(model.step, model.begin(source, lengths), BEGIN, END, 6).symbols[:, :2], found.symbols[:, :2]
    )


def test_the_bench_runs_on_small_sizes():
    groups = bench_seq2seq.bench(vocab=30, d_hidden=8, rows=2, size=4, sizes=(4, 40))
    assert "seq2seq" in bench.SUITES
    assert any("training step" in title for title in groups) and any("greedy" in title for title in groups)
    assert sum("S 40" in name for group in groups.values() for name in group) >= 2
    for group in groups.values():
        for run in group.values():
            run()
