"""Tables of SQL databases, and of SQLite files, read through a server-side cursor.

A pass is one SELECT, which sees one state of the database; the next pass may see another, so such a table counts as
one that can be read once. Cells are Python objects, each read alone. Whatever the database raises while rows are read
becomes one line without its own message, which may hold cells. Before that, the statement is tried without rows:
what is then said is about the statement, and is told.
"""

from __future__ import annotations

import copy
import sqlite3
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from sfumato.database_url import read_url
from sfumato.errors import ArgumentError, MissingExtraError, TableError
from sfumato.tables.cells import TEXT, bytes_text
from sfumato.tables.objects import object_texts
from sfumato.tables.one_table import of_postgres
from sfumato.tables.table import UNKNOWN, Blocks, Table, listed, running
from sfumato.text import one_line

FETCHED_ROWS = 2**13  # at a time: Python objects take much more room than Arrow's arrays
EXTRAS = {"postgresql": "sql"}  # that bring a database's driver
HELD_SETTINGS = (
    "jit = off",  # compiling takes longer than what is compiled here
    "work_mem = '256MB'",  # the counts of all groups at once
)
IN_MEMORY = (None, "", ":memory:")


class SqlTable(Table):
    """What a SELECT of some rows gives, run anew at every pass."""

    rereadable = False  # rows may come and go between two passes

    def __init__(
        self, label: str, engine: sa.Engine, rows: str, booleans: Collection[str] = (), stored: bool = False
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._booleans = booleans  # columns declared so, in which SQLite keeps 0 and 1
        self._stored = stored  # a table of the database, not a view or a query
        self._holds = False
        self._held: sa.Connection | None = None
        with _connected(label, engine) as connection:
            try:
                found = connection.exec_driver_sql(f"SELECT * FROM {rows} WHERE 1 = 0")
            except DBAPIError as error:
                said = one_line(str(error.orig).split("\n")[0])
                raise TableError(f"{label} refuses the query: {said}") from None
            names = list(found.keys())
            self.types: list[Any] = [column[1] for column in found.cursor.description]
        super().__init__(label, names)

    @property
    def is_postgres(self) -> bool:
        """Whether it is in PostgreSQL, through the driver whose readings are known."""
        return (self._engine.dialect.name, self._engine.dialect.driver) == ("postgresql", "psycopg")

    @cached_property
    def one_table(self) -> bool:
        """Whether its rows are those of one stored table, each by itself."""
        if self._stored or not self.is_postgres:
            return self._stored
        with self.connected() as connection, running(self.label):
            return of_postgres(connection, self._rows)

    @property
    def source(self) -> str:
        """The rows, as a statement with parameters names them."""
        return self._rows.replace("%", "%%")

    def quoted(self, name: str) -> str:
        """A column, likewise."""
        return _quoted(self._engine, name).replace("%", "%%")

    @cached_property
    def in_utf8(self) -> bool:
        """Whether all texts of the database are UTF-8."""
        with self.connected() as connection, running(self.label):
            return bool(connection.exec_driver_sql("SHOW server_encoding").scalar() == "UTF8")

    def held(self) -> SqlTable:
        """The same rows of PostgreSQL, all in the state of the first pass, for as long as the copy is there."""
        copied = copy.copy(self)
        copied.rereadable = copied._holds = True
        return copied

    def connected(self) -> AbstractContextManager[sa.Connection]:
        """A connection to the database; the same one each time where a state is held."""
        if not self._holds:
            return _connected(self.label, self._engine)
        if self._held is None:
            self._held = _connect(self.label, self._engine.execution_options(isolation_level="REPEATABLE READ"))
            weakref.finalize(self, self._held.close)
            with running(self.label):
                for setting in HELD_SETTINGS:
                    self._held.exec_driver_sql(f"SET {setting}")
        return nullcontext(self._held)

    def _type(self, place: int) -> pa.DataType:
        return TEXT

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        statement = f"SELECT {', '.join(_quoted(self._engine, name) for name in names)} FROM {self._rows}"
        with self.connected() as connection, running(self.label):
            streaming = {"stream_results": True, "max_row_buffer": FETCHED_ROWS}
            found = connection.exec_driver_sql(statement, execution_options=streaming)
            for rows in found.partitions(FETCHED_ROWS):
                columns = [
                    object_texts(map(_truth, cells) if name in self._booleans else cells)
                    for name, cells in zip(names, zip(*rows, strict=True), strict=True)
                ]
                yield UNKNOWN, pa.RecordBatch.from_arrays(columns, names)


def database_table(text: str, table: str | None = None, query: str | None = None) -> SqlTable:
    """A table, or the rows of a query, of the database at a URL."""
    url = _url(text)
    if url.get_backend_name() == "sqlite":
        if url.database in IN_MEMORY:
            raise ArgumentError("a database in memory is empty for everyone else; give the path of a file")
        return file_table(Path(str(url.database)), table, query)
    return _table(_label(url), _engine(url), table, query)


def file_table(path: Path, table: str | None = None, query: str | None = None) -> SqlTable:
    """A table, or the rows of a query, of an SQLite file, which is opened for reading only."""
    if not path.is_file():
        raise TableError(f"{path} does not exist")

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.text_factory = bytes_text  # else a text that is no UTF-8 would end the reading of all
        return connection

    return _table(str(path), sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool), table, query)


def _table(label: str, engine: sa.Engine, table: str | None, query: str | None) -> SqlTable:
    if query is not None and table is not None:
        raise ArgumentError("table and query are two ways to say which rows; give one of them")
    if query is not None:
        return SqlTable(label, engine, f"({query.strip().rstrip(';')}\n) sfumato_rows")  # it may end in a comment
    found = _found(label, engine, table)
    rows = ".".join(_quoted(engine, name) for name in found)
    return SqlTable(label, engine, rows, _booleans(label, engine, found), _is_stored(label, engine, found))


def _quoted(engine: sa.Engine, name: str) -> str:
    """A name in a statement without parameters, where a percent sign is nothing special."""
    preparer = engine.dialect.identifier_preparer
    quoted = preparer.quote_identifier(name)
    return quoted.replace("%%", "%") if preparer._double_percents else quoted


def _found(label: str, engine: sa.Engine, table: str | None) -> list[str]:
    """A table's name, behind that of its schema where one is named; the only one where none is."""
    with _connected(label, engine) as connection, running(label):
        catalogue = sa.inspect(connection)
        names = catalogue.get_table_names()
        if table is None and len(names) == 1:
            return names
        shown = listed(names) or "none"
        if table is None:
            raise TableError(
                f"{label} does not hold exactly one table; choose one with --table, in Python table=: {shown}"
            )
        if table in (*names, *catalogue.get_view_names()):
            return [table]
        schema, dot, name = table.partition(".")
        if dot and (catalogue.has_table(name, schema=schema) or name in catalogue.get_view_names(schema)):
            return [schema, name]
    raise TableError(f"{label} has no table {table!r}; it has: {shown}")


def _is_stored(label: str, engine: sa.Engine, found: list[str]) -> bool:
    """Whether it is a table of the database, and no view."""
    with _connected(label, engine) as connection, running(label):
        return found[-1] in sa.inspect(connection).get_table_names(schema=found[0] if len(found) > 1 else None)


def _booleans(label: str, engine: sa.Engine, found: list[str]) -> set[str]:
    """The columns of a table that are declared to hold truth values."""
    with _connected(label, engine) as connection, running(label):
        columns = sa.inspect(connection).get_columns(found[-1], schema=found[0] if len(found) > 1 else None)
    return {column["name"] for column in columns if isinstance(column["type"], sa.Boolean)}


def _truth(cell: Any) -> Any:
    return bool(cell) if type(cell) is int and cell in (0, 1) else cell


def _url(text: str) -> sa.URL:
    return read_url(text, "the database's URL cannot be read; it looks like postgresql://user@host/name")


def _label(url: sa.URL) -> str:
    """What errors call a database: a password may be in the URL, also behind its question mark."""
    return f"{url.get_backend_name()}://{url.host or ''}/{url.database or ''}"


def _engine(url: sa.URL) -> sa.Engine:
    kind = url.get_backend_name()
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
    except NoSuchModuleError:
        raise ArgumentError(
            f"{kind}:// is no database that can be read; give a path, or a URL such as postgresql://user@host/name"
        ) from None
    except ImportError:
        wanted = f"an extra: pip install sfumato[{EXTRAS[kind]}]" if kind in EXTRAS else "its driver for Python"
        raise MissingExtraError(f"reading a {kind} database needs {wanted}") from None
    if kind == "postgresql":
        sa.event.listen(engine, "connect", _read_carefully)
        return engine.execution_options(postgresql_readonly=True)
    return engine


@contextmanager
def _connected(label: str, engine: sa.Engine) -> Iterator[sa.Connection]:
    """A connection to a database, for a while."""
    with _connect(label, engine) as connection:
        yield connection


def _connect(label: str, engine: sa.Engine) -> sa.Connection:
    """A connection to a database, on which a percent sign in a statement without parameters is nothing special."""
    try:
        return engine.connect().execution_options(no_parameters=True)
    except (SQLAlchemyError, OSError, TypeError):  # what a driver says may repeat the password
        raise TableError(f"cannot connect to {label}; check the server, the user and the password") from None


def _read_carefully(connection: Any, _: object) -> None:
    """Let psycopg read cells that Python has no object for as null, such as the date `infinity`, instead of failing."""
    from psycopg.types import datetime, string

    loaders = {
        "date": datetime.DateLoader,
        "time": datetime.TimeLoader,
        "timetz": datetime.TimetzLoader,
        "timestamp": datetime.TimestampLoader,
        "timestamptz": datetime.TimestamptzLoader,
        "interval": datetime.IntervalLoader,
    }
    for name, loader in loaders.items():
        connection.adapters.register_loader(name, type(loader.__name__, (loader,), {"load": _or_null(loader.load)}))
    for name in ("json", "jsonb", "inet", "cidr"):
        connection.adapters.register_loader(name, string.TextLoader)


def _or_null(load: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def read(self: Any, data: Any) -> Any:
        try:
            return load(self, data)
        except Exception:
            return None

    return read
