"""torch.nn.init: how weights begin."""

import math

from ..graph import no_grad
from ..unknown import getter

__getattr__ = getter("torch.nn.init")


def _written(write):
    def fill(tensor, *args, **kwargs):
        if tensor.values is not None:
            with no_grad():
                write(tensor, *args, **kwargs)
        return tensor

    return fill


uniform_ = _written(lambda x, a=0.0, b=1.0: x.uniform_(a, b))
normal_ = _written(lambda x, mean=0.0, std=1.0: x.normal_(mean, std))
constant_ = _written(lambda x, val: x.fill_(val))
zeros_ = _written(lambda x: x.zero_())
ones_ = _written(lambda x: x.fill_(1))


def _fans(tensor):
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor, gain=1.0):
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    gain = math.sqrt(2 / (1 + a * a)) if nonlinearity == "leaky_relu" else math.sqrt(2)
    bound = gain * math.sqrt(3 / _fans(tensor)[0 if mode == "fan_in" else 1])
    return uniform_(tensor, -bound, bound)
