"""One way in for every kind of table."""

import os
import sys
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import ArgumentError, OutputError, TableError
from sfumato.files import is_database, real_path
from sfumato.tables import arrow, duckdb, excel, parquet
from sfumato.tables.array import ArrayTable
from sfumato.tables.arrow import ArrowTable, DatasetTable, IpcTable, StreamTable
from sfumato.tables.csv import COMPRESSIONS, DELIMITERS, CsvTable, Dialect
from sfumato.tables.excel import ExcelTable
from sfumato.tables.parquet import ParquetFolder, ParquetTable
from sfumato.tables.polars import PolarsTable
from sfumato.tables.table import Table

SQLITE_SUFFIXES = (".sqlite", ".sqlite3")
BINARY_SUFFIXES = (*parquet.SUFFIXES, *arrow.SUFFIXES, *excel.SUFFIXES, *SQLITE_SUFFIXES, *duckdb.SUFFIXES)
FILE_SUFFIXES = (*DELIMITERS, *(f"{text}{packed}" for text in DELIMITERS for packed in COMPRESSIONS), *BINARY_SUFFIXES)
"""How the names of files end that can be opened."""

OPTIONS = {  # of which kinds of tables
    "delimiter": "CSV files",
    "quote": "CSV files",
    "encoding": "CSV files",
    "quoted_breaks": "CSV files",
    "sheet": "Excel files",
    "table": "databases",
    "query": "SQL databases",
}


def open_table(
    source: Any,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    quoted_breaks: bool | None = None,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
) -> Table:
    """A table from a file, a folder of Parquet files, a database, a data frame, an array, or what speaks Arrow.

    A file's suffix says what it is: `.parquet` and `.pq`; `.csv`, `.tsv` and `.txt`, also compressed as
    `.csv.gz`, `.csv.zst` or `.csv.bz2`; `.arrow` and `.feather`; `.xlsx`; `.sqlite` and `.sqlite3`; `.duckdb`; `.db`,
    which may be either of the last two. A text with `://` is the URL of an SQL database, as SQLAlchemy reads it. In
    memory it may be a pandas or Polars frame, a Polars lazy frame, a DuckDB relation, a NumPy array (2-D, with columns
    x0, x1 and so on, or 1-D with named fields), or an Arrow table, batch, reader, stream or data set.

    Args:
        source: A path, a URL, or an object in memory, of one of these kinds.
        delimiter: What separates the fields of a CSV file; by default a comma, in `.tsv` a tab.
        quote: What quotes the fields of a CSV file; `"` by default, and "" for none.
        encoding: How a CSV file is written; UTF-8 by default.
        quoted_breaks: Whether a quoted field of a CSV file may hold line breaks. Then one stray quote in one row can
            change how others are read: see docs/sharp-edges.md.
        sheet: Which sheet of an Excel file to read, where there are several.
        table: Which table of a database, or of its file, to read, where there are several.
        query: A SELECT whose rows are the table, instead of `table`; for SQL databases and SQLite files.

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
    given = {"delimiter": delimiter, "quote": quote, "encoding": encoding, "quoted_breaks": quoted_breaks or None}
    given |= {"sheet": sheet, "table": table, "query": query}
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(source, str) and "://" in source:  # no path has these letters
        from sfumato.tables.sql import database_table

        return database_table(source, **_allowed(options, "table", "query"))
    if isinstance(source, str | PathLike):
        return _open_path(Path(source), options)
    _allowed(options)
    return source if isinstance(source, Table) else _open_object(source)


def _open_path(path: Path, options: dict[str, Any]) -> Table:
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    compression = COMPRESSIONS.get(suffix) if inner in DELIMITERS else None
    if compression is not None:
        suffix = inner
    if os.path.isdir(path):  # unlike Path's own, it says no to a name that no file can have
        _allowed(options)
        return ParquetFolder(path)
    if suffix in DELIMITERS:
        return _open_csv(path, DELIMITERS[suffix], compression, options)
    if suffix in excel.SUFFIXES:
        return ExcelTable(path, **_allowed(options, "sheet"))
    if suffix in SQLITE_SUFFIXES or (suffix in duckdb.SUFFIXES and _is_sqlite(path)):
        from sfumato.tables.sql import file_table

        return file_table(path, **_allowed(options, "table", "query"))
    if suffix in duckdb.SUFFIXES:
        return duckdb.file_table(path, **_allowed(options, "table"))
    _allowed(options)
    if suffix in parquet.SUFFIXES:
        return ParquetTable(path)
    if suffix in arrow.SUFFIXES:
        return IpcTable(path)
    compressed = f"{next(iter(DELIMITERS))}{next(iter(COMPRESSIONS))}"
    known = ", ".join([*DELIMITERS, compressed, *BINARY_SUFFIXES])
    raise TableError(f"cannot tell what kind of table {path} is; known suffixes are {known}")


def _is_sqlite(path: Path) -> bool:
    try:
        return is_database(real_path(path))
    except OutputError:  # it cannot be read: whoever tries says so
        return False


def _open_csv(path: Path, delimiter: str, compression: str | None, options: dict[str, Any]) -> CsvTable:
    given = _allowed(options, "delimiter", "quote", "encoding", "quoted_breaks")
    quoted_breaks = given.pop("quoted_breaks", False)
    dialect = Dialect.of(**{"delimiter": delimiter} | given)
    return CsvTable(path, dialect, compression, assumed="delimiter" not in given, quoted_breaks=quoted_breaks)


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
    if type(source).__module__.startswith(("pyspark.", "dask.")):
        raise TableError("a table in Spark or Dask can be fitted, where it is; all else needs one of this machine")
    raise TableError(
        f"cannot read a table from a {type(source).__name__}; give a path, a URL, a pandas or Polars frame, "
        "a DuckDB relation, a 2-D NumPy array, or an Arrow table, stream or data set"
    )


def _is_a(source: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a library: whoever has such an object has imported the library."""
    found = sys.modules.get(module)
    return found is not None and isinstance(source, getattr(found, name))


def _allowed(options: dict[str, Any], *allowed: str) -> dict[str, Any]:
    """The options, all of which a kind of table has to have."""
    for name in options:
        if name not in allowed:
            raise ArgumentError(f"{name} is for {OPTIONS[name]} only")
    return dict(options)
