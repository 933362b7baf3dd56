"""Servers for tests: a desk without sockets, and one that listens, in a thread of this process."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.accounting import calibrate
from sfumato.ledger.ledger import Ledger
from sfumato.mechanisms.asker import encode
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.layout import Layout
from sfumato.serving.desk import Desk, Served
from sfumato.serving.frames import Frame
from sfumato.serving.journal import Journal
from sfumato.serving.listening import USUAL, Patience, serve, unix_socket
from sfumato.tables import open_table

SCHEMA = sf.Schema.parse("""
label: ill
columns:
  age: {type: number, min: 0, max: 7, step: 1}
  ward: {type: category, values: [north, south]}
  ill: {type: category, values: ["yes", "no"]}
""")
ROWS = 300
DELTA = 1e-6
QUICK = sf.Mixture(components=1, pairs=None)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(ROWS) < 0.3
    age, ward = rng.normal(2 + 2 * ill, 1).round(), rng.choice(["north", "south"], ROWS)
    return pd.DataFrame({"age": age, "ward": ward, "ill": np.where(ill, "yes", "no"), "who": np.arange(ROWS) // 2})


@dataclass
class Place:
    """A folder with a table, a ledger and a journal, and servers of them one after the other."""

    folder: Path
    cap: float = 1.0
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    schema: sf.Schema = SCHEMA
    seed: int | None = None
    desk: Desk = field(init=False)
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        people().to_parquet(self.folder / "table.parquet")
        if self.seed is None:
            unit = "row" if self.schema.unit is None else self.schema.unit.column
            self.ledger.open("people", self.cap, DELTA, self.adjacency, unit)
        self.start()

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.db")

    @property
    def states(self) -> list[str]:
        """Those of all entries."""
        return [str(entry.state) for entry in self.ledger.accounts("people")[0].entries]

    def start(self) -> None:
        """A server that knows what is on disk, and no more."""
        books = (self.ledger, "people", None) if self.seed is None else (None, None, self.seed)
        served = Served(open_table(self.folder / "table.parquet"), self.schema, self.adjacency, *books)
        self.journal = Journal(self.folder / "answers")
        self.desk = Desk(served, self.journal)

    def restart(self) -> None:
        """Kill the server, and start another."""
        self.journal.shut()
        self.start()

    def ask(self, head: dict[str, Any], body: bytes = b"") -> Frame:
        return Frame.unpacked(self.desk.reply(Frame(head, body).packed()))

    def refusal(self, head: dict[str, Any], body: bytes = b"") -> str:
        return str(self.ask(head, body).head["refused"])


def opening(wished: float = 0.5, **changes: Any) -> dict[str, Any]:
    """A request for a session."""
    said = {"mechanism": "mixture", "epsilon": wished, "delta": DELTA, "mu": calibrate(wished, DELTA), "slices": []}
    said |= {"plain": False, "values": False, "who": None, "why": None}
    return {"verb": "open", "session": uuid.uuid4().hex} | said | changes


def question(session: str, mu_squared: Any = 0.004, **changes: Any) -> dict[str, Any]:
    """A request for a total."""
    named = {"verb": "total", "session": session, "id": uuid.uuid4().hex, "name": "histograms"}
    return named | {"mu_squared": mu_squared} | changes


def histograms(schema: sf.Schema = SCHEMA) -> bytes:
    """A question in bytes."""
    layout = Layout.of(schema)
    shares = (1.0 / len(layout.sizes),) * len(layout.sizes)
    return encode(Histograms(layout.cells, layout.classes, shares))


def document(frame: Frame) -> dict[str, Any]:
    found = json.loads(frame.body)
    assert isinstance(found, dict)
    return found


@contextmanager
def listening(
    place: Place,
    listener: AbstractContextManager[socket.socket] | None = None,
    context: ssl.SSLContext | None = None,
    token: str | None = None,
    patience: Patience = USUAL,
) -> Iterator[str]:
    """A server that listens, and its address."""
    path, ready = place.folder / "socket", threading.Event()
    with listener or unix_socket(path) as there:
        thread = threading.Thread(target=serve, args=(place.desk, there, context, token, ready.set, patience))
        thread.start()
        ready.wait(10)
        address = f"unix:{path}" if context is None else f"tls:localhost:{there.getsockname()[1]}"
        try:
            yield address
        finally:
            with suppress(OSError):
                there.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
            there.close()
            thread.join(10)
            assert not thread.is_alive()
