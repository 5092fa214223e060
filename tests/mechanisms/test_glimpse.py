"""Hard attention: the sensor against slicing, the policy against torch.distributions, REINFORCE against enumeration."""

import math

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import norm
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributions import Normal
from torch.testing import assert_close

from attncourse import bench
from attncourse.bench.glimpse import loop_glimpse
from attncourse.mechanisms.glimpse import (
    RAM,
    Looks,
    PlaceChoice,
    SpatialTransformer,
    affine_read,
    draw_read,
    filterbank,
    gaussian,
    glimpse,
    greedy,
    hybrid,
    returns,
    uniform,
)


def middle(row, column, size, rows, columns):
    """The place (x, y) of the window of `size` pixels whose corner is (row, column)."""
    return [(2 * column + size) / columns - 1, (2 * row + size) / rows - 1]


def pixel(image, row, column):
    """0 outside."""
    inside = 0 <= row < image.shape[0] and 0 <= column < image.shape[1]
    return image[row, column].item() if inside else 0.0


def between(image, row, column):
    """The four pixels around a point, weighted by nearness: what bilinear means."""
    r, c = math.floor(row), math.floor(column)
    fr, fc = row - r, column - c
    corners = {
        (r, c): (1 - fr) * (1 - fc),
        (r, c + 1): (1 - fr) * fc,
        (r + 1, c): fr * (1 - fc),
        (r + 1, c + 1): fr * fc,
    }
    return sum(weight * pixel(image, *at) for at, weight in corners.items())


# ---- the sensor ----


@pytest.mark.parametrize(("rows", "columns"), [(28, 28), (20, 33), (9, 5)])
def test_a_glimpse_is_a_slice(rows, columns):
    """At every corner where an 8×8 window can lie, also half outside, it is the padded image's slice."""
    torch.manual_seed(0)
    image = torch.rand(1, 2, rows, columns)
    corners = [(r, c) for r in range(-8, rows + 1, 3) for c in range(-8, columns + 1, 2)]
    places = torch.tensor([middle(r, c, 8, rows, columns) for r, c in corners])
    seen = glimpse(image.expand(len(corners), -1, -1, -1), places, 8)
    assert seen.shape == (len(corners), 2, 1, 8, 8)
    padded = F.pad(image[0], (8, 8, 8, 8))
    for (r, c), found in zip(corners, seen[:, :, 0], strict=True):
        assert_close(found, padded[:, r + 8 : r + 16, c + 8 : c + 16], atol=1e-5, rtol=0)


def test_between_pixels_and_at_several_scales_it_equals_a_loop():
    torch.manual_seed(0)
    images, size, scales = torch.rand(6, 1, 17, 23), 5, 3
    places = torch.rand(6, 2) * 2.6 - 1.3  # some beyond the edge
    seen = glimpse(images, places, size, scales)
    for b, (x, y) in enumerate(places.tolist()):
        row, column = (y + 1) / 2 * 17 - 0.5, (x + 1) / 2 * 23 - 0.5  # the pixel under the place
        for k in range(scales):
            for i in range(size):
                for j in range(size):
                    at = row + 2**k * (i - 2), column + 2**k * (j - 2)
                    assert seen[b, 0, k, i, j].item() == pytest.approx(between(images[b, 0], *at), abs=2e-5)


def test_beyond_the_edge_it_is_dark_and_each_image_has_its_own_place():
    images = torch.ones(3, 1, 10, 10)
    seen = glimpse(images, torch.tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 3.0]]), 4)[:, 0, 0]
    assert_close(seen[0], torch.ones(4, 4))
    assert_close(seen[1], torch.tensor([1.0, 1.0, 0.0, 0.0]).expand(4, 4))  # the edge runs through its middle
    assert not seen[2].any()
    with pytest.raises(ValueError, match=r"places are \(1, 2\), not \(3, 2\)"):
        glimpse(images, torch.zeros(1, 2), 4)


def test_the_loop_for_the_benchmark_is_a_glimpse_where_places_are_pixels():
    torch.manual_seed(0)
    images = torch.rand(5, 1, 16, 20)
    corners = [(0, 0), (3, 7), (-2, 5), (10, 15), (8, 12)]
    places = torch.tensor([middle(r, c, 6, 16, 20) for r, c in corners])
    assert_close(loop_glimpse(images, places, 6), glimpse(images, places, 6)[:, :, 0], atol=1e-5, rtol=0)


# ---- where to look ----


def test_the_log_probability_is_that_of_the_place_as_drawn():
    torch.manual_seed(0)
    mean = (torch.rand(4000, 2) * 2 - 1).requires_grad_()
    torch.manual_seed(1)
    place, log_prob = gaussian(0.5)(mean)
    torch.manual_seed(1)
    drawn = (mean + 0.5 * torch.randn_like(mean)).detach()
    expected = Normal(mean, 0.5).log_prob(drawn).sum(-1)
    assert_close(log_prob, expected)
    assert_close(place, drawn.clamp(-1, 1))
    outside = (drawn.abs() > 1).any(-1)
    after_clamping = Normal(mean, 0.5).log_prob(place).sum(-1)
    assert outside.any() and (after_clamping[outside] > log_prob[outside]).all()  # the trap would be told apart
    assert log_prob.requires_grad and not place.requires_grad
    assert_close(log_prob[0].item(), norm.logpdf(drawn[0], mean[0].detach(), 0.5).sum().item(), check_dtype=False)
    [slope] = torch.autograd.grad(log_prob.sum(), mean)
    assert_close(slope, (drawn - mean.detach()) / 0.25)


def test_the_score_of_clamped_places_is_biased_and_of_drawn_ones_is_not():
    """E ∇ log π = 0 holds for the place as drawn: a z-test; the clamped one fails it by far."""
    mean, n = torch.tensor([0.9, 0.0]), 40_000
    rng = torch.Generator().manual_seed(0)
    drawn = mean + 0.3 * torch.randn(n, 2, generator=rng)
    for places, right in ((drawn, True), (drawn.clamp(-1, 1), False)):
        score = (places - mean) / 0.09
        z = score.mean(0) / (score.std(0) / n**0.5)
        assert (z.abs().max() < 4) == right


def test_greedy_is_the_mean_and_uniform_is_anywhere():
    mean = torch.tensor([[0.3, -0.2], [1.4, 0.0]], requires_grad=True)
    assert_close(greedy(mean).place, torch.tensor([[0.3, -0.2], [1.0, 0.0]]))
    torch.manual_seed(0)
    places = uniform(mean[:1].expand(20_000, 2)).place
    assert places.min() < -0.99 and places.max() > 0.99 and places.mean(0).abs().max() < 4 / math.sqrt(3 * 20_000)
    assert not greedy(mean).place.requires_grad and not places.requires_grad


# ---- the model ----


def small(seed=0, size=4, scales=1, classes=3):
    torch.manual_seed(seed)
    return RAM(size, scales, classes, d_part=6, d_glimpse=7, d_core=8)


def step_by_step(model, image, places):
    """The equations of the docstring, one image, given places."""
    h, logits = torch.zeros(8), []
    for place in places:
        seen = glimpse(image[None], place[None], model.size, model.scales).flatten()
        what = torch.relu(model.what.weight @ seen + model.what.bias)
        where = torch.relu(model.where.weight @ place + model.where.bias)
        g = torch.relu(model.join.weight @ torch.cat([what, where]) + model.join.bias)
        h = torch.relu(model.core.weight @ torch.cat([h, g]) + model.core.bias)
        logits.append(model.action.weight @ h + model.action.bias)
    return torch.stack(logits), h


@torch.no_grad()
def test_the_model_is_its_equations():
    model, images = small(scales=2), torch.rand(3, 1, 9, 11)
    looks = model(images, 4, greedy)
    for image, logits, places in zip(images, looks.logits, looks.places, strict=True):
        expected, _ = step_by_step(model, image, places)
        assert_close(logits, expected)
        for t in range(1, 4):
            _, h = step_by_step(model, image, places[:t])
            assert_close(places[t], torch.tanh(model.location.weight @ h + model.location.bias))
    assert not looks.places[:, 0].any()  # the first look is at the middle
    assert looks.log_prob.shape == looks.baseline.shape == (3, 3)


def test_looking_twice_is_looking_twice_the_same():
    model, images = small(), torch.rand(5, 1, 12, 12)
    one, two = model(images, 5, greedy), model(images, 5, greedy)
    assert all(a.equal(b) for a, b in zip(one, two, strict=True))
    longer = model(images, 7, greedy)  # the first five looks do not know how many follow
    assert_close(longer.logits[:, :5], one.logits)


def gradients(loss, model):
    parameters = dict(model.named_parameters())
    found = torch.autograd.grad(loss, parameters.values(), allow_unused=True, retain_graph=True)
    return {name: g for (name, _), g in zip(parameters.items(), found, strict=True)}


def test_no_gradient_passes_through_a_place():
    model, images = small(), torch.rand(4, 1, 12, 12)
    looks = model(images, 4, gaussian(0.3))
    assert not looks.places.requires_grad
    found = gradients(looks.logits.square().sum(), model)
    assert found["location.weight"] is None and found["location.bias"] is None and found["baseline.weight"] is None
    assert all(found[name] is not None for name in ("what.weight", "where.weight", "core.weight", "action.weight"))
    seen = gradients(looks.log_prob.sum(), model)
    assert seen["location.weight"] is not None and seen["action.weight"] is None


def test_each_part_learns_from_its_own_term():
    model, images, labels = small(), torch.rand(4, 1, 12, 12), torch.tensor([0, 1, 2, 0])
    torch.manual_seed(3)
    looks = model(images, 4, gaussian(0.3))
    only = gradients(looks.baseline.square().sum(), model)
    assert {name for name, g in only.items() if g is not None} == {"baseline.weight", "baseline.bias"}
    # through the policy term it does not learn: its gradient in the loss is that of the regression
    log_p = looks.logits.log_softmax(-1).gather(-1, labels[:, None, None].expand(-1, 4, 1))[..., 0]
    regression = (returns(log_p.detach().exp()) - looks.baseline).square().mean()
    found = gradients(hybrid(looks, labels), model)
    assert_close(found["baseline.weight"], gradients(regression, model)["baseline.weight"])
    # and what it says learns from the cross-entropy alone: no reward passes a gradient
    assert_close(found["action.weight"], gradients(-log_p.mean(), model)["action.weight"])
    policy = -0.1 * (looks.log_prob * (returns(log_p.exp()) - looks.baseline).detach()).mean()
    assert_close(found["location.weight"], gradients(policy, model)["location.weight"])


def test_the_last_place_is_never_chosen():
    """T looks have T - 1 choices: one look trains no location at all, and a look more leaves the state as it is."""
    model, images, labels = small(), torch.rand(4, 1, 12, 12), torch.tensor([0, 1, 2, 0])
    asked, chosen = [], []

    def noting(mean):
        asked.append(mean)
        chosen.append(gaussian(0.3)(mean))
        return chosen[-1]

    looks = model(images, 3, noting)
    assert len(asked) == 3 and not asked[0].any()  # the first: around the middle, and not credited
    assert_close(looks.log_prob, torch.stack([choice.log_prob for choice in chosen[1:]], 1))
    assert_close(looks.places, torch.stack([choice.place for choice in chosen], 1))
    one = model(images, 1, gaussian(0.3))
    assert one.log_prob.shape == (4, 0)
    action = F.cross_entropy(one.logits[:, 0], labels)
    found = gradients(action, model)
    assert found["location.weight"] is None


def test_returns_equal_a_loop():
    rewards = torch.rand(5, 6)
    expected = [[sum(row[t + 1 :]) / len(row[t + 1 :]) for t in range(5)] for row in rewards.tolist()]
    assert_close(returns(rewards), torch.tensor(expected))
    assert returns(rewards[:, :1]).shape == (5, 0)


def test_hybrid_equals_a_loop():
    torch.manual_seed(0)
    B, T, K = 3, 4, 5
    logits, log_prob, baseline = torch.randn(B, T, K), torch.randn(B, T - 1), torch.rand(B, T - 1)
    labels = torch.tensor([4, 0, 2])
    p = logits.softmax(-1)
    entropy = policy = regression = 0.0
    for b in range(B):
        right = [p[b, t, labels[b]].item() for t in range(T)]
        entropy -= sum(math.log(q) for q in right) / (B * T)
        for t in range(T - 1):
            R = sum(right[t + 1 :]) / (T - 1 - t)
            gap = R - baseline[b, t].item()
            policy += log_prob[b, t].item() * gap / (B * (T - 1))
            regression += gap**2 / (B * (T - 1))
    found = hybrid(Looks(logits, torch.zeros(B, T, 2), log_prob, baseline), labels, weight=0.3)
    assert found.item() == pytest.approx(entropy - 0.3 * policy + regression, abs=1e-5)


class Bandit(nn.Module):
    """Three places, one look: a reward that does not depend on anything that is learned but the choice."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Parameter(torch.tensor([0.5, -0.3, 0.1]))


@pytest.mark.parametrize("level", [0.0, 0.4])
def test_the_reinforce_part_has_the_exact_gradient_as_its_mean(level):
    """hybrid()'s policy term on a categorical policy, against enumeration: a z-test of 40,000 draws."""
    n, model, rng = 40_000, Bandit(), torch.Generator().manual_seed(0)
    p_right = torch.tensor([0.7, 0.2, 0.45])  # P(label) after looking at each place
    p = model.scores.softmax(0)
    exact = torch.autograd.grad((p * p_right).sum(), model.scores)[0]
    index = torch.multinomial(p.detach(), n, replacement=True, generator=rng)
    rows = model.scores.detach().expand(n, 3).clone().requires_grad_()
    log_prob = rows.log_softmax(-1).gather(1, index[:, None])  # (n, 1)
    second = torch.stack([p_right[index], 1 - p_right[index]], -1).log()
    logits = torch.stack([torch.zeros(n, 2), second], 1)  # nothing known at first, then P(label)
    looks = Looks(logits, torch.zeros(n, 2, 2), log_prob, torch.full((n, 1), level))
    [g] = torch.autograd.grad(hybrid(looks, torch.zeros(n, dtype=torch.long), weight=1.0), rows)
    g = -n * g  # the loss is a mean over n, and is made small where the reward is large
    z = (g.mean(0) - exact) / (g.std(0) / n**0.5)
    assert z.abs().max() < 4
    assert (g.mean(0) / exact - 1).abs().max() < 0.1  # and it is not lost in the noise


def test_reinforce_finds_the_exact_gradient_of_a_gaussian_policy():
    """d/dm E[R(l)], l ~ N(m, σ²), R = 1 near the origin: a difference of normal densities, times R - b."""
    m, std, n = 0.3, 0.5, 200_000
    edge = 0.4  # R(l) = 1 for |l| < edge
    exact = (norm.pdf((-edge - m) / std) - norm.pdf((edge - m) / std)) / std
    torch.manual_seed(0)
    mean = torch.full((n, 2), m, requires_grad=True)
    place, log_prob = gaussian(std)(mean)
    reward = (place[:, 0].abs() < edge).float()
    [g] = torch.autograd.grad(((reward - 0.5) * log_prob).sum(), mean)
    z = (g[:, 0].mean() - exact) / (g[:, 0].std() / n**0.5)
    assert abs(z) < 4 and abs(exact) > 0.1
    assert g[:, 1].mean().abs() < 4 * g[:, 1].std() / n**0.5  # R does not depend on y


# ---- places, softly ----


def test_a_spatial_transformer_starts_as_the_identity_and_learns():
    torch.manual_seed(0)
    model, images = SpatialTransformer(12 * 15, 12), torch.rand(2, 1, 12, 15)
    read, theta = model(images)
    assert_close(theta, torch.tensor([[1.0, 0, 0], [0, 1, 0]]).expand(2, 2, 3))
    square = torch.rand(2, 1, 12, 12)
    assert_close(affine_read(square, theta, 12), square, atol=1e-5, rtol=0)
    read.square().sum().backward()
    assert model.theta.bias.grad.abs().max() > 0 and not model.hidden.weight.grad.any()  # at first, only theta learns


def test_an_affine_window_that_only_moves_is_a_glimpse():
    torch.manual_seed(0)
    images, place = torch.rand(4, 1, 20, 20), torch.rand(4, 2) * 2 - 1
    zoom = torch.eye(2).expand(4, 2, 2) * 6 / 20
    theta = torch.cat([zoom, place[..., None]], -1)  # (4, 2, 3)
    assert_close(affine_read(images, theta, 6), glimpse(images, place, 6)[:, :, 0], atol=1e-5, rtol=0)


def test_draws_filters_equal_a_loop_and_sum_to_one():
    torch.manual_seed(0)
    centre, stride, sigma = torch.tensor([3.2, -40.0]), torch.tensor([1.5, 2.0]), torch.tensor([0.7, 0.3])
    bank = filterbank(centre, stride, sigma, 4, 11)
    assert_close(bank.sum(-1), torch.ones(2, 4))  # also the second one's, which lies outside
    for i in range(1, 5):
        mu = 3.2 + (i - 4 / 2 - 0.5) * 1.5
        row = torch.tensor([math.exp(-((a - mu) ** 2) / (2 * 0.7**2)) for a in range(11)])
        assert_close(bank[0, i - 1], row / row.sum())


def test_draws_read_becomes_the_pixels_as_its_filters_become_narrow():
    torch.manual_seed(0)
    images = torch.rand(3, 2, 20, 14)
    place = torch.tensor([middle(r, c, 6, 20, 14) for r, c in ((0, 0), (7, 3), (14, 8))])
    spread = torch.full((3,), 5 / 19)  # six points, a pixel apart
    read = draw_read(images, place, spread, torch.full((3,), 0.05), 6)
    assert_close(read, glimpse(images, place, 6)[:, :, 0], atol=1e-5, rtol=0)
    wide = draw_read(images, place, spread, torch.full((3,), 1e3), 6, intensity=2.0)
    assert_close(wide, 2 * images.mean((2, 3), keepdim=True).expand_as(wide), atol=1e-3, rtol=0)


def test_draws_read_equals_a_loop_and_passes_a_gradient_to_every_pixel():
    torch.manual_seed(0)
    image = torch.rand(1, 1, 9, 7, requires_grad=True)
    given = torch.tensor([[0.2, -0.3]]), torch.tensor([0.6]), torch.tensor([1.1])
    read = draw_read(image, *given, 3)
    stride, x, y = 8 / 2 * 0.6, (1.2 * 7 - 1) / 2, (0.7 * 9 - 1) / 2
    for i in range(3):
        for j in range(3):
            near = torch.tensor([[math.exp(-((r - y - (i - 1) * stride) ** 2 + (c - x - (j - 1) * stride) ** 2)
                                           / (2 * 1.1**2)) for c in range(7)] for r in range(9)])  # fmt: skip
            assert_close(read[0, 0, i, j], (near / near.sum() * image[0, 0]).sum())
    [slope] = torch.autograd.grad(read.sum(), image)
    assert (slope > 0).all()


# ---- any device, any size ----


@pytest.mark.parametrize("policy", [gaussian(0.2), greedy, uniform])
def test_the_policies_stay_on_their_device(policy):
    with FakeTensorMode(), torch.device("meta"):
        looks = small()(torch.rand(3, 1, 30, 41), 3, policy)
        assert {x.device.type for x in looks} == {"meta"} and looks.places.shape == (3, 3, 2)


def test_double_precision_is_kept():
    looks = small().double()(torch.rand(2, 1, 10, 10).double(), 2, gaussian(0.2))
    assert {x.dtype for x in looks} == {torch.float64}
    assert isinstance(gaussian(0.1)(torch.zeros(2, 2)), PlaceChoice)


def test_the_benchmark_runs():
    assert "glimpse" in bench.SUITES
    for candidates in bench.suite("glimpse").values():
        assert all(ratio[0] > 0 for ratio in bench.compare(candidates, rounds=2).values())


def test_one_look_has_no_policy_to_learn():
    model = RAM(4, 1, 3, d_part=4, d_glimpse=4, d_core=8)
    with pytest.raises(ValueError, match="at least two looks"):
        hybrid(model(torch.rand(2, 1, 9, 9), 1, greedy), torch.tensor([0, 1]))
