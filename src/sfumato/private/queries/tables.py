"""How many rows fall into each cell of tables of several columns, and how far such tables are from public ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries.base import Batch, FloatArray, IntArray, Public, Query, Reach, check_shares

CELLS_OF_ALL = 1 << 24  # of all tables together, so that counts fit into memory
CELLS_OF_ONE = 1 << 22  # of one table
CELLS_OF_JOINT = 1 << 14  # of one that is counted for its margins: it stays in the processor's cache
TARGET_BITS = 8  # fractional bits of a public count
MOST_STEPS = 1 << 60  # steps, of all targets together: a distance stays below (ROW_CAP << TARGET_BITS) + 2^61 < 2^62


@dataclass(frozen=True)
class Tables(Query):
    """How many rows fall into each cell of tables of several columns: pairs, pairs with the label, and so on.

    A column is seen in levels, which put bins together; what fits no bin has a level too. A table is of some columns,
    by their places in `levels`, each once; the place after the last is the label, whose levels are the classes. Its
    cells are in C order, tables one after the other. Those of table t have weight sqrt(shares[t]), and the shares add
    up to at most one.

    Reach. A row adds 1 to one cell of every table, whatever it holds: D = sqrt(sum of shares) <= 1. Contributions are
    never negative, so two rows' difference has at most the squared norm 1 + 1: E = sqrt(2). There is one group. Another
    label moves a row from one cell to another in the tables with the label, and in no other table: L^2 is twice the
    sum of their shares. docs/proofs/pair-tables.md.
    """

    levels: tuple[IntArray, ...]  # for each column the level of every bin, and last that of the code -1
    classes: int
    tables: tuple[tuple[int, ...], ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        for level in self.levels:
            fits = level.ndim == 1 and len(level) > 1 and 0 <= level.min() <= level.max() < CELLS_OF_ONE
            insist(fits, "every bin of a column has a level, and so has what fits none: whole numbers from 0 on")
        known = set(range(len(self.levels) + 1))
        once = all(0 < len(set(table) & known) == len(table) for table in self.tables)
        insist(once and self.classes >= 1, "a table is of columns that are there, or the label, each once")
        check_shares(self.shares, len(self.tables))
        fits = max(self.cells) <= CELLS_OF_ONE and sum(self.cells) <= CELLS_OF_ALL
        insist(fits, f"a table has at most {CELLS_OF_ONE} cells, and all of them {CELLS_OF_ALL}; ask for fewer levels")

    @cached_property
    def sizes(self) -> list[int]:
        """How many levels each column has, the label last."""
        return [*(int(level.max()) + 1 for level in self.levels), self.classes]

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """How many levels each column of a table has."""
        return [tuple(self.sizes[column] for column in table) for table in self.tables]

    @cached_property
    def cells(self) -> list[int]:
        """How many cells each table has."""
        return [math.prod(shape) for shape in self.shapes]

    @property
    def width(self) -> int:
        """How many numbers it holds of one row: its levels, its label, and its place in a table."""
        return len(self.levels) + 2

    @property
    def reach(self) -> Reach:
        own = (share for table, share in zip(self.tables, self.shares, strict=True) if len(self.levels) in table)
        return Reach(1.0, math.sqrt(2.0), math.sqrt(2.0 * math.fsum(own)), False, 1)

    @cached_property
    def weights(self) -> FloatArray:
        return np.repeat(np.sqrt(self.shares), self.cells)

    def check(self, public: Public) -> None:
        sizes = tuple(len(level) - 1 for level in self.levels)
        fits = not public.coordinates and (sizes, self.classes) == (public.sizes, public.classes)
        insist(fits, "tables must be of the columns and classes of the schema")

    @cached_property
    def _joints(self) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """Tables of more columns, and the ones of ours that are their margins: one takes less to count than its margins
        do. Columns a and b go with column -a - b, counted in a circle, and so do any two of these three.
        """
        groups: dict[frozenset[int], list[tuple[int, ...]]] = {}
        for table in self.tables:
            columns = frozenset(table) - {len(self.levels)}
            three = columns | {-sum(columns) % len(self.levels)} if len(columns) == 2 else columns
            small = self.classes * math.prod(self.sizes[c] for c in three) <= CELLS_OF_JOINT
            groups.setdefault(three if small else columns, []).append(table)
        return {tuple(sorted(set().union(*tables))): tables for tables in groups.values()}

    def part(self, batch: Batch) -> IntArray:
        # Codes are below their column's number of bins, or -1, which wraps to the last entry. No table has 2^31 cells.
        pairs = zip(self.levels, batch.codes, strict=True)
        rows = [*(level.astype(np.int32).take(c, mode="wrap") for level, c in pairs), batch.labels.astype(np.int32)]
        found: dict[tuple[int, ...], IntArray] = {}
        for joint, tables in self._joints.items():
            place, shape = rows[joint[0]], [self.sizes[column] for column in joint]
            for column in joint[1:]:
                place = place * np.int32(self.sizes[column]) + rows[column]
            counts = np.bincount(place, minlength=math.prod(shape)).reshape(shape)
            found |= {table: np.einsum(counts, range(len(joint)), [*map(joint.index, table)]) for table in tables}
        return np.concatenate([found[table].ravel() for table in self.tables])


@dataclass(frozen=True)
class Distances(Query):
    """How far the counts of tables are from public ones: for each table the sum over its cells of |count - target|,
    in steps of 2^-TARGET_BITS of a row, as an exact whole number. Table t has weight sqrt(shares[t]) a row.

    Reach. A distance is a norm of the counts less something fixed, so by the triangle inequality it moves by no more
    than the counts do, in L1: by 1 in every table where a row joins or leaves, D = sqrt(sum of shares) <= 1; by 2
    where it is replaced, E = 2; by 2 in the tables with the label, and by 0 in others, where its label changes, L = 2
    sqrt(the sum of their shares). There is one group. Several rows are changed one after the other, and the moves add
    up at most. docs/proofs/pair-tables.md.

    Counts are of at most ROW_CAP rows, and targets add up to MOST_STEPS, so that nothing here leaves an int64.
    """

    tables: Tables
    targets: IntArray  # one for each cell, in steps

    def __post_init__(self) -> None:
        # A sum in float64 does not overflow, and there is room for what it is off by.
        few = self.targets.shape == (self.size,) and self.targets.sum(dtype=np.float64) <= MOST_STEPS
        insist(few and self.targets.min() >= 0, "every cell needs a public count, from 0 on, at most 2^52 rows in all")

    @property
    def classes(self) -> int:  # type: ignore[override]
        """Those of the tables."""
        return self.tables.classes

    @property
    def size(self) -> int:
        return self.tables.size

    @property
    def reach(self) -> Reach:
        return Reach(1.0, 2.0, math.sqrt(2.0) * self.tables.reach.relabelled, False, 1)

    @cached_property
    def weights(self) -> FloatArray:
        return np.sqrt(self.tables.shares) * 2.0**-TARGET_BITS

    def check(self, public: Public) -> None:
        self.tables.check(public)

    def part(self, batch: Batch) -> IntArray:
        return self.tables.part(batch)

    def answer(self, total: IntArray) -> IntArray:
        apart = np.abs((total << TARGET_BITS) - self.targets)
        return np.add.reduceat(apart, np.cumsum([0, *self.tables.cells[:-1]]))


KINDS = (Tables, Distances)  # that a question may be made of
