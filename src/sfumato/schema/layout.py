"""Public bins: how a column's domain is cut, from the schema alone, or later from noisy answers.

A cell becomes the number of its place on the column's grid, and everything the private side does afterwards sees these
numbers only. Bins are runs of the grid, so that they can be chosen without reading the table again.

>>> from sfumato.schema.schema import Number
>>> age = bins_of(Number(min=0, max=3, step=1))
>>> age.size, age.code(np.array([0.4, 2.0, 9.0, np.nan])).tolist()
(4, [0, 2, 3, -1])
>>> gain = bins_of(Number(min=0, max=100, bins=4, atoms=(0.0,), missing=True))
>>> gain.size, gain.code(np.array([0.0, 1.0, 30.0, np.nan])).tolist()
(6, [0, 1, 2, 5])
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from sfumato.schema.grid import NOWHERE, FloatArray, Grid, IntArray, Marks, Steps

if TYPE_CHECKING:  # what a layout is made of is told apart by its `type`: the private side needs no schema parser
    from sfumato.schema.columns import Column, ListedColumn, OrderedColumn
    from sfumato.schema.schema import Group, Schema

DEFAULT_BINS = 256  # where the schema is silent
ROW = "row"  # the unit of privacy where the schema names none
QUERY_ROW = "row of the query's result"  # the same where rows come from more than one stored table
SINGLE_ROWS = (ROW, QUERY_ROW)
LOG_STEPS = 10_000  # a log scale without a step is linear below this fraction of the range
EDGE = 1e-3  # a value on the rim of a bin is placed this far inside, where its density is finite
EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class OrderedBins:
    """Bins of a number or a date, in the order of their values: runs of the column's grid.

    Bin i holds the cells of the grid from `starts[i]` to the next start. With a step, `low` and `high` are the first
    and last value that a bin holds; without one its ends, and a bin that is one mark (an atom) has `low[i] == high[i]`.
    """

    column: OrderedColumn
    grid: Grid
    starts: IntArray

    @cached_property
    def low(self) -> FloatArray:
        """Where each bin begins."""
        return self.grid.lows(self.starts)

    @cached_property
    def high(self) -> FloatArray:
        """Where each bin ends."""
        return self.grid.highs(self._last)

    @cached_property
    def _last(self) -> IntArray:
        """The last cell of each bin."""
        return np.append(self.starts[1:], self.grid.size) - 1

    @property
    def step(self) -> float | None:
        """The distance of values; None where all numbers are."""
        return self.grid.step if isinstance(self.grid, Steps) else None

    @property
    def size(self) -> int:
        """How many bins there are, that of missing values among them."""
        return len(self.starts) + self.column.missing

    @property
    def ordered(self) -> bool:
        """Whether bins have an order: they have."""
        return True

    @property
    def missing(self) -> int:
        """The bin of a missing cell, or NOWHERE."""
        return len(self.starts) if self.column.missing else NOWHERE

    @property
    def cells(self) -> int:
        """How many cells the grid has, that of missing values among them."""
        return self.grid.size + self.column.missing

    @property
    def cell_starts(self) -> IntArray:
        """The first cell of every bin, that of missing values among them."""
        return np.append(self.starts, self.grid.size) if self.column.missing else self.starts

    @property
    def follows_mass(self) -> bool:
        """Whether finer bins may be looked for: the schema names none, and the grid has finer ones."""
        return self.column.bins is None and len(self.starts) < self.grid.size

    @cached_property
    def continuous(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which bins spread their mass over an interval, so that a value in them has a density."""
        wide = (self.low < self.high) if self.step is None else np.zeros(len(self.low), dtype=bool)
        return np.append(wide, False) if self.column.missing else wide

    @cached_property
    def _rims(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and largest value that belongs to each bin of a column without a step: a bin that begins or ends
        with an interval does not hold the mark there.
        """
        low = np.where(self.starts % 2 == 1, np.nextafter(self.low, np.inf), self.low)
        return low, np.where(self._last % 2 == 1, np.nextafter(self.high, -np.inf), self.high)

    @cached_property
    def counts(self) -> FloatArray:
        """How many grid values each bin holds (1 for a bin without a grid)."""
        grid = np.ones(len(self.low)) if self.step is None else np.rint((self.high - self.low) / self.step) + 1
        return np.append(grid, 1.0) if self.column.missing else grid

    def cell(self, values: FloatArray) -> IntArray:
        """The cell of the grid of each value; outside values clamp, NaN goes to the missing cell or nowhere."""
        cells = self.grid.code(values)
        return np.where(cells < 0, self.grid.size, cells) if self.column.missing else cells

    def code(self, values: FloatArray) -> IntArray:
        """The bin of each value; outside values clamp, NaN goes to the missing bin or nowhere."""
        cells = self.cell(values)
        return np.where(cells < 0, NOWHERE, np.searchsorted(self.cell_starts, cells, "right") - 1)

    def position(self, values: FloatArray, codes: IntArray) -> FloatArray:
        """How far into its bin a value lies, from 0 to 1 (a half where the bin is no interval)."""
        inside = codes.clip(0, len(self.low) - 1)
        low, high = self.low[inside], self.high[inside]
        width = np.where(high > low, high - low, 1.0)
        placed = self.continuous[codes] & (codes >= 0)
        return np.where(placed, np.clip((np.nan_to_num(values) - low) / width, EDGE, 1.0 - EDGE), 0.5)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and largest value."""
        return self.grid.low, self.grid.high

    def fixed(self, values: FloatArray | None, bits: int) -> IntArray:
        """The place of each value between the bounds, as a whole number from 0 to 2^bits; -1 for NaN.

        Differences, a quotient, a product and a rounding, each elementwise and correctly rounded.
        """
        assert values is not None  # ordered cells have values
        low, high = self.bounds
        absent = np.isnan(values)
        inside = np.clip(np.where(absent, low, values), low, high)
        return np.where(absent, NOWHERE, np.rint((inside - low) / (high - low) * 2.0**bits)).astype(np.int64)

    def of_values(self, values: FloatArray) -> pd.Series[Any]:
        """Values clamped to the bounds and put on the grid, in the column's type."""
        low, high = self.bounds
        clamped = np.clip(values, low, high)
        if self.step is not None:
            last = np.floor((high - low) / self.step + 1e-9)
            clamped = low + np.rint((clamped - low) / self.step).clip(max=last) * self.step
        return self.column.typed(clamped, None)

    def log_width(self, codes: IntArray) -> FloatArray:
        """Log of what divides a bin's mass: its width, or the number of values on its grid."""
        widths = np.where(self.continuous, np.append(self.high - self.low, [1.0] * self.column.missing), self.counts)
        return np.where(codes >= 0, np.log(widths)[codes], 0.0)

    def decode(self, codes: IntArray, position: FloatArray) -> pd.Series[Any]:
        """A value of each bin, `position` (from 0 to 1) of the way through it, in the column's type."""
        absent = codes == self.missing
        inside = codes.clip(0, len(self.low) - 1)
        if self.step is None:
            values = self.low[inside] + position * (self.high - self.low)[inside]
            values = np.clip(values, *(edge[inside] for edge in self._rims))
        else:
            within = np.minimum(np.floor(position * self.counts[inside]), self.counts[inside] - 1)
            values = self.low[inside] + within * self.step
        return self.column.typed(values, absent if self.column.missing else None)


@dataclass(frozen=True)
class CategoryBins:
    """One bin for each category, in the schema's order."""

    column: ListedColumn

    @property
    def size(self) -> int:
        """How many bins there are, that of missing values among them."""
        return len(self.column.levels) + self.column.missing

    @property
    def cells(self) -> int:
        """The same: categories are their own grid."""
        return self.size

    @property
    def cell_starts(self) -> IntArray:
        """The first cell of every bin: each is its own."""
        return np.arange(self.size)

    @property
    def follows_mass(self) -> bool:
        """Whether finer bins may be looked for: there are none."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether bins have an order: categories have none."""
        return False

    @property
    def missing(self) -> int:
        """The bin of a missing or unknown category, or NOWHERE."""
        return len(self.column.levels) if self.column.missing else NOWHERE

    @property
    def continuous(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which bins have values inside: none has."""
        return np.zeros(self.size, dtype=bool)

    def decode(self, codes: IntArray, position: FloatArray) -> pd.Series[Any]:
        """The levels, with the type they have in the schema."""
        return self.column.typed(codes)


Bins: TypeAlias = OrderedBins | CategoryBins


def bins_of(column: Column) -> Bins:
    """The bins of one column of a schema, before any row was asked about."""
    if column.type == "category" or column.type == "boolean":
        return CategoryBins(column)
    low, high, step, scale, atoms = column.span
    if step is None:
        return _plain(column, Marks(low, high, atoms), scale)
    return _stepped(column, Steps(low, high, step), scale, atoms)


@dataclass(frozen=True)
class Difference:
    """A modelled column that a table has not: the smallest of some of its columns less the largest of others.

    Attributes:
        uppers: Of the first, names and bins.
        lowers: Of the others.
    """

    uppers: tuple[tuple[str, OrderedBins], ...]
    lowers: tuple[tuple[str, OrderedBins], ...]


@dataclass(frozen=True)
class Layout:
    """The bins of a whole schema.

    Attributes:
        names: The modelled columns but the label, in order: columns of the table, and differences of such.
        bins: Their bins.
        label: The name of the label; None where there is none.
        label_bins: Its bins, which are the classes.
        unit: The column that names units of privacy; None where a unit is a row.
        groups: Columns that are modelled through a projection.
        differences: Those of the modelled columns that are read from several of the table, by name.
    """

    names: tuple[str, ...]
    bins: tuple[Bins, ...]
    label: str | None
    label_bins: Bins | None
    unit: str | None = None
    groups: tuple[Group, ...] = ()
    differences: Mapping[str, Difference] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema) -> Layout:
        """The layout of a schema.

        Args:
            schema: The schema.

        Returns:
            Its bins, which depend on nothing else.
        """
        label, modelling = schema.label, schema.modelling
        features = {name: column for name, column in modelling.modelled.items() if name != label}
        return cls(
            tuple(features),
            _all_bins(features, schema),
            label,
            None if label is None else bins_of(schema.columns[label]),
            None if schema.unit is None else schema.unit.column,
            tuple(schema.groups.values()),
            modelling.differences,
        )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the table that the features are read from."""
        found = dict[str, None]()
        for name in self.names:
            apart = self.differences.get(name)
            found |= dict.fromkeys([name] if apart is None else [end for end, _ in (*apart.uppers, *apart.lowers)])
        return tuple(found)

    @property
    def classes(self) -> int:
        """How many classes the label has; one where there is no label."""
        return 1 if self.label_bins is None else self.label_bins.size

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each feature has."""
        return tuple(bins.size for bins in self.bins)

    @property
    def cells(self) -> tuple[int, ...]:
        """How many cells each feature's grid has: what rows are coded to, and bins are runs of."""
        return tuple(bins.cells for bins in self.bins)

    def refined(self, starts: Sequence[IntArray | None]) -> Layout:
        """The same columns with other bins.

        Args:
            starts: For each feature the first cells of its bins, without that of missing values; None leaves them.

        Returns:
            The layout.
        """
        pairs = zip(self.bins, starts, strict=True)
        bins = (b if s is None or isinstance(b, CategoryBins) else replace(b, starts=s) for b, s in pairs)
        return replace(self, bins=tuple(bins))

    @property
    def dim(self) -> int:
        """Coordinates of the space that rows are modelled in: one a feature, or those of the groups' projections."""
        return sum(group.directions for group in self.groups) if self.groups else len(self.names)

    def class_names(self) -> list[Any]:
        """What to call each class.

        Returns:
            Its category, or the interval of its bin; nothing where there is no label.
        """
        if isinstance(self.label_bins, CategoryBins):
            return list(self.label_bins.column.levels)
        if self.label_bins is None:
            return []
        return [f"{low:g}..{high:g}" for low, high in zip(self.label_bins.low, self.label_bins.high, strict=True)]


def _all_bins(features: Mapping[str, Column], schema: Schema) -> tuple[Bins, ...]:
    """The bins of every feature; those of a group's columns are the same object."""
    grouped = {name: bins for g in schema.groups.values() for bins in [bins_of(g.column())] for name in g.names}
    return tuple(grouped.get(name) or bins_of(column) for name, column in features.items())


def days(date: datetime.date) -> float:
    """A date as days since 1970-01-01."""
    return float((date - EPOCH).days)


def _edges(low: float, high: float, unit: float, count: int, scale: str) -> FloatArray:
    """Edges of `count` bins, equal in value or in log1p((x - low) / unit)."""
    if scale == "linear":
        return np.linspace(low, high, count + 1)
    edges = low + unit * np.expm1(np.linspace(0.0, np.log1p((high - low) / unit), count + 1))
    edges[0], edges[-1] = low, high
    return edges


def _plain(column: OrderedColumn, grid: Marks, scale: str) -> OrderedBins:
    """Bins of a column without a step: intervals from mark to mark, cut at the atoms, which have bins of their own."""
    unit = (grid.high - grid.low) / LOG_STEPS
    edges = grid.near(_edges(grid.low, grid.high, unit, column.bins or DEFAULT_BINS, scale)[:-1])
    atoms = grid.code(np.array(grid.atoms, dtype=np.float64))
    starts = np.unique(np.concatenate([[0], edges, atoms, atoms + 1]))
    return OrderedBins(column, grid, starts[starts < grid.size])


def _stepped(column: OrderedColumn, grid: Steps, scale: str, atoms: tuple[float, ...]) -> OrderedBins:
    """Bins of a column with a step: runs of neighbouring values; an atom is a run of its own."""
    count = min(grid.values, column.bins or DEFAULT_BINS)
    cuts = np.ceil(_edges(0.0, float(grid.values), 1.0, count, scale)[:-1] - 1e-9).astype(np.int64) // grid.stride
    alone = grid.code(np.array(atoms, dtype=np.float64))
    starts = np.unique(np.concatenate([cuts, alone, alone + 1]))
    return OrderedBins(column, grid, starts[starts < grid.size])
