"""Ledgers for tests, and the cap that all that counts must keep."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pandas as pd

import sfumato as sf
from sfumato.accounting import Adjacency, calibrate
from sfumato.ledger.account import SAMPLER_SLACK, Ask, Dataset, Entry
from sfumato.ledger.ledger import Ledger
from sfumato.private.units import COLLISION, unit_delta
from sfumato.schema.layout import ROW

POSTGRES = os.environ.get("SFUMATO_TEST_POSTGRES", "")


FRAME = pd.DataFrame({"age": [float(i % 90) for i in range(300)]})


SCHEMA: dict[str, Any] = {"columns": {"age": {"type": "number", "min": 0, "max": 100, "bins": 16}}}


def ask(epsilon: float = 1.0, delta: float = 1e-6, adjacency: Adjacency = Adjacency.ADD_REMOVE, unit: str = ROW) -> Ask:
    mu = calibrate(epsilon, delta if unit == ROW else unit_delta(delta))
    return Ask("mixture", adjacency, unit, epsilon, delta, mu)


def fit(ledger: Any, epsilon: float = 1.0, delta: float = 1e-6, **options: Any) -> sf.Release:
    return sf.fit(FRAME, SCHEMA, epsilon=epsilon, delta=delta, ledger=ledger, dataset="patients", **options)


def states(ledger: Ledger) -> list[str]:
    return [str(entry.state) for entry in ledger.accounts("patients")[0].entries]


def true_delta(epsilon: float, square: Fraction) -> Any:
    """delta(epsilon) of sqrt(square)-GDP, by the definition, in 60 digits."""
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        if mu == 0:
            return mpmath.mpf(0)
        e = mpmath.mpf(epsilon)
        return mpmath.ncdf(-e / mu + mu / 2) - mpmath.exp(e) * mpmath.ncdf(-e / mu - mu / 2)


def insist_on_cap(dataset: Dataset, entries: list[Entry], square: float | None = None) -> None:
    """All that counts together keeps the cap. Nothing in it is taken from the library but the entries' own mu."""
    counted = [entry for entry in entries if entry.state != "returned"]
    twice = {("add-remove", "replace-one"), ("add-remove", "label")}
    factors = [2 if (e.adjacency, dataset.adjacency) in twice else 1 for e in counted]
    squares = (Fraction(f * e.mu) ** 2 for f, e in zip(factors, counted, strict=True))
    together = sum(squares, Fraction(0)) if square is None else Fraction(square)
    with mpmath.workdps(60):
        slack = len(counted) * mpmath.mpf(SAMPLER_SLACK) * (1 + mpmath.exp(dataset.epsilon))
        slack += 0 if dataset.unit == ROW else len(counted) * mpmath.mpf(COLLISION)
        assert true_delta(dataset.epsilon, together) + slack <= dataset.delta


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def unguard(path: Path) -> None:
    """Drop the triggers, as someone might who edits the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
