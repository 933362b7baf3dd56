"""Rows read as their schema reads them, which is the form that every measure takes.

>>> from sfumato.schema.schema import Schema
>>> age, sex = {"type": "number", "min": 0, "max": 9}, {"type": "category", "values": ["f", "m"]}
>>> rows = typed(pd.DataFrame({"age": [1, "?"], "sex": ["m", "x"]}), Schema.of({"columns": {"age": age, "sex": sex}}))
>>> rows.numbers["age"].tolist(), rows.codes["sex"].tolist()
([1.0, nan], [1, 2])
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.schema.columns import Column, Listed
from sfumato.schema.layout import FloatArray, IntArray, bins_of
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import code_cells


@dataclass(frozen=True)
class TypedRows:
    """The schema's columns of some rows; what is computed from other columns may be wanting.

    Attributes:
        schema: Of the rows.
        numbers: Ordered columns as they count (dates in days, times in seconds), NaN where missing or unreadable.
        codes: Listed columns as places among their levels; one more, `len(levels)`, is whatever is none of them.
    """

    schema: Schema
    numbers: dict[str, FloatArray]
    codes: dict[str, IntArray]

    @cached_property
    def size(self) -> int:
        """How many rows there are."""
        return len(next(iter((self.numbers | self.codes).values())))

    @property
    def names(self) -> list[str]:
        """The columns, in the schema's order."""
        return [name for name in self.schema.columns if name in self.numbers or name in self.codes]

    def is_same(self, other: TypedRows) -> bool:
        """Whether the other table holds the same rows, in any order.

        Args:
            other: Rows of the same schema.

        Returns:
            Whether they are, by what the columns that both have say.
        """
        names = [name for name in self.names if name in other.names]
        return self.size == other.size and np.array_equal(self._hashes(names), other._hashes(names))

    def _hashes(self, names: Sequence[str]) -> IntArray:
        columns = self.numbers | self.codes
        return np.sort(pd.util.hash_pandas_object(pd.DataFrame({name: columns[name] for name in names}), index=False))

    def levels(self, name: str) -> int:
        """How many levels a listed column has.

        Args:
            name: Of the column.

        Returns:
            Their number.
        """
        return len(listed(self.schema.columns[name]).levels)

    def take(self, rows: Any) -> TypedRows:
        """Some of the rows.

        Args:
            rows: Their places, a mask or a slice.

        Returns:
            Those rows.
        """
        return TypedRows(
            self.schema,
            {name: values[rows] for name, values in self.numbers.items()},
            {name: codes[rows] for name, codes in self.codes.items()},
        )

    def only(self, names: Sequence[str]) -> TypedRows:
        """Some of the columns.

        Args:
            names: Of the columns.

        Returns:
            The rows without the others.
        """
        return TypedRows(
            self.schema,
            {name: values for name, values in self.numbers.items() if name in names},
            {name: codes for name, codes in self.codes.items() if name in names},
        )

    def features(self, names: Sequence[str]) -> pd.DataFrame:
        """Columns as a tree-based model takes them.

        Args:
            names: Of the columns.

        Returns:
            Floats and pandas categories, missing where the cells are.
        """
        return pd.DataFrame({name: self._feature(name) for name in names})

    def _feature(self, name: str) -> Any:
        if name in self.numbers:
            return self.numbers[name]
        levels = self.levels(name)
        codes = np.where(self.codes[name] < levels, self.codes[name], -1)
        return pd.Categorical.from_codes(codes, categories=pd.RangeIndex(levels))


def typed(table: Any, schema: Schema) -> TypedRows:
    """Read a table.

    Args:
        table: Rows with columns of the schema, real or synthetic: whatever `open_table` takes.
        schema: Of the rows.

    Returns:
        The columns, every cell read as a fit reads it.
    """
    opened = open_table(table)
    names = [name for name in schema.columns if name in opened.names]
    return typed_batches(list(opened.batches(names)), names, schema)


def typed_batches(batches: Sequence[pa.RecordBatch], names: Sequence[str], schema: Schema) -> TypedRows:
    """Read these columns of batches of a table."""
    columns = {name: schema.columns[name] for name in names}
    cells = {name: [batch.column(name) for batch in batches] for name in columns}
    return TypedRows(
        schema,
        {name: _values(cells[name], column) for name, column in columns.items() if not isinstance(column, Listed)},
        {name: _places(cells[name], column) for name, column in columns.items() if isinstance(column, Listed)},
    )


def numbers(cells: pd.Series[Any], column: Column) -> FloatArray:
    """Cells of an ordered column as it counts, NaN where there is no value."""
    return _values(_arrays(cells), column)


def places(cells: pd.Series[Any], column: Column) -> IntArray:
    """Cells of a listed column as places among its levels, `len(levels)` where they are none of them."""
    return _places(_arrays(cells), column)


@contextmanager
def gaps_allowed() -> Iterator[None]:
    """No warning of columns in which nothing is known: what is computed of them is NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def listed(column: Column) -> Any:
    """The column, which is known to be a listed one."""
    assert isinstance(column, Listed)
    return column


def _arrays(cells: pd.Series[Any]) -> Iterable[pa.Array]:
    return (batch.column(0) for batch in open_table(cells.to_frame("cells")).batches(["cells"]))


def _values(cells: Iterable[pa.Array], column: Column) -> FloatArray:
    bins = bins_of(column)
    read = [code_cells(part, bins).values for part in cells]
    return np.concatenate([np.zeros(0), *(values for values in read if values is not None)])


def _places(cells: Iterable[pa.Array], column: Column) -> IntArray:
    bins, levels = bins_of(column), len(listed(column).levels)
    codes = np.concatenate([np.zeros(0, dtype=np.int64), *(code_cells(part, bins).codes for part in cells)])
    return np.where((codes < 0) | (codes >= levels), levels, codes)
