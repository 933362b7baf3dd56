"""DuckDB's levels are ours, on values that readers do not like; nothing in a schema or a table can end a statement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.questions import FLOATS, INTEGERS, TEXTS, WORDS
from tests.engines.test_expressions import COLUMNS, VALUES, bins_named, in_levels, readable

from sfumato.engines.duckdb_counts import STORED, DuckCounts
from sfumato.engines.expressions import battery, coding_of, own_levels
from sfumato.engines.grouped_counts import Key
from sfumato.schema.layout import Bins, IntArray
from sfumato.tables import open_table
from sfumato.tables.duckdb import DuckTable

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")


def counts(cells: pa.Array, name: str = "c") -> DuckCounts:
    table = open_table(duckdb.connect().from_arrow(pa.table({name: cells})))
    assert isinstance(table, DuckTable)
    return DuckCounts(table)


def levels_there(cells: pa.Array, bins: Bins, levels: IntArray, name: str = "c") -> list[int]:
    """How many rows have each level, by the database."""
    database = counts(cells, name)
    kind = database.kind(name)
    assert kind is not None
    coding = coding_of(kind, bins, levels)
    assert coding is not None
    places, found = database.count([name], [coding], [Key(0, ((0, 1),))])
    every = np.zeros(int(levels.max()) + 1, dtype=np.int64)
    every[places] = found
    return every.tolist()


def levels_here(cells: pa.Array, bins: Bins, levels: IntArray) -> list[int]:
    return np.bincount(own_levels(cells, bins, levels), minlength=int(levels.max()) + 1).tolist()


CELLS = {
    "float": pa.array(FLOATS, pa.float64()),
    "float32": pa.array(FLOATS, pa.float32()),
    "integer": pa.array(INTEGERS, pa.int64()),
    "int8": pa.array([-128, 127, 0, 7, None], pa.int8()),
    "uint64": pa.array([0, 7, 100, 2**53 + 1, 2**63, 2**64 - 1, None], pa.uint64()),
    "date": pa.array(
        [0, 11323, 11324, -719162, -719163, 2932896, 2932897, 2**31 - 1, -(2**31) + 1, None], pa.int32()
    ).cast(pa.date32()),
    "boolean": pa.array([True, False, None]),
    "text": pa.array(TEXTS, pa.string()),
}


def of_kind(cells: str) -> str:
    return {"float32": "float", "int8": "integer", "uint64": "integer"}.get(cells, cells)


@pytest.mark.slow
@pytest.mark.parametrize("cells", CELLS)
def test_odd_values_have_the_levels_of_our_own_coding(cells: str) -> None:
    for name in COLUMNS:
        if readable(name, of_kind(cells)) and name != "huge":
            bins = bins_named(name)
            levels = in_levels(bins)
            assert levels_there(CELLS[cells], bins, levels) == levels_here(CELLS[cells], bins, levels), name


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in COLUMNS for k in VALUES if readable(n, k)])
@settings(max_examples=15)
@given(data=st.data())
def test_any_value_has_the_level_of_our_own_coding(name: str, kind: str, data: st.DataObject) -> None:
    bins = bins_named(name)
    levels = in_levels(bins)
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=40))
    cells = pa.array([*values, None], CELLS[kind].type)
    assert levels_there(cells, bins, levels) == levels_here(cells, bins, levels)


def test_bytes_that_are_no_text_end_nothing() -> None:
    """A function of texts would end the statement, and so tell of a row."""
    raw = [b"\xff ", b"a\xe2\x82", b"\x80", b" x ", "ä".encode(), b"x\xff"]
    offsets = np.cumsum([0, *map(len, raw)]).astype(np.int32)
    cells = pa.StringArray.from_buffers(len(raw), pa.py_buffer(offsets), pa.py_buffer(b"".join(raw)))
    bins = bins_named("listed")
    levels = np.arange(bins.cells + 1)
    assert levels_there(cells, bins, levels) == levels_here(cells, bins, levels)


def test_names_and_values_are_never_read_as_a_statement() -> None:
    name = 'c"; DROP TABLE t; --'
    bins = bins_named("listed")
    levels = np.arange(bins.cells + 1)
    cells = pa.array(WORDS)
    assert levels_there(cells, bins, levels, name) == levels_here(cells, bins, levels)


def test_many_words_are_looked_up_by_halves() -> None:
    from sfumato.schema.layout import bins_of
    from sfumato.schema.schema import Category

    words = [f"word {n}" for n in range(300)]
    bins = bins_of(Category(values=tuple(words)))
    levels = np.arange(bins.cells + 1)
    assert levels_there(pa.array([*words, "word"]), bins, levels) == [1] * 301


@pytest.mark.every(3)
@pytest.mark.parametrize("stored", sorted(set(STORED) - {"VARCHAR"}))
def test_a_rehearsal_gives_cells_and_levels(stored: str) -> None:
    relation: Any = duckdb.connect().sql(f"SELECT NULL::{stored} AS c")
    table = open_table(relation)
    assert isinstance(table, DuckTable)
    database = DuckCounts(table)
    bins = bins_named("long ago" if stored == "DATE" else "fine")
    levels = in_levels(bins)
    kind = database.kind("c")
    assert kind is not None
    coding = coding_of(kind, bins, levels)
    assert coding is not None
    ((cells, found),) = database.rehearse(["c"], [coding], [battery(kind, coding)])
    np.testing.assert_array_equal(found, own_levels(cells, bins, levels))


@pytest.mark.parametrize(
    "stored", ["DECIMAL(9, 2)", "HUGEINT", "TIMESTAMP", "TIMESTAMPTZ", "BLOB", "INTEGER[]", "TIME"]
)
def test_other_types_are_read_here(stored: str) -> None:
    table = open_table(duckdb.connect().sql(f"SELECT NULL::{stored} AS c"))
    assert isinstance(table, DuckTable)
    assert DuckCounts(table).kind("c") is None
