"""A Gaussian place and its log-probability: of what was drawn, not of what was left after clamping."""

import math

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def draw_place(mean, noise, std):
    drawn = (mean + std * noise).detach()  # a number from here on
    each = -(((drawn - mean) / std) ** 2) / 2 - math.log(std) - math.log(2 * math.pi) / 2  # (B, 2)
    return drawn.clamp(-1, 1), each.sum(-1)


def _by_distribution(mean, noise, std):
    with torch.no_grad():
        drawn = mean + std * noise
    log_prob = torch.distributions.Normal(mean, std, validate_args=False).log_prob(drawn).sum(-1)
    return torch.clamp(drawn, min=-1.0, max=1.0), log_prob


def _loop(mean, noise, std):
    places, logs = [], []
    for m, e in zip(mean, noise, strict=True):
        total, place = 0.0, []
        for k in range(2):
            drawn = m[k].item() + std * e[k].item()
            total = total - (drawn - m[k]) ** 2 / (2 * std**2) - 0.5 * math.log(2 * math.pi * std**2)
            place.append(min(1.0, max(-1.0, drawn)))
        places.append(torch.tensor(place, dtype=mean.dtype))
        logs.append(total)
    return torch.stack(places), torch.stack(logs)


def _log(drawn, mean, std, width=None, constant=None):
    width = std if width is None else width
    constant = math.log(width * math.sqrt(2 * math.pi)) if constant is None else constant
    return -(((drawn - mean) / width) ** 2) / 2 - constant


def _drawn(mean, noise, std):
    return (mean + std * noise).detach()


def _variant(
    log=lambda drawn, place, mean, std: _log(drawn, mean, std),
    gather=lambda each: each.sum(-1),
    place=lambda drawn, mean: drawn.detach().clamp(-1, 1),
    drawn=_drawn,
):
    """The solution with one idea changed at a time."""

    def answer(mean, noise, std):
        there = drawn(mean, noise, std)
        shown = place(there, mean)
        return shown, gather(log(there, shown, mean, std))

    return answer


def _once(mean, noise, std):
    drawn = (mean + std * noise).detach()
    near = _log(drawn, mean, std, constant=0.0).sum(-1)
    return drawn.clamp(-1, 1), near - math.log(std * math.sqrt(2 * math.pi))


def _leaking(mean, noise, std):
    return mean + std * noise


def _case(kind, seed, B=4, std=0.3, reach=1.0, mean=None, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    middle = reach * (2 * torch.rand(B, 2, generator=rng, dtype=dtype) - 1)
    middle = middle if mean is None else torch.tensor(mean, dtype=dtype)
    noise = torch.randn(len(middle), 2, generator=rng, dtype=dtype)
    return Case(kind, {"mean": middle, "noise": noise, "std": std}, gradients)


def _cases(seed):
    border = [[0.95, -0.9], [-0.99, 0.2], [1.0, 1.0], [0.1, -1.0], [-0.8, 0.97], [0.9, 0.9]]
    return [
        _case("means well inside", seed, std=0.1, reach=0.5),
        _case("means near the border", seed + 1, mean=border, std=0.5),
        _case("a batch of one", seed + 2, B=1, std=0.2, reach=0.5),
        _case("two images", seed + 3, B=2),
        _case("a wide policy", seed + 4, std=1.5, B=8),
        _case("a narrow policy", seed + 5, std=0.02, reach=0.5),
        _case("float64 inputs", seed + 6, dtype=torch.float64),
        _case("a mean whose gradient is asked", seed + 7, mean=border, std=0.4, gradients=("mean",)),
    ]


EXERCISE = Exercise(
    id="hard_attention.gaussian-place",
    title="A place and its log-probability",
    points=2,
    task=r"""
RAM's location network says a mean; the place is drawn around it, $l \sim \mathcal N(\mathit{mean}, \mathit{std}^2)$,
each coordinate by itself. So that everybody draws the same, the standard normal noise is given. A place outside the
image is of no use, so it is brought back to the edge before anybody looks there.

$$\log \pi(l) = \sum_{k = x, y} \Big[ -\frac{(l_k - \mathit{mean}_k)^2}{2\,\mathit{std}^2} \qquad
- \log \mathit{std} - \tfrac12 \log 2\pi \Big]$$

Return the place to look at, inside $[-1, 1]$, and the log-probability (a density, it may be positive) of *what the
policy drew*. No gradient may pass through the place; that of `log_prob` must reach `mean`.

| argument | |
|---|---|
| `mean` | (B, 2) |
| `noise` | (B, 2), standard normal |
| `std` | a number |
| returns `place, log_prob` | (B, 2), (B,) |
""",
    stub="""
def draw_place(mean, noise, std):
    ...  # your code: place (B, 2), log_prob (B,)
""",
    hints=(
        "Three things in this order: what was drawn, how probable that was, and only then where to look.",
        "If `drawn = mean + std * noise` keeps its gradient, then `(drawn - mean) / std` is the noise, whatever the "
        "mean: what would be the derivative of `log_prob` with respect to `mean`?",
        "`drawn = (mean + std * noise).detach()`; the log-probability from `drawn` and `mean`, summed over the two "
        "coordinates; return `drawn.clamp(-1, 1)`.",
    ),
    solution=draw_place,
    spellings=(_by_distribution, _loop),
    axes={"mean": "B two", "noise": "B two"},
    returns=(Output("place", "B two"), Output("log_prob", "B")),
    cases=_cases,
    wrong=(
        Misconception(
            "the log-probability of the clamped place",
            "Near the border your `log_prob` is that of the place *after* clamping. The policy did not draw that one. "
            "It drew something beyond the edge, and a Gaussian gives the edge itself another density. The estimator's "
            "mean is the true gradient only if what is scored is what was drawn; with the clamped place it keeps "
            "pulling the mean back from the border, reward or not.",
            (_variant(log=lambda drawn, place, mean, std: _log(place, mean, std)),),
        ),
        Misconception(
            "the draw keeps its gradient",
            "The values are right, but the drawn place still hangs on `mean`. Then $l - \\mathit{mean}$ is the noise, "
            "whatever the mean is, and the gradient of `log_prob` is exactly zero; or one leaks through the place, "
            "where none may pass. Detach the draw before anything else is computed from it.",
            (
                _variant(drawn=_leaking),
                _variant(drawn=_leaking, place=lambda drawn, mean: drawn.clamp(-1, 1)),
                _variant(place=lambda drawn, mean: (drawn + mean - mean.detach()).clamp(-1, 1)),
            ),
        ),
        Misconception(
            "the place is not brought back",
            "Your place may lie outside the image, where nothing is to be seen. Clamp it to $[-1, 1]$, after its "
            "log-probability has been taken.",
            (_variant(place=lambda drawn, mean: drawn.detach()),),
        ),
        Misconception(
            "a tanh in place of the clamp",
            "You squash the drawn place with a tanh. Then a place of 0.5 is looked at as 0.46: also places well inside "
            "move. Here the place is only brought back where it lies outside.",
            (_variant(place=lambda drawn, mean: drawn.detach().tanh()),),
        ),
        Misconception(
            "the mean is looked at, not the draw",
            "Your place is the mean itself. That is the greedy look, for when nothing is to be learned. In training "
            "the noise *is* the exploration: without it no other place is ever tried, and the log-probability belongs "
            "to a place that nobody looked at.",
            (_variant(place=lambda drawn, mean: mean.detach().clamp(-1, 1)),),
        ),
        Misconception(
            "the coordinates are averaged",
            "You take the mean over $x$ and $y$. They are drawn independently: probabilities multiply, so logarithms "
            "*add*.",
            (_variant(gather=lambda each: each.mean(-1)),),
        ),
        Misconception(
            "the constants are missing",
            "Only the squared distance is there. For a fixed `std` the gradient is the same, but it is not the "
            "log-probability: $-\\log \\mathit{std} - \\tfrac12 \\log 2\\pi$ belongs to it, once for each coordinate.",
            (
                _variant(log=lambda drawn, place, mean, std: _log(drawn, mean, std, constant=0.0)),
                _variant(log=lambda drawn, place, mean, std: _log(drawn, mean, std, constant=math.log(std))),
                _variant(
                    log=lambda drawn, place, mean, std: _log(drawn, mean, std, constant=math.log(2 * math.pi) / 2)
                ),
            ),
        ),
        Misconception(
            "the constants are there once",
            "The squared distances are summed over both coordinates, the constants are not: each coordinate has its "
            "own $-\\log \\mathit{std} - \\tfrac12 \\log 2\\pi$.",
            (_once,),
        ),
        Misconception(
            "the variance instead of the standard deviation",
            "`std` is the standard deviation: the distance is divided by $\\mathit{std}^2$, and the noise is scaled by "
            "`std`. You have a square too many or too few.",
            (
                _variant(log=lambda drawn, place, mean, std: _log(drawn, mean, std, width=math.sqrt(std))),
                _variant(
                    log=lambda drawn, place, mean, std: (
                        -((drawn - mean) ** 2) / (2 * std) - math.log(std * math.sqrt(2 * math.pi))
                    )
                ),
                _variant(drawn=lambda mean, noise, std: (mean + std**2 * noise).detach()),
                _variant(drawn=lambda mean, noise, std: (mean + math.sqrt(std) * noise).detach()),
            ),
        ),
        Misconception(
            "the density instead of its logarithm",
            "You return $\\pi(l)$. The estimator needs $\\nabla \\log \\pi$, which divides by how often a place is "
            "drawn.",
            (_variant(gather=lambda each: each.sum(-1).exp()),),
        ),
        Misconception(
            "the sign of the log-probability",
            "Your number is $-\\log \\pi$: it grows with the distance from the mean. The minus of the loss comes "
            "later, where it can be seen.",
            (_variant(gather=lambda each: -each.sum(-1)),),
        ),
    ),
)
