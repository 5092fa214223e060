"""AER: how far a set of links is from what people marked as sure and as possible."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def alignment_error(found, sure, possible):
    hits = (found & sure).sum() + (found & possible).sum()
    return (1 - hits / (found.sum() + sure.sum())).item()


def _by_sets(found, sure, possible):
    A, S, P = ({tuple(x) for x in m.nonzero().tolist()} for m in (found, sure, possible))
    return 1.0 - (len(A & S) + len(A & P)) / (len(A) + len(S))


def _by_numbers(found, sure, possible):
    a, s, p = (m.double().flatten() for m in (found, sure, possible))
    return 1 - (a @ s + a @ p) / (a.sum() + s.sum())


def _by_loop(found, sure, possible):
    hits = total = 0
    for a, s, p in zip(found.flatten(), sure.flatten(), possible.flatten(), strict=True):
        hits += int(a and s) + int(a and p)
        total += int(a) + int(s)
    return 1 - hits / total


def _each(rate):
    """The same rate sentence by sentence, then the mean."""

    def mean(found, sure, possible):
        rows = zip(found, sure, possible, strict=True)
        return torch.stack([torch.as_tensor(rate(*row), dtype=torch.float32) for row in rows]).mean()

    return mean


def _f_measure(found, sure, possible):
    precision, recall = (found & possible).sum() / found.sum(), (found & sure).sum() / sure.sum()
    return 1 - 2 * precision * recall / (precision + recall)


def _case(kind, seed, N=4, T=6, S=7, wrong=0.3, extra=0.15):
    """Alignments as they come: one link a word, some of them wrong, some words with a second possible one."""
    rng = torch.Generator().manual_seed(seed)
    truth = torch.randint(S, (N, T), generator=rng)
    sure = torch.nn.functional.one_hot(truth, S).bool()
    doubtful = torch.rand(N, T, 1, generator=rng) < 0.25
    possible = sure | (torch.rand(N, T, S, generator=rng) < extra)
    sure = sure & ~doubtful
    slip = torch.rand(N, T, generator=rng) < wrong
    chosen = torch.where(slip, torch.randint(S, (N, T), generator=rng), truth)
    found = torch.nn.functional.one_hot(chosen, S).bool()
    words = torch.randint(2, T + 1, (N, 1, 1), generator=rng) if N > 1 else T  # padding: no links at all
    real = torch.arange(T)[None, :, None] < words
    return Case(kind, {"found": found & real, "sure": sure & real, "possible": possible & real})


def _cases(seed):
    perfect = _case("links that are all right", seed + 4, wrong=0.0)
    perfect.inputs["found"] = perfect.inputs["sure"].clone()
    return [
        _case("a few sentences", seed),
        _case("one sentence", seed + 1, N=1),
        _case("many mistakes", seed + 2, wrong=0.8),
        _case("many possible links", seed + 3, extra=0.5),
        perfect,
        _case("sentences of very different lengths", seed + 5, N=6, T=12, S=9, wrong=0.5),
    ]


EXERCISE = Exercise(
    id="luong.alignment-error",
    title="The alignment error rate",
    points=2,
    task=r"""
People who align sentences by hand mark *sure* links and *possible* ones (du: "of"? "the"? neither would be wrong).
A machine's links $A$ are judged against the sure ones $S$ and the possible ones $P \supseteq S$, all sentences
together:

$$\mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}$$

| argument | |
|---|---|
| `found`, `sure`, `possible` | bool (N, T, S): sentence, target word, source word; `True` where there is a link |
| returns `rate` | one number; 0 is perfect |
""",
    stub="""
def alignment_error(found, sure, possible):
    ...  # your code: one number
""",
    hints=(
        "An intersection of two bool tensors is `&`, the size of a set is `.sum()`.",
        "A found link that is sure is also possible, so it counts twice in the numerator, and once in each part of "
        "the denominator.",
        "`hits = (found & sure).sum() + (found & possible).sum()`. Sum over all sentences before you divide.",
    ),
    solution=alignment_error,
    spellings=(_by_sets, _by_numbers, _by_loop),
    axes={"found": "N T S", "sure": "N T S", "possible": "N T S"},
    returns=(Output("rate", ""),),
    cases=_cases,
    wrong=(
        Misconception(
            "a quality, not an error",
            "Your number is one minus the AER: it is 1 where all is right. The *error* rate is 0 there.",
            (lambda **inputs: 1 - alignment_error(**inputs),),
        ),
        Misconception(
            "each sentence's rate is averaged",
            "You compute a rate for every sentence and take the mean. Then a link of a short sentence weighs more "
            "than one of a long sentence. The published figures count all links of the corpus together and divide "
            "once.",
            (_each(alignment_error),),
        ),
        Misconception(
            "only precision is measured",
            "Your number is the share of found links that are not possible. It never asks what was *missed*: one "
            "single safe link in the whole corpus would score a perfect 0.",
            (
                lambda found, sure, possible: 1 - (found & possible).sum() / found.sum(),
                lambda found, sure, possible: 1 - (found & sure).sum() / found.sum(),
            ),
        ),
        Misconception(
            "only recall is measured",
            "Your number is the share of sure links that were not found. It never asks what was invented: a machine "
            "that links every word with every word would score a perfect 0.",
            (lambda found, sure, possible: 1 - (found & sure).sum() / sure.sum(),),
        ),
        Misconception(
            "one minus the F-measure",
            "You take the harmonic mean of precision and recall. It is close, and equal where as many links are found "
            "as are sure. The AER adds the two numerators and the two denominators and divides once.",
            (_f_measure,),
        ),
        Misconception(
            "possible links must be found, too",
            "Your denominator counts the possible links where the formula has the sure ones. Nobody has to find a "
            "possible link; it is there so that finding it is not punished.",
            (
                lambda found, sure, possible: 1 - ((found & sure).sum() + (found & possible).sum())
                / (found.sum() + possible.sum()),
                lambda found, sure, possible: 1 - 2 * (found & possible).sum() / (found.sum() + possible.sum()),
            ),
        ),
        Misconception(
            "possible links are counted as mistakes",
            "You use the sure links for everything. A found link that is possible but not sure is then an error, "
            "though whoever made the gold alignment said that it would do.",
            (lambda found, sure, possible: 1 - 2 * (found & sure).sum() / (found.sum() + sure.sum()),),
        ),
        Misconception(
            "cells without a link count as right",
            "Your number is a share of all cells, most of which are empty in every alignment. That makes everybody "
            "look good: with S source words, no link at all is already right in most of them.",
            (
                lambda found, sure, possible: (found != sure).float().mean(),
                lambda found, sure, possible: (found == sure).float().mean(),
                lambda found, sure, possible: (found & ~possible | sure & ~found).float().mean(),
            ),
        ),
    ),
)  # fmt: skip
