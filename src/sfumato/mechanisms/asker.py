"""What a mechanism sees of the curator: a way to ask, and noisy answers."""

from __future__ import annotations

from typing import Protocol

from sfumato.private.queries.base import Answer, Query
from sfumato.private.queries.wire import encode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole


class Door(Protocol):
    """Whoever takes questions as bytes: a curator, or the way to one in another process."""

    @property
    def remaining(self) -> float: ...

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer: ...

    def rows(self, name: str, request: bytes) -> NoisyRows: ...


class Asker(Protocol):
    """What a mechanism is handed: what is left, and a way to ask."""

    @property
    def remaining(self) -> float: ...

    def total(self, name: str, query: Query, mu_squared: float) -> Answer: ...

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows: ...


class Client:
    """Turns questions into bytes: no object of a mechanism reaches the curator."""

    def __init__(self, door: Door) -> None:
        self._door = door

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return self._door.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """Charge `mu_squared`, then answer with noise."""
        return self._door.total(name, encode(query), mu_squared)

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """Charge for it, then answer with every row's noisy projections."""
        return self._door.rows(name, encode((vectors, projection)))
