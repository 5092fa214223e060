"""Truncated back-propagation through time: the state goes on, its gradient stops."""

import torch

from ...engine.core import Case, Exercise, Fixture, Misconception, Output


def truncated_states(cell, x, k):
    state, states = x.new_zeros(len(x), cell.hidden_size), []
    for t in range(x.shape[1]):
        if t % k == 0:
            state = state.detach()  # a new piece begins: its first step is handed a number, not a history
        state = cell(x[:, t], state)  # (B, H)
        states.append(state)
    return torch.stack(states, 1)  # (B, T, H)


def _by_pieces(cell, x, k):
    state, out = torch.zeros(x.shape[0], cell.hidden_size, dtype=x.dtype), []
    for piece in x.split(k, dim=1):
        state = state.detach()
        for step in piece.unbind(1):
            state = cell(step, state)
            out.append(state)
    return torch.stack(out, dim=1)


def _after_the_step(cell, x, k):
    """The state is kept whole in the outputs; what is handed on is detached at the end of a piece."""
    carried, out = x.new_zeros(x.shape[0], cell.hidden_size), []
    for t, step in enumerate(x.unbind(1), start=1):
        state = cell(step, carried)
        out.append(state)
        carried = state.detach() if t % k == 0 else state
    return torch.stack(out, 1)


def _case(kind, seed, B=2, T=7, D=3, H=4, k=3, dtype="float32", gradients=()):
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(B, T, D, generator=rng, dtype=getattr(torch, dtype))
    return Case(kind, {"x": x, "cell": Fixture("torch.nn.RNNCell", (D, H), seed, dtype), "k": k}, gradients)


def _cases(seed):
    x = ("x",)
    return [
        _case("seven steps, a new piece every third", seed, gradients=x),
        _case("a batch of one", seed + 1, B=1, gradients=x),
        _case("pieces of one step", seed + 2, k=1, gradients=x),
        _case("one piece for everything", seed + 3, k=9, gradients=x),
        _case("pieces that fill the sequence exactly", seed + 4, T=8, k=4, gradients=x),
        _case("float64 inputs", seed + 5, dtype="float64", gradients=x),
    ]


def _walk(cell, x, before=lambda t, state: state, after=lambda t, state: state, keep=lambda t, state: state):
    """A walk with a hook before the step, on what is kept, and on what is handed on."""
    state, states = x.new_zeros(len(x), cell.hidden_size), []
    for t in range(x.shape[1]):
        state = cell(x[:, t], before(t, state))
        states.append(keep(t, state))
        state = after(t, state)
    return torch.stack(states, 1)


def _cut_if(condition):
    return lambda t, state: state.detach() if condition(t) else state


def _whole(cell, x, k):
    return _walk(cell, x)


def _every_step(cell, x, k):
    return _walk(cell, x, before=lambda t, state: state.detach())


def _outputs_too(cell, x, k):
    """The detached state is also what is kept: the last step of every piece gets no gradient at all."""
    cut = _cut_if(lambda t: t % k == k - 1)
    return _walk(cell, x, keep=cut, after=cut)


def _one_late(cell, x, k):
    return _walk(cell, x, after=_cut_if(lambda t: t % k == 0))


def _one_early(cell, x, k):
    return _walk(cell, x, before=_cut_if(lambda t: t % k == k - 1))


def _zeroed(cell, x, k):
    return _walk(cell, x, before=lambda t, state: state * 0 if t % k == 0 else state)


def _only_once(cell, x, k):
    return _walk(cell, x, before=_cut_if(lambda t: t == k))


def _only_last(cell, x, k):
    """Gradients reach k steps back from the end only."""
    return _walk(cell, x, before=_cut_if(lambda t: t == max(x.shape[1] - k, 0)))


EXERCISE = Exercise(
    id="sequential_jacobian.misplaced-detach",
    title="The misplaced detach",
    points=3,
    task="""
Back-propagation through a long sequence is cut into pieces of `k` steps: steps 0 … k−1 are the first piece,
k … 2k−1 the second, and so on; the last may be shorter. The *state* goes on from piece to piece, its *gradient* does
not: inside a piece the Jacobian is whole, between pieces it is exactly zero. Outputs are the same as without any cut.

| argument | what it is |
|---|---|
| `cell` | an `nn.RNNCell`: `cell(input (B, D), state (B, H))` is the next state (B, H) |
| `x` | (B, T, D) |
| `k` | steps in a piece |
| returns `states` | (B, T, H), the state after every step; start from `x.new_zeros(len(x), cell.hidden_size)` |

`state.detach()` is the same tensor without its history. The question is where to put it.
""",
    stub="""
def truncated_states(cell, x, k):
    ...  # your code: states (B, T, H)
""",
    hints=(
        "Write the loop without any detach first: the values are then right already. Then ask at which steps the "
        "state that *comes in* must have no history.",
        "Step t begins a new piece when `t % k == 0`. What it is handed is detached; what it returns is not.",
        "If you detach at the end of a piece instead, keep the state for the output *before* you detach it: "
        "the last step of a piece has a gradient like every other.",
    ),
    solution=truncated_states,
    spellings=(_by_pieces, _after_the_step),
    axes={"x": "B T D"},
    returns=(Output("states", "B T H"),),
    cases=_cases,
    wrong=(
        Misconception(
            "nothing is detached",
            "The values are right, but the gradient flows through the whole sequence: this is full back-propagation "
            "through time, and its memory grows with T. A state that crosses into a new piece must leave its history "
            "behind.",
            (_whole,),
        ),
        Misconception(
            "every step is detached",
            "Your Jacobian is diagonal: each state depends on its own input alone, and the network can learn nothing "
            "that takes two steps. Detach only where a new piece begins, at t = 0, k, 2k, …",
            (_every_step,),
        ),
        Misconception(
            "the output is detached along with the state",
            "The state is detached before it is kept, so the *last* step of every piece hands out a number without a "
            "history: a loss on it trains nothing. Keep the state first, then detach what is carried on.",
            (_outputs_too,),
        ),
        Misconception(
            "the cut is one step too late",
            "Your pieces are 0, then 1 … k, then k+1 …: the detach comes after step 0, k, 2k has been computed. "
            "A piece *begins* at these steps: the state is detached before it goes in.",
            (_one_late,),
        ),
        Misconception(
            "the cut is one step too early",
            "Your cut lies before the last step of a piece, so the first piece has k−1 steps. Step t begins a piece "
            "when `t % k == 0`.",
            (_one_early,),
        ),
        Misconception(
            "the state is set back to zero",
            "Between pieces you throw the state away, so the *values* change: the network forgets at every cut, also "
            "when it is used. Truncation stops the gradient, not the memory: `state.detach()` has the same numbers.",
            (_zeroed,),
        ),
        Misconception(
            "there is only one cut",
            "You detach once, and everything after (or before) the cut is one long piece. The cut returns every k "
            "steps: with T = 7 and k = 3 there are two inside the sequence, before steps 3 and 6.",
            (_only_once, _only_last),
        ),
    ),
)
