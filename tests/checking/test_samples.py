"""Samples of streams: even, bounded, and everything where there is little."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.checking.samples import RowSample, UnitSample, filterable


def batch(start: int, rows: int) -> pa.RecordBatch:
    return pa.record_batch({"x": np.arange(start, start + rows)})


@pytest.mark.parametrize(
    "cells",
    [
        pc.run_end_encode(pa.array([1, 1, None, 500])),
        pc.run_end_encode(pa.array(["a", "a", None, ""])),
        pa.array(["a", "a", None, ""]).cast(pa.string_view()),
        pa.array([b"a", b"\xff", None, b""]).cast(pa.binary_view()),
        pa.array(["a", "a", None, ""]).dictionary_encode(),
        pa.nulls(4),
    ],
    ids=lambda cells: str(cells.type).split("<")[0],
)
def test_of_cells_of_any_type_some_can_be_taken(cells: pa.Array) -> None:
    made = filterable(pa.RecordBatch.from_arrays([cells], ["x"]))
    assert made.column("x").to_pylist() == cells.to_pylist()
    assert made.filter(pa.array([False, True, True, False])).column("x").to_pylist() == cells.to_pylist()[1:3]


def test_few_rows_are_all_kept() -> None:
    sample = RowSample(100)
    for start in (0, 30, 60):
        sample.add(batch(start, 30))
    assert len(sample) == 90
    assert sample.rate == 1.0
    assert np.concatenate(sample.column("x")).tolist() == list(range(90))


def test_of_many_rows_some_are_kept_evenly() -> None:
    sample = RowSample(1000)
    for start in range(0, 100_000, 1000):
        sample.add(batch(start, 1000))
    kept = np.concatenate(sample.column("x"))
    assert 300 < len(kept) <= 1000  # of about 780: 17 sd
    assert sample.rate == 2.0**-7
    assert abs(kept.mean() - 50_000) < 8 * 100_000 / np.sqrt(12 * len(kept))
    again = RowSample(1000)
    for start in range(0, 100_000, 1000):
        again.add(batch(start, 1000))
    assert np.concatenate(again.column("x")).tolist() == kept.tolist()


def test_rows_of_few_units_are_counted_exactly() -> None:
    units = UnitSample(100)
    for _ in range(50):
        units.add(pa.array(["a", "b", "b", *(f"unit {i}" for i in range(60))], pa.large_string()))
    counts = units.rows()
    assert units.rate == 1.0
    assert counts.tolist() == [50] * 61 + [100]


def test_of_many_units_some_are_kept_with_all_their_rows() -> None:
    units = UnitSample(1000)
    for start in range(0, 20_000, 500):
        names = [f"person {i}" for i in range(start, start + 500)]
        units.add(pa.array(names * 3, pa.large_string()))
    counts = units.rows()
    assert len(counts) <= 1000
    assert (counts == 3).all()
    assert abs(len(counts) / units.rate - 20_000) < 8 * np.sqrt(20_000 / units.rate)


def test_a_unit_far_apart_is_still_one() -> None:
    units = UnitSample(10)
    for _ in range(20):
        units.add(pa.array([f"u{i}" for i in range(40)], pa.large_string()))
    assert (units.rows() == 20).all()
