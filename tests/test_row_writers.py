"""What each format keeps of a row."""

from __future__ import annotations

import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sfumato import row_writers
from sfumato.errors import MissingExtraError, OutputError
from sfumato.row_writers import FILES
from sfumato.rows_file import write_rows
from sfumato.tables import open_table, texts

BATCH = pa.record_batch(
    {
        "n": [1, None],
        "x": [1.5, float("nan")],
        "s": ["=1+1", 'ü,\t"'],
        "b": [True, None],
        "d": [date(2020, 2, 29), None],
        "t": [datetime(2020, 1, 1, 3), None],
        "z": [Decimal("1.25"), None],
        "aware": pa.array([datetime(2020, 1, 1, 3), None], pa.timestamp("us", "Europe/Berlin")),
        "old": [date(1, 1, 1), None],
        "big": [2**60 + 1, None],
    }
)


def read(path: Path) -> dict[str, list[str]]:
    table = pa.Table.from_batches(open_table(path).batches(BATCH.schema.names))
    return {name: texts(table[name].combine_chunks()).to_pylist() for name in table.column_names}


@pytest.mark.parametrize("kind", ["csv", "tsv", "txt", "csv.gz", "tsv.zst", "csv.bz2", *FILES])
def test_what_is_written_reads_back(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{kind}"
    write_rows(iter([BATCH, BATCH]), path)
    found = read(path)
    first = {
        "n": "1",
        "x": "1.5",
        "b": "true",
        "d": "2020-02-29",
        "z": "1.25",
        "old": "0001-01-01",
        "big": str(2**60 + 1),
    }
    for column, expected in first.items():
        assert [text.replace("nan", "") for text in found[column]] == [expected, ""] * 2
    assert found["s"] == ["=1+1", 'ü,\t"'] * 2  # in Excel no formula
    for column in ("t", "aware"):
        assert [text[:10] for text in found[column]] == ["2020-01-01", ""] * 2
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather", "duckdb"])
def test_types_are_kept(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{kind}"
    write_rows([BATCH], path)
    (kept,) = open_table(path).batches(BATCH.schema.names)
    assert kept.to_pylist()[0] == BATCH.to_pylist()[0]


def test_a_table_of_a_database_is_called_as_the_file(tmp_path: Path) -> None:
    for kind in ("sqlite", "duckdb"):
        write_rows([BATCH], tmp_path / f"people.2020.{kind}")
        assert open_table(tmp_path / f"people.2020.{kind}", table="people").names == tuple(BATCH.schema.names)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("EXCEL_ROWS", 3, "Excel takes at most 2 rows"),
        ("EXCEL_COLUMNS", 6, "Excel takes at most 6 columns"),
        ("EXCEL_LETTERS", 3, "holds at most 3 letters"),
    ],
)
def test_what_excel_cannot_hold(
    limit: str, value: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_writers, limit, value)
    with pytest.raises(OutputError, match=message):
        write_rows([BATCH, BATCH], tmp_path / "rows.xlsx")
    assert not list(tmp_path.iterdir())


def test_excel_takes_no_control_characters(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no control characters"):
        write_rows([pa.record_batch({"s": ["a\x00"]})], tmp_path / "rows.xlsx")


def test_sqlite_takes_no_name_twice_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write these rows as SQLite: duplicate column name"):
        write_rows([pa.RecordBatch.from_arrays([pa.array([1])] * 2, ["a", "A"])], tmp_path / "rows.sqlite")


@pytest.mark.parametrize(("kind", "library"), [("xlsx", "openpyxl"), ("duckdb", "duckdb")])
def test_extras(kind: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match="needs an extra: pip install sfumato"):
        write_rows([BATCH], tmp_path / f"rows.{kind}")
    assert not list(tmp_path.iterdir())


def test_tables_are_named_safely(tmp_path: Path) -> None:
    for kind in ("sqlite", "duckdb"):
        odd: Any = tmp_path / f'a"b; --.{kind}'
        write_rows([BATCH], odd)
        assert read(odd)["n"][0] == "1"
