"""How wide the interval of a correlation will be where a layout has settled which tables are asked for.

A layout (`sf.Mixture(layout=...)`) fixes the tables, their levels, and so the noise of their cells, before a row is
read. A correlation is the sum over cells of u v times their counts, over the rows, with u and v the columns in standard
units: what its noise is follows from the numbers that stand for levels, and from guesses at means and spreads. It is
told for columns that hardly correlate; up to 0.3 it is a few percent more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from sfumato.asking.evidence import HELD_ABOVE, Axis, Cells, Round, Table
from sfumato.asking.regions import spread
from sfumato.asking.regressions import CLEAR_SPREAD
from sfumato.errors import ArgumentError
from sfumato.schema.layout import FloatArray, OrderedBins

if TYPE_CHECKING:
    from sfumato.mechanisms.shared_layout import SharedLayout
    from sfumato.schema.layout import Layout


@dataclass(frozen=True)
class Lying:
    """How the rows of a column are guessed to lie.

    Attributes:
        mean: Their mean; None for the middle of the bins.
        spread: Their standard deviation; None for rows that lie evenly over the bins.
    """

    mean: float | None = None
    spread: float | None = None

    def over(self, middles: FloatArray) -> tuple[FloatArray, float, float]:
        """The share of rows at each bin, and their mean and standard deviation: normal with a spread, or even."""
        mean = float(middles.mean()) if self.mean is None else self.mean
        if self.spread is None:
            return np.full(len(middles), 1.0 / len(middles)), mean, float(middles.std())
        edges = np.concatenate([[-np.inf], (middles[1:] + middles[:-1]) / 2.0, [np.inf]])
        return np.diff(ndtr((edges - mean) / self.spread)), mean, self.spread


@dataclass(frozen=True)
class SettledTables:
    """The tables of a layout, as answers to come: their noise is known, and counts are not.

    Attributes:
        layout: The columns in the bins that they are asked in.
        shared: The levels and tables.
        sd: Of the noise on a cell of each table.
        rows: The guessed number of rows.
        lying: How the rows of a column are guessed to lie, by its place.
        count_sd: The noise of a histogram's count, by the column's place.
    """

    layout: Layout
    shared: SharedLayout
    sd: float
    rows: int
    lying: Callable[[int], Lying]
    count_sd: Callable[[int], float]

    def half_width(self, one: str, other: str, z: float) -> float:
        """Of the interval of a correlation at z standard deviations; infinite where noise hides how columns spread.

        Raises:
            ArgumentError: No table has both columns.
        """
        cells = self.cells(one, other)
        known = np.ones(cells.shape)
        for name in (one, other):
            known = known * spread(cells.axes[name].known, (name,), cells.columns)
        u, v = (spread(self._standard(name), (name,), cells.columns) * known for name in (one, other))
        sizes = [cells.variance(each) for each in (u**2, v**2, (u**2 + v**2) / 2.0)]
        if not self.rows > CLEAR_SPREAD * math.sqrt(max(sizes)):
            return math.inf
        return z * math.sqrt(cells.variance(u * v) / (self.rows**2 - z**2 * sizes[-1]))  # Fieller's, around 0

    def has(self, one: str, other: str) -> bool:
        """Whether a table has both columns."""
        return self._round.speaks_of((one, other))

    def quarter_sd(self, one: str, other: str) -> float:
        """The noise on the rows in a quarter of a pair's cells, one standard deviation."""
        cells = self.cells(one, other)
        return math.sqrt(math.prod(cells.shape) / 4.0 / self._round.precision(cells.columns))

    def cells(self, one: str, other: str) -> Cells:
        """What the tables will say of a pair.

        Raises:
            ArgumentError: None has both columns.
        """
        if not self.has(one, other):
            raise ArgumentError(f"the layout has no table of {one!r} and {other!r}")
        return self._round.cells((one, other))

    @cached_property
    def _round(self) -> Round:
        names = [*self.layout.names, self.layout.label or ""]
        axes = {name: self._axis(place) for place, name in enumerate(self.layout.names)}
        if self.layout.label_bins is not None:
            bins = self.layout.label_bins
            axes[names[-1]] = Axis(names[-1], bins, np.arange(bins.size), None)
        tables = []
        for places in self.shared.tables:
            columns = tuple(names[place] for place in places)
            shape = tuple(axes[name].size for name in columns)
            tables.append(Table(columns, np.broadcast_to(0.0, shape), self.sd))
        return Round("tables", "tables", axes, tuple(tables))

    def _axis(self, place: int) -> Axis:
        """A column in levels, with the typical numbers that its histogram is going to tell."""
        bins, level = self.layout.bins[place], np.asarray(self.shared.levels[place])
        axis = Axis(self.layout.names[place], bins, level, int(level.max()) + 1)
        if not isinstance(bins, OrderedBins):
            return axis
        shares, _, _ = self.lying(place).over(_middles(bins))
        counts = self.rows * shares
        counts = np.where(counts > HELD_ABOVE * self.count_sd(place), counts, 0.0)
        typical = _level_means(axis, counts, _middles(bins))
        return Axis(axis.column, bins, level, axis.nowhere, typical)

    def _standard(self, name: str) -> FloatArray:
        """The number of each level in standard units of the column as binned."""
        place, axis = self.layout.names.index(name), self._round.axes[name]
        bins = self.layout.bins[place]
        numbers = _middles(bins) if isinstance(bins, OrderedBins) else np.flatnonzero(axis.known).astype(np.float64)
        shares, mean, sd = self.lying(place).over(numbers)
        within = float(shares @ (numbers - axis.middles[axis.level[: len(numbers)]]) ** 2)  # is not seen in levels
        return (axis.middles - mean) / math.sqrt(max(sd**2 - within, 1e-12 * sd**2, 1e-300))


def _middles(bins: OrderedBins) -> FloatArray:
    return (bins.low + bins.high) / 2.0


def _level_means(axis: Axis, counts: FloatArray, numbers: FloatArray) -> FloatArray:
    """The mean number of each level, the middle where it has no counts."""
    level = axis.level[: len(numbers)]
    held, sums = (np.bincount(level, weights, axis.size) for weights in (counts, counts * numbers))
    return np.where(held > 0.0, sums / np.where(held > 0.0, held, 1.0), axis.middles)
