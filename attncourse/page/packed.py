"""Plain data with tensors inside, as few bytes: a JSON of the structure, and all numbers, kind by kind.

Equal tensors are written once, whole numbers in the smallest size that holds them, and the bytes of numbers are sorted
by their place in the number, since the first bytes are alike: all that helps the compression (zlib). Read and written
alike by PyTorch and by the page's torch: whichever is called `torch` here.
"""

import json
import zlib
from array import array
from math import prod
from typing import Any

WHOLE = (("b", 7), ("h", 15), ("i", 31), ("q", 63))  # array's letters, and the bits that each holds


def pack(data: Any) -> bytes:
    store = _Store()
    head: dict[str, Any] = {"data": _plain(data, store)}
    head["counts"] = {letter: len(numbers) for letter, numbers in store.numbers.items()}
    text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
    planes = b"".join(_sorted(numbers) for numbers in store.numbers.values())
    return zlib.compress(len(text).to_bytes(4, "little") + text + planes, 9)


class _Store:
    """All numbers of one kind in one array; what was stored before is found again."""

    def __init__(self) -> None:
        self.numbers: dict[str, array] = {}
        self.known: dict[tuple[str, bytes], int] = {}

    def add(self, letter: str, numbers: list) -> int:
        """-> where they begin"""
        new, all_ = array(letter, numbers), self.numbers.setdefault(letter, array(letter))
        start = self.known.setdefault((letter, new.tobytes()), len(all_))
        if start == len(all_):
            all_.extend(new)
        return start


def _plain(data: Any, store: _Store) -> Any:
    if isinstance(data, dict):
        return {"d": [[key, _plain(value, store)] for key, value in data.items()]}
    if isinstance(data, (list, tuple)):
        return [_plain(value, store) for value in data]
    if hasattr(data, "dtype"):
        numbers, kind = data.detach().flatten().tolist(), str(data.dtype).removeprefix("torch.")
        letter = _letter(numbers, kind)
        return {"t": [kind, letter, store.add(letter, numbers), list(data.shape)]}
    if isinstance(data, float) and data - data != 0:  # JSON knows no infinity
        return {"n": str(data)}
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    raise TypeError(f"{type(data).__name__} is no plain data")


def _letter(numbers: list, kind: str) -> str:
    if kind == "bool":
        return "b"
    if kind.startswith("float"):
        return "f" if array("f", numbers).tolist() == numbers or kind == "float32" else "d"
    largest = max((abs(n) for n in numbers), default=0)
    return next(letter for letter, bits in WHOLE if largest < 1 << bits)


def _sorted(numbers: array) -> bytes:
    raw, size = numbers.tobytes(), numbers.itemsize
    return b"".join(raw[i::size] for i in range(size))


def unpack(packed: bytes) -> Any:
    import torch

    raw = zlib.decompress(packed)
    at = 4 + int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4:at])
    numbers = {}
    for letter, count in head["counts"].items():
        found = array(letter)
        mixed = bytearray(count * found.itemsize)
        for i in range(found.itemsize):
            mixed[i :: found.itemsize] = raw[at : at + count]
            at += count
        found.frombytes(mixed)
        numbers[letter] = found

    def read(kind: str, letter: str, start: int, shape: list[int]):
        entries = numbers[letter][start : start + prod(shape)].tolist()
        return torch.tensor(entries, dtype=getattr(torch, kind)).reshape(shape)

    def whole(data: Any) -> Any:
        if isinstance(data, list):
            return [whole(value) for value in data]
        if not isinstance(data, dict):
            return data
        if "d" in data:
            return {key: whole(value) for key, value in data["d"]}
        return read(*data["t"]) if "t" in data else float(data["n"])

    return whole(head["data"])
