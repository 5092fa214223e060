"""local-p: a softmax over a window around a predicted place, times a Gaussian; not normalised again."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def local_p_weights(scores, place, lengths, D):
    s = torch.arange(scores.shape[-1], device=scores.device)  # (Tk,)
    S = lengths[:, None]  # (B, 1)
    p = S * torch.sigmoid(place)  # (B, Tq)
    distance = s - p[..., None]  # (B, Tq, Tk)
    inside = (distance.abs() <= D) & (s < S)[:, None]
    weights = scores.masked_fill(~inside, float("-inf")).softmax(-1)
    return weights * torch.exp(-(distance**2) / (2 * (D / 2) ** 2))


def _loop(scores, place, lengths, D):
    rows = []
    for b in range(scores.shape[0]):
        for t in range(scores.shape[1]):
            n = int(lengths[b])
            p = n / (1 + torch.exp(-place[b, t]))
            window = [s for s in range(n) if p - D <= s <= p + D]
            powers = torch.softmax(torch.stack([scores[b, t, s] for s in window]), 0)
            row = [scores.new_zeros(())] * scores.shape[2]
            for s, power in zip(window, powers, strict=True):
                row[s] = power * torch.exp(-2 * ((s - p) / D) ** 2)
            rows.append(torch.stack(row))
    return torch.stack(rows).view_as(scores)


def _by_sums(scores, place, lengths, D):
    s = torch.arange(scores.shape[-1])
    p = place.sigmoid() * lengths.unsqueeze(1)
    away = p.unsqueeze(-1) - s
    keep = ((away >= -D) & (away <= D) & (s < lengths.view(-1, 1, 1))).to(scores.dtype)
    top = torch.where(keep > 0, scores, torch.full_like(scores, -1e30)).amax(-1, keepdim=True)
    powers = torch.exp((scores - top).clamp(max=0)) * keep
    sigma = D / 2
    return powers / powers.sum(-1, keepdim=True) * torch.exp(-away.square() / (2 * sigma * sigma))


def _variant(spread=0.5, scale=True, padding=True, again=False, gaussian=True, whole=False, own=True, edge=True):
    """The solution with one idea changed at a time."""

    def weights(scores, place, lengths, D):
        s, S = torch.arange(scores.shape[-1]), lengths[:, None]
        p = torch.sigmoid(place) * ((S if own else scores.shape[-1]) if scale else 1)
        distance = s - p[..., None]
        window = distance.abs() <= D if edge else (distance.abs() <= D / 2)
        inside = (window & (s < S)[:, None]) if padding else window
        legal = torch.ones_like(inside) & (s < S)[:, None] if whole else inside
        a = scores.masked_fill(~legal, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~legal, 0)
        a = a * inside
        a = a * torch.exp(-(distance**2) / (2 * (spread * D) ** 2)) if gaussian else a
        return a / a.sum(-1, keepdim=True) if again else a

    return weights


def _gaussian_before(scores, place, lengths, D):
    s, S = torch.arange(scores.shape[-1]), lengths[:, None]
    distance = s - (S * torch.sigmoid(place))[..., None]
    inside = (distance.abs() <= D) & (s < S)[:, None]
    scores = scores * torch.exp(-2 * (distance / D) ** 2)
    return scores.masked_fill(~inside, float("-inf")).softmax(-1)


def _no_window(scores, place, lengths, D, padding=False):
    """A Gaussian over everything, as if it were window enough."""
    s, S = torch.arange(scores.shape[-1]), lengths[:, None]
    legal = (s < S)[:, None] | padding
    weights = scores.masked_fill(~legal, torch.finfo(scores.dtype).min).softmax(-1)
    return weights * torch.exp(-2 * ((s - (S * torch.sigmoid(place))[..., None]) / D) ** 2)


def _rounded(scores, place, lengths, D):
    s, S = torch.arange(scores.shape[-1]), lengths[:, None]
    distance = s - (S * torch.sigmoid(place)).round()[..., None]
    inside = (distance.abs() <= D) & (s < S)[:, None]
    weights = scores.masked_fill(~inside, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~inside, 0)
    return weights * torch.exp(-2 * (distance / D) ** 2)


def _case(kind, seed, B=3, Tq=4, Tk=12, D=2, lengths=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    inputs = {
        "scores": scale * torch.randn(B, Tq, Tk, generator=rng, dtype=dtype),
        "place": 1.5 * torch.randn(B, Tq, generator=rng, dtype=dtype),
        "lengths": torch.tensor(lengths) if lengths else torch.full((B,), Tk),
    }
    return Case(kind, inputs | {"D": D}, gradients)


def _cases(seed):
    return [
        _case("sentences of one length", seed),
        _case("sentences of different lengths", seed + 1, lengths=[12, 7, 5]),
        _case("a wide window", seed + 2, D=4, lengths=[12, 9, 6]),
        _case("a batch of one", seed + 3, B=1),
        _case("a single query", seed + 4, Tq=1, lengths=[12, 8, 4]),
        _case("a sentence of one word", seed + 5, B=2, lengths=[12, 1]),
        _case("large scores", seed + 6, scale=60.0, lengths=[12, 7, 5]),
        _case("float64 inputs", seed + 7, dtype=torch.float64, lengths=[12, 7, 5]),
        _case("a place whose gradient is asked", seed + 8, lengths=[12, 10, 6], gradients=("scores", "place")),
    ]


EXERCISE = Exercise(
    id="luong.local-p",
    title="The weights of local-p attention",
    points=3,
    task=r"""
Luong's local-p attention predicts a real-valued place $p_t$ in the source, takes the softmax over the window
around it only, and multiplies by a Gaussian:

$$p_t = S \cdot \mathrm{sigmoid}(\mathit{place}_t), \qquad \sigma = \frac D2$$

$$a_t(s) = \mathrm{softmax}_{|s - p_t| \le D}(\mathit{scores}_t)(s) \qquad
\cdot \exp\Big(-\frac{(s - p_t)^2}{2\sigma^2}\Big)$$

| argument | |
|---|---|
| `scores` | (B, Tq, Tk), as they come from any score function |
| `place` | (B, Tq), the number $v_p^\top \tanh(W_p h_t)$ before the sigmoid |
| `lengths` | (B,) int: $S$, each sentence's own number of words; positions count from 0, the rest is padding |
| `D` | the window's radius |
| returns `weights` | (B, Tq, Tk), zero outside the window and outside the sentence |
""",
    stub="""
def local_p_weights(scores, place, lengths, D):
    ...  # your code: weights (B, Tq, Tk)
""",
    hints=(
        "Begin with the distance of every position from every centre, `s - p[..., None]`, of shape (B, Tq, Tk). The "
        "window and the Gaussian are both functions of it.",
        "A position takes part if it is within D of the centre *and* belongs to its sentence. Both are decided "
        "before the softmax; what does a softmax need to see where something must get weight 0?",
        "`weights = scores.masked_fill(~inside, float('-inf')).softmax(-1)`, then one product with "
        "`torch.exp(-distance**2 / (2 * sigma**2))`. Nothing comes after that.",
    ),
    solution=local_p_weights,
    spellings=(_loop, _by_sums),
    axes={"scores": "B Tq Tk", "place": "B Tq", "lengths": "B"},
    returns=(Output("weights", "B Tq Tk"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the weights are normalised again",
            "Your rows sum to one. In the paper the Gaussian multiplies the weights *after* the softmax, and that is "
            "the end: a row sums to less than one, and to less the further the words that match lie from $p_t$. That "
            "lost weight is what tells the network that its guess was poor.",
            (_variant(again=True),),
        ),
        Misconception(
            "σ is D, not D/2",
            "Your Gaussian is twice as wide: at the edge of the window it is still 0.61 where the paper's is 0.14. "
            "The paper sets $\\sigma = D/2$, so that the window ends at two standard deviations.",
            (_variant(spread=1.0),),
        ),
        Misconception(
            "the place is a sigmoid without S",
            "Your centres lie between 0 and 1: every window sits on the first words, whatever the sentence. The "
            "sigmoid says *which fraction* of the sentence; times the sentence's length it becomes a position.",
            (_variant(scale=False),),
        ),
        Misconception(
            "S is the padded length",
            "Your centres are a fraction of `Tk`, the width of the padded batch. Then a short sentence looks "
            "elsewhere when it stands beside a long one. $S$ is each sentence's own length.",
            (_variant(own=False),),
        ),
        Misconception(
            "the window reaches outside the sentence",
            "In a short sentence you give weight to padding: being near $p_t$ is not enough, a position must also be "
            "`< lengths`. Padding that takes part in the softmax takes weight from the words.",
            (_variant(padding=False),),
        ),
        Misconception(
            "`lengths` is not used",
            "Nothing in your answer depends on `lengths`: the centre is a fraction of the padded width, and padding "
            "takes part in the softmax. So a short sentence looks elsewhere, and at nothing, when it stands beside a "
            "long one. Both $S$ and the last position are the sentence's own.",
            (_variant(own=False, padding=False),),
        ),
        Misconception(
            "the softmax runs over the whole sentence",
            "You take the softmax over all words; the window is cut out afterwards, or left to the Gaussian. Then "
            "words outside the window take their share, and what is left shrinks with the length of the sentence. "
            "The point of a window is that nothing outside it is ever scored.",
            (_variant(whole=True), _no_window, lambda **inputs: _no_window(**inputs, padding=True)),
        ),
        Misconception(
            "there is no Gaussian",
            "Your weights are a plain softmax over the window. They jump when a word enters or leaves it and are "
            "flat in between: the derivative with respect to $p_t$ is zero, and the place could never be learned. "
            "The Gaussian is what makes it differentiable.",
            (_variant(gaussian=False),),
        ),
        Misconception(
            "the Gaussian multiplies the scores",
            "You multiply before the softmax. A score may be negative, and then a factor below one *raises* it: the "
            "far word gains. The paper multiplies the weights, which are positive.",
            (_gaussian_before,),
        ),
        Misconception(
            "the centre is rounded",
            "Your Gaussian is centred on a whole position. Rounding has a derivative of zero, so that nothing would "
            "teach $W_p$ and $v_p$ where to look. Keep $p_t$ real; only the set of positions inside the window is "
            "discrete.",
            (_rounded,),
        ),
        Misconception(
            "the window is half as wide",
            "You keep only the words within $D/2$. $D$ is the radius: the window is $[p_t - D,\\, p_t + D]$. The "
            "half belongs to $\\sigma$.",
            (_variant(edge=False),),
        ),
    ),
)
