"""A head on its way through several steps: go where the content is, or stay; then shift, then sharpen."""

import torch

from ....mechanisms import ntm
from ...engine.core import Case, Exercise, Misconception, Output


def addressing(found, gate, moves, power, start):
    weights, path = start, []  # (B, heads, N): where the head is
    for t in range(found.shape[1]):
        g = gate[:, t, :, None]  # (B, heads, 1)
        weights = g * found[:, t] + (1 - g) * weights  # the last step's final weighting
        weights = ntm.rotate(weights, moves[:, t])
        weights = ntm.sharpen(weights, power[:, t])
        path.append(weights)
    return torch.stack(path, 1)  # (B, T, heads, N)


def _recursive(found, gate, moves, power, start):
    """The first step, and then the rest from there; shift and sharpening by hand."""
    now, reach = torch.lerp(start, found[:, 0], gate[:, 0].unsqueeze(-1)), moves.shape[-1] // 2
    now = sum(moves[:, 0, :, k, None] * now.roll(k - reach, -1) for k in range(moves.shape[-1]))
    now = torch.softmax(power[:, 0].unsqueeze(-1) * now.clamp_min(1e-30).log(), -1)
    rest = [x[:, 1:] for x in (found, gate, moves, power)]
    return torch.cat([now[:, None], _recursive(*rest, now)], 1) if rest[0].shape[1] else now[:, None]


def _by_einsum(found, gate, moves, power, start):
    out = torch.empty_like(found)
    for t, (f, g, m, p) in enumerate(zip(*(x.unbind(1) for x in (found, gate, moves, power)), strict=True)):
        w = torch.einsum("bhkn,bhk->bhn", torch.stack([f, start], 2), torch.stack([g, 1 - g], 2))
        rolled = torch.stack([w.roll(o, -1) for o in range(-(m.shape[-1] // 2), m.shape[-1] // 2 + 1)], 2)
        w = torch.einsum("bhkn,bhk->bhn", rolled, m)
        w = (w / w.amax(-1, keepdim=True)) ** p[..., None]
        out[:, t] = start = w / w.sum(-1, keepdim=True)
    return out


def _case(kind, seed, B=2, T=4, heads=3, N=7, S=3, gates=None, top=3.0, start=0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=rng, dtype=dtype)

    inputs = {
        "found": (2 * normal(B, T, heads, N)).softmax(-1),
        "gate": normal(B, T, heads).sigmoid(),
        "moves": (2 * normal(B, T, heads, S)).softmax(-1),
        "power": 1 + 2 * torch.rand(B, T, heads, generator=rng, dtype=dtype),
        "start": torch.zeros(B, heads, N, dtype=dtype),
    }
    inputs["start"][..., start] = 1
    inputs["power"][:, -1] *= top / 3.0
    if gates is not None:
        inputs["gate"] = torch.tensor(gates, dtype=dtype)[None, :, None].expand(B, T, heads).clone()
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("two steps", seed, B=5, T=2, heads=4),
        _case("a single step", seed + 1, T=1),
        _case("five steps", seed + 2, T=5, start=3),
        _case("a gate that stays closed", seed + 3, T=3, gates=[0.0, 0.0, 0.0]),
        _case("a gate that is open once", seed + 4, T=3, gates=[1.0, 0.0, 0.0]),
        _case("a batch of one", seed + 5, B=1),
        _case("a single head", seed + 6, heads=1),
        _case("five moves", seed + 7, S=5, start=6),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 8, B=3, T=3, heads=3, N=3),
        _case("a large power in the last step", seed + 9, T=2, N=40, gates=[0.7, 0.9], top=150.0),
        _case("float64 inputs", seed + 10, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 11, T=3, gradients=("found", "gate", "moves", "power", "start")),
    ]


def _mix(g, found, before):
    return g * found + (1 - g) * before


def _formula(weights, power):
    """The sharpening as it is written down: it underflows."""
    raised = weights ** power[..., None]
    return raised / raised.sum(-1, keepdim=True)


def _version(mix=_mix, shift=ntm.rotate, sharpen=ntm.sharpen, first=lambda start, found: start,
             gate=lambda gate: gate, keep="final", order="mix shift sharpen"):  # fmt: skip
    """The solution with one part exchanged. `keep` says what the next step takes for the previous weighting."""

    def version(**inputs):
        found, g = inputs["found"], gate(inputs["gate"])[..., None]
        before, path = first(inputs["start"], found[:, 0]), []
        for t in range(found.shape[1]):
            stages = {
                "mix": lambda w, t=t, before=before: mix(g[:, t], w, before),
                "shift": lambda w, t=t: shift(w, inputs["moves"][:, t]),
                "sharpen": lambda w, t=t: sharpen(w, inputs["power"][:, t]),
            }
            made = {"found": found[:, t], "start": inputs["start"], "final": found[:, t]}
            for name in order.split():
                made[name] = made["final"] = stages[name](made["final"])
            before = made[keep]
            path.append(made["final"])
        return torch.stack(path, 1)

    return version


def _both(**parts):
    """With the package's sharpening, and with one's own."""
    return _version(**parts), _version(**parts, sharpen=_formula)


def _only_the_old_place(found, gate, moves, power, start):
    """The shift moves what is kept, not what is found."""
    path = [start]
    for t in range(found.shape[1]):
        mixed = _mix(gate[:, t, :, None], found[:, t], ntm.rotate(path[-1], moves[:, t]))
        path.append(ntm.sharpen(mixed, power[:, t]))
    return torch.stack(path[1:], 1)


EXERCISE = Exercise(
    id="ntm.interpolation",
    title="Go there, or stay",
    points=3,
    task=r"""
Follow a head through T steps. In each, the content found somewhere meets the place where the head was, and the gate
$g_t$ decides between the two; then the head may step aside, and what has blurred is sharpened:

$$w^g_t = g_t\, w^c_t + (1 - g_t)\, w_{t-1}, \qquad \tilde w_t = \mathrm{shift}(w^g_t, s_t), \qquad
w_t = \mathrm{sharpen}(\tilde w_t, \gamma_t)$$

Note which $w_{t-1}$ the equation asks for. Use `ntm.rotate(weights, moves)` and `ntm.sharpen(weights, power)`, or
write your own.

| argument | |
|---|---|
| `found` | (B, T, heads, N): $w^c_t$, where content addressing points in each step |
| `gate` | (B, T, heads): $g_t$, between 0 and 1 already |
| `moves` | (B, T, heads, S): $s_t$, shares of the moves $-\lfloor S/2 \rfloor, \dots, \lfloor S/2 \rfloor$ |
| `power` | (B, T, heads): $\gamma_t \ge 1$ |
| `start` | (B, heads, N): $w_0$, where the head is before the first step |
| returns `weights` | (B, T, heads, N): $w_1, \dots, w_T$ |
""",
    stub="""
def addressing(found, gate, moves, power, start):
    ...  # your code: weights (B, T, heads, N)
""",
    hints=(
        "A step needs the step before, so this is a loop over time. One variable holds the place of the head: what is "
        "in it before the first step, and what after each?",
        "Think of a closed gate, $g = 0$: content must not matter at all, and the head walks on from *where it "
        "arrived*, having shifted and sharpened. So $w_{t-1}$ is what the last step gave out in the end.",
        "`weights = start`; in each step, with `g = gate[:, t, :, None]`, `weights = g * found[:, t] + (1 - g) * "
        "weights`, then `ntm.rotate(weights, moves[:, t])`, then `ntm.sharpen(weights, power[:, t])`. Stack them.",
    ),
    solution=addressing,
    spellings=(_recursive, _by_einsum),
    axes={"found": "B T heads N", "moves": "B T heads S", "start": "B heads N"}
    | dict.fromkeys(("gate", "power"), "B T heads"),
    returns=(Output("weights", "B T heads N", distribution=True),),
    cases=_cases,
    wrong=(
        Misconception(
            "the previous content weighting is kept",
            "A closed gate takes your head back to where content pointed *one step before*, $w^c_{t-1}$. A well-known "
            "text has it so. But then no step can build on another: a head could never walk from slot to slot, since "
            "what the shift did is forgotten at once. $w_{t-1}$ is where the head *was*, at the end of its last step.",
            (
                *_both(keep="found"),
                *_both(keep="found", first=lambda start, found: found),
                *_both(keep="found", order="shift mix sharpen"),
                _version(keep="found", first=lambda start, found: 0 * start),
                _version(keep="found", mix=lambda g, found, before: g * found + before),
                *(_version(keep="found", order=order) for order in ("mix sharpen shift", "mix shift", "mix")),
            ),
        ),
        Misconception(
            "a half-finished weighting is kept",
            "You carry over what the last step had *before* it was shifted and sharpened. With a closed gate the head "
            "then makes its first move anew in each step, or blurs a little more in each. The next step begins where "
            "this one ended: after the last stage.",
            (*_both(keep="mix"), *_both(keep="shift")),
        ),
        Misconception(
            "the head is put back to the start",
            "Every step of yours interpolates with `start`. That is where the head was before the *first* step; "
            "afterwards it is wherever the last step left it.",
            _both(keep="start"),
        ),
        Misconception(
            "the gate is the wrong way round",
            "Where the gate is open, your head stays; where it is closed, it goes to the content. $g$ is the share of "
            "what was *found*, $1 - g$ that of where the head was.",
            tuple(
                _version(mix=lambda g, found, before: _mix(1 - g, found, before), keep=keep, sharpen=sharpen)
                for keep in ("final", "found")
                for sharpen in (ntm.sharpen, _formula)
            ),
        ),
        Misconception(
            "the two shares do not sum to one",
            "You add $g\\, w^c$ to the whole of $w_{t-1}$, or the other way round. The sum is no distribution any "
            "more; sharpening divides by the total and hides it. But an open gate, $g = 1$, then never lets go of the "
            "old place. The shares are $g$ and $1 - g$.",
            (
                _version(mix=lambda g, found, before: g * found + before),
                *_both(mix=lambda g, found, before: found + (1 - g) * before),
            ),
        ),
        Misconception(
            "the gate is not used",
            "Your head goes to what content finds in every step, or to none of it, or half-way, whatever the gate "
            "says. Without the gate it cannot keep its place while it reads one slot after another.",
            (
                *_both(mix=lambda g, found, before: found),
                *_both(mix=lambda g, found, before: before),
                *_both(mix=lambda g, found, before: (found + before) / 2),
            ),
        ),
        Misconception(
            "the gate is bent before it is used",
            "`gate` is between 0 and 1 already. A second sigmoid brings it between 0.5 and 0.73: the head could "
            "neither stay nor leave for good. Rounding makes it open or closed and takes its gradient away: nothing "
            "would teach it. Use it as it is.",
            (*_both(gate=torch.sigmoid), *_both(gate=torch.round)),
        ),
        Misconception(
            "one gate for all heads",
            "Your heads, examples or steps share a gate. Each has its own: while one head goes where content points, "
            "another walks on. `gate[:, t, :, None]` is (B, heads, 1), one number for each head's row of slots.",
            tuple(
                _version(gate=lambda gate, axes=axes: gate.mean(axes, keepdim=True).expand(gate.shape))
                for axes in (0, 2, (0, 2), (0, 1, 2))
            ),
        ),
        Misconception(
            "the gate is lined up with the slots",
            "A step's gate is (B, heads), the weightings are (B, heads, N). Broadcasting lines axes up from the right, "
            "so without a new last axis the gate of a head meets a *slot*, and that runs only where the sizes happen "
            "to agree. `[..., None]` gives it the missing axis.",
            (
                _version(mix=lambda g, found, before: _mix(g[..., 0], found, before)),
                _version(mix=lambda g, found, before: _mix(g[..., 0][:, None], found, before)),
            ),
        ),
        Misconception(
            "the interpolation comes after the shift",
            "You shift one of the two weightings and mix them afterwards. If only what was *found* is shifted, a "
            "closed gate holds the head where it is, and it cannot walk; if only the old place is, it cannot step off "
            "from what it has found. Mix, shift, sharpen: what the mix gives is moved as a whole.",
            (*_both(order="shift mix sharpen"), *_both(order="shift sharpen mix"), _only_the_old_place),
        ),
        Misconception(
            "sharpened before the shift",
            "You sharpen first and shift then, so that the blur of the shift is what comes out, and grows from step to "
            "step. Sharpening is there to undo it: it comes last.",
            (_version(order="mix sharpen shift"), _version(order="sharpen mix shift")),
        ),
        Misconception(
            "a stage is left out",
            "`moves` or `power` makes no difference to your weights. Without the shift a head reaches only what "
            "content finds; without the sharpening every shift spreads the weight a little, and after some steps the "
            "head is everywhere.",
            (_version(order="mix"), _version(order="mix shift"), _version(order="mix sharpen")),
        ),
        Misconception(
            "the start is not used",
            "Your first step takes something else for the previous weighting: zeros, an even spread, or what content "
            "has just found. From zeros, a head whose gate is closed has no place at all. Begin with `start`.",
            (
                *_both(first=lambda start, found: 0 * start),
                *_both(first=lambda start, found: torch.full_like(start, 1 / start.shape[-1])),
                *_both(first=lambda start, found: found),
            ),
        ),
        Misconception(
            "the shift goes the wrong way",
            "A move of +1 takes your head to the slot *before*. The last entry of `moves` carries weight from slot "
            "$j$ to a larger $j$: `w.roll(+1, -1)`, not a read at $i + 1$.",
            _both(shift=lambda weights, moves: ntm.rotate(weights, moves.flip(-1))),
        ),
        Misconception(
            "the sharpening underflows",
            "With a large power all of $\\tilde w^\\gamma$ is below what the dtype can hold: every entry is 0, and so "
            "is the sum they are divided by. Divide by the largest weight *before* the power is taken; it cancels, and "
            "one entry is then 1. `ntm.sharpen` does so.",
            (_version(sharpen=_formula), _version(sharpen=lambda w, power: _formula(w, power).nan_to_num(0.0))),
        ),
        Misconception(
            "the past is cut off from the gradient",
            "The weights are right, but the previous weighting is detached: no step learns from what it does to a "
            "later one. A head learns to walk only through the chain of its places.",
            (_version(mix=lambda g, found, before: _mix(g, found, before.detach())),),
        ),
    ),
)
