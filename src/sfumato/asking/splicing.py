"""A histogram of mixed resolution: some bins of a first look in parts, as a later look counts them.

What the first look said of a bin that is taken in parts is left out, for it decided on them. All cells of a column add
up to the number of rows, by class where classes are told apart, and other columns' histograms tell that too: M, with
variance V. With y the counts of the cells and v their variances, the best linear estimate of a question q . x is
q . (y + v R / D), R = M - sum of y, D = V + sum of v, and its variance is q . v q - (q . v)^2 / D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sfumato.asking.evidence import Axis, Columns, Round, Table, in_order_of
from sfumato.schema.conditions import Mask
from sfumato.schema.layout import FloatArray, IntArray, OrderedBins


class Spliced:
    """Counts of an ordered column, alone or with the label: `Cells` of two looks.

    Attributes:
        rounds: The first look, and the later one.
        columns: The columns.
        axes: How they are seen.
        shape: How many levels each has.
        counts: The best linear estimates of the cells' counts.
    """

    def __init__(self, first: Round, finer: Round, columns: Columns, column: str, parted: Mask) -> None:
        self.rounds, self.columns = (first, finer), columns
        self._place = columns.index(column)
        own, sources = spliced_axis(first.axes[column], finer.axes[column], parted)
        self.axes: Mapping[str, Axis] = {name: own if name == column else first.axes[name] for name in columns}
        self.shape = tuple(self.axes[name].size for name in columns)
        counts, self._variances = self._joined(table_of(first, column), table_of(finer, column), sources)
        others = Round(first.name, first.kind, first.axes, tuple(t for t in first.tables if column not in t.columns))
        self._slack = float(self._variances.sum())
        if others.tables:
            told = others.cells(tuple(name for name in columns if name != column))
            unit = np.zeros(told.shape)
            unit[(0,) * unit.ndim] = 1.0
            self._slack += told.variance(unit)  # V: of each class alone, whose noise is its own
            lacking = (told.counts - counts.sum(axis=self._place)) / self._slack
            counts = counts + self._along(self._variances) * np.expand_dims(lacking, self._place)
        else:
            self._slack = np.inf
        self.counts = counts

    def _along(self, values: FloatArray) -> FloatArray:
        """Values of the levels as an array of the cells."""
        return values.reshape([-1 if i == self._place else 1 for i in range(len(self.columns))])

    def _joined(self, first: Table, finer: Table, sources: IntArray) -> tuple[FloatArray, FloatArray]:
        """Counts of the cells, and their variances by level; `sources` counts the finer levels from -1 downwards."""
        summed = [n for name, n in zip(first.columns, first.counts.shape, strict=True) if name not in self.columns]
        one, two = (in_order_of(table, self.columns) for table in (first, finer))
        counts = np.where(
            self._along((sources >= 0).astype(np.float64)) > 0.0,
            np.take(one, sources.clip(0), axis=self._place),
            np.take(two, (-1 - sources).clip(0), axis=self._place),
        )
        return counts, np.where(sources >= 0, first.sd**2, finer.sd**2) * float(np.prod(summed))

    def total(self, question: FloatArray) -> float:
        """The sum over cells of a question's coefficients times counts."""
        return float((question * self.counts).sum())

    def variance(self, question: FloatArray) -> float:
        """The variance of a question's noise."""
        whole = np.broadcast_to(question, self.shape)
        weighed = self._along(self._variances) * whole
        return float((weighed * whole).sum() - (weighed.sum(axis=self._place) ** 2).sum() / self._slack)


def table_of(look: Round, column: str) -> Table:
    """The histogram of a column in a look."""
    (found,) = look.holding((column,))
    return found


def spliced_axis(first: Axis, finer: Axis, parted: Mask) -> tuple[Axis, IntArray]:
    """The first look's levels, those that are parted as the later look's; and for each level where it comes from: its
    place among the first look's, or -1 less its place among the later one's.
    """
    assert isinstance(first.bins, OrderedBins)
    assert isinstance(finer.bins, OrderedBins)
    parents = parents_of(first, finer)
    whole = np.flatnonzero(~parted[first.level[: len(first.bins.starts)]])
    parts = np.flatnonzero(parted[parents[finer.level[: len(finer.bins.starts)]]])
    starts = np.concatenate([first.bins.starts[whole], finer.bins.starts[parts]])
    order = np.argsort(starts)
    inside = np.concatenate([first.level[whole], -1 - finer.level[parts]])[order]
    missing = [] if first.bins.missing < 0 else [first.level[first.bins.missing]]
    bins = replace(first.bins, starts=starts[order])
    sources = np.concatenate([[first.nowhere or 0], inside, missing]).astype(np.int64)
    return Axis(first.column, bins, 1 + np.arange(bins.size), 0), sources


def parents_of(first: Axis, finer: Axis) -> IntArray:
    """For each level of a later look at an ordered column the level of the first that it lies in."""
    assert isinstance(first.bins, OrderedBins)
    assert isinstance(finer.bins, OrderedBins)
    parent = np.searchsorted(first.bins.starts, finer.bins.starts, "right") - 1
    levels = np.full(finer.size, first.nowhere, dtype=np.int64)
    levels[finer.level[: len(parent)]] = first.level[parent]
    if finer.bins.missing >= 0:
        levels[finer.level[finer.bins.missing]] = first.level[first.bins.missing]
    return levels


def is_nested(first: Axis, finer: Axis) -> bool:
    """Whether every bin of a later look lies in one of the first."""
    if not isinstance(first.bins, OrderedBins) or not isinstance(finer.bins, OrderedBins):
        return False
    return bool(np.isin(first.bins.starts, finer.bins.starts).all())
