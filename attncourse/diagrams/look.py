"""The picture of the whole course: score, normalise, read."""

from collections.abc import Sequence

import torch

from ..core.attention import attend
from ..core.scores import dot
from .kit import Diagram, number
from .shapes import all_in_letters

LETTERS = {2: "B", 3: "Tq", 5: "Tk", 7: "D", 11: "Dv"}
QUERY = torch.tensor([[2.0, 1.0]])
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
VALUES = torch.tensor([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0], [5.0, 5.0]])


def shapes() -> dict[str, str]:
    query, keys, values = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 11)
    context, weights = attend(query, keys, values)
    named = {"query": query, "keys": keys, "values": values, "weights": weights, "context": context}
    return all_in_letters(named | {"scores": dot(query, keys)}, LETTERS)


def score_normalise_read() -> Diagram:
    """One query, four keys and values, with numbers that one can check by hand."""
    scores = dot(QUERY[None], KEYS[None])[0, 0].tolist()
    context, weights = (x[0, 0].tolist() for x in attend(QUERY[None], KEYS[None], VALUES[None], dot))
    d = Diagram(
        "score_normalise_read", 420, 396, "Score, normalise, read: one query looks at four keys",
        "The query, two numbers, is compared with each of four keys, which gives four scores. A softmax turns the "
        "scores into weights that sum to one. Each value is multiplied by the weight of its key, and their sum is "
        "the context.",
        shapes(),
    )  # fmt: skip
    cell, top, row = (36, 30), 150, 42
    keys, score, weight, value = 14, 146, 228, 334  # the left edges of the columns
    asked, mixed = 116, 302  # where the query meets the keys, and the weights the values
    for x, words in ((50, "keys"), (168, "scores"), (251, "weights"), (370, "values")):
        d.text(x, top - 27, words, "strong", "middle", name=words)
    for x, words in ((50, "keys"), (209, "weights"), (370, "values")):
        d.text(x, top - 10, d.shape_of(words), "shape", "middle")
    # the query asks every key
    d.arrow((keys + 72, 55), (asked, 55), (asked, top + 3 * row + 5), kind="query", step=1)
    d.grid(keys, 40, 1, 2, cell, "query", labels=[[number(x) for x in QUERY[0].tolist()]], name="query", step=1)
    d.text(50, 14, "query", "strong", "middle", name="query")
    d.text(50, 31, d.shape_of("query"), "shape", "middle")
    d.number(1, asked, 90)
    d.text(134, 86, "score: multiply query and", "note", step=1)
    d.text(134, 103, "key entry by entry, add", "note", step=1)
    d.scale(252, 24, 128, len(scores), step=2)
    d.text(240, 17, "weight", "note", "end", step=2)
    for j in range(4):
        y = top + j * row
        d.grid(keys, y, 1, 2, cell, "keys", labels=[[number(x) for x in KEYS[j].tolist()]], name="keys", step=1)
        d.arrow((keys + 72, y + 15), (asked - 10, y + 15), kind="keys", step=1)
        d.operation(asked, y + 15, "·", radius=9, step=1)
        d.arrow((asked + 9, y + 15), (score - 1, y + 15), step=1)
        d.grid(score, y, 1, 1, (44, 30), "plain", labels=[[number(scores[j])]], name="scores", step=1)
        d.arrow((score + 44, y + 15), (weight - 1, y + 15), step=2)
        d.grid(
            weight, y, 1, 1, (46, 30), "weights", labels=[[f"{weights[j]:.2f}"]], weights=[[weights[j]]],
            name="weights", step=2,
        )  # fmt: skip
        so_far = sum(weights[: j + 1])  # the line grows with what it has collected
        d.arrow((mixed, y + 15), (mixed, y + row + 15), kind="context", width=1 + 6 * so_far, tip=False, step=3)
        d.arrow((weight + 46, y + 15), (mixed - 10, y + 15), step=3)
        d.arrow((value, y + 15), (mixed + 10, y + 15), kind="values", step=3)
        d.operation(mixed, y + 15, "×", radius=10, step=3)
        d.grid(value, y, 1, 2, cell, "values", labels=[[number(x) for x in VALUES[j].tolist()]], name="values", step=3)
    end = top + 4 * row + 24
    d.arrow((mixed, end - 34), (mixed, end), (value - 1, end), kind="context", width=7, step=3)
    d.grid(value, end - 15, 1, 2, cell, "context", labels=[[f"{x:.2f}" for x in context]], name="context", step=3)
    d.text(370, end + 32, "context", "strong", "middle", name="context")
    d.text(370, end + 49, d.shape_of("context"), "shape", "middle")
    d.number(2, 156, end + 2)
    d.text(174, end - 2, "normalise:", "note", step=2)
    d.text(174, end + 15, "softmax, so they", "note", step=2)
    d.text(174, end + 32, "sum to one", "note", step=2)
    d.number(3, mixed, end + 24)
    d.text(mixed, end + 49, "read", "note", "middle", step=3)
    d.text(14, end - 2, "one row per key:", "note")
    d.text(14, end + 15, "a key to be found", "note")
    d.text(14, end + 32, "by, a value to give", "note")
    return d


def columns_of_keys(
    d: Diagram, columns: Sequence[float], half: float, top: float, shares: Sequence[float],
    labels: tuple[Sequence[str], Sequence[str], Sequence[str]], steps: tuple[int, int, int], learned: bool = True,
) -> None:  # fmt: skip
    """One query looks at a key and value per column: score, weight, and the weight as a valve on the value.

    What passes the valves flows to a context, which the caller draws above `top`. The query's rail is at top + 108.
    labels: of the keys, scores and weights; steps: in which it scores, normalises and reads
    """
    score, normalise, read = steps
    wide = (1.2 if learned else 1.66) * half
    value = (0.5 if learned else 0.84) * half  # where the values rise, right of the scores
    for j, x in enumerate(columns):
        d.arrow((x - 0.8 * half, top + 108), (x - 0.8 * half, top + 91), kind="query", step=score)
        d.arrow((x - 0.25 * half, top + 136), (x - 0.25 * half, top + 91), kind="keys", step=score)
        if j < len(columns) - 1:
            d.fork(x - 0.8 * half, top + 108, "query", step=score)
        d.arrow((x + value, top + 136), (x + value, top + 29), kind="values", step=read)
        both = ("keys", "values")
        d.halves(x, top + 162, 2 * half, 50, labels[0][j], both, names=both, step=(score, read))
        if learned:
            d.layer(x - half + wide / 2, top + 73, wide, 34, labels[1][j], name="scores", step=score)
        else:
            place = {"name": "scores", "step": score, "slot": f"score-{j}"}
            d.grid(x - half, top + 56, 1, 1, (wide, 34), "plain", labels=[[labels[1][j]]], **place)
        d.arrow((x - half + wide / 2, top + 56), (x - half + wide / 2, top + 29), step=normalise)
        d.grid(
            x - half, top, 1, 1, (2 * half, 28), "weights", labels=[[labels[2][j]]], weights=[[shares[j]]],
            name="weights", step=(normalise, read), slot=f"weight-{j}",
        )  # fmt: skip


def flows(d: Diagram, columns: Sequence[float], half: float, top: float, to: tuple[float, float],
          shares: Sequence[float], step: int) -> None:  # fmt: skip
    """From the valves into the context; as wide as the weights."""
    for j, x in enumerate(columns):
        d.arrow((x + half / 2, top - 2), to, kind="context", bend=True, tip=False, width=0.5 + 9 * shares[j], step=step,
                slot=f"flow-{j}")  # fmt: skip
