"""Every model of the course: ready for a GPU (checked without one), for bf16 autocast and for torch.compile."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

from attncourse.core import scores
from attncourse.mechanisms import captioning, sequential, snail
from attncourse.mechanisms.glimpse import RAM, PlaceChoice, SpatialTransformer, draw_read, hybrid
from attncourse.mechanisms.implicit import ConvNet
from attncourse.mechanisms.luong import Global, InputFeeding, LocalM, LocalP, Luong, NoFeeding
from attncourse.mechanisms.memn2n import AttentiveReader, MemN2N
from attncourse.mechanisms.mirror import MirrorDiscriminator, MirrorGenerator, Nothing, PlacedAttention, PlacedResidual
from attncourse.mechanisms.ntm import NTM, FeedForward
from attncourse.mechanisms.pointer import Attending, BothWays, ForwardEncoder, PointerNetwork
from attncourse.mechanisms.sagan import Discriminator, Generator, ImageAttention, NonLocal, Residual
from attncourse.mechanisms.selfattention import HAN, LSTMN, Mean, SelfAttention
from attncourse.mechanisms.seq2seq import EncoderDecoder, RNNsearch
from attncourse.mechanisms.transformer import Transformer


def rnnsearch():
    inputs = torch.randint(4, 20, (3, 7)), torch.randint(1, 8, (3,)), torch.randint(4, 9, (3, 5))
    return RNNsearch(20, 9, d_embed=8, d_hidden=16), inputs


def encoder_decoder():
    return EncoderDecoder(20, 9, d_embed=8, d_hidden=16, d_context=12), rnnsearch()[1]


def additive():
    return scores.Additive(6, 5, 8), (torch.randn(2, 3, 6), torch.randn(2, 4, 5))


def general():
    return scores.General(6, 5), (torch.randn(2, 3, 6), torch.randn(2, 4, 5))


def location():
    return scores.Location(6, 4), (torch.randn(2, 3, 6), torch.randn(2, 4, 5))


def luong(scope, feeding):
    def make():
        inputs = torch.randint(4, 20, (3, 7)), torch.randint(1, 8, (3,)), torch.randint(4, 9, (3, 5))
        return Luong(20, 9, scores.General(16, 16), scope(), feeding(), d_embed=8, d_hidden=16), inputs

    return make


def sequence(make):
    return lambda: (make(), (torch.randn(2, 5, 4), torch.randint(1, 6, (2,))))


def captioner(read):
    def make():
        decoder = captioning.CaptionDecoder(9, read(), d_model=8, d_embed=6, d_hidden=10, d_score=5)
        decoder.score.v.data.mul_(40)  # no near ties: bf16 shall choose the same place
        model = captioning.Captioner(captioning.ImageEncoder(8, (4, 6), side=16), decoder)
        return model.eval(), (torch.rand(3, 3, 16, 16), torch.randint(4, 9, (3, 4)))

    return make


class Looking(torch.nn.Module):
    """RAM with its loss, since its places learn from that alone; the draw is the same each time."""

    def __init__(self):
        super().__init__()
        self.ram = RAM(4, 2, 3, d_part=8, d_glimpse=8, d_core=16)

    def forward(self, images, labels):
        def near(mean):
            drawn = (mean + 0.1).detach()
            return PlaceChoice(drawn.clamp(-1, 1), -((drawn - mean) ** 2).sum(-1))

        return hybrid(self.ram(images, 3, near), labels)


class DrawRead(torch.nn.Module):
    """DRAW's five numbers from a linear layer, then the read."""

    def __init__(self):
        super().__init__()
        self.say = torch.nn.Linear(9 * 11, 4)

    def forward(self, images):
        x, y, spread, sigma = self.say(images.flatten(1)).float().unbind(-1)
        return draw_read(images, torch.stack([x, y], -1).tanh(), spread.sigmoid(), sigma.exp(), 5)


def transformer():
    inputs = torch.randint(4, 20, (3, 7)), torch.randint(1, 8, (3,)), torch.randint(4, 9, (3, 5))
    return Transformer(torch.nn.Embedding(20, 16), torch.nn.Embedding(9, 16), 2, 4, 32, dropout=0.0), inputs


def pointing(encoder):
    def make():
        inputs = torch.rand(3, 6, 2), torch.randint(3, 7, (3,)), torch.randint(3, (3, 4))
        return Probabilities(PointerNetwork(encoder(), 8, 8)), inputs

    return make


class Probabilities(torch.nn.Module):
    """A pointer network's distribution: its logits are the lowest finite number on padding, and sum to -inf.

    Squared, since probabilities sum to one whatever the weights are: their sum has no gradient.
    """

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, *inputs):
        return self.network(*inputs).float().softmax(-1) ** 2


# Each makes a small model and its inputs, on whatever device is the default where it is called.
MODELS = {"RNNsearch": rnnsearch, "Additive": additive, "General": general, "Location": location}
MODELS |= {
    "RNN": sequence(lambda: sequential.rnn(4, 8, 3)),
    "LSTM": sequence(lambda: sequential.lstm(4, 8, 3)),
    "BiLSTM": sequence(lambda: sequential.bilstm(4, 8, 3)),
    "ByteNet": sequence(lambda: sequential.ByteNet(4, 8, 3, (1, 2), (1, 1))),
}
MODELS["Transformer"] = transformer
MODELS["SelfAttention"] = lambda: (SelfAttention(6, 4), (torch.randn(2, 5, 6),))
MODELS["LSTMN"] = lambda: (LSTMN(6, 4), (torch.randn(2, 5, 6),))
MODELS["HAN"] = lambda: (HAN(20, 3, 6, 5), (torch.randint(1, 20, (2, 3, 5)), torch.randint(1, 6, (2, 3))))
MODELS["NTM, LSTM controller"] = lambda: (NTM(3, 2, d_hidden=6, slots=5, width=4), (torch.randn(2, 4, 3),))
MODELS["NTM, feed-forward controller"] = lambda: (
    NTM(3, 2, FeedForward, 6, slots=5, width=4, readers=2, writers=2),
    (torch.randn(2, 4, 3),),
)
MODELS["MemN2N"] = lambda: (
    MemN2N(20, 6, hops=3, slots=4),
    (torch.randint(1, 20, (2, 3, 5)), torch.randint(1, 4, (2,)), torch.randint(1, 20, (2, 4))),
)
MODELS["AttentiveReader"] = lambda: (
    AttentiveReader(20, 6, 5),
    (torch.randint(1, 20, (2, 7)), torch.randint(1, 20, (2, 4))),
)
MODELS["HAN, means"] = lambda: (HAN(20, 3, 6, 5, Mean), MODELS["HAN"]()[1])
MODELS["EncoderDecoder"] = encoder_decoder
MODELS["Luong global"] = luong(Global, NoFeeding)
MODELS["Luong local-m"] = luong(lambda: LocalM(2), InputFeeding)
MODELS["Luong local-p"] = luong(lambda: LocalP(16, 3), InputFeeding)
MODELS["Captioner soft"] = captioner(captioning.Soft)
MODELS["Captioner hard"] = captioner(captioning.Hard)
MODELS["RAM"] = lambda: (Looking(), (torch.rand(3, 1, 9, 11), torch.randint(3, (3,))))
MODELS["SpatialTransformer"] = lambda: (SpatialTransformer(9 * 11, 5), (torch.rand(2, 1, 9, 11),))
MODELS["DRAW read"] = lambda: (DrawRead(), (torch.rand(2, 1, 9, 11),))
MODELS["ConvNet"] = lambda: (ConvNet((4, 5, 6, 7), classes=3), (torch.randn(3, 1, 16, 20),))
MODELS["SNAIL"] = lambda: (snail.snail(4, 3, 9, 4, 4), (torch.randn(2, 9, 4),))
MODELS["SNAIL, attention only"] = lambda: (snail.attention_only(4, 3, 4), (torch.randn(2, 9, 4),))
MODELS["SNAIL, convolution only"] = lambda: (snail.convolution_only(4, 3, 9, 4), (torch.randn(2, 9, 4),))
MODELS["SNAIL, few shots"] = lambda: (
    snail.FewShot(snail.Embed(8, (8, 8, 8, 8)), snail.snail(13, 5, 6, 4, 4)),
    (torch.rand(2, 7, 28, 28), torch.randint(5, (2, 5))),
)
for name, encoder in {
    "ForwardEncoder": lambda: ForwardEncoder(2, 8),
    "BothWays": lambda: BothWays(2, 8),
    "Attending": lambda: Attending(2, 8, 2, 2, 16),
}.items():
    MODELS[f"PointerNetwork, LSTM, {name}"] = pointing(encoder)


def opened(block):
    """The gate open: closed, the whole block would be its input."""
    for name, parameter in block.named_parameters():
        if name.endswith("gamma"):
            parameter.data.fill_(0.5)
    return block.eval()  # in training every call is a step of the power iteration


MODELS["NonLocal"] = lambda: (
    NonLocal(*(torch.nn.Conv2d(8, n, 1) for n in (2, 2, 4)), torch.nn.Conv2d(4, 8, 1), scores.scaled_dot),
    (torch.randn(2, 8, 5, 6),),
)
for name, block in {
    "attention": ImageAttention,
    "pooled": lambda c: ImageAttention(c, 2),
    "residual": Residual,
}.items():
    MODELS[f"block, {name}"] = lambda block=block: (opened(block(16)), (torch.randn(2, 16, 4, 6),))
    MODELS[f"Generator, {name}"] = lambda block=block: (opened(Generator(block, 5, 8)), (torch.randn(3, 5),))
    MODELS[f"Discriminator, {name}"] = lambda block=block: (
        opened(Discriminator(block, 8)),
        (torch.rand(3, 3, 32, 32),),
    )
for name, block in {"attention": PlacedAttention, "residual": PlacedResidual, "nothing": Nothing}.items():
    MODELS[f"MirrorGenerator, {name}"] = lambda block=block: (
        opened(MirrorGenerator(block, 12, 4)),
        (torch.randn(3, 4, 1, 8),),
    )
    MODELS[f"MirrorDiscriminator, {name}"] = lambda block=block: (
        opened(MirrorDiscriminator(block, 12)),
        (torch.rand(3, 3, 32, 32),),
    )


def first(output):
    return output[0] if isinstance(output, tuple) else output


@pytest.mark.parametrize("name", MODELS)
def test_no_tensor_is_made_on_the_cpu(name):
    """Fake tensors carry a device but no numbers: an operation that mixes CPU and `meta` raises there."""
    with FakeTensorMode(allow_non_fake_inputs=True):  # BatchNorm's counter is made as a real tensor on `meta`
        with torch.device("meta"):
            model, inputs = MODELS[name]()
        output = first(model(*inputs))
        assert output.device.type == "meta"
        output.float().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_the_meta_test_can_fail():
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(RuntimeError, match="device"):
        torch.randn(2, device="meta") + torch.zeros(2)


@pytest.mark.parametrize("name", MODELS)
def test_bf16_autocast(name):
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    exact = first(model(*inputs))
    with torch.autocast("cpu", torch.bfloat16):
        try:
            output = first(model(*inputs))
        except RuntimeError as error:
            if "LSTM" in name and "primitive descriptor" in str(error):
                pytest.skip("this CPU has no LSTM in bfloat16 (oneDNN)")
            raise
        output.float().sum().backward()
    assert_close(output.float(), exact, rtol=0.1, atol=0.05)
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_compiled_equals_eager(name):
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    compiled = torch.compile(model, backend="aot_eager")
    assert_close(first(compiled(*inputs)), first(model(*inputs)))
