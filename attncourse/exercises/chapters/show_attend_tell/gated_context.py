"""The context of a soft read, and the gate that says how much of it is wanted."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def gated_context(scores, annotations, state, w):
    weights = scores.softmax(-1)  # (B, L)
    beta = torch.sigmoid(state @ w)  # (B,)
    context = (weights[..., None] * annotations).sum(1)  # (B, D)
    return beta[:, None] * context, weights


def _loop(scores, annotations, state, w):
    contexts, rows = [], []
    for b in range(len(scores)):
        powers = torch.exp(scores[b] - scores[b].max())
        alpha = powers / powers.sum()
        beta = 1 / (1 + torch.exp(-(state[b] * w).sum()))
        z = sum(alpha[i] * annotations[b, i] for i in range(len(alpha)))
        contexts.append(beta * z)
        rows.append(alpha)
    return torch.stack(contexts), torch.stack(rows)


def _einsum(scores, annotations, state, w):
    weights = torch.nn.functional.softmax(scores, dim=1)
    beta = torch.einsum("bh,h->b", state, w).sigmoid()
    return torch.einsum("b,bl,bld->bd", beta, weights, annotations), weights


def _variant(gate=torch.sigmoid, normalise=lambda x: x.softmax(-1), on_scores=False, reduce="sum", told=False):
    """The solution with one idea changed at a time."""

    def answer(scores, annotations, state, w):
        beta = gate(state @ w)[:, None]  # (B, 1)
        weights = normalise(scores * beta if on_scores else scores)
        context = getattr(weights[..., None] * annotations, reduce)(1)
        return (context if on_scores else beta * context), (beta * weights if told else weights)

    return answer


def _gate_asks_the_context(scores, annotations, state, w):
    weights = scores.softmax(-1)
    context = (weights[..., None] * annotations).sum(1)
    size = min(len(w), context.shape[1])
    return torch.sigmoid(context[:, :size] @ w[:size])[:, None] * context, weights


def _a_gate_a_number(scores, annotations, state, w):
    weights = scores.softmax(-1)
    gate = torch.sigmoid(state * w)  # (B, H), one a feature of the state
    context = (weights[..., None] * annotations).sum(1)
    return gate.mean(-1, keepdim=True) * context, weights


def _case(kind, seed, B=3, L=9, D=5, H=4, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    inputs = {
        "scores": scale * torch.randn(B, L, generator=rng, dtype=dtype),
        "annotations": torch.randn(B, L, D, generator=rng, dtype=dtype),
        "state": torch.randn(B, H, generator=rng, dtype=dtype),
        "w": torch.randn(H, generator=rng, dtype=dtype),
    }
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("three images of nine places", seed),
        _case("as many places as features", seed + 1, L=5, D=5),
        _case("a batch of one", seed + 2, B=1),
        _case("as many images as places", seed + 3, B=6, L=6),
        _case("a single place", seed + 4, L=1),
        _case("large scores", seed + 5, scale=80.0),
        _case("float64 inputs", seed + 6, dtype=torch.float64),
        _case("a state whose gradient is asked", seed + 7, gradients=("scores", "state", "w")),
    ]


EXERCISE = Exercise(
    id="show_attend_tell.gated-context",
    title="The gated context",
    points=2,
    task=r"""
The decoder scores the $L$ places of an image, reads their annotation vectors $a_i$ in expectation, and decides with a
scalar gate how much of what it saw the next word needs:

$$\alpha_t = \mathrm{softmax}_i(e_{ti}), \qquad \beta_t = \mathrm{sigmoid}(w^\top h_{t-1}), \qquad
z_t = \beta_t \sum_i \alpha_{ti}\, a_i$$

| argument | |
|---|---|
| `scores` | (B, L): $e_{ti}$ for this step |
| `annotations` | (B, L, D): $a_i$ |
| `state` | (B, H): $h_{t-1}$ |
| `w` | (H,) |
| returns `context`, `weights` | (B, D): $z_t$, and (B, L): $\alpha_t$, before any gate |
""",
    stub="""
def gated_context(scores, annotations, state, w):
    ...  # your code: context (B, D), weights (B, L)
""",
    hints=(
        "There are two decisions here: *where* to look, the weights, one number a place; and *how much* to take, the "
        "gate, one number an image. Compute them apart.",
        "`state @ w` is (B,). The sum over places of `weights[..., None] * annotations` is (B, D). What must `beta` "
        "look like to multiply it row by row?",
        "`return beta[:, None] * (weights[..., None] * annotations).sum(1), weights`",
    ),
    solution=gated_context,
    spellings=(_loop, _einsum),
    axes={"scores": "B L", "annotations": "B L D", "state": "B H", "w": "H"},
    returns=(Output("context", "B D"), Output("weights", "B L", distribution=True)),
    cases=_cases,
    wrong=(
        Misconception(
            "the gate is missing",
            "Your context is the plain expectation, $\\sum_i \\alpha_i a_i$. Then every word takes a full helping of "
            "image, also the words that the sentence alone decides. $\\beta_t$ lets the decoder turn the image down. "
            "(If there is a β in your code: a factor on all weights that are then normalised again, or a number added "
            "to all scores, cancels out.)",
            (_variant(gate=torch.ones_like),),
        ),
        Misconception(
            "the gate multiplies the scores",
            "You multiply before the softmax. There, a factor is a temperature: it makes the weights flatter, but "
            "they still sum to one, and the context is as long as ever. A closed gate should make $z_t$ vanish.",
            (_variant(on_scores=True),),
        ),
        Misconception(
            "the gate has no sigmoid",
            "Your $\\beta_t$ is $w^\\top h_{t-1}$ itself: it can be negative, or ten. A gate is a share between 0 and "
            "1, so the number goes through a sigmoid first.",
            (_variant(gate=lambda x: x),),
        ),
        Misconception(
            "the gate is a tanh",
            "Your gate lies between −1 and 1: a negative one turns the context round. A share lies between 0 and 1: "
            "the sigmoid.",
            (_variant(gate=torch.tanh),),
        ),
        Misconception(
            "the gate is the wrong way round",
            "Your context is multiplied by $1 - \\beta_t$: it vanishes where $w^\\top h_{t-1}$ is large. A learned $w$ "
            "could take either sign, but then the number that you call β means the opposite of the paper's.",
            (_variant(gate=lambda x: torch.sigmoid(-x)),),
        ),
        Misconception(
            "the softmax runs over the batch",
            "Your weights sum to one over the *images* at each place. Every image has its own question: the softmax "
            "runs over its places, the last axis.",
            (
                _variant(normalise=lambda x: x.softmax(0)),
                _variant(normalise=lambda x: x.flatten().softmax(0).view_as(x)),
            ),
        ),
        Misconception(
            "the places are averaged",
            "You take the mean over the $L$ places of $\\alpha_i a_i$. The weights already sum to one, so the sum *is* "
            "the average; dividing by $L$ once more makes the context $L$ times too short.",
            (_variant(reduce="mean"),),
        ),
        Misconception(
            "the weights are returned with the gate in them",
            "Your context is right, but the weights that you return are $\\beta_t \\alpha_t$ and no longer sum to one. "
            "*Where* and *how much* are two answers: a map of the attention, and the penalty of the next exercise, "
            "need $\\alpha_t$ as it left the softmax.",
            (_variant(told=True),),
        ),
        Misconception(
            "there is no softmax",
            "You read with the raw scores. They can be negative and sum to anything: the context would grow with the "
            "number of places.",
            (_variant(normalise=lambda x: x),),
        ),
        Misconception(
            "a sigmoid stands for the softmax",
            "Each of your weights is a sigmoid of its own score: they do not compete, and do not sum to one. The gate "
            "is a sigmoid, one number an image; the weights are a softmax over the places.",
            (_variant(normalise=torch.sigmoid),),
        ),
        Misconception(
            "the scores are divided by their sum",
            "Your weights are $e_i / \\sum_j e_j$, without the exponential. They sum to one and can still be negative, "
            "or enormous where the sum is near zero. Some notes print the softmax like this.",
            (_variant(normalise=lambda x: x / x.sum(-1, keepdim=True)),),
        ),
        Misconception(
            "the gate asks the context, not the state",
            "Your gate is computed from what was read. In the paper $\\beta_t$ depends on $h_{t-1}$: the decoder "
            "knows from the sentence so far whether it is about to need the image, before it has looked.",
            (_gate_asks_the_context,),
        ),
        Misconception(
            "the sigmoid comes before the sum over the state",
            "You squash each feature of the state and average afterwards. $w^\\top h_{t-1}$ is one number, a sum over "
            "the features; the sigmoid is taken of that sum.",
            (_a_gate_a_number,),
        ),
    ),
)
