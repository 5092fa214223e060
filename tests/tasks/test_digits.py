"""MNIST as it ships, and digits on larger grounds: pixel by pixel against loops."""

import hashlib
import json
import time

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from attncourse import zoo
from attncourse.tasks import digits
from attncourse.tasks.digits import DATA, Digits, compose, ink_box, inside, mnist, paste, sample, stream


def idx(images):
    """An idx file as the originals are: the header, then the bytes."""
    head = bytes([0, 0, 8, images.ndim]) + np.array(images.shape, ">i4").tobytes()
    return head + images.tobytes()


def test_mnist_is_the_original_bit_by_bit():
    facts = json.loads((DATA / "mnist.json").read_text())
    for split, stem in (("train", "train"), ("test", "t10k")):
        images, labels = mnist(split)
        names = f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"
        for name, array in zip(names, (images.numpy(), labels.numpy().astype(np.uint8)), strict=True):
            assert hashlib.sha256(idx(array)).hexdigest() == facts["original"][name]
    assert mnist("train")[0].shape == (60_000, 28, 28) and mnist("test")[1].bincount(minlength=10).min() == 892


def test_the_files_are_small_attributed_and_quick():
    sizes = [path.stat().st_size for path in DATA.glob("mnist-*.npz")]
    assert sum(sizes) < 12e6 and max(sizes) < 3.4e6
    assert "Attribution-ShareAlike 3.0" in (DATA / "README.md").read_text()
    mnist.cache_clear()
    started = time.process_time()
    mnist("train")
    assert time.process_time() - started < 2


def test_a_damaged_file_is_said_to_be_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "DATA", tmp_path)
    (tmp_path / "mnist.json").write_text((DATA / "mnist.json").read_text())
    mnist.cache_clear()
    with pytest.raises(digits.DamagedData, match=r"mnist-test-0.npz is missing or not the file"):
        mnist("test")
    (tmp_path / "mnist-test-0.npz").write_bytes((DATA / "mnist-test-0.npz").read_bytes()[:-1])
    with pytest.raises(digits.DamagedData, match="reinstall"):
        mnist("test")
    with pytest.raises(ValueError, match="'validation' is neither"):
        mnist("validation")


def test_paste_equals_a_loop():
    torch.manual_seed(0)
    ground, stamps, places = torch.rand(6, 9, 9), torch.rand(6, 4, 4), torch.randint(6, (6, 2))
    expected = ground.clone()
    for n in range(6):
        r, c = places[n].tolist()
        for i in range(4):
            for j in range(4):
                expected[n, r + i, c + j] = max(ground[n, r + i, c + j], stamps[n, i, j])
    before = ground.clone()
    assert_close(paste(ground, stamps, places), expected)
    assert ground.equal(before)


def test_boxes_equal_a_search():
    images = torch.rand(20, 7, 9, generator=torch.Generator().manual_seed(0))
    images = images * (images > 0.93)
    images[0] = 0
    images[0, 6, 8] = 0.1  # a single pixel in the corner
    for image, box in zip(images, ink_box(images), strict=True):
        if image.any():
            rows, columns = image.nonzero().T
            expected = [rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]
            assert box.tolist() == [int(x) for x in expected]
    mask = inside(torch.tensor([[1, 2, 3, 6]]), 8)
    expected = torch.zeros(1, 8, 8, dtype=torch.bool)
    expected[0, 1:3, 2:6] = True
    assert mask.equal(expected)


@pytest.mark.parametrize("size", [28, 40, 60])
def test_a_lonely_digit_is_the_mnist_digit_and_its_box_holds_all_ink(size):
    found = sample(200, seed=3, size=size, held_out=True)
    assert found.images.shape == (200, 1, size, size) and found.images.dtype == torch.float32
    assert 0 <= found.images.min() and found.images.max() <= 1
    assert ink_box(found.images[:, 0]).equal(found.boxes)
    images, labels = mnist("test")
    cuts = [image[t:b, s:r] for image, (t, s, b, r) in zip(images, ink_box(images).tolist(), strict=True)]
    library = {(int(label), cut.shape, cut.numpy().tobytes()) for label, cut in zip(labels, cuts, strict=True)}
    for image, label, (top, left, bottom, right) in zip(*found, strict=True):
        cut = (image[0, top:bottom, left:right] * 255).round().byte()
        assert (int(label), cut.shape, cut.numpy().tobytes()) in library


def test_clutter_lies_over_the_digit_and_outside_its_box():
    plain, among = sample(300, seed=1), sample(300, seed=1, clutter=4)
    assert among.boxes.equal(plain.boxes) and among.labels.equal(plain.labels)
    assert (among.images >= plain.images).all()  # clutter adds ink, it erases none
    outside = ~inside(among.boxes, 40)[:, None]
    assert ((among.images * outside).flatten(1).amax(1) > 0).float().mean() > 0.95
    assert (among.images - plain.images).ne(0).flatten(1).sum(1).max() <= 4 * 64


def test_seeds_splits_and_places():
    a, b, c = sample(50, 0), sample(50, 0), sample(50, 1)
    assert all(x.equal(y) for x, y in zip(a, b, strict=True)) and not a.images.equal(c.images)
    places = sample(4_000, 5, size=60).boxes[:, :2].float().mean(0)
    assert ((places - 16 - places.new_tensor([4, 7])).abs() < 2).all()  # spread evenly over 0..32 and the margin
    with pytest.raises(ValueError, match="28×28 pixels does not fit on a ground of 20×20"):
        sample(1, 0, size=20)
    with pytest.raises(ValueError, match="does not fit"):
        compose(torch.rand(1, 28, 28), torch.zeros(1), 27, 0, torch.Generator())


def test_a_stream_is_endless_seeded_and_zooms():
    first, again = stream(8, 0, zoom=(20, 36)), stream(8, 0, zoom=(20, 36))
    seen = [next(first) for _ in range(12)]
    assert all(isinstance(batch, Digits) and batch.images.shape == (8, 1, 40, 40) for batch in seen)
    assert next(again).images.equal(seen[0].images)
    heights = torch.stack([(b.boxes[:, 2] - b.boxes[:, 0]).float().median() for b in seen])
    assert heights.max() - heights.min() > 4
    assert all(b.images.min() >= 0 and b.images.max() <= 1 for b in seen)


def test_the_zoo_model_does_what_its_card_says():
    model, card = zoo.load("digits-cnn")
    assert card["metrics"]["accuracy"] >= 0.985 and card["metrics"]["gradcam_pointing"] >= 0.95
    assert card["parameters"] <= 150_000
    found = zoo.recipe("digits-cnn").evaluate(model, card["config"], seed=7, n=1_000)
    assert found["accuracy"] >= 0.98 and found["gradcam_pointing"] >= 0.94
    assert found.keys() == card["metrics"].keys()
