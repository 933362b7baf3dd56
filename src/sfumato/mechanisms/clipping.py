"""What clipping to a ball does to the moments of normal rows, and the radius that loses least.

In a space where rows are standard normal, R = |z|^2 is chi-square with d degrees of freedom, and E[R^j; R > c] is
d (d + 2) ... (d + 2j - 2) times the tail of the chi-square with d + 2j degrees: all below is in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, gammaln

from sfumato.schema.layout import FloatArray

SPREADS = np.geomspace(0.01, 4.0, 64)  # of the rows, where one was expected
RADII_TRIED = np.geomspace(0.6, 4.0, 96)  # radii, in units of the root of the dimension
SPREAD_FLOOR = 1e-3  # of a class whose columns are all constant


@dataclass(frozen=True)
class Clip:
    """Radii, and what is left of the moments of standard normal rows clipped to them."""

    dim: int
    radius: FloatArray

    def _tail(self, degrees: int) -> FloatArray:
        return np.asarray(chdtrc(self.dim + degrees, self.radius**2))

    @property
    def mean(self) -> FloatArray:
        """How much the mean of clipped rows moves when the rows move by one."""
        root = np.sqrt(2.0) * np.exp(gammaln((self.dim + 1) / 2) - gammaln(self.dim / 2))  # E sqrt(R)
        return np.asarray(1.0 - self._tail(2) + self.radius * root * self._tail(1) / self.dim)

    @property
    def second(self) -> FloatArray:
        """The share of the second moment that survives: E min(R, c) / d."""
        return np.asarray(1.0 - self._tail(2) + self.radius**2 * self._tail(0) / self.dim)

    @property
    def shape(self) -> FloatArray:
        """How much the second moment answers to a change of shape that keeps the trace."""
        return np.asarray(1.0 - self._tail(4) + self.radius**2 * self._tail(2) / (self.dim + 2))

    @property
    def size(self) -> FloatArray:
        """How much the second moment answers to a change of the trace."""
        return np.asarray(((self.dim + 2) * self.shape - self.dim * self.second) / 2.0)

    @property
    def undone(self) -> FloatArray:
        """How much of a change of shape has to be put back."""
        return np.asarray(1.0 / self.shape - 1.0)

    @property
    def amplified(self) -> FloatArray:
        """How much larger the variance of an entry of the second moment is, on average, once clipping is undone."""
        entries = self.dim * (self.dim + 1) / 2
        return np.asarray((1.0 / self.size**2 + (entries - 1.0) / self.shape**2) / entries)

    @property
    def lost(self) -> FloatArray:
        """Variance of what clipping takes from a row's diagonal entry: 2 E (R - c)^2 / (d (d + 2)), R > c."""
        d, c = self.dim, self.radius**2
        excess = d * (d + 2) * self._tail(4) - 2.0 * c * d * self._tail(2) + c**2 * self._tail(0)
        return np.asarray(2.0 * excess.clip(0.0) / (d * (d + 2)))


def best_radii(dim: int, counts: FloatArray, mu: float, misshapen: FloatArray) -> FloatArray:
    """For classes of so many rows, the radius at which noise and clipping together disturb the second moment least.

    Noise grows with the radius: r^2 / (n mu), over the answer to a change. What clipping takes from the rows at hand
    cannot be told from what it takes on average, and varies by lost / n; it is undone as if the rows were normal and
    round, in a space where the entries of their covariance are off by `misshapen` in variance; and tails may hold twice
    what a normal's hold, which nothing undoes. So where noise is low, hardly a row is clipped.
    """
    clip = Clip(dim, RADII_TRIED * np.sqrt(dim))
    noise = clip.radius**4 * clip.amplified / (counts[:, None] * mu) ** 2
    heavier = (1.0 - clip.second) ** 2
    bias = clip.lost / counts[:, None] + clip.undone**2 * misshapen[:, None] + heavier
    return clip.radius[(noise + bias).argmin(axis=1)]


def unclip(radii: FloatArray, seconds: FloatArray) -> tuple[FloatArray, FloatArray, Clip]:
    """Second moments of normal rows from those of the clipped rows, and the clipping in units of their spread.

    The trace says how wide the rows really are, and that how much of a change of shape was lost. Between the two
    comes the mean square of what was put back of that change: it holds as far as the rows are normal and round.
    """
    dim = seconds.shape[-1]
    traces = np.trace(seconds, axis1=1, axis2=2) / dim
    spreads = np.array([_spread(dim, radius, trace) for radius, trace in zip(radii, traces, strict=True)])
    clip = Clip(dim, radii / np.sqrt(spreads))
    unit = np.eye(dim)
    shapes = seconds - traces[:, None, None] * unit
    whole = spreads[:, None, None] * unit + shapes / clip.shape[:, None, None]
    return whole, clip.undone**2 * (shapes**2).sum(axis=(1, 2)) / (dim * (dim + 1) / 2), clip


def _spread(dim: int, radius: float, trace: float) -> float:
    """The variance at which rows clipped to the radius have such a mean square."""
    left = SPREADS * Clip(dim, radius / np.sqrt(SPREADS)).second
    return float(np.interp(trace, left, SPREADS))


def unclipped(dim: int, clip: float, spread: float) -> float:
    """The share of the second moment that survives clipping, for normal rows of mean square norm `spread`."""
    return float(Clip(dim, np.array(clip * math.sqrt(dim / max(spread, SPREAD_FLOOR)))).second)
