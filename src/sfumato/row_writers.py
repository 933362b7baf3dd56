"""How rows are written, format by format; types are kept where a format has them."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from sfumato.errors import MissingExtraError, OutputError
from sfumato.tables.cells import TEXT, is_textual
from sfumato.tables.objects import object_texts
from sfumato.text import WHITESPACE, one_line

EXCEL_ROWS = 2**20  # the header is one
EXCEL_COLUMNS = 2**14
EXCEL_LETTERS = 2**15 - 1  # in a cell
EXCEL_INTEGER = 2**53
EXCEL_YEAR = 1901  # whose dates all programs agree on

Write = Callable[[pa.RecordBatch], None]


def stream_writer(file: Any, kind: str, compression: str | None, schema: pa.Schema) -> AbstractContextManager[Write]:
    """A writer of a format that goes to a pipe as well as to a file."""
    return STREAMS[kind](file, compression, schema)


def file_writer(path: Path, kind: str, schema: pa.Schema, table: str) -> AbstractContextManager[Write]:
    """A writer of a format that needs a file, which may be there and empty; `table` is its name in a database."""
    return FILES[kind](path, schema, table)


def _delimited(delimiter: str) -> Callable[..., AbstractContextManager[Write]]:
    @contextmanager
    def opened(file: Any, compression: str | None, schema: pa.Schema) -> Iterator[Write]:
        options = pa.csv.WriteOptions(delimiter=delimiter)
        with ExitStack() as stack:
            sink: Any = file
            if compression is not None:
                sink = stack.enter_context(pa.CompressedOutputStream(file, compression))
            empty = _without_durations(schema.empty_table())
            writer = stack.enter_context(pa.csv.CSVWriter(sink, empty.schema, write_options=options))
            yield lambda batch: writer.write_table(_without_durations(pa.Table.from_batches([batch])))

    return opened


def _without_durations(table: pa.Table) -> pa.Table:
    """The rows with durations as texts, for formats that have none."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            table = table.set_column(place, pa.field(field.name, TEXT), [_spelled(table.column(place))])
    return table


def _spelled(column: pa.Array) -> pa.Array:
    """The text that each cell reads as, for formats that have no type for it."""
    return pc.utf8_trim(object_texts(column.to_pylist()), characters=WHITESPACE)


@contextmanager
def _parquet(path: Path, schema: pa.Schema, table: str) -> Iterator[Write]:
    with pa.parquet.ParquetWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _arrow(path: Path, schema: pa.Schema, table: str) -> Iterator[Write]:
    with pa.ipc.new_file(str(path), schema) as writer:
        yield writer.write_batch


@contextmanager
def _sqlite(path: Path, schema: pa.Schema, table: str) -> Iterator[Write]:
    columns = ", ".join(f"{_quoted(field.name)} {_sqlite_type(field.type)}" for field in schema)
    insert = f"INSERT INTO {_quoted(table)} VALUES ({', '.join('?' * len(schema))})"
    with _saying("SQLite", sqlite3.Error, OverflowError), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")  # a file that is not finished is thrown away
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"CREATE TABLE {_quoted(table)} ({columns})")

        def write(batch: pa.RecordBatch) -> None:
            connection.executemany(insert, zip(*map(_sqlite_cells, batch.columns), strict=True))

        yield write
        connection.commit()


@contextmanager
def _saying(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a refusal of a database into one line."""
    try:
        yield
    except errors as error:
        raise OutputError(f"cannot write these rows as {what}: {one_line(str(error))}") from None


def _sqlite_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "BOOLEAN"  # SQLite keeps 0 and 1
    if pa.types.is_integer(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    return "TEXT"


def _sqlite_cells(column: pa.Array) -> list[Any]:
    """What SQLite has a type for as it is, all else as the text that it reads as."""
    if _sqlite_type(column.type) != "TEXT" or is_textual(column.type):
        return column.to_pylist()
    return _spelled(column).to_pylist()


@contextmanager
def _duckdb(path: Path, schema: pa.Schema, table: str) -> Iterator[Write]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("writing DuckDB needs an extra: pip install sfumato[sql]") from None
    path.unlink(missing_ok=True)  # an empty file is no database
    with _saying("DuckDB", duckdb.Error), closing(duckdb.connect(str(path))) as connection:
        connection.from_arrow(_without_durations(schema.empty_table())).create(_quoted(table))

        def write(batch: pa.RecordBatch) -> None:
            spelled = _without_durations(pa.Table.from_batches([batch]))  # an interval of DuckDB may have months
            connection.from_arrow(spelled).insert_into(_quoted(table))

        yield write


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _excel(path: Path, schema: pa.Schema, table: str) -> Iterator[Write]:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise MissingExtraError("writing Excel needs an extra: pip install sfumato[excel]") from None
    if len(schema) > EXCEL_COLUMNS:
        raise OutputError(f"Excel takes at most {EXCEL_COLUMNS:,} columns; write Parquet or CSV")
    book = Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    written = 0

    def cell(value: Any) -> Any:
        value = _excel_value(value)
        if not isinstance(value, str):
            return value
        if len(value) > EXCEL_LETTERS:
            raise OutputError(f"a cell of Excel holds at most {EXCEL_LETTERS:,} letters; write Parquet or CSV")
        made = WriteOnlyCell(sheet, value)
        made.data_type = "s"  # else a text that begins with = would be a formula
        return made

    def add(row: Any) -> None:
        nonlocal written
        written += 1
        if written > EXCEL_ROWS:
            raise OutputError(f"Excel takes at most {EXCEL_ROWS - 1:,} rows; write Parquet or CSV")
        sheet.append([cell(value) for value in row])

    def write(batch: pa.RecordBatch) -> None:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            add(row)

    try:
        add(schema.names)
        yield write
    except IllegalCharacterError:
        raise OutputError("Excel takes no control characters in a text; write Parquet or CSV") from None
    finally:
        sheet.close()
    book.save(path)


def _excel_value(value: Any) -> Any:
    """What Excel can hold of a cell: its numbers are floats, its dates have no time zone and begin in 1900."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) > EXCEL_INTEGER:
        return str(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat(" ")  # as text: without its offset it would be another time
    return value.isoformat() if isinstance(value, date) and value.year < EXCEL_YEAR else value


STREAMS: dict[str, Callable[..., AbstractContextManager[Write]]] = {
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "txt": _delimited(","),
}
FILES: dict[str, Callable[..., AbstractContextManager[Write]]] = {
    "parquet": _parquet,
    "pq": _parquet,
    "arrow": _arrow,
    "feather": _arrow,
    "xlsx": _excel,
    "sqlite": _sqlite,
    "sqlite3": _sqlite,
    "duckdb": _duckdb,
    "db": _duckdb,
}
