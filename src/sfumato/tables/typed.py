"""The cells of a batch as the columns of a frame, in the types in which conditions read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.schema.layout import CategoryBins, bins_of
from sfumato.schema.schema import Category, Column
from sfumato.tables.coding import code_cells


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
    if isinstance(bins, CategoryBins) or isinstance(column, Category) or coded.values is None:
        assert isinstance(column, Category)
        texts = np.array([*column.texts, None], dtype=object)  # a code of -1, and of what is missing, is the last
        return pd.Series(texts[coded.codes], dtype=object)
    if column.type != "date":
        return pd.Series(coded.values)
    known = np.isfinite(coded.values)
    days = np.where(known, coded.values, 0).astype("datetime64[D]").astype("datetime64[s]")
    return pd.Series(np.where(known, days, np.datetime64("NaT")))
