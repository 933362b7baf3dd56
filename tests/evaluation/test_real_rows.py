"""Rows of a table as a fit counts them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import RELATED, SCHEMA, frame, related

from sfumato.errors import TableError
from sfumato.evaluation import real_rows
from sfumato.evaluation.real_rows import read_rows
from sfumato.schema.schema import Schema

ALL = 10**6


def test_rows_are_read_as_a_fit_reads_them() -> None:
    table = frame(200, 0)
    table.loc[3, "y"] = "neither"
    found = read_rows(table, SCHEMA, ALL)
    assert (found.total, found.size, found.unlabelled, found.drawn) == (200, 199, 1, False)
    assert sum(batch.num_rows for batch in found.batches) == 199
    assert np.isnan(found.typed.numbers["n"]).sum() == 20


def test_of_many_rows_some_are_drawn_and_of_wide_tables_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_rows(related(1000, 0), RELATED, 300)
    assert 150 <= found.size <= 300
    assert found.drawn
    monkeypatch.setattr(real_rows, "CELLS_IN_MEMORY", 5 * 40)
    assert 20 <= read_rows(related(1000, 0), RELATED, 300).size <= 40


def test_a_split_parts_the_rows_the_same_way_every_time() -> None:
    rows = read_rows(related(500, 0), RELATED, ALL)
    most, held = rows.split()
    assert most.size + held.size == 500
    both = np.sort(np.concatenate([most.typed.numbers["a"], held.typed.numbers["a"]]))
    assert np.array_equal(both, np.sort(rows.typed.numbers["a"]))
    assert np.array_equal(rows.split()[1].typed.numbers["a"], held.typed.numbers["a"])
    assert sum(batch.num_rows for batch in held.batches) == held.size


def test_some_of_the_rows() -> None:
    rows = read_rows(related(500, 0), RELATED, ALL)
    assert rows.some(100).size == 100
    assert rows.some(500) is rows


def test_broken_rules_are_counted_in_cells_as_they_are_written() -> None:
    number = {"type": "number", "min": 0, "max": 9, "step": 1}
    schema = Schema.of({"columns": {"a": number, "b": number}, "constraints": ["a <= b"]})
    rows = read_rows(pd.DataFrame({"a": ["1", "5", "9", "0"], "b": ["2", "3", "9", "0"]}), schema, ALL)
    assert rows.broken(["a < 5"]) == {"a <= b": 0.25, "a < 5": 0.5}


def test_a_computed_column_may_be_wanting() -> None:
    number = {"type": "number", "min": 0, "max": 9, "step": 1}
    total = {"type": "number", "min": 0, "max": 18, "step": 1, "derived": "a + b"}
    schema = Schema.of({"columns": {"a": number, "b": number, "t": total}})
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4], "t": [4, 9]})
    assert read_rows(table, schema, ALL).broken(()) == {"t == a + b": 0.5}
    assert read_rows(table[["a", "b"]], schema, ALL).typed.names == ["a", "b"]
    with pytest.raises(TableError, match="no column 'b'"):
        read_rows(table[["a"]], schema, ALL)
