"""Totals over a whole table: the same on any number of workers, in any batches, from any kind of file."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.private.queries.helpers import seen_in, told, told_by

from sfumato.errors import TableError
from sfumato.mechanisms.questions import latent_space, score_image, unpack
from sfumato.private import source as source_module
from sfumato.private.engines import local
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Batch, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source, Tagged
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import csv, open_table

ROWS = 300
PATIENCE_S = 30.0

SCHEMA = Schema.parse("""
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  dose: {type: number, min: 0, max: 10, bins: 7, atoms: [0], missing: true}
  ward: {type: category, values: [north, south, "3"]}
  seen: {type: date, min: 2020-01-01, max: 2020-12-31, bins: 12}
  ill: {type: category, values: ["yes", "no"]}
""")
LAYOUT = Layout.of(SCHEMA)
HISTOGRAMS = Histograms(LAYOUT.sizes, 2, (0.25,) * 4)


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    seen = np.datetime64("2020-01-01") + rng.integers(-5, 370, ROWS)
    return pd.DataFrame(
        {
            "ill": rng.choice(["yes", "no", "maybe", ""], ROWS, p=[0.4, 0.5, 0.05, 0.05]),
            "ward": rng.choice(["north", "south", "3", "elsewhere"], ROWS),
            "age": rng.integers(-3, 110, ROWS),
            "dose": rng.choice([0.0, 1.25, 9.99, np.nan, 1e9], ROWS),
            "seen": seen.astype("datetime64[s]"),
            "not named": rng.random(ROWS),
        }
    )


FRAME = make_frame()


def table_of(kind: str, tmp_path: Path) -> Any:
    if kind == "pandas":
        return FRAME
    if kind == "pandas of objects":
        return FRAME.astype(object)
    if kind == "csv":
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    arrow = pa.Table.from_pandas(FRAME, preserve_index=False)
    if kind == "arrow":
        return pa.concat_tables([arrow.slice(0, 13), arrow.slice(13)])  # in chunks
    pq.write_table(arrow, tmp_path / "t.parquet", row_group_size=41)
    return tmp_path / "t.parquet"


def queries() -> list[Query]:
    rng = np.random.default_rng(1)
    tables = [[rng.normal(size=size) for size in LAYOUT.sizes] for _ in range(2)]
    maps = [rng.normal(size=(4, 4)) for _ in range(2)]
    asked = [HISTOGRAMS, GroupSums(latent_space(score_image(tables), [1.5, 2.0], maps), (0.2, 0.3, 0.5), "outer")]
    return [seen_in(LAYOUT, query) for query in asked]


def engine_of(data: Any, workers: int = 2) -> LocalEngine:
    return LocalEngine(Source(open_table(data), LAYOUT), workers)


def by_hand(query: Query) -> NDArray[np.int64]:
    """All rows in one batch, no engine."""
    ((batch, *_),) = (job() for job in Source(open_table(FRAME), LAYOUT).jobs())
    return told(query, batch)


def within_patience(work: Callable[[], object]) -> BaseException | None:
    """What the work raised; fails if it does not end."""
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the engine hangs"
    return caught[0] if caught else None


@pytest.mark.every(2)
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 64, ROWS])
def test_workers_and_batches_do_not_matter(workers: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [by_hand(query) for query in queries()]
    monkeypatch.setattr(source_module, "BATCH_CELLS", rows * len(LAYOUT.names))
    engine = engine_of(FRAME, workers)
    for query, total in zip(queries(), expected, strict=True):
        assert np.array_equal(told_by(engine, query), total)
        assert np.array_equal(told_by(engine, query), total)  # from the codes that were kept
    assert engine._kept is not None
    assert len(engine._kept) == math.ceil(math.ceil(ROWS / rows) / local.TOGETHER)


@pytest.mark.every(2)
@pytest.mark.parametrize("rows", [7, 2**16])
@pytest.mark.parametrize("kind", ["pandas", "pandas of objects", "csv", "arrow", "parquet"])
def test_every_kind_of_table_gives_the_same_totals(
    kind: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [by_hand(query) for query in queries()]
    opened = open_table(table_of(kind, tmp_path))
    for name, module in list(sys.modules.items()):
        if name.startswith("sfumato.tables.") and hasattr(module, "BATCH_ROWS"):
            monkeypatch.setattr(module, "BATCH_ROWS", rows)
    monkeypatch.setattr(csv, "BLOCK_BYTES", 30 * rows)
    engine = engine_of(opened)
    assert len(list(Source(opened, LAYOUT).jobs())) > (ROWS // 70 if rows == 7 else 0)
    for query, total in zip(queries(), expected, strict=True):
        assert np.array_equal(told_by(engine, query), total)


def test_bad_labels_count_nowhere() -> None:
    good = FRAME[FRAME["ill"].isin(["yes", "no"])]
    assert len(good) < ROWS
    for query in queries():
        assert np.array_equal(told_by(engine_of(FRAME), query), told_by(engine_of(good), query))
    counts = engine_of(good).total(queries()[0])
    # Every row of a good label is counted once in every column, and in a bin where the column has a place for it.
    assert [int(table.sum()) for table in unpack(HISTOGRAMS, counts)] == [len(good)] * 4
    assert unpack(HISTOGRAMS, counts)[1][:, 1:].sum() == len(good)
    assert unpack(HISTOGRAMS, counts)[2][:, 1:].sum() == good["ward"].isin(["north", "south", "3"]).sum() < len(good)


def test_without_a_label_every_row_counts() -> None:
    schema = Schema.of({"columns": {name: SCHEMA.columns[name] for name in SCHEMA.features}})
    layout = Layout.of(schema)
    query = Histograms(layout.sizes, 1, (0.25,) * 4)
    total = LocalEngine(Source(open_table(FRAME), layout)).total(seen_in(layout, query))
    assert unpack(query, total)[1][:, 1:].sum() == ROWS


@pytest.mark.parametrize("kind", ["pandas", "csv", "arrow", "parquet"])
def test_a_table_without_rows_gives_zeros(kind: str, tmp_path: Path) -> None:
    empty = FRAME.iloc[:0]
    data: Any = empty
    if kind == "csv":
        data = tmp_path / "t.csv"
        empty.to_csv(data, index=False)
    elif kind != "pandas":
        data = pa.Table.from_pandas(empty, preserve_index=False)
        if kind == "parquet":
            pq.write_table(data, tmp_path / "t.parquet")
            data = tmp_path / "t.parquet"
    for query in queries():
        total = told_by(engine_of(data), query)
        assert total.dtype == np.int64
        assert np.array_equal(total, np.zeros(query.weights.size))


UNIT_LAYOUT = Layout.of(Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 2}}))


def unit_engine(frame: pd.DataFrame, workers: int = 2) -> LocalEngine:
    return LocalEngine(Source(open_table(frame), UNIT_LAYOUT, Units(2, b"k" * 32)), workers)


def with_ids() -> pd.DataFrame:
    return FRAME.assign(who=np.random.default_rng(3).choice(["a", "b", "c", None], ROWS))


@pytest.mark.every(2)
@pytest.mark.parametrize("workers", [1, 5])
@pytest.mark.parametrize("rows", [1, 50, ROWS])
def test_which_rows_of_a_unit_count_depends_on_no_batch_and_no_order(
    workers: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = with_ids()
    expected = [told_by(unit_engine(people), query) for query in queries()]
    assert unpack(HISTOGRAMS, expected[0])[1][:, 1:].sum() == 3 * 2
    monkeypatch.setattr(source_module, "BATCH_CELLS", rows * len(LAYOUT.names))
    engine = unit_engine(people.sample(frac=1.0, random_state=4), workers)
    for query, total in zip(queries(), expected, strict=True):
        assert np.array_equal(told_by(engine, query), total)


def test_a_table_of_units_without_rows_gives_zeros() -> None:
    query = queries()[0]
    assert np.array_equal(told_by(unit_engine(with_ids().iloc[:0]), query), np.zeros(query.weights.size))


def test_a_missing_column_is_named() -> None:
    with pytest.raises(TableError, match="'dose'"):
        engine_of(FRAME.drop(columns="dose")).total(queries()[0])


class Broken(Histograms):
    """Fails on one batch of many."""

    def part(self, batch: Batch) -> NDArray[np.int64]:
        if (batch.codes[0] == 3).any():
            raise ZeroDivisionError("planted")
        return super().part(batch)


@pytest.mark.every(2)
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_failure_in_a_worker_comes_out_and_nothing_hangs(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BATCH_CELLS", len(LAYOUT.names))  # a batch a row
    engine = engine_of(FRAME, workers)
    caught = within_patience(lambda: engine.total(seen_in(LAYOUT, Broken(LAYOUT.sizes, 2, (0.25,) * 4))))
    assert isinstance(caught, ZeroDivisionError)
    for query in queries():  # the engine still works
        assert np.array_equal(told_by(engine, query), by_hand_of_rows(query))


def by_hand_of_rows(query: Query) -> NDArray[np.int64]:
    jobs = Source(open_table(FRAME), LAYOUT).jobs()
    return sum((told(query, job()[0]) for job in jobs), np.zeros(query.weights.size, dtype=np.int64))


class FailsAfter(Source):
    """Reading fails half-way, the first time."""

    failures = 1

    def jobs(self) -> Iterator[Callable[[], Tagged]]:
        for i, job in enumerate(super().jobs()):
            if i == 20 and self.failures:
                self.failures -= 1
                raise TableError("planted")
            yield job


@pytest.mark.parametrize("workers", [1, 5])
def test_a_failure_to_read_keeps_no_half_of_the_table(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BATCH_CELLS", 8 * len(LAYOUT.names))
    engine = LocalEngine(FailsAfter(open_table(FRAME), LAYOUT), workers)
    query = queries()[0]
    assert isinstance(within_patience(lambda: told_by(engine, query)), TableError)
    assert np.array_equal(told_by(engine, query), by_hand_of_rows(query))


def test_the_row_cap_is_public_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    good = FRAME[FRAME["ill"] == "yes"]
    query = queries()[0]
    monkeypatch.setattr(source_module, "ROW_CAP", 10)
    monkeypatch.setattr(source_module, "BATCH_CELLS", 3 * len(LAYOUT.names))
    assert told_by(engine_of(good.iloc[:10]), query).sum() > 0
    with pytest.raises(TableError, match=r"^a table may have at most 10 rows; split it$"):
        told_by(engine_of(good.iloc[:11]), query)


@pytest.mark.parametrize(("size", "dtype"), [(300, np.int16), (32_767, np.int32), (65_536, np.int32)])
def test_codes_are_wide_enough_for_the_bins(size: int, dtype: type) -> None:
    schema = Schema.of({"columns": {"x": {"type": "number", "min": 0, "max": size - 1, "step": 1, "bins": size}}})
    layout = Layout.of(schema)
    (job,) = Source(open_table(pd.DataFrame({"x": [0, size - 1, size + 5]})), layout).jobs()
    codes = job()[0].codes
    assert codes.dtype == dtype
    assert codes.tolist() == [[0, size - 1, size - 1]]


@pytest.mark.parametrize("kind", ["csv", "reader", "units"])
def test_a_table_too_large_to_keep_gives_the_same_totals(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once, and what does not fit into memory is in a file that has no name."""
    FRAME.to_csv(tmp_path / "t.csv", index=False)

    def engine() -> LocalEngine:
        if kind == "units":
            return unit_engine(with_ids())
        table = pa.Table.from_pandas(FRAME, preserve_index=False)
        return engine_of(tmp_path / "t.csv" if kind == "csv" else table.to_reader())

    expected = [told_by(engine(), query) for query in queries()]
    passes: list[int] = []
    read = Source.jobs
    monkeypatch.setattr(Source, "jobs", lambda self: (passes.append(1), read(self))[1])
    monkeypatch.setattr(local, "KEPT_BYTES", 10)
    monkeypatch.setattr(source_module, "BATCH_CELLS", 4 * len(LAYOUT.names))
    monkeypatch.setattr(source_module, "TURN_BYTES", 1000)
    small = engine()
    for query, total in zip(queries(), expected, strict=True):
        assert np.array_equal(told_by(small, query), total)
    assert len(passes) == 1
