"""The cells of a batch as columns that conditions read."""

from __future__ import annotations

import datetime

import pandas as pd
import pyarrow as pa

from sfumato.schema.conditions import parse
from sfumato.schema.schema import Schema
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
