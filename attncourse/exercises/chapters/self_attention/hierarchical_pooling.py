"""Pooling by levels: words make sentences, sentences make the document, and each level asks its own question."""

import torch

from attncourse.core import masks

from ...engine.core import Case, Exercise, Misconception, Output


def hierarchical_pool(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    words = torch.arange(h.shape[2], device=h.device) < lengths[..., None]  # (B, N, W)
    scores = torch.tanh(h @ W_w + b_w) @ u_w  # (B, N, W)
    weights = masks.softmax(scores, words)
    sentences = torch.einsum("bnw,bnwd->bnd", weights, h)  # (B, N, D)
    scores = torch.tanh(sentences @ W_s + b_s) @ u_s  # (B, N)
    weights = masks.softmax(scores, lengths > 0)
    return torch.einsum("bn,bnd->bd", weights, sentences)  # (B, D)


def _pool(items, W, b, u):
    """items (n, D) -> (D,)"""
    a = torch.stack([torch.tanh(item @ W + b) @ u for item in items]).softmax(0)
    return sum(a_i * item for a_i, item in zip(a, items, strict=True))


def _loop(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    rows = []
    for document, sizes in zip(h, lengths.tolist(), strict=True):
        sentences = [_pool(document[i, :n], W_w, b_w, u_w) for i, n in enumerate(sizes) if n > 0]
        rows.append(_pool(torch.stack(sentences), W_s, b_s, u_s))
    return torch.stack(rows)


def _by_sums(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    def pool(x, W, b, u, real):
        powers = torch.exp(((x @ W + b).tanh() * u).sum(-1)) * real  # bounded scores: no need to subtract the largest
        return (powers.unsqueeze(-1) * x).sum(-2) / powers.sum(-1, keepdim=True).clamp(min=1e-30)

    real = (torch.arange(h.shape[2]).view(1, 1, -1) < lengths.unsqueeze(-1)).to(h.dtype)
    return pool(pool(h, W_w, b_w, u_w, real), W_s, b_s, u_s, real.amax(-1))


def _variant(words=True, sentences=True, question=True, matrix=True, squash=torch.tanh, bias=True, read_hidden=False,
             second=True, first=True, fill=-1e30, after=False, turn=torch.clone, late=0, swap=False):  # fmt: skip
    """The solution with one idea changed at a time."""

    def pool(x, W, b, u, real, attend):
        hidden = squash(x @ turn(W) + (b if bias else 0))
        scores = hidden @ u if attend else torch.zeros_like(hidden[..., 0])
        if after:
            weights = scores.softmax(-1) * real
        else:
            weights = scores.masked_fill(~real, fill).softmax(-1)
            weights = weights * real if fill == -1e30 else weights
        return (weights[..., None] * (hidden if read_hidden else x)).sum(-2)

    def answer(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
        if swap:
            W_w, b_w, u_w, W_s, b_s, u_s = W_s, b_s, u_s, W_w, b_w, u_w
        real = torch.arange(h.shape[2]) < lengths[..., None] + late
        inner = pool(h, W_w, b_w, u_w, real if words else torch.ones_like(real), first)
        W, b = (W_s, b_s) if matrix else (W_w, b_w)
        there = lengths > 0 if sentences else torch.ones_like(lengths, dtype=torch.bool)
        return pool(inner, W, b, u_s if question else u_w, there, second)

    return answer


def _flat(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    """One softmax over all words of the document."""
    real = (torch.arange(h.shape[2]) < lengths[..., None]).flatten(1)
    x = h.flatten(1, 2)
    weights = masks.softmax(torch.tanh(x @ W_w + b_w) @ u_w, real)
    return (weights[..., None] * x).sum(1)


def _across(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    """The words' softmax runs over the sentences."""
    real = torch.arange(h.shape[2]) < lengths[..., None]
    scores = torch.tanh(h @ W_w + b_w) @ u_w
    weights = masks.softmax(scores.mT, real.mT).mT
    inner = (weights[..., None] * h).sum(2)
    weights = masks.softmax(torch.tanh(inner @ W_s + b_s) @ u_s, lengths > 0)
    return (weights[..., None] * inner).sum(1)


def _zero_words(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    """Zeros for the scores of padding words; the sentences are masked as they should be."""
    real = torch.arange(h.shape[2]) < lengths[..., None]
    weights = (torch.tanh(h @ W_w + b_w) @ u_w).masked_fill(~real, 0.0).softmax(-1)
    inner = (weights[..., None] * h).sum(2)
    weights = masks.softmax(torch.tanh(inner @ W_s + b_s) @ u_s, lengths > 0)
    return (weights[..., None] * inner).sum(1)


def _case(kind, seed, B=3, N=4, W=5, D=6, lengths=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)

    def some(*shape):
        return torch.randn(*shape, generator=rng, dtype=dtype)

    inputs = {"h": scale * some(B, N, W, D)}
    for level in "ws":
        inputs |= {f"W_{level}": some(D, D), f"b_{level}": some(D), f"u_{level}": some(D)}
    lengths = torch.full((B, N), W) if lengths is None else torch.tensor(lengths)
    return Case(kind, inputs | {"lengths": lengths}, gradients)


def _cases(seed):
    ragged, full = [[5, 2, 3, 1], [4, 5, 0, 0], [1, 0, 0, 0]], [[5, 5, 5, 5], [5, 5, 0, 0], [5, 0, 0, 0]]
    return [
        _case("documents without padding", seed),
        _case("sentences of different lengths", seed + 1, lengths=[[5, 2, 3, 1], [1, 4, 2, 5], [3, 3, 1, 2]]),
        _case("documents of different sizes, their sentences full", seed + 2, lengths=full),
        _case("documents and sentences of different sizes", seed + 3, lengths=ragged),
        _case("a batch of one", seed + 4, B=1, lengths=[[3, 5, 2, 0]]),
        _case("one sentence of one word", seed + 5, B=2, N=1, W=1),
        _case("large inputs", seed + 6, scale=20.0, lengths=ragged),
        _case("float64 inputs", seed + 7, dtype=torch.float64, lengths=ragged),
        _case("inputs whose gradient is asked", seed + 8, lengths=ragged, gradients=("h", "W_w", "u_w", "W_s", "u_s")),
    ]


EXERCISE = Exercise(
    id="self_attention.hierarchical-pooling",
    title="Pooling by levels",
    points=3,
    task=r"""
A document becomes one vector in two steps (Yang et al. 2016, without the recurrent layers in between). Inside each
sentence, the words are pooled:

$$a_{i\cdot} = \mathrm{softmax}_j\big(\tanh(h_{ij} W_w + b_w)\, u_w\big), \qquad s_i = \sum_j a_{ij} h_{ij}$$

and then the sentences $s_i$ in the same way with $W_s, b_s, u_s$.

| argument | |
|---|---|
| `h` | (B, N, W, D): N sentences of up to W words |
| `W_w`, `b_w`, `u_w` | (D, D), (D,), (D,): projection and context vector of the words |
| `W_s`, `b_s`, `u_s` | the same for the sentences |
| `lengths` | (B, N) int: words in each sentence, 0 where there is no sentence; the first one is always there |
| returns `document` | (B, D) |

What stands beyond a length is padding, and not zero.
""",
    stub="""
def hierarchical_pool(h, W_w, b_w, u_w, W_s, b_s, u_s, lengths):
    ...  # your code: document (B, D)
""",
    hints=(
        "Write one level first: (B, N, W, D) to (B, N, D). The scores of the words are (B, N, W), and the softmax runs "
        "over the last axis.",
        "Two masks are needed: which words are real, `torch.arange(W) < lengths[..., None]`, and which sentences are "
        "there, `lengths > 0`.",
        "A sentence that does not exist has no word to attend to. `masks.softmax(scores, mask)` gives such a row "
        "zeros; a plain softmax of $-\\infty$ only gives NaN.",
    ),
    solution=hierarchical_pool,
    spellings=(_loop, _by_sums),
    axes={"h": "B N W D", "W_w": "D D", "b_w": "D", "u_w": "D", "W_s": "D D", "b_s": "D", "u_s": "D", "lengths": "B N"},
    returns=(Output("document", "B D"),),
    cases=_cases,
    wrong=(
        Misconception(
            "padding words are averaged in",
            "In a short sentence your result depends on what stands beyond its last word. Every position takes its "
            "share of the softmax, whether there is a word or not: mask the words with `lengths` before it.",
            (_variant(words=False),),
        ),
        Misconception(
            "sentences that do not exist are averaged in",
            "The words are masked, the sentences are not: where a document is shorter than its neighbours, empty "
            "sentences take part in the second softmax and dilute it. The second level needs a mask of its own, "
            "`lengths > 0`.",
            (_variant(sentences=False),),
        ),
        Misconception(
            "`lengths` is not used",
            "Nothing in your answer depends on `lengths`: padding words and sentences that do not exist are pooled "
            "like real ones. Then a document's vector depends on its neighbours in the batch.",
            (_variant(words=False, sentences=False),),
        ),
        Misconception(
            "one context vector for both levels",
            "You ask the sentences with `u_w`. A context vector is the question of its level: *which word matters in "
            "a sentence* and *which sentence matters in a document* are two questions, and one vector would have to "
            "be the answer to both.",
            (_variant(question=False),),
        ),
        Misconception(
            "one projection for both levels",
            "Your second level uses `W_w` and `b_w`. Words and pooled sentences are different things, even where "
            "their vectors have one size; each level has a projection of its own.",
            (_variant(matrix=False), _variant(matrix=False, question=False)),
        ),
        Misconception(
            "the tanh is missing",
            "Your scores are linear in $h$. Then $W$ and $u$ collapse into a single vector, the bias drops out of "
            "the softmax, and large vectors get all the weight because they are large.",
            (_variant(squash=lambda x: x),),
        ),
        Misconception(
            "the bias is left out",
            "You compute $\\tanh(hW)u$. Under a tanh a bias does matter: it decides where each hidden unit bends.",
            (_variant(bias=False),),
        ),
        Misconception(
            "the hidden layer is read",
            "You mix $\\tanh(hW + b)$. That is the *key*, made to be compared with the question; what is read are "
            "the annotations $h$ themselves, and the sentences $s_i$ on the second level.",
            (_variant(read_hidden=True),),
        ),
        Misconception(
            "all words are pooled at once",
            "Your softmax runs over every word of the document. Then a long sentence counts for more because it is "
            "long, and nothing ever asks which *sentence* matters: `W_s` and `u_s` are not used.",
            (_flat,),
        ),
        Misconception(
            "the words' softmax runs over the sentences",
            "Your weights sum to one over the first words of all sentences, over all second words, and so on. A "
            "sentence distributes its attention over its own words: the last axis of (B, N, W).",
            (_across,),
        ),
        Misconception(
            "the second level is a mean",
            "Inside a sentence you attend, between sentences you average: a decisive sentence counts no more than "
            "the weather. The sentences are pooled with $W_s, b_s, u_s$ in the same way.",
            (_variant(second=False), _variant(second=False, sentences=False)),
        ),
        Misconception(
            "the first level is a mean",
            "You average the words of a sentence and attend to the sentences only. `W_w` and `u_w` are not used, and "
            "*for the fair* weighs as much as *chose*.",
            (_variant(first=False),),
        ),
        Misconception(
            "the levels are exchanged",
            "You pool the words with `W_s`, `b_s`, `u_s` and the sentences with `W_w`, `b_w`, `u_w`. Everything has "
            "the right shape, so nothing but the numbers tells.",
            (_variant(swap=True),),
        ),
        Misconception(
            "the matrices are transposed",
            "You multiply by $W^\\top$. `nn.Linear` keeps its weight as (out, in) and multiplies by the transpose; "
            "these matrices are used as they stand, `h @ W`.",
            (_variant(turn=torch.t),),
        ),
        Misconception(
            "one position too many is real",
            "Your mask reaches one word beyond the end: `<=` where `<` is meant. Positions count from 0, so a sentence "
            "of $n$ words ends at $n - 1$.",
            (_variant(late=1),),
        ),
        Misconception(
            "masked scores are set to zero",
            "You put 0 where there is no word. Zero is an ordinary score, and $e^0 = 1$ an ordinary share: padding "
            "still takes part, and in a document of low scores it takes the most.",
            (_variant(fill=0.0), _zero_words),
        ),
        Misconception(
            "the mask multiplies the weights",
            "You take the softmax over everything and set the padding to zero afterwards. It has had its share by "
            "then, and your weights sum to less than one, the less the more padding there is.",
            (_variant(after=True),),
        ),
        Misconception(
            "an empty sentence becomes NaN",
            "A sentence without words has $-\\infty$ everywhere, and its softmax is 0/0. Weight zero on the second "
            "level does not help, since 0 · NaN is NaN. Fill with a large negative *finite* number and set the "
            "weights to zero, as `masks.softmax` does.",
            (_variant(fill=float("-inf")),),
        ),
    ),
)
