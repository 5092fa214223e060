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
        "gru_cell", 420, 306, "A GRU cell: how much to keep, how much to renew",
        "The state travels along the top. Two gates, update z and reset r, are computed from the last state and the "
        "input. The candidate is computed from the input and the last state times r. The new state is z times the "
        "last state plus one minus z times the candidate.",
        shapes(nn.GRUCell),
    )  # fmt: skip
    for x in (110, 205):  # both gates read the last state and the input
        d.arrow((x - 10, 232), (x - 10, 211), step=1)
        d.arrow((x + 10, 250), (x + 10, 211), step=1)
    d.arrow((40, 64), (40, 232), (249, 232), tip=False, step=(1, 2))
    d.arrow((275, 232), (320, 232), (320, 211), step=2)
    d.arrow((40, 268), (40, 250), (340, 250), (340, 211), step=(1, 2))
    d.text(222, 267, "the input goes to all three", "note", "middle")
    # the top line
    d.arrow((74, 46), (137, 46), kind="time", carries="h", at=(80, 36), step=3)
    d.arrow((163, 46), (317, 46), kind="time", step=3)
    d.arrow((343, 46), (366, 46), kind="time", step=3)
    d.arrow((110, 170), (110, 110), (150, 110), (150, 60), name="z_t", step=3)
    d.arrow((150, 110), (214, 110), step=3)
    d.arrow((247, 110), (317, 110), step=3)
    d.arrow((330, 170), (330, 124), step=3)
    d.arrow((330, 97), (330, 60), step=3)
    d.arrow((243, 190), (262, 190), (262, 218), step=2)
    d.operation(150, 46, "×", step=3)
    d.operation(330, 46, "+", step=3)
    d.operation(230, 110, "1−", radius=16, step=3)
    d.operation(330, 110, "×", step=3)
    d.operation(262, 232, "×", step=2)
    d.text(168, 86, "keep", "note")
    d.text(338, 86, "renew", "note")
    d.layer(110, 190, 76, 42, "$z_t$  σ", sub="update", name="z_t", step=1)
    d.layer(205, 190, 76, 42, "$r_t$  σ", sub="reset", name="r_t", step=1)
    d.layer(330, 190, 92, 42, "$ĥ_t$  tanh", sub="candidate", name="candidate", step=2)
    d.box(40, 46, 66, 38, "$h_{t-1}$", "state", name="h", step=(1, 2, 3))
    d.box(392, 46, 50, 38, "$h_t$", "state", name="h", step=3)
    d.box(40, 286, 66, 36, "$x_t$", "input", name="x", step=(1, 2))
    d.text(80, 291, d.shape_of("x"), "shape")
    return d


def lstm_cell() -> Diagram:
    d = Diagram(
        "lstm_cell", 420, 352, "An LSTM cell: a memory beside the state",
        "The memory c travels along the top: it is multiplied by the forget gate, and the candidate times the input "
        "gate is added. The state h is the tanh of the new memory times the output gate. All three gates and the "
        "candidate are computed from the last state and the input.",
        shapes(nn.LSTMCell),
    )  # fmt: skip
    for x in (112, 186, 260, 334):
        d.arrow((x - 9, 262), (x - 9, 236), step=1)
        d.arrow((x + 9, 280), (x + 9, 236), step=1)
    d.arrow((73, 262), (325, 262), tip=False, step=1)
    d.arrow((73, 322), (84, 322), (84, 280), (343, 280), tip=False, step=1)
    # the memory
    d.arrow((73, 46), (99, 46), kind="time", step=2)
    d.arrow((125, 46), (210, 46), kind="time", carries="h", at=(142, 36), step=2)
    d.arrow((236, 46), (356, 46), kind="time", step=2)
    d.arrow((112, 194), (112, 60), step=2)
    d.arrow((186, 194), (186, 118), (209, 118), step=2)
    d.arrow((260, 194), (260, 118), (237, 118), step=2)
    d.arrow((223, 104), (223, 60), step=2)
    # the state
    d.arrow((382, 65), (382, 83), step=3)
    d.arrow((382, 117), (382, 147), step=3)
    d.arrow((334, 194), (334, 160), (368, 160), step=3)
    d.arrow((382, 174), (382, 240), kind="time", step=3)
    for x, y, sign, step in ((112, 46, "×", 2), (223, 46, "+", 2), (223, 118, "×", 2), (382, 160, "×", 3)):
        d.operation(x, y, sign, step=step)
    d.operation(382, 100, "tanh", radius=18, step=3)
    d.text(120, 92, "keep", "note")
    d.text(231, 92, "write", "note")
    d.text(376, 142, "show", "note", "end")
    d.layer(112, 215, 66, 42, "$f_t$  σ", sub="forget", name="f_t", step=1)
    d.layer(186, 215, 66, 42, "$i_t$  σ", sub="input", name="i_t", step=1)
    d.layer(260, 215, 74, 42, "$ĉ_t$ tanh", sub="candidate", name="candidate", step=1)
    d.layer(334, 215, 66, 42, "$o_t$  σ", sub="output", name="o_t", step=1)
    d.box(40, 46, 66, 38, "$c_{t-1}$", "state", name="c", step=2)
    d.box(386, 46, 58, 38, "$c_t$", "state", name="c", step=2)
    d.box(40, 262, 66, 38, "$h_{t-1}$", "state", name="h", step=1)
    d.box(386, 262, 58, 38, "$h_t$", "state", name="h", step=3)
    d.box(40, 322, 66, 38, "$x_t$", "input", name="x", step=1)
    d.text(96, 327, d.shape_of("x"), "shape")
    return d
