"""Probabilities of boxes under a normal, many rows at a time.

The sequential importance sampler of Geweke, Hajivassiliou and Keane goes through a box coordinate by coordinate: the
mass of its interval given the ones before, and a place in that interval drawn by a quasi-random number. Neighbouring
rows whose first coordinates are alike share what is found for these, so that sorted rows take less time; every row's
answer is its own.
"""

from __future__ import annotations

from math import prod

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import qmc

from sfumato.encoding.boxes import LOG_SQRT_2PI
from sfumato.models.normal_tables import cdf, quantile
from sfumato.schema.layout import FloatArray, IntArray

DRAWN_AT_ONCE = 1 << 18  # coordinates of rows, which stay in the processor's cache
FEWEST_BOXES = 64  # at once, of however many coordinates
UNDERFLOW = 37.0  # beyond this the normal tail underflows
LEAST = 1e-5  # a mass below this would lose digits as a difference of the CDF, and is taken by logarithms
FINITE = 0.7  # of ends: where fewer are, those that are not are set apart
SHARED = 0.75  # of rows: where so many differ, sharing costs more than it saves
MULTIPLIED = 32  # masses of at least LEAST, before the logarithm of their product is taken


def sobol_points(dim: int, log2: int) -> FloatArray:
    """A fixed scrambled Sobol set, (points, dim), moved off the edges of the unit cube."""
    points = qmc.Sobol(dim, seed=0).random_base2(log2)
    return np.clip(points, 2.0**-20, 1.0 - 2.0**-20)


def log_masses(factor: FloatArray, low: FloatArray, high: FloatArray, exact: int, uniform: FloatArray) -> FloatArray:
    """Log probability of boxes under the centred normal with a Cholesky factor.

    Args:
        factor: The lower factor of the covariance.
        low: (coordinates, rows), where boxes begin.
        high: (coordinates, rows), where they end.
        exact: How many coordinates, the first ones, are exactly `low`: of these it is a density.
        uniform: Points of the unit cube, (points, coordinates).

    Returns:
        One number a row.
    """
    dim, draws = len(low), len(uniform)
    together = int(np.clip(DRAWN_AT_ONCE // (dim * draws), FEWEST_BOXES, low.shape[1] or 1))
    drawn = _Drawn(dim, draws, together)
    found = np.empty(low.shape[1])
    for start in range(0, len(found), together):
        rows = slice(start, start + together)
        found[rows] = _log_masses(factor, low[:, rows], high[:, rows], exact, uniform, drawn)
    return found


class _Drawn:
    """The coordinates drawn so far, of rows that differ so far: in memory that is used again and again."""

    def __init__(self, dim: int, draws: int, rows: int) -> None:
        self._shape = dim, draws
        self._memory = [np.empty(dim * draws * rows) for _ in range(2)]

    def clear(self) -> None:
        """All rows are alike before the first coordinate."""
        self.all = self._room(1)

    def _room(self, rows: int) -> FloatArray:
        self._memory.reverse()
        return self._memory[0][: prod(self._shape) * rows].reshape(*self._shape, rows)

    def spread(self, known: int, parents: IntArray) -> None:
        """The same for more rows, of which each has what its parent had."""
        room = self._room(len(parents))
        np.take(self.all[:known], parents, axis=2, out=room[:known], mode="clip")
        self.all = room

    def centre(self, slopes: FloatArray) -> FloatArray:
        """(points, rows): a sum of the first coordinates."""
        dim, draws, rows = self.all.shape
        return np.asarray(slopes @ self.all.reshape(dim, -1)[: len(slopes)]).reshape(draws, rows)


def _log_masses(
    factor: FloatArray, low: FloatArray, high: FloatArray, exact: int, uniform: FloatArray, drawn: _Drawn
) -> FloatArray:
    drawn.clear()
    scales = np.diagonal(factor)
    slopes = factor / scales[:, None]
    log_weight, weight = np.zeros((len(uniform), 1)), np.ones((len(uniform), 1))
    mine = np.zeros(low.shape[1], dtype=np.int64)  # which of those that differ so far every row is
    for j, (first, now) in enumerate(_sharing(low, high)):
        if len(first) > log_weight.shape[1]:
            parents = mine[first]
            drawn.spread(j, parents)
            log_weight, weight = log_weight.take(parents, axis=1), weight.take(parents, axis=1)
        mine, place = now, drawn.all[j]
        centre, start = drawn.centre(slopes[j, :j]), low[j, first] / scales[j]
        if j < exact:
            np.subtract(start, centre, out=place)
            log_weight -= place**2 / 2.0 + (LOG_SQRT_2PI + np.log(scales[j]))
            continue
        interval = _Interval(start, high[j, first] / scales[j], centre)
        if j + 1 < len(low):
            place[:] = interval.place(uniform[:, j, None])
        interval.weigh(weight, log_weight)
        if j % MULTIPLIED == 0:
            log_weight += np.log(weight)
            weight[:] = 1.0
    log_weight += np.log(weight)
    peak = log_weight.max(axis=0)
    return np.asarray(peak + np.log(np.exp(log_weight - peak).mean(axis=0)))[mine]


def _sharing(low: FloatArray, high: FloatArray) -> list[tuple[IntArray, IntArray]]:
    """For each coordinate the rows that differ from their neighbour up to it, and which of them every row is alike."""
    rows = low.shape[1]
    everyone = np.arange(rows)
    differs = everyone == 0
    found = []
    for starts, ends in zip(low, high, strict=True):
        differs[1:] |= (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
        first = np.flatnonzero(differs)
        found.append((everyone, everyone) if len(first) > SHARED * rows else (first, np.cumsum(differs) - 1))
    return found


class _Interval:
    """Intervals of a standard normal, (points, rows): from a to b, which are ends less a centre.

    Masses that are no small difference are taken from tables, the others by logarithms, which keep their digits.
    """

    def __init__(self, low: FloatArray, high: FloatArray, centre: FloatArray) -> None:
        self.a, self.b = low - centre, high - centre
        self.below = _cdf(self.a, low)
        self.mass = _cdf(self.b, high) - self.below
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


def _cdf(x: FloatArray, ends: FloatArray) -> FloatArray:
    """The distribution function; nothing is looked up of rows whose end is infinite, where these are many."""
    finite = np.flatnonzero(np.isfinite(ends))
    if len(finite) > FINITE * len(ends):
        return cdf(x)
    found = np.empty_like(x)
    found[:] = ends > 0
    found[:, finite] = cdf(x.take(finite, axis=1))
    return found


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
