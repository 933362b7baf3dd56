"""Where a ledger is kept: three tables in an SQLite file or a PostgreSQL database.

A transaction that returns has reached the disk. Writers of one data set wait for each other: SQLite has one writer at a
time (BEGIN IMMEDIATE), PostgreSQL locks the data set's row (SELECT ... FOR UPDATE). Other databases are refused:
not all of them lock when they are asked to. What is not a ledger of this format is never written to.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError as BadUrl
from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from sfumato.errors import ArgumentError, LedgerError, MissingExtraError, OutputError
from sfumato.text import one_line

FORMAT = 1
BUSY_SECONDS = 60
SMALLEST_DATABASE = 512  # bytes
CREATION_LOCK = 0x5F0A70  # any number that others are unlikely to use

_metadata = sa.MetaData()
formats = sa.Table("sfumato_ledger", _metadata, sa.Column("format", sa.Integer, primary_key=True))
datasets = sa.Table(
    "sfumato_dataset",
    _metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("opened", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("adjacency", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
)
entries = sa.Table(
    "sfumato_entry",
    _metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),  # clocks go back; this does not
    sa.Column("id", sa.Text, unique=True, nullable=False),
    sa.Column("dataset", sa.Text, sa.ForeignKey(datasets.c.name), nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("mechanism", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("adjacency", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("mu", sa.Double, nullable=False),
    sa.Column("charged_mu", sa.Double, nullable=False),
    sa.Column("slack", sa.Double, nullable=False),
    sa.Column("collision", sa.Double, nullable=False),
    sa.Column("descriptor", sa.Text, nullable=False),
)


@dataclass(frozen=True)
class Place:
    """Where a ledger is: a file, or a database's URL."""

    shown: str  # in messages: without a password
    path: Path | None
    url: str = ""

    @classmethod
    def of(cls, text: str) -> Place:
        if "://" not in text:
            return cls(text, Path(text).absolute())
        url = _url(text)
        shown = sa.make_url(text).render_as_string(hide_password=True)
        if url.get_backend_name() != "sqlite":
            return cls(shown, None, url.render_as_string(hide_password=False))
        if url.database in (None, "", ":memory:"):
            raise ArgumentError("a ledger in memory would be forgotten: give a path or a database URL")
        return cls(shown, Path(str(url.database)).absolute())


def _url(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
    except (BadUrl, ValueError):
        raise ArgumentError("the ledger's URL cannot be read; it looks like postgresql://user@host/database") from None
    if url.drivername in ("postgresql", "postgres"):  # psycopg is what the extra installs
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise ArgumentError(f"a ledger is kept in SQLite or PostgreSQL, not in {url.get_backend_name()}")
    return url


@contextmanager
def reading(place: Place) -> Iterator[sa.Connection]:
    """A look at a ledger that is there."""
    with _transaction(place, "BEGIN") as connection:
        _check_format(connection, place)
        yield connection


@contextmanager
def writing(place: Place) -> Iterator[sa.Connection]:
    """A change to a ledger that is there; on disk when the block is left."""
    with _transaction(place, "BEGIN IMMEDIATE") as connection:
        _check_format(connection, place)
        yield connection


@contextmanager
def creating(place: Place) -> Iterator[sa.Connection]:
    """A change to a ledger that is made where there is none."""
    with _transaction(place, "BEGIN IMMEDIATE", create=True) as connection:
        if place.path is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")
        found = sa.inspect(connection).get_table_names()
        # A database server is shared with other tables; a file is not.
        if formats.name not in found and (place.path is None or not found):
            _metadata.create_all(connection)
            connection.execute(sa.insert(formats).values(format=FORMAT))
        _check_format(connection, place)
        yield connection
    if place.path is not None:
        _settle(place.path)


@contextmanager
def _transaction(place: Place, begin: str, create: bool = False) -> Iterator[sa.Connection]:
    if place.path is not None:
        _check_file(place.path, place.shown, create)
    with (
        _told(place),
        _engine(place, create).connect().execution_options(begin=begin) as connection,
        connection.begin(),
    ):
        yield connection


def _check_file(path: Path, shown: str, create: bool) -> None:
    """Refuse what SQLite would make a file of, or write one over: it takes a short text for an empty database."""
    if os.path.isdir(path):
        raise LedgerError(f"{shown} is a folder")
    if not os.path.exists(path) and create:
        if not os.path.isdir(path.parent):
            raise OutputError(f"cannot write {shown}: its folder does not exist")
        return
    if not os.path.exists(path):
        command = f"sfumato ledger {shlex.quote(shown)} --open NAME --epsilon E --delta D"
        raise LedgerError(f"{shown} does not exist; to make it: {command}")
    # Only its size is looked at: to open and close the file here would drop the locks of other threads' connections.
    if 0 < path.stat().st_size < SMALLEST_DATABASE:
        raise LedgerError(f"{shown} is not a ledger, or is damaged")


@cache
def _engine(place: Place, create: bool) -> sa.Engine:
    """No connection outlives its transaction, so that nothing is shared with a forked process."""
    if place.path is None:
        return _server(place.url)
    uri = f"{place.path.as_uri()}?mode={'rwc' if create else 'rw'}"
    engine = sa.create_engine("sqlite://", creator=lambda: _connect(uri), poolclass=sa.NullPool)

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options()["begin"])

    return engine


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
    return connection


def _server(url: str) -> sa.Engine:
    # Under a stricter level than this one, what others wrote while we waited for the lock would stay unseen.
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="READ COMMITTED")
    except (ModuleNotFoundError, NoSuchModuleError):
        raise MissingExtraError("a ledger in PostgreSQL needs an extra: pip install sfumato[postgres]") from None

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        wait = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        connection.exec_driver_sql(wait)

    return engine


def _settle(path: Path) -> None:
    """Let readers and a writer work side by side, and make the file's name itself survive a power cut."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection, suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")  # where someone is at work, the next `open` tries again
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _check_format(connection: sa.Connection, place: Place) -> None:
    if not sa.inspect(connection).has_table(formats.name):
        raise LedgerError(f"{place.shown} is not a ledger")
    found = connection.execute(sa.select(formats.c.format)).scalars().all()
    if len(found) == 1 and isinstance(found[0], int) and found[0] > FORMAT:
        raise LedgerError(f"{place.shown} has format {found[0]}; this library knows up to {FORMAT}: upgrade it")
    if list(found) != [FORMAT]:
        raise LedgerError(f"{place.shown} is damaged: its format is not one number")


@contextmanager
def _told(place: Place) -> Iterator[None]:
    """What a database says, in one line."""
    try:
        yield
    except DBAPIError as error:
        raise LedgerError(_reason(error, place.shown)) from error


def _reason(error: DBAPIError, place: str) -> str:
    kind = str(getattr(error.orig, "sqlite_errorname", ""))
    if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
        return f"{place} is not a ledger, or is damaged"
    if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{place} was busy for {BUSY_SECONDS} seconds: another program holds it; try again"
    if kind.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"{place} cannot be written; look at the permissions of the file and its folder"
    return f"{place} cannot be used: {one_line(str(error.orig))}"
