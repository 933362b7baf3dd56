"""Rows are written in batches, to a whole file or to none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from sfumato.errors import OutputError
from sfumato.rows_file import write_rows
from sfumato.tables import open_table, texts

Capture: TypeAlias = pytest.CaptureFixture[bytes]

BATCHES = [pa.record_batch({"n": [1, 2], "s": ["a", "b"]}), pa.record_batch({"n": [3], "s": ["c"]})]


@pytest.mark.parametrize("name", ["r.csv", "r.CSV", "r.parquet", "r.pq"])
def test_all_batches_are_written_in_order(name: str, tmp_path: Path) -> None:
    heard: list[int] = []
    write_rows(iter(BATCHES), tmp_path / name, heard.append)
    read = pa.csv.read_csv if name.lower().endswith("csv") else pq.read_table
    assert read(tmp_path / name).to_pylist() == pa.Table.from_batches(BATCHES).to_pylist()
    assert heard == [2, 1]
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["r", "r.xls", "r.parquet.gz", "r.gz"])
def test_a_name_of_no_known_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"give it a name that ends in one of csv, tsv, .* duckdb, db$"):
        write_rows(BATCHES, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_format_that_is_named_decides(tmp_path: Path) -> None:
    write_rows(BATCHES, tmp_path / "r.csv", kind="parquet")
    assert pq.read_table(tmp_path / "r.csv").num_rows == 3
    with pytest.raises(OutputError, match=r"^cannot write 'word'; formats are csv, "):
        write_rows(BATCHES, tmp_path / "r.csv", kind="word")


@pytest.mark.parametrize("kind", [None, "csv", "tsv", "csv.gz", "parquet", "arrow", "sqlite"])
def test_rows_on_stdout_are_those_of_a_file(kind: str | None, tmp_path: Path, capfdbinary: Capture) -> None:
    write_rows(BATCHES, "-", kind=kind)
    path = tmp_path / f"r.{kind or 'csv'}"
    path.write_bytes(capfdbinary.readouterr().out)
    table = open_table(path)
    assert [text for batch in table.batches(["s"]) for text in texts(batch["s"]).to_pylist()] == ["a", "b", "c"]


def test_whoever_reads_stdout_may_stop(tmp_path: Path) -> None:
    code = (
        "import pyarrow as pa; from sfumato.rows_file import write_rows;"
        "write_rows((pa.record_batch({'n': range(9999)}) for _ in range(99)), '-')"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == b'"n"\n'
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 0


@pytest.mark.parametrize("name", ["r.csv", "r.parquet", "r.arrow", "r.xlsx", "r.sqlite", "r.duckdb"])
def test_a_failure_leaves_what_was_there(name: str, tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield BATCHES[0]
        raise KeyboardInterrupt

    (tmp_path / name).write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_rows(failing(), tmp_path / name)
    assert (tmp_path / name).read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [name]
