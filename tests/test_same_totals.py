"""Whatever a table comes from, the integers that leave it for the noise are the same, bit for bit."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.clusters import classic, needs_java
from tests.engines.questions import distances, histograms, postgres, tables

from sfumato.engines.choosing import engine_for
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source
from sfumato.schema.layout import IntArray, Layout
from sfumato.schema.schema import Schema
from sfumato.tables import BATCH_ROWS, Table, open_table

ROWS = BATCH_ROWS + 1234
SCHEMA = Schema.parse("""
label: ill
columns:
  weight: {type: number, min: 0, max: 200, missing: true}
  age: {type: number, min: 0, max: 120, step: 1, missing: true}
  visits: {type: number, min: 0, max: 50, atoms: [0], scale: log}
  town: {type: category, values: [Köln, "Nice, Côte", 'the "Hague"'], missing: true}
  ward: {type: category, values: [1, 2, 3]}
  member: {type: category, values: ["true", "false"], missing: true}
  admitted: {type: date, min: 2020-01-01, max: 2022-12-31, missing: true}
  ill: {type: category, values: [yes_, no_]}
""")
LAYOUT = Layout.of(SCHEMA)
NUMERIC = Schema.from_array(np.zeros((0, 3)), (0, [200, 120, 50]))


@cache
def stored() -> pa.Table:
    """Numbers out of bounds and missing, whole numbers, categories known and not, dates, a label sometimes bad."""
    rng = np.random.default_rng(0)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([values[place] for place in rng.integers(0, len(values), ROWS)], kind)

    days = [date(2019, 12, 30) + timedelta(days=place) for place in range(1100)]
    return pa.table(
        {
            "weight": pa.array(rng.normal(80, 60, ROWS), mask=rng.random(ROWS) < 0.1),
            "age": some([None, *range(-5, 130)], pa.int64()),
            "visits": pa.array(rng.integers(0, 60, ROWS), pa.int32()),
            "town": some(["Köln", "Nice, Côte", 'the "Hague"', " Köln", "Elsewhere", None], pa.string()),
            "ward": some([1, 2, 3, 4], pa.int8()),
            "member": some([True, False, None], pa.bool_()),
            "admitted": some([None, *days], pa.date32()),
            "ill": some(["yes_", "no_", "no_", "maybe"], pa.string()),
        }
    )


@cache
def numeric() -> pa.Table:
    """The columns that an array of numbers can hold, by the names that it gives them."""
    names = ["weight", "age", "visits"]
    return pa.table({f"x{place}": stored()[name].cast(pa.float64()) for place, name in enumerate(names)})


def totals(table: Table, layout: Layout = LAYOUT) -> IntArray:
    """How many rows are in every cell of the grids: whatever else is asked is asked of these cells."""
    return LocalEngine(Source(table, layout)).total(grid_counts(layout))


def grid_counts(layout: Layout) -> Histograms:
    columns = len(layout.cells)
    return Histograms(layout.cells, layout.classes, (1 / columns,) * columns)


def lines(delimiter: str = ",", quote: str = '"') -> str:
    frame = stored().to_pandas(types_mapper=pd.ArrowDtype)
    return frame.to_csv(index=False, sep=delimiter, quotechar=quote)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def compressed(path: Path) -> Path:
    with pa.output_stream(path, compression="detect") as file:
        file.write(lines().encode())
    return path


def parquet(path: Path, **options: Any) -> Path:
    pq.write_table(stored(), path, **options)
    return path


def parquet_folder(path: Path) -> Path:
    """Parts of different sizes, at different depths, that store a column in different types."""
    (path / "year=2020").mkdir(parents=True)
    (path / "_SUCCESS").write_text("")
    pq.write_table(stored().slice(0, 100), path / "b.parquet", row_group_size=7)
    as_text = stored().slice(100, 5000).set_column(1, "age", stored()["age"].slice(100, 5000).cast(pa.string()))
    pq.write_table(as_text, path / "year=2020" / "a.pq")
    pq.write_table(stored().slice(5100), path / "c.parquet", row_group_size=30_000)
    return path


def ipc(path: Path, as_file: bool) -> Path:
    with (pa.ipc.new_file if as_file else pa.ipc.new_stream)(path, stored().schema) as file:
        file.write_table(stored(), max_chunksize=10_000)
    return path


def feathered(path: Path) -> Path:
    feather.write_feather(stored(), path)
    return path


def polars() -> Any:
    frame = pytest.importorskip("polars", reason="polars is not installed").from_arrow(stored())
    return frame.with_columns(frame["town"].cast(pytest.importorskip("polars").Categorical))


def lazy_file(path: Path) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").scan_parquet(parquet(path))


def relation() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    return duckdb.connect().from_arrow(stored())


def duckdb_file(path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(path) as connection:
        people = stored()  # noqa: F841 - DuckDB finds it by its name
        connection.execute("CREATE TABLE people AS SELECT * REPLACE (age::HUGEINT AS age) FROM people")
    return path


def objects() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(stored()[name].to_pylist(), dtype=object) for name in stored().column_names})


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": lambda folder: parquet(folder / "t.parquet"),
    "parquet without dictionaries": lambda folder: parquet(folder / "t.parquet", use_dictionary=False),
    "parquet with mixed pages": lambda folder: parquet(
        folder / "t.parquet", dictionary_pagesize_limit=16, data_page_size=100
    ),
    "parquet folder": lambda folder: parquet_folder(folder / "parts"),
    "csv": lambda folder: written(folder / "t.csv", lines().encode()),
    "csv.gz": lambda folder: written(folder / "t.csv.gz", gzip.compress(lines().encode())),
    "csv.zst": lambda folder: compressed(folder / "t.csv.zst"),
    "csv.bz2": lambda folder: compressed(folder / "t.csv.bz2"),
    "tsv": lambda folder: written(folder / "t.tsv", lines("\t").encode()),
    "csv in latin-1": lambda folder: open_table(
        written(folder / "t.csv", lines().encode("latin-1")), encoding="latin-1"
    ),
    "csv of another dialect": lambda folder: open_table(
        written(folder / "t.csv", lines(";", "'").encode()), delimiter=";", quote="'"
    ),
    "pandas": lambda _: stored().to_pandas(),
    "pandas objects": lambda _: objects(),
    "polars": lambda _: polars(),
    "polars lazy": lambda _: polars().lazy(),
    "polars scan": lambda folder: lazy_file(folder / "t.parquet"),
    "duckdb relation": lambda _: relation(),
    "duckdb file": lambda folder: duckdb_file(folder / "t.duckdb"),
    "arrow": lambda _: stored(),
    "arrow reader": lambda _: stored().to_reader(max_chunksize=1000),
    "arrow data set": lambda folder: ds.dataset(parquet(folder / "t.parquet")),
    "arrow file": lambda folder: ipc(folder / "t.arrow", as_file=True),
    "arrow stream file": lambda folder: ipc(folder / "t.arrow", as_file=False),
    "feather": lambda folder: feathered(folder / "t.feather"),
    "structured array": lambda _: objects().to_records(index=False),
    "array of numbers": lambda _: numeric().to_pandas().to_numpy(),
    "array of numbers, transposed": lambda _: np.asfortranarray(numeric().to_pandas().to_numpy().astype(">f8")),
    "array of objects": lambda _: numeric().to_pandas().to_numpy(dtype=object),
}


def counting_file(path: Path) -> Path:
    """A DuckDB file whose columns are all of types that DuckDB counts by itself."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(path) as connection:
        people = stored()  # noqa: F841 - DuckDB finds it by its name
        connection.execute("CREATE TABLE people AS FROM people")
    return path


@contextmanager
def postgres_table() -> Iterator[Table]:
    """The rows in PostgreSQL, in types that it counts by itself."""
    kinds = "weight float8, age int8, visits int4, town text, ward int2, member bool, admitted date, ill varchar(9)"
    with postgres() as (url, connection):
        connection.exec_driver_sql(f"CREATE TABLE people ({kinds})")
        driver = connection.connection.dbapi_connection
        assert driver is not None
        with driver.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
            for row in zip(*(stored()[name].to_pylist() for name in stored().column_names), strict=True):
                copy.write_row(row)
        yield open_table(url, query="SELECT * FROM people WHERE 7 % 2 = 1")


COUNTING: dict[str, Callable[[Path], Any]] = {
    "duckdb relation": lambda _: nullcontext(relation()),
    "duckdb file": lambda folder: nullcontext(counting_file(folder / "t.duckdb")),
    "postgresql": lambda _: postgres_table(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", [pytest.param(each, marks=pytest.mark.slow if each == "postgresql" else ()) for each in COUNTING]
)
def test_databases_that_count_by_themselves_give_the_same_totals(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [histograms(LAYOUT), tables(LAYOUT), distances(LAYOUT)]
    rows = LocalEngine(Source(open_table(stored()), LAYOUT))
    wanted = [rows.total(query) for query in questions]
    with COUNTING[source](tmp_path) as table, monkeypatch.context() as patched:
        engine = engine_for(table, LAYOUT, None, False)
        patched.setattr(LocalEngine, "total", lambda *_: pytest.fail("rows were read"))
        found = [engine.total(query) for query in questions]
        del engine  # and with it what it holds of the database
    for total, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(total, expected)


@cache
def expected(of_numbers: bool) -> IntArray:
    return totals(open_table(numeric()), Layout.of(NUMERIC)) if of_numbers else totals(open_table(stored()))


@pytest.mark.every(3)
@pytest.mark.parametrize("source", SOURCES)
def test_the_totals_do_not_depend_on_the_source(source: str, tmp_path: Path) -> None:
    of_numbers = source.startswith("array of")
    found = totals(open_table(SOURCES[source](tmp_path)), Layout.of(NUMERIC) if of_numbers else LAYOUT)
    np.testing.assert_array_equal(found, expected(of_numbers))
    assert found.sum() > ROWS


def on_spark(parts: int) -> Any:
    """With empty partitions among them."""
    rows = classic().createDataFrame(stored())
    return rows.repartition(parts).union(rows.filter("false").repartition(2))


def on_dask(parts: int) -> Any:
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    rows = dask.from_pandas(stored().to_pandas(types_mapper=pd.ArrowDtype), npartitions=parts)
    return dask.concat([rows, rows[rows["visits"] < 0]])


CLUSTERS: dict[str, Callable[[int], Any]] = {"spark": on_spark, "dask": on_dask}


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 3, 17])
@pytest.mark.parametrize("cluster", [pytest.param("spark", marks=needs_java), "dask"])
def test_nor_do_they_depend_on_partitions(cluster: str, parts: int) -> None:
    engine = engine_for(CLUSTERS[cluster](parts), LAYOUT, None, False)
    np.testing.assert_array_equal(engine.total(grid_counts(LAYOUT)), expected(False))
    local = LocalEngine(Source(open_table(stored()), LAYOUT))
    np.testing.assert_array_equal(engine.total(tables(LAYOUT)), local.total(tables(LAYOUT)))
