"""Polars frames, lazy ones too."""

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from tests.tables.helpers import cell_texts, parquet_file, readings

from sfumato.errors import TableError
from sfumato.tables import open_table


def test_polars_types() -> None:
    frame = pl.DataFrame(
        {
            "category": pl.Series(["a", None, "b"], dtype=pl.Categorical),
            "enum": pl.Series(["b", "a", None], dtype=pl.Enum(["a", "b", "c"])),
            "object": pl.Series([object(), None, 1], dtype=pl.Object),
            "wide": pl.Series([1, 2, 3], dtype=pl.Int128),
            "list": [[1], [2], [3]],
            "length": [timedelta(1)] * 3,
            "nothing": [None] * 3,
            "zoned": pl.Series([datetime(2020, 1, 1)] * 3).dt.replace_time_zone("Asia/Tokyo"),
        }
    )
    for source in (frame, frame.lazy()):
        assert cell_texts(source, "category") == ["a", "", "b"]
        assert cell_texts(source, "enum") == ["b", "a", ""]
        assert cell_texts(source, "nothing") == [""] * 3
        assert cell_texts(source, "length") == ["24:00:00"] * 3
        assert cell_texts(source, "zoned") == ["2019-12-31T15:00:00Z"] * 3
        for name in ("object", "wide", "list"):
            with pytest.raises(TableError, match=f"column '{name}' of the frame has type"):
                open_table(source).batches([name])


def test_a_lazy_frame_is_run_at_every_pass(tmp_path: Path) -> None:
    path = parquet_file(tmp_path, pa.table({"c": ["a"]}))
    table = open_table(pl.scan_parquet(path))
    assert len(readings(table, "c")) == 1
    assert len(readings(table, "c")) == 1
