"""A database counts what it can: the same totals, and whoever listens hears when rows are read instead, and why."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.engines.questions import distances, histograms, postgres, tables

import sfumato as sf
from sfumato.api import prepare
from sfumato.engines import pushdown
from sfumato.engines.choosing import engine_for
from sfumato.engines.duckdb_counts import DuckCounts
from sfumato.engines.pushdown import PushedDown
from sfumato.errors import LedgerError, TableError
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Query
from sfumato.private.units import Units
from sfumato.progress import Streamed, listening
from sfumato.schema.layout import QUERY_ROW, Layout
from sfumato.schema.schema import Schema

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

COLUMNS: dict[str, Any] = {
    "age": {"type": "number", "min": 0, "max": 99, "step": 1, "missing": True},
    "town": {"type": "category", "values": ["Bonn", "Ulm"], "missing": True},
    "ill": {"type": "category", "values": ["yes_", "no_"]},
}
SCHEMA = Schema.of({"label": "ill", "columns": COLUMNS})
LAYOUT = Layout.of(SCHEMA)
ROWS = pa.table(
    {
        "age": pa.array([3, None, 250, 41, 41, 7] * 50, pa.int32()),
        "town": ["Bonn", " Ulm", None, "Rome", "Ulm", "Bonn"] * 50,
        "ill": ["yes_", "no_", "no_", "maybe", None, "no_"] * 50,
    }
)


def relation(rows: pa.Table = ROWS) -> Any:
    connection = duckdb.connect()
    connection.register("rows_here", rows)
    connection.execute("CREATE TABLE people AS SELECT * FROM rows_here")
    return connection.table("people")


def asked(engine: Any, query: Query) -> tuple[np.ndarray, list[str]]:
    heard: list[Any] = []
    with listening(heard.append):
        total = engine.total(query)
    assert all(isinstance(event, Streamed) for event in heard)
    return total, [event.reason for event in heard]


@pytest.mark.every(2)
@pytest.mark.parametrize("question", [histograms, tables, distances])
@pytest.mark.parametrize("label", [True, False])
def test_counts_of_the_database_are_the_totals_of_its_rows(question: Any, label: bool) -> None:
    layout = LAYOUT if label else Layout.of(Schema.of({"columns": COLUMNS}))
    query = question(layout)
    engine = engine_for(relation(), layout, None, False)
    found, reasons = asked(engine, query)
    assert isinstance(engine, PushedDown)
    assert reasons == []
    np.testing.assert_array_equal(found, engine_for(ROWS, layout, None, False).total(query))
    assert found.sum() > 0


def test_rows_with_a_bad_label_count_nowhere() -> None:
    found, _ = asked(engine_for(relation(), LAYOUT, None, False), histograms(LAYOUT))
    assert found.sum() == 2 * 200


def test_no_row_is_read_where_the_database_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEngine, "total", lambda *_: pytest.fail("rows were read"))
    asked(engine_for(relation(), LAYOUT, None, False), tables(LAYOUT))


def test_whoever_wants_rows_added_up_here_has_them_so() -> None:
    engine = engine_for(relation(), LAYOUT, None, False, sf.Local(workers=1))
    assert isinstance(engine, PushedDown)
    assert engine._counting is None
    np.testing.assert_array_equal(
        asked(engine, histograms(LAYOUT))[0], engine_for(ROWS, LAYOUT, None, False).total(histograms(LAYOUT))
    )


def replaced(column: str, cells: pa.Array) -> pa.Table:
    return ROWS.set_column(ROWS.column_names.index(column), column, cells)


@pytest.mark.parametrize(
    ("column", "cells", "reason"),
    [
        ("age", ROWS["age"].cast(pa.string()), "column 'age' is stored in a type that is read here"),
        ("age", ROWS["age"].cast(pa.decimal128(20, 2)), "column 'age' is stored in a type that is read here"),
        ("ill", ROWS["ill"].cast(pa.binary()), "column 'ill' is stored in a type that is read here"),
    ],
)
def test_a_type_that_is_read_here_is_told(column: str, cells: pa.Array, reason: str) -> None:
    rows = replaced(column, cells)
    engine = engine_for(relation(rows), LAYOUT, None, False)
    found, reasons = asked(engine, histograms(LAYOUT))
    assert reasons == [reason]
    np.testing.assert_array_equal(found, engine_for(rows, LAYOUT, None, False).total(histograms(LAYOUT)))
    assert asked(engine, tables(LAYOUT))[1] == []  # said once: rows are here now


def test_a_database_that_sees_public_values_otherwise_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearse = DuckCounts.rehearse

    def otherwise(self: Any, *given: Any) -> Any:
        found = rehearse(self, *given)
        (cells, levels) = found[1]
        return [found[0], (cells, levels + 1), *found[2:]]

    monkeypatch.setattr(DuckCounts, "rehearse", otherwise)
    monkeypatch.setattr(DuckCounts, "count", lambda *_: pytest.fail("it was asked"))
    found, reasons = asked(engine_for(relation(), LAYOUT, None, False), histograms(LAYOUT))
    assert reasons == ["the database sees public values of column 'town' otherwise than we do"]
    np.testing.assert_array_equal(found, engine_for(ROWS, LAYOUT, None, False).total(histograms(LAYOUT)))


@pytest.mark.slow
def test_units_and_fine_bins_and_large_tables_are_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    with_unit = Layout.of(Schema.of({"label": "ill", "columns": COLUMNS, "unit": {"column": "who", "rows": 1}}))
    rows = ROWS.append_column("who", pa.array(range(300)))
    units = Units(1, bytes(32))
    assert asked(engine_for(relation(rows), with_unit, units, False), histograms(with_unit))[1] == [
        "which rows of a unit count is chosen here"
    ]
    monkeypatch.setattr(DuckCounts, "most_cuts", 3)
    assert asked(engine_for(relation(), LAYOUT, None, False), histograms(LAYOUT))[1] == [
        "column 'age' has more bins than the database is asked to tell apart"
    ]
    monkeypatch.undo()
    monkeypatch.setattr(pushdown, "MOST_COUNTED_CELLS", 3)
    assert asked(engine_for(relation(), LAYOUT, None, False), histograms(LAYOUT))[1] == [
        "the tables have too many cells"
    ]


def test_more_rows_than_the_cap_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushdown, "ROW_CAP", 299)
    with pytest.raises(TableError, match="a table may have at most 299 rows; split it"):
        asked(engine_for(relation(), LAYOUT, None, False), histograms(LAYOUT))


@pytest.mark.slow
def test_a_fit_is_the_same_wherever_rows_are_counted() -> None:
    heard: list[str] = []
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "rows": 300, "insecure_seed": 3}
    there = sf.fit(relation(), SCHEMA, **options, progress=lambda event: heard.append(str(event)))
    here = sf.fit(ROWS, SCHEMA, **options)
    assert there.sample(20, seed=0).equals(here.sample(20, seed=0))
    assert [a.values.tolist() for a in there.answers] == [a.values.tolist() for a in here.answers]
    assert heard.count("reading rows out of the database: the question is for more than counts") <= 1


def test_a_guarantee_is_about_rows_of_a_table_or_of_a_query() -> None:
    people = relation()
    units = {
        "row": [people, people.filter("age > 2"), people.project("age, town, ill")],
        QUERY_ROW: [people.limit(100), people.distinct(), people.union(people)],
    }
    for unit, relations in units.items():
        for each in relations:
            assert prepare(each, SCHEMA, epsilon=1, delta=1e-6).unit == unit


@pytest.mark.slow
def test_a_release_of_a_query_says_so(tmp_path: Path) -> None:
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "rows": 300}
    ledger = sf.Ledger(tmp_path / "ledger.db")
    ledger.open("people", epsilon=3, delta=1e-5)
    ledger.open("pairs", epsilon=3, delta=1e-5, unit=QUERY_ROW)
    few = relation().limit(100)
    with pytest.raises(LedgerError, match="this release protects one row of the query's result"):
        sf.fit(few, SCHEMA, **options, ledger=ledger, dataset="people")
    release = sf.fit(few, SCHEMA, **options, ledger=ledger, dataset="pairs")
    assert "one row of the query's result added or removed" in str(release.guarantee)
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").guarantee == release.guarantee
    assert html.escape(f"one {QUERY_ROW}") in sf.report(release).replace("&#39;", "&#x27;")


@pytest.mark.slow
def test_all_passes_over_postgresql_see_one_state() -> None:
    with postgres() as (url, connection):
        connection.exec_driver_sql("CREATE TABLE people (age int4, town text, ill varchar)")
        connection.exec_driver_sql(
            "INSERT INTO people VALUES (3, 'Bonn', 'yes_'), (NULL, ' Ulm', 'no_'), (1, 'x', 'x')"
        )
        engine: Any = engine_for(sf.open_table(url, query="SELECT * FROM people"), LAYOUT, None, False)
        first, reasons = asked(engine, histograms(LAYOUT))
        assert reasons == []
        connection.exec_driver_sql("INSERT INTO people SELECT * FROM people")
        np.testing.assert_array_equal(asked(engine, histograms(LAYOUT))[0], first)
        engine._counting = None
        np.testing.assert_array_equal(asked(engine, histograms(LAYOUT))[0], first)
        del engine  # with its transaction, so that the table can go
        again = asked(engine_for(sf.open_table(url, table="people"), LAYOUT, None, False), histograms(LAYOUT))[0]
        assert again.sum() == 2 * first.sum()
