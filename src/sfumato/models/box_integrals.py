"""Probabilities of boxes under a normal by quasi-random points, as near as one likes.

The sequential importance sampler of Geweke, Hajivassiliou and Keane goes through a box coordinate by coordinate: the
mass of its interval given the ones before, and a place in that interval drawn by a quasi-random number.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import qmc

from sfumato.models.normal_tables import cdf, quantile
from sfumato.schema.layout import FloatArray

DRAWN_AT_ONCE = 1 << 18  # coordinates of rows, which stay in the processor's cache
FEWEST_BOXES = 64  # at once, of however many coordinates
UNDERFLOW = 37.0  # beyond this the normal tail underflows
LEAST = 1e-5  # a mass below this would lose digits as a difference of the CDF, and is taken by logarithms
MULTIPLIED = 32  # masses of at least LEAST, before the logarithm of their product is taken


def sobol_points(dim: int, log2: int) -> FloatArray:
    """A fixed scrambled Sobol set, (points, dim), moved off the edges of the unit cube."""
    points = qmc.Sobol(dim, seed=0).random_base2(log2)
    return np.clip(points, 2.0**-20, 1.0 - 2.0**-20)


def drawn_log_masses(factor: FloatArray, low: FloatArray, high: FloatArray, uniform: FloatArray) -> FloatArray:
    """Log probability of boxes under the centred normal with a Cholesky factor.

    Args:
        factor: The lower factor of the covariance.
        low: (coordinates, rows), where boxes begin.
        high: (coordinates, rows), where they end.
        uniform: Points of the unit cube, (points, at least as many coordinates).

    Returns:
        One number a row.
    """
    together = max(FEWEST_BOXES, DRAWN_AT_ONCE // max(1, len(low) * len(uniform)))
    found = np.zeros(low.shape[1])
    for start in range(0, len(found), together):
        rows = slice(start, start + together)
        found[rows] = _log_masses(factor, low[:, rows], high[:, rows], uniform)
    return found


def _log_masses(factor: FloatArray, low: FloatArray, high: FloatArray, uniform: FloatArray) -> FloatArray:
    (dim, rows), points = low.shape, len(uniform)
    drawn = np.empty((dim, points * rows))
    log_weight, weight = np.zeros((points, rows)), np.ones((points, rows))
    for j, scale in enumerate(np.diagonal(factor)):
        centre = (factor[j, :j] @ drawn[:j]).reshape(points, rows)
        interval = _Interval((low[j] - centre) / scale, (high[j] - centre) / scale)
        drawn[j] = interval.place(uniform[:, j, None]).ravel()
        interval.weigh(weight, log_weight)
        if j % MULTIPLIED == MULTIPLIED - 1:
            log_weight += np.log(weight)
            weight[:] = 1.0
    log_weight += np.log(weight)
    peak = log_weight.max(axis=0)
    return np.asarray(peak + np.log(np.exp(log_weight - peak).mean(axis=0)))


class _Interval:
    """Intervals of a standard normal, (points, rows), from a to b.

    Masses that are no small difference are taken from tables, the others by logarithms, which keep their digits.
    """

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self.a, self.b = a, b
        self.below = cdf(a)
        self.mass = cdf(b) - self.below
        self.small = np.flatnonzero(self.mass < LEAST)

    def weigh(self, weight: FloatArray, log_weight: FloatArray) -> None:
        """Multiply weights by the masses Phi(b) - Phi(a); small ones go into the logarithms of weights."""
        if len(self.small):
            self.mass.ravel()[self.small] = 1.0
            log_weight.ravel()[self.small] += log_between(*self._small_ends)
        weight *= self.mass

    def place(self, uniform: FloatArray) -> FloatArray:
        """A number in every interval, by uniform ones; intervals above 0 are gone through from their upper end."""
        share = np.abs((self.a > 0) - uniform)  # 1 - uniform of those
        share *= self.mass
        share += self.below
        found = quantile(share)
        if len(self.small):
            each = uniform[self.small // self.mass.shape[1], 0]
            found.ravel()[self.small] = between(*self._small_ends, each)
        return found

    @property
    def _small_ends(self) -> tuple[FloatArray, FloatArray]:
        return self.a.ravel()[self.small], self.b.ravel()[self.small]


def between(a: FloatArray, b: FloatArray, uniform: FloatArray) -> FloatArray:
    """Standard normals between a and b, by inverting the CDF in the lower tail, where it keeps its digits."""
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    drawn = ndtri(ndtr(a) + uniform * (ndtr(b) - ndtr(a)))
    inside = np.clip(drawn, np.maximum(a, -UNDERFLOW), np.minimum(b, UNDERFLOW))
    return np.where(flip, -inside, inside)


def log_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """log(Phi(b) - Phi(a)) for a < b."""
    a, b = np.where(a > 0, -b, a), np.where(a > 0, -a, b)
    upper = log_ndtr(b)
    gap = np.minimum(log_ndtr(a) - upper, -1e-15)
    return np.asarray(upper + np.log(-np.expm1(gap)))
