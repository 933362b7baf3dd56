"""From the cells of an Arrow batch to bin numbers: where `tables` meets `bins`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.bins import Bins, CategoryBins, FloatArray, IntArray, Layout
from sfumato.schema import Date
from sfumato.tables import Table, days, numbers, texts


@dataclass(frozen=True)
class Cells:
    """A column's cells as bin numbers, and as numbers where the column is ordered."""

    codes: IntArray
    values: FloatArray | None


def code_cells(cells: pa.Array, bins: Bins) -> Cells:
    """The bin of every cell, each found from that cell alone."""
    if isinstance(bins, CategoryBins):
        found = pc.index_in(texts(cells), value_set=_value_set(bins))
        return Cells(pc.fill_null(found, bins.missing).to_numpy(zero_copy_only=False), None)
    values = days(cells) if isinstance(bins.column, Date) else numbers(cells)
    if isinstance(bins.column, Date):
        values = np.floor(values)  # the time of day is not kept
    return Cells(bins.code(values), values)


def code_label(batch: pa.RecordBatch, layout: Layout) -> IntArray:
    """The class of every row, -1 for a bad label; all 0 where the schema has no label."""
    if layout.label is None or layout.label_bins is None:
        return np.zeros(batch.num_rows, dtype=np.int64)
    return code_cells(batch.column(layout.label), layout.label_bins).codes.astype(np.int64)


def read_batches(table: Table, layout: Layout, *extra: str | None) -> Iterator[pa.RecordBatch]:
    """The batches of a table with the features that a layout names, and whatever else is asked for."""
    return table.batches([*layout.names, *(name for name in extra if name is not None)])


def _value_set(bins: CategoryBins) -> pa.Array:
    return pa.array(bins.column.texts, type=pa.large_string())
