"""What noisy projections of every row cost: a law, not one mu.

Rows are projected by a random matrix U that is published with the answer. Given U, replacing a row by one at distance D
moves the answer by D sqrt(S), S = |u^T U|^2 for the unit vector u between the two: a Gaussian mechanism with
mu = D sqrt(S) / sigma. U is drawn after u is fixed and has the same law whatever the table, so with other Gaussian
queries of mu_0 together (Greenewald et al. 2024, arXiv 2410.19941, give a bound; this is exact)

    delta(epsilon) = E_S[ delta_GDP(epsilon; sqrt(mu_0^2 + D^2 S / sigma^2)) ].

The law of S does not depend on u: U has entries N(0, 1/d), so it is chi-square with m' degrees of freedom, over d.
A release has slices once at the most.

A unit of m rows, each of which moves by at most D, has T at most (m D^2 / sigma^2) times the largest of m such S,
whatever the directions: P(S > s) is then at most m times that of one.

The expectation is taken on a grid, on the safe side; docs/proofs/slicing.md, section 2, has the argument. In short:
delta as a function of t = mu^2 is convex up to 2 (sqrt(1 + epsilon^2) - 1); continued by its tangent it is convex
everywhere, and no smaller. For a convex function, moving the mass of a cell to its ends, its mean kept, is safe, cell
by cell. At deltas up to 1e-3 the tangent costs nothing that one could see.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import erfcx, gammainc, gammaincc, gammainccinv, gammaincinv

from sfumato.errors import ArgumentError

MOST_DIM = 1 << 20
MOST_PROJECTIONS = 1 << 20
MOST_ROWS = 1 << 20

_POINTS = 1 << 12  # of the grid
_BELOW = 1e-15  # mass below the grid, which moves up to its first point
_BEYOND = 1e-30  # mass beyond it, for which the worst is assumed

# scipy's incomplete gamma functions were seen to be right to 1e-13; a cell holds about 1/_POINTS of a tail.
_MASS_ERROR = 1e-8
# The share of a cell's mass at its upper end is off by less; at worst it is a step too far up, which is safe.
_SHARE_ERROR = 1e-4
# The relative error of erfcx and exp (2^-50 was seen), and of what they are given: a few roundings.
_FUNCTION_ERROR = 2.0**-46
_ROUNDINGS = 1e-12
_SMALLEST_EPSILON = 1e-9  # below it the tangent is too steep to be of use

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Slices:
    """Noisy projections of every row: all that has to be known to say what they cost.

    `projections` is m', the columns of U in all slices; `distance` bounds how far one unit's rows can move, in L2;
    `sigma` is the noise on every projection; `rows` of a unit may move. U as published is rounded:
    |u^T published U| is at most |u^T U| + `rounding` for a unit vector u.

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
        _check_counts(self)
        for name, value in (("distance", self.distance), ("sigma", self.sigma)):
            if not _is_number(value) or not 1e-30 <= value <= 1e30:
                raise ArgumentError(f"{name} must be a number between 1e-30 and 1e30, not {value!r}")
        if not _is_number(self.rounding) or not 0.0 <= self.rounding <= 1.0:
            raise ArgumentError(f"rounding must lie between 0 and 1, not {self.rounding!r}")

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
        if self.rounding == 0.0:
            return 0.0
        return (self.distance / self.sigma * self.rounding * (1.0 + 1.0 / self.slack)) ** 2

    def tail(self, chance: float) -> float:
        """A t that T exceeds with probability at most `chance`, rounded up: P(S* > s) <= rows P(S > s)."""
        half, share = self.projections / 2, chance / self.rows * (1.0 - _MASS_ERROR)
        place = float(gammainccinv(half, share))
        while place < math.inf and gammaincc(half, place) > share:  # what is relied on is gammaincc alone
            place *= 1.0 + _MASS_ERROR
        return (self.weight * 2.0 * place / self.dim + self.shift) * (1.0 + _ROUNDINGS)


def sliced_delta(epsilon: float, mu: float, slices: Slices) -> float:
    """delta(epsilon) of slices with Gaussian queries of `mu` together, never below the true value."""
    if epsilon < _SMALLEST_EPSILON:
        return 1.0
    grid = _grid(slices.dim, slices.projections, slices.rows)
    base = mu * mu + slices.shift
    squares = base + slices.weight * (grid.first + grid.step * np.arange(len(grid.masses), dtype=np.float64))
    found = float(grid.masses @ _convex_deltas(epsilon, squares * (1.0 + _ROUNDINGS)))
    found += grid.beyond * _tangent(epsilon)[1] * (base + slices.weight * grid.reach)  # no slope is steeper
    return min(1.0, found * (1.0 + _MASS_ERROR) + sys.float_info.min)


@dataclass(frozen=True)
class _Grid:
    """A measure on first, first + step, ...; `beyond` is the mass further up, with a mean of at most `reach` there."""

    first: float
    step: float
    masses: FloatArray
    beyond: float
    reach: float


@lru_cache(maxsize=64)
def _grid(dim: int, projections: int, rows: int) -> _Grid:
    """The law of S, a chi-square over dim, or of the largest of `rows` such."""
    half = projections / 2
    low = 2.0 / dim * float(gammaincinv(half, _BELOW)) if rows == 1 else 0.0
    high = 2.0 / dim * float(gammainccinv(half, _BEYOND / rows))
    step = (high - low) / _POINTS
    edges: FloatArray = low + step * np.arange(_POINTS + 1, dtype=np.float64)
    at: FloatArray = edges * dim / 2.0
    own, biased = (_Tails(np.asarray(gammainc(h, at)), np.asarray(gammaincc(h, at))) for h in (half, half + 1))
    reach = 2.0 * high  # the mean of a chi-square beyond x is at most x + 2 x / (x - n + 2): no more than 2 x, as x > n
    if rows > 1:
        return _largest(edges, step, own.above, rows, reach)
    return _split(edges, step, own, biased, projections / dim, reach)


@dataclass(frozen=True)
class _Tails:
    """A distribution function and its complement at the edges of cells."""

    below: FloatArray
    above: FloatArray

    def between(self) -> FloatArray:
        """The mass of each cell, by whichever of the two keeps more digits there."""
        low = self.below[1:] < 0.5
        return np.maximum(np.where(low, np.diff(self.below), -np.diff(self.above)), 0.0)


def _split(edges: FloatArray, step: float, own: _Tails, biased: _Tails, mean: float, reach: float) -> _Grid:
    """Move the mass of every cell to its two ends so that its mean is kept, or a little larger.

    E[T; cell] = E[T] times the mass that the size-biased law has there: one more degree of freedom in each half.
    """
    mass = own.between()
    centre = mean * biased.between() / np.maximum(mass, sys.float_info.min)
    upper = np.clip((centre - edges[:-1]) / step, 0.0, 1.0 - _SHARE_ERROR) + _SHARE_ERROR
    masses = np.append(mass * (1.0 - upper), 0.0)
    masses[1:] += mass * upper
    masses[0] += own.below[0]
    more = 1.0 + _MASS_ERROR
    return _Grid(float(edges[0]), step, masses * more, float(own.above[-1]) * more, reach)


def _largest(edges: FloatArray, step: float, above: FloatArray, rows: int, reach: float) -> _Grid:
    """The largest of so many, however they depend on each other: P(any > s) <= rows P(one > s). Moved up a cell."""
    tails = np.minimum(1.0, rows * above * (1.0 + _MASS_ERROR))
    masses = np.append(1.0 - tails[0], -np.diff(tails)) * (1.0 + _MASS_ERROR)
    return _Grid(float(edges[0]), step, np.maximum(masses, 0.0), float(tails[-1]) * (1.0 + _MASS_ERROR), reach)


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


def _check_counts(slices: Slices) -> None:
    for name, value, most in (
        ("dim", slices.dim, MOST_DIM),
        ("projections", slices.projections, MOST_PROJECTIONS),
        ("rows", slices.rows, MOST_ROWS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ArgumentError(f"{name} must be a whole number from 1 to {most}, not {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


KINDS = (Slices,)  # that a question may be made of
