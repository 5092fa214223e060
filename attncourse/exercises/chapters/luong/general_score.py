"""score(q, k) = qᵀ W k for every query and every key: one einsum."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def general_score(query, keys, W):
    return torch.einsum("bqi,ij,bkj->bqk", query, W, keys)  # (B, Tq, Tk)


def _by_products(query, keys, W):
    return (query @ W) @ keys.transpose(-2, -1)


def _keys_projected_once(query, keys, W):
    return query @ torch.nn.functional.linear(keys, W).mT


def _loop(query, keys, W):
    rows = [torch.dot(q, W @ k) for b, queries in enumerate(query) for q in queries for k in keys[b]]
    return torch.stack(rows).view(query.shape[0], query.shape[1], keys.shape[1])


def _case(kind, seed, B=2, Tq=3, Tk=5, Dq=4, Dk=6, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    shapes = {"query": (B, Tq, Dq), "keys": (B, Tk, Dk), "W": (Dq, Dk)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["query"] *= scale
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("a batch of one", seed + 1, B=1),
        _case("a single query", seed + 2, Tq=1),
        _case("a single key", seed + 3, Tk=1),
        _case("queries and keys of equal size, so that W is square", seed + 4, Dq=6),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 5, B=5, Tq=5, Tk=5, Dq=5, Dk=5),
        _case("large queries", seed + 6, scale=50.0),
        _case("float64 inputs", seed + 7, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 8, gradients=("query", "keys", "W")),
    ]


EXERCISE = Exercise(
    id="luong.general-score",
    title="The general score in one einsum",
    points=1,
    task=r"""
Score every query against every key through a matrix, without a loop:

$$\mathrm{score}(q_i, k_j) = q_i^\top W\, k_j$$

| argument | shape |
|---|---|
| `query` | (B, Tq, Dq), the decoder's states |
| `keys` | (B, Tk, Dk), the encoder's |
| `W` | (Dq, Dk): it takes a key into the query's space |
| returns `scores` | (B, Tq, Tk) |
""",
    stub="""
def general_score(query, keys, W):
    ...  # your code: scores (B, Tq, Tk)
""",
    hints=(
        "For one query and one key: `query @ W @ key` is one number. Which indices are summed away, which stay?",
        'In an einsum give every axis a letter: `"bqi,ij,bkj->…"`. A letter that does not stand behind the arrow is '
        "summed over.",
        'Query position and key position must both stay, the batch is shared: `"bqi,ij,bkj->bqk"`.',
    ),
    solution=general_score,
    spellings=(_by_products, _keys_projected_once, _loop),
    axes={"query": "B Tq Dq", "keys": "B Tk Dk", "W": "Dq Dk"},
    returns=(Output("scores", "B Tq Tk"),),
    cases=_cases,
    wrong=(
        Misconception(
            "W is transposed",
            "Your scores are $q^\\top W^\\top k$: the matrix is entered from its other side. That runs only where "
            "queries and keys have the same size, and there it is silently another score. Which axis of `W` has the "
            "size of a key?",
            (lambda query, keys, W: query @ (keys @ W).mT,),
        ),
        Misconception(
            "W is left out",
            "Your scores are plain dot products of queries with keys, which exist only where both have the same size. "
            "$W$ is what lets the score compare vectors of different kinds: it says which direction of a key answers "
            "which direction of a query.",
            (lambda query, keys, W: query @ keys.mT,),
        ),
        Misconception(
            "queries and keys have changed places",
            "Your result is (B, Tk, Tq): a row for each key. A row belongs to a *query*, which chooses among the "
            "keys; the softmax that follows runs along the last axis.",
            (lambda query, keys, W: torch.einsum("bqi,ij,bkj->bkq", query, W, keys),),
        ),
        Misconception(
            "each query meets one key only",
            "Your einsum uses the same letter for the positions of queries and keys, so that the first query meets "
            "the first key, the second the second. Every query has to meet every key: two positions, two letters.",
            (
                lambda query, keys, W: torch.einsum("bqi,ij,bqj->bq", query, W, keys),
                lambda query, keys, W: torch.diag_embed(torch.einsum("bqi,ij,bqj->bq", query, W, keys)),
            ),
        ),
        Misconception(
            "sentences of the batch are mixed",
            "A query of one sentence is scored against the keys of all sentences: the batch has been given two "
            "letters, and one of them was summed over. Query, keys and scores share the letter b.",
            (
                lambda query, keys, W: torch.einsum("bqi,ij,ckj->bqk", query, W, keys),
                lambda query, keys, W: torch.einsum("bqi,ij,ckj->cqk", query, W, keys),
            ),
        ),
        Misconception(
            "a tanh has crept in",
            "Your scores are squashed, or the projected keys are: that is on the way to Bahdanau's additive score. "
            "The general score is bilinear, linear in the query and linear in the key, which is why the keys can be "
            "projected once a sentence and the rest is a matrix product.",
            (
                lambda **inputs: general_score(**inputs).tanh(),
                lambda query, keys, W: query @ (keys @ W.T).tanh().mT,
            ),
        ),
        Misconception(
            "the scores are scaled or already normalised",
            "Up to a factor $1/\\sqrt{D}$, or up to a softmax, these are the right numbers. The scaling came two "
            "years later with the Transformer; here $W$ is learned and finds its own scale. And a softmax has to wait "
            "for the mask.",
            (
                lambda **inputs: general_score(**inputs) / inputs["query"].shape[-1] ** 0.5,
                lambda **inputs: general_score(**inputs) / inputs["keys"].shape[-1] ** 0.5,
                lambda **inputs: general_score(**inputs).softmax(-1),
            ),
        ),
    ),
)
