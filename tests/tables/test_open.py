"""What `open_table` takes for a table, and what it says of what is none."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.tables.helpers import parquet_file, stored_table

from sfumato.errors import ArgumentError, TableError
from sfumato.tables import open_table


def test_unreadable_files(tmp_path: Path) -> None:
    secret = b"PAR1 secret cell"
    for name in ("bad.parquet", "bad.xls", "bad"):
        (tmp_path / name).write_bytes(secret)
    with pytest.raises(TableError, match=r"^cannot read .*bad.parquet as Parquet: \w+$"):
        open_table(tmp_path / "bad.parquet")
    for name in ("no.parquet", "no.csv"):
        with pytest.raises(TableError, match=f"{name} does not exist$"):
            open_table(tmp_path / name)
    for name in ("bad.xls", "bad"):
        with pytest.raises(TableError, match=r"known suffixes are \.csv"):
            open_table(tmp_path / name)
    for name in ("bad.arrow", "bad.feather", "bad.duckdb"):
        (tmp_path / name).write_bytes(secret)
        with pytest.raises(TableError, match=rf"^cannot read .*{name} as \w+: \w+$"):
            open_table(tmp_path / name)
    for name in ("no.arrow", "no.db", "no.csv.gz"):
        with pytest.raises(TableError, match=f"{name} does not exist$"):
            open_table(tmp_path / name)
    with pytest.raises(TableError, match="cannot tell what kind of table"):
        open_table(tmp_path / "t.parquet.gz")
    with pytest.raises(TableError, match="cannot read a table from a dict"):
        open_table({"a": [1]})


def test_an_opened_table_opens_as_itself() -> None:
    table = open_table(pa.table({"a": [1]}))
    assert open_table(table) is table
    assert repr(table) == "<ArrowTable the table>"


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ","},
        {"quote": "'"},
        {"encoding": "latin-1"},
        {"quoted_breaks": True},
        {"sheet": "s"},
        {"table": "t"},
        {"query": "SELECT 1"},
    ],
)
def test_options_of_other_kinds_of_table(options: dict[str, Any], tmp_path: Path) -> None:
    sources = [parquet_file(tmp_path, stored_table()), tmp_path, stored_table(), tmp_path / "t.arrow"]
    for source in sources:
        with pytest.raises(ArgumentError, match=r"is for (CSV files|Excel files|databases|SQL databases) only$"):
            open_table(source, **options)
