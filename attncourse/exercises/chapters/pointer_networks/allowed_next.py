"""What may come next on a tour: a mask that the task gives, and nobody learns."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def allowed_next(written, real):
    visited = torch.zeros_like(real).scatter(1, written, True)  # (B, 1 + n)
    allowed = real & ~visited
    allowed[:, 0] = ~allowed[:, 1:].any(1)
    return allowed


def _by_loops(written, real):
    rows = []
    for w, r in zip(written.tolist(), real.tolist(), strict=True):
        ahead = [s for s in range(1, len(r)) if r[s] and s not in w]
        rows.append([not ahead, *(s in ahead for s in range(1, len(r)))])
    return torch.tensor(rows)


def _by_counting(written, real):
    places = torch.arange(real.shape[1])
    fresh = (written[:, :, None] != places).all(1) & real  # (B, 1 + n)
    done = written.shape[1] >= real.sum(1) - 1  # as many steps as points, and none of them twice
    return torch.where(places == 0, done[:, None], fresh)


def _case(kind, seed, sizes, t, n=None):
    """Rows that have walked t steps on their own tours; whoever was done before has written stops since."""
    rng = torch.Generator().manual_seed(seed)
    n = n or max(sizes)
    written = torch.zeros(len(sizes), t, dtype=torch.long)
    for row, size in zip(written, sizes, strict=True):
        walk = torch.randperm(size, generator=rng)[:t] + 1
        row[: len(walk)] = walk
    real = torch.arange(n + 1) <= torch.tensor(sizes)[:, None]
    return Case(kind, {"written": written, "real": real})


def _cases(seed):
    return [
        _case("half of a tour", seed, [6, 6, 6], 3),
        _case("the first step", seed + 1, [5, 5], 0),
        _case("all points visited", seed + 2, [4, 4], 4),
        _case("lists with padding", seed + 3, [7, 4, 5, 3], 3),
        _case("a row that ended before the others", seed + 4, [8, 3, 5], 6),
        _case("one point left", seed + 5, [5, 5, 5], 4),
        _case("a batch of one", seed + 6, [6], 2),
        _case("a list of one point", seed + 7, [1], 1),
        _case("padding for all", seed + 8, [4, 3], 2, n=7),
        _case("a large batch", seed + 9, [9, 9, 8, 9, 7, 9, 9, 6], 5),
    ]


def _seen(written, real):
    return torch.zeros_like(real).scatter(1, written, True)


def _with_stop(allowed, may_stop):
    allowed = allowed.clone()
    allowed[:, 0] = may_stop
    return allowed


def _done(written, real):
    return ~(real & ~_seen(written, real))[:, 1:].any(1)


def _version(real=lambda real: real, seen=_seen, stop=_done):
    """The solution with one part exchanged."""

    def version(**inputs):
        written, width = inputs["written"], inputs["real"]
        return _with_stop(real(width) & ~seen(written, width), stop(written, width))

    return version


def _last_only(written, real):
    return _seen(written[:, -1:], real)


def _nothing(written, real):
    return torch.zeros_like(real)


def _shifted(written, real):
    return torch.zeros_like(real).scatter(1, (written - 1).clamp(min=0), True)


def _shifted_on(written, real):
    return torch.zeros_like(real).scatter(1, (written + 1).clamp(max=real.shape[1] - 1), True)


def _last_by_index(written, real):
    allowed = real.clone()
    allowed[torch.arange(len(real)), written[:, -1]] = False  # there is none at the first step
    return _with_stop(allowed, written.shape[1] >= real.sum(1) - 1)


def _crossed(written, real):
    return _done(written, real) & ~_seen(written, real)[:, 0]


EXERCISE = Exercise(
    id="pointer_networks.allowed-next",
    title="What may come next",
    points=2,
    task=r"""
A tour visits every point once, and then it stops. No network has to learn that: at each step a mask takes away what
would break the rule, and the softmax shares out the rest. Write the mask. Symbol 0 is *stop*, symbols 1 to n are the
points.

- A point that has been visited may not be visited again; padding may never be.
- *Stop* is allowed when no point is left, and not before.
- A row that has stopped goes on stopping: the others in its batch may need more steps.

| argument | |
|---|---|
| `written` | (B, t) int: the symbols so far; t may be 0 |
| `real` | (B, 1 + n) bool: true for *stop* and for real points, false on padding |
| returns `allowed` | (B, 1 + n) bool: true = may come next |
""",
    stub="""
def allowed_next(written, real):
    ...  # your code: allowed (B, 1 + n) bool
""",
    hints=(
        "Draw one row: five points, `written` is 3, 1. Which of the six symbols may come next? And after 3, 1, 4, 5, "
        "2?",
        "To cross out all visited points at once, make a table of false values like `real` and write true at the "
        "places that `written` names: `scatter` along axis 1, or a comparison with every place.",
        "The entry of *stop* is decided last, and by the others: it is allowed exactly where none of them is. Every "
        "row has its own answer, so keep the batch axis.",
    ),
    solution=allowed_next,
    spellings=(_by_loops, _by_counting),
    axes={"written": "B t", "real": "B n+1"},
    returns=(Output("allowed", "B n+1"),),
    cases=_cases,
    wrong=(
        Misconception(
            "points may be visited again",
            "A point that was visited, or one that was visited before the last step, may come again. A network that "
            "is unsure between two points then goes to and fro between them, and calls it a tour.",
            (
                _version(seen=_last_only),
                _version(seen=_last_only, stop=lambda w, r: ~(r & ~_last_only(w, r))[:, 1:].any(1)),
                _version(seen=_nothing),
                _last_by_index,
            ),
        ),
        Misconception(
            "it may stop too early",
            "*Stop* is allowed while points are left. A tour that leaves out a point is shorter than any real one, and "
            "a table of lengths would reward it. Allow *stop* where nothing else is allowed.",
            (
                _version(stop=lambda written, real: True),
                lambda written, real: real & ~_seen(written, real),
                _version(stop=lambda written, real: written.shape[1] >= 3),
                _version(stop=lambda written, real: written.shape[1] > 0),
            ),
        ),
        Misconception(
            "it may never stop",
            "*Stop* is not even allowed when every point has been visited: the row is all false, a softmax over "
            "nothing. Allow *stop* where nothing else is.",
            (_version(stop=lambda written, real: False),),
        ),
        Misconception(
            "whoever is done has nothing left to do",
            "A row that has stopped before the others may do nothing any more, because its *stop* counts as visited. "
            "The batch goes on, so this row needs something to write: *stop*, again and again.",
            (_version(stop=_crossed),),
        ),
        Misconception(
            "it stops with the longest list",
            "You allow *stop* after as many steps as the *widest* list has points. Shorter ones in the batch then have "
            "nothing left, and yet may not stop. Count each row's own real points.",
            (_version(stop=lambda written, real: written.shape[1] >= real.shape[1] - 1),),
        ),
        Misconception(
            "it stops with the shortest list",
            "As soon as one row of your batch is done, all may stop. The rows have nothing to do with each other but "
            "the tensor they lie in: decide for each.",
            (_version(stop=lambda written, real: _done(written, real).any()),),
        ),
        Misconception(
            "padding may be visited",
            "The places after a shorter list's end are allowed: there is no point there, only zeros. `real` is false "
            "on them, and stays so.",
            (
                _version(real=torch.ones_like),
                lambda written, real: _with_stop(~_seen(written, real), ~(~_seen(written, real))[:, 1:].any(1)),
            ),
        ),
        Misconception(
            "the wrong point is crossed out",
            "You cross out the neighbour of each visited point. The symbols count points from 1 because 0 is *stop*, "
            "and `real` has a place for *stop* in front: symbol s stands at place s already.",
            (
                lambda written, real: real.scatter(1, written - 1, False),
                _version(seen=_shifted),
                _version(seen=_shifted_on),
                _version(seen=_shifted, stop=lambda written, real: ~(real & ~_shifted(written, real))[:, 1:].any(1)),
                _version(
                    seen=_shifted_on, stop=lambda written, real: ~(real & ~_shifted_on(written, real))[:, 1:].any(1)
                ),
            ),
        ),
        Misconception(
            "the mask is upside down",
            "You return what is forbidden. In this course, as in torch's `scaled_dot_product_attention`, true means "
            "*may*.",
            (
                lambda written, real: ~_version()(written=written, real=real),
                lambda written, real: _seen(written, real) | ~real,
            ),
        ),
        Misconception(
            "one row decides for all",
            "What one row of the batch has visited is crossed out for every row. Each has its own tour: `scatter` "
            "along axis 1 writes in each row by itself, while an index without a batch axis writes in all.",
            (
                _version(seen=lambda written, real: _seen(written, real).any(0).expand_as(real)),
                _version(
                    seen=lambda written, real: _seen(written, real).any(0).expand_as(real),
                    stop=lambda written, real: ~(real & ~_seen(written, real).any(0))[:, 1:].any(1),
                ),
                _version(seen=lambda written, real: _seen(written, real)[:1].expand_as(real)),
            ),
        ),
    ),
)
