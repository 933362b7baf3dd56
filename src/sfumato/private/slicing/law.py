"""What noisy projections of every row cost: a law, not one mu.

Rows are projected by a random matrix U that is published with the answer. Given U, replacing a row by one at distance D
moves the answer by D sqrt(S), S = |u^T U|^2 for the unit vector u between the two: a Gaussian mechanism with
mu = D sqrt(S) / sigma. U is drawn after u is fixed and has the same law whatever the table, so with other Gaussian
queries of mu_0 together (Greenewald et al. 2024, arXiv 2410.19941, give a bound; this is exact)

    delta(epsilon) = E_S[ delta_GDP(epsilon; sqrt(mu_0^2 + D^2 S / sigma^2)) ].

S does not depend on u: chi-square with m' degrees of freedom over d for entries N(0, 1/d), and a sum of m independent
Beta(k/2, (d-k)/2) for m orthonormal frames of k columns, m' = m k. Slices of several releases are independent, and
their T_i = D_i^2 S_i / sigma_i^2 add up.

A unit of m rows, each of which moves by at most D, has T at most (m D^2 / sigma^2) times the largest of m such S,
whatever the directions: P(S > s) is then at most m times that of one.

The expectation is taken on a grid, on the safe side; docs/proofs/slicing.md, section 2, has the argument. In short:
delta as a function of t = mu^2 is convex up to 2 (sqrt(1 + epsilon^2) - 1); continued by its tangent it is convex
everywhere, and no smaller. For a convex function, moving the mass of a cell to its ends, its mean kept, is safe, cell
by cell and summand by summand. At deltas up to 1e-3 the tangent costs nothing that one could see.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betainc, betaincc, erfcx, gammainc, gammaincc, gammainccinv, gammaincinv

from sfumato.errors import ArgumentError

MOST_DIM = 1 << 20
MOST_PROJECTIONS = 1 << 20
MOST_ROWS = 1 << 20
MOST_FRAMES = 1 << 12
"""Orthonormal frames are summed one by one, up to so many."""

_POINTS = 1 << 12  # of the grid
_BELOW = 1e-15  # mass below the grid, which moves up to its first point
_BEYOND = 1e-30  # mass beyond it, for which the worst is assumed

REDRAWN = 2.0**-30
"""The share of orthonormal frames that may be drawn again: delta grows by 1 / (1 - REDRAWN) for each frame."""

# scipy's incomplete gamma and beta functions were seen to be right to 1e-13; a cell holds about 1/_POINTS of a tail.
# Every frame's mass is taken so much larger, which pays for REDRAWN too.
_MASS_ERROR = 1e-8
# The share of a cell's mass at its upper end is off by less; at worst it is a step too far up, which is safe.
_SHARE_ERROR = 1e-4
# The relative error of erfcx and exp (2^-50 was seen), and of what they are given: a few roundings.
_FUNCTION_ERROR = 2.0**-46
_ROUNDINGS = 1e-12
_SMALLEST_EPSILON = 1e-9  # below it the tangent is too steep to be of use

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Frames(StrEnum):
    """How the matrix of projections is drawn."""

    GAUSSIAN = "gaussian"
    """Independent entries N(0, 1/d)."""
    ORTHONORMAL = "orthonormal"
    """Independent frames of `slice_dim` orthonormal columns, each uniform."""


@dataclass(frozen=True)
class Slices:
    """Noisy projections of every row: all that has to be known to say what they cost.

    `projections` is m', the columns of U in all slices; `distance` bounds how far one unit's rows can move, in L2;
    `sigma` is the noise on every projection; `rows` of a unit may move. U as published is rounded:
    |u^T published U| is at most |u^T U| + `rounding` for a unit vector u.

    >>> Slices(dim=100, projections=100, distance=1.0, sigma=3.85)
    Slices(dim=100, projections=100, distance=1.0, sigma=3.85, law='gaussian', slice_dim=1, rounding=0.0, rows=1)
    """

    dim: int
    projections: int
    distance: float
    sigma: float
    law: str = Frames.GAUSSIAN
    slice_dim: int = 1
    rounding: float = 0.0
    rows: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", str(self.law))
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


def sliced_delta(epsilon: float, mu: float, slices: Sequence[Slices]) -> float:
    """delta(epsilon) of these slices with Gaussian queries of `mu` together, never below the true value."""
    if epsilon < _SMALLEST_EPSILON:
        return 1.0
    unit = slices[0].weight
    grid = _grid(_parts(slices, unit))
    base = mu * mu + math.fsum(each.shift for each in slices)
    squares = base + unit * (grid.first + grid.step * np.arange(len(grid.masses), dtype=np.float64))
    found = float(grid.masses @ _convex_deltas(epsilon, squares * (1.0 + _ROUNDINGS)))
    found += grid.beyond * _tangent(epsilon)[1] * (base + unit * grid.reach)  # no slope is steeper
    return min(1.0, found * (1.0 + _MASS_ERROR) + sys.float_info.min)


def theorem_epsilon(delta: float, mu: float, slices: Slices) -> float:
    """Theorem 1 of Greenewald et al. for a Gaussian U, beside Gaussian queries of `mu`, which add alpha mu^2 / 2.

    With w = (D / sigma)^2 and gamma = (alpha^2 - alpha) w below d, epsilon = m' alpha w / (2 (d - gamma)) +
    alpha mu^2 / 2 + ln(1 / delta) / (alpha - 1), at its least over alpha. A rounded U has T <= w S + shift.
    """
    weight, dim = slices.weight, slices.dim
    beside = mu * mu + slices.shift
    most = (math.sqrt(1.0 + 4.0 * dim / weight) - 1.0) / 2.0  # alpha - 1 where gamma = d

    def epsilon(log_share: float) -> float:
        more = most * math.exp(log_share)
        left = dim - more * (more + 1.0) * weight
        if left <= 0.0 or more <= 0.0:
            return math.inf
        square = slices.projections * weight / left + beside  # alpha times half of it is the Renyi divergence
        return (more + 1.0) / 2.0 * square - math.log(delta) / more

    low, high = math.log(1e-12), 0.0
    for _ in range(80):  # it falls, then rises; and any alpha would be valid
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if epsilon(first) <= epsilon(second) else (first, high)
    return epsilon(low) * (1.0 + _ROUNDINGS)


@dataclass(frozen=True)
class _Grid:
    """A measure on first, first + step, ...; `beyond` is the mass further up, with a mean of at most `reach` there."""

    first: float
    step: float
    masses: FloatArray
    beyond: float
    reach: float

    def plus(self, other: _Grid, points: int) -> _Grid:
        """The law of the sum, on so many points; all terms are positive, so no digits are lost."""
        full = np.convolve(self.masses, other.masses)
        beyond = self.beyond * (other.masses.sum() + other.beyond) + other.beyond * self.masses.sum()
        return _Grid(
            self.first + other.first,
            self.step,
            full[:points] * (1.0 + _ROUNDINGS),
            float(beyond + full[points:].sum()) * (1.0 + _ROUNDINGS),
            self.reach + other.reach,
        )


@dataclass(frozen=True, order=True)
class _Part:
    """`copies` independent summands: weight times chi-square over dim, or weight times Beta; the largest of `rows`."""

    law: str
    dim: int
    projections: int
    weight: float
    rows: int
    copies: int = 1

    def times(self, count: int) -> _Part:
        """So many of them. Chi-squares of equal weight add up to one."""
        if self.law == Frames.GAUSSIAN and self.rows == 1:
            return replace(self, projections=count * self.projections)
        return replace(self, copies=count)

    @property
    def range(self) -> tuple[float, float]:
        """What the grid has to cover. A sum of Betas is less spread out than the chi-square of the same mean."""
        scale = 2.0 * self.weight / self.dim
        if self.rows > 1:
            return 0.0, self.copies * scale * float(gammainccinv(self.projections / 2, _BEYOND / self.rows))
        half = self.copies * self.projections / 2
        low = float(gammaincinv(half, _BELOW)) if self.law == Frames.GAUSSIAN else 0.0
        return scale * low, scale * float(gammainccinv(half, _BEYOND))


def _parts(slices: Sequence[Slices], unit: float) -> tuple[_Part, ...]:
    """Slices as summands, in units of one weight."""
    found: dict[_Part, int] = {}
    for each in slices:
        whole = each.projections if each.rows > 1 else 1  # chi-squares may be taken apart, the largest of some may not
        size = whole if each.law == Frames.GAUSSIAN else each.slice_dim
        one = _Part(each.law, each.dim, size, each.weight / unit, each.rows)
        found[one] = found.get(one, 0) + each.projections // size
    return tuple(sorted(one.times(count) for one, count in found.items()))


@lru_cache(maxsize=64)
def _grid(parts: tuple[_Part, ...]) -> _Grid:
    """The law of the sum of all parts."""
    ranges = [part.range for part in parts]
    step = sum(high - low for low, high in ranges) / _POINTS
    points = _POINTS + 2 * len(parts)  # a part has up to two more than its range over the step
    total: _Grid | None = None
    for part, (low, high) in zip(parts, ranges, strict=True):
        found = _part(part, low, high, step, points)
        total = found if total is None else total.plus(found, points)
    if total is None:
        raise ValueError("no slices")
    return total


def _part(part: _Part, low: float, high: float, step: float, points: int) -> _Grid:
    edges: FloatArray = low + step * np.arange(math.ceil((high - low) / step) + 1, dtype=np.float64)
    if part.law == Frames.GAUSSIAN:
        scale, half = part.weight / part.dim, part.projections / 2
        at: FloatArray = edges / (2.0 * scale)
        own, biased = (_Tails(np.asarray(gammainc(h, at)), np.asarray(gammaincc(h, at))) for h in (half, half + 1))
        # The mean of a chi-square beyond x is at most x + 2 x / (x - n + 2): no more than 2 x, as x > n.
        mean, reach = part.projections * scale, 2.0 * high
    else:
        edges = edges[: max(2, math.ceil(part.weight / step) + 1)]  # a Beta ends at 1
        at = np.minimum(edges / part.weight, 1.0)
        a, b = part.projections / 2, (part.dim - part.projections) / 2
        own, biased = (_Tails(betainc(h, b, at), betaincc(h, b, at)) for h in (a, a + 1))
        mean, reach = part.weight * part.projections / part.dim, part.weight
    if part.rows == 1:
        one = _split(edges, step, own, biased, mean, reach)
    else:
        one = _largest(edges, step, own.above, part.rows, reach)
    return _power(one, part.copies, points)


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


def _power(one: _Grid, times: int, points: int) -> _Grid:
    """The law of a sum of so many independent copies, by doubling."""
    if times == 1:
        return one
    half = _power(one, times // 2, points)
    twice = half.plus(half, points)
    return twice.plus(one, points) if times % 2 else twice


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
        ("slice_dim", slices.slice_dim, slices.projections),
        ("rows", slices.rows, MOST_ROWS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ArgumentError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
    check_law(slices.law)
    if slices.projections % slices.slice_dim:
        raise ArgumentError(f"projections must be a multiple of slice_dim, {slices.slice_dim}")
    if slices.law == Frames.GAUSSIAN:
        return
    if slices.slice_dim >= slices.dim:
        raise ArgumentError("orthonormal slices must have fewer columns than the rows have; release the rows instead")
    if slices.projections // slices.slice_dim > MOST_FRAMES:
        raise ArgumentError(f"orthonormal slices are at most {MOST_FRAMES}; law='gaussian' takes more")


def check_law(law: str) -> None:
    """Refuse a law that matrices of projections do not have."""
    if law not in tuple(Frames):
        raise ArgumentError(f"law must be {' or '.join(repr(str(each)) for each in Frames)}, not {law!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
