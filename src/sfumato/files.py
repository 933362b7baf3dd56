"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sfumato.errors import OutputError

COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files that belong to it."""

SQLITE_MAGIC = b"SQLite format 3\0"
SMALLEST_DATABASE = 512  # bytes


@contextmanager
def replacing(path: str | Path, private: bool = False) -> Iterator[Path]:
    """Give a temporary name beside `path`, and rename it to `path` when the block succeeds.

    Args:
        path: Where the file is to be; what is there is replaced.
        private: Whether it tells what rows hold: then nobody but its owner may read it.

    Yields:
        The temporary name.

    Raises:
        OutputError: It cannot be written there.
    """
    target = Path(path)
    check_writable(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuse a place that no file can be written to."""
    target = Path(path)
    if os.path.isdir(target):  # unlike Path's own, these say no to a name that no file can have
        raise OutputError(f"cannot write {target}: it is a folder")
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe: renaming would do away with it
        raise OutputError(f"cannot write {target}: it is no ordinary file; give another name")
    if not os.path.isdir(target.parent):
        raise OutputError(f"cannot write {target}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {target}: no permission to write into {target.parent}")
    _check_no_database(target)


def _check_no_database(target: Path) -> None:
    """A ledger is not to be replaced, by whatever name, nor is what SQLite keeps beside it."""
    real = real_path(target)
    for end in COMPANIONS:  # by name, before the file is looked at: the locks are on `-shm`
        if real.lower().endswith(end) and is_database(real[: -len(end)]):
            raise OutputError(f"cannot write {target}: it belongs to an SQLite database; give another name")
    if is_database(real):
        raise OutputError(f"cannot write {target}: an SQLite database is there, perhaps a ledger; give another name")


def real_path(path: str | Path) -> str:
    """Without symbolic links; as it stands where no file can have the name."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return os.path.abspath(path)


def is_database(path: str) -> bool:
    """Whether a file is an SQLite database, or what is left of one.

    To open and close a file drops all POSIX locks that the process holds on it, also those of other threads' open
    transactions. SQLite knows its own locks and keeps such a handle open, so it is asked first, in a way that
    locks nothing and makes no files. What it does not take for a database holds no locks of its.
    """
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return False
    if os.path.getsize(path) >= SMALLEST_DATABASE:
        try:
            with closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                connection.execute("PRAGMA schema_version")
            return True
        except sqlite3.DatabaseError as error:
            if not error.sqlite_errorname.startswith(("SQLITE_NOTADB", "SQLITE_CANTOPEN")):
                return True  # one that is damaged
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise OutputError(f"cannot write {path}: what is there cannot be read: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
