"""Arrow tables, streams and data sets: the types they store, and streams that are read once and not ahead."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.tables.helpers import cell_texts, parquet_file, readings, stored_table

from sfumato.errors import TableError
from sfumato.tables import open_table


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (pa.array([Decimal("1.50"), None, Decimal("-0.00")], pa.decimal128(20, 2)), ["1.50", "", "0"]),
        (pa.array([Decimal("1.50"), None], pa.decimal256(60, 2)), ["1.50", ""]),
        (pa.array(["a", None, " b "], pa.large_string()), ["a", "", "b"]),
        (pa.array(["a", None, " b "], pa.string_view()), ["a", "", "b"]),
        (pa.array([0, None], pa.timestamp("us", "Asia/Tokyo")), ["1970-01-01T00:00:00Z", ""]),
        (pa.array([30_600, None], pa.time32("s")), ["08:30:00", ""]),
        (pa.array([1, None], pa.time64("ns")), ["00:00:00.000000001", ""]),
        (pa.array([-1, None], pa.duration("ms")), ["-00:00:00.001", ""]),
        (pa.array([1500], pa.timestamp("ms", "+03:00")), ["1970-01-01T00:00:01.5Z"]),
    ],
)
def test_stored_types(stored: pa.Array, expected: list[str], tmp_path: Path) -> None:
    table = pa.table({"c": stored})
    for source in (table, parquet_file(tmp_path, table), table.to_reader(), ds.dataset(table)):
        assert cell_texts(source) == expected


def test_a_reader_is_read_once() -> None:
    table = open_table(stored_table().to_reader())
    with pytest.raises(TableError, match="has no column 'x'"):
        table.batches(["x"])
    assert len(readings(table, "count")) == 4
    with pytest.raises(TableError, match=r"^this stream was already read; give a table, a path, or a new stream$"):
        table.batches(["count"])


@pytest.mark.parametrize("fails", [True, False])
def test_an_object_whose_stream_is_gone(fails: bool) -> None:
    class Once:
        def __init__(self) -> None:
            self.reader: Any = stored_table().to_reader()

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            if fails:
                reader, self.reader = self.reader, None
                return reader.__arrow_c_stream__(requested_schema)
            return self.reader.__arrow_c_stream__(requested_schema)

    table = open_table(Once())
    assert len(readings(table, "count")) == 4
    with pytest.raises(TableError, match="this stream was already read"):
        readings(table, "count")


def test_streams_are_not_read_ahead() -> None:
    given: list[int] = []

    def batches() -> Any:
        for place in range(100):
            given.append(place)
            yield pa.record_batch({"c": [place]})

    schema = pa.schema({"c": pa.int64()})
    stream = open_table(pa.RecordBatchReader.from_batches(schema, batches())).batches(["c"])
    assert given == []
    next(stream)
    assert len(given) < 5
