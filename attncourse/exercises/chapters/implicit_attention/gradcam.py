"""relu(Σ_k α_k A^k), α_k = the mean over places of ∂S_c/∂A^k."""

import torch

from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...fixtures import implicit_attention as nets


def gradcam(net, x, target):
    A = net.features(x)  # (B, K, h, w)
    scores = net.head(A)  # (B, classes)
    total = scores.gather(1, target[:, None]).sum()
    [slope] = torch.autograd.grad(total, A)  # (B, K, h, w)
    alpha = slope.mean((2, 3), keepdim=True)  # (B, K, 1, 1)
    return (alpha * A).sum(1).relu().detach()  # (B, h, w)


def _gradcam_loop(net, x, target):
    maps = []
    for image, c in zip(x, target.tolist(), strict=True):
        A = net.features(image[None]).detach().requires_grad_()
        net.head(A)[0, c].backward()
        total = torch.zeros_like(A[0, 0])
        for k in range(A.shape[1]):
            total = total + A.grad[0, k].mean() * A[0, k]
        maps.append(torch.clamp(total, min=0))
    return torch.stack(maps)


def _gradcam_einsum(net, x, target):
    A = net.features(x).detach().requires_grad_()
    scores = net.head(A)
    scores[torch.arange(len(x)), target].sum().backward()
    alpha = torch.einsum("bkhw->bk", A.grad) / (A.shape[2] * A.shape[3])
    return torch.relu(torch.einsum("bk,bkhw->bhw", alpha, A))


def _case(kind, seed, B=3, K=5, H=6, W=4, classes=4, dtype="float32", gradients=()):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(B, 2, H, W, generator=rng, dtype=getattr(torch, dtype))
    target = torch.randint(classes, (B,), generator=rng)
    return Case(
        kind,
        {"net": Fixture(f"{nets.__name__}.Net", (2, K, classes), seed, dtype), "x": x, "target": target},
        gradients,
    )


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("a single image", seed + 1, B=1),
        _case("a single feature map", seed + 2, K=1),
        _case("features of one place", seed + 3, H=1, W=1, B=4),
        # Here torch can notice no mistake in an axis, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 4, B=5, K=5, H=5, W=5),
        _case("wide images", seed + 5, H=3, W=9),
        _case("float64 inputs", seed + 6, dtype="float64"),
        _case("images that another layer has made", seed + 7, gradients=("x",)),
    ]


def _made(
    score=lambda scores, target: scores.gather(1, target[:, None]).sum(),
    weigh=lambda slope: slope.mean((2, 3), keepdim=True),
    merge=lambda alpha, A: (alpha * A).sum(1).relu(),
):
    """A map with one part exchanged."""

    def made(net, x, target):
        A = net.features(x)
        [slope] = torch.autograd.grad(score(net.head(A), target), A)
        return merge(weigh(slope), A).detach()

    return made


EXERCISE = Exercise(
    id="implicit_attention.gradcam",
    title="The weights of Grad-CAM",
    points=3,
    task=r"""
Grad-CAM asks not the pixels but the feature maps $A^k$ of a convolutional layer. How much does the score of class
$c$ rise if feature map $k$ rises everywhere? That is its weight; the map adds the feature maps up with it and keeps
what speaks *for* the class:

$$\alpha_k = \frac{1}{hw} \sum_{ij} \frac{\partial S_c}{\partial A^k_{ij}}$$

$$M = \mathrm{ReLU}\Big(\sum_k \alpha_k A^k\Big)$$

| argument | what it is |
|---|---|
| `net` | two parts: `net.features(x)` is $A$, (B, K, h, w); `net.head(A)` are the scores (B, classes) |
| `x` | images (B, C, H, W) |
| `target` | (B,) int: the class $c$, one for each image |
| returns `maps` | (B, h, w): one map an image, of the layer's size |
""",
    stub="""
def gradcam(net, x, target):
    ...  # your code: maps (B, h, w)
""",
    hints=(
        "Run the two parts one after the other and keep `A`. `torch.autograd.grad` differentiates with respect to any "
        "tensor on the way, not only inputs.",
        "The gradient has the shape of `A`, (B, K, h, w). $\\alpha$ is one number for each image and feature map, "
        "(B, K): over which axes do you average? `keepdim=True` lets it broadcast against `A`.",
        "`(alpha * A).sum(1)` is (B, h, w). The ReLU comes last: after the sum, not before.",
    ),
    solution=gradcam,
    spellings=(_gradcam_loop, _gradcam_einsum),
    axes={"x": "B C h w", "target": "B"},
    returns=(Output("maps", "B h w"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the gradient of the probability",
            "Your weights come from the softmax. The more certain the network is, the flatter its probability, so the "
            "surest images get the faintest maps; and a feature that only lowers another class's score gets a weight "
            "too. $S_c$ is the score before the softmax.",
            (
                _made(lambda scores, target: scores.softmax(1).gather(1, target[:, None]).sum()),
                _made(lambda scores, target: scores.log_softmax(1).gather(1, target[:, None]).sum()),
            ),
        ),
        Misconception(
            "there is no ReLU",
            "Your maps have negative entries: places that speak *against* the class. They belong to the other classes; "
            "Grad-CAM keeps what speaks for this one.",
            (_made(merge=lambda alpha, A: (alpha * A).sum(1)),),
        ),
        Misconception(
            "the absolute value instead of the ReLU",
            "Your maps light up where evidence speaks against the class as brightly as where it speaks for it. Only "
            "the ReLU tells them apart.",
            (_made(merge=lambda alpha, A: (alpha * A).sum(1).abs()),),
        ),
        Misconception(
            "the ReLU comes before the sum",
            "You cut off negative terms (or negative weights) map by map, then add. A feature map with a negative "
            "weight should take away from what the others give; so it never can. First add, then ReLU.",
            (
                _made(merge=lambda alpha, A: (alpha * A).relu().sum(1)),
                _made(weigh=lambda slope: slope.relu().mean((2, 3), keepdim=True)),
            ),
        ),
        Misconception(
            "the gradient is not averaged over places",
            "You multiply each entry of $A$ by its own slope. That is gradient × activation, another method "
            "(HiResCAM). Grad-CAM gives a feature map *one* weight, the mean of its slopes: the slopes say which "
            "features matter, the features say where.",
            (_made(weigh=lambda slope: slope),),
        ),
        Misconception(
            "the mean is taken over the feature maps",
            "Your mean runs over axis 1, the feature maps, so every place has one weight and all features share it: "
            "which feature matters is lost. A weight belongs to a feature map: average over its places, axes 2 and 3.",
            (_made(weigh=lambda slope: slope.mean(1, keepdim=True)),),
        ),
        Misconception(
            "the mean is taken over one axis of places only",
            "Your weights still depend on the row (or the column): the mean runs over one of the two axes of places. "
            "A feature map has one weight: average over axes 2 and 3 together.",
            (
                _made(weigh=lambda slope: slope.mean(3, keepdim=True)),
                _made(weigh=lambda slope: slope.mean(2, keepdim=True)),
            ),
        ),
        Misconception(
            "the mean runs over the batch too",
            "Your weights are the same for all images: the mean runs over axis 0 as well. A map would depend on which "
            "other images are in the batch; alone it is right.",
            (
                _made(weigh=lambda slope: slope.mean((0, 2, 3), keepdim=True)),
                _made(weigh=lambda slope: slope.mean(0, keepdim=True)),
            ),
        ),
        Misconception(
            "the slopes are summed, not averaged",
            "Your maps have the right pattern, times h·w: the formula divides by the number of places. Without it, the "
            "same evidence would weigh more in a larger image.",
            (_made(weigh=lambda slope: slope.sum((2, 3), keepdim=True)),),
        ),
        Misconception(
            "the target is not used",
            "You differentiate the sum of all scores. Every class gets the same map, and none of them is about the "
            "class that was asked for.",
            (_made(lambda scores, target: scores.sum()),),
        ),
        Misconception(
            "the predicted class instead of the target",
            "Your maps belong to the largest score. `target` may ask about another class, and asking about the others "
            "is half of what the method is good for.",
            (_made(lambda scores, target: scores.amax(1).sum()),),
        ),
        Misconception(
            "every image is asked about every target",
            "`scores[:, target]` is (B, B): each image's scores of all the targets of the batch. For pairs, index both "
            "axes, `scores[torch.arange(B), target]`, or use `gather`.",
            (_made(lambda scores, target: scores[:, target].sum()),),
        ),
        Misconception(
            "the mean over the feature maps instead of their sum",
            "Your maps have the right pattern, divided by K: the weighted feature maps are *added* up.",
            (_made(merge=lambda alpha, A: (alpha * A).mean(1).relu()),),
        ),
        Misconception(
            "each map is rescaled",
            "You divide each map by its maximum. Good for showing, not for measuring: after that, the maps of two "
            "classes can no longer be compared. (And a map that is zero everywhere becomes NaN.)",
            (
                _made(merge=lambda alpha, A: _scaled((alpha * A).sum(1).relu(), 0.0)),
                _made(merge=lambda alpha, A: _scaled((alpha * A).sum(1).relu(), 1e-8)),
            ),
        ),
    ),
)


def _scaled(maps, epsilon):
    return maps / (maps.amax((1, 2), keepdim=True) + epsilon)
