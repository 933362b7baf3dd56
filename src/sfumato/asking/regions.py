"""Which cells of a joint table a condition holds in: surely, possibly, or not at all.

A level of an ordered column holds many numbers, and a condition may hold for some of them: it cuts the level. Between
the constants of a condition its truth does not change, so the ends of a bin, the constants within, and a number between
each two of these stand for all numbers of the bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfumato.asking.evidence import Axis, Columns
from sfumato.models.structural_zeros import Leaf, is_plain, leaves_of
from sfumato.schema.conditions import ColumnOf, Condition, Constant, Mask, Missing
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray, OrderedBins


@dataclass(frozen=True, eq=False)
class Region:
    """The cells of some columns' joint table that a condition holds in.

    What cannot be read of a column that a condition speaks of is in no region.

    Attributes:
        columns: The columns, in order.
        sure: The cells in which it holds whatever the numbers are.
        possible: Those in which it may hold.
    """

    columns: Columns
    sure: Mask
    possible: Mask

    @classmethod
    def everywhere(cls) -> Region:
        """Every row."""
        return cls((), np.array(True), np.array(True))

    @classmethod
    def readable(cls, axes: Mapping[str, Axis], columns: Columns) -> Region:
        """The rows whose cells of some columns can be read, that of missing values among them."""
        region = cls.everywhere()
        for name in columns:
            inside = np.arange(axes[name].size) != axes[name].nowhere
            region = region & cls((name,), inside, inside)
        return region

    @property
    def cut(self) -> Mask:
        """The cells in which it depends."""
        return np.asarray(self.possible & ~self.sure)

    def __and__(self, other: Region) -> Region:
        both = tuple(sorted({*self.columns, *other.columns}))
        return Region(
            both,
            spread(self.sure, self.columns, both) & spread(other.sure, other.columns, both),
            spread(self.possible, self.columns, both) & spread(other.possible, other.columns, both),
        )


def spread(values: Any, columns: Columns, wanted: Columns) -> Any:
    """An array over sorted columns as one over more of them, of length one along the others."""
    array = np.asarray(values)
    return array.reshape([array.shape[columns.index(name)] if name in columns else 1 for name in wanted])


def can_place(condition: Condition, bins: dict[str, Bins]) -> bool:
    """Whether a condition compares each column with constants alone, or categories with each other."""
    return all(is_plain(leaf, bins) for leaf in leaves_of(condition))


def missing_nowhere(condition: Condition, bins: dict[str, Bins]) -> str | None:
    """A column that a condition asks whether it is missing, and that the schema says never is."""
    asked = (leaf.column.name for leaf in leaves_of(condition) if isinstance(leaf, Missing))
    return next((name for name in asked if bins[name].missing < 0), None)


def region_of(condition: Condition, axes: Mapping[str, Axis]) -> Region:
    """Where a condition holds, on the axes of a round."""
    columns = tuple(sorted(condition.columns()))
    standing = [_Standing.of(axes[name], list(leaves_of(condition))) for name in columns]
    shape = tuple(len(each.series) for each in standing)
    places = np.unravel_index(np.arange(int(np.prod(shape))), shape)
    frame = {
        each.axis.column: each.series.iloc[place].reset_index(drop=True)
        for each, place in zip(standing, places, strict=True)
    }
    holds = np.asarray(condition.holds(frame)).reshape(shape)
    return Region(columns, ~_anywhere(~holds, standing) & _readable(standing), _anywhere(holds, standing))


def _anywhere(holds: Mask, standing: Sequence[_Standing]) -> Mask:
    """For each cell whether it holds for some of the numbers in it."""
    for each in standing:  # each takes the first axis, and puts its levels last
        holds = np.tensordot(holds, each.found, axes=(0, 1)) > 0
    return holds


def _readable(standing: Sequence[_Standing]) -> Mask:
    found = np.array(True)
    for each in standing:
        found = np.logical_and.outer(found, np.arange(each.axis.size) != each.axis.nowhere)
    return found


@dataclass(frozen=True, eq=False)
class _Standing:
    """Cells of a column that stand for all that a condition tells apart: (levels, cells), which level has which."""

    axis: Axis
    series: pd.Series[Any]
    found: IntArray

    @classmethod
    def of(cls, axis: Axis, condition: Sequence[Leaf]) -> _Standing:
        own = [leaf for leaf in condition if axis.column in leaf.columns()]
        series, codes = _values(axis, own)
        alone = [leaf for leaf in own if leaf.columns() == {axis.column}]
        said: list[Any] = [leaf.holds({axis.column: series}) for leaf in alone]
        if len(alone) < len(own):
            said.append(codes)  # compared with another category: each is a case of its own
        says = np.stack([np.zeros(len(codes), np.int64), *said], axis=1).astype(np.int64)
        _, first, which = np.unique(says, axis=0, return_index=True, return_inverse=True)
        found = np.zeros((axis.size, len(first)), dtype=np.int64)
        found[axis.level[codes], which.ravel()] = 1
        return cls(axis, series.iloc[first].reset_index(drop=True), found)


def _values(axis: Axis, own: Sequence[Leaf]) -> tuple[pd.Series[Any], IntArray]:
    """Cells that stand for all others, and their bins."""
    bins = axis.bins
    if isinstance(bins, CategoryBins):
        codes = np.arange(bins.size)
        return bins.decode(codes, np.full(bins.size, 0.5)), codes
    constants = [float(side.values({})) for leaf in own for side in leaf.parts() if isinstance(side, Constant)]
    values, codes = _numbers(axis, bins, np.unique(constants))
    if bins.missing < 0:
        return bins.column.typed(values, None), codes
    absent = np.append(np.zeros(len(values), dtype=bool), True)
    return bins.column.typed(np.append(values, values[-1]), absent), np.append(codes, bins.missing)


def _numbers(axis: Axis, bins: OrderedBins, constants: FloatArray) -> tuple[FloatArray, IntArray]:
    """The ends of every bin, and of those with a constant in them more; and their bins."""
    codes = np.arange(len(bins.starts))
    column = ColumnOf(axis.column, bins.column.type)
    low, high = (column.values({axis.column: bins.decode(codes, np.full(len(codes), end))}) for end in (0.0, 1.0))
    found, places = [low, high], [codes, codes]
    first, last = np.searchsorted(low, constants, "right") - 1, np.searchsorted(high, constants)
    for i in np.unique(np.concatenate([first, last]).clip(0, len(codes) - 1)):
        more = _between(float(low[i]), float(high[i]), constants, bins.step)
        found.append(more)
        places.append(np.full(len(more), i))
    return np.concatenate(found), np.concatenate(places)


def _between(low: float, high: float, constants: FloatArray, step: float | None) -> FloatArray:
    """Numbers of a bin on each side of every constant, and on it."""
    inside = constants[(constants >= low) & (constants <= high)]
    if step is None:
        marks = np.unique(np.concatenate([[low, high], inside]))
        return np.unique(np.concatenate([marks, (marks[1:] + marks[:-1]) / 2.0]))
    steps = np.floor((inside - low) / step + 1e-9)[:, None] + np.arange(-1, 3)
    return np.unique(np.clip(low + steps.ravel() * step, low, high))
