"""The private table as batches of bin numbers: the first thing that happens to a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from sfumato.bins import Layout
from sfumato.coding import code_cells, code_label, read_batches
from sfumato.private.queries import Batch
from sfumato.tables import Table

BATCH_CELLS = 1 << 22  # a wide table gets shorter batches


class Source:
    """A table seen through a schema's bins; it can be read any number of times."""

    def __init__(self, table: Table, layout: Layout) -> None:
        self._table = table
        self._layout = layout
        largest = max(layout.sizes)
        self._dtype = np.int16 if largest < np.iinfo(np.int16).max else np.int32

    def jobs(self) -> Iterator[Callable[[], Batch]]:
        """One piece of work per batch: reading is in order, coding may run anywhere."""
        rows = max(1, BATCH_CELLS // len(self._layout.names))
        for batch in read_batches(self._table, self._layout):
            for start in range(0, batch.num_rows, rows):
                yield partial(self._code, batch.slice(start, rows))

    def _code(self, batch: pa.RecordBatch) -> Batch:
        labels = code_label(batch, self._layout)
        codes = np.empty((len(self._layout.names), batch.num_rows), dtype=self._dtype)
        for c, (name, bins) in enumerate(zip(self._layout.names, self._layout.bins, strict=True)):
            codes[c] = code_cells(batch.column(name), bins).codes
        counted = labels >= 0  # a row with a bad label counts nowhere
        if counted.all():
            return Batch(codes, labels)
        return Batch(codes[:, counted], labels[counted])
