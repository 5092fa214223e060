"""Types of arguments: from the text that was typed to a value, or one sentence about what is wrong with it."""

import argparse
import math
from pathlib import Path

MOST = 2**63 - 1  # a seed beyond this is none for torch


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seed(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {MOST}")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above zero")
    return value


def path(text: str) -> Path:
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a file or folder")
    return Path(text)


def device(text: str) -> str:
    """A device that exists here; the import of torch is paid only by those who name one."""
    import torch

    try:
        torch.empty(0, device=text)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise argparse.ArgumentTypeError(
            f"there is no device {text!r} here; cpu always works, cuda and mps where torch finds one"
        ) from None
    return text
