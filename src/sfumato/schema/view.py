"""How a question sees rows: some of the columns, in bins that are runs of the grid cells that rows are coded to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.errors import insist
from sfumato.schema.grid import IntArray

MOST_TABLE_CELLS = 1 << 24  # of tables: those of many fine columns would not fit into memory

CodeArray = np.ndarray[Any, np.dtype[np.int16] | np.dtype[np.int32]]


@dataclass(frozen=True)
class View:
    """Columns, how many cells the grid of each has, and the first cells of the runs that are its bins.

    Every number of a row is looked up in a public table of its column, or among the starts where tables are too large,
    so that what is seen of a row is a function of that row alone.

    >>> View((1,), (5,), (np.array([0, 3]),)).codes(np.array([[0, 1], [-1, 4]], dtype=np.int16)).tolist()
    [[-1, 1]]
    """

    columns: tuple[int, ...]
    cells: tuple[int, ...]
    starts: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        insist(len(self.columns) == len(self.cells) == len(self.starts) > 0, "a view has bins for each of its columns")
        once = len(set(self.columns)) == len(self.columns)  # so what is seen is no larger than rows
        insist(once, "a view shows a column once")
        for cells, starts in zip(self.cells, self.starts, strict=True):
            # Compared, not subtracted: a difference of int64 may wrap around.
            rising = starts.ndim == 1 and len(starts) > 0 and starts[0] == 0 and (starts[1:] > starts[:-1]).all()
            insist(rising and starts[-1] < cells, "bins begin at the first cell, each beyond the last, all on the grid")

    def sizes(self, cells: tuple[int, ...]) -> tuple[int, ...]:
        """How many bins each column has, of a table whose columns have so many cells; refuses one of other columns."""
        known = dict(enumerate(cells))
        insist(self.cells == tuple(map(known.get, self.columns)), "a view must be one of the columns of the schema")
        return tuple(map(len, self.starts))

    @cached_property
    def _tables(self) -> list[np.ndarray[Any, np.dtype[np.int32]]]:
        """The bin of each cell, and last -1 for the code -1."""
        tables = []
        for cells, starts in zip(self.cells, self.starts, strict=True):
            tables.append(np.full(cells + 1, -1, dtype=np.int32))
            tables[-1][:cells] = np.repeat(np.arange(len(starts), dtype=np.int32), np.diff(starts, append=cells))
        return tables

    def codes(self, cells: CodeArray) -> CodeArray:
        """The bins of rows coded to cells, (columns, rows)."""
        found = np.empty((len(self.columns), cells.shape[1]), dtype=np.int32)
        if sum(self.cells) > MOST_TABLE_CELLS:
            for i, (column, starts) in enumerate(zip(self.columns, self.starts, strict=True)):
                found[i] = np.searchsorted(starts, cells[column], "right") - 1  # -1 is before the first start
            return found
        for i, (column, table) in enumerate(zip(self.columns, self._tables, strict=True)):
            np.take(table, cells[column], out=found[i], mode="wrap")  # -1 wraps to the last entry
        return found
