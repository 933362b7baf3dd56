"""Rows of a private table that a release is held against, read as a fit reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.checking.samples import RowSample, filterable
from sfumato.errors import TableError
from sfumato.evaluation.broken_rules import broken_by_rule
from sfumato.evaluation.typed_rows import TypedRows, typed_batches
from sfumato.schema.conditions import Mask, parse
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import code_label
from sfumato.tables.table import Table
from sfumato.tables.typed import typed_columns

CELLS_IN_MEMORY = 20_000_000  # of a table in memory: fewer rows of a wide one
HELD_OUT, SPLIT_SEED = 0.2, 18  # of the train rows, where there are no test rows


@dataclass(frozen=True)
class RealRows:
    """Some rows of a table, those that count.

    Attributes:
        batches: The cells as they were read.
        typed: The same rows, as measures take them.
        total: How many rows the table has.
        unlabelled: How many of the rows looked at have no label that the schema knows: a fit leaves them out too.
    """

    batches: tuple[pa.RecordBatch, ...]
    typed: TypedRows
    total: int
    unlabelled: int

    @property
    def size(self) -> int:
        """How many rows there are to compare with."""
        return self.typed.size

    @property
    def drawn(self) -> bool:
        """Whether the table has more rows than were looked at."""
        return self.size + self.unlabelled < self.total

    def broken(self, rules: Sequence[str]) -> dict[str, float]:
        """The share of rows that break each rule of the schema, and each of these."""
        schema = self.typed.schema
        more = {name for rule in rules for name in parse(rule, schema.columns).columns()}
        wanted = {name: schema.columns[name] for name in schema.columns if name in {*schema.modelling.checked, *more}}
        found = [broken_by_rule(typed_columns(batch, wanted), schema, rules) for batch in self.batches]
        return {rule: float(np.concatenate([part[rule] for part in found]).mean()) for rule in found[0]}

    def split(self) -> tuple[RealRows, RealRows]:
        """Four fifths of the rows and the other fifth, drawn with a fixed seed."""
        held = np.random.default_rng(SPLIT_SEED).random(self.size) < HELD_OUT
        return self._some(~held), self._some(held)

    def some(self, most: int) -> RealRows:
        """All rows, or some drawn with a fixed seed where there are more."""
        if self.size <= most:
            return self
        return self._some(np.random.default_rng(SPLIT_SEED).permutation(self.size) < most)

    def _some(self, kept: Mask) -> RealRows:
        ends = np.cumsum([batch.num_rows for batch in self.batches])
        parts = zip(self.batches, np.split(kept, ends[:-1]), strict=True)
        batches = tuple(batch.filter(pa.array(mask)) for batch, mask in parts)
        return replace(self, batches=batches, typed=self.typed.take(kept), total=int(kept.sum()), unlabelled=0)


def read_rows(table: Any, schema: Schema, most: int) -> RealRows:
    """Read a table by the schema of a release.

    Args:
        table: Whatever `open_table` takes.
        schema: The release's.
        most: How many rows to keep at most. Of more, between half of that and all of it are drawn evenly, with a fixed
            seed; of a table of many columns fewer.

    Returns:
        The rows that a fit would count.

    Raises:
        TableError: The table cannot be read, lacks a column that a fit reads, or holds no row that counts.
    """
    opened, layout = open_table(table), Layout.of(schema)
    names = _names(opened, schema, layout)
    sample = RowSample(max(1, min(most, CELLS_IN_MEMORY // len(names))))
    total = 0
    for batch in map(filterable, opened.batches(names)):
        sample.add(batch)
        total += batch.num_rows
    drawn = [batch for batch in sample.batches if batch.num_rows]
    labelled = [code_label(batch, layout) >= 0 for batch in drawn]
    batches = [batch.filter(pa.array(mask)) for batch, mask in zip(drawn, labelled, strict=True)]
    unlabelled = sum(int((~mask).sum()) for mask in labelled)
    typed = typed_batches(batches, names, schema)
    _refuse_nothing(opened, typed, total)
    return RealRows(tuple(batches), typed, total, unlabelled)


def _names(table: Table, schema: Schema, layout: Layout) -> list[str]:
    """The columns that a fit reads, which the table must have, and computed ones that it happens to have."""
    needed = {*layout.reads, schema.label}
    names = [name for name in schema.columns if name in needed or name in table.names]
    for name in names:
        table.place(name)  # what is not there is found before anything is read
    return names


def _refuse_nothing(table: Table, rows: TypedRows, total: int) -> None:
    """Refuse a table without rows, and one that is of something else."""
    if not total:
        raise TableError(f"{table.label} has no rows")
    if not rows.size:
        raise TableError(
            f"no row of {table.label} has a value of {rows.schema.label!r} that the release knows; is it another table?"
        )
    empty = [name for name, values in rows.numbers.items() if np.isnan(values).all()]
    empty += [name for name, codes in rows.codes.items() if (codes == rows.levels(name)).all()]
    if len(empty) > len(rows.names) / 2:
        raise TableError(
            f"{table.label} is another table than the release's: {len(empty)} of {len(rows.names)} columns hold no "
            f"value that the release knows, among them {empty[0]!r}"
        )
