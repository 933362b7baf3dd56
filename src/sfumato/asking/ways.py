"""How a question is answered: from which round, about which cells, and in how many ways.

A question is answered from the first round that speaks of its columns. Where the first look at a column has bins that a
condition cuts, later looks may be finer. Then there are two ways to answer: from the first look, with all that the cut
bins may hold; or with the cut bins taken from the last look as a whole, with the noise of its many bins. Which is
narrower depends on the noise, so none is chosen: both are made with half of the error each, and the interval is what
they have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from sfumato.asking.evidence import Axis, Columns, Round
from sfumato.asking.quantiles import Bin, below, levels_as_bins
from sfumato.asking.ratios import Piece, Pieces, Ratio
from sfumato.asking.regions import Region, region_of, spread
from sfumato.schema.conditions import Condition
from sfumato.schema.layout import IntArray, OrderedBins

Counted: TypeAlias = tuple[Region | None, Any, Any]  # cells (None: all that can be read), smallest and largest values
Question: TypeAlias = Callable[[Region], Counted]  # of where a condition holds


def first_round(rounds: Sequence[Round], columns: Columns) -> Round:
    """The round that answers: the first that speaks of these columns, which its own noise did not decide."""
    return next(each for each in rounds if each.speaks_of(columns))


def finer_round(rounds: Sequence[Round], first: Round, columns: Columns) -> Round | None:
    """The last look at the columns that the first look had too, within its bins; None where there is no other."""
    looks = [each for each in rounds if each.kind == "histograms" and each.speaks_of(columns)]
    if not looks or looks[0] is not first or len(looks) == 1:
        return None
    return looks[-1] if all(_is_nested(first.axes[name], looks[-1].axes[name]) for name in columns) else None


def region_in(condition: Condition | None, of: Round) -> Region:
    """Where a condition holds, as a round sees columns."""
    return Region.everywhere() if condition is None else region_of(condition, dict(of.axes))


def ways_of(rounds: Sequence[Round], columns: Columns, condition: Condition | None, question: Question) -> list[Pieces]:
    """The ways to answer a question: from the first round, and where it cuts bins, with those of the last look."""
    first = first_round(rounds, columns)
    region = region_in(condition, first)
    whole = piece_of(first, columns, question(region), Region.everywhere())
    finer = finer_round(rounds, first, columns)
    ordered = [name for name in columns if isinstance(first.axes[name].bins, OrderedBins)]
    if finer is None or not region.cut.any() or len(ordered) != 1:
        return [[whole]]
    kept = Region(region.columns, ~region.cut, ~region.cut)
    within = _of_parents(region, first.axes[ordered[0]], finer.axes[ordered[0]])
    # Other columns' totals would bring in what the first look said of the cut bins: their own table alone does not.
    alone = piece_of(first.only(columns), columns, question(region), kept)
    inner = piece_of(finer, columns, question(region_in(condition, finer)), within)
    return [[whole], [alone, inner]]


def piece_of(of: Round, columns: Columns, counted: Counted, within: Region) -> Piece:
    """A question about the cells of some columns, of those within a region."""
    where, low, high = counted
    region = (Region.readable(of, columns) if where is None else where) & within
    cells = of.cells(columns)
    sure, possible = (
        np.broadcast_to(spread(mask, region.columns, cells.columns), cells.shape)
        for mask in (region.sure, region.possible)
    )
    ends = (np.broadcast_to(np.asarray(end, dtype=np.float64), cells.shape) for end in (low, high))
    return Piece(cells, sure, possible, *ends)


def numbers_of(column: str, of: Round, columns: Columns, condition: Condition | None, group: Region) -> Piece:
    """The rows of a group that a condition holds for, with a column's numbers as their values."""
    axis = of.axes[column]
    known = Region((column,), axis.known, axis.known)
    low, high = (spread(end, (column,), columns) for end in axis.ranges)
    return piece_of(of, columns, (region_in(condition, of) & known & group, low, high), Region.everywhere())


def bins_within(
    found: tuple[float, float], piece: Piece, inner: Piece, axis: Axis, finer: Axis, q: float
) -> Iterator[Bin]:
    """The bins of a later look within what the first allows, its other bins beside them as the first look has them."""
    low, high = axis.ranges
    columns = piece.cells.columns
    for p in np.flatnonzero(axis.known & (low <= found[1]) & (high >= found[0])):
        here = spread(np.arange(axis.size) == p, (axis.column,), columns)
        inside = spread(_parents(axis, finer) == p, (axis.column,), columns)
        others = replace(piece, sure=piece.sure & ~here, possible=piece.possible & ~here)
        under = below(others, q, spread(np.arange(axis.size) < p, (axis.column,), columns))
        parts = replace(inner, sure=inner.sure & inside, possible=inner.possible & inside)
        yield from levels_as_bins(parts, finer, q, under)


def common(found: Sequence[Ratio]) -> Ratio:
    """The narrowest of several answers, with what all their intervals have in common; all of them, if nothing."""
    bounded = [(each, each.interval) for each in found if each.interval is not None]
    if not bounded:
        return found[0]
    best, _ = min(bounded, key=lambda pair: pair[1][1] - pair[1][0])
    lows, highs = [low for _, (low, _) in bounded], [high for _, (_, high) in bounded]
    low, high = max(lows), min(highs)
    if low > high:
        low, high = min(lows), max(highs)
    return Ratio(min(max(best.estimate, low), high), best.se, (low, high))


def _is_nested(first: Axis, finer: Axis) -> bool:
    """Whether every bin of a later look lies in one of the first."""
    if isinstance(first.bins, OrderedBins) and isinstance(finer.bins, OrderedBins):
        return bool(np.isin(first.bins.starts, finer.bins.starts).all())
    return True


def _parents(first: Axis, finer: Axis) -> IntArray:
    """For each level of a later look at an ordered column the level of the first that it lies in."""
    assert isinstance(first.bins, OrderedBins)
    assert isinstance(finer.bins, OrderedBins)
    parent = np.searchsorted(first.bins.starts, finer.bins.starts, "right") - 1
    levels = np.full(finer.size, first.nowhere or 0, dtype=np.int64)
    levels[finer.level[: len(parent)]] = first.level[parent]
    if finer.bins.missing >= 0:
        levels[finer.level[finer.bins.missing]] = first.level[first.bins.missing]
    return levels


def _of_parents(region: Region, first: Axis, finer: Axis) -> Region:
    """The cells of a later look that lie in cells which a condition cuts in the first."""
    cut = np.take(region.cut, _parents(first, finer), axis=region.columns.index(first.column))
    return Region(region.columns, cut, cut)
