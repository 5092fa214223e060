"""What is written on the arrows: shapes of real tensors, in letters. Computed by running the model, never typed.

The model is built with sizes that differ from each other, so that each size of a tensor tells which axis it is.
"""

from collections.abc import Mapping

from torch import Tensor


def in_letters(tensor: Tensor, letters: Mapping[int, str]) -> str:
    """The shape with a letter for each size: (2, 5, 14) is "(B, S, 2H)" with B = 2, S = 5, H = 7."""
    unknown = [size for size in tensor.shape if size not in letters and size != 1]
    if unknown:
        known = ", ".join(f"{letter} = {size}" for size, letter in letters.items())
        raise ValueError(f"a tensor has shape {tuple(tensor.shape)}; which axis is {unknown[0]}? There are: {known}")
    names = [letters.get(size, "1") for size in tensor.shape]
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def all_in_letters(tensors: Mapping[str, Tensor], letters: Mapping[int, str]) -> dict[str, str]:
    return {name: in_letters(tensor, letters) for name, tensor in tensors.items()}
