"""What several releases were told, brought to common bins and put together number by number.

Bins are runs of a column's public grid (`schema/grid`), so those of two releases have a common coarsening: the bins
that begin where both have one begin. Counts of merged bins are sums, and so are their variances. Levels of tables are
brought to the finest that are unions of every release's own. Of a release each column and table is taken from one
answer: an answer that decided what was asked next is not weighed with the answer to that.

Different people's counts add up, and so do the variances of their noise. Two answers about the same people are averaged
with weights of inverse variance, which were fixed before either was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2

from sfumato.errors import ArgumentError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.questions import describe
from sfumato.mechanisms.shared_layout import SharedLayout
from sfumato.private.queries.base import Answer, Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import CELLS_OF_ALL, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema

PLAUSIBLE_COUNT = 1e15  # of a noisy count and its noise: a file may say anything
LEAST_CHANCE = 1e-15  # that noise alone sets two releases of one table so far apart

Together: TypeAlias = "Callable[[Sequence[Noisy]], Noisy]"


class Noisy(NamedTuple):
    """Noisy counts and the variances of their noise, of one shape."""

    counts: FloatArray
    variances: FloatArray

    def moved(self, places: Sequence[IntArray], shape: tuple[int, ...]) -> Noisy:
        """Counts added up: index i of axis a goes to places[a][i]."""
        found = Noisy(np.zeros(shape), np.zeros(shape))
        where = np.ix_(*places)
        np.add.at(found.counts, where, self.counts)
        np.add.at(found.variances, where, self.variances)
        return found


@dataclass(frozen=True)
class Told:
    """What the answers of one release say.

    Attributes:
        starts: For each feature the first grid cells of the bins of its histogram, that of missing cells among them.
        histograms: For each feature the counts of classes and bins, first those that fit none.
        table_starts: For each feature the first cells of the bins that levels are of.
        levels: For each feature the level of every such bin.
        tables: By their columns, in ascending order, the counts of tables: of every column's levels, and last of what
            fits no bin.
    """

    starts: tuple[IntArray, ...]
    histograms: tuple[Noisy, ...]
    table_starts: tuple[IntArray, ...]
    levels: tuple[IntArray, ...]
    tables: dict[tuple[int, ...], Noisy]

    @property
    def class_counts(self) -> FloatArray:
        """Rows of each class, at least one: the mean over columns, weighed by their noise."""
        sums = np.stack([each.counts.sum(axis=1) for each in self.histograms])
        precision = np.array([1.0 / each.variances[0].sum() for each in self.histograms])
        return np.maximum(precision @ sums / precision.sum(), 1.0)


def added(several: Sequence[Noisy]) -> Noisy:
    """Counts of different people: both counts and variances add up."""
    return Noisy(*(np.sum(part, axis=0) for part in zip(*several, strict=True)))


def averaged(several: Sequence[Noisy]) -> Noisy:
    """Counts of the same people: averaged by precision, which adds up."""
    precision = np.sum([1.0 / each.variances for each in several], axis=0)
    weighed = np.sum([each.counts / each.variances for each in several], axis=0)
    return Noisy(weighed / precision, 1.0 / precision)


# --- one release


def told_by(answers: Sequence[NoisyAnswer], layout: Layout, who: str) -> Told:
    """What the answers of a release say of the columns of a layout.

    Raises:
        ArgumentError: They are missing, or are not what they say: a file may hold anything.
    """
    histograms: dict[int, tuple[IntArray, Noisy]] = {}
    tables: dict[tuple[int, ...], Noisy] = {}
    bins: tuple[tuple[IntArray, ...], tuple[IntArray, ...]] | None = None
    try:
        for answer in answers:
            kind = answer.what.get("kind")
            if kind in ("histograms", "tables"):
                _check_plausible(answer)
            if kind == "histograms":
                histograms |= _histograms(answer, layout)  # of later looks, which are finer
            elif kind == "tables":
                bins = _table_bins(answer, layout, bins)
                for table, found in _tables(answer, layout, bins[1]).items():
                    if table not in tables or found.variances.max() < tables[table].variances.max():
                        tables[table] = found
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):
        raise ArgumentError(f"{who}: its noisy answers are not what they say they are") from None
    if set(histograms) != set(range(len(layout.names))):
        raise ArgumentError(f"{who} has no histograms of all columns; a compact release cannot be merged")
    starts, counts = zip(*(histograms[c] for c in range(len(layout.names))), strict=True)
    own = tuple(each.cell_starts for each in layout.bins)
    table_starts, levels = bins or (own, tuple(np.zeros(len(each), dtype=np.int64) for each in own))
    return Told(starts, counts, table_starts, levels, tables)


def _check_plausible(answer: NoisyAnswer) -> None:
    if max(np.abs(answer.values).max(), answer.sd.max(), 1.0 / answer.sd.min()) > PLAUSIBLE_COUNT:
        raise ValueError


def _histograms(answer: NoisyAnswer, layout: Layout) -> dict[int, tuple[IntArray, Noisy]]:
    """By column where its bins begin, and their counts."""
    what = answer.what
    columns, starts = _view(what, layout, what["bins"])
    if what["nowhere"] != "first" or what["classes"] != layout.classes or what["bins"] != list(map(len, starts)):
        raise ValueError
    shape = (layout.classes, sum(what["bins"]) + len(columns))
    ends = np.cumsum(np.add(what["bins"], 1))[:-1]
    parts = zip(*(np.split(part.reshape(shape), ends, axis=1) for part in _noisy(answer)), strict=True)
    return {c: (start, Noisy(*part)) for c, start, part in zip(columns, starts, parts, strict=True)}


def _table_bins(answer: NoisyAnswer, layout: Layout, before: Any) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
    """Where the bins of tables begin, and the level of each: the same in all rounds of a release."""
    levels = tuple(np.array(_whole_numbers(level), dtype=np.int64) for level in answer.what["levels"])
    columns, starts = _view(answer.what, layout, [len(level) - 1 for level in levels])
    if list(columns) != list(range(len(layout.names))) or len(levels) != len(columns):
        raise ValueError
    for start, level in zip(starts, levels, strict=True):
        top = int(level[-1])
        if len(level) != len(start) + 1 or not 0 < top < len(level) or set(level[:-1].tolist()) != set(range(top)):
            raise ValueError
    found = tuple(starts), tuple(level[:-1] for level in levels)
    if before is not None:
        pairs = zip((*found[0], *found[1]), (*before[0], *before[1]), strict=True)
        if not all(np.array_equal(now, then) for now, then in pairs):
            raise ValueError
    return found


def _tables(answer: NoisyAnswer, layout: Layout, levels: tuple[IntArray, ...]) -> dict[tuple[int, ...], Noisy]:
    """By their columns the counts of tables."""
    what = answer.what
    sizes = [*(int(level.max()) + 2 for level in levels), layout.classes]
    if what["nowhere"] != "last" or what["classes"] != layout.classes:
        raise ValueError
    tables = [tuple(_whole_numbers(table)) for table in what["tables"]]
    if any(not table or len(set(table)) != len(table) or min(table) < 0 for table in tables):
        raise ValueError
    shapes = [tuple(sizes[j] for j in table) for table in tables]
    cells = [math.prod(shape) for shape in shapes]
    if sum(cells) != answer.values.size or sum(cells) > CELLS_OF_ALL:
        raise ValueError
    parts = zip(*(np.split(part, np.cumsum(cells)[:-1]) for part in _noisy(answer)), strict=True)
    found = {}
    for table, shape, part in zip(tables, shapes, parts, strict=True):
        order = np.argsort(table)
        found[tuple(sorted(table))] = Noisy(*(each.reshape(shape).transpose(order) for each in part))
    return found


def _view(what: Any, layout: Layout, bins: Any) -> tuple[list[int], list[IntArray]]:
    """The columns that an answer is about, and where their bins begin: as rows are coded, where it does not say."""
    columns = _whole_numbers(what.get("columns", list(range(len(layout.names)))))
    if len(set(columns)) != len(columns) or not all(0 <= c < len(layout.names) for c in columns):
        raise ValueError
    if "starts" in what:
        starts = [np.array(_whole_numbers(each), dtype=np.int64) for each in what["starts"]]
    else:
        starts = [np.arange(layout.bins[c].cells) for c in columns]
    if len(starts) != len(columns) or len(bins) != len(columns):
        raise ValueError
    for c, each in zip(columns, starts, strict=True):
        own = layout.bins[c]
        rising = len(each) > 0 and each[0] == 0 and (each[1:] > each[:-1]).all() and each[-1] < own.cells
        if not rising or (own.missing >= 0 and each[-1] != own.cells - 1):
            raise ValueError
    return columns, starts


def _noisy(answer: NoisyAnswer) -> Noisy:
    return Noisy(answer.values, np.broadcast_to(answer.sd**2, answer.values.shape))


def _whole_numbers(numbers: Any) -> list[int]:
    if not isinstance(numbers, (list, tuple)) or not all(type(each) is int for each in numbers):
        raise TypeError
    return list(numbers)


# --- several releases


@dataclass(frozen=True)
class Common:
    """What several releases say together.

    Attributes:
        shared: The common bins, levels and tables.
        histograms: For each feature the counts of classes and bins, first those that fit none.
        tables: The counts of tables, in the order of the layout's.
    """

    shared: SharedLayout
    histograms: tuple[Noisy, ...]
    tables: tuple[Noisy, ...]


def common(several: Sequence[Told], schema: Schema, layout: Layout, together: Together) -> Common:
    """Everything brought to common bins and put together.

    Raises:
        ArgumentError: The bins of a column have nothing in common.
    """
    starts = tuple(_common_starts(c, [told.starts[c] for told in several], layout) for c in range(len(layout.names)))
    histograms = tuple(
        together([_coarser(told.histograms[c], told.starts[c], starts[c]) for told in several])
        for c in range(len(starts))
    )
    joined = [_joined(c, several, starts[c]) for c in range(len(starts))]
    levels = tuple(each[0] for each in joined)
    sizes = [int(level.max()) + 1 for level in levels]
    kept = [table for table in several[0].tables if all(table in told.tables for told in several[1:])]
    kept = [table for table in kept if sum(j == len(sizes) or sizes[j] > 1 for j in table) > 1]
    tables = []
    for table in kept:
        moved = []
        for told, maps in zip(several, zip(*(each[1] for each in joined), strict=True), strict=True):
            places = [np.arange(layout.classes) if j == len(sizes) else np.append(maps[j], sizes[j]) for j in table]
            shape = tuple(layout.classes if j == len(sizes) else sizes[j] + 1 for j in table)
            moved.append(told.tables[table].moved(places, shape))
        tables.append(together(moved))
    bare = tuple(_without_missing(each, c, layout) for c, each in enumerate(starts))
    shared = SharedLayout(schema, bare, levels, tuple(kept), label_column=layout.label != schema.label)
    return Common(shared, histograms, tuple(tables))


def check_same_table(several: Sequence[Told], layout: Layout, whole: bool) -> None:
    """Refuse releases of one table whose histograms differ by more than noise, which is N(0, v_1 + v_i) cell by cell.

    Args:
        several: What they say.
        layout: Of their schema.
        whole: Whether all rows count; otherwise each release has drawn which do, and only their number is the same.

    Raises:
        ArgumentError: They are not of one table; the line names a column.
    """
    for c, name in enumerate(layout.names):
        starts = _common_starts(c, [told.starts[c] for told in several], layout)
        first, *others = (_coarser(told.histograms[c], told.starts[c], starts) for told in several)
        for i, other in enumerate(others, start=2):
            gap, variances = first.counts - other.counts, first.variances + other.variances
            apart = [(gap.sum() ** 2 / variances.sum(), 1)] + [((gap**2 / variances).sum(), gap.size)] * whole
            if min(chi2.sf(*each) for each in apart) < LEAST_CHANCE:
                raise ArgumentError(
                    f"releases 1 and {i} differ in {name!r} by more than noise, so they are not of one table; "
                    "same_people is for one table that was fitted twice"
                )


def _common_starts(c: int, starts: list[IntArray], layout: Layout) -> IntArray:
    """The first cells that all have in common."""
    found = reduce(np.intersect1d, starts)
    missing = layout.bins[c].missing >= 0
    if len(found) == 1 + missing and min(map(len, starts)) > 1 + missing:
        raise ArgumentError(
            f"the releases' bins of {layout.names[c]!r} have no edge in common; fit on one layout: sf.Mixture(layout=)"
        )
    return found


def _without_missing(starts: IntArray, c: int, layout: Layout) -> IntArray | None:
    """Starts as a layout has them; None where they are the schema's own."""
    bins = layout.bins[c]
    bare = starts[:-1] if bins.missing >= 0 else starts
    return None if np.array_equal(starts, bins.cell_starts) else bare


def _coarser(noisy: Noisy, mine: IntArray, starts: IntArray) -> Noisy:
    """The counts of a column in bins that begin at some of its bins' starts only."""
    places = np.append(0, np.searchsorted(starts, mine, "right"))  # first what fits none
    classes = np.arange(len(noisy.counts))
    return noisy.moved([classes, places], (len(classes), len(starts) + 1))


def _joined(c: int, several: Sequence[Told], starts: IntArray) -> tuple[IntArray, list[IntArray]]:
    """The finest levels of a column that are unions of the common bins and of every release's levels: that of each
    common bin, and for each release that of each of its own levels.
    """
    cells = reduce(np.union1d, [starts, *(told.table_starts[c] for told in several)])
    parts = [np.searchsorted(starts, cells, "right") - 1]
    parts += [told.levels[c][np.searchsorted(told.table_starts[c], cells, "right") - 1] for told in several]
    whole = joined_partitions(parts)
    maps = []
    for part in parts:
        place = np.zeros(int(part.max()) + 1, dtype=np.int64)
        place[part] = whole
        maps.append(place)
    return maps[0], maps[1:]


def joined_partitions(parts: Sequence[IntArray]) -> IntArray:
    """The finest partition that is coarser than some others, numbered by first members.

    >>> joined_partitions([np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 3])]).tolist()
    [0, 0, 0, 1, 2]
    """
    size, nodes = len(parts[0]), len(parts[0])
    rows, columns = [], []
    for part in parts:
        rows.append(np.arange(size))
        columns.append(nodes + part)
        nodes += int(part.max()) + 1
    ends = np.concatenate(rows), np.concatenate(columns)
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(nodes, nodes))
    _, labels = connected_components(graph, directed=False)
    _, first, which = np.unique(labels[:size], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[which.ravel()], dtype=np.int64)


class Summed:
    """Answers questions of a mechanism with what several releases were told together: nothing is asked of any row."""

    remaining = math.inf

    def __init__(self, known: Common) -> None:
        self._known = known
        self.answers: tuple[NoisyAnswer, ...] = ()

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """The counts that a question is about, as they are known."""
        inner = query.query if isinstance(query, Viewed) else query
        assert isinstance(inner, Histograms | Tables)
        several = self._known.histograms if isinstance(inner, Histograms) else self._known.tables
        counts, variances = (_flat(part, inner) for part in zip(*several, strict=True))
        self.answers += (NoisyAnswer(name, counts, np.sqrt(variances), describe(query)),)
        # Models are fitted as if every cell of a column or table were equally noisy, which on one layout it is.
        even = _flat([np.full(each.variances.shape, each.variances.mean()) for each in several], inner)
        return Answer(counts, np.sqrt(even))

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """No noisy rows are known."""
        raise ArgumentError("noisy rows cannot be merged")


def _flat(parts: Sequence[FloatArray], query: Histograms | Tables) -> FloatArray:
    """Columns or tables in the order of a question's answer."""
    if isinstance(query, Histograms):
        return np.concatenate(parts, axis=1).ravel()
    return np.concatenate([part.ravel() for part in parts])
