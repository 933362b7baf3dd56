"""The journal: on disk, for one server at a time, and for nobody else's eyes."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from sfumato.errors import LedgerError, OutputError
from sfumato.serving import journal as module
from sfumato.serving.journal import Charge, Journal, Session

SESSION = Session("a" * 32, b"digest", {"mu": 0.1}, b"served", "e" * 32, b"key")
CHARGE = Charge("histograms", 1.5, 0.1 + 0.2)


def test_what_is_written_is_there_for_the_next_server(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    journal.charge(SESSION.id, "q1", b"d1", CHARGE)
    journal.charge(SESSION.id, "q2", b"d2", Charge("rows", None, None))
    journal.store(SESSION.id, "q1", b"reply")
    journal.shut()
    again = Journal(tmp_path / "j")
    assert again.session(SESSION.id) == SESSION
    assert again.session("b" * 32) is None
    assert again.charges(SESSION.id) == [CHARGE, Charge("rows", None, None)]
    assert again.answered(SESSION.id, "q1") == (b"d1", b"reply")
    assert again.answered(SESSION.id, "q2") == (b"d2", None)
    assert again.answered(SESSION.id, "q3") is None
    again.close(SESSION.id)
    found = again.session(SESSION.id)
    assert found is not None
    assert found.closed


def test_an_answer_is_stored_once_and_a_question_charged_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    journal.charge(SESSION.id, "q", b"d", CHARGE)
    journal.store(SESSION.id, "q", b"first")
    journal.store(SESSION.id, "q", b"second")
    assert journal.answered(SESSION.id, "q") == (b"d", b"first")
    with pytest.raises(sqlite3.IntegrityError):
        journal.charge(SESSION.id, "q", b"d", CHARGE)
    with pytest.raises(sqlite3.IntegrityError):
        journal.open(SESSION)
    journal.forget(SESSION.id)
    assert journal.session(SESSION.id) is None


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("j*")}
    assert modes == {"j": 0o600, "j-wal": 0o600}


def test_one_server_at_a_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    with pytest.raises(LedgerError, match="is held by another server"):
        Journal(tmp_path / "j")
    journal.shut()
    Journal(tmp_path / "j").shut()


def test_what_is_another_s_is_left_alone(tmp_path: Path) -> None:
    text, base = tmp_path / "text", tmp_path / "base"
    text.write_text("letters " * 200)
    with closing(sqlite3.connect(base)) as connection:
        connection.execute("CREATE TABLE letters (text TEXT)")
    before = base.read_bytes()
    for path in (text, base):
        with pytest.raises(LedgerError, match="is no journal"):
            Journal(path)
    assert base.read_bytes() == before
    with pytest.raises(OutputError, match="does not exist"):
        Journal(tmp_path / "nowhere" / "j")


def test_a_long_answer_is_kept_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite refuses more than 10^9 bytes in one place: such an answer was charged, and could not be sent again."""
    monkeypatch.setattr(module, "LONGEST_PIECE", 10)
    reply = bytes(range(95))
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    for question in ("long", "short", "exact"):
        journal.charge(SESSION.id, question, b"d", CHARGE)
    journal.store(SESSION.id, "long", reply)
    journal.store(SESSION.id, "short", b"short")
    journal.store(SESSION.id, "exact", reply[:20])
    journal.store(SESSION.id, "long", b"another")
    journal.store(SESSION.id, "short", reply)
    journal.shut()
    again = Journal(tmp_path / "j")
    kept = {question: again.answered(SESSION.id, question) for question in ("long", "short", "exact")}
    assert kept == {"long": (b"d", reply), "short": (b"d", b"short"), "exact": (b"d", reply[:20])}


def test_of_a_long_answer_all_is_kept_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_PIECE", 10)
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    journal.charge(SESSION.id, "q", b"d", CHARGE)
    journal._base.execute("INSERT INTO piece VALUES (?, 'q', 2, '')", (SESSION.id,))  # in the way of the third
    with pytest.raises(sqlite3.IntegrityError):
        journal.store(SESSION.id, "q", bytes(95))
    assert journal._base.execute("SELECT reply FROM question").fetchall() == [(None,)]
    assert len(journal._base.execute("SELECT * FROM piece").fetchall()) == 1


def test_the_journal_of_an_older_server_is_read_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open(SESSION)
    journal.shut()
    with closing(sqlite3.connect(tmp_path / "j")) as connection:
        connection.execute("DROP TABLE piece")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    again = Journal(tmp_path / "j")
    assert again.session(SESSION.id) == SESSION
    assert again.answered(SESSION.id, "q") is None
    assert again._base.execute("PRAGMA user_version").fetchone() == (module.JOURNAL_FORMAT,)
