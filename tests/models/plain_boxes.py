"""The sampler of Geweke, Hajivassiliou and Keane as the books have it: slow, and nothing to be wrong in."""

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from sfumato.models.box_integrals import UNDERFLOW
from sfumato.schema.layout import FloatArray


def plainly(factor: FloatArray, low: FloatArray, high: FloatArray, exact: int, uniform: FloatArray) -> float:
    """The sampler for one row, every tail by its logarithm."""
    e = np.zeros((len(uniform), len(low)))
    log_weight = np.zeros(len(uniform))
    for j in range(len(low)):
        centre = e[:, :j] @ factor[j, :j]
        a, b = (low[j] - centre) / factor[j, j], (high[j] - centre) / factor[j, j]
        if j < exact:
            log_weight -= a**2 / 2 + np.log(2 * np.pi) / 2 + np.log(factor[j, j])
            e[:, j] = a
            continue
        for i in range(len(uniform)):
            sign = -1.0 if a[i] > 0 else 1.0
            x, y = sorted((sign * a[i], sign * b[i]))
            log_weight[i] += log_ndtr(y) + np.log(-np.expm1(min(log_ndtr(x) - log_ndtr(y), -1e-15)))
            drawn = ndtri(ndtr(x) + uniform[i, j] * (ndtr(y) - ndtr(x)))
            e[i, j] = sign * np.clip(drawn, max(x, -UNDERFLOW), min(y, UNDERFLOW))
    return float(np.log(np.mean(np.exp(log_weight - log_weight.max()))) + log_weight.max())
