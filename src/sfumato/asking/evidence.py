"""What the noisy answers of a release say: counts of cells of tables, round by round.

A round is one answer of the curator: tables of some columns, each of which counts every row once, so that all have one
total. Given what was answered before it, every number in it is what was asked and Gaussian noise of a known size, and
what was asked may have been chosen by what was answered before. So a question is answered from the *first* round that
speaks about it: whether a round does is settled before its noise is drawn, and no answer is weighed with one that it
decided.

Within a round the best linear combination has a closed form. A question is a function q of the columns S, summed over
rows. Under the uniform measure on cells it falls into orthogonal parts q_A, one for each subset A of S (the analysis of
variance), and a part can be read from every table t whose columns hold A: its sum over the other cells has the variance
s_t^2 cells(t - A) |q_A|^2, with cells(t - A) the number of cells of its other columns. Parts are uncorrelated in every
table, so each is averaged by precision by itself, and the variance of the whole is the sum over A of |q_A|^2 / (sum
over t of 1 / (s_t^2 cells(t - A))).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.guarantee import FloatArray, NoisyAnswer
from sfumato.schema.layout import Bins, CategoryBins, IntArray, Layout, OrderedBins

PLAUSIBLE = 1e15  # of counts and their noise, which a file may say anything of
SHOWN_VALUES = 4  # of a level that puts categories together, in its name
HELD_ABOVE = 2.0  # standard deviations of noise: a bin that counts for the typical number of a level
NO_PART = 1e-12  # relative: a part of a question that is nothing but rounding

Columns = tuple[str, ...]
Parts = dict[Columns, FloatArray]  # of a question: for each subset of its columns, by name


@dataclass(frozen=True, eq=False)
class Axis:
    """How a round sees a column: in levels, which put bins together, and one more for what fits no bin.

    Attributes:
        column: The column.
        bins: The bins of this round.
        level: The level of every bin.
        nowhere: The level of what fits no bin; None for the label, without which a row counts nowhere.
        typical: The number that stands for each level; None where it is the middle.
    """

    column: str
    bins: Bins
    level: IntArray
    nowhere: int | None
    typical: FloatArray | None = None

    @property
    def size(self) -> int:
        """How many levels there are."""
        return int(max(self.level.max(), -1 if self.nowhere is None else self.nowhere)) + 1

    @cached_property
    def known(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The levels of cells that are read, and not missing."""
        found = np.ones(self.size, dtype=bool)
        if self.nowhere is not None:
            found[self.nowhere] = False
        if self.bins.missing >= 0:
            found[self.level[self.bins.missing]] = False
        return found

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and largest number of each level; 0 where there is none. Of a listed column its places."""
        bins, inside = self.bins, self.level
        if isinstance(bins, OrderedBins):
            lows, highs, inside = bins.low, bins.high, inside[: len(bins.low)]
        else:
            lows = highs = np.arange(len(bins.column.levels), dtype=np.float64)
            inside = inside[: len(lows)]
        low, high = np.full(self.size, np.inf), np.full(self.size, -np.inf)
        np.minimum.at(low, inside, lows)
        np.maximum.at(high, inside, highs)
        return np.where(self.known, low, 0.0), np.where(self.known, high, 0.0)

    @property
    def middles(self) -> FloatArray:
        """The number that stands for each level: a typical one, or the middle."""
        low, high = self.ranges
        return (low + high) / 2.0 if self.typical is None else np.clip(self.typical, low, high)

    def names(self) -> list[Any]:
        """What to call each level."""
        return [self._name(np.flatnonzero(self.level == i), i) for i in range(self.size)]

    def _name(self, bins: IntArray, level: int) -> Any:
        if level == self.nowhere:
            return "unreadable"
        if self.bins.missing >= 0 and bins[0] == self.bins.missing:
            return "missing"
        if isinstance(self.bins, CategoryBins):
            levels = [self.bins.column.levels[i] for i in bins if i != self.bins.missing]
            if len(levels) > SHOWN_VALUES:
                levels = [*levels[: SHOWN_VALUES - 1], f"{len(levels) - SHOWN_VALUES + 1} others"]
            return levels[0] if len(levels) == 1 else " or ".join(map(str, levels))
        ends = self.bins.column.typed(np.array([self.ranges[0][level], self.ranges[1][level]]), None)
        low, high = ends.iloc[0], ends.iloc[1]
        return low if low == high else f"{_short(low)}..{_short(high)}"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float, np.integer, np.floating)) else str(value)


@dataclass(frozen=True, eq=False)
class Table:
    """Noisy counts of the cells of some columns, an axis each, all with the same noise at the most.

    Where noise differs, as in releases merged on coarser bins, estimates are as right as ever, and what is claimed of
    them is the variance that they would have if every cell had the largest.
    """

    columns: Columns
    counts: FloatArray
    sd: float

    def marginal(self, columns: Iterable[str]) -> FloatArray:
        """Summed over all other columns, axes in the table's order."""
        gone = tuple(i for i, name in enumerate(self.columns) if name not in set(columns))
        return np.asarray(self.counts.sum(axis=gone))

    def precision(self, columns: Iterable[str]) -> float:
        """Of what it says of a part of a question that is of these columns."""
        others = (n for name, n in zip(self.columns, self.counts.shape, strict=True) if name not in set(columns))
        return 1.0 / (self.sd**2 * math.prod(others))


@dataclass(frozen=True, eq=False)
class Round:
    """One answer of the curator: tables that share their axes.

    Attributes:
        name: The name of the answer.
        kind: "histograms", "tables" or "classes".
        axes: How it sees each column.
        tables: The tables.
    """

    name: str
    kind: str
    axes: Mapping[str, Axis]
    tables: tuple[Table, ...]
    _seen: dict[Columns, Cells] = field(default_factory=dict, repr=False)
    _precisions: dict[Columns, float] = field(default_factory=dict, repr=False)
    _told: dict[Columns, FloatArray] = field(default_factory=dict, repr=False)

    @cached_property
    def _by_column(self) -> dict[str, list[Table]]:
        """The tables that each column is in: of thousands of tables, a column is in few."""
        found: dict[str, list[Table]] = {}
        for table in self.tables:
            for name in table.columns:
                found.setdefault(name, []).append(table)
        return found

    def speaks_of(self, columns: Iterable[str]) -> bool:
        """Whether a table has all these columns."""
        return bool(self.holding(tuple(columns)))

    def cells(self, columns: Iterable[str]) -> Cells:
        """What the round says of the joint table of some columns; it must speak of them."""
        wanted = tuple(sorted(columns))
        if wanted not in self._seen:
            self._seen[wanted] = Cells(self, wanted)
        return self._seen[wanted]

    def holding(self, columns: Columns) -> Sequence[Table]:
        """The tables with these columns."""
        if not columns:
            return self.tables
        fewest = min((self._by_column.get(name, []) for name in columns), key=len)
        return [table for table in fewest if set(columns) <= set(table.columns)]

    def told(self, columns: Columns) -> FloatArray:
        """What all tables say together of a part of a question that is of these columns, by their precision."""
        if columns not in self._told:
            tables = self.holding(columns)
            weights = [table.precision(columns) for table in tables]
            sums = sum(w * in_order_of(t, columns) for w, t in zip(weights, tables, strict=True))
            self._told[columns] = np.asarray(sums / sum(weights))
        return self._told[columns]

    def precision(self, columns: Columns) -> float:
        """Of what all tables say together of a part of a question that is of these columns; 0 if none does."""
        if columns not in self._precisions:
            self._precisions[columns] = sum(table.precision(columns) for table in self.holding(columns))
        return self._precisions[columns]


class Cells:
    """The best linear estimates of a joint table's counts within a round, and the covariances of questions to it."""

    def __init__(self, of: Round, columns: Columns) -> None:
        self.round, self.rounds, self.columns = of, (of,), columns
        self.axes = {name: of.axes[name] for name in columns}
        self.shape = tuple(axis.size for axis in self.axes.values())

    @cached_property
    def counts(self) -> FloatArray:
        """The estimated count of every cell."""
        found = np.zeros(self.shape)
        for some in subsets(self.columns):
            others = math.prod(n for name, n in zip(self.columns, self.shape, strict=True) if name not in some)
            found += _lifted(_centred(self.round.told(some)), some, self.columns) / others
        return found

    def total(self, question: FloatArray) -> float:
        """The sum over cells of a question's coefficients times counts."""
        return float((question * self.counts).sum())

    def parts(self, question: FloatArray) -> Parts:
        """The orthogonal parts of a question."""
        return split(np.broadcast_to(question, self.shape), self.columns)

    def covariance(self, one: FloatArray, other: FloatArray) -> float:
        """The covariance of two questions' noise."""
        return covariance(self.round, self.parts(one), self.parts(other))

    def variance(self, question: FloatArray) -> float:
        """The variance of a question's noise."""
        parts = self.parts(question)
        return covariance(self.round, parts, parts)


def covariance(of: Round, one: Parts, other: Parts) -> float:
    """Of what a round says of two questions, by their parts."""
    common = one.keys() & other.keys()
    return sum(float((one[some] * other[some]).sum()) / of.precision(some) for some in sorted(common))


def subsets(columns: Columns) -> Iterator[Columns]:
    """All subsets, in order.

    >>> list(subsets(("a", "b")))
    [(), ('a',), ('b',), ('a', 'b')]
    """
    for bits in range(1 << len(columns)):
        yield tuple(name for i, name in enumerate(columns) if bits >> i & 1)


def split(question: FloatArray, columns: Columns) -> Parts:
    """A function of columns as the sum of orthogonal parts, those that are nothing but rounding left out.

    >>> parts = split(np.array([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"))
    >>> {some: part.tolist() for some, part in parts.items()}
    {(): 2.5, ('b',): [-0.5, 0.5], ('a',): [-1.0, 1.0]}
    """
    size = float(np.abs(question).max(initial=0.0))
    parts: Parts = {(): np.asarray(question, dtype=np.float64)}
    for name in columns:
        found: Parts = {}
        for some, part in parts.items():
            axis = len(some)  # the columns that are taken so far stand first, and the others in order behind them
            mean = part.mean(axis=axis, keepdims=True)
            found[some] = mean.squeeze(axis)
            found[(*some, name)] = part - mean
        parts = found
    return {some: part for some, part in parts.items() if np.abs(part).max(initial=0.0) > NO_PART * size}


def in_order_of(table: Table, columns: Columns) -> FloatArray:
    """A table's marginal, axes in this order of columns."""
    own = [name for name in table.columns if name in columns]
    return table.marginal(columns).transpose([own.index(name) for name in columns])


def _centred(counts: FloatArray) -> FloatArray:
    """The part that is of all columns together."""
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts


def _lifted(part: FloatArray, some: Columns, columns: Columns) -> FloatArray:
    """With an axis of length one for each of the other columns."""
    return part.reshape([part.shape[some.index(name)] if name in some else 1 for name in columns])


# --- reading answers


def read_rounds(answers: Iterable[NoisyAnswer], layout: Layout) -> tuple[Round, ...]:
    """The rounds that count cells, in the order of asking.

    Args:
        answers: The noisy answers of a release.
        layout: Its layout: the columns, and the bins of answers that name none of their own.

    Returns:
        One for each answer that counts classes, bins or cells and fits the layout; what a file says of others may be
        anything.
    """
    found: list[Round] = []
    for answer in answers:
        each = _Reader(answer, layout).round()
        if each is not None:
            found.append(_typified(each, found) if each.kind == "tables" else each)
    return tuple(found)


def _typified(of: Round, before: Sequence[Round]) -> Round:
    """A round of tables with typical numbers of its wide levels, by the last histogram before it: they are settled
    before its noise is drawn, like the levels.
    """
    axes = dict(of.axes)
    for name, axis in of.axes.items():
        looks = [each for each in before if each.kind == "histograms" and name in each.axes]
        if looks and isinstance(axis.bins, OrderedBins) and (axis.ranges[0] < axis.ranges[1]).any():
            axes[name] = replace(axis, typical=_typical(axis, looks[-1]))
    return Round(of.name, of.kind, axes, of.tables)


def _typical(axis: Axis, look: Round) -> FloatArray:
    """The mean of each level over the bins of a histogram that hold more than noise; the middle where none does."""
    assert isinstance(axis.bins, OrderedBins)
    own = look.axes[axis.column]
    assert isinstance(own.bins, OrderedBins)
    cells = look.cells((axis.column,))
    unit = np.zeros(cells.shape)
    unit[own.level[0]] = 1.0
    counts = cells.counts[own.level[: len(own.bins.starts)]]
    counts = np.where(counts > HELD_ABOVE * math.sqrt(cells.variance(unit)), counts, 0.0)
    numbers = (own.bins.low + own.bins.high) / 2.0
    level = axis.level[np.searchsorted(axis.bins.starts, own.bins.starts, "right") - 1]
    held, sums = (np.bincount(level, weights, axis.size) for weights in (counts, counts * numbers))
    low, high = axis.ranges
    return np.where(held > 0.0, sums / np.where(held > 0.0, held, 1.0), (low + high) / 2.0)


class _Reader:
    """One answer as a round."""

    def __init__(self, answer: NoisyAnswer, layout: Layout) -> None:
        self.answer, self.layout, self.what = answer, layout, answer.what
        self.label = layout.label or ""  # no column has this name

    def round(self) -> Round | None:
        readers = {"histograms": self._histograms, "tables": self._tables, "group sums": self._classes}
        kind = self.what.get("kind")
        if not isinstance(kind, str) or kind not in readers or not is_plausible(self.answer):
            return None
        try:
            return readers[kind]()
        except (_Unfit, IndexError, TypeError, ValueError, KeyError):
            return None

    def _classes(self) -> Round:
        """The counts of classes, which come first of what is summed in each."""
        classes = self.layout.classes
        _insist(self.what["of"] == "classes" and _whole(self.what["groups"]) == classes)
        counts, sd = (self._numbers(each).reshape(classes, -1)[:, 0] for each in (self.answer.values, self.answer.sd))
        return Round(self.answer.name, "classes", self._label_axis(), (self._table((self.label,), counts, sd),))

    def _histograms(self) -> Round:
        _insist(not self.layout.groups)
        axes = self._axes(self._seen_bins())
        names = list(axes)
        _insist(self.what["nowhere"] == "first" and [axes[n].size - 1 for n in names] == list(self.what["bins"]))
        classes = _whole(self.what["classes"])
        _insist(classes == self.layout.classes)
        sizes = [axes[name].size for name in names]
        counts, sds = (self._numbers(each).reshape(classes, -1) for each in (self.answer.values, self.answer.sd))
        ends = np.cumsum(sizes)
        _insist(counts.shape[1] == ends[-1])
        parts = zip(names, np.split(counts, ends[:-1], axis=1), np.split(sds, ends[:-1], axis=1), strict=True)
        tables = tuple(self._table((self.label, name), part, sd) for name, part, sd in parts)
        return Round(self.answer.name, "histograms", axes | self._label_axis(), tables)

    def _tables(self) -> Round:
        _insist(not self.layout.groups)
        bins = self._seen_bins()
        levels = [np.array([_whole(each) for each in level]) for level in self.what["levels"]]
        _insist(self.what["nowhere"] == "last" and len(levels) == len(bins))
        axes = self._axes(bins, levels) | self._label_axis()
        _insist(_whole(self.what["classes"]) == self.layout.classes)
        names = [*bins, self.label]
        tables, start = [], 0
        flat, sds = self._numbers(self.answer.values), self._numbers(self.answer.sd)
        for places in self.what["tables"]:
            columns = tuple(names[_whole(place)] for place in places)
            _insist(len(set(columns)) == len(columns) and min(places) >= 0)
            shape = tuple(axes[name].size for name in columns)
            end = start + math.prod(shape)
            _insist(end <= flat.size)
            tables.append(self._table(columns, flat[start:end].reshape(shape), sds[start:end]))
            start = end
        _insist(start == flat.size)
        return Round(self.answer.name, "tables", axes, tuple(tables))

    def _numbers(self, numbers: FloatArray) -> FloatArray:
        return np.broadcast_to(numbers, self.answer.values.shape)

    def _table(self, columns: Columns, counts: FloatArray, sd: FloatArray) -> Table:
        """Without the label, where there is none: it has one class, which is no column."""
        if not self.label:
            counts = counts.sum(axis=tuple(i for i, name in enumerate(columns) if not name))  # of one class
            columns = tuple(name for name in columns if name)
        return Table(columns, counts, float(sd.max()))

    def _label_axis(self) -> dict[str, Axis]:
        bins = self.layout.label_bins
        return {} if bins is None else {self.label: Axis(self.label, bins, np.arange(bins.size), None)}

    def _seen_bins(self) -> dict[str, Bins]:
        """The columns that were seen, with the bins that they were seen in."""
        places = [_whole(each) for each in self.what.get("columns", range(len(self.layout.names)))]
        _insist(len(set(places)) == len(places) and min(places) >= 0)
        own = {self.layout.names[place]: self.layout.bins[place] for place in places}
        starts = self.what.get("starts")
        if starts is None:
            return own
        return {name: _begun(bins, begin) for (name, bins), begin in zip(own.items(), starts, strict=True)}

    def _axes(self, bins: Mapping[str, Bins], levels: Sequence[IntArray] | None = None) -> dict[str, Axis]:
        if levels is None:
            return {name: Axis(name, each, 1 + np.arange(each.size), 0) for name, each in bins.items()}
        found = {}
        for (name, each), level in zip(bins.items(), levels, strict=True):
            _insist(len(level) == each.size + 1 and 0 < level[-1] < len(level))  # no longer than the file
            _insist(set(level[:-1].tolist()) == set(range(level[-1])))
            found[name] = Axis(name, each, level[:-1], int(level[-1]))
        return found


class _Unfit(Exception):
    """What a file says of an answer does not fit it."""


def _insist(holds: Any) -> None:
    if not holds:
        raise _Unfit


def _whole(number: Any) -> int:
    _insist(type(number) is int)
    return int(number)


def _begun(bins: Bins, starts: Any) -> Bins:
    """A column's bins that begin at these cells of its grid, that of missing values last."""
    found = np.array([_whole(each) for each in starts])
    if isinstance(bins, CategoryBins):
        _insist(np.array_equal(found, bins.cell_starts))
        return bins
    if bins.column.missing:
        _insist(found[-1] == bins.grid.size)
        found = found[:-1]
    _insist(len(found) and found[0] == 0 and (np.diff(found) > 0).all() and found[-1] < bins.grid.size)
    return replace(bins, starts=found)


def is_plausible(answer: NoisyAnswer) -> bool:
    """Whether its numbers are such as counts and their noise may be."""
    if not answer.values.size:
        return False
    return bool(max(np.abs(answer.values).max(), answer.sd.max(), 1.0 / answer.sd.min()) < PLAUSIBLE)
