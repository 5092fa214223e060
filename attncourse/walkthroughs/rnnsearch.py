"""One step of RNNsearch, with the numbers of `bahdanau-dates` while it writes one date."""

import torch

from .. import zoo
from ..core.symbols import BEGIN
from ..diagrams.seq2seq import rnnsearch
from ..tasks import dates
from . import Frame, Step, Story, vector

TEXT = "5 mar 2024"
CODE = """
e = [v @ tanh(W_q @ s + W_k @ h_j) for h_j in h]
a = softmax(e)
c = sum(a_j * h_j for a_j, h_j in zip(a, h))
s = gru(concat(y, c), s)
logits = W_o @ maxout(U @ concat(s, y, c))
"""
STEPS = (
    Step("score", "The decoder's state asks every annotation: how well do you fit what I am about to write? The score is "
         "one number per letter.", (0,), (0,)),
    Step("normalise", "A softmax turns the scores into weights. They are positive and sum to one, so what one letter "
         "gains the others lose.", (1,), (1,)),
    Step("read", "The context is the mean of the annotations by these weights: mostly the annotation that got most of "
         "the weight.", (2,), (2,)),
    Step("update", "The GRU takes the last symbol and the context, and makes the next state of the last one. That state "
         "will ask the next question.", (3,), (3,)),
    Step("write", "From the state, the last symbol and the context comes one number per symbol; the largest is written.",
         (4,), (4,)),
)  # fmt: skip
EQUATIONS = (
    r"e_{ij} = v^\top \tanh(W_q s_{i-1} + W_k h_j)",
    r"a_{ij} = \exp e_{ij} / \sum_k \exp e_{ik}",
    r"c_i = \sum_j a_{ij} h_j",
    r"s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])",
    r"p(y_i) = \mathrm{softmax}(W_o\, \mathrm{maxout}(U [s_i; y_{i-1}; c_i]))",
)


@torch.no_grad()
def story() -> Story:
    model, card = zoo.load("bahdanau-dates")
    source, lengths = dates.Vocabulary(card["config"]["alphabet"]).encode([TEXT])
    letters = [*(c if c != " " else "␣" for c in TEXT), "·"]
    carry, previous, frames = model.begin(source, lengths), torch.tensor([BEGIN]), []
    shown = {BEGIN: "begin", **{4 + i: c for i, c in enumerate(dates.TARGET.characters)}}
    for i in range(10):
        decoder, state = model.decoder, carry.state
        scores = decoder.score.match(state[:, None], carry.keys)[0, 0]  # (S,)
        context, weights = decoder.read(carry)
        logits, carry, _ = model.step(previous, carry)
        probabilities = logits[0].softmax(-1)
        best = int(logits[0].argmax())
        frames.append(_frame(i, letters, scores, weights[0], context[0], state[0], carry.state[0], probabilities,
                             shown[int(previous)], shown[best]))  # fmt: skip
        previous = torch.tensor([best])
    drawing = rnnsearch(letters, [1 / len(letters)] * len(letters))
    return Story("One step of RNNsearch, in five moves", drawing, STEPS, EQUATIONS, CODE, tuple(frames), "it writes")


def _frame(i, letters, scores, weights, context, state, after, probabilities, last: str, written: str) -> Frame:
    share = [f"{w:.2f}".lstrip("0") if w >= 0.005 else "·" for w in weights.tolist()]
    texts = {f"weight-{j}-0-0": text for j, text in enumerate(share)}
    texts |= {"last": last, "written": written}
    top = weights.argsort(descending=True)[:3].tolist()
    most = ", ".join(f"{letters[j]} {weights[j]:.2f}" for j in top)
    numbers = [
        [("$s_{i-1}$", vector(state.tolist())), ("largest $e_{ij}$", f"{letters[int(scores.argmax())]}  {scores.max():.2f}")],
        [("largest $a_{ij}$", most), ("their sum", f"{weights.sum():.2f}")],
        [("$c_i$", vector(context.tolist()))],
        [("$s_i$", vector(after.tolist()))],
        [("$p$(" + written + ")", f"{probabilities.max():.3f}")],
    ]
    return Frame(
        label=f"symbol {i + 1}: {written}",
        texts=texts,
        cells={f"weight-{j}-0-0": w for j, w in enumerate(weights.tolist())},
        flows={f"flow-{j}": round(0.5 + 9 * w, 2) for j, w in enumerate(weights.tolist())},
        numbers=numbers,
    )
