"""What moves a mixture towards tables: a weight for each of their cells.

A row's bins are mapped to coarser levels, column by column, and a table is over the levels of a few columns. A tilted
distribution has the density q(row) exp(sum over tables of the weight of the cell that the row is in) / Z.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.quick_numbers import Float32Array
from sfumato.schema.layout import FloatArray, IntArray

Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
PLACED_AT_ONCE = 1 << 13  # rows, so that their places stay in the processor's cache
MOST_PLACES = 1 << 23  # of rows in tables at once: they fit into memory however many tables there are
MERGED_CELLS = 1 << 14  # of a table that others were added to, so that it stays in the processor's cache
MERGED_TABLES = 400  # at the most: each is held against all others
MOST_TILTED = 1 << 30  # of all tables, so that a place is a short number


@dataclass(frozen=True, eq=False)
class Tilt:
    """Weights of the cells of tables over levels of columns.

    Attributes:
        levels: For each feature the level of every bin, from 0 on.
        classes: How many classes there are; the levels of the label, which is the column after the features.
        tables: For each table its columns.
        weights: The weight of every cell, one table after the other, each in C order; -inf where no row can be.
        ceiling: What the weights of a row's cells add up to at the most: a rare row that is in several cells of large
            weight would otherwise count for more than anything that tables speak of.
    """

    levels: tuple[IntArray, ...]
    classes: int
    tables: tuple[tuple[int, ...], ...]
    weights: FloatArray
    ceiling: float = np.inf

    def __post_init__(self) -> None:
        columns = range(len(self.levels) + 1)
        if any(len(set(t)) != len(t) or not set(t) <= set(columns) or not t for t in self.tables):
            raise ArgumentError("a table of a tilt is over one or more columns, each of them once")
        if self.cells > MOST_TILTED or self.weights.shape != (self.cells,):
            raise ArgumentError(f"a tilt has one weight for each of its {self.cells} cells, at most {MOST_TILTED}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each column has, the label last."""
        return (*(int(level.max()) + 1 for level in self.levels), self.classes)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each table."""
        return tuple(tuple(self.sizes[j] for j in table) for table in self.tables)

    @property
    def cells(self) -> int:
        """How many cells all tables have together."""
        return self.starts[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each table begins in the weights; where the last one ends."""
        ends = [0]
        for shape in self.shapes:
            ends.append(ends[-1] + prod(shape))
        return tuple(ends)

    @cached_property
    def _having(self) -> tuple[IntArray, ...]:
        columns = range(len(self.sizes))
        return tuple(np.array([t for t, table in enumerate(self.tables) if j in table], np.int64) for j in columns)

    def having(self, column: int) -> IntArray:
        """The tables that a column is in."""
        return self._having[column]

    @cached_property
    def widest(self) -> IntArray:
        """The tables whose columns are not all in another table: where these come out right, the others do."""
        columns = [set(table) for table in self.tables]
        inside = [any(mine < other for other in columns) for mine in columns]
        return np.flatnonzero(~np.array(inside, dtype=bool))

    @cached_property
    def _strides(self) -> tuple[Int32Array, ...]:
        found = []
        for j in range(len(self.sizes)):
            after = [self.shapes[t][self.tables[t].index(j) + 1 :] for t in self._having[j]]
            found.append(np.array([prod(sizes) for sizes in after], np.int32))
        return tuple(found)

    def strides(self, column: int) -> Int32Array:
        """By how much one more level of a column moves a row's place in each table that the column is in."""
        return self._strides[column]

    def touched(self, columns: tuple[int, ...]) -> tuple[IntArray, Int32Array]:
        """The tables that any of some columns is in, and (columns, tables) by how much one more level of each moves a
        row's place there.
        """
        if len(columns) == 1:
            return self.having(columns[0]), self.strides(columns[0])[None]
        if columns not in self._touched:
            tables = np.unique(np.concatenate([self._having[j] for j in columns]))
            strides = np.zeros((len(columns), len(tables)), np.int32)
            for row, j in zip(strides, columns, strict=True):
                row[np.searchsorted(tables, self._having[j])] = self._strides[j]
            self._touched[columns] = tables, strides
        return self._touched[columns]

    @cached_property
    def _touched(self) -> dict[tuple[int, ...], tuple[IntArray, Int32Array]]:
        return {}

    @cached_property
    def short_weights(self) -> Float32Array:
        """The weights in single precision, which is enough to choose by."""
        return self.weights.astype(np.float32)

    @cached_property
    def _levels(self) -> tuple[Int32Array, ...]:
        return tuple(level.astype(np.int32) for level in self.levels)

    def level_of(self, column: int, codes: IntArray | Int32Array) -> Int32Array:
        """The levels of a feature's bins."""
        return self._levels[column].take(codes)

    def levels_of(self, codes: Sequence[IntArray] | Int32Array, labels: IntArray) -> list[Int32Array]:
        """The levels of rows.

        Args:
            codes: For each feature the bin of every row.
            labels: The class of every row.

        Returns:
            The levels of every row, one array a column, the label last.
        """
        found = [level.take(code) for level, code in zip(self._levels, codes, strict=True)]
        return [*found, np.asarray(labels, np.int32)]

    def places(self, levels: Sequence[Int32Array], tables: Sequence[int] | IntArray | None = None) -> Int32Array:
        """The cells that rows are in, as places in `weights`.

        Args:
            levels: Those of `levels_of`.
            tables: Which tables; None for all.

        Returns:
            An array (tables, rows).
        """
        wanted = range(len(self.tables)) if tables is None else tables
        found = np.empty((len(wanted), len(levels[-1])), np.int32)
        tails: dict[tuple[int, ...], Int32Array] = {}  # many tables end alike: in a column and the label
        for row, t in zip(found, wanted, strict=True):
            first, *others = self.tables[t]
            np.multiply(levels[first], prod(self.sizes[j] for j in others), out=row)
            row += self._tail(tuple(others), levels, tails)
            row += self.starts[t]
        return found

    def places_by_row(self, levels: Sequence[Int32Array], tables: Sequence[int] | IntArray) -> Int32Array:
        """The same of some tables, as an array (rows, tables): a matrix product, which is exact for such numbers."""
        strides = np.zeros((len(levels), len(tables)))
        for place, t in enumerate(tables):
            for j, column in enumerate(self.tables[t]):
                strides[column, place] = prod(self.shapes[t][j + 1 :])
        starts = np.array([self.starts[t] for t in tables], np.int32)
        found = np.empty((len(levels[-1]), len(tables)), np.int32)
        for start in range(0, len(found), PLACED_AT_ONCE):
            part = slice(start, start + PLACED_AT_ONCE)
            by_row = np.stack([level[part] for level in levels], axis=1, dtype=np.float64)
            np.add(by_row @ strides, starts, out=found[part], casting="unsafe")
        return found

    def _tail(
        self, columns: tuple[int, ...], levels: Sequence[Int32Array], tails: dict[tuple[int, ...], Int32Array]
    ) -> Int32Array:
        """The places of rows in the table of some columns alone, each found once."""
        if not columns:
            return np.zeros(1, np.int32)
        if columns not in tails:
            stride = np.int32(prod(self.sizes[j] for j in columns[1:]))
            tails[columns] = levels[columns[0]] * stride + self._tail(columns[1:], levels, tails)
        return tails[columns]

    def log_weights(self, levels: Sequence[Int32Array], tables: Sequence[int] | IntArray | None = None) -> FloatArray:
        """The weights of the cells that each row is in, added up, and under the ceiling where all tables are meant.

        Args:
            levels: Those of `levels_of`.
            tables: Which tables; None for all.

        Returns:
            One number a row.
        """
        found = np.empty(len(levels[-1]))
        rows = self.at_once(PLACED_AT_ONCE)
        for start in range(0, len(found), rows):
            part = slice(start, start + rows)
            found[part] = self.weights.take(self.places([level[part] for level in levels], tables)).sum(axis=0)
        return found if tables is not None else np.minimum(found, self.ceiling)

    def at_once(self, most: int) -> int:
        """How many rows to look at together, at most so many."""
        return min(most, max(1, MOST_PLACES // max(1, len(self.tables))))

    def with_tables(self, tables: Sequence[tuple[int, ...]], weights: FloatArray | None = None) -> Tilt:
        """The same with more tables after the ones it has.

        Args:
            tables: For each of them its columns.
            weights: The weights of their cells; None for 0.

        Returns:
            The tilt.
        """
        cells = sum(prod(self.sizes[j] for j in table) for table in tables)
        more = np.zeros(cells) if weights is None else weights
        all_weights = np.concatenate([self.weights, more])
        return Tilt(self.levels, self.classes, (*self.tables, *tables), all_weights, self.ceiling)

    def split(self) -> tuple[Tilt, Tilt]:
        """The tables that weigh, and those that only say where no row can be."""
        bounds = list(zip(self.starts, self.starts[1:], strict=False))
        only = [set(np.unique(self.weights[a:b])) in ({-np.inf}, {0.0, -np.inf}) for a, b in bounds]
        parts = []
        for wanted in (False, True):
            which = [t for t, zero in enumerate(only) if zero == wanted]
            weights = np.concatenate([np.zeros(0), *(self.weights[slice(*bounds[t])] for t in which)])
            ceiling = np.inf if wanted else self.ceiling
            parts.append(Tilt(self.levels, self.classes, tuple(self.tables[t] for t in which), weights, ceiling))
        return parts[0], parts[1]

    def merged(self) -> Tilt:
        """The same weights of every row from fewer tables: those of columns that are in common are added up.

        Each table goes into the one that grows least by it, as long as that has no more than MERGED_CELLS. Where there
        are very many tables, looking for it would take longer than it saves.
        """
        if len(self.tables) > MERGED_TABLES:
            return self
        groups: list[set[int]] = []
        members: list[list[int]] = []
        for t in sorted(range(len(self.tables)), key=lambda t: -len(self.tables[t])):
            own = set(self.tables[t])
            sizes = [self._table_cells(group | own) for group in groups]
            growth = [size / self._table_cells(group) for size, group in zip(sizes, groups, strict=True)]
            fitting = [g for g, size in enumerate(sizes) if size <= MERGED_CELLS or own <= groups[g]]
            if not fitting:
                groups.append(own)
                members.append([t])
                continue
            into = min(fitting, key=growth.__getitem__)
            groups[into] |= own
            members[into].append(t)
        tables = [tuple(sorted(group)) for group in groups]
        weights = [self._added(table, mine) for table, mine in zip(tables, members, strict=True)]
        return Tilt(self.levels, self.classes, tuple(tables), np.concatenate([np.zeros(0), *weights]), self.ceiling)

    def _table_cells(self, columns: Iterable[int]) -> int:
        return prod(self.sizes[j] for j in columns)

    def _added(self, columns: tuple[int, ...], tables: Sequence[int]) -> FloatArray:
        """The weights of some tables, whose columns are among those given, as one table."""
        found = np.zeros([self.sizes[j] for j in columns])
        for t in tables:
            order = np.argsort(self.tables[t])
            own = self.weights[self.starts[t] : self.starts[t + 1]].reshape(self.shapes[t]).transpose(order)
            found += own.reshape([self.sizes[j] if j in self.tables[t] else 1 for j in columns])
        return found.ravel()

    def reweighted(self, weights: FloatArray, ceiling: float = np.inf) -> Tilt:
        """The same tables with other weights."""
        return replace(self, weights=weights, ceiling=ceiling)

    def without(self, columns: Container[int]) -> Tilt:
        """The same, but that tables of some columns weigh nothing."""
        weights = self.weights.copy()
        for table, start, end in zip(self.tables, self.starts, self.starts[1:], strict=False):
            if any(j in columns for j in table):
                weights[start:end] = 0.0
        return self.reweighted(weights)

    def scaled(self, share: float) -> Tilt:
        """A share of the tilt, above 0."""
        return replace(self, weights=share * self.weights, ceiling=share * self.ceiling)
