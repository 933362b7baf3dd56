"""Kill fits that a ledger counts, at any moment, and look whether it ever forgets one.

Run `python -m benchmarks.ledger_kill --kills 200 -o audits/ledger-kill.json`. Worker processes run `sfumato fit` on a
small table again and again, in the same ledger. One of them at a time is killed with SIGKILL, half of the times at a
random moment, half of the times as soon as it is seen at a step chosen by chance, and is replaced. After every kill:

- every complete release file has an entry in the ledger, `drawing` or `released`;
- no entry has gone and no total has fallen;
- no cap is exceeded;
- the database opens, and SQLite finds nothing wrong with it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import platform
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato import cli
from sfumato.accounting import calibrate
from sfumato.errors import ReleaseError
from sfumato.files import replacing
from sfumato.ledger.account import Account, Ask
from sfumato.ledger.ledger import Ledger, Reservation
from sfumato.private.accounting import Adjacency
from sfumato.release.release import Release

WORKERS = 3
STEPS = (
    "idle",
    "before reserve",
    "reserving",
    "reserved",
    "to drawing",
    "drawing",
    "to released",
    "released",
    "saving",
)
# Of one data set the budget lasts; of the other it does not, and the workers race for its rest.
CAPS = {"large": 50.0, "small": 0.5}
DELTA = 1e-6
EPSILON = 0.1
MOST_WAIT = 3.0
POLL = 0.0003
MOST_DELAY = 0.5
SCHEMA = """\
columns:
  age: {type: number, min: 0, max: 100, bins: 8}
  dose: {type: number, min: 0, max: 1, bins: 8}
"""

Worker = Callable[[Path, "Step"], None]


class Step:
    """Where a worker is, in memory that it shares with us, so that a killed one can still be asked."""

    def __init__(self, names: tuple[str, ...] = STEPS) -> None:
        self._names = names
        self._memory = mmap.mmap(-1, 1)

    def set(self, name: str) -> None:
        self._memory[0] = self._names.index(name)

    @property
    def name(self) -> str:
        return self._names[self._memory[0]]


@dataclass
class Seen:
    """What the checks found so far."""

    moments: Counter[str] = field(default_factory=Counter)
    totals: dict[str, float] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)  # release files already read, and their entries
    checks: int = 0


# --- the workers


def counted_fits(folder: Path, step: Step) -> None:
    """Run `sfumato fit` for ever. The library is as it is, but for saying where it is."""
    _announce(Reservation, "__enter__", step, "reserving", "reserved")
    _announce(Reservation, "draw", step, "to drawing", "drawing")
    _announce(Reservation, "__exit__", step, "to released", "released")
    _announce(Release, "save", step, "saving", "idle")
    while True:
        step.set("before reserve")
        name = random.choice(tuple(CAPS))
        output = folder / f"{os.getpid()}-{time.monotonic_ns()}.sfumato"
        sys.argv = ["sfumato", "fit", str(folder / "data.csv"), "--schema", str(folder / "s.yaml")]
        sys.argv += ["--epsilon", str(EPSILON), "--delta", str(DELTA), "-o", str(output)]
        sys.argv += ["--ledger", str(folder / "ledger.db"), "--dataset", name]
        with contextlib.suppress(SystemExit):  # a budget that is spent
            cli.main()


def hasty_fits(folder: Path, step: Step) -> None:
    """A planted fault: the file is there before the ledger knows of it."""
    ledger, schema = Ledger(folder / "ledger.db"), sf.Schema.load(folder / "s.yaml")
    asked = Ask("mixture", Adjacency.ADD_REMOVE, "row", EPSILON, DELTA, calibrate(EPSILON, DELTA))
    while True:
        step.set("before reserve")
        release = sf.fit(folder / "data.csv", schema, epsilon=EPSILON, delta=DELTA)
        entry = ledger.reserve("large", asked)
        object.__setattr__(release.guarantee, "entry", entry.id)
        step.set("saving")
        release.save(folder / f"{os.getpid()}-{time.monotonic_ns()}.sfumato")
        step.set("reserving")
        with entry:
            entry.draw()


def _announce(owner: type, name: str, step: Step, before: str, after: str) -> None:
    real = getattr(owner, name)

    def told(self: Any, *arguments: Any) -> Any:
        if not (name == "draw" and self._drawn):  # only its first call writes
            step.set(before)
        result = real(self, *arguments)
        if step.name == before:
            step.set(after)
        return result

    setattr(owner, name, told)


def _start(worker: Worker, folder: Path) -> tuple[int, Step]:
    """Fork: what is imported stays imported, so that a worker is at work at once."""
    step = Step()
    return forked(lambda: worker(folder, step)), step


def forked(work: Callable[[], None]) -> int:
    """Do something in a process of its own, silently."""
    process = os.fork()
    if process == 0:
        try:
            random.seed()
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            work()
        finally:
            os._exit(1)
    return process


# --- the checks


def check(folder: Path, seen: Seen) -> None:
    """Fail if the ledger forgot anything."""
    files = read_files(folder, seen)  # before the ledger: what is on disk by now must be known by then
    accounts = Ledger(folder / "ledger.db").accounts()
    states = {entry.id: str(entry.state) for account in accounts for entry in account.entries}
    for name, entry in files.items():
        assert states.get(entry) in ("drawing", "released"), f"{name} is not counted: {states.get(entry)}"
    assert seen.entries <= states.keys(), "an entry has gone"
    for account in accounts:
        insist_on_cap(account, seen)
    with contextlib.closing(sqlite3.connect(folder / "ledger.db", timeout=60)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    seen.entries = set(states)
    seen.checks += 1


def insist_on_cap(account: Account, seen: Seen) -> None:
    name = account.dataset.name
    assert account.mu <= account.dataset.mu, f"the cap of {name} is exceeded"
    assert account.mu >= seen.totals.get(name, 0.0), f"the total of {name} fell"
    seen.totals[name] = account.mu


def read_files(folder: Path, seen: Seen) -> dict[str, str]:
    """The entry of every complete release; a name that starts with a dot was never finished."""
    for path in folder.glob("[!.]*.sfumato"):
        if path.name not in seen.files:
            seen.files[path.name] = str(sf.load(path).guarantee.entry)
    return seen.files


def left_overs(folder: Path) -> dict[str, int]:
    """Temporary files of killed workers: some are whole releases that were never renamed, the others no releases."""
    found = Counter(unfinished=0, whole=0)
    known = {e.id for account in Ledger(folder / "ledger.db").accounts() for e in account.entries if e.counts}
    for path in folder.glob(".*.sfumato"):
        try:
            entry = sf.load(path).guarantee.entry
        except ReleaseError:
            found["unfinished"] += 1
        else:
            assert entry in known
            found["whole"] += 1
    return dict(found)


# --- the run


def prepare(folder: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(0, 100, 200), "dose": rng.random(200)})
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "s.yaml").write_text(SCHEMA)
    ledger = Ledger(folder / "ledger.db")
    for name, epsilon in CAPS.items():
        ledger.open(name, epsilon, DELTA)
    sf.fit(frame, folder / "s.yaml", epsilon=1, delta=DELTA)  # imports what the workers will need


def wait_for_moment(step: Step) -> None:
    """Half of the times any moment, half of the times one step: the short ones would hardly ever be hit."""
    if random.random() < 0.5:
        time.sleep(random.uniform(0.0, MOST_DELAY))
        return
    wanted, end = random.choice(STEPS[1:]), time.monotonic() + MOST_WAIT
    while step.name != wanted and time.monotonic() < end:
        time.sleep(POLL)
    time.sleep(random.choice([0.0, 0.0, random.uniform(0.0, 0.003)]))


def kill_often(folder: Path, kills: int, worker: Worker = counted_fits, workers: int = WORKERS) -> dict[str, Any]:
    """Kill, check, replace. Raises AssertionError where the ledger forgot."""
    prepare(folder)
    seen = Seen()
    crew = [_start(worker, folder) for _ in range(workers)]
    try:
        for _ in range(kills):
            chosen = random.randrange(workers)
            process, step = crew[chosen]
            wait_for_moment(step)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            seen.moments[step.name] += 1
            check(folder, seen)
            crew[chosen] = _start(worker, folder)
    finally:
        for process, _ in crew:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):  # the one that a failed check left behind
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
    check(folder, seen)
    return results(folder, seen, kills)


def results(folder: Path, seen: Seen, kills: int) -> dict[str, Any]:
    accounts = Ledger(folder / "ledger.db").accounts()
    states = Counter(str(entry.state) for account in accounts for entry in account.entries)
    return {
        "kills": kills,
        "checks": seen.checks,
        "failures": 0,
        "releases_on_disk": len(seen.files),
        "entries": sum(states.values()),
        "entries_by_state": dict(states),
        "killed_while": {name: seen.moments[name] for name in STEPS if seen.moments[name]},
        "left_over_temporary_files": left_overs(folder),
        "spent": {
            account.dataset.name: {
                "mu": account.mu,
                "cap_mu": account.dataset.mu,
                "another_fit_would_fit": account.fits(calibrate(EPSILON, DELTA)),
            }
            for account in accounts
        },
    }


def planted_fault_is_seen(folder: Path, kills: int) -> bool:
    """Whether the checks catch a worker that saves before it reserves."""
    try:
        kill_often(folder, kills, hasty_fits)
    except AssertionError as error:
        return "is not counted" in str(error)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        found = kill_often(Path(folder), given.kills)
        seconds = round(time.monotonic() - started, 1)
        caught = planted_fault_is_seen(Path(other), 30)
    record = {
        "command": f"python -m benchmarks.ledger_kill --kills {given.kills}",
        "date": datetime.now(UTC).date().isoformat(),
        "sfumato": sf.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "workers": WORKERS,
        "seconds": seconds,
        "results": found,
        "planted_fault_caught": caught,
    }
    write(record, given.output)


def write(record: dict[str, Any], output: Path | None) -> None:
    """Print a record, and keep it where a file is named; not one of checks that see nothing."""
    text = json.dumps(record, indent=2)
    print(text)
    assert record.get("planted_fault_caught", True), "the checks did not see a planted fault"
    if output is not None:
        output.parent.mkdir(exist_ok=True)
        with replacing(output) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
