"""Who answers requests: the server's side of the door, without its sockets.

The server owns table, schema, label, unit, adjacency, row cap, ledger and randomness; a request names none of them. An
analyst opens a session, which is one release: its (epsilon, delta) is reserved in the ledger in full. Then it asks,
each question with an id of its own. In this order:

1. a question is checked against public facts; what is refused here costs nothing;
2. the ledger's entry moves to `drawing` and the journal gets the charge, both on disk;
3. only then a row is read; whatever goes wrong from here on is one fixed line, and the charge stays;
4. the reply is on disk before it is sent.

The same id with the same bytes gets the same bytes again; with other bytes it is refused; one that was charged by a
server that died before it could answer gets the fixed line. Noise is never drawn anew under an old charge.

Nothing about a session is kept in memory: what it has left is counted from the journal for every question, and a
session takes one question at a time, so that there is no second copy of a budget to spend. (But for the stream of a
seed, which is for tests: a session with seeded noise ends with its server.)

What is not covered: how long an answer takes depends on the rows.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sfumato.accounting import calibrate
from sfumato.engines.choosing import engine_for
from sfumato.engines.pushdown import row_of
from sfumato.errors import ArgumentError, BudgetError, LedgerError, SfumatoError, TableError, insist
from sfumato.insecure import insecure_bits
from sfumato.ledger.account import Ask, is_one_line
from sfumato.ledger.ledger import Ledger, Reservation, Uncounted
from sfumato.private.accounting import Adjacency, Budget, Spend
from sfumato.private.curator import Curator, Engine
from sfumato.private.noise import Bits, secure_bits
from sfumato.private.queries.base import FloatArray, IntArray, Query
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import RowVectors, Whole
from sfumato.private.units import KEY_BYTES, Units
from sfumato.schema.column_labels import can_unlabel, unlabelled
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.serving.frames import LONGEST_HEAD, LONGEST_REPLY, WORD, Frame
from sfumato.serving.journal import Charge, Journal, Session
from sfumato.tables.table import Table

CHARGED_FOR_NOTHING = "the question was charged but has no answer: its charge stays, and it is not asked again"
NOT_TAKEN = "the server could not take the request"
BOOKS_CLOSED = "the server's ledger or journal did not take it; whoever runs the server can look there"
LEAST_PART = 1e-6
"""Of a session's squared mu, that a question costs at least, and of the cap's that a session does: else whoever watches
the time that answers take could do so for next to nothing."""
MOST_QUESTIONS = 4096
"""Of a session. An answer that can be sent has fewer than 2^28 numbers, so that all of them stay below the 2^40 for
which the distance of the noise from the ideal is set aside."""
LONGEST_TEXT = 1 << 22  # bytes of a question beside its arrays: read, they take fifty times the memory
LONGEST_REFUSAL = 1000
LARGEST_NUMBER = 1e60
MOST_AT_ONCE = 8  # questions, each of another session
MOST_ENGINES = 2  # each keeps the codes of a table in memory

REQUESTS = {
    "facts": (),
    "open": ("session", "mechanism", "epsilon", "delta", "mu", "slices", "plain", "values", "who", "why"),
    "total": ("session", "id", "name", "mu_squared"),
    "rows": ("session", "id", "name"),
    "close": ("session",),
}
_HEXADECIMAL = re.compile("[0-9a-f]{32}")

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """What a server serves, and in which terms.

    Attributes:
        table: The private table.
        schema: What is public of it.
        adjacency: Which tables are neighbours.
        ledger: Where sessions are counted; None with a seed, which nothing counts.
        dataset: The name of the table there.
        seed: Repeatable noise, for tests: no release then promises anything.
    """

    table: Table
    schema: Schema
    adjacency: Adjacency
    ledger: Ledger | None = None
    dataset: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        self.schema.require_confirmed()
        needs_label = self.adjacency is Adjacency.LABEL and self.schema.label is None
        insist(not needs_label, "adjacency 'label' needs a schema with a label")
        if (self.ledger is None) != (self.dataset is None):
            raise ArgumentError("ledger and dataset belong together: give both or neither")
        if (self.ledger is None) == (self.seed is None):
            raise ArgumentError("ledger and dataset belong to a server, or else a seed for tests, which none can count")

    @cached_property
    def unit(self) -> str:
        """Whose rows are protected together; as a fit here would say it."""
        return row_of(self.table) if self.schema.unit is None else self.schema.unit.column

    @property
    def unit_rows(self) -> int | None:
        """How many rows of a unit count."""
        return None if self.schema.unit is None else self.schema.unit.rows

    @property
    def digest(self) -> bytes:
        """Of what a session is about."""
        told = [self.schema.dump(), self.adjacency, self.dataset, self.seed, self.unit]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).digest()


class Turns:
    """Who may go to work: one request of a session at a time, and so many sessions."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        self._over = False

    @contextmanager
    def turn(self, session: str) -> Iterator[None]:
        """Wait until it is this session's turn."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._over and session not in self._busy and len(self._busy) < MOST_AT_ONCE
            )
            self._busy.add(session)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(session)
                self._changed.notify_all()

    def end(self, seconds: float) -> bool:
        """Let nobody in any more; whether all who were at work have ended within so many seconds."""
        with self._changed:
            self._over = True
            return self._changed.wait_for(lambda: not self._busy, seconds)


class Alone:
    """An engine that several sessions share: it reads the table once, for whoever comes first, so that one asks at a
    time; and one that failed, perhaps with its connection to a database, is not asked again.
    """

    def __init__(self, engine: Engine) -> None:
        self.public = engine.public
        self.failed = False
        self._engine, self._lock = engine, threading.Lock()

    def total(self, query: Query) -> IntArray:
        """The exact total of a query."""
        return self._ask(lambda: self._engine.total(query))

    def rows(self, vectors: RowVectors) -> FloatArray:
        """The vectors of all rows that count."""
        return self._ask(lambda: self._engine.rows(vectors))

    def _ask(self, work: Callable[[], T]) -> T:
        with self._lock:
            try:
                return work()
            except BaseException:
                self.failed = True
                raise


class Desk:
    """Takes requests and gives replies.

    Args:
        served: What is served.
        journal: Where charges and answers are kept.
    """

    def __init__(self, served: Served, journal: Journal) -> None:
        self._served, self._journal = served, journal
        self._turns, self._lock = Turns(), threading.Lock()
        self._digest = served.digest
        self._least_mu = _least_mu(served)
        self._engines: dict[tuple[bool, bool, bytes], Alone] = {}
        self._streams: dict[str, Bits] = {}
        self._engine(False, False, b"")  # a column that is not there is found before anyone asks

    def reply(self, request: bytes) -> bytes:
        """The reply to a request, whatever it is: never an exception."""
        try:
            frame = Frame.unpacked(request)
            verb = frame.head.get("verb")
            fields = REQUESTS.get(verb) if isinstance(verb, str) else None
            right = fields is not None and set(frame.head) == {"verb", *fields}
            insist(right, "a request has other fields than it may")
            if verb == "facts":
                return self._facts()
            session = frame.head["session"]
            insist(_is_id(session), "a session is named by 32 hexadecimal digits")
            with self._turns.turn(session):
                return self._alone(frame, hashlib.sha256(request).digest())
        except LedgerError:  # which may tell where the ledger is
            return _refused(LedgerError(BOOKS_CLOSED))
        except TableError:  # nor does anyone have to know how the table is reached
            return _refused(TableError(NOT_TAKEN))
        except SfumatoError as error:
            return _refused(error)
        except BaseException:
            return _refused(ArgumentError(NOT_TAKEN))

    def shut(self, seconds: float) -> None:
        """Wait so long for questions that are being answered, take no other, and let go of the journal."""
        if self._turns.end(seconds):
            self._journal.shut()

    def _alone(self, frame: Frame, digest: bytes) -> bytes:
        """The reply, while no other request of this session is at work."""
        head = frame.head
        if head["verb"] == "open":
            return self._open(head, digest)
        session = self._session(head["session"])
        return self._close(session) if head["verb"] == "close" else self._ask(session, frame, digest)

    # --- what is public

    def _facts(self) -> bytes:
        served = self._served
        told = {"schema": served.schema.dump(), "adjacency": served.adjacency, "secure": served.seed is None}
        return Frame({}, json.dumps(told, default=str).encode()).packed()

    # --- sessions

    def _open(self, head: dict[str, Any], digest: bytes) -> bytes:
        """Reserve in the ledger what a release may cost. The journal knows the entry's id first, so that a server that
        died in between, asked again, neither forgets nor doubles it.
        """
        session = self._journal.session(head["session"])
        if session is None:
            session = self._new(head, digest)
            self._journal.open(session)
        insist(session.digest == digest, "this session was opened by another request")
        self._check_served(session)
        try:
            entry = self._entry(session)
        except (BudgetError, ArgumentError):
            self._journal.forget(session.id)
            raise
        return Frame({"remaining": self._curator(session).remaining, "entry": entry.id}).packed()

    def _new(self, head: dict[str, Any], digest: bytes) -> Session:
        """A session that could be opened: nothing of it depends on a row."""
        opening = {name: head[name] for name in REQUESTS["open"] if name != "session"}
        served, numbers = self._served, [opening[name] for name in ("epsilon", "delta", "mu")]
        insist(all(map(_is_number, numbers)), "epsilon, delta and mu of a session are numbers")
        insist(is_one_line(opening["mechanism"]), "a mechanism's name is one short line")
        notes = all(note is None or is_one_line(note) for note in (opening["who"], opening["why"]))
        insist(notes, "who and why are one line each, or nothing")
        insist({type(opening["plain"]), type(opening["values"])} == {bool}, "plain and values are true or false")
        layout, adding = Layout.of(served.schema), served.adjacency is Adjacency.ADD_REMOVE
        can = not opening["plain"] or (can_unlabel(layout) and adding)
        insist(can, "the label of this schema is no column like others")
        insist(isinstance(opening["slices"], list), "the slices of a session are a list")
        calibrate(*numbers[:2])  # refuses what is no (epsilon, delta)
        _slices(opening)
        least = f"a session costs at least mu {self._least_mu:.3g} here, a millionth of the cap squared"
        insist(numbers[2] >= self._least_mu, least)
        bits = self._fresh_bits(head["session"])
        key = bits(KEY_BYTES) if served.unit_rows is not None else b""
        entry = "" if served.ledger is None else uuid.uuid4().hex
        session = Session(head["session"], digest, opening, self._digest, entry, key)
        self._statement(session, self._curator(session))  # refuses what epsilon and delta do not cover
        return session

    def _session(self, identity: str) -> Session:
        session = self._journal.session(identity)
        if session is None:
            raise ArgumentError("there is no such session here; open one")
        self._check_served(session)
        return session

    def _check_served(self, session: Session) -> None:
        insist(session.served == self._digest, "the session was opened for another schema or data set; open a new one")

    def _close(self, session: Session) -> bytes:
        """State the guarantee from what was charged. A session in which nothing was is given back."""
        curator = self._curator(session)
        facts = self._statement(session, curator)
        entry = self._entry(session) if not session.closed else None
        if entry is not None:
            unused = not self._journal.charges(session.id)
            entry.__exit__(*(ArgumentError, None, None) if unused else (None, None, None))
            self._journal.close(session.id)
        self._streams.pop(session.id, None)
        spends, slices = ([asdict(each) for each in facts.pop(name)] for name in ("spends", "slices"))
        told = facts | {"spends": spends, "slices": slices, "entry": session.entry or None}
        return Frame({}, json.dumps(told, default=str).encode()).packed()

    def _entry(self, session: Session) -> Reservation | Uncounted:
        """The ledger's entry of a session, reserved by now."""
        served, said = self._served, session.opening
        if served.ledger is None or served.dataset is None:
            return Uncounted()
        epsilon, delta, mu = (float(said[name]) for name in ("epsilon", "delta", "mu"))
        terms = said["mechanism"], served.adjacency, served.unit
        asked = Ask(*terms, epsilon, delta, mu, _slices(said), said["who"], said["why"])
        return served.ledger.reserve(served.dataset, asked, session.entry).resume()

    def _statement(self, session: Session, curator: Curator) -> dict[str, Any]:
        said = session.opening
        return curator.statement(float(said["epsilon"]), float(said["delta"]), self._served.unit)

    # --- questions

    def _ask(self, session: Session, frame: Frame, digest: bytes) -> bytes:
        head, journal = frame.head, self._journal
        insist(_is_id(head["id"]), "a question is named by 32 hexadecimal digits")
        insist(is_one_line(head["name"]), "a question needs a short name")
        insist(int.from_bytes(frame.body[:WORD], "little") <= LONGEST_TEXT, "a question's text is too long")
        before = journal.answered(session.id, head["id"])
        if before is not None:
            insist(before[0] == digest, "this id was used for another question")
            return before[1] or _refused(TableError(CHARGED_FOR_NOTHING))
        insist(not session.closed, "the session is closed; open a new one")
        ended = self._served.seed is not None and session.id not in self._streams
        insist(not ended, "a session with seeded noise ends with its server; open a new one")
        insist(len(journal.charges(session.id)) < MOST_QUESTIONS, f"a session has at most {MOST_QUESTIONS} questions")
        mu_squared = self._price(session, frame)
        charged = False

        def charge(spend: Spend | Slices) -> None:
            """Called by the curator once all is checked, and before it reads."""
            nonlocal charged
            _check_length(frame)
            entry.draw()
            sensitivity = spend.sensitivity if isinstance(spend, Spend) else None
            journal.charge(session.id, head["id"], digest, Charge(head["name"], sensitivity, mu_squared))
            charged = True

        entry = self._entry(session)
        curator = self._curator(session, charge)
        try:
            reply = _answer(curator, frame, mu_squared)
            insist(len(reply) <= LONGEST_REPLY, "an answer is too long to be sent")
            journal.store(session.id, head["id"], reply)
        except BaseException:  # what is not stored is not sent
            if not charged:
                raise
            return _refused(TableError(CHARGED_FOR_NOTHING))
        return reply

    def _price(self, session: Session, frame: Frame) -> float | None:
        """What a question asks to be charged, in squared mu; None for slices, which were set aside."""
        mu_squared: Any = frame.head.get("mu_squared")
        if frame.head["verb"] == "rows":
            _, projection = decode(frame.body, tuple[RowVectors, Whole | Slices])
            mu_squared = None if isinstance(projection, Slices) else projection.mu_squared
        if mu_squared is None and frame.head["verb"] == "rows":
            return None
        insist(_is_number(mu_squared), "mu_squared of a question is a number")
        least = LEAST_PART * float(session.opening["mu"]) ** 2
        insist(mu_squared >= least, f"a question costs at least {LEAST_PART:g} of its session's squared mu")
        return float(mu_squared)

    def _curator(self, session: Session, announce: Callable[[Spend | Slices], None] = lambda spend: None) -> Curator:
        """The curator of a session, with what was charged so far."""
        said, served = session.opening, self._served
        budget = Budget(float(said["mu"]), _slices(said))
        taken = iter(budget.slices)
        for each in self._journal.charges(session.id):
            if each.sensitivity is None or each.mu_squared is None:
                budget.take(next(taken))
            else:
                budget.charge(each.name, each.sensitivity, each.mu_squared)
        engine = self._engine(said["plain"], said["values"], session.key)
        return Curator(engine, budget, served.adjacency, self._bits(session.id), announce, served.unit_rows)

    def _engine(self, plain: bool, values: bool, key: bytes) -> Engine:
        """The engine for a session's way to see the table: shared by sessions that see it alike."""
        served, wanted = self._served, (plain, values, key)
        with self._lock:
            found = self._engines.pop(wanted, None)
            if found is None or found.failed:
                layout = Layout.of(served.schema)
                units = None if served.unit_rows is None else Units(served.unit_rows, key)
                found = Alone(engine_for(served.table, unlabelled(layout) if plain else layout, units, values))
            self._engines[wanted] = found  # the last is the latest
            while len(self._engines) > MOST_ENGINES:
                del self._engines[next(iter(self._engines))]
            return found

    def _fresh_bits(self, session: str) -> Bits:
        if self._served.seed is None:
            return secure_bits
        self._streams[session] = insecure_bits(self._served.seed)
        return self._streams[session]

    def _bits(self, session: str) -> Bits:
        """Where noise comes from; no stream of a seed is begun twice by asking (see `_ask`)."""
        if self._served.seed is None:
            return secure_bits
        return self._streams.get(session) or insecure_bits(self._served.seed)


def _least_mu(served: Served) -> float:
    """What a session costs at least; refuses a ledger in which the table's releases would have no cost."""
    if served.ledger is None or served.dataset is None:
        return 0.0
    dataset = served.ledger.accounts(served.dataset)[0].dataset
    return math.sqrt(LEAST_PART) * dataset.mu / dataset.factor(served.adjacency, served.unit)


def _check_length(frame: Frame) -> None:
    """Refuse a question whose answer is too long to be sent, as far as that is public; of rows, how many there are is
    not known before they are read.
    """
    if frame.head["verb"] == "total":
        numbers = 2 * decode(frame.body, Query).weights.size
    else:
        _, projection = decode(frame.body, tuple[RowVectors, Whole | Slices])
        numbers = projection.dim * projection.projections if isinstance(projection, Slices) else 0
    fits = 8 * numbers + 2 * LONGEST_HEAD <= LONGEST_REPLY
    insist(fits, "an answer has at most 2 GiB, and this one would have more: ask for fewer numbers at once")


def _answer(curator: Curator, frame: Frame, mu_squared: float | None) -> bytes:
    """Ask the curator; its answer, as bytes."""
    if frame.head["verb"] == "total":
        assert mu_squared is not None
        answer = curator.total(frame.head["name"], frame.body, mu_squared)
        return _told(curator, {"values": answer.values, "sd": answer.sd})
    rows = curator.rows(frame.head["name"], frame.body)
    directions = np.empty(0) if rows.directions is None else rows.directions
    return _told(curator, {"values": rows.values, "directions": directions}, noise=rows.sd)


def _told(curator: Curator, arrays: dict[str, FloatArray], **numbers: float) -> bytes:
    """Arrays one after the other, with their shapes in the head."""
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    body = b"".join(array.astype("<f8").tobytes() for array in arrays.values())
    return Frame({"remaining": curator.remaining} | shapes | numbers, body).packed()


def _refused(error: SfumatoError) -> bytes:
    """One line, and its kind."""
    line = " ".join(str(error).split())[:LONGEST_REFUSAL]
    return Frame({"refused": line, "kind": type(error).__name__}).packed()


def _slices(opening: dict[str, Any]) -> tuple[Slices, ...]:
    try:
        return tuple(Slices(**each) for each in opening["slices"])
    except TypeError:
        raise ArgumentError("the slices of a session have other fields than they may") from None


def _is_id(text: object) -> bool:
    return isinstance(text, str) and _HEXADECIMAL.fullmatch(text) is not None


def _is_number(value: object) -> bool:
    """Whether it is a number of JSON that is one of float64's; true and false are none."""
    return type(value) in (int, float) and -LARGEST_NUMBER < value < LARGEST_NUMBER  # type: ignore[operator]
