"""Where the books are kept: files and servers, what they are guarded by, and what is refused as no ledger."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.ledger.helpers import POSTGRES, ask, change, fit, states, unguard

import sfumato as sf
from sfumato.errors import ArgumentError, BudgetError, LedgerError, MissingExtraError, OutputError
from sfumato.files import check_writable
from sfumato.ledger import store as ledger_store
from sfumato.ledger.ledger import Ledger
from sfumato.private import curator as curator_module


@pytest.mark.parametrize("meddle", [False, True])
def test_looking_at_a_ledger_does_not_drop_the_lock_of_another_thread(meddle: bool, path: Path) -> None:
    # Closing any handle of a file drops all locks that the process holds on it; SQLite takes care of its own handles.
    Ledger(path).open("patients", 1, 1e-6)
    change(path, "PRAGMA journal_mode = DELETE")  # where the lock is on the file itself
    with ledger_store.writing(ledger_store.Place.of(str(path))):
        assert len(Ledger(path).accounts()) == 1
        if meddle:
            path.open("rb").close()
        assert another_program_gets_the_lock(path) == meddle


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_asking_whether_a_file_is_a_database_does_not_drop_a_lock(mode: str, path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    change(path, f"PRAGMA journal_mode = {mode}")
    with ledger_store.writing(ledger_store.Place.of(str(path))):
        for name in (path, f"{path}-wal", f"{path}-shm", f"{path}-journal"):
            with pytest.raises(OutputError, match="SQLite database"):
                check_writable(name)
        assert not another_program_gets_the_lock(path)
        assert not another_program_is_alone(path)
    assert another_program_gets_the_lock(path)


def another_program_is_alone(path: Path) -> bool:
    """Whether nobody is seen to have the file open, so that its log could be taken away."""
    code = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0); c.execute('PRAGMA locking_mode = EXCLUSIVE')"
    )
    code += "; c.execute('BEGIN EXCLUSIVE')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def another_program_gets_the_lock(path: Path) -> bool:
    code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def test_nothing_but_open_makes_a_file(path: Path) -> None:
    ledger = Ledger(path)
    for attempt in (ledger.accounts, lambda: fit(path), lambda: ledger.give_back("a" * 32)):
        with pytest.raises(LedgerError, match="does not exist; to make it: sfumato ledger"):
            attempt()
    assert not path.exists()
    with pytest.raises(OutputError, match="does not exist"):
        Ledger(path.parent / "nowhere" / "l.db").open("patients", 1, 1e-6)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(path.parent).open("patients", 1, 1e-6)


def test_the_file_is_kept_with_care(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with ledger_store.writing(ledger_store.Place.of(str(path))) as connected:
        assert connected.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connected.exec_driver_sql("PRAGMA busy_timeout").scalar() == 60_000
        with closing(sqlite3.connect(path, timeout=0)) as other, pytest.raises(sqlite3.OperationalError, match="lock"):
            other.execute("BEGIN IMMEDIATE")


def test_a_file_with_two_names_is_refused(path: Path, tmp_path: Path) -> None:
    # Each name would have a log and locks of its own.
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    other = tmp_path / "other.db"
    os.link(path, other)
    for place in (path, other):
        attempts = [Ledger(place).accounts, lambda place=place: fit(place), lambda: ledger.give_back("a" * 32)]
        for attempt in [*attempts, lambda place=place: Ledger(place).open("others", 1, 1e-6)]:
            with pytest.raises(
                LedgerError, match=r"has 2 names \(hard links\), which would be counted apart: keep one"
            ):
                attempt()
    other.unlink()
    fit(path)


def test_a_second_name_that_appears_during_a_fit_is_seen(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    drawn = mock.Mock(side_effect=AssertionError("drawn"))
    with mock.patch.object(curator_module, "noisy", drawn), pytest.raises(LedgerError, match="hard links"):
        fit(ledger, progress=lambda event: isinstance(event, sf.Spending) and os.link(path, tmp_path / "other.db"))
    (tmp_path / "other.db").unlink()
    assert states(ledger) == ["reserved"]


def test_symbolic_links_lead_to_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "link.db").symlink_to("b/ledger.db")
    names = [tmp_path / "link.db", tmp_path / "a" / "ledger.db", tmp_path / "b" / ".." / "b" / "ledger.db"]
    Ledger(names[0]).open("patients", 1, 1e-6)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b", "link.db"]
    assert len({ledger_store.Place.of(str(name)).real().path for name in names}) == 1
    fit(names[1])
    for name in names:
        assert states(Ledger(name)) == ["released"]
        with pytest.raises(BudgetError):
            fit(name)


MOUNTINFO = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
36 22 98:0 /mnt1 /srv/with\040blank\011tab\134slash/l.db rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 22 0:5 / /proc rw shared:2 - proc proc rw
too short
"""


def test_mount_points_are_read_as_linux_writes_them() -> None:
    assert ledger_store.mount_points(MOUNTINFO) == {b"/", b"/srv/with blank\ttab\\slash/l.db", b"/proc"}


def test_a_file_that_is_a_mount_point_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a ledger.db"
    Ledger(path).open("patients", 1, 1e-6)
    told = tmp_path / "mountinfo"
    monkeypatch.setattr(ledger_store, "MOUNTS", told)
    escaped = os.fsencode(path).replace(b" ", rb"\040")
    told.write_bytes(MOUNTINFO + b"40 22 254:0 /x " + escaped + b" rw - ext4 /dev/vda rw\n")
    (tmp_path / "link.db").symlink_to(path)
    for place in (path, tmp_path / "link.db"):
        for attempt in (Ledger(place).accounts, lambda place=place: fit(place)):
            with pytest.raises(LedgerError, match="mount its folder, not the file"):
                attempt()
    told.write_bytes(MOUNTINFO + b"40 22 254:0 /x " + os.fsencode(tmp_path) + b" rw - ext4 /dev/vda rw\n")
    fit(path)
    told.unlink()  # where there is no such list
    assert len(Ledger(path).accounts()) == 1
    monkeypatch.setattr(os.path, "ismount", lambda place: str(place) == str(path))
    with pytest.raises(LedgerError, match="mount its folder, not the file"):
        Ledger(path).accounts()


def test_a_bind_mount_of_the_file_is_refused(path: Path, tmp_path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    mounted = tmp_path / "mounted.db"
    mounted.touch()
    if shutil.which("mount") is None or subprocess.run(["mount", "--bind", path, mounted], check=False).returncode:
        pytest.skip("no permission to mount")
    try:
        with pytest.raises(LedgerError, match=r"is a mount point, .* mount its folder, not the file"):
            fit(mounted)
        fit(path)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_the_log_is_folded_back(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as other:  # someone who has the file open, so that no close folds the log back
        other.execute("SELECT count(*) FROM sfumato_entry").fetchall()
        fit(path, 0.5)
        assert Path(f"{path}-wal").stat().st_size == 0
        shutil.copy(path, tmp_path / "copy.db")
        assert states(Ledger(tmp_path / "copy.db")) == ["released"]
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM sfumato_entry").fetchall()
        fit(path, 0.5)  # what the other one reads cannot be folded over
    assert states(ledger) == ["released", "released"]


def test_a_log_that_cannot_be_folded_back_fails_nothing() -> None:
    connection = mock.Mock()
    execute = connection.connection.cursor.return_value.execute
    execute.side_effect = sqlite3.OperationalError("disk full")
    ledger_store._fold(connection)
    execute.assert_called_once_with("PRAGMA busy_timeout = 0")  # nobody is waited for


BY_HAND = [
    "UPDATE sfumato_entry SET state = 'returned'",
    "UPDATE sfumato_entry SET state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'drawing' WHERE state = 'released'",
    "UPDATE sfumato_entry SET state = 'drawing', mu = 1e-9 WHERE state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'released' WHERE state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'reserved' WHERE state = 'returned'",
    *(f"UPDATE sfumato_entry SET {name} = {name} WHERE state = 'released'" for name in ("mu", "state")),
    *(f"UPDATE sfumato_entry SET {name} = 0.001" for name in ("mu", "charged_mu", "slack", "collision", "epsilon")),
    *(f"UPDATE sfumato_entry SET {name} = 'x'" for name in ("id", "time", "mechanism", "adjacency", "descriptor")),
    "UPDATE sfumato_entry SET number = number + 100",
    "UPDATE sfumato_entry SET dataset = 'others'",
    "DELETE FROM sfumato_entry",
    "UPDATE sfumato_dataset SET epsilon = 9",
    "UPDATE sfumato_dataset SET delta = 0.1",
    "UPDATE sfumato_dataset SET name = 'gone' WHERE name = 'others'",
    "UPDATE sfumato_dataset SET name = name",
    "DELETE FROM sfumato_dataset WHERE name = 'others'",
]


COLUMNS = (
    "id, dataset, time, mechanism, state, adjacency, unit, epsilon, delta, mu, charged_mu, slack, collision, descriptor"
)


LITTLE = COLUMNS.replace("charged_mu", "charged_mu / 9")


BY_HAND_IN_A_FILE = [
    "UPDATE OR IGNORE sfumato_entry SET state = 'returned'",
    "UPDATE OR REPLACE sfumato_entry SET state = 'returned'",
    f"INSERT OR REPLACE INTO sfumato_entry ({COLUMNS}) SELECT {LITTLE} FROM sfumato_entry",
    f"INSERT OR REPLACE INTO sfumato_entry (number, {COLUMNS}) "
    f"SELECT number, {LITTLE.replace('id,', 'hex(randomblob(16)),')} FROM sfumato_entry WHERE state = 'reserved'",
    "INSERT OR REPLACE INTO sfumato_dataset SELECT name, opened, 9, delta, adjacency, unit FROM sfumato_dataset",
    "INSERT OR REPLACE INTO sfumato_dataset (rowid, name, opened, epsilon, delta, adjacency, unit) "
    "SELECT rowid, 'new', opened, 9, delta, adjacency, unit FROM sfumato_dataset",
]


def in_all_states(place: str) -> Ledger:
    ledger = Ledger(place)
    ledger.open("patients", 5, 1e-6)
    ledger.open("others", 1, 1e-6)
    fit(ledger, 0.1)
    for drawn, returned in ((True, False), (False, True), (False, False)):
        left = ledger.reserve("patients", ask(0.1)).__enter__()
        if drawn:
            left.draw()
        if returned:
            ledger.give_back(left.id)
    assert states(ledger) == ["released", "drawing", "returned", "reserved"]
    return ledger


def test_nobody_changes_the_books_by_hand(place: str) -> None:
    ledger = in_all_states(place)
    before = ledger.accounts()
    own = ledger_store.Place.of(place)
    for statement in [*BY_HAND, *(BY_HAND_IN_A_FILE if own.path else ["TRUNCATE sfumato_entry, sfumato_dataset"])]:
        with pytest.raises(LedgerError, match=r"never|final|once"), ledger_store.writing(own) as connection:
            connection.exec_driver_sql(statement)
        assert ledger.accounts() == before, statement


def test_the_grants_for_fitters_let_them_fit_and_no_more() -> None:
    if not POSTGRES:
        pytest.skip("SFUMATO_TEST_POSTGRES names no PostgreSQL server")
    import sqlalchemy as sa

    name = f"fitter_{uuid.uuid4().hex}"
    place = f"{POSTGRES}?options=-csearch_path%3D{name}"
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
    grants = page.split("```sql\n")[1].split("```")[0].replace("fitter", name)
    server = sa.create_engine(ledger_store.Place.of(POSTGRES).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN")
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {name} TO {name}")
    try:
        ledger = in_all_states(place)
        with ledger_store.writing(ledger_store.Place.of(place)) as connection:
            connection.exec_driver_sql(grants)
        theirs = sa.make_url(place).set(username=name).render_as_string(hide_password=False)
        fit(theirs, 0.1)
        before = ledger.accounts()
        for statement in [*BY_HAND, "TRUNCATE sfumato_entry", "DROP TRIGGER sfumato_entry_update ON sfumato_entry"]:
            with pytest.raises(LedgerError), ledger_store.writing(ledger_store.Place.of(theirs)) as connection:
                connection.exec_driver_sql(statement)
            assert ledger.accounts() == before, statement
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
            connection.exec_driver_sql(f"DROP ROLE {name}")


def test_a_ledger_without_triggers_works(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    unguard(path)
    fit(path)
    Ledger(path).open("others", 1, 1e-6)
    with pytest.raises(BudgetError):
        fit(path)


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE letters (text TEXT)")


def newer(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    change(path, "UPDATE sfumato_ledger SET format = 2")


def cut(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    content = path.read_bytes()
    path.write_bytes(content[:5000] + b"\xff" * 7000)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda path: path.write_bytes(b"no database " * 500), "is not a ledger, or is damaged"),
        (lambda path: path.write_text("a"), "is not a ledger, or is damaged"),
        (lambda path: path.write_text("letters " * 64), "is not a ledger, or is damaged"),
        (cut, "damaged"),
        (foreign, "is not a ledger"),
        (newer, "has format 2; this library knows up to 1: upgrade it"),
    ],
    ids=["text", "letter", "letters", "cut", "foreign", "newer"],
)
def test_what_is_no_ledger_is_refused_and_left_alone(make: Callable[[Path], Any], match: str, path: Path) -> None:
    make(path)
    before = path.read_bytes()
    ledger = Ledger(path)
    attempts = [ledger.accounts, lambda: fit(path), lambda: ledger.give_back("a" * 32)]
    for attempt in [*attempts, lambda: ledger.open("others", 1, 1e-6)]:
        with pytest.raises(LedgerError, match=match) as refusal:
            attempt()
        assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before


def test_an_empty_file_is_what_a_crash_while_opening_leaves(path: Path) -> None:
    path.touch()
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(path).accounts()
    Ledger(path).open("patients", 1, 1e-6)
    fit(path)


def test_a_file_that_cannot_be_written(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Ledger(path).open("patients", 1, 1e-6)
    path.chmod(stat.S_IRUSR)
    with pytest.raises(LedgerError, match="cannot be written"):
        fit(path)


@pytest.mark.slow
def test_a_ledger_that_stays_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "BUSY_SECONDS", 0.1)
    Ledger(path).open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="seconds: another program holds it"):
            fit(path)
        assert len(Ledger(path).accounts()) == 1  # looking is still possible


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("mysql://user:secret@host/database", "not in mysql"),
        ("://", "cannot be read"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_a_url_that_is_no_place_for_a_ledger(url: str, match: str) -> None:
    with pytest.raises(ArgumentError, match=match) as refusal:
        Ledger(url)
    assert "secret" not in str(refusal.value)


def test_a_server_that_is_not_there_is_told_in_one_line_without_the_password() -> None:
    ledger = Ledger("postgresql://user:secret@127.0.0.1:1/database")
    assert repr(ledger) == "Ledger('postgresql://user:***@127.0.0.1:1/database')"
    with pytest.raises(LedgerError, match="cannot be used") as refusal:
        ledger.accounts()
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_driver_that_is_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install sfumato\[sql\]"):
        Ledger("postgresql://user@127.0.0.1:2/database").accounts()
