"""The same table reads the same from every source, and one odd cell changes no other."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.tables.helpers import COLUMNS, ODD, ODD_OBJECTS, one_column, parquet_file, readings, stored_table

from sfumato.errors import TableError
from sfumato.rows_file import write_rows
from sfumato.tables import BATCH_ROWS, numbers, open_table, texts


def csv_file(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    written = zip(*(text for _, text in COLUMNS.values()), strict=True)
    path.write_text("\n".join([",".join(COLUMNS), *map(",".join, written)]))
    return path


def object_frame() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(stored, dtype=object) for name, (stored, _) in COLUMNS.items()})


class Stream:
    """Any object with Arrow's stream protocol, as Polars and DuckDB have it."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return stored_table().__arrow_c_stream__(requested_schema)


def _ipc(path: Path, writer: Callable[..., Any]) -> Path:
    with writer(path, stored_table().schema) as file:
        file.write_table(stored_table(), max_chunksize=3)
    return path


def parquet_folder(path: Path) -> Path:
    path.mkdir()
    for place in range(4):
        pq.write_table(stored_table().slice(place, 1), path / f"{place}.parquet")
    return path


def _mixed(*written: str) -> pa.Table:
    """The table with some columns as texts, which a format has no better type for."""
    return pa.table({name: text if name in written else stored for name, (stored, text) in COLUMNS.items()})


def _written(table: pa.Table, path: Path) -> Path:
    write_rows(table.to_batches(), path)
    return path


def _duckdb(path: Path) -> Path:
    with duckdb.connect(path) as connection:
        connection.from_arrow(stored_table()).create("people")
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": csv_file,
    "parquet": lambda tmp_path: parquet_file(tmp_path, stored_table()),
    "parquet in small groups": lambda tmp_path: str(parquet_file(tmp_path, stored_table(), row_group_size=1)),
    "parquet with int96": lambda tmp_path: parquet_file(tmp_path, stored_table(), use_deprecated_int96_timestamps=True),
    "arrow": lambda _: stored_table(),
    "arrow in chunks": lambda _: pa.concat_tables([stored_table().slice(place, 1) for place in range(4)]),
    "arrow as text": lambda _: pa.table({name: text for name, (_, text) in COLUMNS.items()}),
    "arrow dictionaries": lambda _: pa.table(
        [column.dictionary_encode() for column in stored_table().columns], list(COLUMNS)
    ),
    "record batch": lambda _: stored_table().to_batches()[0],
    "stream": lambda _: Stream(),
    "parquet folder": lambda tmp_path: parquet_folder(tmp_path / "parts"),
    "data set": lambda tmp_path: ds.dataset(parquet_folder(tmp_path / "parts")),
    "arrow file": lambda tmp_path: _ipc(tmp_path / "t.arrow", pa.ipc.new_file),
    "arrow stream file": lambda tmp_path: _ipc(tmp_path / "t.feather", pa.ipc.new_stream),
    "polars": lambda _: pl.from_arrow(stored_table()),
    "polars lazy": lambda _: pl.from_arrow(stored_table()).lazy(),
    "duckdb": lambda _: duckdb.connect().from_arrow(stored_table()),
    "duckdb file": lambda tmp_path: _duckdb(tmp_path / "t.db"),
    "excel": lambda tmp_path: _written(_mixed("count", "price", "day", "time"), tmp_path / "t.xlsx"),
    "sqlite": lambda tmp_path: _written(_mixed("time"), tmp_path / "t.sqlite"),
    "structured array": lambda _: object_frame().to_records(index=False),
    "pandas objects": lambda _: object_frame(),
    "pandas arrow types": lambda _: stored_table().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nullable": lambda _: object_frame().astype(
        {
            "count": "Int64",
            "amount": "Float64",
            "member": "boolean",
            "grade": "string",
            "time": "datetime64[us]",
        }
    ),
    "pandas text": lambda _: pd.DataFrame({name: text for name, (_, text) in COLUMNS.items()}),
    "pandas categories": lambda _: pd.DataFrame(
        {name: pd.Categorical(text, dict.fromkeys(text)) for name, (_, text) in COLUMNS.items()}
    ),
    "pandas categories of objects": lambda _: pd.DataFrame(
        {
            name: pd.Categorical(stored, pd.Index([cell for cell in stored if cell is not None], dtype=object).unique())
            for name, (stored, _) in COLUMNS.items()
        }
    ),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_cells(source: str, column: str, tmp_path: Path) -> None:
    expected = readings(open_table(csv_file(tmp_path)), column)
    assert readings(open_table(SOURCES[source](tmp_path)), column) == expected


@pytest.mark.parametrize("source", SOURCES)
def test_columns_come_in_the_order_asked(source: str, tmp_path: Path) -> None:
    table = open_table(SOURCES[source](tmp_path))
    assert table.names == tuple(COLUMNS)
    seen: list[float] = []
    for _ in range(2):
        batches = list(table.batches(["grade", "count"], progress=seen.append))
        assert {tuple(batch.schema.names) for batch in batches} == {("grade", "count")}
        assert sum(batch.num_rows for batch in batches) == 4
        assert seen[-1] == 1.0


PLAIN = ["1", "1.0", "2020-01-01", "A", " b ", "0.1", ""]


STORED = [7, 2.5, True, None, 10**15, float("inf"), b"\xff", b"a"]
ODD_CELLS: dict[str, list[Any]] = {
    "csv": [cell for cell in ODD if "\n" not in cell],
    "parquet": ODD,
    "pandas": ODD_OBJECTS,
    "excel": [*(cell for cell in ODD if "\x00" not in cell), *STORED[:5], date(2020, 1, 1)],
    "sqlite": [*ODD, *STORED],
}


@pytest.mark.every(2)
@pytest.mark.parametrize("place", [0, len(PLAIN)])
@pytest.mark.parametrize("kind", ODD_CELLS)
def test_one_odd_cell_changes_no_other(kind: str, place: int, tmp_path: Path) -> None:
    expected = readings(open_table(one_column(kind, PLAIN, tmp_path)), "c")
    for odd in ODD_CELLS[kind]:
        found = readings(open_table(one_column(kind, [*PLAIN[:place], odd, *PLAIN[place:]], tmp_path)), "c")
        assert found[:place] + found[place + 1 :] == expected


def test_large_tables_come_in_batches(tmp_path: Path) -> None:
    size = 2 * BATCH_ROWS + 5
    stored = pa.table(
        {
            "n": np.arange(size),
            "s": [f"v{place % 11}" if place < BATCH_ROWS else str(place) for place in range(size)],
        }
    )
    for source in (
        stored,
        stored.to_pandas(),
        parquet_file(tmp_path, stored),
        parquet_file(tmp_path, stored, row_group_size=50_001),
    ):
        batches = list(open_table(source).batches(["s", "n"]))
        assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
        assert np.array_equal(np.concatenate([numbers(batch["n"]) for batch in batches]), np.arange(size))
        assert pa.concat_arrays([texts(batch["s"]) for batch in batches]).to_pylist() == stored["s"].to_pylist()


def test_empty_tables(tmp_path: Path) -> None:
    stored = pa.table({"c": pa.array([], pa.string())})
    for source in (stored, stored.to_pandas(), parquet_file(tmp_path, stored), stored.schema.empty_table()):
        assert readings(open_table(source), "c") == []


def raising(cell: str) -> Any:
    raise ValueError(cell)


FAILING: dict[str, Callable[[Path], Any]] = {
    "reader": lambda _: pa.RecordBatchReader.from_batches(
        pa.schema({"c": pa.int64()}), (raising("secret") for _ in "1")
    ),
    "array stream": lambda _: pa.chunked_array([["secret"]]),
    "polars": lambda _: pl.LazyFrame({"c": ["secret"]}).select(pl.col("c").cast(pl.Int64)),
    "polars function": lambda _: pl.LazyFrame({"c": ["secret"]}).select(
        pl.col("c").map_batches(lambda cells: raising(cells[0]), return_dtype=pl.Int64)
    ),
    "polars without the column": lambda _: pl.LazyFrame({"c": ["secret"]}).select("secret"),
    "duckdb": lambda _: duckdb.connect().sql("SELECT s::INT AS c FROM (VALUES ('secret')) t(s)"),
    "data set": lambda folder: ds.dataset(
        parquet_file(folder, pa.table({"c": ["secret"]})), schema=pa.schema({"c": pa.int64()})
    ),
}


@pytest.mark.parametrize("source", FAILING)
def test_errors_of_queries_and_streams_hold_no_cell(source: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"^cannot read the (stream|frame|relation|data set): \w+$"):
        list(open_table(FAILING[source](tmp_path)).batches(["c"]))
