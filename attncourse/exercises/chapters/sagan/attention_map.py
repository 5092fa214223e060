"""SAGAN's block on an image: every position reads from all positions, and a gate that starts at 0 adds it."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def image_attention(x, f, g, h, gamma):
    flat = x.flatten(2)  # (B, C, N), N = H·W
    query, keys, values = g @ flat, f @ flat, h @ flat  # (B, D, N), (B, D, N), (B, C, N)
    weights = (query.mT @ keys).softmax(-1)  # (B, N, N): row j, over i
    context = values @ weights.mT  # (B, C, N)
    return gamma * context.view_as(x) + x, weights


def _by_loops(x, f, g, h, gamma):
    B, C, H, W = x.shape
    images, maps = [], []
    for b in range(B):
        at = [x[b, :, n // W, n % W] for n in range(H * W)]
        rows = [torch.stack([torch.dot(f @ at[i], g @ at[j]) for i in range(H * W)]).softmax(0) for j in range(H * W)]
        read = [sum(rows[j][i] * (h @ at[i]) for i in range(H * W)) for j in range(H * W)]
        images.append(torch.stack([at[j] + gamma * read[j] for j in range(H * W)], 1).view(C, H, W))
        maps.append(torch.stack(rows))
    return torch.stack(images), torch.stack(maps)


def _by_einsum(x, f, g, h, gamma):
    flat = x.reshape(x.shape[0], x.shape[1], -1)
    scores = torch.einsum("bcj,dc,de,bei->bji", flat, g, f, flat)
    weights = torch.softmax(scores, dim=2)
    context = torch.einsum("bji,oc,bci->boj", weights, h, flat)
    return x + gamma * context.reshape(x.shape), weights


def _by_convolutions(x, f, g, h, gamma):
    keys, query, values = (torch.conv2d(x, w[:, :, None, None]).flatten(2) for w in (f, g, h))
    scores = keys.transpose(1, 2) @ query  # (B, N, N): s_ij, i first as the paper writes it
    beta = scores.softmax(1).transpose(1, 2)
    return x + gamma * (values @ beta.transpose(1, 2)).reshape(x.shape), beta


def _case(kind, seed, B=2, C=4, D=2, H=3, W=2, gamma=0.7, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        drawn = torch.randn(*shape, generator=rng, dtype=dtype)
        return drawn if scale == 1 else (2 * drawn).round() / 2  # halves: large scores are exact in any order of sums

    inputs = {"x": scale * normal(B, C, H, W), "f": normal(D, C), "g": normal(D, C), "h": normal(C, C)}
    return Case(kind, inputs | {"gamma": torch.tensor(gamma, dtype=dtype)}, gradients)


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("a gate that is still 0", seed + 1, gamma=0.0),
        _case("a batch of one", seed + 2, B=1),
        _case("an image of one pixel", seed + 3, H=1, W=1),
        _case("a wide image", seed + 4, H=2, W=5),
        _case("a negative gate", seed + 5, gamma=-1.5),
        _case("large scores", seed + 6, scale=6.0),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("as many channels as positions", seed + 7, C=4, D=4, H=2, W=2, B=4),
        _case("float64 inputs", seed + 8, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 9, gradients=("x", "f", "g", "h", "gamma")),
        _case("a gate of 0, with the gradients", seed + 10, gamma=0.0, gradients=("x", "f", "gamma")),
    ]


def _scores(x, f, g):
    flat = x.flatten(2)
    return (g @ flat).mT @ (f @ flat)  # (B, N, N): row j


def _rows(scores):
    return scores.softmax(-1)


def _join(x, context, gamma):
    return gamma * context + x


def _version(scores=_scores, soften=_rows, read=lambda values, weights: values @ weights.mT, join=_join, shown=None,
             values=lambda x, h: h @ x.flatten(2), back=lambda c, x: c.view_as(x)):  # fmt: skip
    """The solution with one part exchanged."""

    def version(x, f, g, h, gamma):
        weights = soften(scores(x, f, g))
        out = join(x, back(read(values(x, h), weights), x), gamma)
        return out, (shown(weights) if shown else weights)

    return version


def _rowwise(x):
    """(B, N, C), by a view that only counts numbers."""
    return x.reshape(x.shape[0], -1, x.shape[1])


def _viewed(x, f, g, h, gamma):
    flat = _rowwise(x)
    weights = (flat @ g.mT @ (flat @ f.mT).mT).softmax(-1)
    return gamma * (weights @ (flat @ h.mT)).reshape(x.shape) + x, weights


def _columns(scores):
    return scores.softmax(-2)


EXERCISE = Exercise(
    id="sagan.attention-map",
    title="The block, with its map",
    points=3,
    task=r"""
An image of features $x$ has $N = H \cdot W$ positions, counted row by row; $x_i$ is the vector of channels at one of
them. A 1×1 convolution is a matrix that is applied at every position. Write SAGAN's block with the three matrices
$f$ (keys), $g$ (query) and $h$ (values):

$$s_{ij} = f(x_i)^\top g(x_j), \qquad \beta_{j,i} = \frac{\exp(s_{ij})}{\sum_{i'} \exp(s_{i'j})}, \qquad
y_j = \gamma \sum_i \beta_{j,i}\, h(x_i) + x_j$$

| argument | |
|---|---|
| `x` | (B, C, H, W) |
| `f`, `g` | (D, C) |
| `h` | (C, C) |
| `gamma` | a number (a tensor without axes) |
| returns `y` | (B, C, H, W) |
| and `weights` | (B, N, N): row $j$ holds $\beta_{j,\cdot}$, what position $j$ reads from each $i$ |
""",
    stub="""
def image_attention(x, f, g, h, gamma):
    ...  # your code: y (B, C, H, W), weights (B, N, N)
""",
    hints=(
        "Begin with the shapes. What is `x.flatten(2)`, and what does `f @` do to it? Which product of two such "
        "results has an entry for every pair of positions?",
        "Two questions decide it. Along which axis of the map does each row sum to one, if row $j$ is the position "
        "that *reads*? And when the values are multiplied by the map, over which of its two axes does the sum go?",
        "With the query first, `query.mT @ keys` is (B, N, N) with $j$ before $i$: the softmax is over the last axis. "
        "The values are (B, C, N); the sum over $i$ meets the map's last axis, so the map has to be turned. Then the "
        "gate, the image's shape, and the input added.",
    ),
    solution=image_attention,
    spellings=(_by_loops, _by_einsum, _by_convolutions),
    axes={"x": "B C H W", "f": "D C", "g": "D C", "h": "C C", "gamma": ""},
    returns=(Output("y", "B C H W"), Output("weights", "B N N", distribution=True)),
    cases=_cases,
    wrong=(
        Misconception(
            "the softmax goes over the wrong axis",
            "The columns of your map sum to one, not its rows. Each position *sends* a total of one and receives "
            "whatever comes: a position that nobody matches gets nearly nothing, a popular one drowns. It is the bug "
            "that training hides: the block still mixes positions, the loss still falls, and several public SAGANs "
            "have it. Sum a row of your map: row $j$ is what position $j$ reads, and that is to be one.",
            (
                _version(soften=_columns),
                _version(soften=_columns, shown=lambda w: w.mT),
                _version(soften=_columns, read=lambda values, w: values @ w),
            ),
        ),
        Misconception(
            "the softmax goes over something else",
            "Your weights are normalised over the batch, or over all pairs of positions at once. Each of the $N$ "
            "readers has a distribution of its own over the $N$ positions: one axis, and not that of the batch.",
            (
                _version(soften=lambda s: s.softmax(0)),
                _version(soften=lambda s: s.flatten(1).softmax(-1).view_as(s)),
            ),
        ),
        Misconception(
            "the map is right and is applied turned round",
            "Your `weights` are right, the image is not: you multiply the values by the map as it stands, which sums "
            "over the *readers*: $\\sum_j \\beta_{j,i} h(x_j)$. The values are (B, C, N), and the axis that is summed "
            "over must be the one that sums to one. It runs without complaint, because the map is square.",
            (_version(read=lambda values, weights: values @ weights),),
        ),
        Misconception(
            "the map is returned turned round",
            "The image is right. The map that you return is transposed: its columns are the readers. Whoever looks at "
            "row $j$ to see where position $j$ looked would see who looked at $j$.",
            (_version(shown=lambda weights: weights.mT),),
        ),
        Misconception(
            "the gate is missing",
            "You add all of what was read: $\\gamma$ makes no difference. It starts at 0 so that the network is first "
            "what it would be without the block, and takes up what it reads as far as that helps.",
            (_version(join=lambda x, context, gamma: context + x),),
        ),
        Misconception(
            "the input is not added",
            "You return $\\gamma\\, o$ alone. With $\\gamma = 0$ that is an image of zeros: what comes behind it would "
            "see nothing on the first step, and nothing before it would get a gradient.",
            (
                _version(join=lambda x, context, gamma: gamma * context),
                _version(join=lambda x, context, gamma: context),
            ),
        ),
        Misconception(
            "the gate is on the wrong part",
            "Your gate lies on the input, or on the sum of both. It belongs to what was *read*: $\\gamma o + x$. With "
            "$\\gamma = 0$ the block must hand its input on as it is.",
            (
                _version(join=lambda x, context, gamma: context + gamma * x),
                _version(join=lambda x, context, gamma: gamma * (context + x)),
            ),
        ),
        Misconception(
            "the gate mixes",
            "You take $\\gamma o + (1 - \\gamma) x$, as a GRU does. Here $\\gamma$ may be any number, even "
            "above 1 or below 0, and the input always stays whole.",
            (_version(join=lambda x, context, gamma: gamma * context + (1 - gamma) * x),),
        ),
        Misconception(
            "the roles of f and g are exchanged",
            "Everything is right but the roles of `f` and `g`. In a network that *learns* both this is no bug at all: "
            "$f$ and $g$ are two names, training fills in either, and your block can compute exactly what the paper's "
            "can. Here, though, both are given, and the task says which is which: $g$ at the reader $j$, $f$ at the "
            "position $i$ that is read. Exchange the two.",
            (_version(scores=lambda x, f, g: _scores(x, g, f)),),
        ),
        Misconception(
            "the gate is squashed",
            "You send $\\gamma$ through a sigmoid or a tanh. A sigmoid of 0 is a half: the block would not begin as "
            "nothing. $\\gamma$ is a plain number, and may become as large as training likes.",
            (
                _version(join=lambda x, context, gamma: gamma.sigmoid() * context + x),
                _version(join=lambda x, context, gamma: gamma.tanh() * context + x),
            ),
        ),
        Misconception(
            "the scores are divided by a root",
            "You divide the scores by $\\sqrt{D}$, as chapter 5 and the Transformer do. A good habit, and another "
            "formula: SAGAN's scores are plain dot products.",
            (
                _version(scores=lambda x, f, g: _scores(x, f, g) / f.shape[0] ** 0.5),
                _version(scores=lambda x, f, g: _scores(x, f, g) / x.shape[1] ** 0.5),
            ),
        ),
        Misconception(
            "no softmax",
            "Your map holds the scores themselves. They do not sum to one, and with many positions the sum grows with "
            "the size of the image.",
            (
                _version(soften=lambda s: s),
                _version(soften=lambda s: s / s.shape[-1]),
            ),
        ),
        Misconception(
            "a large score gives NaN",
            "With large scores `exp` leaves what float32 can hold: ∞/∞ is NaN. `torch.softmax` subtracts each row's "
            "largest score first, which changes nothing else.",
            (_version(soften=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),),
        ),
        Misconception(
            "the values are the input itself",
            "You read $x_i$ where $h(x_i)$ is asked for: the third matrix is not used.",
            (_version(values=lambda x, h: x.flatten(2)),),
        ),
        Misconception(
            "the image is cut up in the wrong order",
            "You make (B, N, C) of (B, C, H, W) by `view` or `reshape`. Those keep the numbers in their order and only "
            "count them off anew, so a row of yours holds *neighbouring pixels of one channel*. Flatten the two last "
            "axes, then exchange axes by `.mT`, or keep the channels first.",
            (_viewed,),
        ),
        Misconception(
            "what was read goes back in the wrong order",
            "The map is right. What was read is (B, N, C) in your code, and `view` or `reshape` to (B, C, H, W) deals "
            "its numbers out anew: channels become pixels. Exchange the axes first, `.mT`, then `reshape`.",
            (_version(back=lambda c, x: c.mT.reshape(x.shape)),),
        ),
    ),
)
