"""Send a server requests that are none, and look whether it survives and says no more than one line.

Run `python -m benchmarks.remote_fuzz --requests 100000 -o audits/remote-fuzz.json`. Requests are right ones (to open a
session, to ask, to close) that were altered: bits flipped, fields taken away, added or replaced by values of other
kinds, questions cut short, lengths that lie, and plain noise. Each is answered, refused in one line, or hung up on. At
the end the server still answers a fit, nobody saw a cell of the table, and the ledger is within its cap.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.ledger_kill import Step, forked, write
from benchmarks.remote_kill import MECHANISM, PLACES, answering
from sfumato.accounting import calibrate
from sfumato.ledger.ledger import Ledger
from sfumato.mechanisms.asker import encode
from sfumato.mechanisms.questions import row_question, score_image
from sfumato.private.queries.histograms import Histograms
from sfumato.private.slicing.rows import Whole
from sfumato.schema.layout import Layout
from sfumato.serving.frames import LONGEST_REPLY, Broken, Frame, receive

SECRET = "918273.25"
SCHEMA = """\
columns:
  age: {type: number, min: 0, max: 9, step: 1}
  dose: {type: number, min: 0, max: 3, step: 1}
"""
DELTA = 1e-6
CAP = 10.0
WISHED = 0.05
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**70,
    10**400,
    1e308,
    1e-300,
    -0.5,
    "",
    "x" * 5000,
    "\ud800",
    "a\nb",
    "1",
    [],
    [[]],
    {},
    {"kind": "Query"},
    [{"dim": 1, "projections": 1, "distance": 1.0, "sigma": 1.0}],
    [{"dim": 2**20, "projections": 2**20, "distance": 1e-30, "sigma": 1e30, "rounding": 1.0, "rows": 2**20}],
    "0" * 32,
)
EXTRA = ("seed", "insecure_seed", "schema", "adjacency", "unit", "rows", "table", "token")


class Requests:
    """Right requests, and what can be made of them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        layout = Layout.of(sf.Schema.parse(SCHEMA))
        histograms = Histograms(layout.sizes, 1, (0.5, 0.5))
        tables = [[[0.0] * size for size in layout.sizes]]
        vectors = row_question(score_image([[np.array(t) for t in tables[0]]]), 1, 1.0)
        self.questions = [encode(histograms), encode((vectors, Whole(1e-4)))]
        self.session, self.mu = self.identity(), calibrate(WISHED, DELTA)

    def identity(self) -> str:
        return f"{self.chance.getrandbits(128):032x}"

    def opening(self) -> Frame:
        said = {"mechanism": "fuzz", "epsilon": WISHED, "delta": DELTA, "mu": self.mu}
        said |= {"slices": [], "plain": False, "values": False, "who": None, "why": None}
        return Frame({"verb": "open", "session": self.session} | said)

    def right(self) -> Frame:
        """A request as an analyst would send it."""
        kind = self.chance.random()
        if kind < 0.002:
            self.session = self.identity()
        if kind < 0.05:
            return self.opening()
        named = {"session": self.session, "id": self.identity(), "name": "fuzz"}
        if kind < 0.75:
            mu_squared = self.mu**2 * 10 ** self.chance.uniform(-7, -2)
            return Frame({"verb": "total", "mu_squared": mu_squared} | named, self.questions[0])
        if kind < 0.9:
            return Frame({"verb": "rows"} | named, self.questions[1])
        return Frame({"verb": "close", "session": self.session} if kind < 0.901 else {"verb": "facts"})

    def altered(self) -> bytes:
        """Bytes to send, the length in front included."""
        frame, how = self.right(), self.chance.randrange(9)
        if how < 4:
            return _sent(self._head(dict(frame.head)), frame.body)
        if how < 6:
            return _sent(frame.head, self._bytes(frame.body))
        whole = _sent(frame.head, frame.body)
        if how == 6:
            return self._bytes(whole)
        if how == 7:
            return self.chance.randbytes(self.chance.randrange(1, 200))
        return whole

    def _head(self, head: dict[str, Any]) -> dict[str, Any]:
        for _ in range(self.chance.randrange(1, 3)):
            name = self.chance.choice([*head, *EXTRA])
            if self.chance.random() < 0.3:
                head.pop(name, None)
            else:
                head[name] = self.chance.choice(ODD)
        return head

    def _bytes(self, content: bytes) -> bytes:
        found = bytearray(content)
        for _ in range(self.chance.randrange(1, 4)):
            if not found:
                break
            place = self.chance.randrange(len(found))
            kind = self.chance.randrange(4)
            if kind == 0:
                found[place] ^= 1 << self.chance.randrange(8)
            elif kind == 1:
                found[place : place + 8] = self.chance.randbytes(8)
            elif kind == 2:
                del found[place:]
            else:
                found[place:place] = found[place : place + 40]
        return bytes(found)


def _sent(head: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(head).encode()
    content = b"".join([len(text).to_bytes(8, "little"), len(body).to_bytes(8, "little"), text, body])
    return len(content).to_bytes(8, "little") + content


class Caller:
    """A connection that is made anew whenever the server hangs up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wire: socket.socket | None = None

    def ask(self, content: bytes) -> str:
        """What became of a request: "answered", or the line of a refusal, or "hung up"."""
        if self._wire is None:
            self._wire = socket.socket(socket.AF_UNIX)
            self._wire.connect(str(self._path))
        try:
            self._wire.sendall(content)
            if len(content) != 8 + int.from_bytes(content[:8], "little"):  # the server waits for more, or has too much
                self._wire.shutdown(socket.SHUT_WR)
            reply = receive(self._wire, LONGEST_REPLY, idle=60.0)
        except (Broken, OSError):
            reply = None
        if reply is None:
            self.hang_up()
            return "hung up"
        assert len(reply) & (len(reply) - 1) == 0, "a reply is not padded"
        assert SECRET.encode() not in reply, "a cell went out"
        if len(content) != 8 + int.from_bytes(content[:8], "little"):
            self.hang_up()
        return str(Frame.unpacked(reply, padded=True).head.get("refused", "answered"))

    def hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def fuzz(folder: Path, requests: int, seed: int = 0) -> dict[str, Any]:
    """Send them all. Raises AssertionError where the server dies or says too much."""
    (folder / "data.csv").write_text("age,dose\n" + f"{SECRET},2\n" * 300)
    (folder / "s.yaml").write_text(SCHEMA)
    ledger, place = Ledger(folder / "ledger.db"), Step(PLACES)
    ledger.open("people", CAP, DELTA)
    told: Counter[str] = Counter()
    made, caller = Requests(seed), Caller(folder / "socket")
    server = forked(lambda: answering(folder, "people", place))
    try:
        _wait(lambda: place.name != "starting")
        for number in range(requests):
            if number % 10_000 == 0:
                caller.ask(_sent(made.opening().head, b""))
            line = caller.ask(made.altered())
            assert "\n" not in line, "more than one line"
            assert len(line) <= 1000, "a long line"
            told[line if line in ("answered", "hung up") else "refused in one line"] += 1
        alive = os.waitpid(server, os.WNOHANG) == (0, 0)
        assert alive, "the server died"
        release = sf.fit(
            sf.remote(f"unix:{folder / 'socket'}"), epsilon=0.5, delta=DELTA, mechanism=MECHANISM
        )  # it still works
        assert release.guarantee.entry is not None
    finally:
        caller.hang_up()
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
    (account,) = ledger.accounts()
    assert account.mu <= account.dataset.mu, "the cap is exceeded"
    states = dict(Counter(str(entry.state) for entry in account.entries))
    assert states.get("drawing", 0) + states.get("released", 0) > 1, "no question was ever right"
    return {"requests": requests, "seed": seed, "told": dict(told), "entries_by_state": states, "failures": 0}


def _wait(happened: Callable[[], bool]) -> None:
    while not happened():
        time.sleep(0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = fuzz(Path(folder), given.requests, given.seed)
    record = {
        "command": f"python -m benchmarks.remote_fuzz --requests {given.requests} --seed {given.seed}",
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "sfumato": sf.__version__,
        "python": platform.python_version(),
        "seconds": round(time.monotonic() - started, 1),
        "results": found,
    }
    write(record, given.output)


if __name__ == "__main__":
    main()
