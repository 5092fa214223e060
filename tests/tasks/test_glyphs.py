"""Letters that are truly there, scripts that never meet, drawers that keep the letter, episodes that are fair."""

import unicodedata
from pathlib import Path

import matplotlib
import pytest
import torch
from matplotlib.ft2font import FT2Font
from torch.testing import assert_close

from attncourse.tasks import glyphs


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNCOURSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        glyphs.glyphs.cache_clear()
        yield
    glyphs.glyphs.cache_clear()


def test_train_and_test_scripts_are_apart():
    data, parts = glyphs.glyphs(), (glyphs.classes(), glyphs.classes(test=True))
    assert sorted(torch.cat(parts).tolist()) == list(range(len(data.codes)))
    assert len(parts[0]) > 500 and len(parts[1]) > 100
    for part, scripts in zip(parts, (glyphs.TRAIN, glyphs.TEST), strict=True):
        names = {glyphs.name(c).replace(" ", "_") for c in part}
        assert all(any(name.startswith(script) for script in scripts) for name in names)
    assert not set(glyphs.TRAIN) & set(glyphs.TEST)


def test_every_letter_is_in_the_font_and_is_not_its_empty_box():
    font = FT2Font(str(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf")), hinting_factor=1)
    font.set_size(36, 72)
    data, known = glyphs.glyphs(), font.get_charmap()
    box = next(code for code in range(0xE800, 0xF000) if code not in known)  # private use: nobody has it
    with pytest.warns(UserWarning, match="missing from (current )?font"):
        empty = glyphs.draw_letter(font, box)
    for code, first in zip(data.codes.tolist(), data.first.tolist(), strict=True):
        assert known.get(code) and unicodedata.category(chr(code)) in ("Lo", "Lu", "Ll")
        assert not torch.equal(data.images[first], empty)
    assert box not in glyphs.letters(font)


def test_no_two_letters_look_alike():
    data = glyphs.glyphs()
    plain = data.images[data.first]
    assert glyphs.distinct(plain) == list(range(len(plain)))
    assert glyphs.distinct(torch.cat([plain, plain[:7]])) == list(range(len(plain)))
    codes = data.codes.tolist()
    assert ord("O") in codes and ord("О") not in codes and ord("Օ") not in codes  # Latin; Cyrillic, Armenian


def test_letters_fill_twenty_pixels_in_the_middle():
    images = glyphs.glyphs().images
    sizes = []
    for line in ((images > 0).any(2), (images > 0).any(1)):
        before, after = line.int().argmax(1), line.flip(1).int().argmax(1)
        assert ((before - after).abs() <= 3).all()
        sizes.append(glyphs.SIDE - before - after)
    size = torch.maximum(*sizes)
    assert size.min() >= glyphs.INK - 2 and size.max() <= glyphs.INK


def test_styles_are_counted_right():
    data = glyphs.glyphs()
    assert len(data.images) == data.styles.sum() and torch.equal(data.first[1:], data.styles.cumsum(0)[:-1])
    assert data.styles.min() >= 1 and data.styles.max() > 4


def test_the_cache_is_used_and_a_damaged_one_made_anew(monkeypatch, tmp_path):
    made = glyphs.glyphs()
    calls = []
    monkeypatch.setattr(glyphs, "render", lambda: calls.append(1) or made)
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "new"))
    for expected in (1, 1):  # the second time it is read from disk
        glyphs.glyphs.cache_clear()
        assert all(map(torch.equal, glyphs.glyphs(), made)) and len(calls) == expected
    [file] = (tmp_path / "new").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    glyphs.glyphs.cache_clear()
    assert all(map(torch.equal, glyphs.glyphs(), made)) and len(calls) == 2
    (tmp_path / "file").touch()
    monkeypatch.setenv("ATTNCOURSE_CACHE", str(tmp_path / "file"))  # no folder can be made there
    glyphs.glyphs.cache_clear()
    assert all(map(torch.equal, glyphs.glyphs(), made)) and len(calls) == 3


@pytest.mark.parametrize("shots", [1, 5])
@pytest.mark.parametrize("test", [False, True])
def test_episodes(shots, test):
    found = glyphs.episodes(40, 3, 5, shots, queries=3, test=test)
    assert found.images.shape == (40, 5 * shots + 3, 28, 28) and 0 <= found.images.min() <= found.images.max() <= 1
    shown, asked = found.labels[:, : 5 * shots], found.labels[:, 5 * shots :]
    for b in range(40):
        assert sorted(shown[b].tolist()) == sorted(list(range(5)) * shots)
        assert len(set(asked[b].tolist())) == 3 and len(set(found.classes[b].tolist())) == 5
    assert set(found.classes.flatten().tolist()) <= set(glyphs.classes(test).tolist())
    assert len(set(map(tuple, shown.tolist()))) > 20  # the order of the shots says nothing
    assert all((asked[:, 0] == label).any() for label in range(5))
    again = glyphs.episodes(40, 3, 5, shots, queries=3, test=test)
    assert all(map(torch.equal, found, again))
    assert not torch.equal(found.images, glyphs.episodes(40, 4, 5, shots, queries=3, test=test).images)


def test_an_image_is_the_letter_of_its_label():
    """Without a change by hand, an episode's image is one of its letter's styles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glyphs, "by_hand", lambda images, *_: images)
        found = glyphs.episodes(10, 0, 5, 2, queries=5, test=True)
    data = glyphs.glyphs()
    for b in range(10):
        for image, label in zip(found.images[b], found.labels[b], strict=True):
            c = found.classes[b, label]
            styles = data.images[data.first[c] : data.first[c] + data.styles[c]] / 255
            assert (styles == image).flatten(1).all(1).any()


def test_more_letters_than_there_are_is_refused():
    with pytest.raises(ValueError, match="6 letters of 3"):
        glyphs.episodes(1, 0, 6, 1, among=glyphs.classes(True)[:3])


def test_a_drawer_of_no_strength_changes_nothing():
    images = glyphs.glyphs().images[:50] / 255
    assert_close(glyphs.by_hand(images, torch.Generator().manual_seed(0), 0.0), images, atol=1e-5, rtol=0)
    drawn = glyphs.by_hand(images, torch.Generator().manual_seed(0))
    assert (drawn - images).flatten(1).abs().mean(1).min() > 0.01


def test_the_eight_poses():
    image = torch.rand(28, 28)
    found = glyphs.pose(image.expand(8, 28, 28), torch.arange(8))
    turned = [torch.rot90(x, k) for x in (image, image.mT) for k in range(4)]
    assert all(any(torch.equal(a, b) for b in turned) for a in found)
    assert len({tuple(x.flatten().tolist()) for x in found}) == 8


def test_a_stream_asks_every_letter_once():
    source = glyphs.stream(240, 0)
    shots = set()
    for _ in range(6):
        batch = next(source)
        k = (batch.labels.shape[1] - 5) // 5
        shots.add(k)
        assert len(batch.images) == 240 // (5 * (k + 1))
        assert (batch.labels[:, -5:].sort(1).values == torch.arange(5)).all()
    assert shots == {1, 5}
