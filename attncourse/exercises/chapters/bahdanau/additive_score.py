"""score(q, k) = vᵀ tanh(W_q q + W_k k): every query meets every key."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def additive_score(query, keys, W_q, W_k, v):
    q = query @ W_q.T  # (B, Tq, A)
    k = keys @ W_k.T  # (B, Tk, A)
    hidden = torch.tanh(q[:, :, None] + k[:, None])  # (B, Tq, Tk, A): every query meets every key
    return hidden @ v  # (B, Tq, Tk)


def _additive_loop(query, keys, W_q, W_k, v):
    rows = []
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            for j in range(keys.shape[1]):
                rows.append(torch.dot(v, torch.tanh(W_q.mv(query[b, i]) + W_k.mv(keys[b, j]))))
    return torch.stack(rows).view(query.shape[0], query.shape[1], keys.shape[1])


def _additive_einsum(query, keys, W_q, W_k, v):
    q = torch.einsum("bqd,ad->bqa", query, W_q)
    k = torch.einsum("bkd,ad->bka", keys, W_k)
    return torch.einsum("bqka,a->bqk", (q.unsqueeze(2) + k.unsqueeze(1)).tanh(), v)


def _pairs(q, k):
    return q[:, :, None] + k[:, None]


def _additive_case(kind, seed, B=2, Tq=3, Tk=5, Dq=4, Dk=6, A=7, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    shapes = {"query": (B, Tq, Dq), "keys": (B, Tk, Dk), "W_q": (A, Dq), "W_k": (A, Dk), "v": (A,)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["query"] *= scale
    return Case(kind, inputs, gradients)


def _additive_cases(seed):
    names = ("query", "keys", "W_q", "W_k", "v")
    return [
        _additive_case("a random batch", seed),
        _additive_case("a batch of one", seed + 1, B=1),
        _additive_case("a single query", seed + 2, Tq=1),
        _additive_case("a single key", seed + 3, Tk=1),
        _additive_case("as many queries as keys", seed + 4, Tq=4, Tk=4, Dq=5),
        _additive_case("queries and keys of equal size", seed + 5, Dq=6),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _additive_case("sizes that are all equal", seed + 6, Tq=6, Tk=6, Dq=6, Dk=6, A=6),
        _additive_case("large queries", seed + 7, scale=50.0),
        _additive_case("float64 inputs", seed + 8, dtype=torch.float64),
        _additive_case("inputs whose gradient is asked", seed + 9, gradients=names),
    ]


EXERCISE = Exercise(
    id="bahdanau.additive-score",
    title="The additive score",
    points=2,
    task=r"""
Score every query against every key:

$$\mathrm{score}(q_i, k_j) = v^\top \tanh(W_q\, q_i + W_k\, k_j)$$

| argument | shape |
|---|---|
| `query` | (B, Tq, Dq) |
| `keys` | (B, Tk, Dk) |
| `W_q`, `W_k` | (A, Dq), (A, Dk): laid out as `nn.Linear.weight`, so $W_q\,q$ is `query @ W_q.T` |
| `v` | (A,) |
| returns `scores` | (B, Tq, Tk) |
""",
    stub="""
def additive_score(query, keys, W_q, W_k, v):
    ...  # your code: scores (B, Tq, Tk)
""",
    hints=(
        "Start with one query and one key: two vectors of size A are added, squashed, and weighed by `v` into one "
        "number.",
        "`query @ W_q.T` is (B, Tq, A), `keys @ W_k.T` is (B, Tk, A). To add each query to each key, give them "
        "shapes that broadcast to (B, Tq, Tk, A): `q[:, :, None]` is (B, Tq, 1, A). What must `k` be?",
        "`torch.tanh(q[:, :, None] + k[:, None])` is (B, Tq, Tk, A). A product with `v` sums its last axis away.",
    ),
    solution=additive_score,
    spellings=(_additive_loop, _additive_einsum),
    axes={"query": "B Tq Dq", "keys": "B Tk Dk", "W_q": "A Dq", "W_k": "A Dk", "v": "A"},
    returns=(Output("scores", "B Tq Tk"),),
    cases=_additive_cases,
    wrong=(
        Misconception(
            "tanh is applied before the sum",
            "Your scores behave like $v^\\top(\\tanh(W_q q) + \\tanh(W_k k))$. That is a number for the query plus a "
            "number for the key: the query moves all its scores by the same amount, so after a softmax it makes no "
            "difference at all. What makes the pair matter is a tanh of the *sum*.",
            (lambda query, keys, W_q, W_k, v: _pairs((query @ W_q.T).tanh(), (keys @ W_k.T).tanh()) @ v,),
        ),
        Misconception(
            "the tanh is missing",
            "Your scores behave like $v^\\top(W_q q + W_k k)$. Without a non-linearity between the sum and $v$, the "
            "score splits into a part of the query and a part of the key; the query's part is the same for every "
            "key, and a softmax over the keys cancels it. Every query would look at the same place.",
            (lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k.T) @ v,),
        ),
        Misconception(
            "tanh is applied after the product with v",
            "Your scores behave like $\\tanh(v^\\top(W_q q + W_k k))$: all of them lie between −1 and 1, so no key "
            "can get more than $e^2 \\approx 7.4$ times the weight of another. Squash the hidden layer, of A units, "
            "not the one number that comes out of it.",
            (lambda query, keys, W_q, W_k, v: (_pairs(query @ W_q.T, keys @ W_k.T) @ v).tanh(),),
        ),
        Misconception(
            "another function than tanh",
            "Your scores behave as if `relu` or `sigmoid` stood where the formula has tanh. With both of them a "
            "hidden unit is never negative, so only $v$ can speak against a key; tanh has both signs, and its bounds "
            "keep every score between plus and minus the sum of $|v|$.",
            (
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k.T).relu() @ v,
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k.T).sigmoid() @ v,
            ),
        ),
        Misconception(
            "a weight matrix is used untransposed",
            "Your code multiplies by `W` where it should multiply by its transpose: that runs only if the matrix "
            "happens to be square, and then it is silently wrong. `nn.Linear` keeps its weight as (out, in), here "
            "(A, D), and computes `x @ W.T`.",
            (
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q, keys @ W_k).tanh() @ v,
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q, keys @ W_k.T).tanh() @ v,
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k).tanh() @ v,
                lambda query, keys, W_q, W_k, v: (query @ W_q + keys @ W_k).tanh() @ v,
            ),
        ),
        Misconception(
            "the weights are multiplied from the left",
            "$W_q\\, q$ in the formula is a matrix times *one* column vector. `query` holds many vectors, and each "
            "is a row of it: they lie along its *last* axis. `W_q @ query` sums over positions instead of features; "
            "`query @ W_q.T` does to every row what the formula does to one vector.",
            (
                lambda query, keys, W_q, W_k, v: _pairs(W_q @ query, W_k @ keys).tanh() @ v,
                lambda query, keys, W_q, W_k, v: (W_q @ query + W_k @ keys).tanh() @ v,
                lambda query, keys, W_q, W_k, v: v @ (W_q @ query + W_k @ keys).tanh(),
            ),
        ),
        Misconception(
            "the two weight matrices are exchanged",
            "Your code applies `W_k` to the query and `W_q` to the keys. Queries and keys are different things here, "
            "the decoder's state and the encoder's annotations, and may have different sizes; it runs only when they "
            "do not.",
            (lambda query, keys, W_q, W_k, v: _pairs(query @ W_k.T, keys @ W_q.T).tanh() @ v,),
        ),
        Misconception(
            "queries and keys have changed places",
            "Your scores are (B, Tk, Tq): a row for each key. A row belongs to a *query*, since each query chooses "
            "among the keys, and the softmax that follows runs along the last axis. Which of the two gets the `None` "
            "first?",
            (lambda query, keys, W_q, W_k, v: _pairs(keys @ W_k.T, query @ W_q.T).tanh() @ v,),
        ),
        Misconception(
            "queries are added to keys position by position",
            "Your sum pairs the first query with the first key, the second with the second; it runs only when there "
            "are as many of one as of the other, or one. *Every* query has to meet *every* key: that needs an axis "
            "for each, (B, Tq, 1, A) + (B, 1, Tk, A).",
            (lambda query, keys, W_q, W_k, v: (query @ W_q.T + keys @ W_k.T).tanh() @ v,),
        ),
        Misconception(
            "a softmax is applied already",
            "Your result sums to one along an axis: these are weights. Here the *scores* are asked, before they are "
            "normalised; the mask has yet to come between the two.",
            (
                lambda **inputs: additive_score(**inputs).softmax(-1),
                lambda **inputs: additive_score(**inputs).softmax(1),
            ),
        ),
        Misconception(
            "v is left out",
            "Your scores sum (or average) the A hidden units as they are. $v$ decides how much each unit counts and "
            "with which sign; without it no unit can speak against a key.",
            (
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k.T).tanh().sum(-1),
                lambda query, keys, W_q, W_k, v: _pairs(query @ W_q.T, keys @ W_k.T).tanh().mean(-1),
            ),
        ),
        Misconception(
            "queries are multiplied with keys",
            "Your scores are products of a projected query with a projected key: Luong's multiplicative score. In "
            "Bahdanau's, the two are *added*, and a small network with one hidden layer judges the sum.",
            (
                lambda query, keys, W_q, W_k, v: (query @ W_q.T) @ (keys @ W_k.T).mT,
                lambda query, keys, W_q, W_k, v: (query @ W_q.T).tanh() @ (keys @ W_k.T).tanh().mT,
                lambda query, keys, W_q, W_k, v: (query @ W_q.T * v) @ (keys @ W_k.T).mT,
                lambda query, keys, W_q, W_k, v: ((query @ W_q.T)[:, :, None] * (keys @ W_k.T)[:, None]).tanh() @ v,
            ),
        ),
        Misconception(
            "the scores are divided by the square root of a size",
            "Your scores are right but for a factor of $1/\\sqrt{A}$ (or $1/\\sqrt{D}$). That belongs to the *scaled "
            "dot* product, whose variance grows with the size. Here tanh bounds each hidden unit, and $v$ is "
            "learned: the paper scales nothing.",
            (
                lambda **inputs: additive_score(**inputs) / len(inputs["v"]) ** 0.5,
                lambda **inputs: additive_score(**inputs) / inputs["query"].shape[-1] ** 0.5,
                lambda **inputs: additive_score(**inputs) / inputs["keys"].shape[-1] ** 0.5,
            ),
        ),
    ),
)
