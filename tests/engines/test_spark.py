"""Spark tables: the same answers as on this machine, in classic and Connect sessions, and whatever happens to tasks."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.clusters import ROWS_ONLY, SCHEMA, classic, fitted, in_a_process, needs_java, people, same

import sfumato as sf
from sfumato.engines import spark
from sfumato.engines.choosing import engine_for
from sfumato.errors import TableError
from sfumato.private.queries.base import IntArray
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

pytestmark = [pytest.mark.slow, needs_java]

PEOPLE = people(400)
TERMS = {"epsilon": 1, "delta": 1e-6}


def frame(table: pa.Table = PEOPLE) -> Any:
    return classic().createDataFrame(table)


def counts(table: Any, schema: dict[str, Any]) -> IntArray:
    layout = Layout.of(Schema.of(schema))
    query = Histograms(layout.cells, layout.classes, (1 / len(layout.cells),) * len(layout.cells))
    return engine_for(table, layout, None, False).total(query)


def test_a_fit_is_the_same_as_on_this_machine() -> None:
    assert same(fitted(frame().repartition(2), SCHEMA), fitted(PEOPLE, SCHEMA))


def test_so_it_is_where_workers_add_up_large_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "SMALL_TOTAL", 0)
    np.testing.assert_array_equal(counts(frame().repartition(3), ROWS_ONLY), counts(PEOPLE, ROWS_ONLY))


def test_every_type_is_read_as_arrow_s() -> None:
    """Spark hands instants over with the session's zone, which is not UTC here."""
    days = [datetime(2020, 1, 1, 23, 30), None, datetime(2020, 1, 2, 4, 59), datetime(2020, 1, 3)]
    cells = {
        "instant": pa.array(days, pa.timestamp("us", "UTC")),
        "shown": pa.array(days, pa.timestamp("us")),
        "day": pa.array([date(2020, 1, 1), None, date(2019, 1, 1), date(2020, 1, 3)]),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.00"), Decimal("-7.25")], pa.decimal128(9, 2)),
        "length": pa.array([timedelta(hours=1), None, timedelta(seconds=7), timedelta(days=2)], pa.duration("us")),
        "truth": pa.array([True, None, False, True]),
        "bytes": pa.array([b"a", None, b"\xff", b"b"]),
        "big": pa.array([(1 << 53) + 1, None, 1 << 53, -1], pa.int64()),
        "a.b `c`": pa.array(["1.0", None, " 1", "01"]),
        "BIG": pa.array([1.0, float("nan"), 2.5, 1e300]),
    }
    table = pa.table(cells)
    texts = {"type": "category", "missing": True}
    schema = {
        "columns": {
            "instant": {"type": "date", "min": "2020-01-01", "max": "2020-01-04", "zone": "Asia/Tokyo"},
            "shown": {"type": "datetime", "min": "2020-01-01T00:00", "max": "2020-01-04T00:00", "bins": 50},
            "day": {"type": "date", "min": "2019-12-30", "max": "2020-01-09", "missing": True},
            "price": {"type": "number", "min": -10, "max": 10, "step": 0.25},
            "length": {"type": "duration", "min": "0s", "max": "3d", "bins": 20},
            "truth": {"type": "boolean", "missing": True},
            "bytes": texts | {"values": ["a", "b"]},
            "big": texts | {"values": [str((1 << 53) + 1), str(1 << 53)]},
            "a.b `c`": texts | {"values": ["1", "01"]},
            "BIG": texts | {"values": ["1", "2.5"]},
        }
    }
    np.testing.assert_array_equal(counts(frame(table), schema), counts(table, schema))


@pytest.mark.parametrize("kind", ["array(1)", "struct(1)", "map(1, 2)", "parse_json('1')", "interval 3 month"])
def test_a_type_without_a_reading_is_refused_by_its_name(kind: str) -> None:
    table = classic().sql(f"SELECT {kind} AS x")
    with pytest.raises(TableError, match=r"column 'x' of the Spark table has type .*; only numbers, texts"):
        sf.fit(table, {"columns": {"x": {"type": "number", "min": 0, "max": 1}}}, **TERMS)


def test_what_cannot_be_fitted_is_refused_in_one_line() -> None:
    with pytest.raises(TableError, match="the Spark table has no column 'ill'; it has: extra, age, town, who"):
        sf.fit(frame().drop("ill"), SCHEMA, **TERMS)
    with pytest.raises(TableError, match="the Spark table has more than one column 'age'"):
        sf.fit(frame().withColumnRenamed("extra", "age"), SCHEMA, **TERMS)
    with pytest.raises(TableError, match="a Spark stream has no end"):
        sf.fit(classic().readStream.format("rate").load(), SCHEMA, **TERMS)
    number = {"columns": {"extra": {"type": "number", "min": 0, "max": 1}}}
    with pytest.raises(TableError, match="noisy rows are not for tables in Spark"):
        sf.fit(frame(), number, **TERMS, mechanism=sf.Slicing(form="rows"), adjacency="replace-one")
    with pytest.raises(TableError, match="a table in Spark or Dask can be fitted, where it is"):
        sf.check(frame(), SCHEMA)


def test_what_spark_raises_is_not_told_and_costs_nothing(tmp_path: Path) -> None:
    """A cast of the analyst's own that fails on a cell: Spark's message holds the cell."""
    broken = frame().selectExpr("*", "CAST(town AS INT) AS number").drop("age").withColumnRenamed("number", "age")
    sf.Ledger(tmp_path / "l.db").open("people", 2, 1e-5, unit="who")
    with pytest.raises(TableError) as caught:
        sf.fit(broken, SCHEMA, **TERMS, ledger=tmp_path / "l.db", dataset="people")
    assert str(caught.value).startswith("Spark did not read the table to its end; its own log, which may hold rows")
    assert caught.value.__context__ is None
    assert not sf.Ledger(tmp_path / "l.db").accounts("people")[0].counted


def test_only_the_columns_of_the_schema_are_read() -> None:
    layout = Layout.of(Schema.of(ROWS_ONLY))
    engine = engine_for(frame(), layout, None, False)
    assert isinstance(engine, spark.SparkEngine)
    assert len(engine._frame.columns) == len(ROWS_ONLY["columns"]) == len(PEOPLE.column_names) - 2


@pytest.mark.parametrize("kind", ["connect", "standalone"])
def test_other_sessions_give_the_same(kind: str) -> None:
    in_a_process("-m", "tests.clusters", kind)
