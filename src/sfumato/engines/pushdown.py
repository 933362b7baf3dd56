"""The engine of databases that count by themselves: histograms and tables leave DuckDB or PostgreSQL as counts.

Every column that a question is about becomes a number, by comparisons alone, and the database counts rows by groups of
such numbers. The totals are those of the rows read here, bit for bit: levels are found by our own coding
(`expressions`), and before a statement meets rows, the same expressions meet public values of every kind, whose levels
are compared with our own. Where they differ, where a column's stored type has no such comparison, and where a question
wants more than counts, rows are read here instead, and whoever listens is told. All of that depends on public facts.

What leaves the database is exact: it goes to the curator, as any engine's totals do, who adds the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.engines.expressions import Coding, Kind, Words, battery, coding_of, own_levels
from sfumato.engines.grouped_counts import Asked, Key, asked_of, groups_of, table_of
from sfumato.engines.places import Local
from sfumato.errors import TableError
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import ROW_CAP, FloatArray, IntArray, Query
from sfumato.private.slicing.rows import RowVectors
from sfumato.private.source import Source
from sfumato.private.units import Units
from sfumato.progress import Streamed, tell
from sfumato.schema.layout import QUERY_ROW, ROW, Bins, Layout
from sfumato.tables.duckdb import DuckTable
from sfumato.tables.table import Table

MOST_COUNTED_CELLS = 1 << 26  # cells of all groups: what may come back fits into memory, and keys into 32 bits
MOST_GROUPING_SETS = 1 << 10


class Counts(Protocol):
    """A database's table that counts by itself."""

    most_cuts: int

    @property
    def table(self) -> Table:
        """The same rows, as they are read here."""

    def kind(self, name: str) -> Kind | None:
        """What a column holds; None where the database does not compare it as we do."""

    def rehearse(
        self, names: Sequence[str], codings: Sequence[Coding], texts: Sequence[list[str]]
    ) -> list[tuple[pa.Array, IntArray]]:
        """Public values, written as texts, as cells that would be read here, with their levels there."""

    def count(self, names: Sequence[str], codings: Sequence[Coding], keys: Sequence[Key]) -> tuple[IntArray, IntArray]:
        """The keys of rows, and how many rows have each."""


class _Column(NamedTuple):
    """A column in levels, as the database finds them."""

    name: str
    bins: Bins
    levels: IntArray
    kind: Kind
    coding: Coding

    @property
    def size(self) -> int:
        return int(self.levels.max()) + 1


class _Streams(Exception):
    """Rows have to be read here, and why: on public grounds."""


def is_of_database(table: Table) -> bool:
    """Whether a table is one of a database, or of a query of one."""
    return hasattr(type(table), "one_table")  # of the class: to ask the table would ask its database


def database_engine(
    table: Any, layout: Layout, units: Units | None, values: bool, wish: Local | None = None
) -> PushedDown:
    """The engine of a table of a database.

    Args:
        table: The table.
        layout: The bins that its rows are seen in.
        units: Which rows of a unit of privacy count, where it is not the row.
        values: Whether questions will need values beside bins.
        wish: Where the caller wants rows added up, if not where they are.

    Returns:
        The engine; no row has been read yet.
    """
    counts = None if wish is not None else _counts_by(table)
    source = Source(table if counts is None else counts.table, layout, units, values)
    return PushedDown(counts, layout, LocalEngine(source, (wish or Local()).threads), row_of(table))


def row_of(table: Any) -> str:
    """What a guarantee calls a row of a table: it may be that of a query, of which somebody has many."""
    return ROW if not is_of_database(table) or table.one_table else QUERY_ROW


def _counts_by(table: Any) -> Counts | None:
    """The table of a database that counts by itself; None of any other."""
    if isinstance(table, DuckTable):
        from sfumato.engines.duckdb_counts import DuckCounts

        return DuckCounts(table)
    if table.is_postgres:
        from sfumato.engines.postgres_counts import PostgresCounts

        return PostgresCounts(table)
    return None


class PushedDown:
    """Lets the database count where it can, and reads rows where it cannot. Once rows have been read, which takes
    longest, it answers from them.
    """

    def __init__(self, counts: Counts | None, layout: Layout, local: LocalEngine, row: str = ROW) -> None:
        self.public = local.public
        self.row = row  # what a guarantee calls the rows that are protected
        self._counting = None if counts is None else _Counting(counts, layout)
        self._local = local

    def total(self, query: Query) -> IntArray:
        """The exact total of a query."""
        if (counting := self._counting) is not None:
            try:
                return counting.total(query)
            except _Streams as reason:
                tell(Streamed(str(reason)))
                self._counting = None
        return self._local.total(query)

    def rows(self, vectors: RowVectors) -> FloatArray:
        """The vectors of all rows that count, which are read here."""
        self._counting = None
        return self._local.rows(vectors)


class _Counting:
    """Questions that a database answers by counting."""

    def __init__(self, counts: Counts, layout: Layout) -> None:
        self._counts = counts
        self._layout = layout

    def total(self, query: Query) -> IntArray:
        """The total from the database's counts; or why there is none."""
        layout = self._layout
        if layout.unit is not None:
            raise _Streams("which rows of a unit count is chosen here")
        asked = None if layout.groups else asked_of(query, layout)
        if asked is None:
            raise _Streams("the question is for more than counts")
        used = sorted({place for table in asked.tables for place in table if place < len(asked.columns)})
        # The label is last in every group, and its level 0 is that of rows that count nowhere.
        columns = [*(self._feature(asked, place) for place in used), *self._label(asked)]
        if not columns:
            raise _Streams("the question is about no column")
        self._rehearse(columns)
        places = {place: number for number, place in enumerate(used)}
        tables = [tuple(places.get(place, len(used)) for place in table) for table in asked.tables]
        return asked.total(self._tables(columns, tables, len(used)))

    def _tables(self, columns: list[_Column], tables: list[tuple[int, ...]], label: int) -> list[IntArray]:
        """The counts of every table."""
        sizes = [*(column.size for column in columns), *([2] if len(columns) == label else [])]
        groups = groups_of([(*table, *([] if label in table else [label])) for table in tables], sizes)
        shapes = [tuple(sizes[place] for place in group) for group in groups]
        cells = [math.prod(shape) for shape in shapes]
        if sum(cells) > MOST_COUNTED_CELLS or len(groups) > MOST_GROUPING_SETS:
            raise _Streams("the tables have too many cells")
        offsets = np.concatenate([[0], np.cumsum(cells)]).tolist()
        keys = [
            _key(group, shape, offset, len(columns))
            for group, shape, offset in zip(groups, shapes, offsets, strict=False)
        ]
        found, counts = self._counts.count([c.name for c in columns], [c.coding for c in columns], keys)
        every = np.zeros(offsets[-1], dtype=np.int64)
        every[found] = counts
        if every[: cells[0]].sum() > ROW_CAP:
            raise TableError(f"a table may have at most {ROW_CAP} rows; split it")
        parts = [part.reshape(shape) for part, shape in zip(np.split(every, offsets[1:-1]), shapes, strict=True)]
        return [_counts_of(table, groups, parts) for table in tables]

    def _feature(self, asked: Asked, place: int) -> _Column:
        name = self._layout.names[asked.columns[place]]
        if name in self._layout.differences:
            raise _Streams(f"{name!r} is a difference of columns")
        return self._column(name, self._layout.bins[asked.columns[place]], asked.levels[place])

    def _label(self, asked: Asked) -> list[_Column]:
        name, bins = self._layout.label, self._layout.label_bins
        if name is None or bins is None:
            return []
        classes = np.searchsorted(bins.cell_starts, np.arange(bins.cells), "right")  # the first has level 1
        with_label = any(len(asked.columns) in table for table in asked.tables)
        levels = np.append(classes, 0)
        return [self._column(name, bins, levels if with_label else np.minimum(levels, 1))]

    def _column(self, name: str, bins: Bins, levels: IntArray) -> _Column:
        kind = self._counts.kind(name)
        coding = None if kind is None else coding_of(kind, bins, levels)
        if kind is None or coding is None:
            raise _Streams(f"column {name!r} is stored in a type that is read here")
        if not isinstance(coding, Words) and len(coding.cuts) > self._counts.most_cuts:
            raise _Streams(f"column {name!r} has more bins than the database is asked to tell apart")
        return _Column(name, bins, levels, kind, coding)

    def _rehearse(self, columns: list[_Column]) -> None:
        """Refuse expressions that see public values otherwise than we do, or not at all."""
        texts = [battery(column.kind, column.coding) for column in columns]
        try:
            found = self._counts.rehearse([c.name for c in columns], [c.coding for c in columns], texts)
        except TableError:  # of another make or version
            raise _Streams("the database cannot compare public values as we do") from None
        for column, (cells, levels) in zip(columns, found, strict=True):
            if not np.array_equal(own_levels(cells, column.bins, column.levels), levels):
                raise _Streams(f"the database sees public values of column {column.name!r} otherwise than we do")


def _key(group: tuple[int, ...], shape: tuple[int, ...], offset: int, coded: int) -> Key:
    """Cells in C order; a label that is none has the level 1, of all rows."""
    strides = [(place, math.prod(shape[axis + 1 :])) for axis, place in enumerate(group)]
    constant = sum(stride for place, stride in strides if place >= coded)
    return Key(offset + constant, tuple((place, stride) for place, stride in strides if place < coded))


def _counts_of(table: tuple[int, ...], groups: list[tuple[int, ...]], parts: list[IntArray]) -> IntArray:
    """A table's counts of the rows that count."""
    for group, part in zip(groups, parts, strict=True):
        if set(table) <= set(group):
            return table_of(table, group, part[..., 1:])
    raise AssertionError("every table is in a group")
