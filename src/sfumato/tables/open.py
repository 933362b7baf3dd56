"""One way in for every kind of table."""

import os
import sys
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import ArgumentError, TableError
from sfumato.tables import arrow, duckdb, parquet
from sfumato.tables.array import ArrayTable
from sfumato.tables.arrow import ArrowTable, DatasetTable, IpcTable, StreamTable
from sfumato.tables.csv import COMPRESSIONS, DELIMITERS, CsvTable, Dialect
from sfumato.tables.parquet import ParquetFolder, ParquetTable
from sfumato.tables.polars import PolarsTable
from sfumato.tables.table import Table


def open_table(
    source: Any,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    table: str | None = None,
) -> Table:
    """A table from a file, a folder of Parquet files, a data frame, an array, or anything that speaks Arrow.

    A file's suffix says what it is: `.parquet` and `.pq`; `.csv`, `.tsv` and `.txt`, also compressed as
    `.csv.gz`, `.csv.zst` or `.csv.bz2`; `.arrow` and `.feather`; `.duckdb` and `.db`. In memory it may be a
    pandas or Polars frame, a Polars lazy frame, a DuckDB relation, a NumPy array (2-D, with columns x0, x1
    and so on, or 1-D with named fields), or an Arrow table, batch, reader, stream or data set.

    Args:
        source: A path, or an object in memory, of one of these kinds.
        delimiter: What separates the fields of a CSV file; by default a comma, in `.tsv` a tab.
        quote: What quotes the fields of a CSV file; `"` by default, and "" for none.
        encoding: How a CSV file is written; UTF-8 by default.
        table: Which table of a DuckDB file to read, where there are several.

    Returns:
        The table, of which only the names of columns have been read.

    Raises:
        TableError: There is no such file, or it is no table.
        ArgumentError: An option is none, or is for another kind of file.
        MissingExtraError: The kind of file needs an extra that is not installed.

    Example:
        >>> import pyarrow as pa
        >>> open_table(pa.table({"age": [39, 50]})).names
        ('age',)
    """
    given = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "table": table}
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(source, str | PathLike):
        return _open_path(Path(source), options)
    _allow(options)
    return source if isinstance(source, Table) else _open_object(source)


def _open_path(path: Path, options: dict[str, str]) -> Table:
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    compression = COMPRESSIONS.get(suffix) if inner in DELIMITERS else None
    if compression is not None:
        suffix = inner
    if os.path.isdir(path):  # unlike Path's own, it says no to a name that no file can have
        _allow(options)
        return ParquetFolder(path)
    if suffix in DELIMITERS:
        _allow(options, "delimiter", "quote", "encoding")
        return CsvTable(path, Dialect.of(**{"delimiter": DELIMITERS[suffix]} | options), compression)
    if suffix in duckdb.SUFFIXES:
        _allow(options, "table")
        return duckdb.file_table(path, **options)
    _allow(options)
    if suffix in parquet.SUFFIXES:
        return ParquetTable(path)
    if suffix in arrow.SUFFIXES:
        return IpcTable(path)
    compressed = f"{next(iter(DELIMITERS))}{next(iter(COMPRESSIONS))}"
    known = [*DELIMITERS, compressed, *parquet.SUFFIXES, *arrow.SUFFIXES, *duckdb.SUFFIXES]
    raise TableError(f"cannot tell what kind of table {path} is; known suffixes are {', '.join(known)}")


def _open_object(source: Any) -> Table:
    if _is_a(source, "pandas", "DataFrame"):
        from sfumato.tables.frame import FrameTable

        return FrameTable(source)
    if _is_a(source, "polars", "DataFrame") or _is_a(source, "polars", "LazyFrame"):
        return PolarsTable(source)
    if _is_a(source, "duckdb", "DuckDBPyRelation"):
        return duckdb.relation_table(source)
    if _is_a(source, "pyarrow.dataset", "Dataset"):
        return DatasetTable(source)
    if isinstance(source, np.ndarray):
        return ArrayTable(source)
    if isinstance(source, pa.Table):
        return ArrowTable(source)
    if isinstance(source, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([source]))
    if hasattr(source, "__arrow_c_stream__"):
        return StreamTable(source)
    raise TableError(
        f"cannot read a table from a {type(source).__name__}; give a path, a pandas or Polars frame, "
        "a DuckDB relation, a 2-D NumPy array, or an Arrow table, stream or data set"
    )


def _is_a(source: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a library: whoever has such an object has imported the library."""
    found = sys.modules.get(module)
    return found is not None and isinstance(source, getattr(found, name))


def _allow(options: dict[str, str], *allowed: str) -> None:
    for name in options:
        if name not in allowed:
            raise ArgumentError(f"{name} is for {'DuckDB' if name == 'table' else 'CSV'} files only")
