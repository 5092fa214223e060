"""‖V W^(t-s) U‖: the sequential Jacobian of a linear RNN in closed form."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def linear_rnn_jacobian(W, U, V, T):
    block, norms = U, []
    for _ in range(T):  # U, W U, W W U, ...
        norms.append(torch.linalg.matrix_norm(V @ block))
        block = W @ block
    norms = torch.stack(norms)  # (T,), by distance
    t = torch.arange(T)
    distance = t[:, None] - t  # (T, T)
    return torch.where(distance >= 0, norms[distance.clamp(min=0)], 0.0)


def _by_powers(W, U, V, T):
    zero = W.new_zeros(())
    norm = [(V @ torch.linalg.matrix_power(W, n) @ U).square().sum().sqrt() for n in range(T)]
    return torch.stack([torch.stack([norm[t - s] if s <= t else zero for s in range(T)]) for t in range(T)])


def _by_backward(W, U, V, T):
    """By autograd, on the network itself: the derivative does not depend on the input."""
    x = torch.zeros(T, U.shape[1], dtype=W.dtype, requires_grad=True)
    h, rows = torch.zeros(len(W), dtype=W.dtype), []
    for t in range(T):
        h = W @ h + U @ x[t]
        grads = [torch.autograd.grad(y, x, create_graph=True)[0] for y in V @ h]
        total = torch.stack(grads).square().sum((0, 2))
        rows.append(torch.where(torch.arange(T) <= t, total.clamp(min=1e-30), 1.0).sqrt() * (torch.arange(T) <= t))
    return torch.stack(rows)


def _placed(norm, T, causal=True):
    """norm(n) for the distance n, put where it belongs."""
    zero = norm(0) * 0
    rows = [[norm(abs(t - s)) if s <= t or not causal else zero for s in range(T)] for t in range(T)]
    return torch.stack([torch.stack(row) for row in rows])


def _power(W, n):
    return torch.linalg.matrix_power(W, n)


def _frobenius(matrix):
    return torch.linalg.matrix_norm(matrix)


def _case(kind, seed, H=4, D=3, K=2, T=5, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    shapes = {"W": (H, H), "U": (H, D), "V": (K, H)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["W"] *= 0.5  # powers that neither vanish nor explode
    return Case(kind, inputs | {"T": T}, gradients)


def _cases(seed):
    return [
        _case("a random network", seed),
        _case("sizes that are all equal", seed + 1, D=4, K=4, T=4),
        _case("one step", seed + 2, T=1),
        _case("a state of one number", seed + 3, H=1),
        _case("one input and one output", seed + 4, D=1, K=1),
        _case("float64 inputs", seed + 5, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 6, gradients=("W", "U", "V")),
    ]


EXERCISE = Exercise(
    id="sequential_jacobian.linear-rnn",
    title="The Jacobian of a linear RNN",
    points=2,
    task=r"""
A recurrent network without any non-linearity, and without biases:

$$h_t = W h_{t-1} + U x_t, \qquad y_t = V h_t, \qquad h_{-1} = 0 .$$

Work out $\partial y_t / \partial x_s$ with pencil and paper, then return its Frobenius norm for all pairs of
$t, s = 0 \dots T-1$:

| argument | shape |
|---|---|
| `W`, `U`, `V` | (H, H), (H, D), (K, H) |
| `T` | number of steps |
| returns `J` | (T, T): row $t$, column $s$ |

No autograd is needed: the derivative is the same for every input.
""",
    stub="""
def linear_rnn_jacobian(W, U, V, T):
    ...  # your code: J (T, T)
""",
    hints=(
        "Unroll three steps by hand: $h_2 = W(W U x_0 + U x_1) + U x_2$. What stands before $x_0$, $x_1$, $x_2$?",
        "$\\partial y_t / \\partial x_s = V W^{t-s} U$ for $s \\le t$. The future, $s > t$, has no influence.",
        "Only the distance $t-s$ matters: compute T norms, then put them where they belong. "
        "`torch.linalg.matrix_power(W, n)` is $W^n$, `torch.linalg.matrix_norm` is Frobenius unless told otherwise.",
    ),
    solution=linear_rnn_jacobian,
    spellings=(_by_powers, _by_backward),
    axes={"W": "H H", "U": "H D", "V": "K H"},
    returns=(Output("J", "T T"),),
    cases=_cases,
    wrong=(
        Misconception(
            "one power of W too many",
            "Your distance starts at one: $x_t$ enters $h_t$ through $U$ alone, so the diagonal, $s = t$, is "
            "$\\lVert V U \\rVert$ without any $W$. One factor $W$ for each step *between* input and output.",
            (
                lambda W, U, V, T: _placed(lambda n: _frobenius(V @ _power(W, n + 1) @ U), T),
                lambda W, U, V, T: _placed(lambda n: _frobenius(V @ _power(W, max(n - 1, 0)) @ U), T),
            ),
        ),
        Misconception(
            "every entry of W is raised to the power",
            "`W ** n` raises each entry by itself. The state passes through the whole *matrix* n times: "
            "`torch.linalg.matrix_power(W, n)`, or one more `W @` at every step.",
            (lambda W, U, V, T: _placed(lambda n: _frobenius(V @ W**n @ U), T),),
        ),
        Misconception(
            "the norm of the product is taken as a product of norms",
            "$\\lVert V \\rVert \\lVert W \\rVert^n \\lVert U \\rVert$ (or with the largest eigenvalue or singular "
            "value of $W$) only bounds the true norm, or follows it at great distances. Directions matter: what $U$ "
            "writes may be what $W$ forgets or $V$ does not read. Multiply the matrices first, then take the norm.",
            (
                lambda W, U, V, T: _placed(lambda n: _frobenius(V) * _frobenius(W) ** n * _frobenius(U), T),
                lambda W, U, V, T: _placed(
                    lambda n: _frobenius(V) * torch.linalg.matrix_norm(W, 2) ** n * _frobenius(U), T
                ),
                lambda W, U, V, T: _placed(lambda n: _frobenius(V @ U) * torch.linalg.matrix_norm(W, 2) ** n, T),
                lambda W, U, V, T: _placed(lambda n: _frobenius(V @ U) * torch.linalg.eigvals(W).abs().max() ** n, T),
            ),
        ),
        Misconception(
            "the future has influence",
            "Your map is symmetric: it uses $|t-s|$. This network reads from left to right, so an input that comes "
            "after the output cannot have changed it. Above the diagonal everything is exactly zero.",
            (lambda W, U, V, T: _placed(lambda n: _frobenius(V @ _power(W, n) @ U), T, causal=False),),
        ),
        Misconception(
            "a negative power of W",
            "Above the diagonal $t-s$ is negative, and a negative power is a power of the *inverse*: it undoes steps "
            "that were never taken. The formula holds for $s \\le t$ only; an input that comes later has no influence "
            "at all, so the entry is 0.",
            (
                lambda W, U, V, T: torch.stack(
                    [torch.stack([_frobenius(V @ _power(W, t - s) @ U) for s in range(T)]) for t in range(T)]
                ),
            ),
        ),
        Misconception(
            "rows and columns are exchanged",
            "Your map is the transpose of the right one: row $t$ is the *output*, column $s$ the *input*. A causal "
            "network fills the lower triangle.",
            (lambda W, U, V, T: linear_rnn_jacobian(W, U, V, T).T,),
        ),
        Misconception(
            "the spectral norm instead of Frobenius",
            "You take the largest singular value of each block: by how much the *worst* direction is stretched. "
            "The sequential Jacobian here sums over all output and input features: the root of the sum of squares.",
            (lambda W, U, V, T: _placed(lambda n: torch.linalg.matrix_norm(V @ _power(W, n) @ U, 2), T),),
        ),
        Misconception(
            "the sum of squares without the root",
            "Your entries are the squares of the right ones. A norm has the unit of the derivative itself: take the "
            "square root after summing.",
            (lambda W, U, V, T: linear_rnn_jacobian(W, U, V, T) ** 2,),
        ),
        Misconception(
            "W is used transposed",
            "Your powers are those of $W^\\top$. In $h_t = W h_{t-1} + U x_t$ vectors are columns, and `W @` stands "
            "on the left; the transpose belongs to the *rows* of a batch, `h @ W.T`. The shapes fit either way, "
            "since $W$ is square.",
            (lambda W, U, V, T: _placed(lambda n: _frobenius(V @ _power(W.T, n) @ U), T),),
        ),
    ),
)
