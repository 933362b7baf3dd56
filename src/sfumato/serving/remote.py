"""The way to a curator elsewhere: an address, and nothing else. Whoever holds it cannot read a row."""

from __future__ import annotations

import json
import math
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import errors
from sfumato.errors import ArgumentError, SfumatoError, TableError, insist
from sfumato.guarantee import Guarantee
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.queries.base import Answer, FloatArray, Query
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole
from sfumato.progress import Listener, Spending
from sfumato.schema.schema import Schema
from sfumato.serving.addresses import Address
from sfumato.serving.frames import LONGEST_REPLY, Broken, Frame, receive, send
from sfumato.text import one_line

FIRST_WAIT = 0.02  # seconds before a broken connection is tried again; each wait is twice as long, up to a second
NOT_UNDERSTOOD = "the server sent what this version of sfumato cannot read"
_ERRORS_BY_NAME = {kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type)}


def remote(address: str, *, token: str | None = None, ca: str | Path | None = None, patience: float = 60.0) -> Remote:
    """A private table on another machine, or of another user, which `sfumato serve` answers for.

    `sf.fit(sf.remote(...), epsilon=..., delta=...)` fits it without a row ever being here. Schema, adjacency, unit,
    budget and randomness are the server's: `fit` takes its schema from there (one that is given must be the same) and
    refuses a ledger, an engine or a seed. Mechanism, epsilon and delta are the caller's wish, within the server's cap.

    Args:
        address: `unix:PATH`, or `tls:HOST:PORT`.
        token: What the server asks for, where it does.
        ca: A file of certificates to trust for `tls:`; those of the system by default.
        patience: For how many seconds a lost connection is tried again. The same request is sent, under the same id:
            it is answered, and paid for, once.

    Returns:
        What `fit` takes for a table. Nothing has been sent yet.

    Raises:
        ArgumentError: The address is none, or of plain TCP.

    Example:
        >>> import sfumato as sf
        >>> sf.remote("unix:/run/clinic.sock")
        remote('unix:/run/clinic.sock')
    """
    insist(patience >= 0, f"patience is a number of seconds, not {patience!r}")
    return Remote(Address.of(address), token, ca, float(patience))


@dataclass(frozen=True, repr=False)
class Opening:
    """What an analyst wishes to buy: public facts, all of them."""

    mechanism: str
    epsilon: float
    delta: float
    mu: float
    slices: tuple[Slices, ...] = ()
    plain: bool = False  # whether the label is a column like others
    values: bool = False  # whether questions need values beside bins
    who: str | None = None
    why: str | None = None

    @property
    def head(self) -> dict[str, Any]:
        """As a request says it."""
        return asdict(self) | {"slices": [asdict(each) for each in self.slices]}


@dataclass(frozen=True, repr=False)
class Remote:
    """A curator elsewhere: where it is, and what it says of itself.

    Args:
        address: Where it is.
        token: What it asks for.
        ca: Whom to trust for it.
        patience: For how many seconds a lost connection is tried again.
    """

    address: Address
    token: str | None = None
    ca: str | Path | None = None
    patience: float = 60.0

    def __repr__(self) -> str:
        return f"remote({self.address.text!r})"

    @property
    def schema(self) -> Schema:
        """What the server says is public of its table."""
        return Schema.of(self._facts.get("schema"))

    @property
    def adjacency(self) -> Adjacency:
        """Which tables are neighbours, as the server counts."""
        try:
            return Adjacency(str(self._facts.get("adjacency")))
        except ValueError:
            raise TableError(NOT_UNDERSTOOD) from None

    @property
    def secure(self) -> bool:
        """Whether its noise comes from a secure source."""
        return self._facts.get("secure") is True

    @contextmanager
    def session(self, opening: Opening, progress: Listener | None = None) -> Iterator[Door]:
        """Open a session: one release, which the server's ledger counts from here on.

        Args:
            opening: What is to be bought.
            progress: Hears of every question before it is asked.

        Yields:
            The door. Left by an exception before anything was asked, the session is given back.
        """
        door = Door(self, opening, progress)
        try:
            door.open()
            try:
                yield door
            except BaseException:
                if not door.asked:
                    with suppress(SfumatoError):
                        door.close()
                raise
        finally:
            door.hang_up()

    def connected(self) -> socket.socket:
        """A connection on which the server has taken the token.

        Raises:
            Broken: It cannot be reached.
        """
        try:
            wire = self.address.connected(self.ca)
        except OSError as error:
            raise Broken(one_line(error.strerror or str(error))) from error
        try:
            told = exchange(wire, Frame({"verb": "facts"} | ({} if self.token is None else {"token": self.token})))
            facts = _document(told)
            if self.__dict__.setdefault("_facts", facts) != facts:  # what was planned with is no longer so
                raise TableError(f"{self.address.text} serves another schema than before; make a new sf.remote")
        except BaseException:
            wire.close()
            raise
        return wire

    @cached_property
    def _facts(self) -> dict[str, Any]:
        try:
            self.connected().close()
        except Broken as error:
            told = f": {error}" if str(error) else ""
            raise TableError(f"no curator answers at {self.address.text}{told}") from error
        return dict(self.__dict__["_facts"])


@dataclass(eq=False)
class Door:
    """One session with a curator elsewhere: takes questions as bytes, as a curator here does.

    Attributes:
        remaining: The squared mu that is left.
        answers: Every answer to `total`, with its name and what was asked.
        asked: Whether any question was sent.
    """

    remote: Remote
    opening: Opening
    progress: Listener | None = None
    remaining: float = 0.0
    answers: tuple[tuple[str, Query, Answer], ...] = ()
    asked: bool = False
    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    _wire: socket.socket | None = None

    def open(self) -> None:
        """Reserve what the release may cost."""
        reply = self._exchange({"verb": "open", "session": self.session} | self.opening.head)
        self.remaining = _number(reply.head, "remaining")

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        """Charge `mu_squared`, and answer the total of a question in bytes with noise."""
        query = decode(request, Query)
        self._announce(Spending(name, math.sqrt(mu_squared), mu_squared / self.opening.mu**2))
        head = {"verb": "total", "name": name, "mu_squared": float(mu_squared)}
        reply = self._question(head, request)
        values, sd = _arrays(reply, "values", "sd")
        if values.size != query.weights.size or sd.size != values.size:
            raise TableError(NOT_UNDERSTOOD)
        answer = Answer(values, sd)
        self.answers += ((name, query, answer),)
        return answer

    def rows(self, name: str, request: bytes) -> NoisyRows:
        """Charge for it, and answer every row's vector, of a question in bytes, with noise."""
        _, projection = decode(request, tuple[RowVectors, Whole | Slices])
        if isinstance(projection, Slices):
            self._announce(Spending("rows", projections=projection.projections))
        else:
            share = projection.mu_squared / self.opening.mu**2
            self._announce(Spending(name, math.sqrt(projection.mu_squared), share))
        reply = self._question({"verb": "rows", "name": name}, request)
        values, directions = _arrays(reply, "values", "directions")
        projected = isinstance(projection, Slices)
        return NoisyRows(values, _number(reply.head, "noise"), directions if projected else None)

    def close(self) -> Guarantee:
        """End the session; the guarantee, which the server states from what it charged."""
        told = _document(self._exchange({"verb": "close", "session": self.session}))
        try:
            spends = tuple(Spend(**each) for each in told.pop("spends"))
            slices = tuple(Slices(**each) for each in told.pop("slices"))
            adjacency = Adjacency(told.pop("adjacency"))
            return Guarantee(**told, adjacency=adjacency, spends=spends, slices=slices)
        except (TypeError, ValueError, KeyError):
            raise TableError(NOT_UNDERSTOOD) from None

    def hang_up(self) -> None:
        """Let go of the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _announce(self, event: Spending) -> None:
        if self.progress is not None:
            self.progress(event)

    def _question(self, head: dict[str, Any], request: bytes) -> Frame:
        self.asked = True
        reply = self._exchange(head | {"session": self.session, "id": uuid.uuid4().hex}, request)
        self.remaining = _number(reply.head, "remaining")
        return reply

    def _exchange(self, head: dict[str, Any], body: bytes = b"") -> Frame:
        """Send a request and read the reply; where the connection breaks, the same request again, on a new one."""
        request, wait = Frame(head, body), FIRST_WAIT
        end = time.monotonic() + self.remote.patience
        while True:
            try:
                if self._wire is None:
                    self._wire = self.remote.connected()
                return exchange(self._wire, request)
            except Broken as error:
                self.hang_up()
                if time.monotonic() + wait > end:
                    lost = f"the connection to {self.remote.address.text} was lost"
                    raise TableError(f"{lost}; what was asked may have been charged") from error
                time.sleep(wait)
                wait = min(2.0 * wait, 1.0)


def exchange(wire: socket.socket, request: Frame) -> Frame:
    """Send a request and read the reply.

    Raises:
        Broken: The connection did.
        SfumatoError: The server refused it.
    """
    send(wire, request.packed())
    content = receive(wire, LONGEST_REPLY)
    if content is None:
        raise Broken
    try:
        reply = Frame.unpacked(content, padded=True)
    except ArgumentError:
        raise TableError(NOT_UNDERSTOOD) from None
    if "refused" in reply.head:
        kind = _ERRORS_BY_NAME.get(str(reply.head.get("kind")), SfumatoError)
        raise kind(one_line(str(reply.head["refused"])))
    return reply


def _document(reply: Frame) -> dict[str, Any]:
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise TableError(NOT_UNDERSTOOD)
    return found


def _number(head: dict[str, Any], name: str) -> float:
    value: Any = head.get(name)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TableError(NOT_UNDERSTOOD)
    return float(value)


def _arrays(reply: Frame, *names: str) -> list[FloatArray]:
    """The arrays whose shapes the head names, over all bytes of the body."""
    shapes: list[Any] = [reply.head.get(name) for name in names]
    fits = all(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) for shape in shapes)
    sizes = [math.prod(shape) for shape in shapes] if fits else []
    if not fits or 8 * sum(sizes) != len(reply.body):
        raise TableError(NOT_UNDERSTOOD)
    parts = np.split(np.frombuffer(reply.body, dtype="<f8"), np.cumsum(sizes)[:-1])
    found = [part.astype(np.float64).reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    if not all(np.isfinite(each).all() for each in found):
        raise TableError(NOT_UNDERSTOOD)
    return found
