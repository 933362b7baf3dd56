"""The rules of a server: check, charge, read, keep, send; and what a crash between two of them leaves."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serving.servers import DELTA, SCHEMA, Place, document, histograms, opening, people, question

import sfumato as sf
from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError, LedgerError, SchemaError, TableError
from sfumato.ledger.ledger import Ledger
from sfumato.mechanisms.asker import encode
from sfumato.mechanisms.questions import row_question, score_image
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Query
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import Whole
from sfumato.schema.layout import QUERY_ROW, Layout
from sfumato.serving import desk, journal
from sfumato.serving.desk import BOOKS_CLOSED, CHARGED_FOR_NOTHING, MOST_QUESTIONS, Alone, Desk, Served
from sfumato.serving.frames import LONGEST_HEAD, Frame
from sfumato.serving.journal import Charge, Journal
from sfumato.tables import open_table

ASK = histograms()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def session(place: Place) -> str:
    said = opening()
    place.ask(said)
    return str(said["session"])


def test_what_is_public(place: Place) -> None:
    told = document(place.ask({"verb": "facts"}))
    assert sf.Schema.of(told["schema"]) == SCHEMA
    assert (told["adjacency"], told["secure"]) == ("add-remove", True)


def test_a_session_is_reserved_then_charged_then_released(place: Place) -> None:
    said = opening(who="M. Curie")
    reply = place.ask(said)
    assert reply.head["remaining"] == pytest.approx(said["mu"] ** 2)
    assert place.states == ["reserved"]
    answer = place.ask(question(said["session"]), ASK)
    assert place.states == ["drawing"]
    values, sd = np.split(np.frombuffer(answer.body), 2)
    assert values.size == sum(n + 1 for n in Layout.of(SCHEMA).cells) * 2
    assert (sd > 0).all()
    assert answer.head["remaining"] == pytest.approx(said["mu"] ** 2 - 0.004)
    facts = document(place.ask({"verb": "close", "session": said["session"]}))
    assert place.states == ["released"]
    (entry,) = place.ledger.accounts("people")[0].entries
    assert (facts["entry"], facts["epsilon"], entry.who) == (entry.id, 0.5, "M. Curie")
    assert [spend["name"] for spend in facts["spends"]] == ["histograms"]


def test_the_charge_is_on_disk_before_a_row_is_read(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    real = LocalEngine.total

    def watched(self: LocalEngine, query: Query) -> Any:
        seen.append((place.states, place.journal.charges(session)))
        return real(self, query)

    monkeypatch.setattr(LocalEngine, "total", watched)
    place.ask(question(session), ASK)
    ((states, (charge,)),) = seen
    assert states == ["drawing"]
    assert (charge.name, charge.mu_squared) == ("histograms", 0.004)


def test_the_answer_is_stored_as_it_is_sent_and_told_again(place: Place, session: str) -> None:
    asked = question(session)
    first = place.ask(asked, ASK)
    assert place.journal.answered(session, asked["id"])[1] == first.packed()  # type: ignore[index]
    assert place.ask(asked, ASK) == first
    place.restart()
    assert place.ask(asked, ASK) == first
    assert len(place.journal.charges(session)) == 1


def at_once(place: Place, *requests: bytes) -> list[bytes]:
    """The replies to requests that come together."""
    start, replies = threading.Barrier(len(requests)), [b""] * len(requests)

    def send(number: int) -> None:
        start.wait(10)
        replies[number] = place.desk.reply(requests[number])

    threads = [threading.Thread(target=send, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return replies


def test_replays_that_come_together_are_one_question(place: Place, session: str) -> None:
    request = Frame(question(session), ASK).packed()
    assert len(set(at_once(place, *[request] * 4))) == 1
    assert len(place.journal.charges(session)) == 1


def test_of_questions_that_come_together_only_as_many_are_paid_for_as_the_session_can(
    place: Place, session: str
) -> None:
    most = 0.4 * opening()["mu"] ** 2
    replies = at_once(place, *(Frame(question(session, most), ASK).packed() for _ in range(5)))
    answered = [reply for reply in replies if "refused" not in Frame.unpacked(reply).head]
    assert len(answered) == len(place.journal.charges(session)) == 2


def test_an_id_is_for_one_question(place: Place, session: str) -> None:
    asked = question(session)
    place.ask(asked, ASK)
    for other in (asked | {"mu_squared": 0.002}, asked | {"name": "other"}):
        assert place.refusal(other, ASK) == "this id was used for another question"
    assert place.refusal(asked, ASK + b" ") == "this id was used for another question"
    assert len(place.journal.charges(session)) == 1


def test_a_charge_without_an_answer_stays(place: Place, session: str) -> None:
    """As a server leaves it that died between the two."""
    asked, half = question(session), opening()["mu"] ** 2 / 2
    place.ask(asked, ASK)
    place.journal._do("UPDATE question SET reply = NULL", ())
    place.restart()
    assert place.refusal(asked, ASK) == CHARGED_FOR_NOTHING
    assert place.refusal(asked, ASK) == CHARGED_FOR_NOTHING
    assert "is left" in place.refusal(question(session, opening()["mu"] ** 2), ASK)
    assert "remaining" in place.ask(question(session, half), ASK).head, "but another may be asked"
    assert len(document(place.ask({"verb": "close", "session": session}))["spends"]) == 2


def test_whatever_fails_once_a_row_may_have_been_read_is_one_line(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error: BaseException

    def fail(self: LocalEngine, query: Query) -> Any:
        raise error

    monkeypatch.setattr(LocalEngine, "total", fail)
    errors = TableError("a table may have at most 7 rows"), ValueError("age 41"), MemoryError(), KeyboardInterrupt()
    for number, each in enumerate(errors):
        error, asked = each, question(session, 1e-4)
        assert place.refusal(asked, ASK) == CHARGED_FOR_NOTHING
        assert len(place.journal.charges(session)) == number + 1
    monkeypatch.undo()
    assert place.refusal(asked, ASK) == CHARGED_FOR_NOTHING, "and it is not drawn later either"
    assert place.states == ["drawing"]


def test_what_cannot_be_stored_is_not_sent(place: Place, session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Journal, "store", full)
    assert place.refusal(question(session), ASK) == CHARGED_FOR_NOTHING
    monkeypatch.setattr(Journal, "charge", full)
    monkeypatch.setattr(LocalEngine, "total", lambda *given: pytest.fail("a row was read"))
    assert "could not take" in place.refusal(question(session), ASK)


def test_what_is_refused_beforehand_costs_nothing(place: Place, session: str) -> None:
    mu = opening()["mu"]
    wrong = [
        (question(session, 1e-7 * mu**2), ASK, "at least 1e-06"),
        (question(session, mu**2 * 1.01), ASK, "is left"),
        (question(session, -1), ASK, "at least"),
        (question(session, True), ASK, "is a number"),
        (question(session, None), ASK, "is a number"),
        (question(session, name="a\nb"), ASK, "short name"),
        (question(session, name="x" * 150), ASK, "short name"),
        (question(session, id="1"), ASK, "32 hexadecimal"),
        (question(session), b"", "comes as bytes"),
        (question(session), ASK[:-1], "a question"),
        (question(session), (1 << 40).to_bytes(8, "little") + ASK[8:], "too long"),
        (question("0" * 32), ASK, "no such session"),
        ({"verb": "close", "session": "../x"}, b"", "32 hexadecimal"),
    ]
    for head, body, words in wrong:
        assert words in place.refusal(head, body)
    assert place.states == ["reserved"]
    assert place.journal.charges(session) == []


def test_what_is_the_server_s_is_no_field_of_a_request(place: Place, session: str) -> None:
    for field in ("seed", "insecure_seed", "schema", "adjacency", "unit", "dataset", "token"):
        for head in (opening(**{field: 1}), question(session, **{field: 1})):
            assert place.refusal(head, ASK) == "a request has other fields than it may"
    assert place.states == ["reserved"]


SLICES = {"dim": 1, "projections": 1, "distance": 1.0, "sigma": 1.0}
NO_SESSIONS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": "1"}, "are numbers"),
    ({"epsilon": True}, "are numbers"),
    ({"epsilon": -1.0}, "epsilon must"),
    ({"delta": 1.0}, "delta must"),
    ({"delta": 1e-9}, "do not cover"),
    ({"mu": 0.2}, "do not cover"),
    ({"mu": 1e-9}, "at least mu"),
    ({"mu": 0}, "at least mu"),
    ({"mechanism": "a\nb"}, "one short line"),
    ({"why": 7}, "one line each"),
    ({"plain": 1}, "true or false"),
    ({"slices": {}}, "a list"),
    ({"slices": [{"dim": 1}]}, "other fields"),
    ({"slices": [7]}, "other fields"),
    ({"slices": [SLICES]}, "do not cover"),
    ({"slices": [SLICES, SLICES]}, "once"),
    ({"session": "x"}, "32 hexadecimal"),
]


def test_sessions_that_cannot_be_opened(place: Place) -> None:
    for changes, words in NO_SESSIONS:
        assert words in place.refusal(opening(**changes)), changes
    assert place.states == []


def test_two_analysts_share_one_cap(place: Place) -> None:
    said = opening(0.75)
    assert place.ask(said).head["entry"]
    refused = place.ask(opening(0.75))
    assert refused.head["kind"] == "BudgetError"
    assert "has too little left" in refused.head["refused"]
    assert len(place.states) == 1
    rest = place.ledger.accounts("people")[0].left_epsilon
    assert place.ask(opening(rest)).head["entry"]


def test_a_session_in_which_nothing_was_asked_is_given_back(place: Place, session: str) -> None:
    place.ask({"verb": "close", "session": session})
    assert place.states == ["returned"]
    assert "is closed" in place.refusal(question(session), ASK)


def test_a_session_is_closed_once_and_for_all(place: Place, session: str) -> None:
    asked = question(session)
    answer = place.ask(asked, ASK)
    closed = place.ask({"verb": "close", "session": session})
    assert "is closed" in place.refusal(question(session), ASK)
    place.restart()
    assert place.ask(asked, ASK) == answer
    assert place.ask({"verb": "close", "session": session}) == closed
    assert place.states == ["released"]


def test_an_entry_that_was_given_back_is_never_drawn(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.ledger.give_back(place.ledger.accounts("people")[0].entries[0].id)
    monkeypatch.setattr(LocalEngine, "total", lambda *given: pytest.fail("a row was read"))
    assert place.refusal(question(session), ASK) == BOOKS_CLOSED
    assert place.journal.charges(session) == []


@pytest.mark.parametrize("crash", ["before the ledger", "behind it"])
def test_a_session_asked_for_again_is_reserved_once(place: Place, crash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, real = opening(), Ledger._reserve

    def die(self: Ledger, *given: Any) -> None:
        if crash == "behind it":
            real(self, *given)
        raise LedgerError("the power is gone")

    monkeypatch.setattr(Ledger, "_reserve", die)
    monkeypatch.setattr("sfumato.ledger.ledger.Reservation._return", lambda self: None)
    assert place.refusal(said) == BOOKS_CLOSED
    monkeypatch.undo()
    place.restart()
    first = place.ask(said)
    assert first.head["entry"]
    assert place.ask(said) == first
    assert place.states == ["reserved"]
    assert place.refusal(said | {"why": "more"}) == "this session was opened by another request"


def test_a_released_session_that_was_not_yet_closed(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server leaves it that died between the ledger and the journal."""
    place.ask(question(session), ASK)
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "close", lambda *given: pytest.fail("no power"))
        place.ask({"verb": "close", "session": session})
    assert place.states == ["released"]
    place.restart()
    assert document(place.ask({"verb": "close", "session": session}))["epsilon"] == 0.5


def test_a_session_is_about_one_schema(place: Place, session: str) -> None:
    asked = question(session)
    place.ask(asked, ASK)
    place.schema = sf.Schema.of(SCHEMA.dump() | {"label": "ward"})
    place.restart()
    for head in (question(session), asked, {"verb": "close", "session": session}):
        assert "another schema" in place.refusal(head, ASK if head["verb"] == "total" else b"")


def test_a_session_has_so_many_questions(place: Place, session: str) -> None:
    insert = "INSERT INTO question (session, id, digest, name, sensitivity, mu_squared) VALUES (?, ?, '', 'q', 1, 1e-9)"
    place.journal._do("BEGIN", ())
    place.journal._base.executemany(insert, [(session, f"{number:032x}") for number in range(MOST_QUESTIONS)])
    place.journal._do("COMMIT", ())
    assert f"at most {MOST_QUESTIONS}" in place.refusal(question(session), ASK)


def test_an_answer_that_is_too_long_to_be_sent_is_refused_before_it_is_charged(
    place: Place, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = 2 * decode(ASK).weights.size
    monkeypatch.setattr(desk, "LONGEST_REPLY", 8 * numbers + 2 * LONGEST_HEAD - 1)
    asked = question(session)
    assert "ask for fewer numbers" in place.refusal(asked, ASK)
    assert place.journal.charges(session) == []
    assert place.states == ["reserved"]
    monkeypatch.setattr(desk, "LONGEST_REPLY", 8 * numbers + 2 * LONGEST_HEAD)
    assert "refused" not in place.ask(asked, ASK).head


def test_a_matrix_that_is_too_long_to_be_sent_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "LONGEST_REPLY", 8 * 200 + 2 * LONGEST_HEAD)
    image = score_image([[np.linspace(-1, 1, n) for n in Layout.of(SCHEMA).cells]] * 2)
    for projections, fits in ((100, True), (101, False)):
        slices = Slices(dim=2, projections=projections, distance=1.0, sigma=1.0)
        frame = Frame({"verb": "rows"}, encode((row_question(image, 2, 1.0), slices)))
        with nullcontext() if fits else pytest.raises(ArgumentError, match="ask for fewer numbers"):
            desk._check_length(frame)


def test_a_long_answer_of_rows_is_replayed_by_the_next_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LONGEST_PIECE", 1000)
    place = Place(tmp_path, adjacency=Adjacency.REPLACE_ONE)
    said = opening(0.5)
    place.ask(said)
    image = score_image([[np.linspace(-1, 1, n) for n in Layout.of(SCHEMA).cells]] * 2)
    head = {name: value for name, value in question(said["session"]).items() if name != "mu_squared"} | {"verb": "rows"}
    ask = encode((row_question(image, 2, 1.0), Whole(0.001)))
    reply = place.ask(head, ask)
    assert len(reply.body) > 4 * 1000
    place.restart()
    assert place.ask(head, ask) == reply
    assert len(place.journal.charges(said["session"])) == 1


def test_rows_where_their_number_is_public(tmp_path: Path) -> None:
    place = Place(tmp_path, adjacency=Adjacency.REPLACE_ONE)
    said = opening(0.5)
    place.ask(said)
    layout = Layout.of(SCHEMA)
    image = score_image([[np.linspace(-1, 1, n) for n in layout.cells]] * 2)
    ask = encode((row_question(image, 2, 1.0), Whole(0.001)))
    reply = place.ask(question(said["session"]) | {"verb": "rows", "mu_squared": 1})
    assert "other fields" in reply.head["refused"]
    head = {name: value for name, value in question(said["session"]).items() if name != "mu_squared"}
    reply = place.ask(head | {"verb": "rows"}, ask)
    assert reply.head["values"] == [len(people()), 2]
    tiny = encode((row_question(image, 2, 1.0), Whole(1e-12)))
    assert "at least 1e-06" in place.refusal(head | {"verb": "rows", "id": "0" * 32}, tiny)
    assert [charge.mu_squared for charge in place.journal.charges(said["session"])] == [0.001]


def test_the_key_of_units_is_kept_with_the_session(tmp_path: Path) -> None:
    schema = sf.Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 1}})
    place = Place(tmp_path, schema=schema)
    said = opening(mu=calibrate(0.5, DELTA / 2))
    place.ask(said)
    kept = place.journal.session(said["session"])
    assert kept is not None
    assert len(kept.key) == 32
    place.ask(question(said["session"], 0.001), ASK)
    place.restart()
    place.ask(question(said["session"], 0.001), ASK)
    keys = [key for *_, key in place.desk._engines]
    assert kept.key in keys


def test_seeded_noise_promises_nothing_and_ends_with_its_server(tmp_path: Path) -> None:
    place = Place(tmp_path, seed=3)
    assert document(place.ask({"verb": "facts"}))["secure"] is False
    said = opening()
    place.ask(said)
    asked = question(said["session"])
    answer = place.ask(asked, ASK)
    place.restart()
    assert place.ask(asked, ASK) == answer
    assert "ends with its server" in place.refusal(question(said["session"]), ASK)
    other = opening()
    place.ask(other)
    facts = document(place.ask({"verb": "close", "session": other["session"]}))
    assert (facts["secure"], facts["epsilon"], facts["entry"]) == (False, None, None)


def test_errors_of_the_ledger_do_not_tell_where_it_is(place: Place) -> None:
    (place.folder / "ledger.db").write_bytes(b"nonsense" * 200)
    assert place.refusal(opening()) == BOOKS_CLOSED


def test_what_cannot_be_served(tmp_path: Path) -> None:
    table, ledger = open_table(people()), Ledger(tmp_path / "l.db")
    ledger.open("people", 1, DELTA)
    adding = Adjacency.ADD_REMOVE
    with pytest.raises(ArgumentError, match="belong together"):
        Served(table, SCHEMA, adding, ledger)
    with pytest.raises(ArgumentError, match="or else a seed for tests"):
        Served(table, SCHEMA, adding)
    with pytest.raises(ArgumentError, match="or else a seed for tests"):
        Served(table, SCHEMA, adding, ledger, "people", 7)
    with pytest.raises(SchemaError):
        Served(table, sf.Schema.of(SCHEMA.dump() | {"unconfirmed": ["columns.age.max"]}), adding, ledger, "people")
    for adjacency, name in ((Adjacency.REPLACE_ONE, "people"), (adding, "nobody")):
        with pytest.raises(LedgerError):
            Desk(Served(table, SCHEMA, adjacency, ledger, name), Journal(tmp_path / f"{name}.answers"))
    other = sf.Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 1}})
    with pytest.raises(LedgerError, match="protects one who"):
        Desk(Served(table, other, adding, ledger, "people"), Journal(tmp_path / "j"))
    narrow = open_table(people().drop(columns="ward"))
    with pytest.raises(TableError, match="no column"):
        Desk(Served(narrow, SCHEMA, adding, ledger, "people"), Journal(tmp_path / "k"))


def test_charges_add_up_in_whatever_process(place: Place, session: str) -> None:
    left = []
    for _ in range(3):
        left.append(place.ask(question(session, 0.1 / 30), ASK).head["remaining"])
        place.restart()
    assert left == sorted(left, reverse=True)
    assert place.journal.charges(session)[0] == Charge("histograms", 1.0 + 1e-12, 0.1 / 30)
    spends = document(place.ask({"verb": "close", "session": session}))["spends"]
    assert sum(spend["mu"] ** 2 for spend in spends) <= json.loads(json.dumps(opening()["mu"])) ** 2


def test_rows_of_a_query_are_called_so(tmp_path: Path) -> None:
    """Somebody may have many of them: a data set that counts rows does not count these."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        people().to_sql("people", base, index=False)
    ledger = Ledger(tmp_path / "l.db")
    for name, unit in {"rows": "row", "results": QUERY_ROW}.items():
        ledger.open(name, 1, DELTA, unit=unit)
    joined = open_table(tmp_path / "t.sqlite", query="SELECT a.* FROM people a JOIN people b USING (who)")
    plain = open_table(tmp_path / "t.sqlite", table="people")
    for table, name in ((joined, "results"), (plain, "rows")):
        served = Served(table, SCHEMA, Adjacency.ADD_REMOVE, ledger, name)
        Desk(served, Journal(tmp_path / f"{name}.answers"))
    with pytest.raises(LedgerError, match="query's result"):
        Desk(Served(joined, SCHEMA, Adjacency.ADD_REMOVE, ledger, "rows"), Journal(tmp_path / "j"))


class Slow:
    """An engine that cannot do two things at a time, and fails when it is told to."""

    public = None

    def __init__(self) -> None:
        self.at_work, self.together, self.fails = 0, 0, False

    def total(self, query: Any) -> Any:
        self.at_work += 1
        self.together = max(self.together, self.at_work)
        time.sleep(0.02)
        self.at_work -= 1
        if self.fails:
            raise TableError("the connection is gone")
        return query

    rows = total


def test_sessions_that_share_an_engine_ask_it_one_at_a_time() -> None:
    """The first that asks reads the table, and counts what it reads: two at once would count it twice."""
    slow = Slow()
    shared: Any = Alone(slow)  # type: ignore[arg-type]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: (shared.total if n % 2 else shared.rows)(n), range(8))) == list(range(8))
    assert slow.together == 1
    assert not shared.failed


def test_an_engine_that_failed_is_not_asked_again(place: Place, session: str) -> None:
    """A lost connection to a database must not cost every question that follows."""
    broken = Slow()
    broken.fails, broken.public = True, place.desk._engine(False, False, b"").public  # type: ignore[assignment]
    place.desk._engines[(False, False, b"")] = Alone(broken)  # type: ignore[arg-type]
    assert place.refusal(question(session), ASK) == CHARGED_FOR_NOTHING
    assert "values" in place.ask(question(session), ASK).head


def test_a_journal_with_a_second_name_is_refused(place: Place) -> None:
    place.journal.shut()
    os.link(place.folder / "answers", place.folder / "others")
    with pytest.raises(LedgerError, match="second name"):
        Journal(place.folder / "others")
