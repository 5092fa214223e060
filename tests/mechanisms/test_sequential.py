"""The sequential Jacobian against four oracles, and the four sequence models."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attncourse.bench import sequential as bench_sequential
from attncourse.bench.sequential import jacobian_by_loop, jacobian_by_vmap
from attncourse.mechanisms import sequential
from attncourse.mechanisms.sequential import ByteNet, by_distance, fitted_decay, sequential_jacobian

B, T, D, H, K = 2, 7, 3, 6, 4
CAUSAL = {
    "rnn": lambda: sequential.rnn(D, H, K),
    "lstm": lambda: sequential.lstm(D, H, K),
    "bytenet": lambda: ByteNet(D, H, K, (1, 2), (2, 0)),
}
BOTH_WAYS = {
    "bilstm": lambda: sequential.bilstm(D, H, K),
    "bytenet, both ways": lambda: ByteNet(D, H, K, (1, 2), (1, 1)),
}
ALL = CAUSAL | BOTH_WAYS


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def made(name):
    return ALL[name]().double().eval()


def data():
    return torch.randn(B, T, D, dtype=torch.float64)


@pytest.mark.parametrize("name", ALL)
def test_equals_separate_backward_passes_and_vmap(name):
    model, x = made(name), data()
    J = sequential_jacobian(model, x)
    assert J.shape == (B, T, T) and not J.requires_grad
    assert_close(J, jacobian_by_loop(model, x))
    assert_close(J, jacobian_by_vmap(model, x))


@pytest.mark.parametrize("name", ALL)
def test_equals_torch_autograd_functional(name):
    model, x = made(name), data()
    for row, J in zip(x, sequential_jacobian(model, x), strict=True):
        full = torch.autograd.functional.jacobian(lambda row: model(row[None])[0], row)  # (T, K, T, D)
        assert_close(J, full.square().sum((1, 3)).sqrt())


def test_a_linear_rnn_has_the_jacobian_that_the_formula_gives():
    """y_t = V h_t, h_t = W h_{t-1} + U x_t: the block at (t, s) is V W^(t-s) U."""
    W, U, V = (torch.randn(shape, dtype=torch.float64) for shape in ((H, H), (H, D), (K, H)))

    def linear(x):
        h, out = x.new_zeros(len(x), H), []
        for step in x.unbind(1):
            h = h @ W.T + step @ U.T
            out.append(h @ V.T)
        return torch.stack(out, 1)

    power = [torch.linalg.matrix_power(W, n) for n in range(T)]
    wanted = torch.zeros(T, T, dtype=torch.float64)
    for t in range(T):
        for s in range(t + 1):
            wanted[t, s] = torch.linalg.matrix_norm(V @ power[t - s] @ U)
    for J in sequential_jacobian(linear, data()):
        assert_close(J, wanted)


def test_a_pointwise_nonlinearity_by_hand():
    x = data()
    J = sequential_jacobian(torch.tanh, x)
    assert_close(J, torch.diag_embed((1 - x.tanh() ** 2).norm(dim=-1)))


def test_output_and_input_may_differ_in_length():
    model, x = made("rnn"), data()
    J = sequential_jacobian(lambda x: model(x)[:, -2:], x)
    assert_close(J, sequential_jacobian(model, x)[:, -2:])


@pytest.mark.parametrize("rows", [1, 3, 10_000])
def test_any_number_of_copies_gives_the_same(rows):
    model, x = made("lstm"), data()
    assert_close(sequential_jacobian(model, x, rows=rows), jacobian_by_loop(model, x))


@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", CAUSAL)
def test_causal_models_see_nothing_of_the_future(name, mode):
    J = sequential_jacobian(made(name).train(mode), data())
    assert (J.triu(1) == 0).all()
    assert (J.diagonal(dim1=1, dim2=2) > 0).any()


@pytest.mark.parametrize("name", ["rnn", "lstm", "bilstm"])
def test_recurrent_models_reach_everything_before(name):
    J = sequential_jacobian(made(name), data())
    assert (J.tril() > 0).sum() == B * T * (T + 1) / 2
    assert bool((J.triu(1) > 0).any()) == (name == "bilstm")


@pytest.mark.parametrize("taps", [(2, 0), (1, 1), (0, 2), (3, 1)])
def test_convolutions_reach_exactly_as_far_as_they_say(taps):
    model, size = ByteNet(D, 32, K, (1, 2), taps).double(), 16
    past, future = model.reach
    assert (past, future) == (3 * taps[0], 3 * taps[1])
    J = sequential_jacobian(model, torch.randn(3, size, D, dtype=torch.float64)).amax(0)
    distance = torch.arange(size)[:, None] - torch.arange(size)  # t - s
    assert ((J > 0) == ((distance <= past) & (distance >= -future))).all()


@pytest.mark.parametrize("name", ALL)
def test_padding_is_not_seen_and_changes_nothing(name):
    model, x, lengths = made(name), data(), torch.tensor([T, 4])
    y, J = model(x, lengths), sequential_jacobian(model, x, lengths)
    assert_close(model(x[1:, :4], lengths[1:])[0], y[1, :4])
    assert (J[1, :4, 4:] == 0).all()
    assert_close(sequential_jacobian(model, x[1:, :4])[0], J[1, :4, :4])
    wider = torch.cat([x, torch.randn(B, 3, D, dtype=torch.float64)], 1)  # rubbish, but beyond every length
    assert_close(model(wider, lengths)[1, :4], y[1, :4])


@pytest.mark.parametrize("name", ["rnn", "lstm"])
def test_models_are_torchs_layers_and_a_readout(name):
    model, x = made(name), data()
    assert_close(model(x), model.core(x)[0] @ model.out.weight.T + model.out.bias)


def test_bilstm_equals_torchs_packed_one():
    model, x, lengths = made("bilstm"), data(), torch.tensor([T, 4])
    oracle = nn.LSTM(D, H, batch_first=True, bidirectional=True).double()
    for part, suffix in ((model.ahead, ""), (model.back, "_reverse")):
        for name, value in part.named_parameters():
            oracle.get_parameter(name + suffix).data.copy_(value)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
    wanted, _ = nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    got = model(x, lengths)
    for row, n in enumerate(lengths):
        assert_close(got[row, :n], model.out(wanted[row, :n]))


def test_it_leaves_model_and_gradients_as_they_were():
    model, x = made("lstm").train(), data().requires_grad_()
    model(x).sum().backward()
    before = {name: p.grad.clone() for name, p in model.named_parameters()}
    gradient = x.grad.clone()
    with torch.no_grad():
        J = sequential_jacobian(model, x)
    assert (J > 0).any() and model.training
    assert_close({name: p.grad for name, p in model.named_parameters()}, before, rtol=0, atol=0)
    assert_close(x.grad, gradient, rtol=0, atol=0)


def test_errors_say_what_would_be_right():
    with pytest.raises(ValueError, match=r"symbols are embedded first; this is torch.int64 \(2, 7\)"):
        sequential_jacobian(made("rnn"), torch.zeros(2, 7, dtype=torch.long))
    with pytest.raises(ValueError, match=r"one tensor \(B, T, K\); it returned \(2, 7\)"):
        sequential_jacobian(lambda x: x.sum(-1), data())
    with pytest.raises(ValueError, match="an exponential has no zeros"):
        fitted_decay(torch.tensor([1.0, 0.5, 0.0]))


def test_profile_and_fitted_decay():
    distance = torch.arange(T)[:, None] - torch.arange(T)
    J = torch.where(distance >= 0, 3.0 * 0.7 ** distance.clamp(min=0), 0.0).expand(B, T, T)
    assert_close(by_distance(J), 3.0 * 0.7 ** torch.arange(T))
    assert fitted_decay(by_distance(J)) == pytest.approx(0.7, abs=1e-6)


def test_the_spectral_radius_is_the_decay_of_a_long_linear_rnn():
    W = torch.randn(H, H, dtype=torch.float64)
    W *= 0.9 / torch.linalg.eigvals(W).abs().max()
    model = sequential.rnn(D, H, K).double()
    model.core.weight_hh_l0.data.copy_(W)
    for bias in (model.core.bias_ih_l0, model.core.bias_hh_l0):
        nn.init.zeros_(bias)
    J = sequential_jacobian(model, 1e-3 * torch.randn(1, 120, D, dtype=torch.float64))  # tanh is linear near zero
    assert fitted_decay(by_distance(J), first=20) == pytest.approx(0.9, abs=0.01)


def test_bench_compares_three_ways_to_the_same_map():
    groups = bench_sequential.bench()
    assert [name.split(", ")[1] for name in groups] == ["RNN", "LSTM", "ByteNet"]
    fast, vmap, slow = next(iter(groups.values())).values()
    expected = fast()
    assert_close(vmap(), expected, rtol=1e-3, atol=1e-5)
    assert_close(slow(), expected, rtol=1e-3, atol=1e-5)
