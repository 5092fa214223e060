"""A whole Jacobian from products with vectors: row by row, or column by column?"""

import torch

from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...fixtures import implicit_attention as nets


def jacobian(net, x):
    like = {"dtype": x.dtype, "device": x.device}
    if net.n_in < net.n_out:  # J v picks a column
        columns = [net.jvp(x, v) for v in torch.eye(net.n_in, **like)]
        return torch.stack(columns, 1), net.passes  # (n_out, n_in)
    rows = [net.vjp(x, u) for u in torch.eye(net.n_out, **like)]
    return torch.stack(rows), net.passes  # Jᵀ u picks a row


def _with_transpose(net, x):
    narrow = net.n_in <= net.n_out
    unit = torch.eye(min(net.n_in, net.n_out)).to(x)
    results = torch.stack([(net.jvp if narrow else net.vjp)(x, e) for e in unit])
    return results.T if narrow else results, len(unit)


def _filled_in(net, x):
    J = x.new_zeros(net.n_out, net.n_in)
    passes = 0
    for i in range(min(J.shape)):
        if net.n_out <= net.n_in:
            J[i] = net.vjp(x, torch.nn.functional.one_hot(torch.tensor(i), net.n_out).to(x.dtype))
        else:
            J[:, i] = net.jvp(x, torch.nn.functional.one_hot(torch.tensor(i), net.n_in).to(x.dtype))
        passes += 1
    return J, passes


def _case(kind, seed, n_in, n_out, dtype="float32", gradients=()):
    x = torch.randn(n_in, generator=torch.Generator().manual_seed(seed), dtype=getattr(torch, dtype))
    return Case(kind, {"net": Fixture(f"{nets.__name__}.Counted", (n_in, n_out), seed, dtype), "x": x}, gradients)


def _cases(seed):
    return [
        _case("more inputs than outputs, as a classifier of images has", seed, 12, 3),
        _case("more outputs than inputs, as a generator of images has", seed + 1, 3, 12),
        _case("as many inputs as outputs", seed + 2, 4, 4),
        _case("a single output, as a loss is", seed + 3, 7, 1),
        _case("a single input", seed + 4, 1, 6),
        _case("float64 inputs", seed + 5, 5, 2, "float64"),
        _case("an input that another layer has made", seed + 6, 6, 4, gradients=("x",)),
    ]


def _rows(net, x):
    return torch.stack([net.vjp(x, u) for u in torch.eye(net.n_out).to(x)])


def _columns(net, x):
    return torch.stack([net.jvp(x, v) for v in torch.eye(net.n_in).to(x)], 1)


def _always_rows(net, x):
    return _rows(net, x), net.passes


def _always_columns(net, x):
    return _columns(net, x), net.passes


def _wrong_way_round(net, x):
    return _columns(net, x) if net.n_in > net.n_out else _rows(net, x), net.passes


def _both(net, x):
    """Both ways, and then the shorter of them is kept."""
    rows, columns = _rows(net, x), _columns(net, x)
    return rows if net.n_in > net.n_out else columns, net.passes


def _columns_as_rows(net, x):
    if net.n_in < net.n_out:
        return torch.stack([net.jvp(x, v) for v in torch.eye(net.n_in).to(x)]), net.passes
    return _rows(net, x), net.passes


def _columns_as_rows_square(net, x):
    if net.n_in <= net.n_out:
        return torch.stack([net.jvp(x, v) for v in torch.eye(net.n_in).to(x)]), net.passes
    return _rows(net, x), net.passes


def _rows_as_columns(net, x):
    if net.n_in < net.n_out:
        return _columns(net, x), net.passes
    return _rows(net, x).T, net.passes


def _one_pass(net, x):
    if net.n_in < net.n_out:
        column = net.jvp(x, torch.ones_like(x))
        return column[:, None].expand(net.n_out, net.n_in), net.passes
    row = net.vjp(x, x.new_ones(net.n_out))
    return row.expand(net.n_out, net.n_in), net.passes


def _one_row(net, x):
    return net.vjp(x, x.new_ones(net.n_out)).expand(net.n_out, net.n_in), net.passes


EXERCISE = Exercise(
    id="implicit_attention.jacobian-passes",
    title="A Jacobian in as few passes as possible",
    points=2,
    task=r"""
`net` is a function of `n_in` numbers with `n_out` results. Its Jacobian $J$ cannot be asked for, only multiplied:

| call | gives | costs |
|---|---|---|
| `net.jvp(x, v)` | $J\,v$, (n_out,) | one pass: forward mode |
| `net.vjp(x, u)` | $J^\top u$, (n_in,) | one pass: reverse mode, what `backward()` does |
| `net.n_in`, `net.n_out` | the two sizes | nothing |
| `net.passes` | how many passes there were so far | nothing |

Return the whole Jacobian, (n_out, n_in) with $J_{ij} = \partial f_i / \partial x_j$, and the number of passes that it
took. Use as few as possible, whatever the sizes are.
""",
    stub="""
def jacobian(net, x):
    ...  # your code: J (n_out, n_in), passes
""",
    hints=(
        "What is $J\\,v$ if $v$ has a single 1 and else zeros? What is $J^\\top u$ for such a $u$?",
        "Columns cost `n_in` passes, rows cost `n_out`. A network with a million inputs and one loss has one row.",
        "`torch.eye(n)` holds all unit vectors. Compare `net.n_in` with `net.n_out`; stack rows along axis 0, columns "
        "along axis 1. `net.passes` has counted for you.",
    ),
    solution=jacobian,
    spellings=(_with_transpose, _filled_in),
    axes={"x": "n_in"},
    returns=(Output("J", "n_out n_in"), Output("passes", "")),
    cases=_cases,
    wrong=(
        Misconception(
            "always row by row",
            "The Jacobian is right, and where there are more inputs than outputs so is its price: reverse mode takes "
            "one pass an *output*. But a network with 3 inputs and 12 outputs has 3 columns, and forward mode gets "
            "each in one pass.",
            (_always_rows,),
        ),
        Misconception(
            "always column by column",
            "The Jacobian is right and dear: forward mode takes one pass an *input*. For one loss of a million "
            "weights that is a million passes where reverse mode takes one; this is why training runs backwards.",
            (_always_columns,),
        ),
        Misconception(
            "the cheaper mode is chosen the wrong way round",
            "You compare the sizes and then take the dearer mode each time. $J\\,v$ is a combination of *columns*, one "
            "for each input; $J^\\top u$ one of *rows*, one for each output. Fewer inputs: columns. Fewer outputs: "
            "rows.",
            (_wrong_way_round,),
        ),
        Misconception(
            "both ways are run",
            "The Jacobian is right, but you computed it twice, by rows and by columns, and kept one. The choice needs "
            "no pass: `net.n_in` and `net.n_out` decide before the first one.",
            (_both,),
        ),
        Misconception(
            "columns are stacked as rows",
            "With forward mode your result is $J^\\top$: `jvp` gives columns, and `torch.stack` without an axis lays "
            "them down as rows. Where there are as many inputs as outputs nobody would notice. `torch.stack(columns, "
            "1)` does it.",
            (_columns_as_rows, _columns_as_rows_square),
        ),
        Misconception(
            "rows are stacked as columns",
            "With reverse mode your result is $J^\\top$: `vjp` gives *rows* of $J$, the gradients of single outputs, "
            "and each belongs along axis 0.",
            (_rows_as_columns,),
        ),
        Misconception(
            "one pass with a vector of ones",
            "A product with ones adds all rows (or columns) up: that is the gradient of the *sum* of the outputs, and "
            "the parts cannot be told apart afterwards. Each row or column needs a vector of its own, with a single 1.",
            (_one_pass, _one_row),
        ),
    ),
)
