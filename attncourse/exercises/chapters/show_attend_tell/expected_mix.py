"""A hard read that is, for some images of the batch, an expectation."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def mixed_read(weights, annotations, index, softly):
    rows = torch.arange(len(weights), device=weights.device)  # (B,)
    expected = (weights[..., None] * annotations).sum(1)  # (B, D)
    drawn = annotations[rows, index]  # (B, D)
    context = torch.where(softly[:, None], expected, drawn)
    log_prob = torch.where(softly, torch.zeros_like(weights[:, 0]), weights[rows, index].log())  # (B,)
    return context, log_prob


def _loop(weights, annotations, index, softly):
    contexts, logs = [], []
    for b in range(len(weights)):
        if softly[b]:
            contexts.append(weights[b] @ annotations[b])
            logs.append(weights.new_zeros(()))
        else:
            contexts.append(annotations[b, index[b]])
            logs.append(torch.log(weights[b, index[b]]))
    return torch.stack(contexts), torch.stack(logs)


def _one_hot(weights, annotations, index, softly):
    hot = torch.nn.functional.one_hot(index, weights.shape[1]).to(weights.dtype)
    soft = softly.to(weights.dtype)[:, None]
    read = soft * weights + (1 - soft) * hot
    picked = weights.gather(1, index[:, None])[:, 0]
    return torch.einsum("bl,bld->bd", read, annotations), picked.log() * (1 - soft[:, 0])


def _variant(turned=False, blend=None, weigh=False, keep=False, probability=False, detach=False, mean=False, nll=False):
    """The solution with one idea changed at a time."""

    def answer(weights, annotations, index, softly):
        rows, soft = torch.arange(len(weights)), ~softly if turned else softly
        expected = annotations.mean(1) if mean else (weights[..., None] * annotations).sum(1)
        drawn = annotations[rows, index]
        drawn = weights[rows, index][:, None] * drawn if weigh else drawn
        context = torch.where(soft[:, None], expected, drawn)
        context = blend * expected + (1 - blend) * drawn if blend is not None else context
        chance = weights[rows, index]
        log_prob = chance if probability else chance.log()
        log_prob = -log_prob if nll else log_prob.detach() if detach else log_prob
        return context, log_prob if keep else torch.where(soft, torch.zeros_like(log_prob), log_prob)

    return answer


def _one_coin(weights, annotations, index, softly):
    return mixed_read(weights, annotations, index, softly[:1].expand_as(softly))


def _any_coin(weights, annotations, index, softly):
    return mixed_read(weights, annotations, index, softly.any().expand_as(softly))


def _by_share(weights, annotations, index, softly):
    share = softly.to(weights.dtype).mean()
    expected = (weights[..., None] * annotations).sum(1)
    drawn, log_prob = mixed_read(weights, annotations, index, torch.zeros_like(softly))
    return share * expected + (1 - share) * drawn, log_prob


def _likeliest(weights, annotations, index, softly):
    return mixed_read(weights, annotations, weights.argmax(1), softly)


def _first_place_for_all(weights, annotations, index, softly):
    context = mixed_read(weights, annotations, index[:1].expand_as(index), softly)[0]
    return context, mixed_read(weights, annotations, index, softly)[1]


def _always_drawn(weights, annotations, index, softly):
    return mixed_read(weights, annotations, index, torch.zeros_like(softly))


def _always_expected(weights, annotations, index, softly):
    return mixed_read(weights, annotations, index, torch.ones_like(softly))


def _case(kind, seed, softly, L=7, D=4, scale=1.0, dtype=torch.float32, gradients=()):
    rng, B = torch.Generator().manual_seed(seed), len(softly)
    inputs = {
        "weights": (scale * torch.randn(B, L, generator=rng, dtype=dtype)).softmax(-1),
        "annotations": torch.randn(B, L, D, generator=rng, dtype=dtype),
        "index": torch.randint(L, (B,), generator=rng),
        "softly": torch.tensor(softly),
    }
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("a batch with both kinds", seed, [True, False, False, True]),
        _case("another batch with both kinds", seed + 1, [False, True, True, False, False], scale=2.0),
        _case("images that are all drawn", seed + 2, [False, False, False]),
        _case("images that are all read by expectation", seed + 3, [True, True]),
        _case("a batch of one", seed + 4, [False]),
        _case("a single place", seed + 5, [False, True], L=1),
        _case("float64 inputs", seed + 6, [True, False, True], dtype=torch.float64),
        _case("weights whose gradient is asked", seed + 7, [True, False, False, True], gradients=("weights",)),
    ]


EXERCISE = Exercise(
    id="show_attend_tell.expected-mix",
    title="Hard for some, expected for others",
    points=3,
    task=r"""
A draw is noisy: its gradient comes only through a reward. So the paper reads some images of each batch by their
*expectation* instead, and tosses the coin once an image. For an image read softly, the gradient flows through the
weights; for a drawn one, the log-probability of the draw will be multiplied by a reward:

$$z = \begin{cases} \sum_i \alpha_i a_i & \text{softly} \\ a_s & \text{else} \end{cases} \qquad
\ell = \begin{cases} 0 & \text{softly} \\ \log \alpha_s & \text{else} \end{cases}$$

| argument | |
|---|---|
| `weights` | (B, L): $\alpha$, all above zero |
| `annotations` | (B, L, D): $a_i$ |
| `index` | (B,) int: $s$, a place drawn for each image |
| `softly` | (B,) bool: the coins |
| returns `context`, `log_prob` | (B, D): $z$, and (B,): $\ell$, with its gradient |
""",
    stub="""
def mixed_read(weights, annotations, index, softly):
    ...  # your code: context (B, D), log_prob (B,)
""",
    hints=(
        "Compute both reads for the whole batch, then choose row by row. The expectation is the context of chapter 4; "
        "the draw is one row of `annotations` for each image.",
        "`annotations[torch.arange(B), index]` takes one place of each image, (B, D); the same index into `weights` "
        "gives the probability of the draw, (B,).",
        "`torch.where(softly[:, None], expected, drawn)` for the context. An image that was not drawn has no draw to "
        "reward: its `log_prob` is 0.",
    ),
    solution=mixed_read,
    spellings=(_loop, _one_hot),
    axes={"weights": "B L", "annotations": "B L D", "index": "B", "softly": "B"},
    returns=(Output("context", "B D"), Output("log_prob", "B")),
    cases=_cases,
    wrong=(
        Misconception(
            "the two reads are blended",
            "Every context of yours is half expectation, half draw. A mix *of images* is meant, not of vectors: each "
            "image is read in one way. A blend is a vector that neither reading would ever produce.",
            (_variant(blend=0.5), _variant(blend=0.5, keep=True), _by_share),
        ),
        Misconception(
            "the coin is read the wrong way round",
            "Images marked `softly` are drawn in your answer, and the others averaged. True means: by expectation.",
            (_variant(turned=True),),
        ),
        Misconception(
            "a read by expectation is rewarded, too",
            "Your contexts are right, but `log_prob` is not 0 for the images read softly. Nothing was drawn there: "
            "$s$ had no influence on the caption, so a reward times $\\nabla \\log \\alpha_s$ would be noise.",
            (_variant(keep=True),),
        ),
        Misconception(
            "the draw is weighed with its probability",
            "You read $\\alpha_s a_s$. A place that was drawn is read whole: its probability has already decided how "
            "*often* it is drawn, and would count twice.",
            (_variant(weigh=True),),
        ),
        Misconception(
            "the probability stands for its logarithm",
            "You return $\\alpha_s$. The estimator needs $\\nabla \\log \\alpha_s = \\nabla \\alpha_s / \\alpha_s$: "
            "the division makes up for a likely place being drawn more often. Without it, the mean of the estimates is "
            "not the gradient.",
            (_variant(probability=True),),
        ),
        Misconception(
            "the log-probability carries no gradient",
            "Your numbers are right, and nothing can be learned from them: the path from `log_prob` back to `weights` "
            "is cut (`detach`, `item`, `no_grad`). The *reward* is what must not carry a gradient.",
            (_variant(detach=True),),
        ),
        Misconception(
            "one coin decides for the whole batch",
            "All your images are read in the same way. The coin is tossed for each image: a batch then always has "
            "some of both, and the steadying gradient is there in every step.",
            (_one_coin, _any_coin),
        ),
        Misconception(
            "the expectation forgets the weights",
            "Your soft images read the plain mean of all places. The expectation is under $\\alpha$: "
            "$\\sum_i \\alpha_i a_i$.",
            (_variant(mean=True),),
        ),
        Misconception(
            "the sign is turned",
            "You return $-\\log \\alpha_s$. The sign belongs to the loss, where it meets the reward; a function called "
            "`log_prob` that returns its negative makes the model avoid what went well.",
            (_variant(nll=True),),
        ),
        Misconception(
            "the likeliest place is read, not the drawn one",
            "Your hard images read `weights.argmax(1)`; `index` makes no difference. That is how the model is *used*. "
            "In training the place has to be drawn: a place that is never tried is never found to be better.",
            (_likeliest,),
        ),
        Misconception(
            "all images read the place of the first",
            "Every drawn context of yours stands at `index[0]`. `annotations[:, index]` takes *all* the places `index` "
            "of *every* image, (B, B, D), and its first column is the first image's place. "
            "`annotations[torch.arange(B), index]` takes one place of each.",
            (_first_place_for_all,),
        ),
        Misconception(
            "every image is drawn",
            "`softly` makes no difference to your answer: every image reads its drawn place. Then the weights get no "
            "gradient but the noisy one.",
            (_always_drawn,),
        ),
        Misconception(
            "no image is drawn",
            "`softly` makes no difference to your answer: every image is read by expectation. That is soft attention.",
            (_always_expected,),
        ),
    ),
)
