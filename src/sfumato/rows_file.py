"""Synthetic rows on disk: CSV or Parquet, streamed, never half-written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from sfumato.errors import OutputError
from sfumato.files import replacing
from sfumato.tables import texts


def write_rows(
    batches: Iterable[pa.RecordBatch], path: str | Path, advance: Callable[[int], None] = lambda rows: None
) -> None:
    """Write batches to a .csv or .parquet file; `advance` hears of every batch that is written."""
    writers = {
        ".csv": pa.csv.CSVWriter,
        ".parquet": pa.parquet.ParquetWriter,
        ".pq": pa.parquet.ParquetWriter,
    }
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise OutputError(f"cannot write {path}: give it a name that ends in .csv or .parquet")
    with replacing(path) as temporary:
        stream = iter(batches)
        first = next(stream)
        shaped = spelled_durations if suffix == ".csv" else lambda batch: batch
        with temporary.open("wb") as file, writers[suffix](file, shaped(first).schema) as writer:
            for batch in chain([first], stream):
                writer.write_batch(shaped(batch))
                advance(batch.num_rows)


def spelled_durations(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Durations as texts such as 36:30:00, for formats that have none.

    >>> spelled_durations(pa.record_batch({"stay": pa.array([131_400, None], pa.duration("s"))}))["stay"].to_pylist()
    ['36:30:00', None]
    """
    for place, column in enumerate(batch.columns):
        if pa.types.is_duration(column.type):
            written = pc.if_else(column.is_valid(), texts(column), None)
            batch = batch.set_column(place, batch.schema.names[place], written)
    return batch
