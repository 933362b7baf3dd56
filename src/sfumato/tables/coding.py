"""From the cells of an Arrow batch to bin numbers: where `tables` meets `schema.layout`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.schema.layout import NOWHERE, Bins, CategoryBins, FloatArray, IntArray, Layout, OrderedBins
from sfumato.tables.cells import by_distinct, lookup, numbers
from sfumato.tables.clock import clock_values
from sfumato.tables.formats import formatted_numbers
from sfumato.tables.table import Table


@dataclass(frozen=True)
class Cells:
    """A column's cells as bin numbers, and as numbers where the column is ordered."""

    codes: IntArray
    values: FloatArray | None


def cells_of(batch: pa.RecordBatch, name: str, layout: Layout) -> pa.Array:
    """The cells that a feature is read from: of a difference what both ends of the same row give, each clamped."""
    apart = layout.differences.get(name)
    if apart is None:
        return batch.column(name)
    ends = [
        [np.clip(values_of(batch.column(end), bins), *bins.bounds) for end, bins in group]
        for group in (apart.uppers, apart.lowers)
    ]
    with np.errstate(over="ignore"):  # a warning would speak of a row
        return pa.array(np.fmin.reduce(ends[0]) - np.fmax.reduce(ends[1]))


def code_cells(cells: pa.Array, bins: Bins) -> Cells:
    """The bin of every cell, each found from that cell alone, and its value."""
    if isinstance(bins, CategoryBins):
        return Cells(find_codes(cells, bins), None)
    values = values_of(cells, bins)
    return Cells(bins.code(values), values)


def find_codes(cells: pa.Array, bins: Bins) -> IntArray:
    """The bin of every cell; where cells repeat, each distinct one is looked at once."""
    if isinstance(bins, CategoryBins):
        places = lookup(cells, pa.array(bins.column.texts, type=pa.large_string()), NOWHERE)
        return np.append(bins.column.codes, bins.missing)[places]
    return by_distinct(cells, lambda distinct: bins.code(values_of(distinct, bins)))


def find_cells(cells: pa.Array, bins: Bins) -> IntArray:
    """The place of every cell on the column's grid, of which bins are runs."""
    if isinstance(bins, CategoryBins):
        return find_codes(cells, bins)
    return by_distinct(cells, lambda distinct: bins.cell(values_of(distinct, bins)))


def values_of(cells: pa.Array, bins: OrderedBins) -> FloatArray:
    """The value of every cell of an ordered column; NaN where it has none, or reads as one that means missing."""
    values = _read(cells, bins)
    if not bins.column.sentinels:
        return values
    absent = _read(pa.array(bins.column.sentinel_texts, type=pa.large_string()), bins)
    return np.where(np.isin(values, absent), np.nan, values)


def _read(cells: pa.Array, bins: OrderedBins) -> FloatArray:
    """The value of every cell, as its kind of column is read."""
    column = bins.column
    if column.type != "number":
        return clock_values(cells, column)
    return numbers(cells) if column.format is None else formatted_numbers(cells, column.format)


def code_label(batch: pa.RecordBatch, layout: Layout) -> IntArray:
    """The class of every row, -1 for a bad label; all 0 where the schema has no label."""
    if layout.label is None or layout.label_bins is None:
        return np.zeros(batch.num_rows, dtype=np.int64)
    return find_codes(batch.column(layout.label), layout.label_bins)


def read_batches(table: Table, layout: Layout, *extra: str | None) -> Iterator[pa.RecordBatch]:
    """The batches of a table with the features that a layout names, and whatever else is asked for."""
    return table.batches([*layout.reads, *(name for name in extra if name is not None)])
