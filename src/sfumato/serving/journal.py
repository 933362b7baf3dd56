"""What a server has promised, on disk: sessions, charges, and answers, each before the next step begins.

A charge is here before a row is read, an answer before it is sent. What a session has left is counted from its charges
alone, so that a server may die anywhere and the next one goes on where it was. A charge without an answer stays a
charge: nothing is drawn anew for it.

One server at a time holds the file, for as long as it runs. Nobody but its owner may read it: it has noisy answers and,
where units of privacy are columns, the keys by which their rows were chosen.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, OutputError
from sfumato.files import check_writable

APPLICATION = 0x5F0A71
JOURNAL_FORMAT = 2
OLDER_FORMATS = (1,)  # that had no pieces
LONGEST_PIECE = 1 << 29  # SQLite keeps nothing longer than 10^9 bytes in one place
NO_JOURNAL = "is no journal of a server, or is damaged, or of another version; give another name"
TABLES_OF_A_JOURNAL = """
CREATE TABLE IF NOT EXISTS session (
    id TEXT PRIMARY KEY, digest BLOB NOT NULL, opening TEXT NOT NULL, served BLOB NOT NULL, entry TEXT NOT NULL,
    key BLOB NOT NULL, closed INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS question (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL REFERENCES session (id), id TEXT NOT NULL,
    digest BLOB NOT NULL, name TEXT NOT NULL, sensitivity REAL, mu_squared REAL, reply BLOB, UNIQUE (session, id)
);
CREATE TABLE IF NOT EXISTS piece (
    session TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (session, id, number)
);
"""


@dataclass(frozen=True)
class Session:
    """What an analyst opened: one release, and the ledger's entry for it."""

    id: str
    digest: bytes  # of the request that opened it
    opening: dict[str, Any]
    served: bytes  # a digest of schema, adjacency and data set: a session is about one of them
    entry: str
    key: bytes  # by which rows of a unit are chosen
    closed: bool = False


@dataclass(frozen=True)
class Charge:
    """What was charged for one question; slices have no sensitivity and mu of their own."""

    name: str
    sensitivity: float | None
    mu_squared: float | None


class Journal:
    """Sessions, charges and answers of one server.

    Args:
        path: of the file; made where there is none.

    Raises:
        LedgerError: Another server holds it, or it is no journal.
        OutputError: It cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._made_private()
        self._base = sqlite3.connect(self.path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._claim()
        except sqlite3.DatabaseError as error:
            self._base.close()
            if error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise LedgerError(f"{self.path} is held by another server: one at a time keeps answers there") from None
            raise LedgerError(f"{self.path} {NO_JOURNAL}") from None
        except LedgerError:
            self._base.close()
            raise

    def session(self, identity: str) -> Session | None:
        """A session, if there is one of that id."""
        with self._lock:
            row = self._base.execute(
                "SELECT id, digest, opening, served, entry, key, closed FROM session WHERE id = ?", (identity,)
            ).fetchone()
        if row is None:
            return None
        found, digest, opening, served, entry, key, closed = row
        return Session(found, digest, json.loads(opening), served, entry, key, bool(closed))

    def open(self, session: Session) -> None:
        """Write a session down."""
        kept = session.id, session.digest, json.dumps(session.opening), session.served, session.entry, session.key
        self._do("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, 0)", kept)

    def forget(self, session: str) -> None:
        """Take a session back that the ledger refused."""
        self._do("DELETE FROM session WHERE id = ?", (session,))

    def close(self, session: str) -> None:
        """Write down that nothing more is asked in it."""
        self._do("UPDATE session SET closed = 1 WHERE id = ?", (session,))

    def charges(self, session: str) -> list[Charge]:
        """All that was charged in a session, in order."""
        with self._lock:
            rows = self._base.execute(
                "SELECT name, sensitivity, mu_squared FROM question WHERE session = ? ORDER BY number", (session,)
            ).fetchall()
        return [Charge(*row) for row in rows]

    def charge(self, session: str, identity: str, digest: bytes, charge: Charge) -> None:
        """Write a charge down: on disk when this returns."""
        self._do(
            "INSERT INTO question (session, id, digest, name, sensitivity, mu_squared) VALUES (?, ?, ?, ?, ?, ?)",
            (session, identity, digest, charge.name, charge.sensitivity, charge.mu_squared),
        )

    def answered(self, session: str, identity: str) -> tuple[bytes, bytes | None] | None:
        """The digest of the question that was charged under an id, and the reply to it; None where there is none."""
        with self._lock:
            row = self._base.execute(
                "SELECT digest, reply FROM question WHERE session = ? AND id = ?", (session, identity)
            ).fetchone()
            more = self._base.execute(
                "SELECT content FROM piece WHERE session = ? AND id = ? ORDER BY number", (session, identity)
            ).fetchall()
        return (
            None if row is None else (row[0], row[1] if not more else b"".join([row[1], *(each for (each,) in more)]))
        )

    def store(self, session: str, identity: str, reply: bytes) -> None:
        """Keep the reply to a question that was charged: once, all of it, and on disk when this returns."""
        first, *more = [reply[start : start + LONGEST_PIECE] for start in range(0, len(reply), LONGEST_PIECE)]
        with self._lock, self._base:  # a server that dies in between has stored none of it
            self._base.execute("BEGIN")
            new = self._base.execute(
                "UPDATE question SET reply = ? WHERE session = ? AND id = ? AND reply IS NULL",
                (first, session, identity),
            ).rowcount
            for number, content in enumerate(more if new else ()):
                self._base.execute("INSERT INTO piece VALUES (?, ?, ?, ?)", (session, identity, number, content))
        self._settle()

    def shut(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._base.close()

    def _do(self, statement: str, values: tuple[Any, ...]) -> None:
        """One change, on disk when this returns."""
        with self._lock:
            self._base.execute(statement, values)
        self._settle()

    def _settle(self) -> None:
        """Bring what was written into the file itself, should somebody move it alone."""
        with self._lock:
            self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _made_private(self) -> None:
        if os.path.lexists(self.path):
            if (
                os.path.isfile(self.path) and os.stat(self.path).st_nlink > 1
            ):  # what SQLite keeps beside it has one name
                raise LedgerError(f"{self.path} has a second name, under which charges could be missed; remove one")
            return
        check_writable(self.path)
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror}") from error

    def _claim(self) -> None:
        """Hold the file until the process ends, make the tables of a new one, and refuse another's."""
        run = self._base.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        known = run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0]
        new = known == (0, 0) and not run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        readable = [(APPLICATION, version) for version in (*OLDER_FORMATS, JOURNAL_FORMAT)]
        if not new and known not in readable:  # and another's file is left as it is
            raise LedgerError(f"{self.path} {NO_JOURNAL}")
        for setting in ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON"):
            run(f"PRAGMA {setting}")
        run("BEGIN EXCLUSIVE")
        for statement in TABLES_OF_A_JOURNAL.split(";"):
            run(statement)
        run(f"PRAGMA application_id = {APPLICATION}")
        run(f"PRAGMA user_version = {JOURNAL_FORMAT}")
        run("COMMIT")
        self.path.chmod(0o600)
        _sync_folder(self.path.absolute().parent)


def _sync_folder(folder: Path) -> None:
    """Make the file's name itself survive a power cut."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
