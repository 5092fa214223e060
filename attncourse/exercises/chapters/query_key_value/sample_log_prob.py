"""A hard read: draw one key, read its value, and keep the log-probability that training needs."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def hard_read(scores, values, uniform):
    log_weights = scores.log_softmax(-1)  # (B, Tq, Tk)
    edges = log_weights.exp().cumsum(-1)  # where each key's stretch ends
    index = (edges < uniform[..., None]).sum(-1, keepdim=True)  # (B, Tq, 1)
    log_prob = log_weights.gather(-1, index)[..., 0]  # (B, Tq)
    rows = index.expand(-1, -1, values.shape[-1])  # (B, Tq, Dv)
    return values.gather(1, rows), log_prob


def _by_loops(scores, values, uniform):
    contexts, logs = [], []
    for b in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            weights, below, j = scores[b, i].softmax(0), 0.0, 0
            while j < len(weights) - 1 and below + weights[j].item() <= uniform[b, i].item():
                below += weights[j].item()
                j += 1
            contexts.append(values[b, j])
            logs.append(weights[j].log())
    shape = scores.shape[:2]
    return torch.stack(contexts).view(*shape, -1), torch.stack(logs).view(shape)


def _by_search(scores, values, uniform):
    weights = scores.softmax(-1)
    index = torch.searchsorted(weights.cumsum(-1).detach(), uniform[..., None]).squeeze(-1)
    log_prob = torch.distributions.Categorical(logits=scores).log_prob(index)
    return values[torch.arange(len(values))[:, None], index], log_prob


def _by_one_hot(scores, values, uniform):
    edges = scores.softmax(-1).cumsum(-1)
    chosen = torch.nn.functional.one_hot((edges > uniform.unsqueeze(-1)).int().argmax(-1), scores.shape[-1])
    chosen = chosen.to(scores.dtype)
    return chosen @ values, (chosen * scores).sum(-1) - scores.logsumexp(-1)


def _case(kind, seed, B=2, Tq=3, Tk=5, Dv=4, scale=1.0, dtype=torch.float32, gradients=()):
    """`uniform` falls well inside the stretch of a key that is drawn: no rounding can decide."""
    rng = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(B, Tq, Tk, generator=rng, dtype=torch.float64)
    values = torch.randn(B, Tk, Dv, generator=rng, dtype=dtype)
    weights = scores.softmax(-1)
    likely = (weights * (weights > 0.01)).flatten(0, 1)
    index = torch.multinomial(likely, 1, generator=rng).view(B, Tq, 1)
    inside = 0.1 + 0.8 * torch.rand(B, Tq, 1, generator=rng, dtype=torch.float64)
    uniform = (weights.cumsum(-1) - (1 - inside) * weights).gather(-1, index)[..., 0]
    return Case(kind, {"scores": scores.to(dtype), "values": values, "uniform": uniform.to(dtype)}, gradients)


def _cases(seed):
    return [
        _case("a random batch", seed, Tq=6),
        _case("a batch of one", seed + 1, B=1, Tq=6),
        _case("a single query", seed + 2, Tq=1),
        _case("a single key", seed + 3, Tk=1),
        _case("as many queries as keys", seed + 4, Tq=5),
        _case("nearly equal scores", seed + 5, Tq=8, scale=0.2),
        _case("large scores", seed + 6, Tq=4, scale=40.0),
        _case("float64 inputs", seed + 7, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 8, Tq=4, gradients=("scores", "values")),
    ]


def _index(scores, uniform):
    return (scores.softmax(-1).cumsum(-1) < uniform[..., None]).sum(-1)


def _version(
    choose=_index,
    log=lambda scores, index, uniform: _at(scores.log_softmax(-1), index),
    read=lambda scores, values, index: _rows(values, index),
):
    """The solution with one part exchanged."""

    def version(scores, values, uniform):
        index = choose(scores, uniform)
        return read(scores, values, index), log(scores, index, uniform)

    return version


def _at(x, index):
    return x.gather(-1, index[..., None])[..., 0]


def _rows(values, index):
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))


def _leaky(scores, values, index):
    """Forward the drawn value, backward the soft read: straight-through."""
    soft = scores.softmax(-1) @ values
    return _rows(values, index) + soft - soft.detach()


def _leaky_one_hot(scores, values, index):
    weights = scores.softmax(-1)
    one = torch.nn.functional.one_hot(index, scores.shape[-1]).to(scores.dtype)
    return (one + weights - weights.detach()) @ values


EXERCISE = Exercise(
    id="query_key_value.sample-log-prob",
    title="A sample and its log-probability",
    points=3,
    task=r"""
Read hard: for each query draw *one* key $j \sim \mathrm{softmax}(\mathrm{scores})$, return its value, and the
logarithm of the probability with which it was drawn. Its gradient is all that the scores will ever learn from.

So that everybody draws the same, the random numbers are given. Lay the weights of a row end to end on the line from
0 to 1: key 0 has the stretch from 0 to $a_0$, key 1 from $a_0$ to $a_0 + a_1$, and so on. The drawn key is the one
in whose stretch `uniform` falls.

| argument | what it is |
|---|---|
| `scores` | (B, Tq, Tk) |
| `values` | (B, Tk, Dv) |
| `uniform` | (B, Tq), between 0 and 1, never on an edge |
| returns `context, log_prob` | (B, Tq, Dv), (B, Tq) |

No gradient of `context` may reach the scores; that of `log_prob` must.
""",
    stub="""
def hard_read(scores, values, uniform):
    ...  # your code: context (B, Tq, Dv), log_prob (B, Tq)
""",
    hints=(
        "With weights (0.2, 0.5, 0.3) and u = 0.6: the edges are 0.2, 0.7, 1.0, and 0.6 lies in the second stretch. "
        "How many edges are smaller than u?",
        "`weights.cumsum(-1)` gives the edges; `(edges < uniform[..., None]).sum(-1)` counts those left behind. "
        "A count has no gradient, and needs none.",
        "`scores.log_softmax(-1).gather(-1, index[..., None])` picks the log-probability. For the values, `gather` "
        "along axis 1 wants the index in the shape (B, Tq, Dv): `index[..., None].expand(-1, -1, Dv)`.",
    ),
    solution=hard_read,
    spellings=(_by_loops, _by_search, _by_one_hot),
    axes={"scores": "B Tq Tk", "values": "B Tk Dv", "uniform": "B Tq"},
    returns=(Output("context", "B Tq Dv"), Output("log_prob", "B Tq")),
    cases=_cases,
    wrong=(
        Misconception(
            "the most probable key is taken",
            "You take the argmax. That is a fixed choice, not a draw: it never tries another key, so it never finds "
            "out that another would have been better, and its log-probability estimates no gradient.",
            (_version(choose=lambda scores, uniform: scores.argmax(-1)),),
        ),
        Misconception(
            "the log-probability of another key",
            "The value is that of the drawn key, the log-probability is that of the *most probable* one. "
            "REINFORCE would reward a key that was not looked at for what another one showed.",
            (
                _version(log=lambda scores, index, uniform: scores.log_softmax(-1).amax(-1)),
                _version(
                    log=lambda scores, index, uniform: _at(scores.log_softmax(-1), (index + 1) % scores.shape[-1])
                ),
            ),
        ),
        Misconception(
            "the logarithm of the random number",
            "Your `log_prob` is $\\log u$. $u$ only decides which stretch is hit; the probability of that is the "
            "stretch's *length*, the weight of the key, and only this depends on the scores.",
            (_version(log=lambda scores, index, uniform: uniform.log()),),
        ),
        Misconception(
            "the probability instead of its logarithm",
            "You return $a_j$, not $\\log a_j$. The estimator needs $\\nabla \\log a_j = \\nabla a_j / a_j$: the "
            "division makes up for rare keys being drawn rarely. Without it, frequent keys are counted twice.",
            (_version(log=lambda scores, index, uniform: _at(scores.softmax(-1), index)),),
        ),
        Misconception(
            "the score instead of the log-probability",
            "You return the drawn key's *score*. It lacks $-\\log \\sum_l \\exp e_l$: the part by which a draw of "
            "one key makes all others less probable. Use `log_softmax`.",
            (_version(log=lambda scores, index, uniform: _at(scores, index)),),
        ),
        Misconception(
            "the sign of the log-probability",
            "Your log-probabilities are positive. A probability is at most 1, its logarithm at most 0; the minus of "
            "the loss comes later, where it can be seen.",
            (_version(log=lambda scores, index, uniform: -_at(scores.log_softmax(-1), index)),),
        ),
        Misconception(
            "the mixture is read instead of the sample",
            "Your context is the expectation $\\sum_j a_j v_j$: a soft read. Hard attention returns one of the "
            "values as it is, unmixed.",
            (_version(read=lambda scores, values, index: scores.softmax(-1) @ values),),
        ),
        Misconception(
            "the random number is compared with the weights",
            "You look for a weight that is larger than `uniform`. Lay the weights end to end first: it is their "
            "running sum (`cumsum`) that the random number falls into. Otherwise a key of weight 0.4 is drawn "
            "never when u is above 0.4, and too often when below.",
            (
                _version(choose=lambda scores, u: (scores.softmax(-1) > u[..., None]).int().argmax(-1)),
                _version(choose=lambda scores, u: (scores.softmax(-1) - u[..., None]).abs().argmin(-1)),
            ),
        ),
        Misconception(
            "the stretches are counted from the other end",
            "Your draw has the right probabilities but takes the keys in the opposite direction: counting the edges "
            "*above* u gives the number of keys that come after. Count the edges below.",
            (
                _version(choose=lambda scores, u: (scores.softmax(-1).cumsum(-1) > u[..., None]).sum(-1) - 1),
                _version(choose=lambda scores, u: _index(scores, 1 - u)),
            ),
        ),
        Misconception(
            "other random numbers are used",
            "Your draw is a good one, by random numbers of its own. Here they are given as `uniform`, so that the "
            "result can be checked: the key in whose stretch the number falls.",
            (_version(choose=lambda scores, u: torch.distributions.Categorical(logits=scores).sample()),),
        ),
        Misconception(
            "a gradient leaks through the sample",
            "The values are right, but a gradient of `context` reaches the scores, as if the mixture had been read. "
            "That is the straight-through trick: useful, and biased. Asked is the sample itself; the scores learn "
            "through `log_prob` alone, and adding both counts the same reward twice.",
            (_version(read=_leaky), _version(read=_leaky_one_hot)),
        ),
    ),
)
