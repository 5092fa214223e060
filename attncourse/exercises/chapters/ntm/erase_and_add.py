"""Write into the memory: every head erases in its share, then every head adds in its share."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def erase_and_add(memory, weights, erase, add):
    erased = weights[..., None] * erase[:, :, None]  # (B, heads, N, W): w_h(i) e_h
    kept = (1 - erased).prod(1)  # (B, N, W): what all heads leave
    added = weights.mT @ add  # (B, N, W): the sum over heads of w_h(i) a_h
    return memory * kept + added


def _by_loops(memory, weights, erase, add):
    for h in range(weights.shape[1]):
        memory = memory * (1 - weights[:, h, :, None] * erase[:, h, None])
    for h in range(weights.shape[1]):
        memory = memory + weights[:, h].unsqueeze(2) * add[:, h].unsqueeze(1)
    return memory


def _by_einsum(memory, weights, erase, add):
    kept = torch.prod(1 - torch.einsum("bhn,bhw->bhnw", weights, erase), dim=1)
    return torch.einsum("bnw,bnw->bnw", memory, kept) + torch.einsum("bhn,bhw->bnw", weights, add)


def _case(kind, seed, B=2, heads=2, N=5, W=4, scale=1.0, sharp=1.0, same=False, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    weights = (sharp * torch.randn(B, heads, N, generator=rng, dtype=dtype)).softmax(-1)
    if same:
        weights, ones = torch.zeros_like(weights), torch.arange(B) % N
        weights[torch.arange(B), :, ones] = 1
    inputs = {
        "memory": torch.randn(B, N, W, generator=rng, dtype=dtype),
        "weights": weights,
        "erase": torch.randn(B, heads, W, generator=rng, dtype=dtype).sigmoid(),
        "add": scale * torch.randn(B, heads, W, generator=rng, dtype=dtype),
    }
    return Case(kind, inputs, gradients)


def _full(case):
    case.inputs["erase"].fill_(1.0)
    return case


def _cases(seed):
    return [
        _case("a single head", seed, heads=1),
        _case("two heads", seed + 1),
        _case("three heads that all write to one slot", seed + 2, heads=3, same=True),
        _full(_case("a full erase", seed + 3, sharp=3.0)),
        _case("a batch of one", seed + 4, B=1),
        _case("a memory of one slot", seed + 5, N=1),
        _case("slots of one number", seed + 6, W=1),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 7, B=3, heads=3, N=3, W=3),
        _case("as many slots as numbers in one", seed + 12, N=4),
        _case("large numbers to add", seed + 8, scale=50.0),
        _case("sharp weights", seed + 9, sharp=20.0),
        _case("float64 inputs", seed + 10, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 11, gradients=("memory", "weights", "erase", "add")),
    ]


def _outer(weights, vectors):
    return weights[..., None] * vectors[:, :, None]  # (B, heads, N, W)


def _everywhere(weights, vectors):
    """The same in every slot."""
    return _outer(torch.ones_like(weights), vectors)


def _mixed(weights, vectors):
    """All heads' weights with all heads' vectors."""
    return _outer(weights.sum(1, keepdim=True), vectors.sum(1, keepdim=True))


def _crossed(weights, vectors):
    """(B, heads, W, N): the outer product the other way round."""
    return vectors[..., None] * weights[:, :, None]


KEEP = {  # (B, heads, N, W), what each head erases -> (B, N, W), what is kept
    "product": lambda each: (1 - each).prod(1),
    "sum": lambda each: 1 - each.sum(1),
    "clamped": lambda each: (1 - each.sum(1)).clamp_min(0),
    "mean": lambda each: (1 - each).mean(1),
}


def _erase_add(memory, kept, added):
    return memory * kept + added


def _add_erase(memory, kept, added):
    return (memory + added) * kept


def _version(erased=_outer, added=_outer, keep=KEEP["product"], gather=lambda each: each.sum(1), write=_erase_add,
             erase=lambda e: e, add=lambda a: a):  # fmt: skip
    """The solution with one part exchanged."""

    def version(**inputs):
        weights = inputs["weights"]
        kept = keep(erased(weights, erase(inputs["erase"])))
        return write(inputs["memory"], kept, gather(added(weights, add(inputs["add"]))))

    return version


def _however(**parts):
    """With a right way to put the heads together, and with wrong ones: with a single head all are the same."""
    return tuple(_version(keep=KEEP[name], **parts) for name in ("product", "sum", "mean"))


def _head_by_head(step=1, write=_erase_add):
    """Each head erases and adds before the next one comes."""

    def version(memory, weights, erase, add):
        for h in range(weights.shape[1])[::step]:
            w = weights[:, h, :, None]
            memory = write(memory, 1 - w * erase[:, h, None], w * add[:, h, None])
        return memory

    return version


def _one_head(h):
    return lambda memory, **heads: erase_and_add(memory, **{k: x[:, h][:, None] for k, x in heads.items()})


def _averaged(memory, **heads):
    return erase_and_add(memory, **{name: x.mean(1, keepdim=True) for name, x in heads.items()})


EXERCISE = Exercise(
    id="ntm.erase-and-add",
    title="Erase, then add",
    points=2,
    task=r"""
Each writing head $h$ has a weighting $w_h$ over the slots, an erase vector $e_h$ with entries between 0 and 1, and an
add vector $a_h$. All heads erase before any adds, so that their order does not matter:

$$\hat M_i = M_i \circ \prod_h \big(1 - w_h(i)\, e_h\big), \qquad M_i^{new} = \hat M_i + \sum_h w_h(i)\, a_h$$

| argument | |
|---|---|
| `memory` | (B, N, W); leave it as it is and return a new one |
| `weights` | (B, heads, N) |
| `erase`, `add` | (B, heads, W), `erase` between 0 and 1 already |
| returns `written` | (B, N, W) |
""",
    stub="""
def erase_and_add(memory, weights, erase, add):
    ...  # your code: written (B, N, W)
""",
    hints=(
        "Begin with one head, one slot, one number: what is left of it if $w = 1$ and $e = 1$? If $w = 0$? If both are "
        "a half? Only then think of the axes.",
        "$w_h(i)\\, e_h$ for all heads, slots and numbers at once is an outer product for each head: "
        "`weights[..., None] * erase[:, :, None]`, of shape (B, heads, N, W). What does the ∏ do with the axis of the "
        "heads, and what the Σ?",
        "`kept = (1 - weights[..., None] * erase[:, :, None]).prod(1)`; the additions of all heads are one matrix "
        "product, `weights.mT @ add`; the result is `memory * kept + added`.",
    ),
    solution=erase_and_add,
    spellings=(_by_loops, _by_einsum),
    axes={"memory": "B N W", "weights": "B heads N", "erase": "B heads W", "add": "B heads W"},
    returns=(Output("written", "B N W"),),
    cases=_cases,
    wrong=(
        Misconception(
            "added before erased",
            "You add first, and the erasing takes part of it away again: with $w = 1$ and $e = 1$ nothing of the new "
            "would be left. Erase what was there, then add.",
            (*_however(write=_add_erase), _head_by_head(write=_add_erase)),
        ),
        Misconception(
            "a head erases what another has just added",
            "With one head you are right. With several, each of yours erases and adds before the next one comes, so "
            "that later heads wipe out part of what earlier ones wrote, and the result depends on the order of the "
            "heads. All erase, then all add: two passes.",
            (_head_by_head(), _head_by_head(-1)),
        ),
        Misconception(
            "every slot is erased",
            "Your erasing does not depend on where the head is: $1 - e$ in every slot, also in those with weight 0. "
            "One write would wear down the whole memory. Each slot loses $w(i)\\, e$ of what it holds.",
            _however(erased=_everywhere),
        ),
        Misconception(
            "every slot is added to",
            "You add $a$ in every slot, wherever the head is. The weighting says in which share each slot gets it.",
            (_version(added=_everywhere), _version(added=_everywhere, keep=KEEP["sum"])),
        ),
        Misconception(
            "the weights are not used",
            "Your code writes the same into every slot: `weights` makes no difference, and all slots become alike.",
            _however(erased=_everywhere, added=_everywhere),
        ),
        Misconception(
            "what is kept is weighted, not what is erased",
            "You multiply the memory by $w\\,(1 - e)$. Where the head is *not*, $w = 0$, and that wipes the slot out; "
            "it should stay as it is. The weighting belongs to the erasing, inside: $1 - w\\, e$.",
            (
                _version(erased=lambda w, e: 1 - _outer(w, 1 - e)),
                _version(erased=lambda w, e: _outer(w, 1 - e), keep=lambda each: each.sum(1)),
            ),
        ),
        Misconception(
            "erase is read as keep",
            "An entry of 1 in `erase` leaves the slot as it is in your code, and 0 empties it: `1 - e` stands where "
            "`e` should, or the other way round.",
            (
                *_however(erase=lambda e: 1 - e),
                _version(keep=lambda each: each.prod(1)),
                _version(keep=lambda each: each.sum(1)),
            ),
        ),
        Misconception(
            "the erasing is subtracted",
            "You take $w\\, e$ away from the numbers in the memory. An erase vector says which *share* of a number "
            "goes, so it multiplies: a 5 with $w = e = 1$ must become 0, not 4.",
            _however(write=lambda memory, kept, added: memory - (1 - kept) + added),
        ),
        Misconception(
            "the erasing of several heads is added up",
            "With one head you are right. With several you take $1 - \\sum_h w_h e_h$: two heads on one slot that "
            "erase 0.8 each would leave −0.6 of it, or, if you clamp, nothing. Each head leaves its share of what the "
            "others left: a product.",
            (_version(keep=KEEP["sum"]), _version(keep=KEEP["clamped"]), _version(keep=lambda e: (1 - e).sum(1))),
        ),
        Misconception(
            "the heads are averaged",
            "With one head you are right. With several you take a mean over the heads, of what they erase or of what "
            "they add. Two heads that write together write twice: a product of what is kept, a sum of what is added.",
            (_version(keep=KEEP["mean"]), *_however(gather=lambda each: each.mean(1)), _averaged),
        ),
        Misconception(
            "the heads are mixed",
            "You sum the heads' weights and the heads' vectors apart, and then multiply: one head's vector lands where "
            "another one looks. Multiply for each head first, sum over the heads then.",
            (_version(added=_mixed), _version(erased=_mixed), _version(erased=_mixed, added=_mixed)),
        ),
        Misconception(
            "only one of the heads writes",
            "With one head you are right. Of several, only the last (or the first) one leaves a trace: each round of "
            "a loop begins with the memory as it was and overwrites the round before, or one head was picked out.",
            (_one_head(-1), _one_head(0)),
        ),
        Misconception(
            "one of the two is left out",
            "You only erase, or only add. What is not erased stays beneath the new, and after some writes a slot holds "
            "a sum of everything; what is not added was never written.",
            (_version(keep=lambda each: 1.0), *_however(write=lambda memory, kept, added: memory * kept)),
        ),
        Misconception(
            "erase and add have changed places",
            "You erase with `add` and add `erase`. `erase` lies between 0 and 1, a share; `add` may be any number.",
            tuple(lambda erase, add, f=f, **rest: f(erase=add, add=erase, **rest) for f in _however()),
        ),
        Misconception(
            "the erase vector is not used",
            "You take $1 - w$ for what is kept: wherever the head is, everything goes. `erase` lets a head change some "
            "of a slot's numbers and leave the others.",
            _however(erase=torch.ones_like),
        ),
        Misconception(
            "only what was erased is added",
            "You add $w\\, e \\circ a$, as the gate of a GRU would: a mix of old and new. Here the two are chosen "
            "apart: $e$ says what goes, $a$ what comes, also where nothing was erased.",
            (
                lambda memory, weights, erase, add: erase_and_add(memory, weights, erase, erase * add),
                _version(added=_everywhere, write=lambda memory, kept, added: memory * kept + (1 - kept) * added),
            ),
        ),
        Misconception(
            "the outer product is transposed",
            "Your $w\\, e^\\top$ has the slots where the numbers belong: (W, N) instead of (N, W). It runs only where "
            "the two sizes happen to agree, and is silently wrong there. Rows are slots: $w$ gets the new last axis, "
            "`weights[..., None]`, and the vector the one before it, `erase[:, :, None]`.",
            (*_however(erased=_crossed, added=_crossed), *_however(erased=_crossed), *_however(added=_crossed)),
        ),
        Misconception(
            "a vector is squashed again",
            "`erase` lies between 0 and 1 already, and `add` may be anything. You send one of them through a sigmoid "
            "or a tanh: a full erase could no longer be reached, or large numbers no longer be written.",
            (*_however(erase=torch.sigmoid), *_however(add=torch.tanh), *_however(add=torch.sigmoid)),
        ),
    ),
)
