"""Probabilities of boxes under a normal as the books have them: slow, and nothing to be wrong in."""

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import truncnorm

from sfumato.models.box_integrals import UNDERFLOW
from sfumato.schema.layout import FloatArray


def plainly_matched(covariance: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Mendell and Elston's moments for one row: after each interval the rest is normal again."""
    mean, left, found = np.zeros(len(low)), covariance.copy(), 0.0
    for j in range(len(low)):
        scale = np.sqrt(left[j, j])
        a, b = (low[j] - mean[j]) / scale, (high[j] - mean[j]) / scale
        inner, variance = truncnorm.stats(a, b, moments="mv")
        found += _log_mass(a, b)
        slope = left[:, j] / scale
        mean = mean + slope * inner
        left = left - np.outer(slope, slope) * (1.0 - variance)
    return found


def plainly_drawn(factor: FloatArray, low: FloatArray, high: FloatArray, uniform: FloatArray) -> float:
    """The sampler of Geweke, Hajivassiliou and Keane for one row, every tail by its logarithm."""
    e = np.zeros((len(uniform), len(low)))
    log_weight = np.zeros(len(uniform))
    for j in range(len(low)):
        centre = e[:, :j] @ factor[j, :j]
        a, b = (low[j] - centre) / factor[j, j], (high[j] - centre) / factor[j, j]
        for i in range(len(uniform)):
            sign = -1.0 if a[i] > 0 else 1.0
            x, y = sorted((sign * a[i], sign * b[i]))
            log_weight[i] += _log_mass(x, y)
            drawn = ndtri(ndtr(x) + uniform[i, j] * (ndtr(y) - ndtr(x)))
            e[i, j] = sign * np.clip(drawn, max(x, -UNDERFLOW), min(y, UNDERFLOW))
    return float(np.log(np.mean(np.exp(log_weight - log_weight.max()))) + log_weight.max())


def _log_mass(a: float, b: float) -> float:
    x, y = sorted((-a, -b)) if a > 0 else (a, b)
    return float(log_ndtr(y) + np.log(-np.expm1(min(log_ndtr(x) - log_ndtr(y), -1e-15))))
