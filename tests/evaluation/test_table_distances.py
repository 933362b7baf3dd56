"""Distances of tables, held against values found by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation import table_distances
from sfumato.evaluation.table_distances import (
    column_distances,
    counted,
    distance,
    quantile_edges,
    table_distance,
    tables,
)
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.schema import Schema

LETTERS = {"type": "category", "values": ["a", "b"]}
SMALL = Schema.of({"columns": {"x": LETTERS, "y": LETTERS, "z": {"type": "number", "min": 0, "max": 9}}})


def small(x: str, y: str, z: list[float | None]) -> TypedRows:
    return typed(pd.DataFrame({"x": list(x), "y": list(y), "z": pd.Series(z, dtype=float)}), SMALL)


REAL = small("aabb", "aabb", [1, 2, 3, 4])
OURS = small("abab", "aabb", [1, 1, 1, None])


def test_small_tables_by_hand() -> None:
    """x and y have equal columns; of their pairs ab and ba come anew. Of z two 1 more, and 2, 3 and 4 are lost."""
    found = column_distances(REAL, OURS)
    assert found == {"x": 0.0, "y": 0.0, "z": 0.75}
    assert table_distance(REAL, OURS, 1) == 0.25
    pairs = {("x", "y"): 0.5, ("x", "z"): 0.75, ("y", "z"): 0.75}
    one, two = counted(REAL, REAL), counted(OURS, REAL)
    assert {names: distance(one, two, names) for names in pairs} == pairs
    assert table_distance(REAL, OURS, 2) == pytest.approx(2 / 3)
    assert table_distance(REAL, OURS, 3) == 0.75


def test_equal_tables_are_at_distance_zero_and_disjoint_ones_at_one() -> None:
    one = frame(500, 0)
    real = typed(one.assign(c=0.0, y="q"), SCHEMA)
    assert set(column_distances(real, real).values()) == {0.0}
    found = column_distances(real, typed(one.assign(c=1.0, y="p"), SCHEMA))
    assert found["y"] == found["c"] == 1.0
    assert found["n"] == found["d"] == 0.0


def test_bins_are_quantiles_of_the_real_rows() -> None:
    edges = quantile_edges(np.append(np.arange(1600.0), np.nan))
    assert len(edges) == 15
    assert np.diff(edges) == pytest.approx(1599 / 16)
    assert len(quantile_edges(np.zeros(9))) == 1
    assert len(quantile_edges(np.full(9, np.nan))) == 0


def test_a_table_of_too_many_cells_is_counted_sparsely(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = typed(frame(300, 0), SCHEMA), typed(frame(300, 1), SCHEMA)
    dense = table_distance(one, two, 3)
    monkeypatch.setattr(table_distances, "DENSE_CELLS", 0)
    assert table_distance(one, two, 3) == pytest.approx(dense)


def test_triples_are_120_at_the_most_and_the_same_every_time() -> None:
    names = [f"x{place}" for place in range(12)]
    assert len(tables(names, 2)) == 66
    assert len(set(tables(names, 3))) == 120
    assert tables(names, 3) == tables(names, 3)
