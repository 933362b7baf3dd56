"""Intervals for sums over rows, and for quotients of them, where cells hold more than one value.

A question is about cells: in each, a row is counted surely, possibly, or not (a condition may cut it), and has a value
between two ends (the ends of a bin; both the same where a bin is one value). Counts are not negative, so that for each
theta the sum over counted rows of (value - theta) lies between two linear forms of the counts, an upper and a lower
one. Each of them is known up to Gaussian noise. A theta that both allow is in the interval (Fieller 1954, where all
cells are sure and single values): it holds the true mean whatever the cells hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from sfumato.asking.evidence import Axis, Columns, FloatArray, Round
from sfumato.schema.conditions import Mask

DOUBLINGS = 200  # of a step outwards, until a theta is no longer allowed
PRECISE = 1e-6  # standard errors, to which the ends of an interval are found


class Counts(Protocol):
    """Estimated counts of a joint table's cells, and the noise of sums of them."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Where they come from."""

    @property
    def columns(self) -> Columns:
        """The columns, in order."""

    @property
    def axes(self) -> Mapping[str, Axis]:
        """How they are seen."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each has."""

    @property
    def counts(self) -> FloatArray:
        """The estimates."""

    def total(self, question: FloatArray) -> float:
        """The sum over cells of a question's coefficients times counts."""

    def variance(self, question: FloatArray) -> float:
        """The variance of a question's noise."""


@dataclass(frozen=True, eq=False)
class Piece:
    """The cells that a question is about.

    Attributes:
        cells: What is known of them.
        sure: Those whose rows are counted.
        possible: Those whose rows may be counted.
        low: The smallest value of a row in each.
        high: The largest.
    """

    cells: Counts
    sure: Mask
    possible: Mask
    low: FloatArray
    high: FloatArray

    def reflected(self) -> Piece:
        """With the values' other signs."""
        return replace(self, low=-self.high, high=-self.low)

    def upper(self, theta: float) -> FloatArray:
        """The coefficients of the largest that the sum of (value - theta) can be."""
        above = self.high - theta
        return np.where(self.sure, above, np.where(self.possible, np.maximum(above, 0.0), 0.0))

    def middle(self) -> tuple[FloatArray, FloatArray]:
        """The coefficients of a likely numerator and denominator: half of what is possible, the middles of values."""
        counted = (self.sure.astype(np.float64) + self.possible) / 2.0
        return counted * (self.low + self.high) / 2.0, counted

    def squares(self, theta: float) -> FloatArray:
        """The coefficients of the sum of squared (value - theta): what is expected of truth values, 0 or 1, whose mean
        is theta; the largest that it can be of others.
        """
        sign = 1.0 if self.high.max() > 0.0 else -1.0  # values may be reflected
        if all(np.isin(sign * ends, (0.0, 1.0)).all() for ends in (self.low, self.high)):
            return np.where(self.possible, max(sign * theta * (1.0 - sign * theta), 0.0), 0.0)
        away = np.maximum(np.abs(self.low - theta), np.abs(self.high - theta))
        return np.where(self.possible, away**2, 0.0)


@dataclass(frozen=True)
class Ratio:
    """A quotient and its standard error, both to first order, and an interval where there is one."""

    estimate: float
    se: float
    interval: tuple[float, float] | None


def total(piece: Piece, z: float) -> Ratio:
    """The sum of values over the rows that are counted, and its interval: from none to all of what is cut."""
    middle, _ = piece.middle()
    se = math.sqrt(piece.cells.variance(middle))
    return Ratio(piece.cells.total(middle), se, (-highest(piece.reflected(), z), highest(piece, z)))


def ratio(piece: Piece, z: float, sampled: bool = False) -> Ratio:
    """The mean value of the rows that are counted, and its interval; None where it would be unbounded.

    With `sampled` the rows are independent draws of a population whose mean it is: the sum of (value - theta) has their
    variance too.
    """
    top, bottom = piece.middle()
    rows = piece.cells.total(bottom)
    if not rows > 0.0:
        return Ratio(math.nan, math.inf, None)
    mean = piece.cells.total(top) / rows
    noise = math.sqrt(piece.cells.variance(top - mean * bottom))
    se = math.hypot(noise, _scatter(piece, mean) if sampled else 0.0) / rows
    if not is_clear(piece, z, sampled):
        return Ratio(mean, se, None)
    low, high = -_end(piece.reflected(), z, -mean, se, sampled), _end(piece, z, mean, se, sampled)
    return Ratio(mean, se, (low, high))


def highest(piece: Piece, z: float, sampled: bool = False) -> float:
    """The largest that the sum of values over the rows that are counted may be."""
    return _most(piece, 0.0, z, sampled)


def _most(piece: Piece, theta: float, z: float, sampled: bool) -> float:
    """The largest that the sum of (value - theta) may be."""
    form = piece.upper(theta)
    noise = math.sqrt(piece.cells.variance(form))
    return piece.cells.total(form) + z * math.hypot(noise, _scatter(piece, theta) if sampled else 0.0)


def _scatter(piece: Piece, theta: float) -> float:
    """The standard deviation that sampling gives to the sum of (value - theta)."""
    return math.sqrt(max(piece.cells.total(piece.squares(theta)), 0.0))


def is_clear(piece: Piece, z: float, sampled: bool = False) -> bool:
    """Whether noise, and sampling, leave no doubt that rows are counted: then the interval is bounded."""
    for counted in (piece.sure, piece.possible):
        form = counted.astype(np.float64)
        rows = piece.cells.total(form)
        if not rows > z * math.sqrt(piece.cells.variance(form) + (max(rows, 0.0) if sampled else 0.0)):
            return False
    return True


def _end(piece: Piece, z: float, mean: float, se: float, sampled: bool) -> float:
    """The largest theta that the upper forms allow.

    Between two ends of cells that may be counted the upper form is linear in theta, so what it allows is a convex
    function of theta: where both ends are forbidden, all between them is. Beyond the last one it falls for good, since
    rows are surely counted.
    """

    def allowed(theta: float) -> float:
        return _most(piece, theta, z, sampled)

    breaks = np.unique(piece.high[piece.possible & ~piece.sure])
    places = breaks.tolist() or [mean]
    step = max(1.1 * z * se, abs(mean) * 1e-9, 1e-150)
    last = next((i for i in reversed(range(len(places))) if allowed(places[i]) >= 0.0), -1)
    low = places[last] if last >= 0 else next(t for t in _steps(places[0], -step) if allowed(t) >= 0.0)
    high = places[last + 1] if last + 1 < len(places) else next(t for t in _steps(low, step) if allowed(t) < 0.0)
    return float(brentq(allowed, low, high, xtol=PRECISE * step, rtol=1e-12))


def _steps(start: float, step: float) -> Iterator[float]:
    """Further and further away."""
    return (start + step * 2.0**i for i in range(DOUBLINGS))
