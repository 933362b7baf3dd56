"""DuckDB relations and files."""

import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.tables.helpers import cell_texts, readings

from sfumato.errors import MissingExtraError, TableError
from sfumato.tables import open_table


def test_duckdb_types() -> None:
    columns = [
        "340282366920938463463374607431768211455::UHUGEINT AS wide",
        "(-5)::HUGEINT AS sum",
        "'x'::ENUM('x', 'y') AS e",
        "'101'::BIT AS bits",
        "TIMESTAMPTZ '2020-01-01 00:00:00+02' AS t",
        "'infinity'::DATE AS far",
        "TIME '10:00' AS clock",
        "[1] AS list",
        '1 AS "a.b", 2 AS A, 3 AS a, 4 AS "q""q"',
    ]
    relation = duckdb.connect().sql(f"SELECT {', '.join(columns)}")
    expected = {"wide": str(2**128 - 1), "sum": "-5", "e": "x", "bits": "101", "t": "2019-12-31T22:00:00Z", "far": ""}
    for name, text in (expected | {"a.b": "1", "A": "2", "a": "3", 'q"q': "4"}).items():
        assert cell_texts(relation, name) == [text]
    assert cell_texts(relation, "clock") == ["10:00:00"]
    with pytest.raises(TableError, match="column 'list' of the relation has type"):
        open_table(relation).batches(["list"])


def test_an_unfinished_pass_over_a_relation_does_not_stop_the_next() -> None:
    table = open_table(duckdb.connect().sql("SELECT range AS c FROM range(1000000)"))
    batches = table.batches(["c"])
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert sum(batch.num_rows for batch in table.batches(["c"])) == 1_000_000


def test_a_file_reads_no_other_file(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "t.duckdb", tmp_path / "elsewhere.csv"
    elsewhere.write_text("c\nsecret\n")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE own AS SELECT 1 AS c")
        connection.execute(f"CREATE VIEW peep AS FROM read_csv('{elsewhere}')")
    assert cell_texts(path) == ["1"]
    with pytest.raises(TableError, match="the view reads other files; copy it into a table of the file, or give a rel"):
        open_table(path, table="peep")
    with duckdb.connect(path) as connection:  # the caller's own relation may
        assert cell_texts(connection.sql("FROM peep")) == ["secret"]


def test_duckdb_files(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE "o""ne" AS SELECT 1 AS c')
        connection.execute("CREATE VIEW seen AS SELECT 2 AS c")
        with pytest.raises(TableError, match="is open in this program; close that connection"):
            open_table(path)
    assert cell_texts(path) == ["1"]
    assert [text for _, text, _ in readings(open_table(path, table="seen"), "c")] == ["2"]
    with pytest.raises(TableError, match=r"has no table 'two'; it has: o\"ne, seen$"):
        open_table(path, table="two")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE two AS SELECT 3 AS c; CREATE SCHEMA s; CREATE TABLE s.two AS SELECT 4 AS c")
    with pytest.raises(
        TableError, match=r"exactly one table; choose one with --table, in Python table=: o\"ne, seen, two"
    ):
        open_table(path)
    with pytest.raises(TableError, match="more than one table 'two'"):
        open_table(path, table="two")
    with duckdb.connect(tmp_path / "empty.db"):
        pass
    with pytest.raises(TableError, match=r"in Python table=: none$"):
        open_table(tmp_path / "empty.db")


def test_duckdb_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"needs an extra: pip install sfumato\[sql\]$"):
        open_table(tmp_path / "t.duckdb")
    assert cell_texts(pa.table({"c": ["a"]})) == ["a"]
