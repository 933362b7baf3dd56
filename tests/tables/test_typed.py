"""The cells of a batch as columns that conditions read."""

from __future__ import annotations

import datetime

import pandas as pd
import pyarrow as pa
import pytest

from sfumato.schema.conditions import parse
from sfumato.schema.schema import Duration, Schema, Time
from sfumato.tables.typed import typed_columns

COLUMNS = Schema.of(
    {
        "columns": {
            "age": {"type": "number", "min": 0, "max": 99},
            "town": {"type": "category", "values": ["Ulm", 7]},
            "seen": {"type": "date", "min": "2020-01-01", "max": "2020-12-31"},
            "other": {"type": "number", "min": 0, "max": 99},
        }
    }
).columns


def test_cells_are_read_as_a_fit_reads_them_but_not_clamped() -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "seen": ["2020-02-03T10:00", "1999-01-01", "soon"],
            "age": [" 7", "200", "?"],
            "town": ["7.0", "Ulm ", "Kiel"],
        }
    )
    found = typed_columns(batch, COLUMNS)
    assert list(found) == ["age", "town", "seen"]
    assert found["age"].tolist()[:2] == [7.0, 200.0]
    assert found["town"].tolist() == ["7", "Ulm", None]
    assert found["seen"].tolist()[:2] == [pd.Timestamp(2020, 2, 3), pd.Timestamp(1999, 1, 1)]
    assert found["age"].isna().tolist() == found["seen"].isna().tolist() == [False, False, True]
    assert parse("seen < '2020-02-04' and town == 7", COLUMNS).holds(found).tolist() == [True, False, False]


def test_stored_types() -> None:
    batch = pa.RecordBatch.from_pydict({"seen": [datetime.date(2020, 5, 1), None], "town": [7, 8], "age": [1.5, None]})
    found = typed_columns(batch, COLUMNS)
    assert found["town"].tolist() == ["7", None]
    assert found["seen"].isna().tolist() == [False, True]


@pytest.mark.filterwarnings("error")
def test_no_time_is_too_large() -> None:
    far = pa.array([2**62, -(2**62), 5], pa.int64())
    stored = {"a": far.cast(pa.time64("us")), "b": far.cast(pa.duration("s")), "c": pa.array(["1e300", "-1e300", "5"])}
    columns = {"a": Time(), "b": Duration(min=0, max=9), "c": Duration(min=0, max=9, format="seconds")}
    found = typed_columns(pa.RecordBatch.from_pydict(stored), columns)
    for name in ("b", "c"):
        assert found[name][0] > found[name][2] > found[name][1]
    assert len(found["a"]) == 3
