"""Dask tables: the same answers as on this machine, on threads and on a cluster of which a worker is killed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.clusters import ROWS_ONLY, SCHEMA, check_disturbed, fitted, people, same

import sfumato as sf
from sfumato.engines.choosing import engine_for
from sfumato.engines.dask import DaskEngine
from sfumato.errors import ArgumentError, TableError
from sfumato.private.queries.base import IntArray
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")

PEOPLE = people(400)
TERMS = {"epsilon": 1, "delta": 1e-6}


def frame(parts: int = 3, table: pa.Table = PEOPLE) -> Any:
    return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=parts)


def counts(table: Any, schema: dict[str, Any]) -> IntArray:
    layout = Layout.of(Schema.of(schema))
    query = Histograms(layout.cells, layout.classes, (1 / len(layout.cells),) * len(layout.cells))
    return engine_for(table, layout, None, False).total(query)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [pytest.param(ROWS_ONLY, marks=pytest.mark.slow), SCHEMA], ids=["rows", "units"])
def test_a_fit_is_the_same_as_on_this_machine(schema: dict[str, Any]) -> None:
    assert same(fitted(frame(), schema), fitted(PEOPLE, schema))


def test_a_missing_cell_changes_how_no_other_is_read(tmp_path: Path) -> None:
    """Dask makes floats of a row group's whole numbers where one is missing, and objects of its truth values."""
    rows = pa.table(
        {
            "number": pa.array([1, 2, None, (1 << 53) + 1, 5, 3], pa.int64()),
            "code": pa.array([1, None, 2, (1 << 53) + 1, 2, 1], pa.int64()),
            "truth": pa.array([True, None, False, True, True, False]),
            "day": pa.array([1, None, 3, 4, 5, 6], pa.date32()),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3)
    schema = {
        "columns": {
            "number": {"type": "number", "min": 0, "max": 2**53 + 2, "bins": 8, "missing": True},
            "code": {"type": "category", "values": [1, 2], "missing": True},
            "truth": {"type": "boolean", "missing": True},
            "day": {"type": "date", "min": "1970-01-01", "max": "1970-01-09", "missing": True},
        }
    }
    found = dd.read_parquet(f"file://{tmp_path}/rows.parquet", split_row_groups=True)
    assert [found.partitions[part].compute()["code"].dtype.kind for part in range(2)] == ["f", "i"]
    np.testing.assert_array_equal(counts(found, schema), counts(rows, schema))


@pytest.mark.slow
def test_objects_and_categories_read_the_same_in_any_partition() -> None:
    cells = pd.DataFrame({"x": [1, "1", 1.0, None, " 2", True, b"2", 2.5, "1.0", np.nan, "x", 2]}, dtype=object)
    schema = {"columns": {"x": {"type": "category", "values": [1, 2, "true", 2.5], "missing": True}}}
    for table in (cells, cells.assign(x=pd.Categorical(cells["x"].map(str)))):
        for parts in (1, 4, 12):
            found = counts(dd.from_pandas(table, npartitions=parts, sort=False), schema)
            np.testing.assert_array_equal(found, counts(table, schema))


def test_a_column_that_a_missing_cell_would_change_is_refused_by_its_type() -> None:
    ids = PEOPLE.set_column(4, "who", pa.array(range(PEOPLE.num_rows)))
    dated = pd.DataFrame({"day": [20200101, 20200102]})
    formatted = {"columns": {"day": {"type": "date", "format": "%Y%m%d", "min": "2020-01-01", "max": "2020-12-31"}}}
    line = "is int64, which Dask makes floats where a cell is missing; read it with dtype_backend='pyarrow', or make"
    with pytest.raises(TableError, match=f"column 'who' of the Dask table {line}"):
        sf.fit(dd.from_pandas(ids.to_pandas(), npartitions=2), SCHEMA, **TERMS)
    with pytest.raises(TableError, match=f"column 'day' of the Dask table {line}"):
        sf.fit(dd.from_pandas(dated, npartitions=2), formatted, **TERMS)
    assert counts(dd.from_pandas(dated.astype("Int64"), npartitions=2), formatted).sum() == 2


def test_what_cannot_be_fitted_is_refused_in_one_line() -> None:
    with pytest.raises(TableError, match="the Dask table has no column 'ill'; it has: extra, age, town, who"):
        sf.fit(frame().drop(columns="ill"), SCHEMA, **TERMS)
    with pytest.raises(TableError, match="give a Dask DataFrame, not a Series"):
        sf.fit(frame()["age"], SCHEMA, **TERMS)
    with pytest.raises(ArgumentError, match="engine is for tables of this machine"):
        sf.fit(frame(), SCHEMA, **TERMS, engine=sf.Local())
    with pytest.raises(TableError, match="a table in Spark or Dask can be fitted, where it is"):
        open_table(frame())


@pytest.mark.slow
def test_noisy_rows_are_refused_and_cost_nothing(tmp_path: Path) -> None:
    schema = {"columns": {"extra": {"type": "number", "min": 0, "max": 1}}}
    sf.Ledger(tmp_path / "l.db").open("people", 2, 1e-5, "replace-one")
    asked = {
        "mechanism": sf.Slicing(form="rows"),
        "adjacency": "replace-one",
        "ledger": tmp_path / "l.db",
        "dataset": "people",
    }
    with pytest.raises(TableError, match="noisy rows are not for tables in Dask"):
        sf.fit(frame(), schema, **TERMS, **asked)
    assert not sf.Ledger(tmp_path / "l.db").accounts("people")[0].counted


@pytest.mark.slow
def test_what_a_partition_raises_is_not_told(tmp_path: Path) -> None:
    def failing(part: pd.DataFrame) -> pd.DataFrame:
        raise ValueError(f"a secret: {part}")

    sf.Ledger(tmp_path / "l.db").open("people", 2, 1e-5, unit="who")
    broken = frame().map_partitions(failing, meta=frame()._meta)
    with pytest.raises(TableError) as caught:
        sf.fit(broken, SCHEMA, **TERMS, ledger=tmp_path / "l.db", dataset="people")
    assert str(caught.value).startswith("Dask did not read the table to its end; its own log, which may hold rows")
    assert caught.value.__context__ is None
    assert not sf.Ledger(tmp_path / "l.db").accounts("people")[0].counted


@contextmanager
def cluster() -> Iterator[Any]:
    """Two processes of one thread each."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **quiet) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    mark = str(tmp_path / "started")

    def stalling(part: pd.DataFrame) -> pd.DataFrame:
        import time

        try:
            Path(f"{mark}.first").touch(exist_ok=False)
            Path(f"{mark}.new").write_text(str(os.getpid()))
            os.rename(f"{mark}.new", mark)
            time.sleep(60)
        except FileExistsError:
            pass
        return part

    with cluster():
        slow = frame(6, people()).map_partitions(stalling, meta=frame()._meta)
        check_disturbed(DaskEngine, slow, Path(mark), tmp_path / "ledger.db")
