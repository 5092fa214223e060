"""|∂S_c/∂x|, the largest of the channels."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...fixtures import implicit_attention as nets


def saliency(model, x, target):
    x = x.detach().requires_grad_()
    scores = model(x)  # (B, classes)
    # No score depends on another image: a sum mixes nothing.
    total = scores.gather(1, target[:, None]).sum()
    [gradient] = torch.autograd.grad(total, x)  # (B, C, H, W)
    return gradient.abs().amax(1)  # (B, H, W)


def _saliency_loop(model, x, target):
    maps = []
    for image, c in zip(x, target, strict=True):
        image = image.clone().detach().requires_grad_(True)
        model(image.unsqueeze(0))[0, c].backward()
        maps.append(image.grad.abs().max(dim=0).values)
    return torch.stack(maps)


def _saliency_einsum(model, x, target):
    x = x.clone().detach().requires_grad_(True)
    scores = model(x)
    picked = torch.einsum("bk,bk->", scores, F.one_hot(target, scores.shape[1]).to(scores.dtype))
    picked.backward()
    return torch.maximum(x.grad, -x.grad).max(dim=1)[0]


def _case(kind, seed, B=3, C=3, H=6, W=5, classes=4, dtype="float32", size=1.0):
    rng = torch.Generator().manual_seed(seed)
    x = size * torch.randn(B, C, H, W, generator=rng, dtype=getattr(torch, dtype))
    target = torch.randint(classes, (B,), generator=rng)
    return Case(
        kind,
        {"model": Fixture(f"{nets.__name__}.Net", (C, 5, classes), seed, dtype), "x": x, "target": target},
    )


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("a single image", seed + 1, B=1),
        _case("grey images", seed + 2, C=1),
        _case("two classes", seed + 3, classes=2, B=4),
        _case("images of one pixel", seed + 4, H=1, W=1),
        _case("images with large entries", seed + 5, size=10.0),
        _case("float64 inputs", seed + 6, dtype="float64"),
    ]


def _made(score=lambda scores, target: scores.gather(1, target[:, None]).sum(), show=lambda g, x: g.abs().amax(1)):
    """A map with one part exchanged: a wrong version differs from the solution in that part only."""

    def made(model, x, target):
        x = x.detach().requires_grad_()
        [gradient] = torch.autograd.grad(score(model(x), target), x)
        return show(gradient, x.detach())

    return made


EXERCISE = Exercise(
    id="implicit_attention.saliency",
    title="A saliency map from scratch",
    points=2,
    task=r"""
How strongly does the score of class $c$ react to each pixel? Simonyan's map takes the gradient of the *score*
(the model's output as it is) and, of a pixel's channels, the strongest reaction:

$$M_{ij} = \max_{\text{channel}}\; \left| \frac{\partial S_c}{\partial x_{\text{channel},\,i,\,j}} \right|$$

| argument | what it is |
|---|---|
| `model` | any module: images (B, C, H, W) → scores (B, classes) |
| `x` | images (B, C, H, W) |
| `target` | (B,) int: the class $c$ to ask about, one for each image |
| returns `maps` | (B, H, W) |

One backward pass is enough for the whole batch.
""",
    stub="""
def saliency(model, x, target):
    ...  # your code: maps (B, H, W)
""",
    hints=(
        "A gradient with respect to `x` needs an `x` that asks for one: `x.detach().requires_grad_()` is a copy of "
        "the same numbers that does.",
        "`scores.gather(1, target[:, None])` picks the target's score of every image. Backward starts from one "
        "number: may the scores be added up? Does the score of one image depend on another image?",
        "`torch.autograd.grad(total, x)` returns a tuple with one gradient, (B, C, H, W). Take the absolute value "
        "first, then the largest over axis 1.",
    ),
    solution=saliency,
    spellings=(_saliency_loop, _saliency_einsum),
    axes={"x": "B C H W", "target": "B"},
    returns=(Output("maps", "B H W"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the gradient of the probability",
            "Your maps are those of the softmax, not of the score. A probability also rises when the *other* scores "
            "fall, so its map mixes what speaks for this class with what speaks against the others; and where the "
            "network is certain it is flat, and the map vanishes. The paper differentiates the score itself.",
            (
                _made(lambda scores, target: scores.softmax(1).gather(1, target[:, None]).sum()),
                _made(lambda scores, target: scores.log_softmax(1).gather(1, target[:, None]).sum()),
            ),
        ),
        Misconception(
            "the gradient of the loss",
            "Your maps are those of the cross-entropy. It has the softmax inside, and its mean over the batch divides "
            "by B besides: ask the score itself.",
            (_made(lambda scores, target: F.cross_entropy(scores, target)),),
        ),
        Misconception(
            "the target is not used",
            "Your maps add up the gradients of *all* scores. That answers no question about the class you were asked "
            "for: what speaks for a 3 and what speaks for an 8 lie on top of each other. Pick `scores[i, target[i]]`.",
            (_made(lambda scores, target: scores.sum()),),
        ),
        Misconception(
            "the predicted class instead of the target",
            "Your maps belong to the largest score. That is often the class asked about, not always: `target` may ask "
            "why *not* another one.",
            (_made(lambda scores, target: scores.amax(1).sum()),),
        ),
        Misconception(
            "every image is asked about every target",
            "`scores[:, target]` is (B, B): each image's scores of all the targets of the batch. For pairs, index both "
            "axes, `scores[torch.arange(B), target]`, or use `gather`.",
            (_made(lambda scores, target: scores[:, target].sum()),),
        ),
        Misconception(
            "the mean over the batch is differentiated",
            "Your maps are too small by the factor B: `mean()` instead of `sum()`. With one image it makes no "
            "difference, in a batch the map of an image would depend on how many others there are.",
            (_made(lambda scores, target: scores.gather(1, target[:, None]).mean()),),
        ),
        Misconception(
            "there is no absolute value",
            "Your maps keep the sign. A pixel whose ink *lowers* the score matters as much as one that raises it: the "
            "map asks how strongly, not in which direction.",
            (_made(show=lambda g, x: g.amax(1)),),
        ),
        Misconception(
            "the absolute value comes after the channels are merged",
            "You merge the channels first and take the absolute value of the result. A channel with slope −3 beside "
            "one with +1 then counts as 1 (or 2), though the pixel's strongest reaction is 3. First abs, then the "
            "largest.",
            (
                _made(show=lambda g, x: g.amax(1).abs()),
                _made(show=lambda g, x: g.sum(1).abs()),
                _made(show=lambda g, x: g.mean(1).abs()),
            ),
        ),
        Misconception(
            "the channels are added or averaged",
            "The absolute values are right, but of a pixel's channels the paper keeps the *largest*; yours adds or "
            "averages them. A choice, and here a different one: for grey images both agree.",
            (
                _made(show=lambda g, x: g.abs().sum(1)),
                _made(show=lambda g, x: g.abs().mean(1)),
                _made(show=lambda g, x: g.norm(dim=1)),
            ),
        ),
        Misconception(
            "the gradient is multiplied by the input",
            "That is gradient × input, another map of this chapter: it asks what the ink that *is* there contributes, "
            "and gives every dark pixel zero. Saliency asks what a change would do, also where there is no ink.",
            (_made(show=lambda g, x: (g * x).abs().amax(1)),),
        ),
        Misconception(
            "each map is rescaled",
            "You divide each map by its maximum (or stretch it to 0..1). Good for showing, not for measuring: after "
            "that, two maps can no longer be compared. Rescale where you draw.",
            (
                _made(show=lambda g, x: g.abs().amax(1) / g.abs().amax((1, 2, 3))[:, None, None]),
                _made(show=lambda g, x: g.abs().amax(1) / g.abs().max()),
            ),
        ),
    ),
)
