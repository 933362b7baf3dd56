"""A table that tells how far it is read, to who listens: a large one takes minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sfumato.progress import Reading, tell
from sfumato.tables.table import Blocks, Progress, Table


class WatchedTable(Table):
    """Another table, read as it is.

    What is told is the same for every table, each percent once and in order: of its length it says no more than the
    clock does.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table.label, table.names)
        self._table = table
        self.rereadable = table.rereadable

    def batches(self, columns: Sequence[str], progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """Read it, and tell of every percent."""
        told = 0

        def reached(fraction: float) -> None:
            nonlocal told
            if progress is not None:
                progress(fraction)
            for percent in range(told + 1, int(100 * min(fraction, 1.0)) + 1):
                told = percent
                tell(Reading(percent))

        return self._table.batches(columns, reached)

    def place(self, name: str) -> int:
        """Where a column is."""
        return self._table.place(name)

    def _type(self, place: int) -> pa.DataType:
        return self._table._type(place)

    def _blocks(self, places: list[int]) -> Blocks:
        return self._table._blocks(places)
