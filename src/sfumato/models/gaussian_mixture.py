"""A Gaussian per class in latent space: sampling, and probabilities of boxes and points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import qmc

from sfumato.bins import FloatArray, IntArray

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
DRAWS_LOG2 = 4  # 16 points for the integral over a box
CHUNK_ROWS = 4096
FAR = 37.0  # beyond this the normal tail underflows


@dataclass(frozen=True)
class GaussianMixture:
    """Class k has weight `weights[k]` and latent distribution N(means[k], covariances[k])."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def classes(self) -> int:
        return len(self.weights)

    @property
    def dim(self) -> int:
        return int(self.means.shape[1])

    @cached_property
    def factors(self) -> FloatArray:
        """Lower Cholesky factors of the covariances."""
        return np.asarray(np.linalg.cholesky(self.covariances), dtype=np.float64)

    def sample_classes(self, n: int, rng: np.random.Generator) -> IntArray:
        """The classes of n rows."""
        return rng.choice(self.classes, size=n, p=self.weights / self.weights.sum())

    def sample(self, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        """One latent row for each given class."""
        z = rng.standard_normal((len(labels), self.dim))
        for k in range(self.classes):
            mine = labels == k
            z[mine] = z[mine] @ self.factors[k].T + self.means[k]
        return z

    def log_boxes(
        self, k: int, low: FloatArray, high: FloatArray, is_point: np.ndarray[Any, np.dtype[np.bool_]]
    ) -> FloatArray:
        """Log probability under class k of a box for each row (a density in the point coordinates).

        Coordinate j of row i lies between low[i, j] and high[i, j], or is exactly low[i, j] where
        `is_point`. Points are conditioned on; the box that is left is integrated by the sequential
        importance sampler of Geweke, Hajivassiliou and Keane on a fixed set of quasi-random points, so the
        answer is the same each time, and no row's depends on the others.
        """
        uniform = _points(self.dim)
        found = np.empty(len(low))
        patterns, which = np.unique(is_point, axis=0, return_inverse=True)
        for p, pattern in enumerate(patterns):
            order = np.argsort(~pattern, kind="stable")  # exact coordinates first: less to integrate
            factor = np.linalg.cholesky(self.covariances[k][np.ix_(order, order)])
            mine = np.flatnonzero(which.ravel() == p)
            for start in range(0, len(mine), CHUNK_ROWS):
                rows = mine[start : start + CHUNK_ROWS]
                box = (low[rows] - self.means[k])[:, order], (high[rows] - self.means[k])[:, order]
                found[rows] = _ghk(factor, *box, int(pattern.sum()), uniform)
        return found


def _points(dim: int) -> FloatArray:
    """A fixed scrambled Sobol set, moved off the edges of the unit cube."""
    points = qmc.Sobol(dim, seed=0).random_base2(DRAWS_LOG2)
    return np.clip(points, 2.0**-20, 1.0 - 2.0**-20)


def _ghk(factor: FloatArray, low: FloatArray, high: FloatArray, points: int, uniform: FloatArray) -> FloatArray:
    """Log probability of boxes whose first `points` coordinates are exact."""
    rows, dim = low.shape
    draws = len(uniform)
    e = np.zeros((dim, rows, draws))
    log_weight = np.zeros((rows, draws))
    for j in range(dim):
        centre = np.tensordot(factor[j, :j], e[:j], axes=1) if j else np.zeros((rows, draws))
        scale = factor[j, j]
        a = (low[:, j][:, None] - centre) / scale
        if j < points:
            log_weight += -(a**2) / 2.0 - LOG_SQRT_2PI - np.log(scale)
            e[j] = a
            continue
        b = (high[:, j][:, None] - centre) / scale
        flip = a > 0  # work in the lower tail, where differences keep their digits
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        log_weight += _log_between(a, b)
        inside = ndtr(a) + uniform[:, j] * (ndtr(b) - ndtr(a))
        drawn = np.clip(ndtri(inside), np.maximum(a, -FAR), np.minimum(b, FAR))
        e[j] = np.where(flip, -drawn, drawn)
    peak = log_weight.max(axis=1, keepdims=True)
    return np.asarray(peak[:, 0] + np.log(np.exp(log_weight - peak).mean(axis=1)))


def _log_between(a: FloatArray, b: FloatArray) -> FloatArray:
    """log(Phi(b) - Phi(a)) for a < b with a <= 0 or a = -inf."""
    upper = log_ndtr(b)
    gap = np.minimum(log_ndtr(a) - upper, -1e-15)
    return np.asarray(upper + np.log(-np.expm1(gap)))
