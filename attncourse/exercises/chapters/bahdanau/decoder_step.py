"""Look with the previous state, read, update, predict."""

import torch

from ....core.attention import attend
from ....core.masks import padding
from ....core.scores import dot
from ...engine.core import Case, Exercise, Fixture, Misconception, Output


def decoder_step(decoder, state, y, keys, values, mask):
    context, weights = attend(state[:, None], keys, values, decoder.score.match, mask)  # looks with s_{i-1}
    context = context[:, 0]  # (B, 2H)
    state = decoder.cell(torch.cat([y, context], -1), state)  # (B, H), s_i
    pairs = decoder.readout(torch.cat([state, y, context], -1))  # (B, 2H)
    logits = decoder.out(pairs.unflatten(-1, (-1, 2)).amax(-1))  # (B, V), the larger of each pair
    return logits, state, weights[:, 0]


def _step_by_hand(decoder, state, y, keys, values, mask):
    scores = decoder.score.match(state.unsqueeze(1), keys)
    weights = torch.softmax(scores.masked_fill(~mask, -1e30), dim=-1).squeeze(1)
    context = torch.einsum("bk,bkd->bd", weights, values)
    new = decoder.cell(torch.cat((y, context), dim=1), state)
    hidden = decoder.readout(torch.cat((new, y, context), dim=1))
    return decoder.out(torch.maximum(hidden[:, 0::2], hidden[:, 1::2])), new, weights


def _step_loop(decoder, state, y, keys, values, mask):
    steps = []
    for b in range(len(state)):
        real = mask[b, 0]
        scores = decoder.score.match(state[b : b + 1], keys[b])[0]
        weights = torch.zeros_like(scores)
        weights[real] = scores[real].softmax(0)
        context = sum(weights[j] * values[b, j] for j in range(len(real)))
        new = decoder.cell(torch.cat([y[b], context])[None], state[b][None])[0]
        hidden = decoder.readout(torch.cat([new, y[b], context])).view(-1, 2)
        steps.append((decoder.out(hidden.max(1).values), new, weights))
    return tuple(torch.stack(x) for x in zip(*steps, strict=True))


def _step_case(kind, seed, lengths=(6, 6, 6), size=6, V=9, E=4, H=5, dtype="float32", gradients=()):
    rng = torch.Generator().manual_seed(seed)
    B, real = len(lengths), getattr(torch, dtype)
    shapes = {"state": (B, H), "y": (B, E), "keys": (B, size, H), "values": (B, size, 2 * H)}
    # Larger than a trained model's: where the state and the context are, has to show in every output.
    inputs = {name: 2 * torch.randn(shape, generator=rng, dtype=real) for name, shape in shapes.items()}
    decoder = Fixture("attncourse.mechanisms.seq2seq.AttentiveDecoder", (V, E, H), seed, dtype)
    mask = padding(torch.tensor(lengths), size)
    return Case(kind, {"decoder": decoder, **inputs, "mask": mask}, gradients)


def _step_cases(seed):
    return [
        _step_case("sentences of equal length", seed),
        _step_case("padding", seed + 1, lengths=(6, 3, 1)),
        _step_case("a batch of one", seed + 2, lengths=(6,)),
        _step_case("a source of one symbol", seed + 3, lengths=(1, 1), size=1),
        _step_case("float64 inputs", seed + 4, lengths=(6, 4), dtype="float64"),
        _step_case("inputs whose gradient is asked", seed + 5, (6, 4), gradients=("state", "y", "keys", "values")),
    ]


def _maxout(hidden):
    return hidden.unflatten(-1, (-1, 2)).amax(-1)


def _predict(decoder, parts, maxout=_maxout):
    return decoder.out(maxout(decoder.readout(torch.cat(parts, -1))))


def _step(
    look=lambda d, query, keys, values, mask: attend(query, keys, values, d.score.match, mask),
    update=lambda d, y, context, state: d.cell(torch.cat([y, context], -1), state),
    predict=lambda d, old, new, y, context: _predict(d, [new, y, context]),
    give=lambda logits, old, new: (logits, new),
):
    """A step with one part exchanged: a wrong version differs from the solution in that part only."""

    def step(decoder, state, y, keys, values, mask):
        context, weights = look(decoder, state[:, None], keys, values, mask)
        new = update(decoder, y, context[:, 0], state)
        logits = predict(decoder, state, new, y, context[:, 0])
        return (*give(logits, state, new), weights[:, 0])

    return step


def _mask_late(d, query, keys, values, mask):
    weights = d.score.match(query, keys).softmax(-1) * mask
    return weights @ values, weights


def _look_again(decoder, state, y, keys, values, mask):
    """The state is updated first, and the look that counts is taken with the new one."""
    _, new, _ = decoder_step(decoder, state, y, keys, values, mask)
    context, weights = attend(new[:, None], keys, values, decoder.score.match, mask)
    return _predict(decoder, [new, y, context[:, 0]]), new, weights[:, 0]


def _look_late(decoder, state, y, keys, values, mask):
    """The cell is fed no context, then the new state looks."""
    new = decoder.cell(torch.cat([y, torch.zeros_like(values[:, 0])], -1), state)
    context, weights = attend(new[:, None], keys, values, decoder.score.match, mask)
    return _predict(decoder, [new, y, context[:, 0]]), new, weights[:, 0]


EXERCISE = Exercise(
    id="bahdanau.decoder-step",
    title="One step of the decoder",
    points=3,
    task=r"""
Write one output symbol of RNNsearch: look, read, update, predict.

$$a_i = \mathrm{softmax}_j\, \mathrm{score}(s_{i-1}, h_j)$$

$$c_i = \sum_j a_{ij} h_j$$

$$s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])$$

$$\mathrm{logits} = W_o\, \mathrm{maxout}(U [s_i; y_{i-1}; c_i])$$

| argument | what it is |
|---|---|
| `decoder` | its layers: `score.match(query, keys)`, `cell(input, state)`, `readout` ($U$), `out` ($W_o$) |
| `state` | $s_{i-1}$ (B, H) |
| `y` | the embedded previous symbol $y_{i-1}$ (B, E) |
| `keys` | $W_k h_j$ (B, Tk, H), projected already, once for the sentence |
| `values` | $h_j$ (B, Tk, 2H) |
| `mask` | (B, 1, Tk), bool; True = a real symbol |
| returns `logits, state, weights` | (B, V), $s_i$ (B, H), $a_i$ (B, Tk) |

Maxout keeps the larger of each two neighbours: `x.unflatten(-1, (-1, 2)).amax(-1)` halves the last axis.
You may use `attend` of this package, or write it out.
""",
    stub="""
def decoder_step(decoder, state, y, keys, values, mask):
    ...  # your code: logits (B, V), state (B, H), weights (B, Tk)
""",
    hints=(
        "Read the four equations in order and ask of each what it needs. The first needs only the state that you "
        "were handed; the context it leads to is used twice.",
        "`state` is one query: `state[:, None]` is (B, 1, H), so that `attend(query, keys, values, "
        "decoder.score.match, mask)` gives context (B, 1, 2H) and weights (B, 1, Tk). Take the axis of 1 away again.",
        "`decoder.cell(torch.cat([y, context], -1), state)` is $s_i$. The readout takes $[s_i; y_{i-1}; c_i]$ in "
        "this order, then maxout, then `decoder.out`.",
    ),
    solution=decoder_step,
    spellings=(_step_by_hand, _step_loop),
    axes={"state": "B H", "y": "B E", "keys": "B Tk H", "values": "B Tk 2H", "mask": "B 1 Tk"},
    returns=(Output("logits", "B V"), Output("state", "B H"), Output("weights", "B Tk", distribution=True)),
    cases=_step_cases,
    wrong=(
        Misconception(
            "the new state looks",
            "Your weights come from $s_i$, the state after the update. That is Luong's order. In Bahdanau's, the "
            "*previous* state $s_{i-1}$ looks: the context is needed to compute $s_i$, so it cannot wait for it.",
            (_look_again, _look_late),
        ),
        Misconception(
            "padding is attended",
            "Your weights do not depend on `mask`: some of them lie on padding, and the translation of a sentence "
            "depends on how long the others in its batch are.",
            (_step(look=lambda d, query, keys, values, mask: attend(query, keys, values, d.score.match)),),
        ),
        Misconception(
            "the mask is inverted",
            "Your weights lie on the padding and nowhere else; a sentence without padding gets none at all. True "
            "means a real symbol: what is to be masked away is `~mask`.",
            (_step(look=lambda d, query, keys, values, mask: attend(query, keys, values, d.score.match, ~mask)),),
        ),
        Misconception(
            "the mask is applied after the softmax",
            "Padding gets no weight, but what it held is lost: with padding, your weights sum to less than one and "
            "the context shrinks. Mask the scores, then normalise.",
            (_step(look=_mask_late),),
        ),
        Misconception(
            "another score is used",
            "Your weights are those of a (scaled) dot product of state and keys. It runs, since both have size H, "
            "but this decoder has learned an additive score: hand `decoder.score.match` to `attend`.",
            (
                _step(look=lambda d, query, keys, values, mask: attend(query, keys, values, dot, mask)),
                _step(look=lambda d, query, keys, values, mask: attend(query, keys, values, mask=mask)),
            ),
        ),
        Misconception(
            "the cell is not given the state",
            "Your new state does not depend on the old one: `decoder.cell(x)` without a second argument starts from "
            "zeros. The decoder would forget at each step what it has written.",
            (_step(update=lambda d, y, context, state: d.cell(torch.cat([y, context], -1))),),
        ),
        Misconception(
            "the context is fed to the cell before the symbol",
            "Your weights are right and your new state is not: the cell was given $[c_i; y_{i-1}]$. The sizes add up "
            "in either order, so nothing complains, but each weight of the cell has learned which entry it stands "
            "for. The order is part of the model: $[y_{i-1}; c_i]$.",
            (_step(update=lambda d, y, context, state: d.cell(torch.cat([context, y], -1), state)),),
        ),
        Misconception(
            "the readout gets its parts in another order",
            "State and weights are right, the logits are not: the readout was given its three parts in another order "
            "than $[s_i; y_{i-1}; c_i]$. Their sizes add up in any order, so nothing complains.",
            (
                _step(predict=lambda d, old, new, y, context: _predict(d, [new, context, y])),
                _step(predict=lambda d, old, new, y, context: _predict(d, [y, new, context])),
                _step(predict=lambda d, old, new, y, context: _predict(d, [y, context, new])),
                _step(predict=lambda d, old, new, y, context: _predict(d, [context, new, y])),
                _step(predict=lambda d, old, new, y, context: _predict(d, [context, y, new])),
            ),
        ),
        Misconception(
            "the readout is left out",
            "State and weights are right, the logits come from the state alone: `decoder.out` fits it only because "
            "maxout also leaves H units. The prediction sees the previous symbol and the context *directly*: "
            "readout, maxout, out.",
            (
                _step(predict=lambda d, old, new, y, context: d.out(new)),
                _step(predict=lambda d, old, new, y, context: d.out(new.tanh())),
            ),
        ),
        Misconception(
            "the readout sees the old state",
            "State and weights are right, the logits are not: the readout was given $s_{i-1}$. The prediction "
            "follows the update, so it sees $s_i$. (The paper's appendix writes $s_{i-1}$ in this place, its "
            "equation 4 $s_i$; this course follows equation 4.)",
            (_step(predict=lambda d, old, new, y, context: _predict(d, [old, y, context])),),
        ),
        Misconception(
            "the old state is returned",
            "Logits and weights are right, but the state that you return is the one you were handed. At the next "
            "step the decoder would look with it again and never learn that it has written a symbol.",
            (_step(give=lambda logits, old, new: (logits, old)),),
        ),
        Misconception(
            "a softmax is applied to the logits",
            "Your first output is (the logarithm of) a distribution; *logits* are the scores before the softmax. "
            "`cross_entropy` applies it itself: given probabilities it normalises twice, and the loss can no longer "
            "reach zero.",
            (
                _step(give=lambda logits, old, new: (logits.softmax(-1), new)),
                _step(give=lambda logits, old, new: (logits.log_softmax(-1), new)),
            ),
        ),
        Misconception(
            "maxout pairs the halves",
            "State and weights are right, the logits are not: your maxout compares unit $j$ with unit $j + H$, one "
            "half with the other. Here the pairs are neighbours, units $2j$ and $2j + 1$.",
            (
                _step(
                    predict=lambda d, old, new, y, context: _predict(
                        d, [new, y, context], lambda x: x.unflatten(-1, (2, -1)).amax(-2)
                    )
                ),
            ),
        ),
        Misconception(
            "maxout is left out",
            "State and weights are right, the logits are not: instead of the *larger* of each two neighbours your "
            "readout keeps one half of the units, or averages. The comparison is the only non-linearity between "
            "state and logits.",
            (
                _step(
                    predict=lambda d, old, new, y, context: _predict(d, [new, y, context], lambda x: x.chunk(2, -1)[0])
                ),
                _step(predict=lambda d, old, new, y, context: _predict(d, [new, y, context], lambda x: x[..., ::2])),
                _step(
                    predict=lambda d, old, new, y, context: _predict(
                        d, [new, y, context], lambda x: x.unflatten(-1, (-1, 2)).mean(-1)
                    )
                ),
            ),
        ),
    ),
)
