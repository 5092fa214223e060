"""torch.nn.functional: layers and losses as functions, made of the operations of the other modules."""

import math

from .. import dtypes
from ..linalg import vector_norm
from ..pointwise import where
from ..reduce import log_softmax, softmax, sum_
from ..tensor import FUNCTIONS, flat, wrap
from ..unknown import getter
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_embedding_loss,
    kl_div,
    l1_loss,
    logsigmoid,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from .windows import (
    adaptive_avg_pool2d,
    affine_grid,
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv2d,
    grid_sample,
    max_pool1d,
    max_pool2d,
    pad,
    unfold,
)

__all__ = [
    "adaptive_avg_pool2d",
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "grid_sample",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "log_softmax",
    "logsigmoid",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "pad",
    "smooth_l1_loss",
    "softmax",
    "unfold",
]
__getattr__ = getter("torch.nn.functional")
_stack, _cat, zeros_like = FUNCTIONS["stack"], FUNCTIONS["cat"], FUNCTIONS["zeros_like"]

tanh, sigmoid = FUNCTIONS["tanh"], FUNCTIONS["sigmoid"]


def relu(input, inplace=False):
    return input.relu_() if inplace else input.relu()


# --- functions of one number -----------------------------------------------------------------------


def softplus(input, beta=1.0, threshold=20.0):
    scaled = input * beta
    # Far to the right it is a straight line; where() would still follow exp() there, so exp() never sees it.
    large = scaled > threshold
    soft = (where(large, 0.0, scaled).exp().log1p()) / beta
    return where(large, input, soft)


def silu(input, inplace=False):
    return input * input.sigmoid()


def gelu(input, approximate="none"):
    if approximate == "tanh":
        return 0.5 * input * (1 + (math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)).tanh())
    return 0.5 * input * (1 + (input / math.sqrt(2)).erf())


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return where(input > 0, input, input * negative_slope)


def elu(input, alpha=1.0, inplace=False):
    return where(input > 0, input, alpha * input.clamp(max=0).expm1())


def relu6(input, inplace=False):
    return input.clamp(0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return input.clamp(min_val, max_val)


def dropout(input, p=0.5, training=True, inplace=False):
    if not training or p == 0:
        return input
    keep = FUNCTIONS["bernoulli"](zeros_like(input) + (1 - p))
    return input * (keep / (1 - p) if p < 1 else keep)


def glu(input, dim=-1):
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()


def softmin(input, dim):
    return softmax(-input, dim)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    noise = -(-FUNCTIONS["rand_like"](logits).log()).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = FUNCTIONS["scatter"](zeros_like(logits), dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


# --- vectors and tables ----------------------------------------------------------------------------


def linear(input, weight, bias=None):
    out = input @ weight.mT if weight.ndim > 1 else input @ weight
    return out if bias is None else out + bias


def bilinear(input1, input2, weight, bias=None):
    out = FUNCTIONS["einsum"]("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else out + bias


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if input.dtype.rank > 5 or input.dtype is dtypes.bool_:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dtypes.shown(input.dtype)}Tensor instead (while checking arguments for embedding)"
        )
    if any(not 0 <= i < weight.shape[0] for i in flat(input)):
        raise IndexError("index out of range in self")
    return weight[input]


def one_hot(tensor, num_classes=-1):
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    values = flat(tensor)
    if min(values, default=0) < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = max(values, default=-1) + 1 if num_classes == -1 else num_classes
    if max(values, default=-1) >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return wrap([int(v == i) for v in values for i in range(n)], (*tensor.shape, n), dtypes.int64)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    return input / vector_norm(input, p, dim, True).clamp_min(eps)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    a, b = FUNCTIONS["broadcast_tensors"](x1, x2)
    lengths = [vector_norm(x, 2, dim, True).clamp_min(eps) for x in (a, b)]
    return sum_((a / lengths[0]) * (b / lengths[1]), dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    n = len(normalized_shape)
    if tuple(input.shape[-n:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    dims = list(range(-n, 0))
    centred = input - input.mean(dims, keepdim=True)
    out = centred / (centred.square().mean(dims, keepdim=True) + eps).sqrt()
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def rms_norm(input, normalized_shape, weight=None, eps=None):
    dims = list(range(-len(normalized_shape), 0))
    eps = dtypes.finfo(input.dtype).eps if eps is None else eps
    out = input * (input.square().mean(dims, keepdim=True) + eps).rsqrt()
    return out if weight is None else out * weight


# --- attention -------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (FUNCTIONS["repeat_interleave"](x, times, -3) for x in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = wrap([True], (), dtypes.bool_).expand(scores.shape[-2:]).clone().tril()
    hidden = None
    if attn_mask is not None and attn_mask.dtype is dtypes.bool_:
        hidden = ~attn_mask
        scores = where(hidden, -math.inf, scores)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return dropout(_safe_softmax(scores), dropout_p) @ value


def _safe_softmax(scores):
    """A row that may attend to nothing gives zeros, in value and gradient."""
    nothing = (scores == -math.inf).all(-1, keepdim=True)
    return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))
