"""Memory networks against a loop in the paper's letters, and the properties of what they are made of."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attncourse import zoo
from attncourse.core import masks
from attncourse.core.symbols import PAD
from attncourse.mechanisms.memn2n import AttentiveReader, MemN2N, age, linear, position_encoding, random_noise
from attncourse.tasks import stories as task
from attncourse.zoo import stories as recipe

B, N, W, D, V = 3, 5, 4, 6, 11


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def inputs():
    story = torch.randint(1, V, (B, N, W))
    story[:, :, 3:] = PAD
    story[1, 2, 1:] = PAD
    count = torch.tensor([5, 3, 1])
    story[torch.arange(N) >= count[:, None]] = PAD
    question = torch.randint(1, V, (B, W))
    question[2, 2:] = PAD
    return story, count, question


def test_position_encoding_is_the_formula_and_counts_from_one():
    lengths = torch.tensor([[4, 1], [3, 0]])
    found = position_encoding(lengths, W, D)
    for a, b in product(range(2), range(2)):
        J = lengths[a, b].item()
        for j, k in product(range(1, W + 1), range(1, D + 1)):
            expected = (1 - j / J) - (k / D) * (1 - 2 * j / J) if j <= J else 0.0
            assert found[a, b, j - 1, k - 1].item() == pytest.approx(expected, abs=1e-6)


def test_position_encoding_tells_the_order_of_words():
    """The same bag of words, two sentences."""
    words = torch.randn(3, D)
    code = position_encoding(torch.tensor(3), 3, D)
    one, other = (words * code).sum(0), (words[[2, 1, 0]] * code).sum(0)
    assert not torch.allclose(one, other, atol=0.1)


def test_age_counts_from_the_question():
    assert age(torch.tensor([3, 1]), 4).tolist() == [[2, 1, 0, 0], [0, 0, 0, 0]]


def loop(model: MemN2N, story, count, question):
    """One story, one hop, one sentence at a time; A, B, C and W as adjacent tying has them."""
    hops, logits, looks = len(model.words) - 1, [], []
    tables, times = [t.weight for t in model.words], [t.weight for t in model.times]

    def bag(table, words):
        words = [w for w in words.tolist() if w != PAD]
        J, k = len(words), torch.arange(1, D + 1)
        return sum((((1 - j / J) - k / D * (1 - 2 * j / J)) * table[w] for j, w in enumerate(words, 1)), torch.zeros(D))

    for b in range(len(story)):
        u = bag(tables[0], question[b])
        rows = []
        for hop in range(hops):
            A, C, T_A, T_C = tables[hop], tables[hop + 1], times[hop], times[hop + 1]
            n = count[b].item()
            m = [bag(A, story[b, i]) + T_A[n - 1 - i] for i in range(n)]
            c = [bag(C, story[b, i]) + T_C[n - 1 - i] for i in range(n)]
            p = torch.stack([u @ m_i for m_i in m]).softmax(0)
            u = u + sum(p_i * c_i for p_i, c_i in zip(p, c, strict=True))
            rows.append(torch.cat([p, torch.zeros(story.shape[1] - n)]))
        logits.append(tables[-1] @ u)
        looks.append(torch.stack(rows))
    return torch.stack(logits), torch.stack(looks)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_memory_network_equals_the_loop(hops):
    model = MemN2N(V, D, hops, slots=6)
    for table in model.parameters():
        table.data.mul_(5)  # weights that are far from even
    story = inputs()
    reading, (logits, weights) = model(*story), loop(model, *story)
    assert_close(reading.logits, logits)
    assert_close(reading.weights, weights)
    assert reading.weights.shape == (B, hops, N)


def test_padding_changes_nothing():
    model, (story, count, question) = MemN2N(V, D, 2, slots=9), inputs()
    wider = nn.functional.pad(story, (0, 2, 0, 3), value=PAD)
    reading, padded = model(story, count, question), model(wider, count, nn.functional.pad(question, (0, 1)))
    assert_close(padded.logits, reading.logits)
    assert_close(padded.weights[..., :N], reading.weights)
    assert (padded.weights[..., N:] == 0).all() and (reading.weights[1, :, 3:] == 0).all()


def test_earlier_sentences_do_not_change_the_age_of_later_ones():
    """Told before: the last sentence keeps its key, so its score against the others does too."""
    model = MemN2N(V, D, 1, slots=9)
    story, question = torch.randint(1, V, (1, 3, W)), torch.randint(1, V, (1, W))
    longer = torch.cat([torch.randint(1, V, (1, 2, W)), story], 1)
    short = model(story, torch.tensor([3]), question).weights[0, 0]
    long = model(longer, torch.tensor([5]), question).weights[0, 0]
    assert_close(long[2:] / long[2:].sum(), short)


def test_the_order_of_sentences_matters_only_through_time():
    model, (story, _, question) = MemN2N(V, D, 2), inputs()
    story[:, :, 0], count, order = 1, torch.full((B,), N), torch.randperm(N)
    moved = model(story[:, order], count, question).logits
    assert not torch.allclose(moved, model(story, count, question).logits)
    for table in model.times:
        table.weight.data.zero_()
    assert_close(model(story[:, order], count, question).logits, model(story, count, question).logits)


def test_linear_start_is_the_same_network_without_softmax():
    model, (story, count, question) = MemN2N(V, D, 1), inputs()
    weights = model(story, count, question, linear).weights
    scores = model(story, count, question, lambda scores, mask: scores).weights
    real = masks.padding(count, N)
    assert_close(weights[real], scores[real])
    assert (weights[~real] == 0).all()
    assert_close(masks.softmax(weights, real), model(story, count, question).weights)


def test_random_noise_keeps_the_sentences_in_order():
    story, count, _ = inputs()
    assert all(torch.equal(a, b) for a, b in zip(random_noise(story, count, 0.0), (story, count), strict=True))
    sizes = []
    for _ in range(200):
        noisy, more = random_noise(story, count, 0.3)
        assert (noisy[torch.arange(noisy.shape[1]) >= more[:, None]] == PAD).all()
        for b in range(B):
            kept = [row for row in noisy[b, : more[b]].tolist() if any(row)]
            assert kept == story[b, : count[b]].tolist()
        sizes.append((more - count).float() / count)
    assert torch.stack(sizes).mean().item() == pytest.approx(0.3, abs=0.04)
    noisy, more = random_noise(story, count, 1.0)
    assert more.tolist() == (2 * count).tolist() and (noisy[:, 0] == PAD).all()


def test_an_empty_sentence_is_a_place_in_time():
    """Noise is no padding: it takes part in the softmax, with its age alone."""
    model, (story, count, question) = MemN2N(V, D, 1, slots=12), inputs()
    noisy, more = random_noise(story, count, 1.0)
    assert (model(noisy, more, question).weights[0, 0, : more[0]] > 0).all()


def test_a_story_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="5 sentences does not fit a memory of 4; make it with `slots=5`"):
        MemN2N(V, D, 1, slots=4)(*inputs())


def test_gradients():
    model, (story, count, question) = MemN2N(V, D, 2, slots=5).double(), inputs()

    def answer(table):
        return torch.func.functional_call(model, {"words.1.weight": table}, (story, count, question)).logits

    assert torch.autograd.gradcheck(answer, model.words[1].weight.detach().requires_grad_())


def test_attentive_reader_equals_the_loop():
    model = AttentiveReader(V, 5, 3)
    document, question = torch.randint(1, V, (2, 6)), torch.randint(1, V, (2, 4))
    document[1, 4:], question[1, 2:] = PAD, PAD
    reading = model(document, question)
    for b, (n, m) in enumerate([(6, 4), (4, 2)]):
        states = {}
        for name, net, text in (("y", model.read, document[b, :n]), ("q", model.ask, question[b, :m])):
            x = model.embed(text)[None]
            states[name] = net.ahead(x)[0][0], net.back(x.flip(1))[0][0].flip(0)
        y, u = torch.cat(states["y"], -1), torch.cat([states["q"][0][-1], states["q"][1][0]])
        M = torch.tanh(y @ model.score.W_k.weight.T + model.score.W_q.weight @ u)
        a = (M @ model.score.v).softmax(0)
        W_r, W_u = model.join.weight.chunk(2, 1)
        g = torch.tanh(W_r @ (a @ y) + W_u @ u)
        assert_close(reading.weights[b, 0, :n], a)
        assert (reading.weights[b, 0, n:] == 0).all()
        assert_close(reading.logits[b], model.out(g))


# ---- the zoo ----


def test_memn2n_stories_holds_its_promise():
    """Fresh stories, a seed that no card has used."""
    model, card = zoo.load("memn2n-stories")
    metrics = recipe.evaluate(model, card["config"], seed=777, n=500)
    assert metrics["error_1"] <= 0.01 and metrics["error_2"] <= 0.08
    assert card["metrics"]["error_1"] <= 0.01 and card["metrics"]["error_2"] <= 0.08
    assert card["config"]["stories"] == 10_000 and card["config"]["hops"] == 3


def test_the_metrics_are_what_they_say():
    model, card = zoo.load("memn2n-stories")
    stories = task.sample(40, 11, 2, held_out=True)
    metrics = recipe.evaluate(model, card["config"], seed=11, n=40)
    reading, names = recipe.read(model, stories, card["config"]), ["", "", "", "", *card["config"]["words"].split()]
    misses = [names[row.argmax()] != s.answer for row, s in zip(reading.logits, stories, strict=True)]
    assert metrics["error_2"] == pytest.approx(sum(misses) / 40)
    mass = [float(p[:, list(s.facts)].sum()) / 3 for p, s in zip(reading.weights, stories, strict=True)]
    assert metrics["support_2"] == pytest.approx(sum(mass) / 40, abs=1e-5)
    first = [float(p[2, s.facts[1]]) for p, s in zip(reading.weights, stories, strict=True)]
    assert metrics["hop3_fact2_of_2"] == pytest.approx(sum(first) / 40, abs=1e-5)


def test_no_held_out_story_is_taught():
    config = zoo.recipe("memn2n-stories").config() | {"stories": 60}
    story, count, *_ = next(recipe.lessons(config, seed=0, steps=10))
    names = ["", "", "", "", *config["words"].split()]
    for rows, n in zip(story, count, strict=True):
        assert not task.is_held_out([[names[w] for w in row if w != PAD] for row in rows[:n]])


def test_the_softmax_comes_after_a_tenth_of_the_steps():
    config = zoo.recipe("memn2n-stories").config() | {"stories": 30}
    lessons = recipe.lessons(config, seed=0, steps=30)
    assert [next(lessons)[-1] for _ in range(5)] == [linear] * 3 + [masks.softmax] * 2
