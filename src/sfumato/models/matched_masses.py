"""Probabilities of boxes under a normal by matching moments (Mendell and Elston 1974), many rows at a time.

A box is gone through coordinate by coordinate. Within its interval a coordinate is a truncated normal; what that says
of the coordinates after it is kept by their mean and covariance, as if they were normal still. That is exact where only
one interval is cut off or coordinates are independent, and the closer the narrower the intervals are that come first.
"""

from __future__ import annotations

import numpy as np

from sfumato.encoding.boxes import LOG_SQRT_2PI
from sfumato.models.box_integrals import LEAST, MULTIPLIED, log_between
from sfumato.models.normal_tables import TABLED_REACH, cdf_and_density
from sfumato.schema.layout import FloatArray, IntArray

MATCHED_AT_ONCE = 1 << 21  # covariances of rows, which stay near the processor
FARTHEST = 1e9  # an end beyond this is as good as infinite


def matched_log_masses(factor: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Log probability of boxes under the centred normal with a Cholesky factor.

    Args:
        factor: The lower factor of the covariance.
        low: (coordinates, rows), where boxes begin.
        high: (coordinates, rows), where they end.

    Returns:
        One number a row.
    """
    together = max(1, MATCHED_AT_ONCE // max(1, len(low)) ** 2)
    found = np.zeros(low.shape[1])
    for start in range(0, len(found), together):
        rows = slice(start, start + together)
        found[rows] = _log_masses(factor, low[:, rows], high[:, rows])
    return found


def _log_masses(factor: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """With g[i] the covariances of coordinate i in units of its standard deviation, once those before it are cut off,
    m[i] its mean in these units and s[i] by how much its variance has shrunk, coordinate j has the mean
    sum over i < j of m[i] g[i, j] and the covariances covariance[j] - sum of s[i] g[i, j] g[i].
    """
    dim, rows = low.shape
    covariance, least = factor @ factor.T, np.diagonal(factor) ** 2  # of a coordinate where all before it are known
    g, means, shrinking = np.empty((dim, dim, rows)), np.empty((dim, rows)), np.empty((dim, rows))
    log_weight, weight = np.zeros(rows), np.ones(rows)
    for j in range(dim):
        before, mine = g[:j, j], g[j, j:]
        np.einsum("in,irn->rn", before * shrinking[:j], g[:j, j:], out=mine)
        np.subtract(covariance[j, j:, None], mine, out=mine)
        per_sd = 1.0 / np.sqrt(np.maximum(mine[0], least[j]))
        mine *= per_sd
        mean = np.einsum("in,in->n", means[:j], before)
        ends = np.stack([low[j] - mean, high[j] - mean])
        ends *= per_sd
        _cut(ends, weight, log_weight, means[j], shrinking[j])
        if j % MULTIPLIED == MULTIPLIED - 1:
            log_weight += np.log(weight)
            weight[:] = 1.0
    return np.asarray(log_weight + np.log(weight))


def _cut(ends: FloatArray, weight: FloatArray, log_weight: FloatArray, mean: FloatArray, shrinking: FloatArray) -> None:
    """Multiply weights by the masses of intervals of a standard normal, (2, rows), and find the mean in each and by how
    much its variance is below 1. Masses that are small differences go into the logarithms of weights.
    """
    inside = np.clip(ends, -TABLED_REACH, TABLED_REACH)
    below, density = cdf_and_density(inside)
    mass = np.subtract(below[1], below[0])
    small = np.flatnonzero(mass < LEAST)
    mass[small] = 1.0
    weight *= mass
    density /= mass
    np.subtract(density[0], density[1], out=mean)
    density *= inside
    np.subtract(density[1], density[0], out=shrinking)
    shrinking += mean * mean
    if len(small):
        _cut_small(ends, small, log_weight, mean, shrinking)
    np.clip(shrinking, 0.0, 1.0, out=shrinking)


def _cut_small(
    ends: FloatArray, small: IntArray, log_weight: FloatArray, mean: FloatArray, shrinking: FloatArray
) -> None:
    """The same of a few rows by logarithms, which keep their digits in the tails and in narrow intervals."""
    a, b = ends[:, small].clip(-FARTHEST, FARTHEST)
    log_mass = log_between(a, b)
    first, last = (np.exp(-(x**2) / 2.0 - LOG_SQRT_2PI - log_mass) for x in (a, b))
    inner = np.clip(first - last, a, b)
    # No truncated normal varies more than what is uniform in the same interval.
    variance = np.clip(1.0 + a * first - b * last - inner**2, 0.0, (b - a) ** 2 / 12.0)
    log_weight[small] += log_mass
    mean[small], shrinking[small] = inner, 1.0 - variance
