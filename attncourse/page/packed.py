"""Plain data with tensors inside, as bytes: a JSON of the structure, then the tensors' numbers one after the other.

Read and written alike by PyTorch and by the page's torch: whichever is called `torch` here.
"""

import json
from array import array
from collections.abc import Callable
from typing import Any

LETTERS = {"float32": "f", "float64": "d", "bool": "b", "int64": "q"}
NARROW = (("b", 7), ("h", 15), ("i", 31), ("q", 63))  # whole numbers are stored in the smallest that holds them


def pack(data: Any, fit: Callable = lambda tensor, numbers: numbers) -> bytes:
    """`fit` may round a tensor's numbers, so that they compress better."""
    blobs: list[bytes] = []
    text = json.dumps(_plain(data, blobs, fit), separators=(",", ":"), ensure_ascii=False).encode()
    return len(text).to_bytes(4, "little") + text + b"".join(blobs)


def _plain(data: Any, blobs: list[bytes], fit: Callable) -> Any:
    if isinstance(data, dict):
        return {"d": [[key, _plain(value, blobs, fit)] for key, value in data.items()]}
    if isinstance(data, (list, tuple)):
        return [_plain(value, blobs, fit) for value in data]
    if not hasattr(data, "dtype"):
        if data is None or isinstance(data, (bool, int, float, str)):
            return {"n": str(data)} if isinstance(data, float) and data - data != 0 else data
        raise TypeError(f"{type(data).__name__} is no plain data")
    numbers, kind = fit(data, data.detach().flatten().tolist()), str(data.dtype).removeprefix("torch.")
    letter = LETTERS[kind]
    if letter == "q":
        largest = max((abs(n) for n in numbers), default=0)
        letter = next(x for x, bits in NARROW if largest < 1 << bits)
    blobs.append(array(letter, numbers).tobytes())
    return {"t": [kind, letter, list(data.shape)]}


def unpack(packed: bytes) -> Any:
    import torch

    size = int.from_bytes(packed[:4], "little")
    rest = memoryview(packed)[4 + size :]

    def read(kind: str, letter: str, shape: list[int]):
        nonlocal rest
        numbers, count = array(letter), 1
        for n in shape:
            count *= n
        numbers.frombytes(rest[: count * numbers.itemsize])
        rest = rest[count * numbers.itemsize :]
        return torch.tensor(numbers.tolist(), dtype=getattr(torch, kind)).reshape(shape)

    def whole(data: Any) -> Any:
        if isinstance(data, list):
            return [whole(value) for value in data]
        if not isinstance(data, dict):
            return data
        if "d" in data:
            return {key: whole(value) for key, value in data["d"]}
        return read(*data["t"]) if "t" in data else float(data["n"])

    return whole(json.loads(bytes(packed[4 : 4 + size])))
