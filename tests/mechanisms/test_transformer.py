"""The Transformer: parity with torch's own layers, causality, cache, masks, and where the parameters sit."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attncourse.bench import compare
from attncourse.bench.transformer import Torchs, bench
from attncourse.core import masks
from attncourse.core.attention import attend
from attncourse.core.symbols import BEGIN, END
from attncourse.mechanisms.transformer import (
    DecoderLayer,
    EncoderLayer,
    MultiHead,
    PostNorm,
    PreNorm,
    Transformer,
    positions,
    warm_up,
    watch,
)
from attncourse.running.decoding import beam, greedy

B, S, T, D, H = 3, 7, 5, 16, 4
LENGTHS = torch.tensor([7, 4, 1])


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def small(residual=PostNorm, dropout=0.0):
    return Transformer(nn.Embedding(20, D), nn.Embedding(11, D), 2, H, 32, dropout, residual)


def inputs():
    return torch.randint(4, 20, (B, S)), LENGTHS, torch.randint(4, 11, (B, T))


def copy_attention(ours: MultiHead, theirs: nn.MultiheadAttention):
    with torch.no_grad():
        for part, weight, bias in zip(
            (ours.query, ours.key, ours.value),
            theirs.in_proj_weight.chunk(3),
            theirs.in_proj_bias.chunk(3),
            strict=True,
        ):
            part.weight.copy_(weight)
            part.bias.copy_(bias)
        ours.out.load_state_dict(theirs.out_proj.state_dict())


def copy_layer(ours, theirs, attentions, norms):
    for mine, other in attentions:
        copy_attention(mine, other)
    ours.feed_forward[0].load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward[2].load_state_dict(theirs.linear2.state_dict())
    for residual, norm in zip(ours.residuals, norms, strict=True):
        nn.init.normal_(norm.weight)  # the usual ones and zeros would hide a swap of two norms
        nn.init.normal_(norm.bias)
        residual.norm.load_state_dict(norm.state_dict())


def random_bias(module):
    for name, p in module.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p)  # torch starts them at zero, where an exchange would not show


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_multi_head_equals_torch(causal, train):
    theirs = nn.MultiheadAttention(D, H, batch_first=True).train(train)
    random_bias(theirs)
    ours = MultiHead(D, H).train(train)
    copy_attention(ours, theirs)
    x = torch.randn(B, S, D)
    mask = masks.padding(LENGTHS, S)[:, None] & (masks.causal(S) if causal else torch.tensor(True))  # (B, 1, S, S)
    blocked = ~mask.expand(B, H, S, S).flatten(0, 1)  # torch's attn_mask has it the other way round
    expected, weights = theirs(x, x, x, attn_mask=blocked, average_attn_weights=False)
    keys, values = ours.memorise(x)
    assert_close(ours(x, keys, values, mask), expected, atol=1e-5, rtol=0)
    assert_close(ours.weights(x, keys, mask), weights, atol=1e-5, rtol=0)


def test_multi_head_is_attend_per_head():
    ours, x, y = MultiHead(D, H), torch.randn(B, T, D), torch.randn(B, S, D)
    heads = []
    for h in range(H):  # one head at a time, its rows of the projections
        rows = slice(h * D // H, (h + 1) * D // H)
        project = (nn.functional.linear(z, p.weight[rows], p.bias[rows]) for z, p in
                   ((x, ours.query), (y, ours.key), (y, ours.value)))  # fmt: skip
        heads.append(attend(*project)[0])
    assert_close(ours(x, *ours.memorise(y)), ours.out(torch.cat(heads, -1)))


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_encoder_layer_equals_torch(residual, train):
    theirs = nn.TransformerEncoderLayer(D, H, 32, 0.0, batch_first=True, norm_first=residual is PreNorm).train(train)
    random_bias(theirs)
    ours = EncoderLayer(D, H, 32, 0.0, residual).train(train)
    copy_layer(ours, theirs, [(ours.attention, theirs.self_attn)], [theirs.norm1, theirs.norm2])
    x, mask = torch.randn(B, S, D), masks.padding(LENGTHS, S)
    expected = theirs(x, src_key_padding_mask=~mask[:, 0])
    real = mask[:, 0, :, None]  # torch's fast path writes zeros at padded positions
    assert_close(ours(x, mask[:, None]) * real, expected * real, atol=1e-5, rtol=0)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_decoder_layer_equals_torch(residual, train):
    theirs = nn.TransformerDecoderLayer(D, H, 32, 0.0, batch_first=True, norm_first=residual is PreNorm).train(train)
    random_bias(theirs)
    ours = DecoderLayer(D, H, 32, 0.0, residual).train(train)
    pairs = [(ours.itself, theirs.self_attn), (ours.cross, theirs.multihead_attn)]
    copy_layer(ours, theirs, pairs, [theirs.norm1, theirs.norm2, theirs.norm3])
    x, read, mask, causal = torch.randn(B, T, D), torch.randn(B, S, D), masks.padding(LENGTHS, S), masks.causal(T)
    expected = theirs(x, read, tgt_mask=~causal, memory_key_padding_mask=~mask[:, 0])
    output = ours(x, ours.cross.memorise(read), mask[:, None], causal)
    assert_close(output, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_fused_path_equals_weights(residual):
    """Each map, multiplied with its values by hand, gives what the fused path gave."""
    model = small(residual)
    source, lengths, previous = inputs()
    seen = {}
    for name, module in model.named_modules():
        if isinstance(module, MultiHead):
            module.register_forward_hook(lambda m, args, out, name=name: seen.update({name: (m, args, out)}))
    maps = model.weights(source, lengths, previous)
    for kind, part in (("encoder", "attention"), ("decoder", "itself"), ("decoder", "cross")):
        stack = {"attention": maps.encoder, "itself": maps.decoder, "cross": maps.cross}[part]
        for i in range(2):
            module, args, out = seen[f"{kind}.layers.{i}.{part}"]
            by_hand = module.out((stack[:, i] @ args[2]).transpose(1, 2).flatten(-2))
            assert_close(by_hand, out, atol=1e-5, rtol=0)
    assert maps.encoder.shape == (B, 2, H, S, S) and maps.cross.shape == (B, 2, H, T, S)
    assert (maps.decoder.triu(1) == 0).all()
    assert (maps.cross[1, ..., 4:] == 0).all()
    assert_close(maps.cross.sum(-1), torch.ones(B, 2, H, T))


def test_watch_leaves_no_hook():
    head, x = MultiHead(D, H), torch.randn(B, T, D)
    with watch(head) as maps:
        head(x, *head.memorise(x), None)
    head(x, *head.memorise(x), None)
    assert len(maps) == 1 and not head._forward_hooks


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_the_future_changes_nothing(residual, train):
    model = small(residual).train(train)
    source, lengths, previous = inputs()
    for t in range(T):
        other = previous.clone()
        other[:, t:] = torch.randint(4, 11, (B, T - t))
        before, after = model(source, lengths, previous), model(source, lengths, other)
        assert_close(before[:, :t], after[:, :t])
        if t == 0:
            assert not torch.allclose(before[:, t:], after[:, t:])  # the perturbation is seen where it may be


@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_cached_equals_uncached(residual):
    model = small(residual).eval()
    source, lengths, previous = inputs()
    carry, logits, weights = model.begin(source, lengths), [], []
    for t in range(T):
        before, kept = carry, [part.clone() for part in carry]
        logit, carry, weight = model.step(previous[:, t], carry)
        assert all(torch.equal(a, b) for a, b in zip(before, kept, strict=True))  # a search may go back to it
        assert carry.keys.shape == (B, 2, H, t + 1, D // H)
        logits.append(logit)
        weights.append(weight)
    assert_close(torch.stack(logits, 1), model(source, lengths, previous), atol=1e-5, rtol=0)
    last = model.weights(source, lengths, previous).cross[:, -1].mean(1)
    assert_close(torch.stack(weights, 1), last, atol=1e-5, rtol=0)


@pytest.mark.parametrize("train", [False, True])
def test_a_cached_step_does_not_know_the_future(train):
    """Two targets that part at t: up to there, the steps of the one are the whole forward pass of the other."""
    model = small().train(train)
    source, lengths, previous = inputs()
    other = previous.clone()
    other[:, 3:] = (other[:, 3:] - 3) % 7 + 4
    carry, whole = model.begin(source, lengths), model(source, lengths, other)
    for t in range(T):
        logits, carry, _ = model.step(previous[:, t], carry)
        same = torch.allclose(logits, whole[:, t], atol=1e-5)
        assert same == (t < 3)


def test_one_table_for_source_target_and_output():
    table = nn.Embedding(20, D)
    model = Transformer(table, table, 1, H, 32, 0.0)
    assert sum(p.shape == (20, D) for p in model.parameters()) == 1
    source, lengths, previous = inputs()
    model(source, lengths, previous)[..., 2].sum().backward()  # as output: row 2 is in no input
    assert table.weight.grad[2].abs().sum() > 0
    x = model.encoder.embed(source)
    expected = table(source) * D**0.5 + positions(S, D, x)
    assert_close(x, expected)


def test_searches():
    """A beam of one is greedy; a beam as wide as all outputs finds the most probable one."""
    model = small().eval()
    source, lengths, _ = inputs()
    one = beam(model.step, model.begin(source, lengths), BEGIN, END, 4, width=1)
    best = greedy(model.step, model.begin(source, lengths), BEGIN, END, 4)
    assert torch.equal(one.symbols, best.symbols)
    wide = beam(model.step, model.begin(source, lengths), BEGIN, END, 2, width=11)
    first = model(source, lengths, torch.full((B, 1), BEGIN))[:, 0].log_softmax(-1)  # (B, V)
    second = torch.stack(
        [model(source, lengths, torch.tensor([[BEGIN, a]] * B))[:, 1].log_softmax(-1) for a in range(11)], 1
    )  # (B, V, V)
    total = first[:, :, None] + second
    total[:, END] = -torch.inf
    total[:, END, END] = first[:, END]
    assert_close(wide.log_prob, total.flatten(1).amax(-1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("train", [False, True])
def test_a_source_of_padding_only_gives_no_nan(train):
    model = small(dropout=0.1).train(train)
    source, _, previous = inputs()
    logits = model(source, torch.tensor([7, 0, 3]), previous)
    logits.square().mean().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    maps = model.eval().weights(source, torch.tensor([7, 0, 3]), previous)
    assert (maps.cross[1] == 0).all() and (maps.encoder[1] == 0).all()


def test_padding_changes_nothing():
    model = small().eval()
    source, lengths, previous = inputs()
    whole = model(source, lengths, previous)
    source[1, 4:] = 9
    assert_close(model(source, lengths, previous), whole)
    assert_close(model(source[1:2, :4], lengths[1:2], previous[1:2]), whole[1:2])


def test_positions_are_a_clock():
    like = torch.zeros((), dtype=torch.float64)
    table = positions(50, D, like)
    for p in (0, 1, 17):
        for i in range(D // 2):
            assert_close(
                table[p, 2 * i].item(), torch.tensor(p / 10_000 ** (2 * i / D)).sin().item(), atol=1e-5, rtol=0
            )
    assert_close(positions(5, D, like, start=17), table[17:22], atol=1e-5, rtol=0)
    shift = table[7:50] - torch.stack([rotate(row, 7) for row in table[:43]])  # a shift by 7 is one linear map
    assert shift.abs().max() < 1e-5


def rotate(row, k):
    frequency = 10_000 ** (-torch.arange(0, D, 2) / D).double()
    sin, cos = row[0::2], row[1::2]
    turned = (
        sin * (k * frequency).cos() + cos * (k * frequency).sin(),
        cos * (k * frequency).cos() - sin * (k * frequency).sin(),
    )
    return torch.stack(turned, -1).flatten()


def test_warm_up_rises_and_falls():
    rates = [warm_up(step, 512, 400) for step in range(1, 2_000)]
    assert rates.index(max(rates)) == 399
    assert rates[199] == pytest.approx(max(rates) / 2)
    assert rates[1599] == pytest.approx(max(rates) / 2)


def test_the_base_model_has_the_papers_size():
    with torch.device("meta"):
        table = nn.Embedding(37_000, 512)
        model = Transformer(table, table)
    total = sum(p.numel() for p in model.parameters())
    attention, feed, norm = 4 * (512 * 512 + 512), 512 * 2048 * 2 + 2048 + 512, 2 * 512
    assert total == 37_000 * 512 + 6 * (attention + feed + 2 * norm) + 6 * (2 * attention + feed + 3 * norm)
    assert 60e6 < total < 66e6


def test_the_bench_compares_equal_models():
    """With the same weights, nn.Transformer in the bench's wrapper computes what ours does; and the suite runs."""
    table = nn.Embedding(20, D)
    ours, theirs = Transformer(table, table, 1, H, 32, 0.0).eval(), Torchs(table, 1, H, 32).eval()
    encoder, decoder = theirs.model.encoder.layers[0], theirs.model.decoder.layers[0]
    first, second = ours.encoder.layers[0], ours.decoder.layers[0]
    copy_layer(first, encoder, [(first.attention, encoder.self_attn)], [encoder.norm1, encoder.norm2])
    pairs = [(second.itself, decoder.self_attn), (second.cross, decoder.multihead_attn)]
    copy_layer(second, decoder, pairs, [decoder.norm1, decoder.norm2, decoder.norm3])
    ours.encoder.last, ours.decoder.last = theirs.model.encoder.norm, theirs.model.decoder.norm  # it closes each stack
    source, lengths, previous = inputs()
    assert_close(theirs(source, lengths, previous), ours(source, lengths, previous), atol=1e-5, rtol=0)
    for candidates in bench(d=16, rows=2, size=6, written=(2, 5), vocab=30).values():
        assert all(low <= high for _, low, high in compare(candidates, rounds=2).values())


def test_bad_sizes_are_explained():
    with pytest.raises(ValueError, match="5 heads of equal size do not fit into d_model = 16: 1 over"):
        MultiHead(16, 5)
