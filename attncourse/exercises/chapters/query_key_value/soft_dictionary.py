"""Look up what is not quite there: score, normalise with a temperature, read."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def soft_dictionary(query, keys, values, temperature):
    scores = query @ keys.transpose(-2, -1)  # (B, Tq, Tk)
    weights = (scores / temperature).softmax(-1)  # (B, Tq, Tk), over the keys
    return weights @ values, weights  # (B, Tq, Dv), (B, Tq, Tk)


def _by_loops(query, keys, values, temperature):
    contexts, rows = [], []
    for q, k, v in zip(query, keys, values, strict=True):
        for one in q:
            scores = torch.stack([torch.dot(one, key) for key in k]) / temperature
            powers = torch.exp(scores - scores.max())
            rows.append(powers / powers.sum())
            contexts.append(sum(weight * value for weight, value in zip(rows[-1], v, strict=True)))
    B, Tq = query.shape[:2]
    return torch.stack(contexts).view(B, Tq, -1), torch.stack(rows).view(B, Tq, -1)


def _by_einsum(query, keys, values, temperature):
    weights = torch.softmax(torch.einsum("bqd,bkd->bqk", query, keys) * (1 / temperature), dim=2)
    return torch.einsum("bqk,bkv->bqv", weights, values), weights


def _case(kind, seed, B=2, Tq=3, Tk=5, D=4, Dv=6, temperature=1.0, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    shapes = {"query": (B, Tq, D), "keys": (B, Tk, D), "values": (B, Tk, Dv)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["query"] *= scale
    return Case(kind, inputs | {"temperature": temperature}, gradients)


def _cases(seed):
    return [
        _case("a random batch at temperature 1", seed),
        _case("a low temperature", seed + 1, temperature=0.25),
        _case("a high temperature", seed + 2, temperature=4.0),
        _case("a batch of one", seed + 3, B=1, temperature=0.5),
        _case("a single query", seed + 4, Tq=1, temperature=2.0),
        _case("a single key", seed + 5, Tk=1, temperature=2.0),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 6, Tq=5, Tk=5, D=5, Dv=5, temperature=2.0),
        _case("large scores and a very low temperature", seed + 7, temperature=0.01, scale=10.0),
        _case("float64 inputs", seed + 8, temperature=0.5, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 9, temperature=0.5, gradients=("query", "keys", "values")),
    ]


def _read(normalise, read=lambda weights, keys, values: weights @ values):
    """The solution with its way from scores to weights, or its read, exchanged."""

    def version(query, keys, values, temperature):
        weights = normalise(query @ keys.mT, temperature)
        return read(weights, keys, values), weights

    return version


def _softmax(scores, temperature):
    return (scores / temperature).softmax(-1)


def _shares(x):
    return x / x.sum(-1, keepdim=True)


EXERCISE = Exercise(
    id="query_key_value.soft-dictionary",
    title="A soft dictionary",
    points=2,
    task=r"""
A dictionary gives the value of the one key that equals the query. Write the soft one: every key is scored by its
dot product with the query, the scores are normalised at a temperature $\tau$, the values are mixed.

$$e_{ij} = q_i^\top k_j$$

$$a_{ij} = \frac{\exp(e_{ij}/\tau)}{\sum_l \exp(e_{il}/\tau)}$$

$$c_i = \sum_j a_{ij} v_j$$

| argument | what it is |
|---|---|
| `query` | (B, Tq, D) |
| `keys` | (B, Tk, D) |
| `values` | (B, Tk, Dv): what is read; its size may differ from that of the keys |
| `temperature` | a number above 0 |
| returns `context, weights` | (B, Tq, Dv), (B, Tq, Tk) |
""",
    stub="""
def soft_dictionary(query, keys, values, temperature):
    ...  # your code: context (B, Tq, Dv), weights (B, Tq, Tk)
""",
    hints=(
        "Three lines: score, normalise, read. Which axes meet in each product?",
        "`query @ keys.transpose(-2, -1)` is (B, Tq, Tk): a row for each query. Each row has to sum to one after "
        "the softmax: over which axis does it run?",
        "`(scores / temperature).softmax(-1)`, then `weights @ values`. Return both, the context first.",
    ),
    solution=soft_dictionary,
    spellings=(_by_loops, _by_einsum),
    axes={"query": "B Tq D", "keys": "B Tk D", "values": "B Tk Dv"},
    returns=(Output("context", "B Tq Dv"), Output("weights", "B Tq Tk", distribution=True)),
    cases=_cases,
    wrong=(
        Misconception(
            "the scores are multiplied by the temperature",
            "Your weights get sharper where they should get flatter: the scores are multiplied by the temperature, "
            "not divided. Heat blurs: a high temperature makes all scores small, and with them the differences.",
            (_read(lambda scores, t: (scores * t).softmax(-1)),),
        ),
        Misconception(
            "the temperature is applied after the softmax",
            "Your code divides the *weights* by the temperature. That shrinks all of them alike, and they no longer "
            "sum to one; if you normalise again, it does nothing. The temperature belongs inside the exponential.",
            (_read(lambda scores, t: scores.softmax(-1) / t),),
        ),
        Misconception(
            "the temperature is left out",
            "Your answer is right at temperature 1 only: `temperature` makes no difference to it.",
            (_read(lambda scores, t: scores.softmax(-1)),),
        ),
        Misconception(
            "the softmax runs over the wrong axis",
            "In your weights the *queries* share out each key: columns sum to one, rows do not. Each query has to "
            "share out its attention among the keys, and those lie along the last axis. Training would hardly show "
            "this mistake; several public models carry it.",
            (
                _read(lambda scores, t: (scores / t).softmax(1)),
                _read(lambda scores, t: (scores / t).softmax(0)),
                _read(lambda scores, t: (scores / t).flatten(1).softmax(-1).view_as(scores)),
            ),
        ),
        Misconception(
            "the scores are divided by their sum",
            "There is no `exp` in your weights. Scores have either sign: a weight can come out negative or far above "
            "one, and the sum may be near zero. (A temperature would cancel, besides.)",
            (_read(lambda scores, t: _shares(scores / t)),),
        ),
        Misconception(
            "only the best key is read",
            "Your weights are 0 and 1: all on the largest score. That is the limit of temperature 0. It has no "
            "gradient: no score learns from what was read.",
            (_read(lambda scores, t: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)),),
        ),
        Misconception(
            "keys are read instead of values",
            "Your weights are right; what you mix with them are the keys. A key says where to look, the value what "
            "is there; the two often have different sizes, here Dv and D.",
            (_read(_softmax, lambda weights, keys, values: weights @ keys),),
        ),
        Misconception(
            "the scores are scaled by the square root of D besides",
            "Your weights are flatter than asked by a factor of $\\sqrt{D}$ in the scores. That is the scaled dot "
            "product, which this chapter comes to later; here the temperature alone sets the scale.",
            (lambda query, keys, **rest: soft_dictionary(query / query.shape[-1] ** 0.5, keys, **rest),),
        ),
        Misconception(
            "exp of the scores overflows",
            "At a very low temperature your code takes `exp` of a number beyond 89, which float32 cannot hold: "
            "∞/∞ is NaN. A softmax does not change when the largest score of a row is subtracted from all of it; "
            "`torch.softmax` does so.",
            (_read(lambda scores, t: _shares((scores / t).exp())),),
        ),
    ),
)
