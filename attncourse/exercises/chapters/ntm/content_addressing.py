"""Find the slots that resemble a key: a cosine, a strength, a softmax over the slots."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def content_weights(key, strength, memory):
    # normalize divides by at least 1e-12: an empty slot stays a vector of zeros
    cosine = F.normalize(key, dim=-1) @ F.normalize(memory, dim=-1).mT  # (B, heads, N)
    return (strength[..., None] * cosine).softmax(-1)  # over the slots


def _by_loops(key, strength, memory):
    rows = []
    for b in range(key.shape[0]):
        for h in range(key.shape[1]):
            k = key[b, h]
            cosine = [torch.dot(k, slot) / (k.norm() * slot.norm()).clamp_min(1e-9) for slot in memory[b]]
            powers = strength[b, h] * torch.stack(cosine)
            powers = torch.exp(powers - powers.max())
            rows.append(powers / powers.sum())
    return torch.stack(rows).view(*key.shape[:2], -1)


def _by_einsum(key, strength, memory):
    lengths = torch.einsum("bh,bn->bhn", key.norm(dim=-1), memory.norm(dim=-1)) + 1e-8
    return torch.softmax(torch.einsum("bh,bhw,bnw->bhn", strength, key, memory) / lengths, dim=2)


def _by_cosine_similarity(key, strength, memory):
    cosine = F.cosine_similarity(key.unsqueeze(2), memory.unsqueeze(1), dim=-1)
    return F.softmax(cosine * strength.unsqueeze(-1), dim=-1)


def _case(kind, seed, B=2, heads=3, N=6, W=4, scale=1.0, strong=4.0, empty=(), dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    key = scale * torch.randn(B, heads, W, generator=rng, dtype=dtype)
    strength = strong * (0.2 + torch.rand(B, heads, generator=rng, dtype=dtype))
    memory = torch.randn(B, N, W, generator=rng, dtype=dtype)
    for slot in empty:
        memory[slot] = 0
    return Case(kind, {"key": key, "strength": strength, "memory": memory}, gradients)


def _found(case):
    """The first head's key lies in the memory, in slot 0, at another length."""
    case.inputs["key"][:, 0] = 3 * case.inputs["memory"][:, 0]
    return case


def _cases(seed):
    return [
        _case("a random batch with three heads", seed),
        _case("a single head", seed + 1, heads=1),
        _case("a batch of one", seed + 2, B=1),
        _case("a memory of one slot", seed + 3, N=1),
        _case("keys that are long", seed + 4, scale=20.0),
        _case("a weak strength", seed + 5, strong=0.3),
        _found(_case("a large strength and a slot that holds the key", seed + 6, strong=150.0)),
        _case("a memory with an empty slot", seed + 7, empty=[(0, 2), (1, 0), (1, 5)]),
        _case("a memory that is empty altogether", seed + 8, empty=[0]),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 9, B=4, heads=4, N=4, W=4),
        _case("float64 inputs", seed + 10, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 11, gradients=("key", "strength", "memory")),
        _case("an empty slot, with the gradient of the key", seed + 12, empty=[(0, 2)], gradients=("key", "strength")),
    ]


def _lengths(key, memory):
    return key.norm(dim=-1)[..., None] * memory.norm(dim=-1)[:, None]


def _dot(key, memory):
    return key @ memory.mT


def _cosine(key, memory):
    return F.normalize(key, dim=-1) @ F.normalize(memory, dim=-1).mT


def _careless(key, memory):
    return _dot(key, memory) / _lengths(key, memory)


def _weigh(strength, cosine):
    return (strength[..., None] * cosine).softmax(-1)


WAYS = {
    "plain": lambda strength, cosine: cosine.softmax(-1),
    "after": lambda strength, cosine: cosine.softmax(-1) * strength[..., None],
    "divided": lambda strength, cosine: (cosine / strength[..., None]).softmax(-1),
    "over heads": lambda strength, cosine: (strength[..., None] * cosine).softmax(1),
    "over batch": lambda strength, cosine: (strength[..., None] * cosine).softmax(0),
    "over all": lambda strength, cosine: (strength[..., None] * cosine).flatten(1).softmax(-1).view_as(cosine),
}


def _shares(x):
    return x / x.sum(-1, keepdim=True)


def _version(similarity=_cosine, weigh=_weigh):
    """The solution with its similarity, or its way from there to weights, exchanged."""
    return lambda key, strength, memory: weigh(strength, similarity(key, memory))


def _either(*ways):
    """Each way with a cosine that minds an empty slot, and with one that does not."""
    return tuple(_version(cosine, weigh) for weigh in ways for cosine in (_cosine, _careless))


def _given(*changes):
    """The strength is changed before it is used."""
    return _either(*((lambda strength, cosine, f=f: _weigh(f(strength), cosine)) for f in changes))


EXERCISE = Exercise(
    id="ntm.content-addressing",
    title="Find by content",
    points=2,
    task=r"""
A head puts out a key $k$ and a strength $\beta > 0$. Weigh every slot of the memory by how well its direction agrees
with the key's:

$$w_c(i) = \frac{\exp\big(\beta \cos(k, M_i)\big)}{\sum_j \exp\big(\beta \cos(k, M_j)\big)}, \qquad
\cos(u, v) = \frac{u^\top v}{\lVert u \rVert \, \lVert v \rVert}$$

A slot of zeros has no direction: let its cosine be 0.

| argument | |
|---|---|
| `key` | (B, heads, W): each head looks for something of its own |
| `strength` | (B, heads): $\beta$, positive already |
| `memory` | (B, N, W): N slots of W numbers, shared by the heads |
| returns `weights` | (B, heads, N) |
""",
    stub="""
def content_weights(key, strength, memory):
    ...  # your code: weights (B, heads, N)
""",
    hints=(
        "Three things happen in turn: a cosine for each head and slot, the strength, a softmax. What shape has the "
        "cosine, and what must $\\beta$, of shape (B, heads), become to be multiplied with it?",
        "A cosine is the dot product of two vectors of length one. `F.normalize(x, dim=-1)` gives them that length "
        "and leaves a vector of zeros as it is. The strength comes after that: a length given to the key before would "
        "be divided out again.",
        "`cosine = F.normalize(key, dim=-1) @ F.normalize(memory, dim=-1).mT` is (B, heads, N); then "
        "`(strength[..., None] * cosine).softmax(-1)`.",
    ),
    solution=content_weights,
    spellings=(_by_loops, _by_einsum, _by_cosine_similarity),
    axes={"key": "B heads W", "strength": "B heads", "memory": "B N W"},
    returns=(Output("weights", "B heads N", distribution=True),),
    cases=_cases,
    wrong=(
        Misconception(
            "a dot product instead of the cosine",
            "Your scores come from $k^\\top M_i$, without the lengths. Then a slot that holds large numbers wins "
            "whatever is asked for, and a long key looks more sharply than $\\beta$ says. The cosine compares "
            "directions; how sharp to look is left to $\\beta$ alone, inside the exponential.",
            tuple(_version(_dot, weigh) for weigh in (_weigh, *WAYS.values())),
        ),
        Misconception(
            "only one of the two is normalised",
            "You divide by one of the two lengths. If the memory keeps its own, slots with large numbers win; if the "
            "key keeps its own, it works as a second strength beside $\\beta$. The cosine divides by both.",
            (
                _version(lambda key, memory: F.normalize(key, dim=-1) @ memory.mT),
                _version(lambda key, memory: key @ F.normalize(memory, dim=-1).mT),
                _version(lambda key, memory: key @ (memory / memory.norm(dim=-1, keepdim=True)).mT),
            ),
        ),
        Misconception(
            "divided by the squared lengths",
            "You divide by $\\lVert k \\rVert^2 \\lVert M_i \\rVert^2$: a square root is missing. Then *short* vectors "
            "get the largest scores. `x.norm(dim=-1)` takes the root.",
            (
                _version(lambda key, memory: _cosine(key, memory) / _lengths(key, memory).clamp_min(1e-6)),
                _version(lambda key, memory: _careless(key, memory) / _lengths(key, memory)),
            ),
        ),
        Misconception(
            "normalised along the wrong axis",
            "`F.normalize` and `F.cosine_similarity` work along `dim=1` unless told otherwise: in (B, N, W) that axis "
            "is the slots, in (B, heads, W) the heads. And `x.norm()` without `dim` is one number for the whole "
            "tensor. Slots with large numbers still win. Each vector has its own length: the last axis.",
            (
                _version(lambda key, memory: _dot(key, memory) / (key.norm() * memory.norm())),
                _version(lambda key, memory: F.normalize(key) @ F.normalize(memory).mT),
                _version(lambda key, memory: F.normalize(key, dim=-1) @ F.normalize(memory).mT),
                _version(lambda key, memory: F.cosine_similarity(key[:, :, None], memory[:, None])),
            ),
        ),
        Misconception(
            "the strength makes no difference",
            "Your weights are the same whatever `strength` is: it was left out, or multiplied into the key before the "
            "key is normalised (a length does not change a direction), or into the weights before they are normalised "
            "again. A cosine lies between −1 and 1, so without $\\beta$ no slot can get more than $e^2 \\approx 7.4$ "
            "times the weight of another: a head could never settle on one. $\\beta$ belongs between cosine and "
            "softmax.",
            _either(WAYS["plain"]),
        ),
        Misconception(
            "the strength is applied after the softmax",
            "You multiply the *weights* by $\\beta$. That makes all of them larger by the same factor, sharpens "
            "nothing, and they no longer sum to one. The strength stretches the differences between scores: inside "
            "the exponential.",
            _either(WAYS["after"]),
        ),
        Misconception(
            "the strength divides",
            "Your weights get flatter where the strength grows: you divide by $\\beta$, as one would by a "
            "temperature. $\\beta$ is the inverse of one. The larger it is, the more the best slot stands out.",
            _either(WAYS["divided"]),
        ),
        Misconception(
            "the strength is squashed again",
            "`strength` is positive already: what makes it so, a softplus or an `exp`, is done where the head's "
            "numbers come out of the controller. You apply such a function a second time.",
            _given(F.softplus, lambda strength: 1 + F.softplus(strength), torch.exp, torch.sigmoid),
        ),
        Misconception(
            "the strength is lined up with the slots",
            "`strength` is (B, heads), the cosine (B, heads, N). Broadcasting lines axes up from the right, so without "
            "a new last axis it pairs heads with *slots*, and runs only where the sizes happen to agree. "
            "`strength[..., None]` is (B, heads, 1).",
            (
                _version(weigh=lambda strength, cosine: (strength * cosine).softmax(-1)),
                _version(weigh=lambda strength, cosine: (strength[:, None] * cosine).softmax(-1)),
            ),
        ),
        Misconception(
            "the heads share one strength",
            "Every head has a key *and* a strength of its own: one may be looking sharply while another spreads. You "
            "use one strength, or an average, for several heads or examples.",
            _given(lambda b: b[:, :1], lambda b: b[:1], lambda b: b.mean(1, keepdim=True), torch.mean),
        ),
        Misconception(
            "the softmax runs over the wrong axis",
            "In your weights it is not the *slots* that sum to one for each head. Every head has to share out its "
            "attention among the N slots, and those lie along the last axis. Over heads, several heads could never "
            "look at one slot together; a single head would have weight 1 everywhere.",
            _either(WAYS["over heads"], WAYS["over batch"], WAYS["over all"]),
        ),
        Misconception(
            "there is no softmax",
            "You return scores, or divide them by their sum. A cosine has either sign: a weight can come out negative, "
            "and the sum may be near zero (and $\\beta$ would cancel from the quotient). Shares of attention are "
            "positive and sum to one: that is what the softmax over the slots is for.",
            _either(lambda b, cosine: b[..., None] * cosine, lambda b, cosine: _shares(b[..., None] * cosine)),
        ),
        Misconception(
            "an empty slot gives NaN",
            "A slot of zeros has length 0, and your cosine there is 0/0. One NaN spoils the whole softmax, and with it "
            "the read, the loss and every parameter. A memory starts empty, or nearly so, and erasing can empty it "
            "again. Keep the divisor away from zero: the cosine is then 0.",
            (_version(_careless),),
        ),
        Misconception(
            "an empty slot cannot be found",
            "A slot of zeros gets no weight from you, or takes the weight of the others along. Its cosine is 0, "
            "neither like the key nor unlike it, so its score is 0, not $-\\infty$: when everything else is opposite "
            "to the key, the empty slot is the *best* match. A head that looks for room to write needs that.",
            (
                _version(_careless, lambda b, cosine: _weigh(b, cosine.nan_to_num(float("-inf"))).nan_to_num(0.0)),
                _version(_careless, lambda b, cosine: _weigh(b, cosine).nan_to_num(0.0)),
            ),
        ),
        Misconception(
            "the epsilon gives an empty slot a direction",
            "You add the small number to the *entries*. A slot of zeros then points along $(1, 1, \\dots, 1)$, and "
            "once normalised it is as long as any other: it resembles some keys and not others. Add it to the length, "
            "or bound the length from below.",
            (_version(lambda key, memory: _careless(key, memory + 1e-7)),),
        ),
        Misconception(
            "NaN is repaired after the fact",
            "The weights are right, but the gradient is NaN. Replacing a NaN mends the value only: backward multiplies "
            "by the slope of the line that made it, and 0 · NaN is NaN. The division by zero must not happen: bound "
            "the length before you divide.",
            (_version(lambda key, memory: _careless(key, memory).nan_to_num(0.0)),),
        ),
        Misconception(
            "a large strength gives NaN",
            "With a large strength your code leaves what float32 can hold: `exp` of a number beyond 89 is ∞, a small "
            "weight to a high power is 0, and ∞/∞ and 0/0 are NaN. A softmax does not change when the largest score is "
            "subtracted from all; `torch.softmax` does so. Give it $\\beta$ times the cosine.",
            _either(
                lambda b, cosine: _shares((b[..., None] * cosine).exp()),
                lambda b, cosine: _shares(cosine.softmax(-1) ** b[..., None]),
            ),
        ),
    ),
)
