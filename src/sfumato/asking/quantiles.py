"""Quantiles of a binned column, by inverting tests.

The q-quantile of n numbers is the smallest v with at least q n of them at or below it. It lies in a bin if at least q n
rows are at or below the bin's end, and fewer before its beginning. Both are the sign of a linear form, the sum over
counted rows of 1[at or below] - q. A bin is in the interval unless noise alone would rarely make one of the two look so
wrong: each of them has half of the error, so that the true bin is left out no more often than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.asking.evidence import Axis, FloatArray
from sfumato.asking.ratios import Piece, Pieces, highest
from sfumato.asking.regions import spread
from sfumato.schema.conditions import Mask


@dataclass(frozen=True)
class Bin:
    """A bin that may hold the quantile, as a tuple of pieces whose values say which rows are before it and up to it."""

    low: float
    high: float
    before: Pieces
    upto: Pieces

    def is_allowed(self, z: float, sampled: bool) -> bool:
        """Whether the quantile may lie in it."""
        too_low = highest(self.upto, z, sampled) < 0.0
        too_high = highest([piece.reflected() for piece in self.before], z, sampled) < 0.0
        return not too_low and not too_high


def below(piece: Piece, q: float, here: Mask) -> Piece:
    """The piece with values 1[at or below] - q, where `here` says which cells are."""
    values = np.broadcast_to(here, piece.sure.shape).astype(np.float64) - q
    return replace(piece, low=values, high=values)


def hull(bins: Iterable[Bin], z: float, sampled: bool) -> tuple[float, float] | None:
    """From the lowest to the highest bin that may hold the quantile; None where none may."""
    allowed = [each for each in bins if each.is_allowed(z, sampled)]
    return (min(each.low for each in allowed), max(each.high for each in allowed)) if allowed else None


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


def levels_as_bins(piece: Piece, axis: Axis, q: float, beside: Piece | None = None) -> Iterator[Bin]:
    """The levels of a column as bins that may hold the quantile.

    Args:
        piece: The counted cells, those of the levels among them.
        axis: The column's.
        q: Which quantile.
        beside: Cells of another round, counted too, with values that say which of them are below all these levels.

    Returns:
        One bin for each level that the piece has cells of.
    """
    columns = piece.cells.columns
    other = (axis.column,)
    along = tuple(i for i, name in enumerate(columns) if name != axis.column)
    held = np.asarray(piece.possible.any(axis=along))
    low, high = axis.ranges
    rest = [] if beside is None else [beside]
    places = np.arange(axis.size)
    for i in np.flatnonzero(axis.known & held):
        under, upto = (spread(places < i + more, other, columns) for more in (0, 1))
        yield Bin(float(low[i]), float(high[i]), [below(piece, q, under), *rest], [below(piece, q, upto), *rest])
