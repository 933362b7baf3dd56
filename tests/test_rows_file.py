"""Rows are written in batches, to a whole file or to none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato.errors import OutputError
from sfumato.rows_file import write_rows

BATCHES = [pa.record_batch({"n": [1, 2], "s": ["a", "b"]}), pa.record_batch({"n": [3], "s": ["c"]})]


@pytest.mark.parametrize("name", ["r.csv", "r.CSV", "r.parquet", "r.pq"])
def test_all_batches_are_written_in_order(name: str, tmp_path: Path) -> None:
    heard: list[int] = []
    write_rows(iter(BATCHES), tmp_path / name, heard.append)
    read = pa.csv.read_csv if name.lower().endswith("csv") else pq.read_table
    assert read(tmp_path / name).to_pylist() == pa.Table.from_batches(BATCHES).to_pylist()
    assert heard == [2, 1]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["r", "r.txt", "r.csv.gz"])
def test_a_name_of_no_known_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"ends in \.csv or \.parquet$"):
        write_rows(BATCHES, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_a_failure_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield BATCHES[0]
        raise KeyboardInterrupt

    (tmp_path / name).write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_rows(failing(), tmp_path / name)
    assert (tmp_path / name).read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [name]
