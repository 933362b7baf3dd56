"""The normal distribution function and its inverse by tables and three terms of their Taylor series.

Two to three times as fast as the functions of scipy, which go through numbers one at a time. Their errors are absolute:
2e-16 of a probability, 1e-12 of a quantile, and 1e-11 of a density.

>>> x = np.linspace(-12, 12, 1001)
>>> bool(np.abs(cdf(x) - ndtr(x)).max() < 3e-16)
True
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.schema.layout import FloatArray

TABLED_REACH = 9  # beyond it a probability is 0 or 1 to the last digit
TABLED_CELLS = 2048  # of the table in a standard deviation: the fourth term of the series is below 1e-16
TABLED_SHARES = 1 << 14  # of the table of quantiles
CENTRAL = 0.48  # from a half, within which the fourth term of their series is below 1e-12


def cdf(x: FloatArray) -> FloatArray:
    """The distribution function, to 2e-16."""
    return cdf_and_density(np.clip(x, -TABLED_REACH, TABLED_REACH))[0]


def cdf_and_density(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distribution function, to 2e-16, and the density, to 2e-11, of numbers within the reach of the tables.

    With d the distance from the next entry g, they are cdf(g) + density(g) (d - g d^2 / 2 + (g^2 - 1) d^3 / 6) and
    density(g) (1 - g d + (g^2 - 1) d^2 / 2).
    """
    below, density = _entries()
    d = x * TABLED_CELLS
    g = np.rint(d)
    at = g.astype(np.intp)
    at += TABLED_REACH * TABLED_CELLS
    d -= g
    d *= 1.0 / TABLED_CELLS
    g *= 1.0 / TABLED_CELLS
    here = density.take(at, mode="clip")
    change = g * g
    change -= 1.0
    change *= d
    found = change * (1.0 / 3.0)
    found -= g
    found *= d
    found *= 0.5
    found += 1.0
    found *= d
    found *= here
    found += below.take(at, mode="clip")
    change *= 0.5
    change -= g
    change *= d
    change += 1.0
    change *= here
    return found, change


def quantile(p: FloatArray) -> FloatArray:
    """The inverse of the distribution function, to 1e-12; beyond the shares that tables reach, as scipy has it.

    With t = (p - cdf(g)) / density(g) of the next entry g, it is g + t + g t^2 / 2 + (2 g^2 + 1) t^3 / 6.
    """
    entries, per_density = _quantiles()
    t = p * TABLED_SHARES
    near = np.rint(t)
    at = near.astype(np.intp)
    t -= near
    t *= 1.0 / TABLED_SHARES
    g = entries.take(at, mode="clip")
    t *= per_density.take(at, mode="clip")
    found = g * g
    found += 0.5
    found *= t
    found *= 2.0 / 3.0
    found += g
    found *= t
    found *= 0.5
    found += 1.0
    found *= t
    found += g
    far = np.flatnonzero(np.abs(p - 0.5) > CENTRAL)
    found.ravel()[far] = ndtri(p.ravel()[far])
    return found


@cache
def _entries() -> tuple[FloatArray, FloatArray]:
    """The distribution function and the density at the places of the table."""
    g = np.arange(-TABLED_REACH * TABLED_CELLS, TABLED_REACH * TABLED_CELLS + 1) / TABLED_CELLS
    return np.asarray(ndtr(g)), np.exp(-(g**2) / 2.0) / np.sqrt(2.0 * np.pi)


@cache
def _quantiles() -> tuple[FloatArray, FloatArray]:
    """Quantiles at equal shares, and one by the density there; the ends, which nobody uses, are those next to them."""
    g = ndtri(np.arange(TABLED_SHARES + 1).clip(1, TABLED_SHARES - 1) / TABLED_SHARES)
    return np.asarray(g), np.sqrt(2.0 * np.pi) * np.exp(g**2 / 2.0)
