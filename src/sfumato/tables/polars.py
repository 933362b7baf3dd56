"""Polars data frames, and lazy frames, which are run anew at every pass and streamed where Polars can."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.tables.cells import unreadable
from sfumato.tables.table import BATCH_ROWS, UNKNOWN, Blocks, Table, running

if TYPE_CHECKING:
    import polars as pl


class PolarsTable(Table):
    """A Polars data frame or lazy frame, handed to Arrow a batch at a time."""

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        import polars as pl

        self._frame = frame if isinstance(frame, pl.DataFrame) else None
        self._lazy = frame.lazy()
        with running("the frame"):
            self._types = self._lazy.collect_schema()
        super().__init__("the frame", self._types.names())

    def _type(self, place: int) -> pa.DataType:
        import polars as pl

        kind = self._types.dtypes()[place]
        if kind == pl.Object:  # its bytes in Arrow are addresses
            raise unreadable(self._column(place), kind)
        try:
            return pl.Series("", [], kind).to_arrow().type
        except Exception:
            raise unreadable(self._column(place), kind) from None

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        with running(self.label):
            for frame in self._frames(sorted(set(names))):
                for block in frame.to_arrow().to_batches():
                    yield UNKNOWN, pa.RecordBatch.from_arrays([block.column(name) for name in names], names)

    def _frames(self, names: list[str]) -> Iterable[pl.DataFrame]:
        if self._frame is not None:
            return self._frame.select(names).iter_slices(BATCH_ROWS)
        query = self._lazy.select(names)
        if hasattr(query, "collect_batches"):
            return query.collect_batches(chunk_size=BATCH_ROWS)
        return query.collect().iter_slices(BATCH_ROWS)
