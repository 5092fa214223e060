"""The cells of recurrent networks: GRU and LSTM, every arrow of their equations."""

import torch
from torch import nn

from .kit import Diagram
from .shapes import all_in_letters

LETTERS = {2: "B", 5: "E", 7: "H"}


def shapes(cell: type[nn.RNNCellBase]) -> dict[str, str]:
    x, h = torch.zeros(2, 5), torch.zeros(2, 7)
    new = cell(5, 7)(x, (h, h) if cell is nn.LSTMCell else h)
    state = new[0] if isinstance(new, tuple) else new
    return all_in_letters({"x": x, "h": h, "new": state}, LETTERS)


def gru_cell() -> Diagram:
    d = Diagram(
        "gru_cell", 420, 316, "A GRU cell: how much to keep, how much to renew",
        "The state travels along the top. Two gates, update z and reset r, are computed from the last state and the "
        "input. The candidate is computed from the input and the last state times r. The new state is z times the "
        "last state plus one minus z times the candidate.",
        shapes(nn.GRUCell),
    )  # fmt: skip
    for x in (112, 206):  # both gates read the last state and the input
        d.arrow((x - 10, 236), (x - 10, 213), step=1)
        d.arrow((x + 10, 258), (x + 10, 213), step=1)
        d.fork(x - 10, 236, step=1)
        d.fork(x + 10, 258, step=1)
    d.arrow((40, 64), (40, 236), (252, 236), step=(1, 2))
    d.arrow((278, 236), (324, 236), (324, 213), step=2)
    d.arrow((40, 276), (40, 258), (348, 258), (348, 213), step=(1, 2))
    # the top line
    d.arrow((73, 46), (137, 46), kind="time", step=3)
    d.text(105, 34, d.shape_of("h"), "shape", "middle")
    d.arrow((163, 46), (323, 46), kind="time", step=3)
    d.arrow((349, 46), (368, 46), kind="time", step=3)
    d.arrow((112, 171), (112, 112), (219, 112), name="z_t", step=3)
    d.arrow((150, 112), (150, 60), name="z_t", step=3)
    d.fork(150, 112, step=3)
    d.arrow((252, 112), (322, 112), step=3)
    d.arrow((336, 171), (336, 126), step=3)
    d.arrow((336, 99), (336, 60), step=3)
    d.arrow((240, 192), (265, 192), (265, 222), name="r_t", step=2)
    d.operation(150, 46, "×", step=3)
    d.operation(336, 46, "+", step=3)
    d.operation(235, 112, "1−", radius=16, step=3)
    d.operation(336, 112, "×", step=3)
    d.operation(265, 236, "×", step=2)
    d.text(158, 86, "keep: times $z_t$", "note", step=3)
    d.text(328, 86, "renew", "note", "end", step=3)
    d.text(256, 104, "$1 - z_t$", "note", step=3)
    d.layer(112, 192, 78, 42, "σ  $z_t$", sub="update", name="z_t", step=1)
    d.layer(206, 192, 78, 42, "σ  $r_t$", sub="reset", name="r_t", step=1)
    d.layer(336, 192, 100, 42, "tanh  $ĥ_t$", sub="candidate", name="candidate", step=2)
    d.box(40, 46, 66, 38, "$h_{t-1}$", "state", name="h", step=(1, 2, 3))
    d.box(392, 46, 48, 38, "$h_t$", "state", name="h", step=3)
    d.box(40, 294, 66, 36, "$x_t$", "input", name="x", step=(1, 2))
    d.text(80, 299, d.shape_of("x"), "shape")
    d.text(148, 299, "the input goes to all three", "note")
    return d


def lstm_cell() -> Diagram:
    d = Diagram(
        "lstm_cell", 420, 352, "An LSTM cell: a memory beside the state",
        "The memory c travels along the top: it is multiplied by the forget gate, and the candidate times the input "
        "gate is added. The state h is the tanh of the new memory times the output gate. All three gates and the "
        "candidate are computed from the last state and the input.",
        shapes(nn.LSTMCell),
    )  # fmt: skip
    gates = {"f_t": (106, 64), "i_t": (176, 64), "candidate": (257, 88), "o_t": (338, 64)}
    for x, _ in gates.values():  # all four read the last state and the input
        d.arrow((x - 10, 264), (x - 10, 239), step=1)
        d.arrow((x + 10, 286), (x + 10, 239), step=1)
        if x < 338:
            d.fork(x - 10, 264, step=1)
            d.fork(x + 10, 286, step=1)
    d.arrow((73, 264), (328, 264), tip=False, step=1)
    d.arrow((73, 326), (84, 326), (84, 286), (348, 286), tip=False, step=1)
    # the memory
    d.arrow((73, 46), (93, 46), kind="time", step=2)
    d.arrow((119, 46), (203, 46), kind="time", step=2)
    d.text(161, 34, d.shape_of("h"), "shape", "middle")
    d.arrow((229, 46), (356, 46), kind="time", step=2)
    d.arrow((106, 196), (106, 60), step=2)
    d.arrow((176, 196), (176, 124), (202, 124), step=2)
    d.arrow((257, 196), (257, 124), (230, 124), step=2)
    d.arrow((216, 111), (216, 60), step=2)
    # the state
    d.arrow((386, 65), (386, 85), step=3)
    d.arrow((386, 125), (386, 151), step=3)
    d.arrow((338, 196), (338, 165), (372, 165), step=3)
    d.arrow((386, 178), (386, 296), kind="time", step=3)
    for x, y, sign, step in ((106, 46, "×", 2), (216, 46, "+", 2), (216, 124, "×", 2), (386, 165, "×", 3)):
        d.operation(x, y, sign, step=step)
    d.operation(386, 105, "tanh", radius=21, step=3)
    d.text(114, 92, "keep", "note", step=2)
    d.text(224, 92, "write", "note", step=2)
    d.text(376, 145, "show", "note", "end", step=3)
    for (name, (x, wide)), words, sub in zip(
        gates.items(), ("σ  $f_t$", "σ  $i_t$", "tanh  $ĉ_t$", "σ  $o_t$"), ("forget", "input", "candidate", "output"),
        strict=True,
    ):  # fmt: skip
        d.layer(x, 218, wide, 42, words, sub=sub, name=name, step=1)
    d.box(40, 46, 66, 38, "$c_{t-1}$", "state", name="c", step=2)
    d.box(386, 46, 58, 38, "$c_t$", "state", name="c", step=2)
    d.box(40, 264, 66, 38, "$h_{t-1}$", "state", name="h", step=1)
    d.box(386, 316, 58, 38, "$h_t$", "state", name="h", step=3)
    d.box(40, 326, 66, 38, "$x_t$", "input", name="x", step=1)
    d.text(96, 331, d.shape_of("x"), "shape")
    return d
