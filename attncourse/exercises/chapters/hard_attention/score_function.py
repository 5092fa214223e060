"""The score-function gradient by hand: a loss whose gradient is REINFORCE's, and who must not learn from it."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def reinforce_loss(scores, index, logits, labels, baseline):
    log_p = logits.log_softmax(-1).gather(1, labels[:, None])[:, 0]  # (B,)
    reward = log_p.detach().exp()  # (B,): a number, whatever network it came from
    log_pi = scores.log_softmax(-1).gather(1, index[:, None])[:, 0]  # (B,)
    policy = log_pi * (reward - baseline.detach())
    return (-log_p - policy + (reward - baseline) ** 2).mean()


def _loop(scores, index, logits, labels, baseline):
    total = 0.0
    for b in range(len(scores)):
        log_p = logits[b, labels[b]] - logits[b].logsumexp(0)
        with torch.no_grad():
            reward = logits[b].softmax(0)[labels[b]]
            advantage = reward - baseline[b]
        log_pi = scores[b, index[b]] - scores[b].logsumexp(0)
        total = total - log_p - advantage * log_pi + (baseline[b] - reward).square()
    return total / len(scores)


def _by_library(scores, index, logits, labels, baseline):
    action = F.cross_entropy(logits, labels)
    reward = torch.exp(-F.cross_entropy(logits.detach(), labels, reduction="none"))
    drawn = torch.distributions.Categorical(logits=scores).log_prob(index)
    advantage = (reward - baseline).detach()
    return action - (advantage * drawn).mean() + F.mse_loss(baseline, reward)


def _at(x, index):
    return x.gather(1, index[:, None])[:, 0]


def _stop(x):
    return x.detach()


def _keep(x):
    return x


def _variant(
    log=lambda scores, index: _at(scores.log_softmax(-1), index),
    reward=lambda logits, labels: _at(logits.softmax(-1), labels),
    advantage=lambda reward, baseline: (reward - baseline).detach(),
    regression=lambda reward, baseline: (reward.detach() - baseline) ** 2,
    action=lambda log_p: -log_p,
    sign=-1,
    gather=torch.mean,
):
    """The solution with one idea changed at a time."""

    def loss(scores, index, logits, labels, baseline):
        log_p = _at(logits.log_softmax(-1), labels)
        R = reward(logits, labels)
        policy = sign * log(scores, index) * advantage(R, baseline)
        return gather(action(log_p) + policy + regression(R, baseline))

    return loss


def _detached(reward, baseline, whole):
    """Which of the three uses of reward and baseline are cut."""
    return _variant(
        advantage=lambda R, b: reward(R) - baseline(b),
        regression=lambda R, b: (whole(R) - b) ** 2,
    )


def _hit(logits, labels):
    return (logits.argmax(-1) == labels).to(logits.dtype)


def _standardised(R, b):
    a = (R - b).detach()
    return (a - a.mean()) / (a.std(correction=0) + 1e-8)


def _case(kind, seed, B=4, K=5, C=3, scale=1.0, dtype=torch.float32):
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return scale * torch.randn(*shape, generator=rng, dtype=dtype)

    inputs = {"scores": normal(B, K), "index": torch.randint(K, (B,), generator=rng)}
    inputs |= {"logits": normal(B, C), "labels": torch.randint(C, (B,), generator=rng)}
    inputs["baseline"] = torch.rand(B, generator=rng, dtype=dtype)
    return Case(kind, inputs, ("scores", "logits", "baseline"))


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("as many places as classes", seed + 1, B=6, K=4, C=4),
        _case("as many places and classes as images", seed + 2, B=3, K=3, C=3),
        _case("a batch of one", seed + 3, B=1),
        _case("two places", seed + 4, K=2, C=2),
        _case("large scores", seed + 5, scale=30.0),
        _case("float64 inputs", seed + 6, dtype=torch.float64),
        _case("a large batch", seed + 7, B=32, K=9, C=10),
    ]


EXERCISE = Exercise(
    id="hard_attention.score-function",
    title="The score-function gradient, by hand",
    points=3,
    task=r"""
One look: a policy with scores over $K$ places drew `index`; after the look a classifier has `logits`. Write *one*
loss, a scalar, such that gradient descent on it

- lowers the cross-entropy of the label,
- raises the expected reward by REINFORCE: the policy moves along $(R - b)\,\nabla \log \pi(\mathit{index})$,
- fits the baseline $b$ to the reward by squared error.

$$L = \frac1B \sum_n \big[ -\log P(\mathit{label}) \qquad -\; \log \pi(\mathit{index})\,(R - b) \;+\; (R - b)^2 \big],
\qquad R = P(\mathit{label})$$

The *value* of this formula is easily right. What counts is who learns from which term: the classifier from the first
only, the policy from the second only, the baseline from the third only.

| argument | |
|---|---|
| `scores` | (B, K), the policy before its softmax |
| `index` | (B,) int, the place that was drawn |
| `logits` | (B, C), the classifier after the look |
| `labels` | (B,) int |
| `baseline` | (B,), the baseline's guess |
| returns `loss` | a scalar |
""",
    stub="""
def reinforce_loss(scores, index, logits, labels, baseline):
    ...  # your code: a scalar
""",
    hints=(
        "Write the formula first, without a thought about gradients. Then go through it term by term: which of the "
        "symbols in it are *functions* that this term should change, and which are just numbers that were measured?",
        "In $\\log \\pi \\cdot (R - b)$ only $\\log \\pi$ may learn. In $(R - b)^2$ only $b$ may. `x.detach()` turns "
        "a function into a number.",
        "`log_pi = scores.log_softmax(-1).gather(1, index[:, None])[:, 0]`; `reward = log_p.detach().exp()`; and the "
        "policy term is `-log_pi * (reward - baseline.detach())`.",
    ),
    solution=reinforce_loss,
    spellings=(_loop, _by_library),
    axes={"scores": "B K", "index": "B", "logits": "B C", "labels": "B", "baseline": "B"},
    returns=(Output("loss", ""),),
    cases=_cases,
    wrong=(
        Misconception(
            "the advantage is not detached",
            "The value is right, but in $\\log\\pi\\,(R - b)$ both factors learn. The classifier is then pushed to "
            "make its answer *less* sure wherever an improbable place was drawn, and the baseline to make the product "
            "small instead of the error. REINFORCE differentiates $\\log \\pi$; what multiplies it is a number that "
            "was measured: `(reward - baseline).detach()`.",
            (_detached(_keep, _keep, _stop), _detached(_keep, _keep, _keep)),
        ),
        Misconception(
            "the reward is not detached",
            "The value is right, but a gradient reaches `logits` through the reward. In RAM the reward comes from the "
            "same network that answers: it would learn to earn reward by changing what it *says* depending on how "
            "probable the place was. The score-function estimator treats the reward as if the world had paid it; the "
            "classifier has its cross-entropy.",
            (_detached(_keep, _stop, _stop), _detached(_keep, _stop, _keep), _detached(_stop, _stop, _keep)),
        ),
        Misconception(
            "the baseline learns through the policy",
            "The value is right, but the baseline also gets a gradient from $\\log\\pi\\,(R - b)$. That pushes it "
            "*up* whenever $\\log \\pi$ is negative, which for a discrete policy is always, whatever the reward was. "
            "A baseline takes nothing from the truth only as long as it is a number in this term; it learns by "
            "regression.",
            (_detached(_stop, _keep, _stop), _detached(_stop, _keep, _keep)),
        ),
        Misconception(
            "the wrong sign",
            "Your policy term has a plus. An optimiser goes *down* the loss; the expected reward shall go *up*. With "
            "this sign the policy learns to look where there is nothing to see, and it learns that well.",
            (_variant(sign=1),),
        ),
        Misconception(
            "the probability instead of its logarithm",
            "You weight $\\pi(\\mathit{index})$, not $\\log \\pi$. Frequent places are drawn often *and* weigh much: "
            "they are counted twice. $\\nabla \\log \\pi = \\nabla \\pi / \\pi$ divides out how often a place is "
            "drawn.",
            (_variant(log=lambda scores, index: _at(scores.softmax(-1), index)),),
        ),
        Misconception(
            "the score instead of the log-probability",
            "You take the drawn place's score without the softmax around it. Then a reward raises one score and lowers "
            "no other: with rewards that are never negative every score only grows. $\\log \\pi$ has "
            "$-\\log \\sum_k \\exp(\\mathit{scores}_k)$ in it.",
            (_variant(log=_at),),
        ),
        Misconception(
            "a softmax over the batch",
            "Your $\\log \\pi$ is normalised over the images of the batch (`dim=0`). Each image has its own policy: "
            "the probabilities of its places sum to one, along the last axis.",
            (_variant(log=lambda scores, index: _at(scores.log_softmax(0), index)),),
        ),
        Misconception(
            "there is no baseline in the policy term",
            "Your policy term is $R \\log \\pi$. Its mean is right, but with a reward between 0 and 1 every place that "
            "is drawn is made more probable, good or bad, and only the average over many draws sorts them. Subtract "
            "$b$: better than expected is encouraged, worse discouraged.",
            (_variant(advantage=lambda R, b: R.detach()),),
        ),
        Misconception(
            "the baseline is added",
            "Your policy term has $R + b$. A baseline is what one expected; the surprise is the *difference*.",
            (_variant(advantage=lambda R, b: (R + b).detach()),),
        ),
        Misconception(
            "the reward is a log-probability",
            "Your reward is $\\log P(\\mathit{label})$. It is a possible choice, but not this one: $R = "
            "P(\\mathit{label})$ is between 0 and 1, the mean of the paper's 0-or-1 reward over draws of the class; a "
            "logarithm is unbounded below, and one hopeless image would drown a batch.",
            (_variant(reward=lambda logits, labels: _at(logits.log_softmax(-1), labels)),),
        ),
        Misconception(
            "the reward is 0 or 1",
            "Your reward asks whether the likeliest class is right. That is close to the paper's, but here "
            "$R = P(\\mathit{label})$: also an improvement that does not change the answer yet is rewarded, and the "
            "estimate is less noisy.",
            (_variant(reward=_hit),),
        ),
        Misconception(
            "the batch is summed",
            "Your loss is a sum over the batch. A larger batch would then mean a larger step; take the mean, so that "
            "the learning rate means the same for any batch.",
            (_variant(gather=torch.sum),),
        ),
        Misconception(
            "the advantages are standardised",
            "You divide the advantages by their spread over the batch. A common trick, but it was not asked for, and "
            "it is not free: one image's step then depends on which others stand beside it, and with a batch of one "
            "nothing is left.",
            (_variant(advantage=_standardised),),
        ),
        Misconception(
            "the baseline is never fitted",
            "The squared error is missing, so nobody teaches the baseline what to expect. It would stay as it was "
            "drawn: not wrong on average, and of no use.",
            (_variant(regression=lambda R, b: 0 * b),),
        ),
        Misconception(
            "the cross-entropy is missing",
            "Nothing teaches the classifier: $-\\log P(\\mathit{label})$ is missing. The reward cannot do it, it is a "
            "number here. RAM is a *hybrid*: the label is known, so what it says is trained by supervision, and only "
            "where it looks by reward.",
            (_variant(action=lambda log_p: 0 * log_p),),
        ),
    ),
)
