"""A curator in a process of its own: questions in, noisy numbers out.

    python -m tests.private.elsewhere FD PATH SCHEMA MU SEED VALUES

serves the table at PATH on the socket FD. PATH leads to an open file of this process alone (/proc/self/fd).
"""

from __future__ import annotations

import json
import sys
from multiprocessing.connection import Connection

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.insecure import insecure_bits
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Answer
from sfumato.private.slicing.rows import NoisyRows
from sfumato.private.source import Source
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table


class Elsewhere:
    """The way to a curator in another process: it holds a socket and nothing else."""

    def __init__(self, wire: Connection) -> None:
        self._wire = wire
        self.sent = 0
        self.received = 0

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return float(json.loads(self._ask({"verb": "remaining"}))["remaining"])

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        """Send a question, and read the noisy answer."""
        head = json.loads(self._ask({"verb": "total", "name": name, "mu_squared": mu_squared}, request))
        if "refused" in head:
            raise SfumatoError(head["refused"])
        values, sd = (np.frombuffer(self._wire.recv_bytes(), dtype=np.float64) for _ in range(2))
        self.received += values.size
        return Answer(values, sd)

    def rows(self, name: str, request: bytes) -> NoisyRows:
        """Not served here."""
        raise NotImplementedError

    def _ask(self, head: dict[str, object], *parts: bytes) -> bytes:
        self._wire.send_bytes(json.dumps(head).encode())
        for part in parts:
            self._wire.send_bytes(part)
            self.sent += len(part)
        return self._wire.recv_bytes()


def serve(wire: Connection, curator: Curator) -> None:
    """Answer until the other side hangs up."""
    while True:
        try:
            head = json.loads(wire.recv_bytes())
        except EOFError:
            return
        if head["verb"] == "remaining":
            wire.send_bytes(json.dumps({"remaining": curator.remaining}).encode())
            continue
        try:
            answer = curator.total(head["name"], wire.recv_bytes(), head["mu_squared"])
        except SfumatoError as error:
            wire.send_bytes(json.dumps({"refused": str(error)}).encode())
            continue
        wire.send_bytes(b"{}")
        wire.send_bytes(answer.values.tobytes())
        wire.send_bytes(answer.sd.tobytes())


def main(descriptor: str, path: str, schema: str, mu: str, seed: str, values: str) -> None:
    """Open the table, and serve it."""
    layout = Layout.of(Schema.parse(schema))
    engine = LocalEngine(Source(open_table(path), layout, values=values == "True"), workers=1)
    curator = Curator(engine, Budget(float(mu)), Adjacency.ADD_REMOVE, insecure_bits(int(seed)))
    serve(Connection(int(descriptor)), curator)


if __name__ == "__main__":
    main(*sys.argv[1:])
