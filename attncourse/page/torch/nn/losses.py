"""Losses, as functions."""

from .. import dtypes
from ..choose import gather
from ..pointwise import where
from ..reduce import log_softmax, sum_
from ..tensor import flat


def logsigmoid(input):
    return input.clamp(max=0) - (-input.abs()).exp().log1p()


def _reduce(each, reduction):
    ways = {"none": lambda x: x, "mean": lambda x: x.mean(), "sum": lambda x: x.sum()}
    if reduction not in ways:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return ways[reduction](each)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    d = 1 if input.ndim > 1 else 0
    if target.shape != (*input.shape[:d], *input.shape[d + 1 :]):
        if input.ndim > 1 and target.shape[:1] != input.shape[:1]:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]})."
            )
        raise RuntimeError(
            f"input and target shapes do not match: input {list(input.shape)}, target {list(target.shape)}"
        )
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.shown(target.dtype)}")
    real = target != ignore_index
    for i, keep in zip(flat(target), flat(real), strict=True):
        if keep and not 0 <= i < input.shape[d]:
            raise IndexError(f"Target {i} is out of bounds.")
    chosen = where(real, target, 0)
    each = -gather(input, d, chosen.unsqueeze(d)).squeeze(d)
    counts = real.to(input.dtype) if weight is None else where(real, weight[chosen], 0.0)
    each = where(real, each * (1 if weight is None else counts), 0.0)
    return each.sum() / counts.sum() if reduction == "mean" else _reduce(each, reduction)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    d = 1 if input.ndim > 1 else 0
    logs = log_softmax(input, d)
    if target.dtype.is_floating_point:
        if target.shape != input.shape:
            raise RuntimeError("Expected floating point type for target with class probabilities of the input's shape")
        each = -sum_(logs * target, d)
        return each.sum() / max(each.numel(), 1) if reduction == "mean" else _reduce(each, reduction)
    hard = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return hard
    real = target != ignore_index
    soft = where(real, -logs.mean(d), 0.0)
    soft = soft.sum() / real.sum() if reduction == "mean" else _reduce(soft, reduction)
    return (1 - label_smoothing) * hard + label_smoothing * soft


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduce((input - target).square(), reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _reduce((input - target).abs(), reduction)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    gap = (input - target).abs()
    return _reduce(where(gap < beta, 0.5 * gap.square() / beta, gap - 0.5 * beta), reduction)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    each = -(target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100))
    return _reduce(each if weight is None else each * weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean", pos_weight=None):
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    each = (1 - target) * input - logsigmoid(input)
    return _reduce(each if weight is None else each * weight, reduction)


def kl_div(input, target, reduction="mean", log_target=False):
    if log_target:
        each = target.exp() * (target - input)
    else:
        each = where(target > 0, target * (where(target > 0, target, 1.0).log() - input), 0.0)
    return each.sum() / len(input) if reduction == "batchmean" else _reduce(each, reduction)


def hinge_embedding_loss(input, target, margin=1.0, reduction="mean"):
    return _reduce(where(target == 1, input, (margin - input).clamp(min=0)), reduction)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction="mean"):
    return _reduce((-target * (input1 - input2) + margin).clamp(min=0), reduction)
