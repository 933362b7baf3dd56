"""Synthetic rows on disk: CSV or Parquet, streamed, never half-written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.errors import OutputError
from sfumato.files import replacing


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
        with temporary.open("wb") as file, writers[suffix](file, first.schema) as writer:
            for batch in chain([first], stream):
                writer.write_batch(batch)
                advance(batch.num_rows)
