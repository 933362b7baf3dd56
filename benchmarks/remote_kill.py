"""Kill a server at any moment while analysts fit through it, and look whether it ever gives anything away.

Run `python -m benchmarks.remote_kill --kills 1000 -o audits/remote-kill.json`. Two analysts, each a process, fit a
small table through `sf.remote` again and again; some hang up in the middle of a question, replay one that was answered,
or ask another under its id. The server is killed with SIGKILL, half of the times at a random moment, half of the times
as soon as it is seen at a step chosen by chance, and another one is started. After every kill:

- every answer that reached an analyst is in the journal, charged, and the same to the byte;
- what was charged in a session is no more than the session's squared mu, added up exactly;
- every session with a charge has an entry in the ledger that can never be returned;
- no cap is exceeded, no total has fallen, no entry has gone; every release on disk names an entry.

A data set whose cap is used up makes room for the next.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks import ledger_kill
from benchmarks.ledger_kill import Seen, Step, forked, insist_on_cap, write
from sfumato.errors import ArgumentError, BudgetError, ReleaseError, SfumatoError
from sfumato.ledger.account import State
from sfumato.ledger.ledger import Ledger, Reservation
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.serving import remote
from sfumato.serving.desk import CHARGED_FOR_NOTHING, Desk, Served
from sfumato.serving.frames import Broken, Frame, send
from sfumato.serving.journal import Journal
from sfumato.serving.listening import serve, unix_socket
from sfumato.tables import open_table

ANALYSTS = 2
PLACES = (
    "starting",
    "listening",
    "reserving",
    "reserved",
    "to drawing",
    "drawing",
    "charging",
    "charged",
    "reading",
    "read",
    "storing",
    "stored",
    "closing",
    "closed",
)
CAP = 1.0
WISHED = 0.15
LONGEST_DELAY = 0.25
MECHANISM = sf.Mixture(components=1, pairs=None)


@dataclass
class Watch(Seen):
    """What was seen so far, of the analysts too."""

    told: Counter[str] = field(default_factory=Counter)
    places: dict[Path, int] = field(default_factory=dict)  # how much of each analyst's log was read


# --- the server


def answering(folder: Path, name: str, place: Step, faulty: bool = False) -> None:
    """Serve until killed. The library is as it is, but for saying where it is."""
    place.set("starting")
    _announce(Reservation, "__enter__", place, "reserving", "reserved")
    _announce(Reservation, "draw", place, "to drawing", "drawing")
    _announce(Journal, "charge", place, "charging", "charged")
    _announce(LocalEngine, "total", place, "reading", "read")
    _announce(Journal, "store", place, "storing", "stored")
    _announce(Journal, "close", place, "closing", "closed")
    if faulty:
        Journal.charge = lambda *given: None  # type: ignore[method-assign]
        Journal.store = lambda *given: None  # type: ignore[method-assign]
    table, schema = open_table(folder / "data.csv"), sf.Schema.load(folder / "s.yaml")
    served = Served(table, schema, Adjacency.ADD_REMOVE, Ledger(folder / "ledger.db"), name)
    desk = Desk(served, Journal(folder / f"{name}.answers"))
    with unix_socket(folder / "socket") as listener:
        serve(desk, listener, ready=lambda: place.set("listening"))


def _announce(owner: type, name: str, place: Step, before: str, after: str) -> None:
    real = getattr(owner, name)

    def told(self: Any, *given: Any) -> Any:
        place.set(before)
        result = real(self, *given)
        place.set(after)
        return result

    setattr(owner, name, told)


# --- the analysts


def asking(folder: Path, number: int) -> None:
    """Fit for ever through the socket, and write down what came back."""
    log = (folder / f"analyst-{number}.log").open("a", buffering=1, encoding="utf-8")
    real = remote.exchange

    def watched(wire: Any, request: Frame) -> Frame:
        if random.random() < 0.05:  # hang up before the answer can come
            with contextlib.suppress(Broken):
                send(wire, request.packed())
            raise Broken
        reply = real(wire, request)
        if request.head["verb"] == "total":
            digest = hashlib.sha256(reply.packed()).hexdigest()
            log.write(json.dumps([request.head["session"], request.head["id"], digest]) + "\n")
            if random.random() < 0.3:
                assert real(wire, request).packed() == reply.packed(), "a replay is another answer"
                _insist_on_refusal(wire, request, real)
        return reply

    remote.exchange = watched
    while True:
        way = sf.remote(f"unix:{folder / 'socket'}")
        try:
            release = sf.fit(way, epsilon=WISHED, delta=ledger_kill.DELTA, mechanism=MECHANISM)
            release.save(folder / f"{number}-{time.monotonic_ns()}.sfumato")
            log.write('"released"\n')
        except BudgetError:
            log.write('"refused by the cap"\n')
            time.sleep(0.05)
        except SfumatoError as error:
            lost = CHARGED_FOR_NOTHING in str(error)
            log.write(json.dumps("charged without an answer" if lost else type(error).__name__) + "\n")
            time.sleep(0.01)
        except AssertionError as error:
            log.write(json.dumps(f"FAILED: {error}") + "\n")


def _insist_on_refusal(wire: Any, request: Frame, real: Callable[[Any, Frame], Frame]) -> None:
    other = Frame(request.head | {"mu_squared": request.head["mu_squared"] / 2}, request.body)
    told = ""
    try:
        real(wire, other)
    except ArgumentError as error:
        told = str(error)
    assert "another question" in told, "an id was answered twice"


# --- the checks


def check(folder: Path, watch: Watch) -> None:
    """Fail if anything was given away. No server runs now."""
    logged = [line for path in sorted(folder.glob("analyst-*.log")) for line in _news(path, watch)]
    for path in folder.glob("[!.]*.sfumato"):
        if path.name not in watch.files:
            watch.files[path.name] = _entry(path)
    accounts = Ledger(folder / "ledger.db").accounts()
    states = {entry.id: entry.state for account in accounts for entry in account.entries}
    stored = _journals(folder, states)
    for line in logged:
        if isinstance(line, str):
            assert not line.startswith("FAILED"), line
            watch.told[line] += 1
        else:
            session, question, digest = line
            assert stored.get((session, question)) == digest, "an answer went out that is not stored, or another"
            watch.told["answers"] += 1
    for name, entry in watch.files.items():
        assert states.get(entry) in (State.DRAWING, State.RELEASED), f"{name} is not counted"
    assert watch.entries <= states.keys(), "an entry has gone"
    for account in accounts:
        insist_on_cap(account, watch)
    watch.entries = set(states)
    watch.checks += 1


def _entry(path: Path) -> str:
    """The entry that a release names."""
    try:
        return str(sf.load(path).guarantee.entry)
    except ReleaseError as error:
        raise AssertionError(f"{path.name} promises what was not charged: {error}") from error


def _news(path: Path, watch: Watch) -> list[Any]:
    """What an analyst wrote since, whole lines only."""
    with path.open("rb") as file:
        file.seek(watch.places.get(path, 0))
        whole, _, _ = file.read().rpartition(b"\n")
    watch.places[path] = watch.places.get(path, 0) + len(whole) + bool(whole)
    return [json.loads(line) for line in whole.splitlines()]


def _journals(folder: Path, states: dict[str, State]) -> dict[tuple[str, str], str]:
    """The digests of all stored answers; fails where a session spent more than it has, or is not booked."""
    found = {}
    for path in folder.glob("*.answers"):
        with contextlib.closing(sqlite3.connect(path)) as base:
            assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                continue  # its server was killed before it made the tables
            sessions = base.execute("SELECT id, opening, entry FROM session").fetchall()
            questions = base.execute("SELECT session, id, mu_squared, reply FROM question").fetchall()
        spent: dict[str, Fraction] = {}
        for session, question, mu_squared, reply in questions:
            spent[session] = spent.get(session, Fraction(0)) + Fraction(mu_squared)
            if reply is not None:
                found[session, question] = hashlib.sha256(reply).hexdigest()
        for session, opening, entry in sessions:
            assert spent.get(session, 0) <= Fraction(json.loads(opening)["mu"]) ** 2, "a session spent more than it has"
            booked = session not in spent or states.get(entry) in (State.DRAWING, State.RELEASED)
            assert booked, "a session with a charge is not booked"
    return found


# --- the run


def wait_for_moment(place: Step) -> None:
    """Half of the times any moment, half of the times one step."""
    end = time.monotonic() + 1.2
    while place.name == "starting" and time.monotonic() < end:  # mostly, let it come up
        if random.random() < 0.001:
            return
        time.sleep(0.0005)
    if random.random() < 0.5:
        time.sleep(random.uniform(0.0, LONGEST_DELAY))
        return
    wanted = random.choice(PLACES[2:])
    while place.name != wanted and time.monotonic() < end:
        time.sleep(0.0002)


def current(folder: Path, fresh: bool = False) -> str:
    """The data set that is served: the next one, where a fit no longer fits into the last."""
    ledger = Ledger(folder / "ledger.db")
    accounts = [] if fresh else ledger.accounts()
    if not accounts or (accounts[-1].left_epsilon < WISHED and random.random() < 0.2):  # let some be refused first
        return ledger.open(f"people {len(accounts)}", CAP, ledger_kill.DELTA).name
    return accounts[-1].dataset.name


def kill_often(folder: Path, kills: int, faulty: bool = False) -> dict[str, Any]:
    """Kill, check, start another. Raises AssertionError where anything was given away."""
    ledger_kill.prepare(folder)
    (folder / "ledger.db").unlink()
    watch, place, name = Watch(), Step(PLACES), current(folder, fresh=True)
    crew = [forked(lambda number=number: asking(folder, number)) for number in range(ANALYSTS)]  # type: ignore[misc]
    try:
        for _ in range(kills):
            place.set("starting")
            server = forked(lambda: answering(folder, name, place, faulty))  # noqa: B023 - it runs at once
            wait_for_moment(place)
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
            watch.moments[place.name] += 1
            check(folder, watch)
            name = current(folder)
    finally:
        for process in crew:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    check(folder, watch)
    return results(folder, watch, kills)


def results(folder: Path, watch: Watch, kills: int) -> dict[str, Any]:
    accounts = Ledger(folder / "ledger.db").accounts()
    used = [account for account in accounts if account.left_epsilon < WISHED]
    return {
        "kills": kills,
        "checks": watch.checks,
        "failures": 0,
        "releases_on_disk": len(watch.files),
        "answers_that_arrived": watch.told["answers"],
        "analysts_were_told": {name: n for name, n in sorted(watch.told.items()) if name != "answers"},
        "entries_by_state": dict(Counter(str(entry.state) for account in accounts for entry in account.entries)),
        "killed_while": {name: watch.moments[name] for name in PLACES if watch.moments[name]},
        "data_sets": len(accounts),
        "caps_used_up": len(used),
        "largest_share_of_a_cap": max(account.mu / account.dataset.mu for account in accounts),
    }


def planted_fault_is_seen(folder: Path, kills: int) -> bool:
    """Whether the checks catch a server that answers without writing it down."""
    try:
        kill_often(folder, kills, faulty=True)
    except AssertionError as error:
        return "is not stored" in str(error) or "was not charged" in str(error)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        found = kill_often(Path(folder), given.kills)
        seconds = round(time.monotonic() - started, 1)
        caught = planted_fault_is_seen(Path(other), 30)
    record = {
        "command": f"python -m benchmarks.remote_kill --kills {given.kills}",
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "sfumato": sf.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "analysts": ANALYSTS,
        "seconds": seconds,
        "results": found,
        "planted_fault_caught": caught,
    }
    write(record, given.output)


if __name__ == "__main__":
    main()
