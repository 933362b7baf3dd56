"""Rows read as their schema reads them, which is the form that every measure takes.

>>> from sfumato.schema.schema import Schema
>>> age, sex = {"type": "number", "min": 0, "max": 9}, {"type": "category", "values": ["f", "m"]}
>>> rows = typed(pd.DataFrame({"age": [1, "?"], "sex": ["m", "x"]}), Schema.of({"columns": {"age": age, "sex": sex}}))
>>> rows.numbers["age"].tolist(), rows.codes["sex"].tolist()
([1.0, nan], [1, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sfumato.schema.columns import Column, Listed
from sfumato.schema.layout import FloatArray, IntArray, bins_of
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import Cells, code_cells


@dataclass(frozen=True)
class TypedRows:
    """The schema's columns of some rows.

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
        return list(self.schema.columns)

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


def typed(table: pd.DataFrame, schema: Schema) -> TypedRows:
    """Read a table.

    Args:
        table: Rows with all columns of the schema, real or synthetic.
        schema: Of the rows.

    Returns:
        The columns, every cell read as a fit reads it.
    """
    is_listed = {name: isinstance(column, Listed) for name, column in schema.columns.items()}
    columns = schema.columns
    return TypedRows(
        schema,
        {name: numbers(table[name], columns[name]) for name, yes in is_listed.items() if not yes},
        {name: places(table[name], columns[name]) for name, yes in is_listed.items() if yes},
    )


def numbers(cells: pd.Series[Any], column: Column) -> FloatArray:
    """Cells of an ordered column as it counts, NaN where there is no value."""
    values = _read(cells, column).values
    assert values is not None  # an ordered column has them
    return values


def places(cells: pd.Series[Any], column: Column) -> IntArray:
    """Cells of a listed column as places among its levels, `len(levels)` where they are none of them."""
    levels = len(listed(column).levels)
    codes = _read(cells, column).codes
    return np.where((codes < 0) | (codes >= levels), levels, codes)


def listed(column: Column) -> Any:
    """The column, which is known to be a listed one."""
    assert isinstance(column, Listed)
    return column


def _read(cells: pd.Series[Any], column: Column) -> Cells:
    bins = bins_of(column)
    parts = [code_cells(batch.column(0), bins) for batch in open_table(cells.to_frame("cells")).batches(["cells"])]
    codes = np.concatenate([np.zeros(0, dtype=np.int64), *(part.codes for part in parts)])
    if isinstance(column, Listed):
        return Cells(codes, None)
    return Cells(codes, np.concatenate([np.zeros(0), *(part.values for part in parts if part.values is not None)]))
