"""The six scores, temperature, window, and the hard choice: against loops, torch's own operators and brute force."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import chisquare
from torch.testing import assert_close

from attncourse import attend
from attncourse.core import hard, masks, scores

B, TQ, TK, DQ, DK, DV = 2, 3, 5, 4, 6, 7


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def qkv(d_query=DQ, d_key=DQ):
    return tuple(torch.randn(B, n, d, dtype=torch.float64) for n, d in ((TQ, d_query), (TK, d_key), (TK, DV)))


def pairwise(one, query, keys):
    """one(query vector, key vector, key position) for every pair, by three loops."""
    rows = [[[one(q, k, j) for j, k in enumerate(ks)] for q in qs] for qs, ks in zip(query, keys, strict=True)]
    return torch.stack([torch.stack([torch.stack(row) for row in rs]) for rs in rows])


def cosine(q, k):
    return q @ k / (q.square().sum().sqrt() * k.square().sum().sqrt())


def case(name):
    """A score, its equation for one pair, and the sizes of query and key that it is tried with."""
    additive, general = scores.Additive(DQ, DK, 8).double(), scores.General(DQ, DK).double()
    location = scores.Location(DQ, TK + 3).double()
    W_q, W_k, v = additive.W_q.weight, additive.W_k.weight, additive.v
    return {
        "content": (scores.content, lambda q, k, j: cosine(q, k), DQ),
        "content, strength 3": (partial(scores.content, strength=3.0), lambda q, k, j: 3 * cosine(q, k), DQ),
        "additive": (additive, lambda q, k, j: v @ torch.tanh(W_q @ q + W_k @ k), DK),
        "location": (location, lambda q, k, j: location.W.weight[j] @ q, DK),
        "general": (general, lambda q, k, j: q @ general.W.weight @ k, DK),
        "dot": (scores.dot, lambda q, k, j: sum(a * b for a, b in zip(q, k, strict=True)), DQ),
        "scaled dot": (scores.scaled_dot, lambda q, k, j: (q * k).sum() / DQ**0.5, DQ),
    }[name]


NAMES = ["content", "content, strength 3", "additive", "location", "general", "dot", "scaled dot"]


@pytest.mark.parametrize("name", NAMES)
def test_a_score_equals_its_equation_in_loops(name):
    score, one, d_key = case(name)
    query, keys, values = qkv(d_key=d_key)
    expected = pairwise(one, query, keys)
    assert_close(score(query, keys), expected)
    context, _ = attend(query, keys, values, score)
    assert_close(context, expected.softmax(-1) @ values)
    extra = score(query[:, None].expand(B, 2, TQ, DQ), keys[:, None].expand(B, 2, TK, d_key))  # an axis of heads
    assert_close(extra, expected[:, None].expand(B, 2, TQ, TK))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_through_every_score(name):
    score, _, d_key = case(name)
    inputs = [x.requires_grad_() for x in qkv(d_key=d_key)]
    mask = torch.rand(B, TQ, TK) > 0.3
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, score, mask), inputs)
    if isinstance(score, torch.nn.Module):
        inputs = [x.detach() for x in inputs]
        names, parameters = zip(*score.named_parameters(), strict=True)

        def run(*parameters):
            replaced = partial(torch.func.functional_call, score, dict(zip(names, parameters, strict=True)))
            return attend(*inputs, lambda q, k: replaced((q, k)), mask)

        assert torch.autograd.gradcheck(run, parameters)


def test_scores_equal_torchs_own_operators():
    query, keys, _ = qkv()
    assert_close(scores.content(query, keys), F.cosine_similarity(query[:, :, None], keys[:, None], dim=-1))
    general, bilinear = scores.General(DQ, DK).double(), torch.nn.Bilinear(DQ, DK, 1, bias=False).double()
    with torch.no_grad():
        general.W.weight.copy_(bilinear.weight[0])
    query, keys, _ = qkv(d_key=DK)
    pairs = query[:, :, None].expand(B, TQ, TK, DQ).contiguous(), keys[:, None].expand(B, TQ, TK, DK).contiguous()
    assert_close(general(query, keys), bilinear(*pairs)[..., 0])


def test_content_knows_direction_only():
    query, keys, _ = qkv()
    lengths = 0.1 + 9 * torch.rand(B, TK, 1, dtype=torch.float64)
    assert_close(scores.content(query, keys * lengths), scores.content(7 * query, keys))
    strength = torch.rand(B, TQ, 1, dtype=torch.float64)  # one for each query, as a memory's head emits it
    assert_close(scores.content(query, keys, strength), strength * scores.content(query, keys))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_content_of_a_zero_vector_is_zero(dtype):
    query, keys = torch.zeros(1, 1, 3, dtype=dtype), torch.randn(1, 2, 3, dtype=dtype)
    query.requires_grad_()
    found = scores.content(query, keys)
    assert (found == 0).all()
    if dtype is not torch.float16:  # 1/eps, the slope there, is beyond its range
        found.sum().backward()
        assert query.grad.isfinite().all()


def test_projecting_keys_once_gives_the_same_scores():
    query, keys, _ = qkv(d_key=DK)
    for score in (scores.General(DQ, DK).double(), scores.Additive(DQ, DK, 8).double()):
        assert_close(score.match(query, score.project(keys)), score(query, keys))


def test_location_looks_at_the_number_of_keys_only():
    query, keys, _ = qkv()
    score = scores.Location(DQ, 9).double()
    assert_close(score(query, keys), score(query, torch.randn(B, TK, 11, dtype=torch.float64)))
    assert_close(score(query, keys[:, :2]), score(query, keys)[..., :2])


def test_scores_are_invariant_to_the_order_of_keys_but_location_is_not():
    query, keys, values = qkv()
    order = torch.tensor([2, 0, 4, 1, 3])
    general, additive = scores.General(DQ, DQ).double(), scores.Additive(DQ, DQ, 8).double()
    for score in (scores.content, scores.dot, scores.scaled_dot, general, additive):
        (context, weights), moved = attend(query, keys, values, score), keys[:, order]
        assert_close(attend(query, moved, values[:, order], score), (context, weights[..., order]))
    location = scores.Location(DQ, TK).double()
    context, weights = attend(query, keys, values, location)
    assert_close(attend(query, keys[:, order], values[:, order], location)[1], weights)  # stays where it looked


def test_sizes_that_do_not_fit_are_explained():
    x = {n: torch.randn(1, 2, n) for n in (8, 32, 64)}
    for name in ("dot", "scaled_dot", "content"):
        with pytest.raises(ValueError, match=r"dot|content") as caught:
            getattr(scores, name)(x[64], x[32])
        said = "dot" if name == "scaled_dot" else name
        assert str(caught.value) == f"{said} needs equal sizes: query has 64, keys have 32; use `General(64, 32)`"
    assert scores.General(64, 32)(x[64], x[32]).shape == (1, 2, 2)  # the advice works
    with pytest.raises(ValueError, match=r"this General was made for 64 in query and 32 in keys; query has 32, keys h"):
        scores.General(64, 32)(x[32], x[64])
    with pytest.raises(
        ValueError, match=r"this Additive was made for 8 in query and 32 in keys; query has 8, keys hav"
    ):
        scores.Additive(8, 32, 5)(x[8], x[64])
    with pytest.raises(ValueError, match=r"this Location was made for 8 in query; query has 64"):
        scores.Location(8, 5)(x[64], x[32])
    with pytest.raises(ValueError, match=r"knows 5 places, keys have 9 positions; use `Location\(8, 9\)`"):
        scores.Location(8, 5)(x[8], torch.randn(1, 9, 3))


# ---- normalise ----


def test_temperature_sharpens_and_flattens():
    logits, mask = torch.randn(2, 3, 5, dtype=torch.float64), torch.rand(2, 3, 5) > 0.3
    mask[..., 0] = True
    assert_close(masks.softmax(logits, mask, 0.3), masks.softmax(logits / 0.3, mask))
    assert_close(masks.softmax(logits, mask, 1.0), masks.softmax(logits, mask))
    each = 0.2 + torch.rand(2, 3, 1, dtype=torch.float64)  # a learned one, for each query
    assert_close(masks.softmax(logits, mask, each), masks.softmax(logits / each, mask))
    best = masks.fill(logits, mask).argmax(-1)
    assert_close(masks.softmax(logits, mask, 1e-4), F.one_hot(best, 5).double())
    flat = mask / mask.sum(-1, keepdim=True).double()
    assert_close(masks.softmax(logits, mask, 1e6), flat, atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [1e-3, 1.0, 1e3])
def test_masked_keys_stay_masked_at_any_temperature(temperature):
    logits = torch.tensor([[-8e3, 5.0, 9e4], [1.0, 2.0, 3.0]], requires_grad=True)
    weights = masks.softmax(logits, torch.tensor([[True, True, False], [False, False, False]]), temperature)
    assert weights[0, 2] == 0 and (weights[1] == 0).all() and weights.isfinite().all()
    (weights[..., 0] - weights[..., 1]).sum().backward()
    assert logits.grad.isfinite().all() and (logits.grad[1] == 0).all()


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan")])
def test_a_temperature_is_above_zero(temperature):
    with pytest.raises(ValueError, match=r"a temperature is above 0.*attncourse\.core\.hard"):
        masks.softmax(torch.randn(1, 2), temperature=temperature)


def test_window_equals_its_loop():
    centre = torch.tensor([[0.0, 2.6, 9.0], [-3.0, 5.5, 4.0]])
    mask = masks.window(centre, 7, 2)
    expected = [[[abs(s - p) <= 2 for s in range(7)] for p in row] for row in centre.tolist()]
    assert mask.tolist() == expected and not mask[1, 0].any()
    whole = masks.window(torch.arange(5), 5, 1)
    assert whole.int().tolist() == [[int(abs(i - j) <= 1) for j in range(5)] for i in range(5)]
    both = mask & masks.padding(torch.tensor([7, 4]), 7)
    context, weights = attend(*(torch.randn(2, n, 4) for n in (3, 7, 7)), mask=both)
    assert (weights[1, 1] == 0).all() and context.isfinite().all()  # its window holds nothing but padding


# ---- choose one ----


def test_draws_follow_the_weights():
    logits, mask = torch.randn(4, dtype=torch.float64), torch.tensor([True, True, False, True])
    n, weights = 20_000, masks.softmax(logits, mask, 0.7)
    choice = hard.draw(logits.expand(n, 4), mask, 0.7, torch.Generator().manual_seed(3))
    counts = torch.bincount(choice.index, minlength=4)
    assert counts[2] == 0
    assert chisquare(counts[mask], n * weights[mask].numpy()).pvalue > 0.001
    assert_close(choice.log_prob, weights.log()[choice.index])


def test_log_probability_equals_torchs_and_has_its_gradient():
    logits = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    choice = hard.draw(logits)
    expected = torch.distributions.Categorical(logits=logits).log_prob(choice.index)
    assert_close(choice.log_prob, expected)
    ours, theirs = (torch.autograd.grad(x.sum(), logits)[0] for x in (choice.log_prob, expected))
    assert_close(ours, theirs)


def test_draws_are_repeatable_and_leave_the_global_generator_alone():
    logits = torch.randn(50, 5)
    before = torch.get_rng_state()
    first, again = (hard.draw(logits, rng=torch.Generator().manual_seed(1)).index for _ in range(2))
    assert torch.equal(first, again) and torch.equal(before, torch.get_rng_state())


def test_where_nothing_may_be_attended_nothing_is_read():
    logits = torch.randn(2, 3, 4, requires_grad=True)
    mask = torch.ones(2, 1, 4, dtype=torch.bool)
    mask[1] = False
    choice, values = hard.draw(logits, mask), torch.randn(2, 4, 5)
    assert (choice.index[1] == -1).all() and (choice.log_prob[1] == 0).all() and (choice.index[0] >= 0).all()
    assert (hard.gather(values, choice.index)[1] == 0).all()
    soft = masks.softmax(logits, mask)
    assert (hard.straight_through(soft, choice.index)[1] == 0).all()
    (hard.gumbel_softmax(logits, mask).square().sum() + choice.log_prob.sum()).backward()
    assert (logits.grad[1] == 0).all() and logits.grad.isfinite().all()


def test_gather_is_the_read_of_one_hot_weights():
    values, index = torch.randn(2, 5, 3), torch.randint(5, (2, 4))
    one_hot = F.one_hot(index, 5).float()
    assert_close(hard.gather(values, index), one_hot @ values)
    looped = torch.stack([torch.stack([values[b, i] for i in row]) for b, row in enumerate(index)])
    assert_close(hard.gather(values, index), looped)
    assert_close(hard.straight_through(one_hot.softmax(-1), index), one_hot)


def test_a_hard_look_reads_one_value_and_its_mean_is_the_soft_look():
    query, keys, values = qkv()
    mask = masks.padding(torch.tensor([5, 2]), TK)
    soft, _ = attend(query, keys, values, mask=mask)
    n = 4_000
    many = [x[:, None].expand(B, n, *x.shape[1:]) for x in (query, keys, values)]
    context, choice = hard.attend(*many, mask=mask[:, None])
    assert_close(context[0, 7, 1], values[0, choice.index[0, 7, 1]])
    spread = context.std(1) / n**0.5
    assert ((context.mean(1) - soft).abs() < 5 * spread + 1e-9).all()
    assert (choice.index[1] < 2).all()


def test_the_score_function_estimator_has_the_exact_gradient_as_its_mean():
    """Σ_i p_i f_i ∇ log p_i over all outcomes, not over samples: equality, not closeness."""
    logits, reward = torch.randn(6, dtype=torch.float64, requires_grad=True), torch.randn(6, dtype=torch.float64)
    p = logits.softmax(-1)
    [exact] = torch.autograd.grad((p * reward).sum(), logits, retain_graph=True)
    terms = [
        p[i].detach() * reward[i] * torch.autograd.grad(p.log()[i], logits, retain_graph=True)[0] for i in range(6)
    ]
    assert_close(torch.stack(terms).sum(0), exact)
    n = 20_000
    rows = logits.detach().expand(n, 6).clone().requires_grad_()
    choice = hard.draw(rows, rng=torch.Generator().manual_seed(0))
    (reward[choice.index] * choice.log_prob).sum().backward()
    assert ((rows.grad.mean(0) - exact).abs() < 5 * rows.grad.std(0) / n**0.5).all()


def test_straight_through_is_hard_forward_and_soft_backward():
    logits, values = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True), torch.randn(2, 5, 4).double()
    weights = masks.softmax(logits)
    index = hard.draw(logits).index
    one = hard.straight_through(weights, index)
    assert_close(one, F.one_hot(index, 5).double())
    loss = torch.randn(2, 3, 4, dtype=torch.float64)
    found, soft = (torch.autograd.grad((w @ values * loss).sum(), logits, retain_graph=True)[0] for w in (one, weights))
    assert_close(found, soft)


def test_gumbel_softmax_equals_torchs():
    logits = torch.randn(2, 3, 5)
    torch.manual_seed(4)
    expected = F.gumbel_softmax(logits, tau=0.5)
    torch.manual_seed(4)
    assert_close(hard.gumbel_softmax(logits, temperature=0.5), expected)
    cold = hard.gumbel_softmax(logits, temperature=1e-4)
    assert_close(cold.amax(-1), torch.ones(2, 3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_draws_what_full_precision_draws(dtype):
    logits = torch.zeros(64, 500, dtype=dtype)
    same = [hard.draw(x, rng=torch.Generator().manual_seed(2)).index for x in (logits, logits.float())]
    assert torch.equal(*same) and len(same[0].unique()) > 50
