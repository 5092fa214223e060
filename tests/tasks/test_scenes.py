"""Scenes: every caption, every region and every split against a version written out by hand."""

import itertools

import pytest
import torch

from attncourse.core.symbols import BEGIN, END, PAD, UNKNOWN, shift_right
from attncourse.tasks import scenes
from attncourse.tasks.scenes import COLOURS, GRID, KINDS, PATCH, SHAPES, SIZE, UNSEEN, WORDS, Words


def some(n=40, count=3, seed=0, unseen=False):
    return scenes.draw(n, count, torch.Generator().manual_seed(seed), unseen)


def told(scene, n):
    """The caption by loops and strings, and for each word the shape that it names or None."""
    words, named = [], []
    places = [(int(c) // 3, int(c) % 3) for c in scene.cell[n]]
    assert places == sorted(places)  # reading order
    for k, (row, _) in enumerate(places):
        if k:
            words.append("above" if row > places[k - 1][0] else "beside")
            named.append(None)
        phrase = ["a"] + ["small"] * bool(scene.small[n, k])
        phrase += [list(COLOURS)[scene.colour[n, k]], SHAPES[scene.shape[n, k]]]
        words += phrase
        named += [None] + [k] * (len(phrase) - 1)
    return words, named


@pytest.mark.parametrize("count", scenes.COUNTS)
def test_captions_are_those_written_by_hand(count):
    drawn = some(count=count, seed=count)
    words, lengths, named = scenes.describe(drawn)
    for n, text in enumerate(Words().decode(words.tolist())):
        expected, names = told(drawn, n)
        assert text == " ".join(expected) and lengths[n] == len(expected) + 1
        assert words[n, lengths[n] - 1] == END and (words[n, lengths[n] :] == PAD).all()
        assert named[n, : len(names)].tolist() == [-1 if k is None else k for k in names]
        assert (named[n, len(names) :] == -1).all()


def test_the_example_of_the_docstring():
    of = lambda **x: {k: torch.tensor([v]) for k, v in x.items()}  # noqa: E731
    one = scenes.Scenes(
        **of(cell=[1, 7], colour=[0, 2], shape=[0, 1], small=[True, False]),
        box=torch.tensor([[[8.0, 24.0, 4.0], [40.0, 24.0, 7.0]]]),
    )
    assert Words().decode(scenes.describe(one)[0].tolist()) == ["a small red circle above a blue square"]


def test_words_are_encoded_and_decoded():
    texts = ["a small red circle above a blue square", "a cyan cross"]
    ids, lengths = Words().encode([text.split() for text in texts])
    assert lengths.tolist() == [9, 4] and Words().decode(ids.tolist()) == texts
    assert len(Words()) == UNKNOWN + 1 + len(WORDS) and len(set(WORDS)) == len(WORDS)


def test_the_ink_is_the_shape():
    """Pixel by pixel: full colour well inside, ground well outside, by the definition of each shape."""
    drawn = some(60, 4, seed=3)
    images = scenes.render(drawn)
    assert images.shape == (60, 3, SIZE, SIZE) and images.min() >= 0 and images.max() <= 1
    inside = {
        "circle": lambda y, x: y * y + x * x < 1,
        "square": lambda y, x: max(abs(y), abs(x)) < 0.88,
        "triangle": lambda y, x: y < 0.85 and 2 * abs(x) < 1 + y,
        "cross": lambda y, x: max(abs(y), abs(x)) < 1 and min(abs(y), abs(x)) < 0.36,
    }
    checked = 0
    for n in range(0, 60, 6):
        for i in range(0, SIZE, 3):
            for j in range(n % 3, SIZE, 3):
                sides = []  # on which side of each shape's outline, for this pixel and its surroundings
                for k in range(4):
                    row, column, radius = drawn.box[n, k].tolist()
                    near = [((i + 0.5 + di - row) / radius, (j + 0.5 + dj - column) / radius)
                            for di in (-1.2, 0, 1.2) for dj in (-1.2, 0, 1.2)]  # fmt: skip
                    sides.append([inside[SHAPES[drawn.shape[n, k]]](*at) for at in near])
                if not any(any(side) for side in sides):
                    assert images[n, :, i, j].tolist() == pytest.approx([scenes.GROUND] * 3)
                for k in (k for k in range(4) if all(sides[k])):
                    paint = list(COLOURS.values())[drawn.colour[n, k]]
                    assert images[n, :, i, j].tolist() == pytest.approx(list(paint), abs=1e-5)
                    checked += 1
    assert checked > 50


def test_a_region_is_the_patches_that_the_box_touches():
    drawn = some(30, 4, seed=5)
    found = scenes.regions(drawn).unflatten(-1, (GRID, GRID))
    for n in range(30):
        for k in range(4):
            row, column, radius = drawn.box[n, k].tolist()
            for i in range(GRID):
                for j in range(GRID):
                    touches = all(
                        low < middle + radius and low + PATCH > middle - radius
                        for low, middle in ((PATCH * i, row), (PATCH * j, column))
                    )
                    assert bool(found[n, k, i, j]) == touches
    assert found.sum(1).max() == 1  # no patch belongs to two shapes


def test_all_ink_lies_in_the_regions():
    drawn = some(50, 3, seed=6)
    ink = (scenes.render(drawn) - scenes.GROUND).abs().amax(1) > 1e-6  # (N, 48, 48)
    patches = ink.unflatten(1, (GRID, PATCH)).unflatten(3, (GRID, PATCH)).any(4).any(2)  # (N, 12, 12)
    covered = scenes.regions(drawn).any(1).view(-1, GRID, GRID)
    assert (patches & ~covered).float().mean() < 0.002  # a soft edge may reach half a pixel beyond the box
    assert (patches & covered).any((1, 2)).all()


def test_every_content_word_has_its_region_and_no_other_word_has():
    batch = scenes.sample(30, seed=2)
    content = {UNKNOWN + 1 + WORDS.index(w) for w in ("small", *COLOURS, *SHAPES)}
    for words, places in zip(batch.captions.tolist(), batch.regions, strict=True):
        assert [bool(place.any()) for place in places] == [word in content for word in words]
        sizes = places.sum(-1)[places.any(-1)]
        assert 4 <= sizes.min() and sizes.max() <= 16


def kinds(batch):
    return {
        (a, b)
        for text in Words().decode(batch.captions.tolist())
        for a, b in itertools.pairwise(text.split())
        if b in SHAPES
    }


def test_held_out_combinations_are_never_trained_on_and_always_tested():
    train, test, other = scenes.sample(900, 0), scenes.sample(900, 0, held_out=True), scenes.sample(300, 0, unseen=True)
    assert kinds(train) == kinds(test) == {*KINDS} - {*UNSEEN}
    assert kinds(other) == {*KINDS}
    for text in Words().decode(other.captions.tolist()):
        words = text.split()
        assert sum((a, b) in UNSEEN for a, b in itertools.pairwise(words)) == 1
    assert {c for c, _ in UNSEEN} < {*COLOURS} and {s for _, s in UNSEEN} == {*SHAPES}  # each alone is well known


def test_training_and_test_scenes_never_meet():
    def arrangements(held_out):
        rng, found = torch.Generator().manual_seed(1), set()
        for _ in range(20):
            part = scenes.choose(400, 2, rng, held_out, unseen=False)
            found |= {tuple(x) for x in torch.cat(part[:4], 1).int().tolist()}
        return found

    train, test = arrangements(False), arrangements(True)
    assert len(train) > 5000 and len(test) > 4000 and not train & test


def test_the_checksum_knows_one_arrangement_from_another():
    drawn = some(4000, 4, seed=9)
    share = scenes.is_held_out(drawn).float().mean()
    assert 0.09 < share < 0.16
    moved = drawn._replace(small=~drawn.small)
    assert (scenes.is_held_out(moved) != scenes.is_held_out(drawn)).any()
    shaken = drawn._replace(box=drawn.box + 0.1)  # the same arrangement, elsewhere in its cells
    assert (scenes.is_held_out(shaken) == scenes.is_held_out(drawn)).all()


def test_the_same_seed_gives_the_same_scenes():
    a, b, c = scenes.sample(30, 4), scenes.sample(30, 4), scenes.sample(30, 5)
    assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True)) and not torch.equal(a.images, c.images)
    first, again = next(scenes.stream(8, 0)), next(scenes.stream(8, 0))
    assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))


def scenes_of_the_test(batch):
    return kinds(batch) & {*UNSEEN}


def test_a_sample_holds_each_count_and_every_batch_mixes_them():
    batch = scenes.sample(10, 0, held_out=True)
    shapes = torch.isin(batch.captions, torch.tensor([UNKNOWN + 1 + WORDS.index(s) for s in SHAPES])).sum(1)
    assert sorted(shapes.tolist()) == [2] * 4 + [3] * 3 + [4] * 3
    stream, seen = scenes.stream(16, 1), []
    for _ in range(30):
        part = next(stream)
        count = (part.captions == UNKNOWN + 1 + WORDS.index("a")).sum(1)
        assert len(part.images) == 16 and len(count.unique()) > 1 and not scenes_of_the_test(part)
        seen += count.tolist()
    shares = [seen.count(c) / len(seen) for c in scenes.COUNTS]
    assert sum(shares) == 1 and min(shares) > 0.25
    assert (shift_right(batch.captions)[:, 0] == BEGIN).all()
