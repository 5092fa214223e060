"""Attention in images: the non-local block, SAGAN's case of it, and a small generator and discriminator around it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from ..core import masks
from ..core.attention import attend
from ..core.scores import dot

Block = Callable[[int], nn.Module]  # channels -> a module that keeps the shape (B, channels, H, W)


def fused(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """What `attend(query, keys, values, dot)` reads, without ever holding the map of all pairs.    -> (B, Tq, Dv)

    torch's fused kernel wants one width for all three, and rows that lie in one piece: zeros change no dot
    product, and are cut off again.
    """
    d = max(query.shape[-1], values.shape[-1])
    parts = [F.pad(x, (0, d - x.shape[-1])).contiguous()[:, None] for x in (query, keys, values)]  # (B, 1, T, d)
    return F.scaled_dot_product_attention(*parts, scale=1.0)[:, 0, :, : values.shape[-1]]


class NonLocal(nn.Module):
    """Every position reads from all others, and adds what it read to what it has.

        y_j = x_j + out(Σ_i softmax_i(score(query(x_j), keys(x_i))) values(x_i))        Wang et al. 2018, eq. 1 and 6

    x (B, C, H, W) -> (B, C, H, W). `query`, `keys`, `values` map images to images; the last two may end in a coarser
    grid of M instead of N = H·W positions. `out` maps what was read back to C channels.
    """

    def __init__(self, query: nn.Module, keys: nn.Module, values: nn.Module, out: nn.Module, score=dot):
        super().__init__()
        self.query, self.keys, self.values, self.out, self.score = query, keys, values, out, score

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Images become rows of positions, row by row.    -> query (B, N, Dk), keys (B, M, Dk), values (B, M, Dv)"""
        return tuple(part(x).flatten(2).mT for part in (self.query, self.keys, self.values))

    def weights(self, x: Tensor) -> Tensor:
        """The map: row j holds what position j reads from each position i.    -> (B, N, M), rows sum to one"""
        query, keys, _ = self.parts(x)
        return masks.softmax(self.score(query, keys))

    def context(self, x: Tensor) -> Tensor:
        return attend(*self.parts(x), self.score)[0]  # (B, N, Dv)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.out(self.context(x).mT.unflatten(2, x.shape[2:]))  # (B, Dv, N) -> (B, Dv, H, W) -> (B, C, H, W)


class Gated(nn.Module):
    """γ · inner(x), with γ = 0 at first: a block that begins as nothing, and learns how much of itself to add."""

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner, self.gamma = inner, nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.gamma * self.inner(x)


def normed(d_in: int, d_out: int, size: int = 1) -> nn.Module:
    """A convolution without bias whose largest singular value is kept at one, and the image's size."""
    return spectral_norm(nn.Conv2d(d_in, d_out, size, padding=size // 2, bias=False))


class ImageAttention(NonLocal):
    """SAGAN's block: 1×1 convolutions f (keys), g (query), h (values), v (out), a dot product, a gate from 0.

        s_ij = f(x_i)ᵀ g(x_j),  β_{j,i} = softmax over i,  y_j = γ v(Σ_i β_{j,i} h(x_i)) + x_j    Zhang et al. 2019

    Widths C/8, C/8 and C/2, as in the authors' released code; so is `pool=2`, a 2×2 maximum on keys and values,
    which makes the map four times smaller. `pool=1` is the equation of the paper. forward() takes the fused path,
    weights() gives the map.
    """

    def __init__(self, channels: int, pool: int = 1):
        def pooled(d_out: int) -> nn.Module:
            return nn.Sequential(normed(channels, d_out), nn.MaxPool2d(pool))

        d_key, d_value = max(channels // 8, 1), max(channels // 2, 1)
        query, out = normed(channels, d_key), Gated(normed(d_value, channels))
        super().__init__(query, pooled(d_key), pooled(d_value), out)

    def context(self, x: Tensor) -> Tensor:
        return fused(*self.parts(x))


class Residual(nn.Module):
    """The control: in the attention's place, with as many parameters, three convolutions that see 3×3 positions."""

    def __init__(self, channels: int):
        super().__init__()
        inner = residual_width(channels)
        layers = normed(channels, inner), nn.ReLU(), normed(inner, inner, 3), nn.ReLU(), normed(inner, channels)
        self.out = Gated(nn.Sequential(*layers))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.out(x)


def residual_width(channels: int) -> int:
    """The m for which the residual's 2 C m + 9 m² weights come nearest to the attention's."""
    wanted = 2 * channels * max(channels // 8, 1) + 2 * channels * max(channels // 2, 1)
    return min(range(1, channels + 1), key=lambda m: abs(2 * channels * m + 9 * m * m - wanted))


def up(d_in: int, d_out: int) -> nn.Module:
    """(B, d_in, H, W) -> (B, d_out, 2H, 2W)"""
    return spectral_norm(nn.ConvTranspose2d(d_in, d_out, 4, 2, 1))


def down(d_in: int, d_out: int, dilation: int = 1) -> nn.Module:
    """(B, d_in, 2H, 2W) -> (B, d_out, H, W)"""
    convolution = nn.Conv2d(d_in, d_out, 4, 2, 2 * dilation - 1, dilation)  # dilated, it sees further at no cost
    return nn.Sequential(spectral_norm(convolution), nn.LeakyReLU(0.1))


class Generator(nn.Module):
    """z (B, d_latent) -> images (B, 3, 32, 32) between -1 and 1; the block works on 16×16 positions.

    `before(z)` are the features that the block is given, (B, channels, 16, 16).
    """

    def __init__(self, block: Block, d_latent: int = 32, channels: int = 32):
        super().__init__()
        self.first = spectral_norm(nn.Linear(d_latent, channels * 16))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(3))
        self.ups = nn.ModuleList(up(channels, channels) for _ in range(2))
        self.block, self.last = block(channels), up(channels, 3)

    def before(self, z: Tensor) -> Tensor:
        x = self.norms[0](self.first(z).unflatten(1, (-1, 4, 4))).relu()  # (B, C, 4, 4)
        for norm, grow in zip(self.norms[1:], self.ups, strict=True):
            x = norm(grow(x)).relu()  # 8×8, 16×16
        return x

    def forward(self, z: Tensor) -> Tensor:
        return self.last(self.block(self.before(z))).tanh()


def variety(x: Tensor) -> Tensor:
    """One more channel: at each place, how much the images of the batch differ there    Karras et al. 2018, sec. 3

    x (B, C, H, W) -> (B, C + 1, H, W). A generator that draws one image again and again is seen at once.
    """
    differ = (x.var(0, correction=0) + 1e-6).sqrt().mean(0)  # (H, W)
    return torch.cat([x, differ.expand(len(x), 1, -1, -1)], 1)


def waves(channels: int, side: int) -> Tensor:
    """Chapter 10's positions for a square: sines and cosines, half of the channels of the row, half of the column.

    -> (channels, side, side), channels a multiple of 4; 1, 2, … half waves along the side
    """
    turns = torch.arange(1, channels // 4 + 1)[:, None] * (torch.arange(side) + 0.5) * torch.pi / side
    along = torch.cat([turns.sin(), turns.cos()])  # (channels / 2, side)
    rows, columns = along[:, :, None].expand(-1, -1, side), along[:, None].expand(-1, side, -1)
    return torch.cat([rows, columns])


class Discriminator(nn.Module):
    """images (B, 3, 32, 32), all real or all made -> one score each (B,), large for what looks real.

    Differs from the paper: a learned map of places, waves at first, is added before the block (a 1×1 convolution does
    not know where it is, and a mirror is about nothing else), and one channel tells how much the batch varies.
    """

    def __init__(self, block: Block, channels: int = 32):
        super().__init__()
        self.first = spectral_norm(nn.Conv2d(3, channels, 4, 2, 1))
        self.places = nn.Parameter(0.5 * waves(channels, 16))
        self.block = block(channels)
        self.downs = nn.ModuleList([down(channels, channels, 2), down(channels + 1, channels)])
        self.last = spectral_norm(nn.Linear(channels * 16, 1))

    def before(self, images: Tensor) -> Tensor:
        return F.leaky_relu(self.first(images), 0.1) + self.places  # (B, C, 16, 16)

    def forward(self, images: Tensor) -> Tensor:
        x = self.downs[0](self.block(self.before(images)))  # (B, C, 8, 8)
        x = self.downs[1](variety(x))  # (B, C, 4, 4)
        return self.last(x.flatten(1))[:, 0]


class GAN(nn.Module):
    """Both networks with the same kind of block.    z (B, d_latent) -> images"""

    def __init__(self, block: Block, d_latent: int = 32, channels: int = 32):
        super().__init__()
        self.d_latent = d_latent
        self.generator = Generator(block, d_latent, channels)
        self.discriminator = Discriminator(block, channels)

    def forward(self, z: Tensor) -> Tensor:
        return self.generator(z)

    def draw(self, n: int, rng: torch.Generator | None = None) -> Tensor:
        """Latents of n images, on this model's device.    -> z (n, d_latent)"""
        like = self.discriminator.places
        return torch.randn(n, self.d_latent, generator=rng, dtype=like.dtype).to(like.device)


def discriminator_loss(real: Tensor, fake: Tensor) -> Tensor:
    """E max(0, 1 − D(x)) + E max(0, 1 + D(G(z)))           Zhang et al. 2019, eq. 4; scores (B,), (B,) -> scalar"""
    return (1 - real).relu().mean() + (1 + fake).relu().mean()


def generator_loss(fake: Tensor) -> Tensor:
    """−E D(G(z)): no hinge, the generator is never good enough.    scores (B,) -> scalar"""
    return -fake.mean()


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """What is computed inside sends no gradient to the module's parameters, only through it."""
    module.requires_grad_(False)
    try:
        yield
    finally:
        module.requires_grad_(True)


def loss(model: GAN, real: Tensor) -> Tensor:
    """Both losses at once, each reaching only its own network: one backward pass is a step of both.

    Differs from the paper: the two take their steps at the same time, not in turn, and the discriminator sees every
    image through a little noise.    real (B, 3, 32, 32) -> scalar
    """
    fake = model(model.draw(len(real)))
    judged = discriminator_loss(*(model.discriminator(blur(x)) for x in (real, fake.detach())))
    with frozen(model.discriminator):
        return judged + generator_loss(model.discriminator(blur(fake)))


def blur(images: Tensor, sigma: float = 0.1) -> Tensor:
    """Noise on real and made images alike, so that no pixel's last digit gives one away    Sønderby et al. 2017"""
    return images + sigma * torch.randn_like(images)


def optimizer(model: GAN, lr_generator: float = 1e-4, lr_discriminator: float = 4e-4) -> torch.optim.Adam:
    """Two learning rates (TTUR), the discriminator's the larger one; no momentum    Zhang et al. 2019, sec. 4"""
    groups = (model.generator, lr_generator), (model.discriminator, lr_discriminator)
    return torch.optim.Adam([{"params": part.parameters(), "lr": lr} for part, lr in groups], betas=(0.0, 0.9))


def frechet(real: Tensor, fake: Tensor) -> Tensor:
    """The distance of two clouds of features, as if both were Gaussian: what FID is of Inception's features.

        |μ − μ'|² + tr(Σ + Σ' − 2 (Σ Σ')^½)                  Heusel et al. 2017, eq. 6

    real (N, D), fake (N', D) -> scalar, 0 for equal means and covariances
    """
    real, fake = real.double(), fake.double()
    gap = (real.mean(0) - fake.mean(0)).square().sum()
    sigma, other = torch.cov(real.mT), torch.cov(fake.mT)  # (D, D)
    values, vectors = torch.linalg.eigh(sigma)
    root = vectors * values.clamp_min(0).sqrt() @ vectors.mT  # Σ^½: ΣΣ' has the eigenvalues of the symmetric Σ^½Σ'Σ^½
    cross = torch.linalg.eigvalsh(root @ other @ root).clamp_min(0).sqrt().sum()
    return gap + sigma.trace() + other.trace() - 2 * cross
