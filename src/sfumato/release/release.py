"""The release: a model anyone may have, and the guarantee it was made under.

Everything here is post-processing of noisy answers: free, repeatable and seedable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.release.conditions import Given, Where, keep_where, row_filter
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.schema import ROW, Category, Date, Schema
from sfumato.text import one_line, rounded_up

BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Guarantee:
    """What a release promises about every unit of the private table.

    It covers this release only: another fit on the same table is another release, and their mu add up in
    squares. A ledger adds them up; `entry` is then the id under which it counts this one.
    A release made with a seed was made with noise that anyone can repeat: it has no epsilon.
    Where noisy projections of every row were asked for (`slices`), mu is that of the other queries; epsilon and delta
    are of all together.
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: tuple[Spend, ...]
    entry: str | None = None
    slices: tuple[Slices, ...] = ()

    def __str__(self) -> str:
        if not self.secure:
            return "NOT PRIVATE: made with insecure_seed, for tests only"
        one = "one row" if self.unit == ROW else f"all rows of one {one_line(self.unit)}"
        neighbours = {
            Adjacency.ADD_REMOVE: f"{one} added or removed",
            Adjacency.REPLACE_ONE: f"{one} replaced (how many there are is public)",
            Adjacency.LABEL: f"the label of {one} changed (everything else is public)",
        }
        mu = f"{rounded_up(self.mu, 5)}-GDP"
        beside = f"noisy projections of every row beside queries that are {mu}" if self.slices else mu
        return (
            f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-differentially private, "
            f"{beside}; neighbours: {neighbours[self.adjacency]}; {self.scope}"
        )

    @property
    def scope(self) -> str:
        """Whether anyone counts what other releases of the same table tell."""
        return "covers this release only" if self.entry is None else f"counted in a ledger as {self.entry}"


@dataclass(frozen=True)
class Release:
    """A differentially private model of a table: sample it; some kinds score and classify with it too."""

    schema: Schema
    guarantee: Guarantee
    mechanism: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.mechanism}, {len(self.schema.columns)} columns, {self.guarantee})"

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        raise NotImplementedError

    @property
    def class_weights(self) -> FloatArray:
        """How often each class comes."""
        raise NotImplementedError

    @cached_property
    def layout(self) -> Layout:
        """The public bins of the schema."""
        return Layout.of(self.schema)

    def sample(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> pd.DataFrame:
        """Draw n synthetic rows, with the schema's columns, order and types.

        `given` fixes columns ({"income": ">50K", "age": 40}): the others follow their conditional distribution under
        the model. `where` keeps rows for which a condition ("age > 40 and town in ['Ulm', 'Bonn']"; its grammar is in
        docs/conditions.md), or a function of the frame, holds; it draws at most 1000 rows for each one wanted, then
        says so and stops.
        """
        return pd.concat(list(self._frames(n, seed, given, where)), ignore_index=True)

    def sample_batches(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Draw the same n rows as `sample`, as a stream of Arrow batches."""
        return map(self._arrow, self._frames(n, seed, given, where))

    def predict_proba(self, table: Any) -> pd.DataFrame:
        """The probability of each class for each row of a table; one column a class, in schema order."""
        raise NotImplementedError

    def log_density(self, table: Any) -> FloatArray:
        """log p(x) for each row, or log p(x, y) where the table has the label column."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the release to one file."""
        from sfumato.release.file import write

        write(self, path)

    def _condition(self, given: Mapping[str, Any]) -> Given:
        raise NotImplementedError

    def _columns(self, n: int, rng: np.random.Generator, condition: Given | None) -> tuple[list[Any], IntArray]:
        """n rows: their feature columns in the schema's types, and their labels."""
        raise NotImplementedError

    def _frames(
        self, n: int, seed: int | None, given: Mapping[str, Any] | None, where: Where | None
    ) -> Iterator[pd.DataFrame]:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"the number of rows to sample must be 0 or more, not {n!r}")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ArgumentError(f"the seed of a sample must be a whole number, 0 or more, not {seed!r}")
        rng = np.random.default_rng(seed)
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentError("given must be a mapping of columns to values, like {'income': '>50K'}")
        condition = self._condition(given) if given else None
        if where is not None:
            return keep_where(lambda size: self._frame(size, rng, condition), int(n), row_filter(where, self.schema))
        sizes = (min(BATCH_ROWS, int(n) - start) for start in range(0, max(int(n), 1), BATCH_ROWS))
        return (self._frame(size, rng, condition) for size in sizes)

    def _frame(self, n: int, rng: np.random.Generator, condition: Given | None) -> pd.DataFrame:
        decoded, labels = self._columns(n, rng, condition)
        columns = dict(zip(self.layout.names, decoded, strict=True))
        if self.layout.label is not None and self.layout.label_bins is not None:
            columns[self.layout.label] = self.layout.label_bins.decode(labels, rng.random(n))
        if condition is not None:
            columns |= {name: fixed.astype(columns[name].dtype) for name, fixed in condition.fixed(n).items()}
        return pd.DataFrame({name: columns[name] for name in self.schema.columns})

    def _arrow(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """Rows as Arrow. Categories get their type from the schema: drawn values would vary it by batch."""
        kinds = {
            name: _arrow_type(column)
            for name, column in self.schema.columns.items()
            if isinstance(column, (Category, Date))
        }
        for name, kind in kinds.items():
            if pa.types.is_large_string(kind):
                frame[name] = frame[name].map(str, na_action="ignore")
        types = pa.Schema.from_pandas(frame, preserve_index=False)
        for name, kind in kinds.items():
            types = types.set(types.get_field_index(name), pa.field(name, kind))
        table = pa.Table.from_pandas(frame, schema=types, preserve_index=False)
        whole = [pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)]) for column in table.columns]
        return pa.RecordBatch.from_arrays(whole, schema=types)


def _arrow_type(column: Category | Date) -> pa.DataType:
    if isinstance(column, Date):
        return pa.date32()
    if all(isinstance(value, int) for value in column.values):
        return pa.int64()
    return pa.large_string() if any(isinstance(value, str) for value in column.values) else pa.float64()
