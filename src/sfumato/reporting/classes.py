"""The classes that a report counts a column's values in: categories as they are, numbers in round intervals.

Which classes is decided by rows that the model drew, so by nothing but the release. As in the tables of statistical
offices the outer ones are open, widths are round, and a value that very many rows have is a class of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from sfumato.reporting.figures_told import number_text
from sfumato.schema.columns import Column, Listed, ListedColumn, Number, OrderedColumn, category_text
from sfumato.schema.conditions import Among, ColumnOf, Comparison, Condition, Constant, Joined
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.text import one_line

MISSING_NAME, OTHERS_NAME = "missing", "all others"
ATOM_SHARE = 0.08  # of rows that have one value, which is then a class of its own
A_FEW_MORE = 6  # classes, which are no reason to put any together
SKEWED = 12.0  # times the distance of quartiles, over which a column is cut in steps of 1, 2 and 5
CLOCK_WIDTHS = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200)  # seconds
CALENDAR_STEPS = ("D", "W-MON", "MS", "QS", "YS", "2YS", "5YS", "10YS", "50YS", "100YS")
DAY_SECONDS = 86_400.0
POINTS_IN_TIME = ("date", "datetime", "time")  # which are before or later, not under or over


@dataclass(frozen=True, eq=False)
class ListedClasses:
    """Categories, the last of them put together where there are many.

    Attributes:
        name: The column.
        column: What it is.
        members: The levels of each class, by their places in the schema.
        labels: What each class is called; that of missing values last, where there is one.
    """

    name: str
    column: ListedColumn
    members: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, name: str, column: ListedColumn, cells: pd.Series[Any], most: int) -> ListedClasses:
        """As many as `most`, the rarer ones together."""
        levels = len(column.levels)
        members: list[tuple[int, ...]] = [(i,) for i in range(levels)]
        labels = [one_line(str(level)) for level in column.levels]
        if levels > most + A_FEW_MORE:
            counts = np.bincount(_places(column, cells).clip(0), minlength=levels)
            kept = sorted(np.argsort(-counts, kind="stable")[: most - 1].tolist())
            rest = tuple(i for i in range(levels) if i not in set(kept))
            members = [*((i,) for i in kept), rest]
            labels = [*(labels[i] for i in kept), f"{OTHERS_NAME} ({len(rest)})"]
        return cls(name, column, tuple(members), told_apart((*labels, *[MISSING_NAME] * column.missing)))

    @property
    def conditions(self) -> list[Condition]:
        """Which rows each class has; not that of missing values."""
        value = ColumnOf(self.name, self.column.type)
        return [Among(value, tuple(map(self._constant, levels)), False) for levels in self.members]

    def _constant(self, level: int) -> Constant:
        given = self.column.levels[level]
        return Constant(given if isinstance(given, bool) else category_text(given))

    def code(self, cells: pd.Series[Any]) -> IntArray:
        """The class of each cell."""
        into = np.zeros(len(self.column.levels) + 1, dtype=np.int64)
        for place, levels in enumerate(self.members):
            into[list(levels)] = place
        into[-1] = len(self.labels) - 1
        return into[_places(self.column, cells)]


@dataclass(frozen=True, eq=False)
class OrderedClasses:
    """Intervals of an ordered column, each from one edge to before the next; the first and the last are open.

    Attributes:
        name: The column.
        column: What it is.
        edges: Where intervals begin, but the first.
    """

    name: str
    column: OrderedColumn
    edges: FloatArray

    @classmethod
    def of(cls, name: str, column: OrderedColumn, cells: pd.Series[Any], most: int) -> OrderedClasses:
        """About as many as `most`."""
        values = ColumnOf(name, column.type).values({name: cells})
        known = values[np.isfinite(values)]
        edges = _edges(column, known, most) if len(known) else np.zeros(0)
        low, high = column.span.low, column.span.high
        return cls(name, column, edges[(edges > low) & (edges <= high)])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each class is called; that of missing values last, where there is one."""
        ends = [-math.inf, *self.edges.tolist(), math.inf]
        names = [self._label(low, high) for low, high in pairwise(ends)]
        return told_apart((*names, *[MISSING_NAME] * self.column.missing))

    @property
    def conditions(self) -> list[Condition]:
        """Which rows each class has; not that of missing values."""
        value = ColumnOf(self.name, self.column.type)
        above = [Comparison(">=", value, Constant(edge)) for edge in self.edges.tolist()]
        below = [Comparison("<", value, Constant(edge)) for edge in self.edges.tolist()]
        if not above:
            return [Comparison(">=", value, Constant(self.column.span.low))]
        between = [Joined.of("and", low, high) for low, high in zip(above[:-1], below[1:], strict=True)]
        return [below[0], *between, above[-1]]

    def code(self, cells: pd.Series[Any]) -> IntArray:
        """The class of each cell."""
        values = ColumnOf(self.name, self.column.type).values({self.name: cells})
        return np.where(np.isfinite(values), np.searchsorted(self.edges, values, "right"), len(self.labels) - 1)

    def _label(self, low: float, high: float) -> str:
        step = self.column.span.step
        if math.isinf(low) and math.isinf(high):
            return f"{self._text(self.column.span.low)} to {self._text(self.column.span.high)}"
        if math.isinf(high):
            return f"{self._text(low)} and {self._over}" if low < self.column.span.high else self._text(low)
        if math.isinf(low):
            only = step is not None and self._next(self.column.span.low) >= high
            return self._text(self.column.span.low) if only else f"{self._under} {self._text(high)}"
        if self._next(low) >= high:
            return self._text(low)
        if step is None or self.column.type not in ("number", "date"):  # the last second of a class says little
            return f"{self._text(low)} to {self._under} {self._text(high)}"
        return f"{self._text(low)} to {self._text(high - step)}"

    @property
    def _under(self) -> str:
        return "before" if self.column.type in POINTS_IN_TIME else "under"

    @property
    def _over(self) -> str:
        return "later" if self.column.type in POINTS_IN_TIME else "over"

    def _next(self, value: float) -> float:
        return _after(value, self.column.span.step)

    def _text(self, value: float) -> str:
        return value_text(self.column, value)


Classes = ListedClasses | OrderedClasses


def classes_of(name: str, column: Column, cells: pd.Series[Any], most: int) -> Classes:
    """The classes of a column.

    Args:
        name: Its name.
        column: What the schema says of it.
        cells: Cells that the model drew.
        most: About how many classes there are to be.

    Returns:
        The classes.
    """
    if isinstance(column, Listed):
        return ListedClasses.of(name, column, cells, most)
    return OrderedClasses.of(name, column, cells, most)


def value_text(column: OrderedColumn, value: float) -> str:
    """A value of an ordered column, as it is read."""
    if isinstance(column, Number):
        return number_text(value)
    return str(column.typed(np.array([value]), None).iloc[0]).removesuffix(" 00:00:00")


def told_apart(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels of which no two are the same.

    >>> told_apart(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    found: list[str] = []
    for label in labels:
        again = sum(each == label for each in labels[: len(found)])
        found.append(f"{label} ({again + 1})" if again else label)
    return tuple(found)


def _places(column: ListedColumn, cells: pd.Series[Any]) -> IntArray:
    """The place of each cell among the levels; -1 where it is missing."""
    codes, found = pd.factorize(cells)
    places = {str(level): i for i, level in enumerate(column.levels)}
    return np.append([places.get(str(each), -1) for each in found], -1).astype(np.int64)[codes]


def _after(value: float, step: float | None) -> float:
    return float(np.nextafter(value, math.inf)) if step is None else value + step


def _edges(column: OrderedColumn, known: FloatArray, most: int) -> FloatArray:
    """Where classes begin: at every value, where these are few; else at round ones, and on both sides of atoms."""
    values, counts = np.unique(known, return_counts=True)
    if len(values) <= most + A_FEW_MORE and column.span.step is not None:
        return values[1:]
    atoms = values[counts > ATOM_SHARE * len(known)][: most // 3]
    others = known[~np.isin(known, atoms)]
    if not len(others):
        return np.unique([edge for atom in atoms for edge in (atom, _after(float(atom), column.span.step))])
    round_ones = _round_edges(column, others, max(most - 2 - 2 * len(atoms), 2))
    if column.span.step is not None:  # a value belongs to the step that it is rounded to
        low, step = column.span.low, column.span.step
        round_ones = low + np.ceil((np.asarray(round_ones) - low) / step - 1e-9) * step
    around = [edge for atom in atoms for edge in (float(atom), _after(float(atom), column.span.step))]
    return np.unique(np.concatenate([round_ones, around]))


def _round_edges(column: OrderedColumn, values: FloatArray, most: int) -> FloatArray:
    low, high = (float(each) for each in np.quantile(values, [0.01, 0.99]))
    if not high > low:
        return np.array([low])
    if column.type in ("date", "datetime"):
        return _calendar(low, high, 1.0 if column.type == "date" else DAY_SECONDS, most)
    if column.type in ("time", "duration"):
        widths: Sequence[float] = [*CLOCK_WIDTHS, *(DAY_SECONDS * each for each in (1, 2, 7, 14, 28, 91, 364, 3640))]
        return _multiples(low, high, next((w for w in widths if (high - low) / w <= most), widths[-1]))
    first, third = np.quantile(values, [0.25, 0.75])
    if low >= 0.0 and high - low > SKEWED * (third - first):
        return _decades(max(float(np.quantile(values, 0.05)), high * 1e-6), high, most)
    return _multiples(low, high, _round_width((high - low) / most))


def _round_width(least: float) -> float:
    """The next of 1, 2, 2.5, 5 and 10 times a power of ten.

    >>> [_round_width(each) for each in (0.3, 3.0, 2.1, 70.0)]
    [0.5, 5.0, 2.5, 100.0]
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in (1.0, 2.0, 2.5, 5.0, 10.0) if power * each >= least * (1.0 - 1e-9))


def _multiples(low: float, high: float, width: float) -> FloatArray:
    places = np.arange(math.floor(low / width) + 1, math.floor(high / width) + 1, dtype=np.float64)
    return np.asarray(width * places)


def _decades(low: float, high: float, most: int) -> FloatArray:
    """1, 2 and 5 times powers of ten; 1 alone, where that is too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = np.array([factor * 10.0**power for power in powers for factor in factors])
        found = found[(found >= low) & (found <= high)]
        if len(found) <= most:
            break
    return found


def _calendar(low: float, high: float, day: float, most: int) -> FloatArray:
    """Days, Mondays, or firsts of months, quarters or years."""
    start, end = (pd.Timestamp(0) + pd.Timedelta(days=each / day) for each in (low, high))
    for frequency in CALENDAR_STEPS:
        found = pd.date_range(start.normalize(), end, freq=frequency)
        if len(found) <= most:
            break
    return day * ((found - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(np.float64)
