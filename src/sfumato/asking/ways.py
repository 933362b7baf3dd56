"""How a question is answered: from which round, about which cells, and in how many ways.

A question is answered from the first round that speaks of its columns. Where the first look at a column has bins that a
condition cuts, or that are wide for a mean, later looks may be finer. Then there are two ways to answer: from the first
look, with all that such bins may hold; or with these bins in parts, as the last look counts them, with the noise of its
many bins. Which is narrower depends on the noise, so none is chosen: both are made with half of the error each, and the
interval is what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sfumato.asking.evidence import Axis, Columns, Round
from sfumato.asking.quantiles import Bin, levels_as_bins
from sfumato.asking.ratios import Counts, Piece, Ratio
from sfumato.asking.regions import Region, region_of, spread
from sfumato.asking.splicing import Spliced, is_nested, parents_of
from sfumato.schema.conditions import Condition, Mask

Counted: TypeAlias = tuple[Region | None, Any, Any]  # cells (None: all that can be read), smallest and largest values
Question: TypeAlias = Callable[[Region], Counted]  # of where a condition holds


def first_round(rounds: Sequence[Round], columns: Columns) -> Round:
    """The round that answers: the first that speaks of these columns, which its own noise did not decide."""
    return next(each for each in rounds if each.speaks_of(columns))


def finer_look(rounds: Sequence[Round], columns: Columns) -> tuple[str, Round] | None:
    """The one ordered column of histograms, and the last look at it, within the first one's bins; None if there is no
    other look.
    """
    looks = [each for each in rounds if each.kind == "histograms" and each.speaks_of(columns)]
    if len(looks) < 2:
        return None
    nested = [name for name in columns if is_nested(looks[0].axes[name], looks[-1].axes[name])]
    return (nested[0], looks[-1]) if len(nested) == 1 and len(looks[0].holding((nested[0],))) == 1 else None


def region_in(condition: Condition | None, axes: Mapping[str, Axis]) -> Region:
    """Where a condition holds, as a round sees columns."""
    return Region.everywhere() if condition is None else region_of(condition, axes)


def ways_of(rounds: Sequence[Round], columns: Columns, condition: Condition | None, question: Question) -> list[Piece]:
    """The ways to answer a question: from the first round, and where it cuts bins, with those of the last look."""
    return ways_by(rounds, columns, [condition], lambda axes: question(region_in(condition, axes)))


def ways_by(
    rounds: Sequence[Round],
    columns: Columns,
    conditions: Sequence[Condition | None],
    question: Callable[[Mapping[str, Axis]], Counted],
) -> list[Piece]:
    """Those of a question of several conditions."""
    first = first_round(rounds, columns)
    whole = piece_of(first.cells(columns), question(first.axes))
    finer = finer_look(rounds, columns)
    if finer is None:
        return [whole]
    column, look = finer
    cut = _cut_along(column, first.axes[column], [region_in(each, first.axes) for each in conditions])
    if not cut.any():
        return [whole]
    parts = Spliced(first, look, columns, column, cut)
    return [whole, piece_of(parts, question(parts.axes))]


def _cut_along(column: str, axis: Axis, regions: Sequence[Region]) -> Mask:
    """Which levels of a column some region cuts."""
    found = np.zeros(axis.size, dtype=bool)
    for region in regions:
        if column in region.columns:
            found |= region.cut.any(axis=tuple(i for i, name in enumerate(region.columns) if name != column))
    return found


def piece_of(cells: Counts, counted: Counted) -> Piece:
    """A question about cells."""
    where, low, high = counted
    region = Region.readable(cells.axes, cells.columns) if where is None else where
    sure, possible = (
        np.broadcast_to(spread(mask, region.columns, cells.columns), cells.shape)
        for mask in (region.sure, region.possible)
    )
    ends = (np.broadcast_to(np.asarray(end, dtype=np.float64), cells.shape) for end in (low, high))
    return Piece(cells, sure, possible, *ends)


def numbers_of(column: str, cells: Counts, condition: Condition | None, group: Region) -> Piece:
    """The rows of a group that a condition holds for, with a column's numbers as their values."""
    axis = cells.axes[column]
    known = Region((column,), axis.known, axis.known)
    low, high = (spread(end, (column,), cells.columns) for end in axis.ranges)
    return piece_of(cells, (region_in(condition, cells.axes) & known & group, low, high))


def number_ways(
    rounds: Sequence[Round], columns: Columns, column: str, condition: Condition | None, group: Region
) -> list[Piece]:
    """The ways to sum a column's numbers: from the first round, and where its bins are wide, from the last look."""
    first = first_round(rounds, columns)
    whole = numbers_of(column, first.cells(columns), condition, group)
    finer = finer_look(rounds, columns)
    low, high = first.axes[column].ranges
    if finer is None or finer[0] != column or column in group.columns or not (low < high).any():
        return [whole]
    parts = Spliced(first, finer[1], columns, column, low < high)
    return [whole, numbers_of(column, parts, condition, group)]


def bins_within(
    found: tuple[float, float],
    rounds: Sequence[Round],
    columns: Columns,
    condition: Condition | None,
    q: float,
    way: int,
) -> Iterator[Bin]:
    """The bins of the last look that may hold a quantile, within what the first one allows, in order or backwards: each
    bin of the first look in parts, and all others whole.
    """
    first, finer = first_round(rounds, columns), finer_look(rounds, columns)
    assert finer is not None
    column, look = finer
    axis = first.axes[column]
    low, high = axis.ranges
    for p in np.flatnonzero(axis.known & (low <= found[1]) & (high >= found[0]))[::way]:
        parted = np.arange(axis.size) == p
        cells = Spliced(first, look, columns, column, parted)
        inside = np.flatnonzero(parents_of(axis, cells.axes[column]) == p)
        yield from levels_as_bins(numbers_of(column, cells, condition, Region.everywhere()), column, q, way, inside)


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
