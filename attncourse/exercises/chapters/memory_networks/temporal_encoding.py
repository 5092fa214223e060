"""The temporal encoding: a sentence's age is counted from the question, not from the beginning of the story."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def add_time(memory, times, count):
    N = memory.shape[1]
    age = count[:, None] - 1 - torch.arange(N, device=memory.device)  # (B, N), negative on padding
    real = (age >= 0)[..., None]  # (B, N, 1)
    return memory + times[age.clamp(min=0)] * real  # (B, N, D)


def _loop(memory, times, count):
    rows = []
    for b, n in enumerate(count.tolist()):
        timed = [memory[b, i] + times[n - 1 - i] if i < n else memory[b, i] for i in range(memory.shape[1])]
        rows.append(torch.stack(timed))
    return torch.stack(rows)


def _one_hot(memory, times, count):
    i, t = torch.arange(memory.shape[1]).view(1, -1, 1), torch.arange(len(times)).view(1, 1, -1)
    chosen = (i + t == count.view(-1, 1, 1) - 1).to(memory.dtype)  # (B, N, slots)
    return memory + torch.einsum("bnt,td->bnd", chosen, times)


def _told(memory, count):
    """1 where there is a sentence, 0 on padding.    -> (B, N, 1)"""
    return (torch.arange(memory.shape[1]) < count[:, None])[..., None].to(memory.dtype)


def _variant(when, real=True, join=torch.add):
    """The solution with another idea of when a sentence was told: when(count (B, 1), i (N,), N, slots) -> (B, N)."""

    def answer(memory, times, count):
        N = memory.shape[1]
        i = torch.arange(N)
        there = i < count[:, None] if real else torch.ones(len(count), N, dtype=torch.bool)
        index = (when(count[:, None], i, N, len(times)) + 0 * count[:, None]).clamp(-len(times), len(times) - 1)
        return torch.where(there[..., None], join(memory, times[index]), memory)

    return answer


def _case(kind, seed, B=3, N=5, D=4, slots=8, count=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    memory = scale * torch.randn(B, N, D, generator=rng, dtype=dtype)
    times = torch.randn(slots, D, generator=rng, dtype=dtype)
    count = torch.full((B,), N) if count is None else torch.tensor(count)
    return Case(kind, {"memory": memory, "times": times, "count": count}, gradients)


def _cases(seed):
    return [
        _case("stories of one length", seed),
        _case("stories of different lengths", seed + 1, count=[5, 3, 1]),
        _case("a batch of one", seed + 2, B=1, count=[4]),
        _case("a story of one sentence", seed + 3, N=1),
        _case("a memory with no slot to spare", seed + 4, slots=5, count=[5, 2, 4]),
        _case("short stories in a wide batch", seed + 5, N=7, count=[2, 4, 3]),
        _case("large inputs", seed + 6, scale=100.0, count=[5, 4, 2]),
        _case("float64 inputs", seed + 7, dtype=torch.float64, count=[5, 3, 2]),
        _case("inputs whose gradient is asked", seed + 8, count=[5, 3, 2], gradients=("memory", "times")),
    ]


EXERCISE = Exercise(
    id="memory_networks.temporal-encoding",
    title="How long ago?",
    points=2,
    task=r"""
Give every sentence the vector of its age: $m_i \leftarrow m_i + T(\mathit{age}_i)$. The sentence told last, just before
the question, has age 0, the one before it age 1, and so on, whatever the length of the story.

| argument | |
|---|---|
| `memory` | (B, N, D): the sentences in the order in which they were told; beyond `count` it holds padding |
| `times` | (slots, D): `times[a]` is the vector of age $a$; slots ≥ N |
| `count` | (B,) int: sentences in each story, at least 1 |
| returns `memory` | (B, N, D), a new tensor; padding is left as it is |
""",
    stub="""
def add_time(memory, times, count):
    ...  # your code: memory (B, N, D)
""",
    hints=(
        "In a story of 5 sentences, which age has the sentence with index 4? With index 0? In a story of 3, which one "
        "has age 0?",
        "`torch.arange(N)` and `count[:, None]` broadcast to (B, N).",
        "On padding the age would be negative, and a negative index reads `times` from its end: clamp it, and leave "
        "the padding's vectors alone.",
    ),
    solution=add_time,
    spellings=(_loop, _one_hot),
    axes={"memory": "B N D", "times": "slots D", "count": "B"},
    returns=(Output("memory", "B N D"),),
    cases=_cases,
    wrong=(
        Misconception(
            "time runs from the beginning",
            "Your first sentence has age 0. Then the *last* one, which answers *where is she now*, has another vector "
            "in every story of another length, and the network has to learn each of them. Count from the question.",
            (_variant(lambda count, i, N, slots: i),),
        ),
        Misconception(
            "the age ignores the story's length",
            "You count from the end of the *batch*, $N - 1 - i$. In a story that is shorter than its neighbours the "
            "last sentence is not the youngest any more: padding lies between it and the question.",
            (_variant(lambda count, i, N, slots: N - 1 - i),),
        ),
        Misconception(
            "the age starts at 1",
            "Your last sentence has age 1, and `times[0]` is never used: `count - i` where `count - 1 - i` is meant. "
            "With a memory that is full the oldest one would fall out of the table.",
            (_variant(lambda count, i, N, slots: count - i),),
        ),
        Misconception(
            "padding has an age",
            "You changed the padding. Beyond the story the age is negative: as an index, $-1$ is the *last* row of "
            "`times`, the age of the oldest sentence there could be; clamped, it is the youngest one's.",
            (
                _variant(lambda count, i, N, slots: count - 1 - i, real=False),
                _variant(lambda count, i, N, slots: (count - 1 - i).clamp(min=0), real=False),
                _variant(lambda count, i, N, slots: (count - 1 - i).abs(), real=False),
            ),
        ),
        Misconception(
            "time runs from the beginning, also on padding",
            "You add `times[:N]` as it stands. Two things are lost: the last sentence has another vector in every "
            "story of another length, and padding is told a time.",
            (_variant(lambda count, i, N, slots: i, real=False),),
        ),
        Misconception(
            "the age ignores the story's length, also on padding",
            "You add `times[:N]` turned around. It is counted from the end of the batch: right for the longest story "
            "only, and padding is told a time.",
            (_variant(lambda count, i, N, slots: N - 1 - i, real=False),),
        ),
        Misconception(
            "the table is read from its end",
            "Your ages are counted from the last slot: you turned `times` around. How many slots there are has nothing "
            "to do with how long ago a sentence was told.",
            (
                _variant(lambda count, i, N, slots: slots - 1 - i),
                _variant(lambda count, i, N, slots: slots - 1 - i, real=False),
                _variant(lambda count, i, N, slots: slots - count + i),
            ),
        ),
        Misconception(
            "every sentence has the same time",
            "All your sentences have one and the same vector added. In a softmax that is a constant in every score: "
            "it changes nothing. Each needs the vector of its own age.",
            (_variant(lambda count, i, N, slots: 0 * i), _variant(lambda count, i, N, slots: count - 1 + 0 * i)),
        ),
        Misconception(
            "padding is set to zero",
            "The sentences are right; the padding has become zero. It was to be left as it is: a mask takes care of it "
            "where it is read, and until then it is none of time's business.",
            (lambda memory, times, count: add_time(memory, times, count) * _told(memory, count),),
        ),
        Misconception(
            "time is multiplied",
            "You multiply by $T(\\mathit{age})$. It is added: where a feature is zero, a product knows no age.",
            (_variant(lambda count, i, N, slots: count - 1 - i, join=torch.mul),),
        ),
        Misconception(
            "time is subtracted",
            "You subtract $T(\\mathit{age})$. A network that learns its own table would not mind; beside this one it "
            "is the opposite.",
            (_variant(lambda count, i, N, slots: count - 1 - i, join=torch.sub),),
        ),
        Misconception(
            "the words are replaced",
            "Your vectors are the ages alone: what the sentence says is gone. Time is added to it.",
            (
                _variant(lambda count, i, N, slots: count - 1 - i, join=lambda memory, time: time),
                _variant(lambda count, i, N, slots: (count - 1 - i).clamp(min=0), False, lambda memory, time: time),
            ),
        ),
    ),
)
