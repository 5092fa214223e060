"""torch.distributions: the ones that the course draws from."""

import math

from .dtypes import finfo
from .reduce import log_softmax, softmax, sum_
from .tensor import FUNCTIONS
from .unknown import getter

__getattr__ = getter("torch.distributions")


class Categorical:
    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if logits is None:
            self.probs = probs / sum_(probs, -1, True)
            eps = finfo(probs.dtype).eps
            self.logits = self.probs.clamp(eps, 1 - eps).log()
        else:
            self.logits = log_softmax(logits, -1)
            self.probs = softmax(logits, -1)
        self.batch_shape = self.logits.shape[:-1]

    def log_prob(self, value):
        value = value.long().unsqueeze(-1)
        value, logits = FUNCTIONS["broadcast_tensors"](value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def sample(self, sample_shape=()):
        if sample_shape:
            return FUNCTIONS["stack"]([self.sample() for _ in range(math.prod(sample_shape))]).reshape(
                (*sample_shape, *self.batch_shape)
            )
        flat = self.probs.detach().reshape(-1, self.probs.shape[-1])
        return FUNCTIONS["multinomial"](flat, 1, True).reshape(self.batch_shape)

    def entropy(self):
        lowest = finfo(self.logits.dtype).min
        return -sum_(self.logits.clamp(min=lowest) * self.probs, -1)


class Normal:
    def __init__(self, loc, scale, validate_args=None):
        loc, scale = (FUNCTIONS["as_tensor"](x) for x in (loc, scale))
        if validate_args is not False and bool((scale <= 0).any()):
            raise ValueError(f"Expected parameter scale of distribution Normal to be positive, but found {scale}")
        self.loc, self.scale = FUNCTIONS["broadcast_tensors"](loc, scale)
        self.mean, self.stddev = self.loc, self.scale

    def log_prob(self, value):
        spread = self.scale**2
        return -((value - self.loc) ** 2) / (2 * spread) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def rsample(self, sample_shape=()):
        noise = FUNCTIONS["randn"]((*sample_shape, *self.loc.shape), dtype=self.loc.dtype)
        return self.loc + self.scale * noise

    def sample(self, sample_shape=()):
        return self.rsample(sample_shape).detach()

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Bernoulli:
    def __init__(self, probs=None, logits=None, validate_args=None):
        self.probs = logits.sigmoid() if probs is None else probs

    def log_prob(self, value):
        return value * self.probs.log() + (1 - value) * (1 - self.probs).log()

    def sample(self, sample_shape=()):
        return FUNCTIONS["bernoulli"](self.probs.detach().expand(*sample_shape, *self.probs.shape))
