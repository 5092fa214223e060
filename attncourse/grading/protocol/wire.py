"""Messages between grader and student: a JSON header and the raw bytes of its tensors. Nothing is ever unpickled.

    12 bytes: size of the header, size of the tensors     header     tensors, one after another

The reader trusts nothing: sizes, dtypes, shapes, depth and number of items are bounded, and a tensor's bytes must be
exactly those that its shape asks for.
"""

import json
import math
import re
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ...exercises.engine.core import Fixture, Foreign

SIZES = struct.Struct("<IQ")
HEADER, BODY = 2 << 20, 64 << 20  # bytes
REPLY = 8 << 20  # of tensors in a reply; the inputs of all exercises are far smaller
ITEMS, DEPTH, TEXT, AXES = 4_000, 6, 20_000, 12
NAMES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
DTYPES = {name: getattr(torch, name) for name in NAMES}


class Broken(Exception):
    """The other side has gone, is late, or does not keep to the format."""


class Late(Broken):
    pass


class Gone(Broken):
    pass


class Channel:
    """One end of the socket."""

    def __init__(self, end: socket.socket):
        self.end = end

    def send(self, message: Any, seconds: float | None = None) -> None:
        parts: list[bytes] = []
        header = json.dumps(_pack(message, parts)).encode()
        self.end.settimeout(seconds)
        try:
            self.end.sendall(SIZES.pack(len(header), sum(map(len, parts))) + header)
            for part in parts:
                self.end.sendall(part)
        except OSError as error:
            raise Gone(f"it does not listen any more ({error})") from None

    def receive(self, seconds: float | None = None, header: int = HEADER, body: int = BODY) -> Any:
        until = None if seconds is None else time.monotonic() + seconds
        sizes = SIZES.unpack(self._read(SIZES.size, until))
        if sizes[0] > header or sizes[1] > body:
            raise Broken(f"a reply of {sum(sizes):,} bytes is more than an answer can be")
        text, data = self._read(sizes[0], until), self._read(sizes[1], until)
        try:
            return _Reader(memoryview(data)).message(json.loads(text))
        except (ValueError, TypeError, KeyError, RecursionError, RuntimeError, OverflowError) as error:
            raise Broken(f"a reply is not in the format of replies ({type(error).__name__})") from None

    def _read(self, size: int, until: float | None) -> bytearray:
        data, done = bytearray(), 0
        while done < size:  # in pieces: a size is not believed before its bytes are there
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise Late("no reply in time")
            self.end.settimeout(left)
            try:
                piece = self.end.recv(min(size - done, 1 << 20))
            except TimeoutError:
                raise Late("no reply in time") from None
            except OSError as error:
                raise Gone(str(error)) from None
            if not piece:
                raise Gone("the process has ended")
            data += piece
            done += len(piece)
        return data

    def silent(self) -> bool:
        """Is nothing waiting to be read? A reply that nobody asked for is forged."""
        self.end.setblocking(False)
        try:
            return not self.end.recv(1, socket.MSG_PEEK)  # nothing: it has ended, which the next reading will tell
        except BlockingIOError:
            return True
        except OSError:
            return True

    def close(self) -> None:
        self.end.close()


def _pack(value: Any, parts: list[bytes]) -> Any:
    """Tensors become ["tensor", dtype, shape] and their bytes; every list begins with what it is."""
    if isinstance(value, Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if name not in DTYPES:
            return ["foreign", f"tensor of {name}"]
        flat = value.detach().contiguous().reshape(-1)
        parts.append(flat.view(torch.uint8).numpy().tobytes())
        return ["tensor", name, list(value.shape)]
    if isinstance(value, (tuple, list)):
        return ["list", *(_pack(x, parts) for x in value)]
    if isinstance(value, Foreign):
        return ["foreign", value.type]
    if isinstance(value, Fixture):
        return ["fixture", value.make, list(value.args), value.seed, value.dtype]
    if isinstance(value, dict):
        return {str(name): _pack(x, parts) for name, x in value.items()}
    if isinstance(value, bytes):
        parts.append(value)
        return ["bytes", len(value)]
    return value


@dataclass
class _Reader:
    data: memoryview
    at: int = 0
    items: int = field(default=0)

    def message(self, header: Any) -> Any:
        value = self.read(header, 0)
        if self.at != len(self.data):
            raise ValueError("bytes are left over")
        return value

    def read(self, value: Any, depth: int) -> Any:
        self.items += 1
        if self.items > ITEMS or depth > DEPTH:
            raise ValueError("too much of it")
        if isinstance(value, dict):
            return {text(name, 200): self.read(x, depth + 1) for name, x in value.items()}
        if isinstance(value, list):
            kind, *rest = value
            if kind == "list":
                return tuple(self.read(x, depth + 1) for x in rest)
            kinds: dict[str, Callable] = {
                "tensor": self.tensor,
                "foreign": self.foreign,
                "fixture": self.fixture,
                "bytes": self.take,
            }
            return kinds[kind](*rest)
        if isinstance(value, str):
            return text(value)
        if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
            return value
        raise ValueError("not a value")

    def take(self, size: int) -> bytes:
        if type(size) is not int or not 0 <= size <= len(self.data) - self.at:
            raise ValueError("not so many bytes")
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def tensor(self, name: str, shape: list) -> Tensor:
        if len(shape) > AXES or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise ValueError("not a shape")
        dtype, count = DTYPES[name], math.prod(shape)
        data = bytearray(self.take(count * dtype.itemsize))
        if not count:
            return torch.empty(shape, dtype=dtype)
        if dtype is torch.bool:  # a byte may be neither 0 nor 1
            return (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(shape)
        return torch.frombuffer(data, dtype=dtype).reshape(shape)

    def foreign(self, name: str) -> Foreign:
        return Foreign(identifier(name))

    def fixture(self, make: str, args: list, seed: int, dtype: str) -> Fixture:
        return Fixture(text(make, 200), tuple(args), seed, text(dtype, 20))


def text(value: Any, most: int = TEXT) -> str:
    """A text of bounded length without control characters, surrogates or characters that turn the line around."""
    if not isinstance(value, str):
        raise ValueError("not a text")
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value[:most])


def identifier(value: Any) -> str:
    """The name of a type, as it will stand in a text with markup: letters, digits, dots and underscores."""
    return re.sub(r"[^\w. ]", "", text(value, 100))
