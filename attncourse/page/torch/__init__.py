"""The page's torch: PyTorch's tensors in plain Python, for the exercises of this course.

In the page it is imported under the name `torch`, and nothing but Python's own library is needed. Every operation is
tested against PyTorch; what is missing says so. Numbers are lists, so it suits tensors that one could print.
"""

import math

from . import unknown
from .dtypes import NAMES, finfo, iinfo, promote_types, set_default_dtype
from .dtypes import default as get_default_dtype
from .graph import enable_grad, inference_mode, no_grad, set_grad_enabled
from .shapes import Size, broadcast
from .tensor import FUNCTIONS, Tensor, device

# isort: split
# Each of these adds its operations to Tensor and to FUNCTIONS; the order is that of who needs whom.
from . import create, views, pointwise, truth, reduce, order, indexing, choose, products, linalg, random, autograd  # noqa: I001
from .dtypes import dtype, meet
from .random import Generator, default_generator

globals().update({name: kind for name, kind in NAMES.items()})
globals().update(FUNCTIONS)

from . import nn, distributions  # noqa: E402, I001

__version__ = "0 (the page's small torch)"
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis, strided, preserve_format, contiguous_format = None, "strided", None, None
FloatTensor = LongTensor = BoolTensor = DoubleTensor = Tensor

__all__ = [
    "Generator", "Size", "Tensor", "autograd", "choose", "create", "default_generator", "device", "distributions",
    "dtype", "enable_grad", "finfo", "get_default_dtype", "iinfo", "indexing", "inference_mode", "linalg",
    "nn", "no_grad", "order", "pointwise", "products", "promote_types", "random", "reduce", "set_default_dtype",
    "set_grad_enabled", "truth", "views",
]  # fmt: skip


def is_grad_enabled():
    from .graph import mode

    return mode.enabled


def broadcast_shapes(*shapes):
    return broadcast(*(Size(shape if isinstance(shape, (tuple, list)) else (shape,)) for shape in shapes))


def result_type(tensor1, tensor2):
    return meet(tensor1, tensor2)


def numel(input):
    return input.numel()


def set_printoptions(**_):
    """Printing has one form here."""


conv1d, conv2d, relu = nn.functional.conv1d, nn.functional.conv2d, FUNCTIONS["relu"]
cosine_similarity = nn.functional.cosine_similarity
__getattr__ = unknown.getter("torch")
