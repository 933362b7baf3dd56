"""Whose rows a query gives: those of one table, each by itself, or others; in doubt others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.engines.questions import postgres

from sfumato.tables import open_table
from sfumato.tables.duckdb import DuckTable
from sfumato.tables.sql import SqlTable

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

PLAIN = [
    "SELECT * FROM people",
    "SELECT age, lower(town) AS t FROM people WHERE age > 3 AND town IN ('a', 'b') OR age IS NULL",
    "SELECT CASE WHEN age > 3 THEN 'a' ELSE 'b' END AS c, coalesce(age, 3) AS d FROM people",
    "SELECT * FROM (SELECT age FROM people WHERE age > 3) s WHERE age < 7",
]
OTHERS = [
    "SELECT * FROM people LIMIT 3",
    "SELECT * FROM people WHERE random() < 0.5",
    "SELECT a.* FROM people a JOIN people b USING (age)",
    "SELECT * FROM people WHERE age IN (SELECT age FROM people)",
    "SELECT age, (SELECT max(age) FROM people) AS m FROM people",
    "SELECT DISTINCT age FROM people",
    "SELECT age, row_number() OVER () AS n FROM people",
    "SELECT sum(age) AS s FROM people",
    "SELECT age, count(*) AS n FROM people GROUP BY age",
    "SELECT * FROM people UNION ALL SELECT * FROM people",
    "SELECT * FROM seen",
    "SELECT * FROM people, people b",
]


def connection() -> Any:
    found = duckdb.connect()
    found.execute("CREATE TABLE people AS SELECT 1 AS age, 'x' AS town")
    found.execute("CREATE VIEW seen AS SELECT a.* FROM people a JOIN people b USING (age)")
    return found


def is_one_table(relation: Any) -> bool:
    table = open_table(relation)
    assert isinstance(table, DuckTable)
    return table.one_table


@pytest.mark.parametrize("query", PLAIN)
def test_columns_and_a_condition_of_one_table(query: str) -> None:
    assert is_one_table(connection().sql(query))


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "query",
    [
        *OTHERS,
        "SELECT age FROM people GROUP BY ALL",
        "SELECT age FROM people WHERE rowid < 10",
        "SELECT unnest([1, 2]) AS u, age FROM people",
        "SELECT * FROM people USING SAMPLE 10%",
        "SELECT * FROM people QUALIFY row_number() OVER (PARTITION BY town) = 1",
        "WITH t AS (FROM people) SELECT a.* FROM t a, t b",
        "SELECT * FROM range(3)",
    ],
)
def test_all_else_is_a_query(query: str) -> None:
    assert not is_one_table(connection().sql(query))


@pytest.mark.parametrize("macro", ["twice(x) AS x * 2", "UPPER(x) AS (SELECT max(age) FROM people)", '"+"(a, b) AS 1'])
def test_functions_of_somebody_s_making_may_stand_for_any(macro: str) -> None:
    """A macro goes before DuckDB's own function of that name, whatever its case, and may look at other rows."""
    made = connection()
    made.execute(f"CREATE MACRO {macro}")
    for query in ("SELECT upper(town) AS t FROM people", "SELECT age + 1 AS a FROM people", "SELECT * FROM people"):
        assert is_one_table(connection().sql(query))
        assert not is_one_table(made.sql(query))


def test_relations() -> None:
    people = connection().table("people")
    assert is_one_table(people)
    assert is_one_table(people.filter("age > 1"))
    assert not is_one_table(people.limit(1))
    assert not is_one_table(duckdb.connect().from_arrow(pa.table({"age": [1]})))  # whatever that was made of


def test_tables_and_views_of_a_file(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as there:
        there.execute("CREATE TABLE people AS SELECT 1 AS age")
        there.execute("CREATE VIEW seen AS SELECT * FROM people LIMIT 1")
    for name, expected in {"people": True, "seen": False}.items():
        table = open_table(tmp_path / "t.duckdb", table=name)
        assert isinstance(table, DuckTable)
        assert table.one_table is expected


def test_of_sqlite_only_tables_are_known(tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "t.sqlite") as there:
        there.execute("CREATE TABLE people (age)")
        there.execute("CREATE VIEW seen AS SELECT * FROM people")
    there.close()
    options: dict[str, dict[str, str]] = {
        "a table": {"table": "people"},
        "a view": {"table": "seen"},
        "a query": {"query": "SELECT * FROM people"},
    }
    found = {}
    for what, given in options.items():
        table = open_table(tmp_path / "t.sqlite", **given)
        assert isinstance(table, SqlTable)
        found[what] = table.one_table
    assert found == {"a table": True, "a view": False, "a query": False}


@pytest.mark.slow
def test_queries_of_postgresql() -> None:
    only_here = [
        "SELECT * FROM people TABLESAMPLE system (50)",
        "SELECT generate_series(1, 2) AS g, age FROM people",
        "SELECT * FROM people WHERE now() > '2020-01-01'",
        "SELECT * FROM people WHERE mine(age) > 1",
        "SELECT * FROM parts",
        "SELECT * FROM people WHERE xmin IS NOT NULL",
    ]
    with postgres() as (url, connection):
        connection.exec_driver_sql("CREATE TABLE people (age int PRIMARY KEY, town text)")
        connection.exec_driver_sql("CREATE TABLE parts (age int) PARTITION BY RANGE (age)")
        connection.exec_driver_sql("CREATE VIEW seen AS SELECT a.* FROM people a JOIN people b USING (town)")
        connection.exec_driver_sql(
            "CREATE FUNCTION mine(int) RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'"
        )
        plain = [
            *PLAIN,
            "SELECT * FROM people WHERE age = 3",
            "SELECT * FROM people ORDER BY town",
            "SELECT age::text AS a FROM people WHERE town = 'random()'",
        ]
        for query in [*plain, *OTHERS, *only_here]:
            table = open_table(url, query=query)
            assert isinstance(table, SqlTable)
            assert table.one_table is (query in plain), query
        for name, expected in {"people": True, "parts": True, "seen": False}.items():
            table = open_table(url, table=name)
            assert isinstance(table, SqlTable)
            assert table.one_table is expected
        connection.exec_driver_sql(
            "CREATE FUNCTION rests(int, int) RETURNS bool VOLATILE LANGUAGE sql AS 'SELECT count(*) > 0 FROM people'"
        )
        connection.exec_driver_sql("CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = rests)")
        for query in ("SELECT * FROM people WHERE age === 3", "SELECT * FROM people WHERE age = 3"):
            table = open_table(url, query=query)
            assert isinstance(table, SqlTable)
            assert not table.one_table  # a plan does not tell whose operator it is
