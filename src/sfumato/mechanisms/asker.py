"""What a mechanism sees of the curator: a way to ask, and noisy answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from types import NoneType
from typing import Any, Protocol

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.private.queries.base import Answer, Query
from sfumato.private.queries.viewed import Viewed
from sfumato.private.queries.wire import DTYPES, KINDS
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole
from sfumato.schema.layout import Layout
from sfumato.schema.view import View

REFUSED = "a question is made of sfumato's own query classes, plain numbers and plain arrays of int64 or float64"


class Door(Protocol):
    """Whoever takes questions as bytes: a curator, or the way to one in another process."""

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        """Charge `mu_squared`, and answer the total of a question in bytes with noise."""

    def rows(self, name: str, request: bytes) -> NoisyRows:
        """Charge for it, and answer every row's vector, of a question in bytes, with noise."""


class Asker(Protocol):
    """What a mechanism is handed: what is left, and a way to ask."""

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """The total of a query over the private rows, with noise that `mu_squared` pays for."""

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """Every row's vector, or projections of it, with noise."""


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


class Seen:
    """Someone to ask about the bins of a layout: rows are coded to the finest cells of public grids, of which bins are
    runs. Of some columns only, where their places are given.
    """

    def __init__(self, asker: Asker, layout: Layout, columns: Sequence[int] | None = None) -> None:
        self._asker = asker
        self._view = view_of(layout, columns)

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return self._asker.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """The total of a query about bins."""
        return self._asker.total(name, query if self._view is None else Viewed(self._view, query), mu_squared)

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """Every row's vector, of its bins."""
        return self._asker.rows(name, replace(vectors, view=self._view), projection)


def view_of(layout: Layout, columns: Sequence[int] | None = None) -> View | None:
    """How a layout's bins are seen, or those of some columns; None where they are what rows are coded to."""
    bins = layout.bins
    if layout.groups or (columns is None and all(each.size == each.cells for each in bins)):
        return None
    places = tuple(range(len(bins)) if columns is None else columns)
    return View(places, tuple(bins[c].cells for c in places), tuple(bins[c].cell_starts for c in places))


def encode(question: Any) -> bytes:
    """A question as bytes: the length of a JSON text, the text, and the arrays that it names."""
    arrays: list[np.ndarray[Any, Any]] = []
    tree = _tree(question, arrays)
    listed = [[array.dtype.name, *array.shape] for array in arrays]
    text = json.dumps({"question": tree, "arrays": listed}).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in arrays)])


def _tree(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if type(value) in KINDS.values():
        return {"kind": type(value).__name__} | {f.name: _tree(getattr(value, f.name), arrays) for f in fields(value)}
    if type(value) is np.ndarray and value.dtype.name in DTYPES:
        arrays.append(np.ascontiguousarray(value, DTYPES[value.dtype.name]))
        return {"array": len(arrays) - 1}
    if type(value) is tuple:
        return [_tree(each, arrays) for each in value]
    if type(value) in (int, float, str, NoneType):
        return value
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    raise ArgumentError(f"{REFUSED}, not {type(value).__name__}")
