"""delta(epsilon) of Gaussian differential privacy (GDP): of one mu, or in expectation over a law of mu^2.

A release that is mu-GDP is (epsilon, delta)-DP for every epsilon with (Dong, Roth, Su 2019, arXiv 1905.02383)

    delta = Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2).

Every result is rounded to the safe side, up. That rests on scipy's erfc, erfcx, exp and incomplete gamma functions
having the relative errors below; the tests compare them with mpmath. Numbers in, numbers out: no row is seen here.

The expectation is taken on a grid; docs/proofs/slicing.md, section 2, has the argument. In short: delta as a function
of t = mu^2 is convex up to 2 (sqrt(1 + epsilon^2) - 1); continued by its tangent it is convex everywhere, and no
smaller. For a convex function, moving the mass of a cell to its ends, its mean kept, is safe. At deltas up to 1e-3 the
tangent costs nothing that one could see.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import erfc, erfcx, gammainc, gammaincc, gammainccinv, gammaincinv

LARGEST_RATIO = 1e100  # of epsilon to mu: less is safe, and keeps squares finite

# The relative error of erfc, erfcx and exp: 2^-50 was seen.
_FUNCTION_ERROR = 2.0**-48

# The relative error of -a / sqrt 2 and -b / sqrt 2 below: four roundings.
_ARGUMENT_ERROR = 4 * sys.float_info.epsilon

_POINTS = 1 << 12  # of the grid
_BELOW = 1e-15  # mass below the grid, which moves up to its first point
_BEYOND = 1e-30  # mass beyond it, for which the worst is assumed

# scipy's incomplete gamma functions were seen to be right to 1e-13; a cell holds about 1/_POINTS of a tail.
MASS_ERROR = 1e-8
# The share of a cell's mass at its upper end is off by less; at worst it is a step too far up, which is safe.
_SHARE_ERROR = 1e-4
# The relative error of erfcx and exp (2^-50 was seen), and of what they are given: a few roundings.
_GRID_FUNCTION_ERROR = 2.0**-46
ROUNDINGS = 1e-12
_SMALLEST_EPSILON = 1e-9  # below it the tangent is too steep to be of use


FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of one mu, never below the true value.

    With a = -epsilon/mu + mu/2 and b = a - mu, e^epsilon phi(b) = phi(a); so with u = -a / sqrt 2 and
    v = -b / sqrt 2 the two terms are erfc(u) / 2 = e^(-u^2) erfcx(u) / 2 and e^(-u^2) erfcx(v) / 2. No term
    overflows, and the difference of scaled functions keeps its digits where delta is tiny.
    delta falls in u and rises in v, so each moves to its unsafe side by its own rounding error.
    """
    if mu == 0.0:
        return 0.0
    ratio = min(epsilon / mu, LARGEST_RATIO)
    v = (ratio + mu / 2) / math.sqrt(2)
    u = (ratio - mu / 2) / math.sqrt(2) - v * _ARGUMENT_ERROR
    v += v * _ARGUMENT_ERROR
    more, less = 1.0 + _FUNCTION_ERROR, 1.0 - _FUNCTION_ERROR
    second = float(erfcx(v)) * less
    # A relative error in u^2 is an absolute one in the exponent.
    more_power = 1.0 + _FUNCTION_ERROR * (1.0 + u * u)
    if u > 0.0:
        twice = math.exp(-u * u) * more_power * (float(erfcx(u)) * more - second)
    else:
        twice = float(erfc(u)) * more - math.exp(-u * u) / more_power * second
    # Below the smallest normal float the error of exp is no longer relative.
    return min(1.0, twice / 2 + sys.float_info.min)


def delta_left(epsilon: float, delta: float, distance: float) -> float:
    """delta less (1 + e^epsilon) distance, rounded down; 0 or less where nothing is left of it."""
    if distance == 0.0:
        return delta
    log_slack = epsilon + math.log1p(math.exp(-epsilon)) + math.log(distance)
    if log_slack >= math.log(delta):
        return 0.0
    slack = math.exp(log_slack) * (1.0 + 1e-9)  # far above the rounding of the logarithms
    return math.nextafter(delta - slack, 0.0)


def expected_delta(epsilon: float, base: float, scale: float, degrees: int, laws: int = 1) -> float:
    """The expectation of delta(epsilon) over mu^2 = base + scale X, never below the true value.

    X is chi-square with so many degrees of freedom, or the largest of so many such laws, however they depend on each
    other.
    """
    if epsilon < _SMALLEST_EPSILON:
        return 1.0
    points, masses, beyond = _grid(degrees, laws)
    found = float(masses @ _convex_deltas(epsilon, (base + scale * points) * (1.0 + ROUNDINGS)))
    # The mean of a chi-square beyond x > n is at most x + 2 x / (x - n + 2), no more than 2 x; no slope is steeper.
    found += beyond * _tangent(epsilon)[1] * (base + scale * 2.0 * float(points[-1]))
    return min(1.0, found * (1.0 + MASS_ERROR) + sys.float_info.min)


@lru_cache(maxsize=64)
def _grid(degrees: int, laws: int) -> tuple[FloatArray, FloatArray, float]:
    """The law of a chi-square, or of the largest of `laws` such, however they depend on each other, moved up: points,
    their masses, and the mass beyond the last of them.
    """
    half = degrees / 2
    low = float(gammaincinv(half, _BELOW)) if laws == 1 else 0.0
    at: FloatArray = np.linspace(low, float(gammainccinv(half, _BEYOND / laws)), _POINTS + 1)
    above = np.asarray(gammaincc(half, at))
    more = 1.0 + MASS_ERROR
    if laws == 1:
        return 2.0 * at, _split(at, half) * more, float(above[-1]) * more
    tails = np.minimum(1.0, laws * above * more)  # P(any > s) <= laws P(one > s)
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
    """delta_GDP at mu = sqrt(squares), rounded up as above; beyond its inflection, the tangent there."""
    turn, slope = _tangent(epsilon)
    mu = np.sqrt(np.clip(squares, 1e-250, turn))
    ratio = np.minimum(epsilon / mu, LARGEST_RATIO)
    # u moves down and v up by more than their rounding errors: delta falls in u, rises in v. u > 0, as t < 2 epsilon.
    v = (ratio + mu / 2) / math.sqrt(2) * (1.0 + 2.0**-48)
    u = (ratio - mu / 2) / math.sqrt(2) - v * 2.0**-48
    more_power = 1.0 + _GRID_FUNCTION_ERROR * (1.0 + u * u)
    scaled = erfcx(u) * (1.0 + _GRID_FUNCTION_ERROR) - erfcx(v) * (1.0 - _GRID_FUNCTION_ERROR)
    convex = np.exp(-u * u) * more_power * scaled / 2
    return np.asarray(convex + slope * np.maximum(squares - turn, 0.0) + sys.float_info.min)
