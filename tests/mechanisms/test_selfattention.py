"""Self-attention, LSTMN and HAN against loops, and the properties that tell them from recurrent layers."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attncourse.core import masks
from attncourse.mechanisms.selfattention import HAN, LSTMN, BiGRU, Pool, SelfAttention

B, T, D, H = 3, 6, 5, 4


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_self_attention_equals_torch():
    ours, x = SelfAttention(D, H), torch.randn(B, T, D)
    mask = masks.padding(torch.tensor([6, 3, 1]), T) & masks.causal(T)
    context, weights = ours(x, mask)
    expected = nn.functional.scaled_dot_product_attention(ours.query(x), ours.key(x), ours.value(x), mask)
    assert_close(context, expected)
    assert_close(weights.sum(-1), torch.ones(B, T))


def test_self_attention_does_not_know_the_order():
    ours, x, order = SelfAttention(D, H), torch.randn(B, T, D), torch.randperm(T)
    assert_close(ours(x[:, order])[0], ours(x)[0][:, order])
    assert not torch.allclose(ours(x[:, order], masks.causal(T))[0], ours(x, masks.causal(T))[0][:, order])


def loop_lstmn(model: LSTMN, x):
    """One sequence and one earlier position at a time, in the letters of the paper."""
    rows, looks = [], torch.zeros(len(x), x.shape[1], x.shape[1])
    W_q, W_h, v = model.score.W_q.weight, model.score.W_k.weight, model.score.v
    for b, sequence in enumerate(x):
        h, c, h_tilde = [], [], torch.zeros(H)
        for t, x_t in enumerate(sequence):
            a = [v @ torch.tanh(W_h @ h_i + W_q @ torch.cat([x_t, h_tilde])) for h_i in h]
            s = torch.stack(a).softmax(0) if a else []
            h_tilde = sum((s_i * h_i for s_i, h_i in zip(s, h, strict=True)), torch.zeros(H))
            c_tilde = sum((s_i * c_i for s_i, c_i in zip(s, c, strict=True)), torch.zeros(H))
            i, f, o, new = (model.gates.weight @ torch.cat([h_tilde, x_t]) + model.gates.bias).split(H)
            c.append(f.sigmoid() * c_tilde + i.sigmoid() * new.tanh())
            h.append(o.sigmoid() * c[-1].tanh())
            looks[b, t, :t] = torch.tensor([s_i.item() for s_i in s])
        rows.append(torch.stack(h))
    return torch.stack(rows), looks


def test_lstmn_equals_the_loop():
    model, x = LSTMN(D, H), torch.randn(B, T, D)
    hidden, weights = model(x)
    expected, looks = loop_lstmn(model, x)
    assert_close(hidden, expected)
    assert_close(weights, looks)
    assert (weights.triu() == 0).all()  # only what lies before t
    assert_close(weights.sum(-1)[:, 1:], torch.ones(B, T - 1))


def test_lstmn_is_causal_and_differentiable():
    model, x = LSTMN(D, H).double(), torch.randn(1, 3, D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model(x)[0], x)
    other = x.detach().clone()
    other[:, 2] += 1
    assert_close(model(other)[0][:, :2], model(x)[0][:, :2])


def test_pool_equals_the_loop_and_ignores_padding():
    pool, h, lengths = Pool(D), torch.randn(B, T, D), torch.tensor([6, 2, 0])
    vector, weights = pool(h, masks.padding(lengths, T))
    for b, n in enumerate(lengths[:2]):
        a = torch.stack([pool.question @ torch.tanh(pool.project(h[b, i])) for i in range(n)]).softmax(0)
        assert_close(vector[b], sum(a[i] * h[b, i] for i in range(n)))
        assert_close(weights[b, :n], a)
    assert (vector[2] == 0).all() and (weights[2] == 0).all()


def test_bigru_equals_torch_on_each_length():
    ours, x, lengths = BiGRU(D, H), torch.randn(B, T, D), torch.tensor([6, 3, 1])
    theirs = nn.GRU(D, H, batch_first=True, bidirectional=True)
    state = {k: v for k, v in ours.ahead.state_dict().items()}
    theirs.load_state_dict(state | {f"{k}_reverse": v for k, v in ours.back.state_dict().items()})
    for b, n in enumerate(lengths):
        assert_close(ours(x, lengths)[b, :n], theirs(x[b : b + 1, :n])[0][0])


def document():
    lengths = torch.tensor([[4, 2, 3], [3, 5, 0], [1, 0, 0]])
    return torch.randint(1, 20, (3, 3, 5)), lengths


def test_han_ignores_padding_words_and_sentences():
    model, (words, lengths) = HAN(20, 4, 6, 5), document()
    reading = model(words, lengths)
    other = torch.where(masks.padding(lengths.flatten(), 5).view(3, 3, 5), words, 7)
    for part, same in zip(reading, model(other, lengths), strict=True):
        assert_close(part, same)
    alone = model(words[1:2, :2], lengths[1:2, :2])
    assert_close(alone.logits, reading.logits[1:2])
    assert (reading.sentences[1, 2] == 0) and (reading.words[0, 1, 2:] == 0).all()
    assert_close(reading.sentences.sum(-1), torch.ones(3))
    assert_close(reading.words.sum(-1), (lengths > 0).float())


def test_han_has_a_question_for_each_level():
    model, (words, lengths) = HAN(20, 4, 6, 5), document()
    model(words, lengths).logits.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert model.pool_words.question is not model.pool_sentences.question
