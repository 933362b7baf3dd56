"""Tables are converted cell by cell, and what could not be read is counted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.conversion import Conversion, convert
from sfumato.errors import TableError
from sfumato.tables import open_table

CONTENT = b'id,zip,note\n1,00123,"two\nlines, ""quoted"""\n2,04109,plain\n3,x\n4,\xff,"a"\n5,,\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "t.csv"
    made.write_bytes(CONTENT)
    return made


def test_csv_with_line_breaks_in_quotes(path: Path, tmp_path: Path) -> None:
    seen: list[float] = []
    found = convert(open_table(path), tmp_path / "t.parquet", progress=seen.append)
    assert found == Conversion(rows=5, lost_rows=1, lost_cells=1)
    assert seen[-1] == 1.0
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == [
        {"id": "1", "zip": "00123", "note": 'two\nlines, "quoted"'},
        {"id": "2", "zip": "04109", "note": "plain"},
        {"id": None, "zip": None, "note": None},
        {"id": "4", "zip": None, "note": "a"},
        {"id": "5", "zip": "", "note": ""},
    ]


@pytest.mark.parametrize("kind", ["xlsx", "sqlite", "duckdb", "arrow", "parquet"])
def test_any_kind_to_any_other(path: Path, kind: str, tmp_path: Path) -> None:
    convert(open_table(path), tmp_path / f"t.{kind}")
    found = convert(open_table(tmp_path / f"t.{kind}"), tmp_path / "back.parquet")
    kept = [row for row in pq.read_table(tmp_path / "back.parquet").to_pylist() if row["id"]]
    assert [(row["id"], row["zip"] or "") for row in kept] == [("1", "00123"), ("2", "04109"), ("4", ""), ("5", "")]
    assert found.lost_rows == found.lost_cells == 0


def test_numbers_of_objects_are_written_as_plain_text(tmp_path: Path) -> None:
    stored = pa.record_batch({"n": [1], "x": [2.5], "b": [True]})
    from sfumato.rows_file import write_rows

    write_rows([stored], tmp_path / "t.xlsx")
    convert(open_table(tmp_path / "t.xlsx"), tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pylist() == [{"n": "1", "x": "2.5", "b": "true"}]


def test_a_table_without_rows_keeps_its_names(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"a,b\n")
    assert convert(open_table(path), tmp_path / "t.parquet").rows == 0
    assert pq.read_table(tmp_path / "t.parquet").column_names == ["a", "b"]


def test_a_failure_writes_nothing(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b'a,b\n1,"x\n')
    with pytest.raises(TableError, match="is opened and not closed"):
        convert(open_table(path), tmp_path / "t.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_files_that_differ_in_type_are_refused(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for place, cell in enumerate((1, "x")):
        pq.write_table(pa.table({"a": [cell]}), tmp_path / "parts" / f"{place}.parquet")
    with pytest.raises(TableError, match="stores a column in several types"):
        convert(open_table(tmp_path / "parts"), tmp_path / "t.csv")
