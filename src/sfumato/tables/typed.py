"""The cells of a batch as the columns of a frame, in the types in which conditions read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.schema.columns import Category, Column, Listed, Number, Ordered
from sfumato.schema.layout import CategoryBins, bins_of
from sfumato.tables.coding import code_cells
from sfumato.tables.dates import FIRST_DAY, LAST_DAY

CALENDAR = FIRST_DAY * 86_400.0, LAST_DAY * 86_400.0  # seconds that a date can hold; a cell may be any number


def typed_columns(batch: pa.RecordBatch, columns: Mapping[str, Column]) -> dict[str, pd.Series[Any]]:
    """The columns of a batch that a schema describes.

    Args:
        batch: Rows of a table.
        columns: The columns of a schema, by name.

    Returns:
        Numbers and dates as they stand in the cells, also where they are outside their bounds, and the texts of
        categories; missing where a cell cannot be read or is no category of the column.

    Example:
        >>> from sfumato.schema.schema import Number
        >>> batch = pa.RecordBatch.from_pydict({"age": ["7", "?"]})
        >>> typed_columns(batch, {"age": Number(min=0, max=5)})["age"].tolist()
        [7.0, nan]
    """
    return {name: _typed(batch.column(name), columns[name]) for name in columns if name in batch.schema.names}


def _typed(cells: pa.Array, column: Column) -> pd.Series[Any]:
    bins = bins_of(column)
    coded = code_cells(cells, bins)
    if isinstance(bins, CategoryBins) or coded.values is None:
        levels = np.array([*_levels(column), None], dtype=object)  # a code of -1, and of what is missing, is the last
        return pd.Series(levels[coded.codes], dtype="boolean" if column.type == "boolean" else object)
    if isinstance(column, Number):
        return pd.Series(coded.values)
    assert isinstance(column, Ordered)
    known = np.isfinite(coded.values)
    return column.typed(np.where(known, coded.values, 0.0).clip(*CALENDAR), ~known)


def _levels(column: Column) -> tuple[Any, ...]:
    assert isinstance(column, Listed)
    return column.texts if isinstance(column, Category) else column.levels
