"""The hinge losses of both networks, with their signs."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def hinge_losses(real, fake):
    discriminator = (1 - real).relu().mean() + (1 + fake).relu().mean()
    generator = -fake.mean()
    return discriminator, generator


def _by_minimum(real, fake):
    nothing = torch.zeros_like(real)
    gain = torch.minimum(nothing, -1 + real).mean() + torch.minimum(torch.zeros_like(fake), -1 - fake).mean()
    return -gain, -torch.mean(fake)


def _by_loops(real, fake):
    discriminator = real.sum() * 0
    for score in real:
        if score < 1:
            discriminator = discriminator + (1 - score) / len(real)
    for score in fake:
        if score > -1:
            discriminator = discriminator + (1 + score) / len(fake)
    return discriminator, -sum(fake) / len(fake)


def _by_clamp(real, fake):
    return F.relu(1 - real).mean() + torch.clamp(fake + 1, min=0).mean(), fake.neg().mean()


def _case(kind, seed, real=5, fake=5, scale=1.0, shift=(0.0, 0.0), dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    scores = [scale * torch.randn(n, generator=rng, dtype=dtype) + s for n, s in zip((real, fake), shift, strict=True)]
    return Case(kind, dict(zip(("real", "fake"), scores, strict=True)), gradients)


def _cases(seed):
    return [
        _case("scores around 0", seed),
        _case("a discriminator that is sure and right", seed + 1, shift=(4.0, -4.0)),
        _case("a discriminator that is sure and wrong", seed + 2, shift=(-4.0, 4.0)),
        _case("one image of each", seed + 3, real=1, fake=1),
        _case("more fakes than real images", seed + 4, real=3, fake=7),
        _case("large scores", seed + 5, scale=200.0),
        _case("float64 inputs", seed + 6, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 7, scale=2.0, gradients=("real", "fake")),
    ]


def _d(real, fake):
    return (1 - real).relu().mean() + (1 + fake).relu().mean()


def _g(real, fake):
    return -fake.mean()


def _version(d=_d, g=_g):
    return lambda real, fake: (d(real, fake), g(real, fake))


SIGNS = {
    "exchanged": lambda real, fake: (1 + real).relu().mean() + (1 - fake).relu().mean(),
    "fake": lambda real, fake: (1 - real).relu().mean() + (1 - fake).relu().mean(),
    "real": lambda real, fake: (1 + real).relu().mean() + (1 + fake).relu().mean(),
}
OTHERS = {"hinge": lambda real, fake: (1 - fake).relu().mean(), "plus": lambda real, fake: fake.mean()}

EXERCISE = Exercise(
    id="sagan.hinge",
    title="The signs of the hinge",
    points=2,
    task=r"""
$D$ gives one score to each image, any number, large for what it takes for real. Write both losses, each to be
*minimised* by its own network:

$$L_D = \mathbb{E}\,\max\big(0,\, 1 - D(x)\big) \qquad + \mathbb{E}\,\max\big(0,\, 1 + D(G(z))\big), \qquad
L_G = -\,\mathbb{E}\, D(G(z))$$

| argument | |
|---|---|
| `real` | (R,): scores of images of the data |
| `fake` | (S,): scores of images of the generator; R and S need not be equal |
| returns | $L_D$ and $L_G$, two scalars |
""",
    stub="""
def hinge_losses(real, fake):
    ...  # your code: L_D, L_G
""",
    hints=(
        "Take one real image with the score 3. Is the discriminator content? And with the score −3? What should it "
        "cost in each case? Then the same for a fake.",
        "max(0, ·) is `.relu()`. The expectation is a mean over the images, taken *after* the maximum, and for real "
        "and fake images apart. The generator wants its images to get large scores, and there is no maximum in its "
        "loss.",
        "A real image costs nothing from a score of 1 up, a fake nothing from −1 down. Two means are added for the "
        "discriminator; the generator's loss is one mean with a sign.",
    ),
    solution=hinge_losses,
    spellings=(_by_minimum, _by_loops, _by_clamp),
    axes={"real": "R", "fake": "S"},
    returns=(Output("L_D", ""), Output("L_G", "")),
    cases=_cases,
    wrong=(
        Misconception(
            "real and fake have changed sides",
            "Your discriminator pays nothing when real images get scores below −1 and fakes scores above 1: it learns "
            "to call the data fake. With a generator that maximises the score, both then pull the same way, and away "
            "from the data. Real images shall be *above* 1.",
            (_version(SIGNS["exchanged"]), _version(SIGNS["exchanged"], OTHERS["plus"])),
        ),
        Misconception(
            "both are pushed to the same side",
            "In your loss real and fake images carry the same sign: the discriminator is paid for one large (or one "
            "small) score for everything, and a constant is its best answer. Of the two terms one has $1 - D$, the "
            "other $1 + D$.",
            (_version(SIGNS["fake"]), _version(SIGNS["real"])),
        ),
        Misconception(
            "the generator's sign is wrong",
            "$L_D$ is right. Your generator minimises its own images' scores: it works *for* the discriminator, both "
            "losses fall, and the images get worse.",
            (_version(g=OTHERS["plus"]),),
        ),
        Misconception(
            "a hinge in the generator's loss",
            "$L_D$ is right. Your generator's loss has a maximum in it: as soon as a fake scores above the margin, it "
            "gets no gradient any more, and where all do it stops learning. The generator's loss is linear: it is "
            "never good enough.",
            (
                _version(g=OTHERS["hinge"]),
                _version(g=lambda real, fake: (-fake).relu().mean()),
                _version(g=lambda real, fake: (1 + fake).relu().mean()),
            ),
        ),
        Misconception(
            "the generator is charged for the real images, too",
            "$L_D$ is right. Your $L_G$ contains the scores of real images, or is $-L_D$. The generator cannot change "
            "those, and minus a hinge stops pulling just where the discriminator is sure of the fake: where it is "
            "needed most.",
            (
                _version(g=lambda real, fake: -_d(real, fake)),
                _version(g=lambda real, fake: -fake.mean() - real.mean()),
                _version(g=lambda real, fake: real.mean() - fake.mean()),
                _version(g=lambda real, fake: -real.mean()),
                _version(g=lambda real, fake: -(1 + fake).relu().mean()),
            ),
        ),
        Misconception(
            "the mean comes before the hinge",
            "You average the scores first and take the maximum of that one number. One image that is far on the right "
            "side then pays for others on the wrong one. Each image has a hinge of its own.",
            (_version(lambda real, fake: (1 - real.mean()).relu() + (1 + fake.mean()).relu()),),
        ),
        Misconception(
            "no hinge",
            "Without the maximum your discriminator is paid for making sure images surer, without end: the scores "
            "drift apart and the few doubtful images, from which there is something to learn, no longer count.",
            (
                _version(lambda real, fake: (1 - real).mean() + (1 + fake).mean()),
                _version(lambda real, fake: fake.mean() - real.mean()),
            ),
        ),
        Misconception(
            "no margin",
            "Your hinge bends at 0: an image that is on the right side by a hair costs nothing. The margin is 1.",
            (_version(lambda real, fake: (-real).relu().mean() + fake.relu().mean()),),
        ),
        Misconception(
            "min in place of max",
            "You take $\\min(0, 1 - D)$: it counts just the images that are fine, and with the wrong sign. Two "
            "spellings are right: $\\max(0, 1 - D)$, or $-\\min(0, -1 + D)$ as in the paper.",
            (
                _version(lambda real, fake: (1 - real).clamp(max=0).mean() + (1 + fake).clamp(max=0).mean()),
                _version(lambda real, fake: -(1 - real).clamp(max=0).mean() - (1 + fake).clamp(max=0).mean()),
            ),
        ),
        Misconception(
            "the sign before the minimum is missing",
            "$\\min(0, -1 + D(x))$ and $\\min(0, -1 - D(G(z)))$ are the paper's terms, but the paper has a minus "
            "before each. Yours is at most 0, and minimising it makes the discriminator wrong on purpose.",
            (_version(lambda real, fake: -_d(real, fake)),),
        ),
        Misconception(
            "summed, not averaged",
            "You sum over the images. Then the gradient grows with the batch, and more fakes than real images weigh "
            "more than they should.",
            (
                _version(lambda real, fake: (1 - real).relu().sum() + (1 + fake).relu().sum(), lambda r, f: -f.sum()),
                _version(lambda real, fake: (1 - real).relu().sum() + (1 + fake).relu().sum()),
            ),
        ),
        Misconception(
            "one mean over all images",
            "You average over real and fake images together, or halve the sum. The two expectations are taken apart "
            "and added: half of it is half the gradient, and with unequal numbers the larger group weighs more.",
            (
                _version(lambda real, fake: torch.cat([(1 - real).relu(), (1 + fake).relu()]).mean()),
                _version(lambda real, fake: _d(real, fake) / 2),
            ),
        ),
        Misconception(
            "cross-entropy instead of the hinge",
            "These are the losses of the first GANs: $\\log$ of a sigmoid, or its soft form, softplus. They never "
            "reach 0, also where the discriminator is right by far. Here a score is no logit: from the margin on it "
            "costs nothing.",
            (
                _version(lambda r, f: F.softplus(-r).mean() + F.softplus(f).mean(), lambda r, f: F.softplus(-f).mean()),
                _version(lambda r, f: F.softplus(-r).mean() + F.softplus(f).mean()),
            ),
        ),
        Misconception(
            "squared, as in least squares",
            "You square the distance to the margin. That is another GAN's loss (least squares, or a squared hinge): "
            "far images dominate it. The hinge grows in a straight line.",
            (
                _version(lambda real, fake: (1 - real).relu().square().mean() + (1 + fake).relu().square().mean()),
                _version(lambda real, fake: (1 - real).square().mean() + (1 + fake).square().mean()),
            ),
        ),
        Misconception(
            "the two losses have changed places",
            "Both losses are right, and you return the generator's first. $L_D$ comes first, then $L_G$: else each "
            "network would minimise the other's.",
            (lambda real, fake: (_g(real, fake), _d(real, fake)),),
        ),
        Misconception(
            "one of the two terms is left out",
            "Your discriminator is told about one kind of image only: calling everything real (or everything fake) "
            "costs it nothing.",
            (
                _version(lambda real, fake: (1 - real).relu().mean()),
                _version(lambda real, fake: (1 + fake).relu().mean()),
            ),
        ),
    ),
)
