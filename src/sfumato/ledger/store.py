"""Where a ledger is kept: three tables in an SQLite file or a PostgreSQL database.

A transaction that returns has reached the disk. Writers of one data set wait for each other: SQLite has one writer at a
time (BEGIN IMMEDIATE), PostgreSQL locks the data set's row (SELECT ... FOR UPDATE). Other databases are refused:
not all of them lock when they are asked to. What is not a ledger of this format is never written to.

A file has one name. SQLite keeps its log (`-wal`) and its locks (`-shm`) beside the name under which the file was
opened, so under two names two programs would spend the same rest: hard links and a mount of the file alone are refused,
symbolic links are followed. Triggers keep hands off: what the library never does to a ledger, the database refuses.
"""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from sfumato.database_url import read_url
from sfumato.errors import ArgumentError, LedgerError, MissingExtraError, OutputError
from sfumato.files import COMPANIONS, SMALLEST_DATABASE, real_path
from sfumato.ledger.account import STEPS, State
from sfumato.text import one_line

LEDGER_FORMAT = 1
BUSY_SECONDS = 60
MOUNTS = Path("/proc/self/mountinfo")
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
        """The place that a path or a URL names."""
        if "://" not in text:
            return cls(text, Path(text).absolute())
        url = _url(text)
        shown = sa.make_url(text).render_as_string(hide_password=True)
        if url.get_backend_name() != "sqlite":
            return cls(shown, None, url.render_as_string(hide_password=False))
        if url.database in (None, "", ":memory:"):
            raise ArgumentError("a ledger in memory would be forgotten: give a path or a database URL")
        return cls(shown, Path(str(url.database)).absolute())

    def real(self) -> Place:
        """The same place without symbolic links, as they are now."""
        return self if self.path is None else replace(self, path=Path(real_path(self.path)))

    def keeps(self, path: Path) -> bool:
        """Whether a path, by any name, is the ledger's file or one that SQLite keeps beside it."""
        own = self.real().path
        if own is None:
            return False
        with suppress(OSError, ValueError):
            if os.path.samefile(own, path):
                return True
        return real_path(path) in {f"{own}{end}" for end in ("", *COMPANIONS)}


def _url(text: str) -> sa.URL:
    url = read_url(text, "the ledger's URL cannot be read; it looks like postgresql://user@host/database")
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
def writing(place: Place, seconds: float | None = None) -> Iterator[sa.Connection]:
    """A change to a ledger that is there; on disk when the block is left. Waits so long for others."""
    with _transaction(place, "BEGIN IMMEDIATE", seconds=seconds) as connection:
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
            connection.execute(sa.insert(formats).values(format=LEDGER_FORMAT))
            for statement in _guards(connection.dialect.name):
                connection.exec_driver_sql(statement)
        _check_format(connection, place)
        yield connection
    real = place.real().path
    if real is not None:
        _settle(real)


@contextmanager
def _transaction(
    place: Place, begin: str, create: bool = False, seconds: float | None = None
) -> Iterator[sa.Connection]:
    place = place.real()
    if place.path is not None:
        _check_file(place.path, place.shown, create)
    engine = _engine(place, create, BUSY_SECONDS if seconds is None else seconds)
    with _told(place), engine.connect().execution_options(begin=begin) as connection:
        with connection.begin():
            yield connection
        if place.path is not None and begin != "BEGIN":
            _fold(connection)


def _fold(connection: sa.Connection) -> None:
    """Write the log back into the file, so that a copy of it alone is rarely old. What others read has to wait."""
    with suppress(sqlite3.Error), closing(connection.connection.cursor()) as cursor:
        cursor.execute("PRAGMA busy_timeout = 0")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


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
    found = path.stat()
    if 0 < found.st_size < SMALLEST_DATABASE:
        raise LedgerError(f"{shown} is not a ledger, or is damaged")
    if found.st_nlink > 1:
        raise LedgerError(f"{shown} has {found.st_nlink} names (hard links), which would be counted apart: keep one")
    if _is_mount(path):
        raise LedgerError(f"{shown} is a mount point, which would be counted apart: mount its folder, not the file")


def _is_mount(path: Path) -> bool:
    """Whether the file alone was mounted there; a bind mount has the device of its folder, so Linux is asked."""
    try:
        told = MOUNTS.read_bytes()
    except OSError:
        return os.path.ismount(path)
    return os.fsencode(path) in mount_points(told)


def mount_points(told: bytes) -> set[bytes]:
    r"""The fifth field of each line; blanks and backslashes inside it are octal numbers.

    >>> mount_points(rb"36 35 98:0 /a /srv/the\040ledgers rw - ext4 /dev/sda rw")
    {b'/srv/the ledgers'}
    """
    fields = [line.split(b" ") for line in told.split(b"\n")]
    octal = re.compile(rb"\\([0-3][0-7]{2})")
    return {octal.sub(lambda found: bytes([int(found[1], 8)]), each[4]) for each in fields if len(each) > 4}


@cache
def _engine(place: Place, create: bool, seconds: float) -> sa.Engine:
    """No connection outlives its transaction, so that nothing is shared with a forked process."""
    if place.path is None:
        return _server(place.url, seconds)
    uri = f"{place.path.as_uri()}?mode={'rwc' if create else 'rw'}"
    engine = sa.create_engine("sqlite://", creator=lambda: _connect(uri, seconds), poolclass=sa.NullPool)

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options()["begin"])

    return engine


def _connect(uri: str, seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=seconds, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: through the disk's own cache
    return connection


def _server(url: str, seconds: float) -> sa.Engine:
    # Under a stricter level than this one, what others wrote while we waited for the lock would stay unseen.
    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="READ COMMITTED")
    except (ModuleNotFoundError, NoSuchModuleError):
        raise MissingExtraError("a ledger in PostgreSQL needs an extra: pip install sfumato[sql]") from None

    @sa.event.listens_for(engine, "begin")
    def start(connection: sa.Connection) -> None:
        wait = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
        connection.exec_driver_sql(wait)
        connection.exec_driver_sql(f"SELECT set_config('lock_timeout', '{seconds * 1000:.0f}ms', true)")

    return engine


def _guards(dialect: str) -> Iterator[str]:
    """Triggers that refuse all but a new data set, a new reserved entry, and an entry's next step."""
    lite = dialect == "sqlite"
    names = [column.name for column in entries.c]
    equal = "IS" if lite else "IS NOT DISTINCT FROM"
    kept = " AND ".join(f'NEW."{name}" {equal} OLD."{name}"' for name in names if name != "state")
    steps = " OR ".join(f"(OLD.state = '{old}' AND NEW.state = '{new}')" for old, new in STEPS)
    # INSERT OR REPLACE would delete without asking the trigger for deletions.
    again = f"OR EXISTS (SELECT 1 FROM {entries.name} WHERE id = NEW.id OR number = NEW.number)" if lite else ""
    rules = [
        (entries, "INSERT", f"NEW.state <> '{State.RESERVED}' {again}", "an entry begins as reserved, once"),
        (entries, "UPDATE", f"NOT ({kept} AND ({steps}))", "of an entry only the state moves on, never back"),
        (entries, "DELETE", "", "an entry is never deleted"),
        (datasets, "UPDATE", "", "a data set and its cap are final"),
        (datasets, "DELETE", "", "a data set is never deleted"),
    ]
    if lite:
        there = f"EXISTS (SELECT 1 FROM {datasets.name} WHERE name = NEW.name OR rowid = NEW.rowid)"
        rules.append((datasets, "INSERT", there, "a data set and its cap are final"))
    else:
        rules += [(each, "TRUNCATE", "", "a ledger is never emptied") for each in (entries, datasets)]
        yield (
            "CREATE OR REPLACE FUNCTION sfumato_refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION USING MESSAGE = TG_ARGV[0]; END $$"
        )
    for table, event, condition, reason in rules:
        each = "STATEMENT" if event == "TRUNCATE" else "ROW"
        when = f"FOR EACH {each} " + (condition and f"WHEN ({condition})")
        refuse = f"EXECUTE FUNCTION sfumato_refuse('{reason}')"
        if lite:
            refuse = f"BEGIN SELECT RAISE(ABORT, '{reason}'); END"
        yield f"CREATE TRIGGER {table.name}_{event.lower()} BEFORE {event} ON {table.name} {when} {refuse}"


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
    if len(found) == 1 and isinstance(found[0], int) and found[0] > LEDGER_FORMAT:
        raise LedgerError(f"{place.shown} has format {found[0]}; this library knows up to {LEDGER_FORMAT}: upgrade it")
    if list(found) != [LEDGER_FORMAT]:
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
    late = getattr(error.orig, "sqlstate", "") == "55P03"  # PostgreSQL: a lock was not to be had
    if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
        return f"{place} is not a ledger, or is damaged"
    if late or kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{place} was busy for {BUSY_SECONDS} seconds: another program holds it; try again"
    if kind.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"{place} cannot be written; look at the permissions of the file and its folder"
    return f"{place} cannot be used: {one_line(str(error.orig))}"
