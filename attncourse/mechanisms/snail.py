"""SNAIL: a sequence model that learns a task within one sequence. Dilated convolutions carry, attention picks.

Mishra et al. 2018, "A Simple Neural Attentive Meta-Learner". A block takes x (B, T, D) and returns it with more
features, x (B, T, D + more), and a list of the weights (B, T, T) with which it looked: none, if it does not look.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..core.attention import attend
from ..core.scores import content


class CausalConv(nn.Module):
    """A convolution that sees the present and the past only.

        y_t = b + Σ_i W_i x_{t - i · dilation},  i = 0 … kernel - 1

    x (B, T, D) -> (B, T, d_out)

    The zeros that keep the length all stand on the left, as many as the furthest tap reaches back. What the taps see
    is laid side by side and goes through one matrix: on a CPU that beats a dilated `nn.Conv1d`, which wants time last.
    """

    def __init__(self, d_in: int, d_out: int, dilation: int, kernel: int = 2):
        super().__init__()
        self.dilation, self.kernel = dilation, kernel
        self.W = nn.Linear(kernel * d_in, d_out)  # [W_{kernel-1}, …, W_0]: the furthest tap first, as in Conv1d

    def forward(self, x: Tensor) -> Tensor:
        T, reach = x.shape[1], (self.kernel - 1) * self.dilation
        padded = F.pad(x, (0, 0, reach, 0))  # (B, reach + T, D)
        taps = [padded[:, i : i + T] for i in range(0, reach + 1, self.dilation)]  # x_{t-reach}, …, x_t
        return self.W(torch.cat(taps, -1))  # (B, T, d_out)


class DenseBlock(nn.Module):
    """A gated convolution whose output is laid beside its input.

        [x ; tanh(W_f ∗ x) ∘ σ(W_g ∗ x)]                    Mishra et al. 2018, sec. 3, DenseBlock

    x (B, T, D) -> (B, T, D + filters)
    """

    def __init__(self, d_in: int, filters: int, dilation: int):
        super().__init__()
        self.both = CausalConv(d_in, 2 * filters, dilation)  # W_f and W_g in one call
        self.d_out = d_in + filters

    def forward(self, x: Tensor) -> Tensor:
        new, gate = self.both(x).chunk(2, -1)  # (B, T, filters) each
        return torch.cat([x, new.tanh() * gate.sigmoid()], -1)


def dilations(length: int) -> list[int]:
    """1, 2, 4, …: as few doublings as it takes for the last position to see the first.

    With kernels of two, n of them see 2ⁿ positions.

    Differs from the paper: its pseudo-code counts 2^i from i = 1. Dilations 2, 4, 8 add up to even distances only,
    and one block could not see the position just before.
    """
    return [2**i for i in range(max(1, (length - 1).bit_length()))]


class TCBlock(nn.Module):
    """Temporal convolutions: dense blocks of doubling dilation, until the whole sequence is in sight.

                                                            Mishra et al. 2018, sec. 3, TCBlock
    x (B, T, D) -> x (B, T, D + filters · ⌈log2 length⌉), []
    """

    def __init__(self, d_in: int, filters: int, length: int):
        super().__init__()
        sizes = [d_in + i * filters for i in range(len(dilations(length)))]
        blocks = [DenseBlock(d, filters, r) for d, r in zip(sizes, dilations(length), strict=True)]
        self.blocks, self.d_out = nn.Sequential(*blocks), blocks[-1].d_out

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        return self.blocks(x), []


class AttentionBlock(nn.Module):
    """One look back at everything so far, laid beside the input.

        [x ; softmax(q kᵀ / √d_key, over the past) v],  q, k, v linear in x    Mishra et al. 2018, AttentionBlock

    x (B, T, D) -> x (B, T, D + d_value), [weights (B, T, T)]

    Query and key start out as the same matrix, so that like looks at like from the first step on. Drawn apart, they
    leave a training on a plateau at chance for long.
    """

    def __init__(self, d_in: int, d_key: int, d_value: int):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_in, d) for d in (d_key, d_key, d_value))
        self.key.load_state_dict(self.query.state_dict())
        self.d_out = d_in + d_value

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        mask = masks.causal(x.shape[1], x.device)  # (T, T)
        context, weights = attend(self.query(x), self.key(x), self.value(x), mask=mask)
        return torch.cat([x, context], -1), [weights]


Make = Callable[[int], nn.Module]  # the size of a block's input -> the block


def looking(d_key: int, d_value: int) -> Make:
    return lambda d_in: AttentionBlock(d_in, d_key, d_value)


def convolving(filters: int, length: int) -> Make:
    return lambda d_in: TCBlock(d_in, filters, length)


class Blocks(nn.Module):
    """Blocks one after the other, each reading all that the earlier ones have written; then a linear readout.

    x (B, T, d_in) -> y (B, T, d_out), the weights of every look, list of (B, T, T)
    """

    def __init__(self, d_in: int, d_out: int, *makes: Make):
        super().__init__()
        self.blocks = nn.ModuleList()
        for make in makes:
            self.blocks.append(make(d_in))
            d_in = self.blocks[-1].d_out
        self.out = nn.Linear(d_in, d_out)

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        weights = []
        for block in self.blocks:
            x, looked = block(x)
            weights += looked
        return self.out(x), weights


def snail(d_in: int, d_out: int, length: int, filters: int = 16, d_key: int = 64) -> Blocks:
    """The paper's order: look, carry, look, carry, look.

    Differs from the paper: all looks are equally wide, its later ones are wider.
    """
    look, carry = looking(d_key, d_key), convolving(filters, length)
    return Blocks(d_in, d_out, look, carry, look, carry, look)


def attention_only(d_in: int, d_out: int, d_key: int = 64) -> Blocks:
    """The three looks, and nothing between them."""
    return Blocks(d_in, d_out, *[looking(d_key, d_key)] * 3)


def convolution_only(d_in: int, d_out: int, length: int, filters: int = 16) -> Blocks:
    """The two blocks of convolutions, and no look."""
    return Blocks(d_in, d_out, convolving(filters, length), convolving(filters, length))


class Embed(nn.Module):
    """An image becomes a vector: four small convolutions, one image at a time.    (N, 28, 28) -> (N, d_out)

    All vectors are √d_out long: whether two images look alike is then the same question for every reader.

    Differs from the paper: strides for pooling, and GroupNorm for BatchNorm, which looks at the whole batch while it
    trains: an image of the future would change the present.
    """

    def __init__(self, d_out: int = 64, channels: tuple[int, ...] = (24, 48, 48, 64), strides=(2, 2, 1, 2)):
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, stride in zip((1, *channels), channels, strides, strict=False):
            layers += [nn.Conv2d(before, after, 3, stride, 1), nn.GroupNorm(8, after), nn.ReLU()]
        self.layers, self.out = nn.Sequential(*layers), nn.Linear(channels[-1] * 16, d_out)

    def forward(self, images: Tensor) -> Tensor:
        vectors = self.out(self.layers(images[:, None]).flatten(1))  # (N, d_out)
        return F.normalize(vectors, dim=-1) * vectors.shape[-1] ** 0.5  # only directions count; entries of about 1

    @torch.no_grad()
    def standardise(self, images: Tensor) -> None:
        """Before training: let every number of the vectors of these images have mean 0 and variance 1.

        Drawn at random, the layers give all images nearly the same vector; then no image looks more like its twin than
        like any other, and the loss stays at chance for thousands of steps.
        """
        vectors = self.out(self.layers(images[:, None]).flatten(1))
        mean, std = vectors.mean(0), vectors.std(0)
        self.out.bias.copy_((self.out.bias - mean) / std)
        self.out.weight.div_(std[:, None])


class FewShot(nn.Module):
    """Labelled images, then one without a label: which label does it have?

    images (B, S + Q, 28, 28): S shots, then Q queries; labels (B, S) int below `ways`
    returns logits (B, Q, ways), and the weights of every look, list of (B, Q, S + 1, S + 1)

    Every query is asked by itself, at the end of a sequence of its own: [shot ; label] S times, then [query ; 0].
    All sequences of an episode share the images' vectors, which are what costs.
    """

    def __init__(self, embed: nn.Module, reader: Blocks, ways: int = 5):
        super().__init__()
        self.embed, self.reader, self.ways = embed, reader, ways

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, list[Tensor]]:
        return self.read(self.vectors(images), labels)

    def vectors(self, images: Tensor) -> Tensor:
        return self.embed(images.flatten(0, 1)).unflatten(0, images.shape[:2])  # (B, S + Q, D)

    def read(self, vectors: Tensor, labels: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = self.sequences(vectors, labels)  # (B, Q, S + 1, D + ways)
        logits, weights = self.reader(x.flatten(0, 1))  # (B·Q, S + 1, ways)
        return logits[:, -1].unflatten(0, x.shape[:2]), [w.unflatten(0, x.shape[:2]) for w in weights]

    def sequences(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """vectors (B, S + Q, D), labels (B, S) -> (B, Q, S + 1, D + ways)"""
        S, Q = labels.shape[1], vectors.shape[1] - labels.shape[1]
        named = torch.cat([vectors[:, :S], F.one_hot(labels, self.ways).to(vectors)], -1)  # (B, S, D + ways)
        asked = F.pad(vectors[:, S:], (0, self.ways))  # (B, Q, D + ways): no label
        return torch.cat([named[:, None].expand(-1, Q, -1, -1), asked[:, :, None]], 2)


def match(vectors: Tensor, labels: Tensor, ways: int = 5) -> tuple[Tensor, Tensor]:
    """One look and nothing learned but the vectors: attend to the shots, read their labels.

        p(label) = Σ_i softmax_i(10 cos(query, shot_i)) [label_i = label]      Vinyals et al. 2016, eq. 1

    vectors (B, S + Q, D), labels (B, S) -> probabilities (B, Q, ways), weights (B, Q, S)

    Differs from the paper: the strength of the cosine is ours, and there are no full-context embeddings.
    """
    shots, queries = vectors.split([labels.shape[1], vectors.shape[1] - labels.shape[1]], 1)
    values = F.one_hot(labels, ways).to(vectors)  # (B, S, ways)
    return attend(queries, shots, values, partial(content, strength=10.0))
