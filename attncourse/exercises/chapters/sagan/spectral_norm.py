"""The largest singular value of a convolution's weights, by power iteration, and the weights divided by it."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def spectral_norm(weight, u, steps):
    matrix = weight.flatten(1)  # (O, I·k·k)
    with torch.no_grad():  # u and v are constants of this step
        for _ in range(steps):
            v = F.normalize(matrix.mT @ u, dim=0)  # (I·k·k,)
            u = F.normalize(matrix @ v, dim=0)  # (O,)
    sigma = u @ matrix @ v
    return weight / sigma, sigma


def _by_hand(weight, u, steps):
    matrix = weight.reshape(len(weight), -1)
    still = matrix.detach()
    for _ in range(steps):
        v = still.T.mv(u)
        v = v / (v * v).sum().sqrt()
        u = still.mv(v)
        u = u / torch.linalg.vector_norm(u)
    sigma = (matrix * torch.outer(u, v)).sum()
    return weight / sigma, sigma


def _by_einsum(weight, u, steps):
    still = weight.detach()
    for _ in range(steps):
        v = torch.einsum("oikl,o->ikl", still, u)
        v = v / v.norm()
        u = torch.einsum("oikl,ikl->o", still, v)
        u = u / u.norm()
    sigma = torch.einsum("o,oikl,ikl->", u, weight, v)
    return weight / sigma, sigma


def _case(kind, seed, out=4, into=3, k=2, steps=2, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    weight = scale * torch.randn(out, into, k, k, generator=rng, dtype=dtype)
    u = F.normalize(torch.randn(out, generator=rng, dtype=dtype), dim=0)
    return Case(kind, {"weight": weight, "u": u, "steps": steps}, gradients)


def _apart(case):
    """One singular value stands out, so that few steps are enough to arrive at it."""
    matrix = case.inputs["weight"].flatten(1)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    values[1:] *= 0.5
    case.inputs["weight"] = (left * values @ right).view_as(case.inputs["weight"])
    return case


def _cases(seed):
    return [
        _case("a single step", seed, steps=1),
        _case("a few steps", seed + 1, steps=3),
        _apart(_case("so many steps that it has arrived", seed + 2, steps=60)),
        _case("a 1×1 convolution", seed + 3, k=1),
        _case("one channel in and one out", seed + 4, out=1, into=1, k=3),
        _case("more channels out than numbers in", seed + 5, out=9, into=2, k=1),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("as many channels out as numbers in", seed + 6, out=4, into=4, k=1),
        _case("small weights", seed + 7, scale=0.01),
        _case("large weights", seed + 8, scale=300.0, steps=12),
        _case("float64 inputs", seed + 9, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 10, gradients=("weight",)),
    ]


def _iterate(matrix, u, steps):
    for _ in range(steps):
        v = F.normalize(matrix.mT @ u, dim=0)
        u = F.normalize(matrix @ v, dim=0)
    return u, v


def _version(unfold=lambda w: w.flatten(1), iterate=_iterate, norm=lambda u, m, v: u @ m @ v,
             divide=lambda w, s: w / s, shown=lambda s: s):  # fmt: skip
    """The solution with one part exchanged."""

    def version(weight, u, steps):
        matrix = unfold(weight)
        with torch.no_grad():
            u, v = iterate(matrix, u, steps)
        sigma = norm(u, matrix, v)
        return divide(weight, sigma), shown(sigma)

    return version


def _through(weight, u, steps):
    matrix = weight.flatten(1)
    u, v = _iterate(matrix, u, steps)
    sigma = u @ matrix @ v
    return weight / sigma, sigma


def _constant(weight, u, steps):
    with torch.no_grad():
        sigma = spectral_norm(weight, u, steps)[1]
    return weight / sigma, sigma


def _exact(weight, u, steps):
    sigma = torch.linalg.matrix_norm(weight.flatten(1), 2)
    return weight / sigma, sigma


def _raw(matrix, u, steps):
    for _ in range(steps):
        v = matrix.mT @ u
        u = matrix @ v
    return u, v


def _v_free(matrix, u, steps):
    for _ in range(steps):
        v = matrix.mT @ u
        u = F.normalize(matrix @ v, dim=0)
    return u, v


def _once(matrix, u, steps):
    return _iterate(matrix, u, 1)


def _restarted(matrix, u, steps):
    """u is never replaced by what was found."""
    v = F.normalize(matrix.mT @ u, dim=0)
    return u, v


EXERCISE = Exercise(
    id="sagan.spectral-norm",
    title="The largest singular value, by power iteration",
    points=2,
    task=r"""
Spectral normalisation divides a layer's weights by their largest singular value $\sigma$, so that the layer stretches
no input by more than one. Taking a singular value decomposition in every step would be slow. Power iteration keeps a
vector $u$ and improves it: with $W$ as a matrix of one row for each channel that comes *out*,

$$v \leftarrow \frac{W^\top u}{\lVert W^\top u \rVert}, \qquad u \leftarrow \frac{W v}{\lVert W v \rVert}, \qquad
\text{then, after all steps,} \quad \sigma = u^\top W v$$

For the gradient $u$ and $v$ are constants: only the last $W$ is differentiated. With many steps $\sigma$ is
`torch.linalg.matrix_norm(W, 2)`; you are asked for exactly as many as are given.

| argument | |
|---|---|
| `weight` | (O, I, k, k), as a `Conv2d` has it |
| `u` | (O,): where to start |
| `steps` | how often to repeat both lines, at least 1 |
| returns | `weight` divided by $\sigma$, in its own shape, and $\sigma$, a scalar |
""",
    stub="""
def spectral_norm(weight, u, steps):
    ...  # your code: weight / sigma (O, I, k, k), sigma
""",
    hints=(
        "What matrix does a convolution's weight make? It has O rows. How many columns are left?",
        "The order in a round matters: $v$ from $u$, then $u$ from the *new* $v$. Both have length one after it. The "
        "rounds belong under `torch.no_grad()`; what comes after them does not.",
        "`weight.flatten(1)` is the matrix. A round is two products, each followed by `F.normalize(…, dim=0)`. Then "
        "one number from $u$, the matrix and $v$, and a division.",
    ),
    solution=spectral_norm,
    spellings=(_by_hand, _by_einsum),
    axes={"weight": "O I k k", "u": "O"},
    returns=(Output("normalised", "O I k k"), Output("sigma", "")),
    cases=_cases,
    wrong=(
        Misconception(
            "the length of all weights instead of the largest singular value",
            "Your $\\sigma$ is the Frobenius norm, the root of the sum of all squares. It is at least as large as the "
            "largest singular value, up to $\\sqrt{O}$ times: dividing by it makes the layer smaller than it need be.",
            (lambda weight, u, steps: (weight / weight.norm(), weight.norm()),),
        ),
        Misconception(
            "exact, and not what was asked for",
            "Your $\\sigma$ is the exact one, whatever `steps` is: from a decomposition, or by iterating on. It is "
            "right in the limit, and dear: a layer of a real network would be decomposed at every step of training. "
            "Do as many rounds as you are given.",
            (_exact,),
        ),
        Misconception(
            "one round, whatever is asked for",
            "With `steps = 1` you are right. With more you still do one round, or begin each round at the `u` that you "
            "were given. Each round must go on from where the last one came to.",
            (_version(iterate=_once),),
        ),
        Misconception(
            "u is not improved",
            "Your $u$ is the one that you were given: $v$ is computed, and the second half of the round is missing. "
            "Then $\\sigma = u^\\top W v$ is the length of $W^\\top u$, for a $u$ that nobody has improved.",
            (_version(iterate=_restarted),),
        ),
        Misconception(
            "the vectors are not normalised",
            "One of $u$ and $v$, or both, keep the length that the product gave them. Each product multiplies the "
            "length by about $\\sigma$, so your result grows (or shrinks) with every round, and $u^\\top W v$ is the "
            "singular value only for vectors of length one.",
            (_version(iterate=_raw), _version(iterate=_v_free)),
        ),
        Misconception(
            "one half-round too many",
            "Your $v$ belongs to the *next* round: you improve $v$ once more after $u$. That is closer to the exact "
            "value, and one product more than asked for; count the rounds again.",
            (_version(norm=lambda u, m, v: (m.mT @ u).norm()),),
        ),
        Misconception(
            "one round too many",
            "You do one round more than asked for: `range(steps + 1)`, or one round before the loop.",
            (_version(iterate=lambda m, u, n: _iterate(m, u, n + 1)),),
        ),
        Misconception(
            "the singular value is squared",
            "Your $\\sigma$ is the square of the one of $W$: it is that of $W^\\top W$, or $u$ has kept the length "
            "$\\lVert W v \\rVert$, which is $\\sigma$ already. For a layer that stretches by 3 you divide by 9.",
            (_version(norm=lambda u, m, v: (u @ m @ v) ** 2),),
        ),
        Misconception(
            "the weights are divided by something else",
            "$\\sigma$ is right, the weights are divided by something else: by its root, or not at all, or multiplied.",
            (
                _version(divide=lambda w, s: w / s.sqrt()),
                _version(divide=lambda w, s: w),
                _version(divide=lambda w, s: w * s),
                _version(divide=lambda w, s: w / s**2),
            ),
        ),
        Misconception(
            "the convolution is unfolded the wrong way",
            "Your matrix has one row for each channel that comes out, but numbers of different channels stand in it: a "
            "`view` or `reshape` to (I·k·k, O) only counts them off anew. The output channels are the first axis "
            "already; put the other three together.",
            (_version(unfold=lambda w: w.reshape(-1, w.shape[0]).mT),),
        ),
        Misconception(
            "the gradient runs through the iteration",
            "The values are right, the gradient is not: it runs through the rounds, too. $u$ and $v$ are constants "
            "of the step; only the $W$ in $u^\\top W v$ and the one that is divided are differentiated. Put the rounds "
            "under `torch.no_grad()`, or work on `weight.detach()` there.",
            (_through,),
        ),
        Misconception(
            "sigma is a constant in the gradient",
            "The values are right, the gradient is not: $\\sigma$ is cut off with $u$ and $v$. Then a layer would try "
            "to grow along its largest direction, and be divided again, for ever. $u$ and $v$ are constants, "
            "$\\sigma = u^\\top W v$ is not.",
            (_constant, lambda weight, u, steps: (weight / (s := spectral_norm(weight, u, steps)[1]).detach(), s)),
        ),
    ),
)
