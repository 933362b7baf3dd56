"""NumPy arrays.

A column of a declared type is handed to Arrow as it is; objects and texts are read cell by cell.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import TableError
from sfumato.tables.cells import unreadable
from sfumato.tables.objects import object_texts
from sfumato.tables.table import BATCH_ROWS, Blocks, Table

ARROW_UNITS = ("s", "ms", "us", "ns")  # of the dates and durations that Arrow has too


class ArrayTable(Table):
    """A 2-D array, whose columns are called x0, x1 and so on, or a 1-D array with named fields."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        self._array = array if isinstance(array, np.ma.MaskedArray) else np.asarray(array)
        fields = array.dtype.names
        if array.ndim != (1 if fields else 2):
            raise TableError(
                f"an array of {array.ndim} dimensions is no table; give a 2-D array (X.reshape(-1, 1) has one "
                "column) or a 1-D array with named fields"
            )
        super().__init__("the array", fields or array_names(array.shape[1]))

    def _type(self, place: int) -> pa.DataType:
        return self._cells(place, slice(0)).type

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        size = len(self._array)
        for start in range(0, size, BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            columns = [self._cells(place, rows) for place in places]
            yield min(1.0, rows.stop / size), pa.RecordBatch.from_arrays(columns, names)

    def _cells(self, place: int, rows: slice) -> pa.Array:
        array = self._array
        cells = array[self.names[place]][rows] if array.dtype.names else array[rows, place]
        kind = cells.dtype
        if cells.ndim > 1:  # a field that holds an array in every row
            raise unreadable(self._column(place), array.dtype[place])
        odd_unit = kind.kind in "mM" and np.datetime_data(kind) not in [(unit, 1) for unit in ARROW_UNITS]
        if odd_unit or kind.kind in "OUS":
            return object_texts(cells)
        mask = np.ma.getmaskarray(cells) if isinstance(cells, np.ma.MaskedArray) else None
        native = np.asarray(cells).astype(kind.newbyteorder("="), copy=False)
        try:
            return pa.array(native, mask=mask)
        except (pa.ArrowException, TypeError):
            raise unreadable(self._column(place), kind) from None


def array_names(width: int) -> list[str]:
    """What the columns of a 2-D array are called.

    >>> array_names(3)
    ['x0', 'x1', 'x2']
    """
    return [f"x{place}" for place in range(width)]
