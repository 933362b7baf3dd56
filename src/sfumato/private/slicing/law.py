"""What noisy projections of every row cost: a law, not one mu.

Rows are projected by a random matrix U that is published with the answer. Given U, replacing a row by one at distance D
moves the answer by D sqrt(S), S = |u^T U|^2 for the unit vector u between the two: a Gaussian mechanism with
mu = D sqrt(S) / sigma. U is drawn after u is fixed and has the same law whatever the table, so with other Gaussian
queries of mu_0 together (Greenewald et al. 2024, arXiv 2410.19941, give a bound; this is exact)

    delta(epsilon) = E_S[ delta_GDP(epsilon; sqrt(mu_0^2 + D^2 S / sigma^2)) ].

The law of S does not depend on u: U has entries N(0, 1/d), so it is chi-square with m' degrees of freedom, over d.
A release takes slices once.

A unit of m rows, each of which moves by at most D, has T at most (m D^2 / sigma^2) times the largest of m such S,
whatever the directions: P(S > s) is then at most m times that of one.

The expectation is taken on a grid, on the safe side; docs/proofs/slicing.md, section 2, has the argument. In short:
delta as a function of t = mu^2 is convex up to 2 (sqrt(1 + epsilon^2) - 1); continued by its tangent it is convex
everywhere, and no smaller. For a convex function, moving the mass of a cell to its ends, its mean kept, is safe. At
deltas up to 1e-3 the tangent costs nothing that one could see.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import erfcx, gammainc, gammaincc, gammainccinv, gammaincinv

from sfumato.errors import insist

MOST = 1 << 20  # coordinates, projections, rows of a unit

_POINTS = 1 << 12  # of the grid
_BELOW = 1e-15  # mass below the grid, which moves up to its first point
_BEYOND = 1e-30  # mass beyond it, for which the worst is assumed

# scipy's incomplete gamma functions were seen to be right to 1e-13; a cell holds about 1/_POINTS of a tail.
MASS_ERROR = 1e-8
# The share of a cell's mass at its upper end is off by less; at worst it is a step too far up, which is safe.
_SHARE_ERROR = 1e-4
# The relative error of erfcx and exp (2^-50 was seen), and of what they are given: a few roundings.
_FUNCTION_ERROR = 2.0**-46
ROUNDINGS = 1e-12
_SMALLEST_EPSILON = 1e-9  # below it the tangent is too steep to be of use

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Slices:
    """Noisy projections of every row: all that has to be known to say what they cost.

    Attributes:
        dim: d, the numbers in a row.
        projections: m', the columns of U.
        distance: how far one unit's rows can move together, in L2.
        sigma: the noise on every projection.
        rounding: U as published is rounded: |u^T published U| <= |u^T U| + rounding for a unit vector u.
        rows: of one unit that may move.

    Raises:
        ArgumentError: where one of them is out of its range.

    Example:
        >>> Slices(dim=100, projections=100, distance=1.0, sigma=3.85)
        Slices(dim=100, projections=100, distance=1.0, sigma=3.85, rounding=0.0, rows=1)
    """

    dim: int
    projections: int
    distance: float
    sigma: float
    rounding: float = 0.0
    rows: int = 1

    def __post_init__(self) -> None:
        for name in ("dim", "projections", "rows"):
            _check(name, getattr(self, name), int, 1, MOST)
        for name in ("distance", "sigma"):
            _check(name, getattr(self, name), (int, float), 1e-30, 1e30)
        _check("rounding", self.rounding, (int, float), 0.0, 1.0)

    @property
    def slack(self) -> float:
        """eta: sqrt(S) + rounding <= (1 + eta) sqrt(S), or else S < (rounding / eta)^2. It makes both terms small."""
        return math.pow(self.rounding * math.sqrt(self.dim / self.projections), 2 / 3)

    @property
    def weight(self) -> float:
        """T is at most weight * S + shift."""
        return ((1.0 + self.slack) * self.distance / self.sigma) ** 2

    @property
    def shift(self) -> float:
        """What rounding adds to T at most."""
        if self.rounding == 0.0:
            return 0.0
        return (self.distance / self.sigma * self.rounding * (1.0 + 1.0 / self.slack)) ** 2


def sliced_delta(epsilon: float, mu: float, slices: Slices) -> float:
    """delta(epsilon) of these slices with Gaussian queries of `mu` together, never below the true value."""
    if epsilon < _SMALLEST_EPSILON:
        return 1.0
    points, masses, beyond = _grid(slices.projections, slices.rows)
    base, scale = mu * mu + slices.shift, slices.weight / slices.dim
    found = float(masses @ _convex_deltas(epsilon, (base + scale * points) * (1.0 + ROUNDINGS)))
    # The mean of a chi-square beyond x > n is at most x + 2 x / (x - n + 2), no more than 2 x; no slope is steeper.
    found += beyond * _tangent(epsilon)[1] * (base + scale * 2.0 * float(points[-1]))
    return min(1.0, found * (1.0 + MASS_ERROR) + sys.float_info.min)


@lru_cache(maxsize=64)
def _grid(projections: int, rows: int) -> tuple[FloatArray, FloatArray, float]:
    """The law of a chi-square, or of the largest of `rows` such, however they depend on each other, moved up: points,
    their masses, and the mass beyond the last of them.
    """
    half = projections / 2
    low = float(gammaincinv(half, _BELOW)) if rows == 1 else 0.0
    at: FloatArray = np.linspace(low, float(gammainccinv(half, _BEYOND / rows)), _POINTS + 1)
    above = np.asarray(gammaincc(half, at))
    more = 1.0 + MASS_ERROR
    if rows == 1:
        return 2.0 * at, _split(at, half) * more, float(above[-1]) * more
    tails = np.minimum(1.0, rows * above * more)  # P(any > s) <= rows P(one > s)
    masses = np.maximum(np.append(1.0 - tails[0], -np.diff(tails)), 0.0)
    return 2.0 * at, masses * more, float(tails[-1]) * more


def _split(edges: FloatArray, half: float) -> FloatArray:
    """Move the mass of every cell of a gamma law to its two ends so that its mean is kept, or a little larger.

    E[X; cell] = E[X] times the mass that the size-biased law has there: one more in the shape of the gamma law.
    """
    mass = _between(edges, half)
    centre = half * _between(edges, half + 1) / np.maximum(mass, sys.float_info.min)
    upper = np.clip((centre - edges[:-1]) / np.diff(edges), 0.0, 1.0 - _SHARE_ERROR) + _SHARE_ERROR
    masses = np.append(mass * (1.0 - upper), 0.0)
    masses[1:] += mass * upper
    masses[0] += gammainc(half, edges[0])
    return masses


def _between(edges: FloatArray, half: float) -> FloatArray:
    """The mass of each cell, by whichever of the law's two tails keeps more digits there."""
    below, above = gammainc(half, edges), gammaincc(half, edges)
    return np.maximum(np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)), 0.0)


def _tangent(epsilon: float) -> tuple[float, float]:
    """Where delta_GDP(epsilon; sqrt t) has its inflection, as a function of t, and its slope there, rounded up.

    d delta / dt = phi(epsilon / sqrt t - sqrt t / 2) / (2 sqrt t), whose logarithm has the derivative
    (4 epsilon^2 - 4 t - t^2) / (8 t^2): it grows up to t = 2 (sqrt(1 + epsilon^2) - 1).
    """
    turn = 2.0 * epsilon * epsilon / (math.sqrt(1.0 + epsilon * epsilon) + 1.0)
    place = epsilon / math.sqrt(turn) - math.sqrt(turn) / 2
    return turn, math.exp(-place * place / 2) / math.sqrt(8.0 * math.pi * turn) * (1.0 + 1e-9)


def _convex_deltas(epsilon: float, squares: FloatArray) -> FloatArray:
    """delta_GDP at mu = sqrt(squares), rounded up as in `accounting`; beyond its inflection, the tangent there."""
    turn, slope = _tangent(epsilon)
    mu = np.sqrt(np.clip(squares, 1e-250, turn))
    ratio = np.minimum(epsilon / mu, 1e100)
    # u moves down and v up by more than their rounding errors: delta falls in u, rises in v. u > 0, as t < 2 epsilon.
    v = (ratio + mu / 2) / math.sqrt(2) * (1.0 + 2.0**-48)
    u = (ratio - mu / 2) / math.sqrt(2) - v * 2.0**-48
    more_power = 1.0 + _FUNCTION_ERROR * (1.0 + u * u)
    scaled = erfcx(u) * (1.0 + _FUNCTION_ERROR) - erfcx(v) * (1.0 - _FUNCTION_ERROR)
    convex = np.exp(-u * u) * more_power * scaled / 2
    return np.asarray(convex + slope * np.maximum(squares - turn, 0.0) + sys.float_info.min)


def _check(name: str, value: Any, kinds: Any, least: float, most: float) -> None:
    fits = isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most
    insist(fits, f"{name} must be a {'whole ' if kinds is int else ''}number from {least} to {most}, not {value!r}")


KINDS = (Slices,)  # that a question may be made of
