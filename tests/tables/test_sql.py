"""SQL databases: cells one at a time, a statement a pass, no password and no cell in any message."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.engines.questions import postgres
from tests.tables.helpers import cell_texts, readings

from sfumato.errors import ArgumentError, MissingExtraError, TableError
from sfumato.tables import open_table
from sfumato.tables.sql import FETCHED_ROWS


def lite(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    people = "CREATE TABLE people (id INTEGER, c)"
    rows = "INSERT INTO people VALUES (1, '007'), (2, 7), (3, 7.0), (4, NULL), (5, CAST(x'ff' AS TEXT)), (6, x'61')"
    return lite(tmp_path / "t.sqlite", people, rows)


TEXTS = ["007", "7", "7", "", "", "a"]


@pytest.mark.parametrize("name", ["t.sqlite", "t.sqlite3", "t.db", "t.duckdb"])
def test_sqlite_files_are_known_by_what_they_hold(path: Path, name: str) -> None:
    assert cell_texts(path.rename(path.with_name(name))) == TEXTS


def test_urls_of_sqlite_files(path: Path) -> None:
    assert cell_texts(f"sqlite:///{path}") == TEXTS
    with pytest.raises(ArgumentError, match="a database in memory"):
        open_table("sqlite://")
    with pytest.raises(TableError, match=r"no\.sqlite does not exist"):
        open_table(f"sqlite:///{path.with_name('no.sqlite')}")


def test_queries(path: Path) -> None:
    table = open_table(path, query="SELECT c AS \"a b\", id * 2 AS c FROM people WHERE c LIKE '0%' ; ")
    assert table.names == ("a b", "c")
    assert [text for _, text, _ in readings(table, "c")] == ["2"]
    assert [text for _, text, _ in readings(table, "a b")] == ["007"]
    assert cell_texts(open_table(path, query="SELECT c FROM people -- all of them")) == TEXTS  # type: ignore[arg-type]


def test_tables_and_views(path: Path) -> None:
    lite(path, 'CREATE TABLE "o""dd" (c)', "CREATE VIEW seen AS SELECT c FROM people")
    assert [text for _, text, _ in readings(open_table(path, table="seen"), "c")] == TEXTS
    assert readings(open_table(path, table='o"dd'), "c") == []
    with pytest.raises(TableError, match=r"choose one with --table, in Python table=: o\"dd, people$"):
        open_table(path)
    with pytest.raises(TableError, match=r"has no table 'none'; it has: o\"dd, people$"):
        open_table(path, table="none")
    with pytest.raises(ArgumentError, match="table and query are two ways"):
        open_table(path, table="seen", query="SELECT 1")


def test_truth_values_are_those_of_columns_declared_so(tmp_path: Path) -> None:
    made = lite(tmp_path / "t.sqlite", "CREATE TABLE t (c BOOLEAN, n INTEGER)")
    lite(made, "INSERT INTO t VALUES (1, 1), (0, 0), (2, 2), ('x', 3), (NULL, NULL)")
    assert cell_texts(made) == ["true", "false", "2", "x", ""]
    assert cell_texts(made, "n") == ["1", "0", "2", "3", ""]


def test_what_a_statement_says_is_told_and_what_rows_say_is_not(path: Path) -> None:
    with pytest.raises(TableError, match=r"t.sqlite refuses the query: near \"1\": syntax error$"):
        open_table(path, query="SELEC 1")
    with pytest.raises(TableError, match=r"refuses the query: no such column: town$"):
        open_table(path, query="SELECT town FROM people")
    table = open_table(path, query="SELECT json(c || 'secret') AS c FROM people")
    with pytest.raises(TableError, match=r"^cannot read .*t.sqlite: OperationalError$"):
        list(table.batches(["c"]))


def test_a_file_is_opened_for_reading_only(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(TableError, match="refuses the query"):
        open_table(path, query="DELETE FROM people")
    assert path.read_bytes() == before


def test_rows_come_in_parts_and_a_pass_may_stop(tmp_path: Path) -> None:
    many = 2 * FETCHED_ROWS + 5
    made = lite(tmp_path / "t.sqlite", "CREATE TABLE t (c)")
    with closing(sqlite3.connect(made)) as connection:
        connection.executemany("INSERT INTO t VALUES (?)", ((place,) for place in range(many)))
        connection.commit()
    table = open_table(made)
    assert not table.rereadable  # somebody may write between two passes
    batches = table.batches(["c"])
    assert next(batches).num_rows == FETCHED_ROWS
    batches.close()  # type: ignore[attr-defined]
    assert cell_texts(table) == [str(place) for place in range(many)]


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "t.sqlite").write_bytes(b"secret" * 200)
    with pytest.raises(TableError, match=r"^cannot read .*t.sqlite: DatabaseError$"):
        open_table(tmp_path / "t.sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:geheim@localhost:1/clinic",
        "postgresql://localhost:1/clinic?user=me&password=geheim",
        "klingon://me:geheim@localhost/clinic",
        "postgresql://me:geheim@localhost:port/clinic",
    ],
)
def test_no_password_is_told(url: str) -> None:
    with pytest.raises((TableError, ArgumentError)) as caught:
        open_table(url, table="people")
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_postgres_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"needs an extra: pip install sfumato\[sql\]$"):
        open_table("postgresql://localhost/clinic", table="people")


@pytest.fixture
def server() -> Iterator[tuple[str, sa.Connection]]:
    """A PostgreSQL server, with a schema of our own first in the search path."""
    with postgres() as found:
        yield found


def test_postgresql(server: tuple[str, sa.Connection]) -> None:
    url, connection = server
    connection.exec_driver_sql(
        "CREATE TABLE people (id uuid, n numeric, d date, t timestamptz, s text, j jsonb, far interval)"
    )
    connection.exec_driver_sql(
        "INSERT INTO people VALUES ('00000000-0000-0000-0000-000000000001', 1.50, 'infinity', '2020-01-01 06:00+06', "
        "'x%%', '{}', '100000000 years'), (NULL, 'NaN', '2020-01-02', '0044-03-15 BC', '007', NULL, NULL)"
    )
    expected = {
        "id": ["00000000-0000-0000-0000-000000000001", ""],
        "n": ["1.50", ""],
        "d": ["", "2020-01-02"],  # what Python has no date for is missing, alone
        "s": ["x%", "007"],
        "j": ["{}", ""],
        "far": ["", ""],
    }
    for options in ({}, {"table": "people"}, {"query": "SELECT * FROM people WHERE s LIKE '%' ORDER BY id"}):
        table = open_table(url, **options)
        assert "geheim" not in repr(table)
        for column, texts in expected.items():
            assert [text for _, text, _ in readings(table, column)] == texts
        assert readings(table, "t")[0][1].startswith("2020-01-01")
        assert readings(table, "t")[1][1] == ""
    with pytest.raises(TableError, match=r'refuses the query: column "town" does not exist$'):
        open_table(url, query="SELECT town FROM people")
    failing = open_table(url, query="SELECT (s || 'secret')::int AS c FROM people")
    with pytest.raises(TableError, match=r"^cannot read postgresql://\S+: DataError$"):
        list(failing.batches(["c"]))


def test_postgresql_rows_come_through_a_cursor_of_the_server(server: tuple[str, sa.Connection]) -> None:
    url, connection = server
    batches = open_table(url, query="SELECT generate_series(1, 100000) AS c").batches(["c"])
    assert next(batches).num_rows == FETCHED_ROWS
    fetching = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH FORWARD%%'"
    assert connection.exec_driver_sql(fetching).scalar() == 1
    assert sum(batch.num_rows for batch in batches) == 100_000 - FETCHED_ROWS


def test_postgresql_is_only_read(server: tuple[str, sa.Connection]) -> None:
    url, connection = server
    connection.exec_driver_sql("CREATE TABLE people (c int)")
    connection.exec_driver_sql(
        "CREATE FUNCTION add() RETURNS int LANGUAGE sql AS 'INSERT INTO people VALUES (1) RETURNING c'"
    )
    with pytest.raises(TableError, match="cannot read postgresql"):
        list(open_table(url, query="SELECT add() AS c").batches(["c"]))
    assert connection.exec_driver_sql("SELECT count(*) FROM people").scalar() == 0
