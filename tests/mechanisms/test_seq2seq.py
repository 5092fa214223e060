"""The encoder-decoder with one vector, RNNsearch, and the two searches."""

from itertools import product
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attncourse.core.recurrent import reverse
from attncourse.core.symbols import BEGIN, END
from attncourse.mechanisms import seq2seq
from attncourse.mechanisms.seq2seq import AttentiveDecoder, EncoderDecoder, OneVectorDecoder, RNNsearch, nll
from attncourse.running.decoding import beam, greedy


@pytest.fixture
def model():
    torch.manual_seed(0)
    return RNNsearch(20, 9, d_embed=5, d_hidden=6).double().eval()


@pytest.fixture
def plain():
    torch.manual_seed(0)
    return EncoderDecoder(20, 9, d_embed=5, d_hidden=6, d_context=4).double().eval()


def batch(rows=4, size=7):
    torch.manual_seed(1)
    lengths = torch.tensor([7, 3, 1, 5])[:rows]
    return torch.randint(4, 20, (rows, size)), lengths


def test_reverse_within_length():
    x = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]])[..., None].float()
    assert reverse(x, torch.tensor([3, 4]))[..., 0].tolist() == [[3, 2, 1, 0], [7, 6, 5, 4]]
    assert_close(reverse(reverse(x, torch.tensor([3, 4])), torch.tensor([3, 4])), x)


def test_encoder_equals_packed_bidirectional_gru(model):
    source, lengths = batch()
    oracle = nn.GRU(5, 6, batch_first=True, bidirectional=True).double()
    for name, value in model.encoder.forwards.named_parameters():
        oracle.get_parameter(name).data.copy_(value)
    for name, value in model.encoder.backwards.named_parameters():
        oracle.get_parameter(f"{name}_reverse").data.copy_(value)
    packed = nn.utils.rnn.pack_padded_sequence(model.encoder.embed(source), lengths, True, enforce_sorted=False)
    wanted, _ = nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    got = model.encoder(source, lengths)
    for row, n in enumerate(lengths):
        assert_close(got[row, :n], wanted[row, :n])


def test_padding_changes_nothing(model):
    source, lengths = batch()
    previous = torch.randint(4, 9, (4, 5))
    logits, weights = model(source, lengths, previous)
    wider = torch.cat([source, torch.randint(4, 20, (4, 3))], 1)  # rubbish, but beyond every length
    more_logits, more_weights = model(wider, lengths, previous)
    assert_close(logits, more_logits)
    assert_close(weights, more_weights[..., :7])
    assert (more_weights[..., 7:] == 0).all()
    for row, n in enumerate(lengths):  # and each sentence alone gives what it gives in the batch
        alone, _ = model(source[row : row + 1, :n], lengths[row : row + 1], previous[row : row + 1])
        assert_close(alone[0], logits[row])


def test_decoder_step_equals_the_paper_written_out(model):
    source, lengths = batch(1)
    decoder, h = model.decoder, model.encoder(source, lengths)[0]
    carry = model.begin(source, lengths)
    s = torch.tanh(decoder.start(h[0, 6:]))
    assert_close(carry.state[0], s)
    y = decoder.embed(torch.tensor(BEGIN))
    W_q, W_k, v = decoder.score.W_q.weight, decoder.score.W_k.weight, decoder.score.v
    e = torch.stack([v @ torch.tanh(W_q @ s + W_k @ h_j) for h_j in h])
    a = e.exp() / e.exp().sum()
    c = sum(a_j * h_j for a_j, h_j in zip(a, h, strict=True))
    new = decoder.cell(torch.cat([y, c])[None], s[None])[0]
    pairs = decoder.readout(torch.cat([new, y, c]))
    t = torch.stack([pairs[i : i + 2].max() for i in range(0, len(pairs), 2)])
    logits, after, weights = model.step(torch.tensor([BEGIN]), carry)
    assert_close(weights[0], a)
    assert_close(after.state[0], new)
    assert_close(logits[0], decoder.out(t))


def test_the_attention_is_one_object(model):
    """AttentiveDecoder is OneVectorDecoder and a score, nothing else; RNNsearch keeps its parameters' names."""
    without = dict(OneVectorDecoder(9, 5, 6, d_context=12, d_start=6).named_parameters())
    with_score = dict(AttentiveDecoder(9, 5, 6).named_parameters())
    assert with_score.keys() - without.keys() == {"score.v", "score.W_q.weight", "score.W_k.weight"}
    assert all(with_score[name].shape == p.shape for name, p in without.items())
    assert AttentiveDecoder.step is OneVectorDecoder.step
    assert {name.split(".", 1)[0] for name in model.state_dict()} == {"encoder", "decoder"}


def test_a_seed_draws_the_weights_it_always_drew():
    """The card of bahdanau-dates names a command; its seed must still mean the same network."""
    torch.manual_seed(0)
    drawn = RNNsearch(20, 9, 5, 6).state_dict()
    sums = {"encoder.backwards.weight_hh_l0": 22.828456, "decoder.score.v": 1.129546, "decoder.out.weight": 10.689113}
    for name, value in sums.items():
        assert drawn[name].abs().sum().item() == pytest.approx(value, abs=1e-4)


def test_the_fixed_vector_is_the_last_state_of_a_packed_gru(plain):
    source, lengths = batch()
    x = plain.encoder.embed(source)
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
    _, last = plain.encoder.forwards(packed)  # (1, B, C)
    carry = plain.begin(source, lengths)
    assert_close(carry.context, last[0])
    assert_close(carry.state, torch.tanh(plain.decoder.start(last[0])))


def test_the_writer_is_the_paper_written_out(plain):
    source, lengths = batch(1)
    carry, decoder = plain.begin(source, lengths), plain.decoder
    c, s, y = carry.context[0], carry.state[0], decoder.embed(torch.tensor(BEGIN))
    new = decoder.cell(torch.cat([y, c])[None], s[None])[0]
    pairs = decoder.readout(torch.cat([new, y, c]))
    t = torch.stack([pairs[i : i + 2].max() for i in range(0, len(pairs), 2)])
    logits, after, weights = plain.step(torch.tensor([BEGIN]), carry)
    assert_close(logits[0], decoder.out(t))
    assert_close(after.state[0], new)
    assert after.context is carry.context and weights.tolist() == [[1.0]]


def test_padding_changes_nothing_for_the_fixed_vector(plain):
    source, lengths = batch()
    previous = torch.randint(4, 9, (4, 5))
    logits, weights = plain(source, lengths, previous)
    assert weights.shape == (4, 5, 1)
    wider = torch.cat([source, torch.randint(4, 20, (4, 3))], 1)
    assert_close(plain(wider, lengths, previous)[0], logits)
    for row, n in enumerate(lengths):
        alone, _ = plain(source[row : row + 1, :n], lengths[row : row + 1], previous[row : row + 1])
        assert_close(alone[0], logits[row])


def test_attention_over_one_annotation_is_the_fixed_vector():
    """A decoder that is given a single annotation has nowhere else to look: it writes what OneVectorDecoder would."""
    torch.manual_seed(2)
    looking = AttentiveDecoder(9, 5, 6).double()
    fixed = OneVectorDecoder(9, 5, 6, d_context=12, d_start=6).double()
    fixed.load_state_dict(looking.state_dict(), strict=False)
    carry = looking.begin(torch.randn(3, 1, 12).double(), torch.tensor([1, 1, 1]))
    summary = seq2seq.OneVectorCarry(carry.state, carry.values[:, 0])
    for y in (BEGIN, 5, 7):
        logits, carry, weights = looking.step(torch.full((3,), y), carry)
        wanted, summary, ones = fixed.step(torch.full((3,), y), summary)
        assert_close(logits, wanted)
        assert_close(carry.state, summary.state)
        assert_close(weights, ones)


def test_the_searches_serve_the_plain_model(plain):
    source, lengths = batch()
    best = greedy(plain.step, plain.begin(source, lengths), BEGIN, END, 6)
    one = beam(plain.step, plain.begin(source, lengths), BEGIN, END, 6, width=1)
    wide = beam(plain.step, plain.begin(source, lengths), BEGIN, END, 6, width=5)
    assert one.symbols.tolist() == best.symbols.tolist()
    assert (wide.log_prob >= best.log_prob - 1e-9).all()


def test_outputs_do_not_see_the_future(model):
    source, lengths = batch()
    previous = torch.randint(4, 9, (4, 6))
    for training in (True, False):
        model.train(training)
        changed = previous.clone()
        changed[:, 3:] = (changed[:, 3:] + 1) % 9
        before, after = model(source, lengths, previous)[0], model(source, lengths, changed)[0]
        assert_close(before[:, :3], after[:, :3])
        assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_nll_ignores_padding(model):
    logits, target = torch.randn(2, 4, 9), torch.randint(0, 9, (2, 4))
    lengths = torch.tensor([4, 2])
    picked = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]
    wanted = -(picked[0].sum() + picked[1, :2].sum()) / 6
    assert_close(nll(logits, target, lengths), wanted)


def test_greedy_batched_equals_one_by_one(model):
    source, lengths = batch()
    together = greedy(model.step, model.begin(source, lengths), BEGIN, END, 8)
    for row, n in enumerate(lengths):
        alone = greedy(model.step, model.begin(source[row : row + 1, :n], lengths[row : row + 1]), BEGIN, END, 8)
        size = alone.symbols.shape[1]
        assert together.symbols[row, :size].tolist() == alone.symbols[0].tolist()
        assert_close(together.log_prob[row], alone.log_prob[0])
        assert_close(together.weights[row, :size, :n], alone.weights[0])


def test_beam_of_one_is_greedy_and_wider_is_not_worse(model):
    source, lengths = batch()
    wide = beam(model.step, model.begin(source, lengths), BEGIN, END, 6, width=5)
    one = beam(model.step, model.begin(source, lengths), BEGIN, END, 6, width=1)
    best = greedy(model.step, model.begin(source, lengths), BEGIN, END, 6)
    assert one.symbols.tolist() == best.symbols.tolist()
    assert_close(one.log_prob, best.log_prob)
    assert_close(one.weights, best.weights)
    assert (wide.log_prob >= one.log_prob - 1e-9).all()


class Chain(NamedTuple):
    last: Tensor


def test_wide_beam_equals_brute_force():
    """A random Markov chain over 5 symbols: with a beam as wide as all beginnings, beam search is exact."""
    torch.manual_seed(3)
    table = torch.randn(5, 5).double()

    def step(previous, carry):
        return table[previous], Chain(previous), torch.ones(len(previous), 1)

    def log_prob(symbols):
        total, last = 0.0, BEGIN
        for symbol in symbols:
            total, last = total + table[last].log_softmax(-1)[symbol].item(), symbol
        return total

    ended = [(*p, END) for n in range(3) for p in product([s for s in range(5) if s != END], repeat=n)]
    open_ = list(product([s for s in range(5) if s != END], repeat=3))
    best = max(ended + open_, key=log_prob)
    out = beam(step, Chain(torch.zeros(1)), BEGIN, END, 3, width=80)
    assert out.symbols[0, : len(best)].tolist() == list(best)
    assert_close(out.log_prob[0].item(), log_prob(best), rtol=1e-5, atol=1e-5)


def test_beam_needs_a_width(model):
    with pytest.raises(ValueError, match="width is 0"):
        beam(model.step, model.begin(*batch()), BEGIN, END, 3, width=0)


def test_the_module_fits_a_few_screens():
    assert len(open(seq2seq.__file__).read().splitlines()) <= 300
