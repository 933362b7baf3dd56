"""pandas data frames.

A column of a declared type is handed to Arrow as it is. A column of objects is read cell by cell, never
by Arrow's inference, which would let one cell decide how all others are read.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.tables.cells import unreadable
from sfumato.tables.objects import object_texts
from sfumato.tables.table import BATCH_ROWS, Blocks, Table
from sfumato.text import WHITESPACE

Reader = Callable[[slice], pa.Array]


class FrameTable(Table):
    """A pandas data frame; its index is ignored.

    A column that has no name (None or NaN) is called by its place, from 0, and one with a name on several levels by
    all of them, joined by `_`.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__("the table", [_name(name, place) for place, name in enumerate(frame.columns)])
        self._frame = frame

    def _type(self, place: int) -> pa.DataType:
        return self._reader(place)(slice(0)).type

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        readers = [self._reader(place) for place in places]
        size = len(self._frame)
        for start in range(0, size, BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            columns = [read(rows) for read in readers]
            yield min(1.0, rows.stop / size), pa.RecordBatch.from_arrays(columns, names)

    def _reader(self, place: int) -> Reader:
        series = self._frame.iloc[:, place]
        try:
            return _categorical(series) if isinstance(series.dtype, pd.CategoricalDtype) else _typed(series)
        except (pa.ArrowException, TypeError):
            raise unreadable(self._column(place), series.dtype) from None


def _name(name: Any, place: int) -> str:
    """A column's name as text.

    >>> [_name(name, 3) for name in ("age", 7, 2.5, None, ("visit", 1), ("age", ""))]
    ['age', '7', '2.5', '3', 'visit_1', 'age']
    """
    if isinstance(name, str):
        return name
    if isinstance(name, tuple):
        levels = [_name(level, 0) for level in name if not pd.isna(level)]
        return "_".join(filter(None, levels)) or str(place)
    text = object_texts([name])[0].as_py()
    if text is None:
        return str(place) if pd.isna(name) else str(name)
    return str(text).strip(WHITESPACE)


def _categorical(series: pd.Series) -> Reader:
    """The categories are read once, cell by cell; the codes point to them."""
    codes = series.cat.codes.to_numpy()
    categories = pd.Series(series.cat.categories)
    values = _typed(categories)(slice(None))

    def read(rows: slice) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes[rows], mask=codes[rows] < 0), values)

    return read


def _typed(series: pd.Series) -> Reader:
    dtype = series.dtype
    if pd.api.types.is_object_dtype(dtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "python"):
        return lambda rows: object_texts(series.iloc[rows])
    if isinstance(dtype, pd.SparseDtype):
        return _typed(pd.Series(np.asarray(series.array)))
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC")
    pa.array(series.iloc[:0], from_pandas=True)  # a type that Arrow does not know fails here, before any cell

    def read(rows: slice) -> pa.Array:
        cells = pa.array(series.iloc[rows], from_pandas=True)
        return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells

    return read
