"""One way in for every kind of table."""

import sys
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import ArgumentError, TableError
from sfumato.tables.csv import QUOTE, CsvTable
from sfumato.tables.table import ArrowTable, ParquetTable, Table

PARQUET_SUFFIXES = (".parquet", ".pq")
DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}


def open_table(source: Any, *, delimiter: str | None = None) -> Table:
    """A table from a Parquet or CSV file, a pandas data frame, or anything that speaks Arrow.

    A file's suffix says what it is. `delimiter` separates the fields of a CSV file; if it is not given,
    `.tsv` has tabs and the others have commas.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | PathLike):
        return _open_file(Path(source), delimiter)
    pandas = sys.modules.get("pandas")  # whoever has a data frame has imported pandas
    if pandas is not None and isinstance(source, pandas.DataFrame):
        from sfumato.tables.frame import FrameTable

        return FrameTable(source)
    if isinstance(source, pa.Table):
        return ArrowTable(source)
    if isinstance(source, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([source]))
    if hasattr(source, "__arrow_c_stream__"):
        return ArrowTable(pa.table(source))
    raise TableError(
        f"cannot read a table from a {type(source).__name__}; "
        "give a path, a pandas data frame, or an Arrow table or stream"
    )


def _open_file(path: Path, delimiter: str | None) -> Table:
    suffix = path.suffix.lower()
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(path)
    if suffix not in DELIMITERS:
        known = ", ".join([*DELIMITERS, *PARQUET_SUFFIXES])
        raise TableError(f"cannot tell what kind of table {path} is; known suffixes are {known}")
    delimiter = DELIMITERS[suffix] if delimiter is None else delimiter
    if len(delimiter) != 1 or delimiter in f"{QUOTE}\r\n":
        raise ArgumentError("the delimiter must be one character, neither a quote nor a line break")
    return CsvTable(path, delimiter)
