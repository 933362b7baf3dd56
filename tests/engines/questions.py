"""Questions of a layout that a database can count, and cells that no reader likes."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import sqlalchemy as sa

from sfumato.private.queries.base import Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.schema.layout import Layout
from sfumato.schema.view import View

POSTGRES = os.environ.get("SFUMATO_TEST_POSTGRES", "")
WORDS = [
    "7",
    "0",
    "true",
    "ä",
    "'; DROP TABLE t; --",
    '"',
    "%s",
    "a b",
    "x",
    "\\",
    "-5",
    "100",
    "$1",
    "NULL",
    "e\u0301",
]
TEXTS = [
    *WORDS, "", " ", "7.0", "7.", "07", "7.00 ", "-0", "-0.0", "0.", "TRUE", "True", "tRUE", "a\u0308", "Ä", "ä ",
    "\tä\v", "ä\u00a0", "x\u200b", "X", "é", "-5.000", "100.", "1e2", "10", "1", "x0", ".", "0.0.0", "٧", None,
]  # fmt: skip
FLOATS = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, None, 0.1, 7.0, 7.5, 2.0**53, 99.0, -1.0]
INTEGERS = [0, 1, -1, 7, -5, 100, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1, None]


def viewed(layout: Layout) -> tuple[View, tuple[int, ...]]:
    """All columns in the layout's own bins."""
    every = tuple(range(len(layout.names)))
    return View(every, layout.cells, tuple(bins.cell_starts for bins in layout.bins)), every


def histograms(layout: Layout) -> Query:
    """Of all columns."""
    view, every = viewed(layout)
    return Viewed(view, Histograms(layout.sizes, layout.classes, (1 / len(every),) * len(every)))


def tables(layout: Layout, levels: int = 5) -> Query:
    """Of all pairs of columns, every other one with the label, and of the label alone."""
    view, every = viewed(layout)
    rng = np.random.default_rng(0)
    seen = tuple(np.append(rng.integers(0, levels, size), levels) for size in layout.sizes)
    pairs = [(b, a, len(every)) if (a + b) % 2 else (b, a) for a, b in itertools.combinations(every, 2)]
    asked = (*pairs, (len(every),))
    return Viewed(view, Tables(seen, layout.classes, asked, (1 / len(asked),) * len(asked)))


def distances(layout: Layout) -> Query:
    """Of the same tables to empty ones."""
    viewed = tables(layout)
    assert isinstance(viewed, Viewed)
    assert isinstance(viewed.query, Tables)
    return Viewed(viewed.view, Distances(viewed.query, np.zeros(viewed.size, dtype=np.int64)))


@contextmanager
def postgres() -> Iterator[tuple[str, sa.Connection]]:
    """A schema of our own on a PostgreSQL server, first in the search path."""
    if not POSTGRES:
        pytest.skip("SFUMATO_TEST_POSTGRES names no PostgreSQL server")
    name = f"sfumato_{uuid.uuid4().hex}"
    url = sa.make_url(POSTGRES).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        connection.exec_driver_sql(f"SET search_path TO {name}")
        try:
            yield f"{POSTGRES}?options=-csearch_path%3D{name}", connection
        finally:
            connection.exec_driver_sql("SET lock_timeout = '20s'")  # a transaction that is still held would keep it
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
