"""A pair of networks in which far parts of an image can agree through one block only (chapter 16).

Nothing here sees the whole image at once: the generator begins with a map of independent noise, one small vector per
place, and the discriminator ends with the mean of one score per place. Between them are convolutions, whose reach is
short and can be computed. So without attention two places beyond that reach are made from different noise, and no score
depends on both: they are independent, whatever the weights are.

That holds for the generator as it is used. While it trains, all places of all images of a batch share the mean and the
variance per channel that its batch norms take.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from ..core.attention import attend
from ..core.scores import dot
from .sagan import Block, Gated, discriminator_loss, frozen, generator_loss, variety

PLACES, PATCH = (1, 8), (32, 4)  # the map: a row of 8 places; a place is 32×4 pixels of the image


class PlacedAttention(nn.Module):
    """SAGAN's block, and each place knows where it is: a learned vector is added to its query and to its key.

        β_{j,i} = softmax over i of (g(x_j) + p_j)ᵀ (f(x_i) + r_i),   y_j = x_j + γ v(Σ_i β_{j,i} h(x_i))

    x (B, C, 1, 8) -> (B, C, 1, 8). A 1×1 convolution does not know where it is, and a mirror is about nothing else.
    The convolutions g, f and h are one, `look`, whose output is cut in three.
    """

    def __init__(self, channels: int):
        super().__init__()
        d_key, d_value = channels // 4, channels // 2
        self.widths = d_key, d_key, d_value
        self.look = nn.Conv2d(channels, sum(self.widths), 1, bias=False)
        self.places = nn.Parameter(0.5 * torch.randn(2, PLACES[0] * PLACES[1], d_key))  # of queries, of keys
        self.out = Gated(nn.Conv2d(d_value, channels, 1, bias=False))

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """-> query (B, N, d_key), keys (B, N, d_key), values (B, N, d_value)"""
        query, keys, values = self.look(x).flatten(2).mT.split(self.widths, -1)
        return query + self.places[0], keys + self.places[1], values

    def weights(self, x: Tensor) -> Tensor:
        """The map: row j holds what place j reads from each place i.    -> (B, N, N), rows sum to one"""
        return attend(*self.parts(x), dot)[1]

    def forward(self, x: Tensor) -> Tensor:
        context, _ = attend(*self.parts(x), dot)
        return x + self.out(context.mT.unflatten(2, x.shape[2:]))  # (B, d_value, 1, 8) -> (B, C, 1, 8)


class PlacedResidual(nn.Module):
    """The control: places and as many parameters, but its convolution sees 3×3 places and no more.

    x (B, C, 1, 8) -> (B, C, 1, 8)
    """

    def __init__(self, channels: int):
        super().__init__()
        inner = inner_width(channels)
        self.look = nn.Conv2d(channels, inner, 3, padding=1, bias=False)
        self.places = nn.Parameter(0.5 * torch.randn(inner, *PLACES))
        self.out = Gated(nn.Conv2d(inner, channels, 1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.out(F.leaky_relu(self.look(x) + self.places, 0.1))


def inner_width(channels: int) -> int:
    """The m for which the control's 10 C m weights and N m places come nearest to the attention's."""
    N, d_key = PLACES[0] * PLACES[1], channels // 4
    wanted = 2 * channels * d_key + 2 * channels * (channels // 2) + 2 * N * d_key
    return min(range(1, channels + 1), key=lambda m: abs((10 * channels + N) * m - wanted))


class Nothing(nn.Identity):
    """The second control: no block at all.    x (B, C, 1, 8) -> x"""

    def __init__(self, channels: int):
        super().__init__()


def local(d_in: int, d_out: int) -> nn.Module:
    """A convolution that sees 3×3 places."""
    return nn.Conv2d(d_in, d_out, 3, padding=1)


class MirrorGenerator(nn.Module):
    """noise (B, d_noise, 1, 8) -> images (B, 3, 32, 32) between -1 and 1; each place becomes 32×4 pixels.

    `before(noise)` are the features that the block is given, (B, channels, 1, 8).
    """

    def __init__(self, block: Block, channels: int = 48, d_noise: int = 16):
        super().__init__()
        self.first, self.mix = nn.Conv2d(d_noise, channels, 1), local(channels, channels // 3)
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in (channels, channels // 3))
        self.block, self.last = block(channels), nn.ConvTranspose2d(channels // 3, 3, PATCH, PATCH)
        colour = torch.randn(channels // 3, 3, 1, 1) * (channels // 3) ** -0.5
        self.last.weight = nn.Parameter(colour.repeat(1, 1, *PATCH))  # at first, each place is one colour

    def before(self, noise: Tensor) -> Tensor:
        return F.leaky_relu(self.norms[0](self.first(noise)), 0.1)

    def forward(self, noise: Tensor) -> Tensor:
        x = self.mix(self.block(self.before(noise)))
        return self.last(F.leaky_relu(self.norms[1](x), 0.1)).tanh()


def every_norm(module: nn.Module) -> nn.Module:
    """Keep the largest singular value of every convolution at one    Miyato et al. 2018"""
    for part in module.modules():
        if isinstance(part, nn.Conv2d):
            spectral_norm(part)
    return module


class MirrorDiscriminator(nn.Module):
    """images (B, 3, 32, 32), all real or all made -> one score each (B,): the mean of one score per place.

    `before(images)` are the features that the block is given, (B, channels, 1, 8).
    """

    def __init__(self, block: Block, channels: int = 48):
        super().__init__()
        self.first = every_norm(nn.Conv2d(4, channels, PATCH, PATCH))
        self.block = every_norm(block(channels))
        self.mix, self.last = every_norm(local(channels, channels // 3)), every_norm(nn.Conv2d(channels // 3, 1, 1))

    def before(self, images: Tensor, parts: int = 1) -> Tensor:
        """`parts`: so many batches in one, each with its own variety."""
        x = torch.cat([variety(part) for part in images.chunk(parts)])  # (B, 4, 32, 32)
        return F.leaky_relu(self.first(x), 0.1)

    def forward(self, images: Tensor, parts: int = 1) -> Tensor:
        x = self.block(self.before(images, parts))
        return self.last(F.leaky_relu(self.mix(x), 0.1)).mean((1, 2, 3))  # (B, 1, 1, 8) -> (B,)


class MirrorGAN(nn.Module):
    """Both networks with the same kind of block.    noise (B, d_noise, 1, 8) -> images"""

    def __init__(self, block: Block, channels: int = 48, d_noise: int = 16):
        super().__init__()
        self.d_noise = d_noise
        self.generator = MirrorGenerator(block, channels, d_noise)
        self.discriminator = MirrorDiscriminator(block, channels)

    def forward(self, noise: Tensor) -> Tensor:
        return self.generator(noise)

    def draw(self, n: int, rng: torch.Generator | None = None) -> Tensor:
        """Independent noise for n images, on this model's device.    -> (n, d_noise, 1, 8)"""
        like = next(self.generator.parameters())
        return torch.randn(n, self.d_noise, *PLACES, generator=rng, dtype=like.dtype).to(like.device)


def loss(model: MirrorGAN, real: Tensor) -> Tensor:
    """`sagan.loss`, with real and made images judged in one call, because the network is small and calls are dear.

    real (B, 3, 32, 32) -> scalar
    """
    fake, judge = model(model.draw(len(real))), model.discriminator
    judged = discriminator_loss(*judge(torch.cat([real, fake.detach()]), parts=2).chunk(2))
    with frozen(judge):
        judge.eval()  # no second step of the power iteration
        made = generator_loss(judge(fake))
        judge.train()
    return judged + made
