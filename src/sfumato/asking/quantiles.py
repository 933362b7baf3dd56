"""Quantiles of a binned column, by inverting tests.

The q-quantile of n numbers is the smallest v with at least q n of them at or below it. It lies in a bin if at least q n
rows are at or below the bin's end, and fewer before its beginning. Both are the sign of a linear form, the sum over
counted rows of 1[at or below] - q. A bin is in the interval unless noise alone would rarely make one of the two look so
wrong: each of them has half of the error, so that the true bin is left out no more often than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sfumato.asking.evidence import Axis, FloatArray, IntArray
from sfumato.asking.ratios import Piece, highest
from sfumato.asking.regions import spread
from sfumato.schema.conditions import Mask

FORWARDS, BACKWARDS = 1, -1


@dataclass(frozen=True)
class Bin:
    """A bin that may hold the quantile, and pieces whose values say which rows are before it and up to it."""

    low: float
    high: float
    before: Piece
    upto: Piece

    def is_allowed(self, z: float, sampled: bool) -> bool:
        """Whether the quantile may lie in it."""
        too_low = highest(self.upto, z, sampled) < 0.0
        too_high = highest(self.before.reflected(), z, sampled) < 0.0
        return not too_low and not too_high


Bins: TypeAlias = Callable[[int], Iterator[Bin]]
"""Bins in order, lowest first, or backwards."""


def below(piece: Piece, q: float, here: Mask) -> Piece:
    """The piece with values 1[at or below] - q, where `here` says which cells are."""
    values = np.broadcast_to(here, piece.sure.shape).astype(np.float64) - q
    return replace(piece, low=values, high=values)


def hull(bins: Bins, z: float, sampled: bool) -> tuple[float, float] | None:
    """From the lowest to the highest bin that may hold the quantile; None where none may.

    What lies between the two is not looked at: `bins` gives them in order, from either end.
    """
    first, last = (next((b for b in bins(way) if b.is_allowed(z, sampled)), None) for way in (FORWARDS, BACKWARDS))
    return None if first is None or last is None else (first.low, last.high)


def crossing(lows: FloatArray, highs: FloatArray, counts: FloatArray, q: float) -> float:
    """The quantile of estimated counts: they are made to rise first, by the nearest sums that do."""
    upto = np.maximum.accumulate(np.cumsum(counts))
    from_above = np.minimum.accumulate(np.cumsum(counts)[::-1])[::-1]
    rising = (upto + from_above) / 2.0
    if not rising[-1] > 0.0:
        return math.nan
    wanted = q * rising[-1]
    i = int(np.searchsorted(rising, wanted))
    before = rising[i - 1] if i else 0.0
    inside = (wanted - before) / (rising[i] - before) if rising[i] > before else 0.5
    return float(lows[i] + min(max(inside, 0.0), 1.0) * (highs[i] - lows[i]))


def in_order(axis: Axis) -> bool:
    """Whether the levels of a column follow each other, so that each is wholly below the next."""
    low, high = (ends[axis.known] for ends in axis.ranges)
    return bool((low[1:] >= high[:-1]).all())


def levels_as_bins(piece: Piece, column: str, q: float, way: int, levels: IntArray | None = None) -> Iterator[Bin]:
    """The levels of a column as bins that may hold the quantile, in order or backwards: those that hold counted cells,
    all or some.
    """
    columns, axis = piece.cells.columns, piece.cells.axes[column]
    held = axis.known & piece.possible.any(axis=tuple(i for i, name in enumerate(columns) if name != column))
    low, high = axis.ranges
    places = np.arange(axis.size)
    for i in (np.flatnonzero(held) if levels is None else levels[held[levels]])[::way]:
        before, upto = (below(piece, q, spread(places < i + more, (column,), columns)) for more in (0, 1))
        yield Bin(float(low[i]), float(high[i]), before, upto)
