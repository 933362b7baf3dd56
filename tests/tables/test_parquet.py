"""Parquet files and folders: whole names, parts in order, and damage that takes nothing else with it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.helpers import cell_texts, parquet_file, readings

from sfumato.errors import TableError
from sfumato.tables import open_table, texts


def test_invalid_bytes_in_parquet_change_no_other_cell(tmp_path: Path) -> None:
    stored = pa.array([b"A", b"\xff", b"1.0"], pa.binary()).view(pa.string())
    table = open_table(parquet_file(tmp_path, pa.table({"c": stored})))
    assert [text for _, text, _ in readings(table, "c")] == ["A", "", "1"]


def test_names_with_dots_are_whole_names(tmp_path: Path) -> None:
    stored = pa.table({"a.b": ["x"], "a": ["y"], "c": [{"a": 1}]})
    (batch,) = open_table(parquet_file(tmp_path, stored)).batches(["a", "a.b"])
    assert [texts(column).to_pylist() for column in batch.columns] == [["y"], ["x"]]


def test_a_file_damaged_in_the_middle(tmp_path: Path) -> None:
    path = parquet_file(tmp_path, pa.table({"c": [f"cell {place}" for place in range(1000)]}), compression="zstd")
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(content)
    with pytest.raises(TableError, match="as Parquet"):
        list(open_table(path).batches(["c"]))


def test_folders(tmp_path: Path) -> None:
    for name in ("b.parquet", "a=1/c.PQ", "a.parquet", "_hidden.parquet", ".crc.parquet", "_temporary/x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"c": [name]}), tmp_path / name)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "empty.parquet").mkdir()
    assert cell_texts(tmp_path) == ["a.parquet", "a=1/c.PQ", "b.parquet"]
    with pytest.raises(TableError, match=r"empty.parquet holds no Parquet file"):
        open_table(tmp_path / "empty.parquet")
    pq.write_table(pa.table({"c": [[1]], "d": [1]}), tmp_path / "z.parquet")
    with pytest.raises(TableError, match=r"column 'c' of .*z.parquet has type list"):
        open_table(tmp_path).batches(["c"])
    with pytest.raises(TableError, match=r"a.*has no column 'd'; it has: c$"):
        open_table(tmp_path).batches(["d"])
    pq.write_table(pa.table({"d": [1]}), tmp_path / "z.parquet")
    with pytest.raises(TableError, match=r"z.parquet has no column 'c'; it has: d$"):
        open_table(tmp_path).batches(["c"])
