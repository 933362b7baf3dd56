"""The same table reads the same from every source, and one odd cell changes no other."""

import math
import sqlite3
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
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

from sfumato.errors import ArgumentError, MissingExtraError, SchemaError, TableError
from sfumato.schema.schema import Schema
from sfumato.tables import BATCH_ROWS, Table, days, numbers, open_table, texts

Reading = tuple[int, str, int]


def readings(table: Table, column: str) -> list[Reading]:
    found: list[Reading] = []
    for batch in table.batches([column]):
        cells = batch.column(0)
        floats = [numbers(cells).view(np.int64).tolist(), days(cells).view(np.int64).tolist()]
        found += zip(floats[0], texts(cells).to_pylist(), floats[1], strict=True)
    return found


COLUMNS: dict[str, tuple[list[Any], list[str]]] = {
    "count": ([3, None, -7, 2**53 + 1], ["3", "", "-7", str(2**53 + 1)]),
    "amount": ([0.1, 1.0, None, 2.5e-10], ["0.1", "1.0", "", "2.5e-10"]),
    "member": ([True, False, None, True], ["True", "FALSE", "", "true"]),
    "grade": (["A", " b ", None, "1.0"], ["A", " b ", "", "1.0"]),
    "price": ([Decimal("1.50"), Decimal(2), None, Decimal("-3.25")], ["1.50", "2.00", "", "-3.25"]),
    "day": (
        [date(2020, 2, 29), None, date(1969, 12, 31), date(1, 1, 1)],
        ["2020-02-29", "", "1969-12-31", "0001-01-01"],
    ),
    "time": (
        [datetime(2020, 1, 1), None, datetime(2020, 1, 1, 6), datetime(1960, 5, 5, 1, 2, 3, 456)],
        ["2020-01-01", "", "2020-01-01T06:00:00", "1960-05-05T01:02:03.000456"],
    ),
}


def _arrow() -> pa.Table:
    return pa.table({name: pa.array(stored) for name, (stored, _) in COLUMNS.items()})


def _parquet(tmp_path: Path, table: pa.Table, **options: Any) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **options)
    return path


def _csv(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    written = zip(*(text for _, text in COLUMNS.values()), strict=True)
    path.write_text("\n".join([",".join(COLUMNS), *map(",".join, written)]))
    return path


def _objects() -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(stored, dtype=object) for name, (stored, _) in COLUMNS.items()})


class Stream:
    """Any object with Arrow's stream protocol, as Polars and DuckDB have it."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return _arrow().__arrow_c_stream__(requested_schema)


def _ipc(path: Path, writer: Callable[..., Any]) -> Path:
    with writer(path, _arrow().schema) as file:
        file.write_table(_arrow(), max_chunksize=3)
    return path


def _folder(path: Path) -> Path:
    path.mkdir()
    for place in range(4):
        pq.write_table(_arrow().slice(place, 1), path / f"{place}.parquet")
    return path


def _duckdb(path: Path) -> Path:
    with duckdb.connect(path) as connection:
        connection.from_arrow(_arrow()).create("people")
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": _csv,
    "parquet": lambda tmp_path: _parquet(tmp_path, _arrow()),
    "parquet in small groups": lambda tmp_path: str(_parquet(tmp_path, _arrow(), row_group_size=1)),
    "parquet with int96": lambda tmp_path: _parquet(tmp_path, _arrow(), use_deprecated_int96_timestamps=True),
    "arrow": lambda _: _arrow(),
    "arrow in chunks": lambda _: pa.concat_tables([_arrow().slice(place, 1) for place in range(4)]),
    "arrow as text": lambda _: pa.table({name: text for name, (_, text) in COLUMNS.items()}),
    "arrow dictionaries": lambda _: pa.table(
        [column.dictionary_encode() for column in _arrow().columns], list(COLUMNS)
    ),
    "record batch": lambda _: _arrow().to_batches()[0],
    "stream": lambda _: Stream(),
    "parquet folder": lambda tmp_path: _folder(tmp_path / "parts"),
    "data set": lambda tmp_path: ds.dataset(_folder(tmp_path / "parts")),
    "arrow file": lambda tmp_path: _ipc(tmp_path / "t.arrow", pa.ipc.new_file),
    "arrow stream file": lambda tmp_path: _ipc(tmp_path / "t.feather", pa.ipc.new_stream),
    "polars": lambda _: pl.from_arrow(_arrow()),
    "polars lazy": lambda _: pl.from_arrow(_arrow()).lazy(),
    "duckdb": lambda _: duckdb.connect().from_arrow(_arrow()),
    "duckdb file": lambda tmp_path: _duckdb(tmp_path / "t.db"),
    "structured array": lambda _: _objects().to_records(index=False),
    "pandas objects": lambda _: _objects(),
    "pandas arrow types": lambda _: _arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas nullable": lambda _: _objects().astype(
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


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_cells(source: str, column: str, tmp_path: Path) -> None:
    expected = readings(open_table(_csv(tmp_path)), column)
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


ODD: list[Any] = ["12 years", "", "9" * 400, "2021-02-30", "true", "1e999", '5"', "NaN", "x\ny", "\x00", "٣"]
ODD_OBJECTS: list[Any] = [
    *ODD,
    10**400,
    10**5000,
    0.5,
    math.nan,
    None,
    pd.NA,
    pd.NaT,
    True,
    b"\xff",
    "\ud800",
    [1, 2],
    {"a": 1},
    object(),
    Decimal("NaN"),
    Decimal("1E+999999999"),
    np.float32(0.1),
    np.datetime64("NaT"),
    timedelta(1),
    1j,
]
PLAIN = ["1", "1.0", "2020-01-01", "A", " b ", "0.1", ""]


def _one_column(kind: str, column: Sequence[Any], tmp_path: Path) -> Any:
    if kind == "csv":
        path = tmp_path / "odd.csv"
        path.write_text("id,c\n" + "".join(f"0,{cell}\n" for cell in column), newline="")
        return path
    if kind == "parquet":
        return _parquet(tmp_path, pa.table({"c": pa.array(column, pa.string())}))
    return pd.DataFrame({"c": pd.Series(column, dtype=object)})


@pytest.mark.parametrize("place", [0, 3, len(PLAIN)])
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas"])
def test_one_odd_cell_changes_no_other(kind: str, place: int, tmp_path: Path) -> None:
    expected = readings(open_table(_one_column(kind, PLAIN, tmp_path)), "c")
    odd_cells = ODD_OBJECTS if kind == "pandas" else [cell for cell in ODD if kind != "csv" or "\n" not in cell]
    for odd in odd_cells:
        found = readings(open_table(_one_column(kind, [*PLAIN[:place], odd, *PLAIN[place:]], tmp_path)), "c")
        assert found[:place] + found[place + 1 :] == expected


def test_one_odd_object_changes_no_number() -> None:
    plain = [1, 2.0, True, Decimal("3.5"), 2**70]
    expected = readings(open_table(_one_column("pandas", plain, Path())), "c")
    assert [text for _, text, _ in expected] == ["1", "2", "true", "3.5", str(2**70)]
    for odd in ODD_OBJECTS:
        assert readings(open_table(_one_column("pandas", [odd, *plain], Path())), "c")[1:] == expected


def test_invalid_bytes_in_parquet_change_no_other_cell(tmp_path: Path) -> None:
    stored = pa.array([b"A", b"\xff", b"1.0"], pa.binary()).view(pa.string())
    table = open_table(_parquet(tmp_path, pa.table({"c": stored})))
    assert [text for _, text, _ in readings(table, "c")] == ["A", "", "1"]


class Loud(str):
    def __str__(self) -> str:
        raise AssertionError("a cell's code was called")

    __repr__ = __format__ = __str__  # type: ignore[assignment]


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("a", "a"),
        (np.str_("a"), "a"),
        (b"a", "a"),
        (np.bytes_(b"a"), "a"),
        (7, "7"),
        (-(10**400), "-1" + "0" * 400),
        (np.uint64(2**64 - 1), str(2**64 - 1)),
        (np.int8(-1), "-1"),
        (2.0, "2"),
        (np.float64(0.1), "0.1"),
        (np.float32(0.5), "0.5"),
        (-math.inf, "-inf"),
        (np.True_, "true"),
        (Decimal("1.50"), "1.50"),
        (Decimal("2E+3"), "2000"),
        (Decimal("-0.0"), "0"),
        (Decimal("-Infinity"), "-inf"),
        (Decimal("1E+5000"), "1E+5000"),
        (date(2020, 1, 2), "2020-01-02"),
        (datetime(2020, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2020-01-01T21:30:00"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), ""),
        (pd.Timestamp("2020-01-02 03:04:05.000000006"), "2020-01-02T03:04:05.000000006"),
        (pd.Timestamp("2020-01-02", tz="Asia/Tokyo"), "2020-01-01T15:00:00"),
        (np.datetime64("1969-12-31T23:59"), "1969-12-31T23:59:00"),
        (np.datetime64("2020-03", "M"), "2020-03-01"),
        (np.datetime64(2**62, "s"), ""),
        (Loud("a"), ""),
        (Level.LOW, ""),
        (timedelta(1), ""),
        (1j, ""),
    ],
)
def test_objects(cell: Any, expected: str) -> None:
    frame = pd.DataFrame({"c": pd.Series([cell, None], dtype=object)})
    assert [text for _, text, _ in readings(open_table(frame), "c")] == [expected, ""]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Series([1.0, None, 2.5]), ["1", "", "2.5"]),
        (pd.Series([1, 2], dtype="uint8"), ["1", "2"]),
        (pd.Series([1, None], dtype="Int64"), ["1", ""]),
        (pd.Series([True, None], dtype="boolean"), ["true", ""]),
        (pd.Series(["a", None], dtype="string[python]"), ["a", ""]),
        (pd.Series(["a", None], dtype="string[pyarrow]"), ["a", ""]),
        (pd.Series(["a", None], dtype="str"), ["a", ""]),
        (pd.Series([0.0, 1.5], dtype="Sparse[float]"), ["0", "1.5"]),
        (pd.to_datetime(pd.Series(["2020-01-01", None])), ["2020-01-01", ""]),
        (pd.Series(pd.to_datetime(["2020-01-01T01:00"]).tz_localize("Asia/Tokyo")), ["2019-12-31T16:00:00"]),
        (pd.Series(pd.Categorical([1, "a", None, 1])), ["1", "a", "", "1"]),
        (pd.Series(pd.Categorical([2, 1, None, 2])), ["2", "1", "", "2"]),
        (pd.Series(pd.Categorical([object, "a"], [object, "a"])), ["", "a"]),
    ],
)
def test_pandas_types(series: pd.Series, expected: list[str]) -> None:
    frame = pd.DataFrame({"c": series.set_axis(["index"] * len(series))})
    assert [text for _, text, _ in readings(open_table(frame), "c")] == expected


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1j]),
        pd.Series(pd.to_timedelta([1], unit="s")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.cut([1, 2, 3], 2)),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
)
def test_pandas_types_that_have_no_reading(series: pd.Series) -> None:
    table = open_table(pd.DataFrame({"ok": range(len(series)), "c": series}))
    list(table.batches(["ok"]))
    with pytest.raises(TableError, match="column 'c' of the table has type"):
        table.batches(["c"])


def test_nested_columns_are_refused_only_when_asked_for(tmp_path: Path) -> None:
    stored = pa.table({"a": [1], "b": [[1]], "c": [{"d": 1}]})
    for source in (stored, _parquet(tmp_path, stored)):
        table = open_table(source)
        assert len(readings(table, "a")) == 1
        for name, kind in (("b", "list"), ("c", "struct")):
            with pytest.raises(TableError, match=f"column '{name}' of .* has type {kind}"):
                table.batches([name])


def test_names_with_dots_are_whole_names(tmp_path: Path) -> None:
    stored = pa.table({"a.b": ["x"], "a": ["y"], "c": [{"a": 1}]})
    (batch,) = open_table(_parquet(tmp_path, stored)).batches(["a", "a.b"])
    assert [texts(column).to_pylist() for column in batch.columns] == [["y"], ["x"]]


def test_missing_and_double_columns() -> None:
    table = open_table(pa.table([[1], [2], [3]], names=["a", "b", "b"]))
    with pytest.raises(TableError, match=r"^the table has no column 'age'; it has: a, b, b$"):
        table.batches(["a", "age"])
    with pytest.raises(TableError, match="more than one column 'b'"):
        table.batches(["b"])
    assert len(readings(table, "a")) == 1
    frame = pd.DataFrame([[1, 2]], columns=pd.Index([1, "1"], dtype=object))
    with pytest.raises(TableError, match="more than one column '1'"):
        open_table(frame).batches(["1"])
    with pytest.raises(TableError, match=r"and 80 more$"):
        open_table(pa.table([[1]] * 100, names=[f"x{place}" for place in range(100)])).batches(["y"])


def test_unreadable_files(tmp_path: Path) -> None:
    secret = b"PAR1 secret cell"
    for name in ("bad.parquet", "bad.xlsx", "bad"):
        (tmp_path / name).write_bytes(secret)
    with pytest.raises(TableError, match=r"^cannot read .*bad.parquet as Parquet: \w+$"):
        open_table(tmp_path / "bad.parquet")
    for name in ("no.parquet", "no.csv"):
        with pytest.raises(TableError, match=f"{name} does not exist$"):
            open_table(tmp_path / name)
    for name in ("bad.xlsx", "bad"):
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


def test_a_file_damaged_in_the_middle(tmp_path: Path) -> None:
    path = _parquet(tmp_path, pa.table({"c": [f"cell {place}" for place in range(1000)]}), compression="zstd")
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(content)
    with pytest.raises(TableError, match="as Parquet"):
        list(open_table(path).batches(["c"]))


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
        _parquet(tmp_path, stored),
        _parquet(tmp_path, stored, row_group_size=50_001),
    ):
        batches = list(open_table(source).batches(["s", "n"]))
        assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
        assert np.array_equal(np.concatenate([numbers(batch["n"]) for batch in batches]), np.arange(size))
        assert pa.concat_arrays([texts(batch["s"]) for batch in batches]).to_pylist() == stored["s"].to_pylist()


def test_an_opened_table_opens_as_itself() -> None:
    table = open_table(pa.table({"a": [1]}))
    assert open_table(table) is table
    assert repr(table) == "<ArrowTable the table>"


def test_empty_tables(tmp_path: Path) -> None:
    stored = pa.table({"c": pa.array([], pa.string())})
    for source in (stored, stored.to_pandas(), _parquet(tmp_path, stored), stored.schema.empty_table()):
        assert readings(open_table(source), "c") == []


def _texts(source: Any, column: str = "c") -> list[str]:
    return [text for _, text, _ in readings(open_table(source), column)]


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (pa.array([Decimal("1.50"), None, Decimal("-0.00")], pa.decimal128(20, 2)), ["1.50", "", "0"]),
        (pa.array([Decimal("1.50"), None], pa.decimal256(60, 2)), ["1.50", ""]),
        (pa.array(["a", None, " b "], pa.large_string()), ["a", "", "b"]),
        (pa.array(["a", None, " b "], pa.string_view()), ["a", "", "b"]),
        (pa.array([0, None], pa.timestamp("us", "Asia/Tokyo")), ["1970-01-01", ""]),
        (pa.array([1500], pa.timestamp("ms", "+03:00")), ["1970-01-01T00:00:01.5"]),
    ],
)
def test_stored_types(stored: pa.Array, expected: list[str], tmp_path: Path) -> None:
    table = pa.table({"c": stored})
    for source in (table, _parquet(tmp_path, table), table.to_reader(), ds.dataset(table)):
        assert _texts(source) == expected


def test_folders(tmp_path: Path) -> None:
    for name in ("b.parquet", "a=1/c.PQ", "a.parquet", "_hidden.parquet", ".crc.parquet", "_temporary/x.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"c": [name]}), tmp_path / name)
    (tmp_path / "notes.txt").write_text("nothing")
    (tmp_path / "empty.parquet").mkdir()
    assert _texts(tmp_path) == ["a.parquet", "a=1/c.PQ", "b.parquet"]
    with pytest.raises(TableError, match=r"empty.parquet holds no Parquet file"):
        open_table(tmp_path / "empty.parquet")
    pq.write_table(pa.table({"c": [[1]], "d": [1]}), tmp_path / "z.parquet")
    with pytest.raises(TableError, match=r"column 'c' of .*z.parquet has type list"):
        open_table(tmp_path).batches(["c"])
    with pytest.raises(TableError, match=r"a.*has no column 'd'; it has: c$"):
        open_table(tmp_path).batches(["d"])
    pq.write_table(pa.table({"d": [1]}), tmp_path / "z.parquet")
    with pytest.raises(TableError, match=r"z.parquet has no column 'c'; it has: d$"):
        open_table(tmp_path).batches(["c"])


def test_a_reader_is_read_once() -> None:
    table = open_table(_arrow().to_reader())
    with pytest.raises(TableError, match="has no column 'x'"):
        table.batches(["x"])
    assert len(readings(table, "count")) == 4
    with pytest.raises(TableError, match=r"^this stream was already read; give a table, a path, or a new stream$"):
        table.batches(["count"])


@pytest.mark.parametrize("fails", [True, False])
def test_an_object_whose_stream_is_gone(fails: bool) -> None:
    class Once:
        def __init__(self) -> None:
            self.reader: Any = _arrow().to_reader()

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


def _raise(cell: str) -> Any:
    raise ValueError(cell)


FAILING: dict[str, Callable[[Path], Any]] = {
    "reader": lambda _: pa.RecordBatchReader.from_batches(
        pa.schema({"c": pa.int64()}), (_raise("secret") for _ in "1")
    ),
    "array stream": lambda _: pa.chunked_array([["secret"]]),
    "polars": lambda _: pl.LazyFrame({"c": ["secret"]}).select(pl.col("c").cast(pl.Int64)),
    "polars function": lambda _: pl.LazyFrame({"c": ["secret"]}).select(
        pl.col("c").map_batches(lambda cells: _raise(cells[0]), return_dtype=pl.Int64)
    ),
    "polars without the column": lambda _: pl.LazyFrame({"c": ["secret"]}).select("secret"),
    "duckdb": lambda _: duckdb.connect().sql("SELECT s::INT AS c FROM (VALUES ('secret')) t(s)"),
    "data set": lambda folder: ds.dataset(
        _parquet(folder, pa.table({"c": ["secret"]})), schema=pa.schema({"c": pa.int64()})
    ),
}


@pytest.mark.parametrize("source", FAILING)
def test_errors_of_queries_and_streams_hold_no_cell(source: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"^cannot read the (stream|frame|relation|data set): \w+$"):
        list(open_table(FAILING[source](tmp_path)).batches(["c"]))


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
        assert _texts(source, "category") == ["a", "", "b"]
        assert _texts(source, "enum") == ["b", "a", ""]
        assert _texts(source, "nothing") == [""] * 3
        assert _texts(source, "zoned") == ["2019-12-31T15:00:00"] * 3
        for name in ("object", "wide", "list", "length"):
            with pytest.raises(TableError, match=f"column '{name}' of the frame has type"):
                open_table(source).batches([name])


def test_a_lazy_frame_is_run_at_every_pass(tmp_path: Path) -> None:
    path = _parquet(tmp_path, pa.table({"c": ["a"]}))
    table = open_table(pl.scan_parquet(path))
    assert len(readings(table, "c")) == 1
    assert len(readings(table, "c")) == 1


def test_duckdb_types() -> None:
    columns = [
        "340282366920938463463374607431768211455::UHUGEINT AS wide",
        "(-5)::HUGEINT AS sum",
        "'x'::ENUM('x', 'y') AS e",
        "'101'::BIT AS bits",
        "TIMESTAMPTZ '2020-01-01 00:00:00+02' AS t",
        "'infinity'::DATE AS far",
        "TIME '10:00' AS clock",
        "[1] AS list",
        '1 AS "a.b", 2 AS A, 3 AS a, 4 AS "q""q"',
    ]
    relation = duckdb.connect().sql(f"SELECT {', '.join(columns)}")
    expected = {"wide": str(2**128 - 1), "sum": "-5", "e": "x", "bits": "101", "t": "2019-12-31T22:00:00", "far": ""}
    for name, text in (expected | {"a.b": "1", "A": "2", "a": "3", 'q"q': "4"}).items():
        assert _texts(relation, name) == [text]
    for name in ("clock", "list"):
        with pytest.raises(TableError, match=f"column '{name}' of the relation has type"):
            open_table(relation).batches([name])


def test_an_unfinished_pass_over_a_relation_does_not_stop_the_next() -> None:
    table = open_table(duckdb.connect().sql("SELECT range AS c FROM range(1000000)"))
    batches = table.batches(["c"])
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert sum(batch.num_rows for batch in table.batches(["c"])) == 1_000_000


def test_duckdb_files(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE "o""ne" AS SELECT 1 AS c')
        connection.execute("CREATE VIEW seen AS SELECT 2 AS c")
        with pytest.raises(TableError, match="is open in this program; close that connection"):
            open_table(path)
    assert _texts(path) == ["1"]
    assert [text for _, text, _ in readings(open_table(path, table="seen"), "c")] == ["2"]
    with pytest.raises(TableError, match=r"has no table 'two'; it has: o\"ne, seen$"):
        open_table(path, table="two")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE two AS SELECT 3 AS c; CREATE SCHEMA s; CREATE TABLE s.two AS SELECT 4 AS c")
    with pytest.raises(TableError, match=r"does not hold exactly one table; choose one with table=: o\"ne, seen, two"):
        open_table(path)
    with pytest.raises(TableError, match="more than one table 'two'"):
        open_table(path, table="two")
    with duckdb.connect(tmp_path / "empty.db"):
        pass
    with pytest.raises(TableError, match=r"choose one with table=: none$"):
        open_table(tmp_path / "empty.db")
    connection = sqlite3.connect(tmp_path / "lite.db")
    connection.execute("CREATE TABLE t (c)")
    connection.close()
    with pytest.raises(TableError, match="is an SQLite file"):
        open_table(tmp_path / "lite.db")


def test_duckdb_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"needs an extra: pip install sfumato\[duckdb\]$"):
        open_table(tmp_path / "t.duckdb")
    assert _texts(pa.table({"c": ["a"]})) == ["a"]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[0, 1.5], [0, np.nan]]), ["1.5", ""]),
        (np.array([[0, 1], [0, 2]], dtype=">i2"), ["1", "2"]),
        (np.array([[0, 1], [0, 1]], dtype=bool), ["true", "true"]),
        (np.array([[0, 0.5]], dtype=np.float16), ["0.5"]),
        (np.array([[0, 1], [0, "a"], [0, None], [0, [1]]], dtype=object), ["1", "a", "", ""]),
        (np.array([["x", "a"], ["y", "\ud800"]]), ["a", ""]),
        (np.array([[b"x", b"\xff"]]), [""]),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), ["2020-01-02"]),
        (np.array([["2020-01-01", "2020-02-01"], ["2020-01", "NaT"]], dtype="datetime64[M]"), ["2020-02-01", ""]),
        (np.array([["2020-01-01", "2020-01-03"]], dtype="datetime64[2D]"), ["2020-01-03"]),
        (np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]]), ["2", ""]),
        (np.ma.masked_array(np.array([[1, "a"], [3, "b"]], dtype=object), mask=[[0, 0], [0, 1]]), ["a", ""]),
        (np.arange(8)[::-1].reshape(2, 4)[:, ::2], ["5", "1"]),
        (np.zeros((0, 2)), []),
        (np.array([(1, "a"), (2, "b")], dtype=[("x0", int), ("x1", "U3")]), ["a", "b"]),
        (np.rec.array([(1, 2.5)], dtype=[("x0", int), ("x1", float)]), ["2.5"]),
    ],
)
def test_arrays(array: Any, expected: list[str]) -> None:
    table = open_table(array)
    assert table.names == ("x0", "x1")
    assert _texts(table, "x1") == expected


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.array(1), np.zeros((2, 2), dtype=[("a", int)])])
def test_arrays_that_are_no_tables(array: Any) -> None:
    with pytest.raises(TableError, match=r"^an array of \d dimensions is no table; give a 2-D array"):
        open_table(array)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((1, 1), dtype=complex),
        np.zeros((1, 1), dtype="m8[s]"),
        np.zeros((1, 1), dtype="V3"),
        np.zeros(1, dtype=[("x0", float, (2,))]),
        np.zeros(1, dtype=[("x0", [("y", float)])]),
    ],
)
def test_array_types_that_have_no_reading(array: Any) -> None:
    with pytest.raises(TableError, match="column 'x0' of the array has type"):
        open_table(array).batches(["x0"])


@pytest.mark.parametrize("options", [{"delimiter": ","}, {"quote": "'"}, {"encoding": "latin-1"}, {"table": "t"}])
def test_options_of_other_kinds_of_table(options: dict[str, str], tmp_path: Path) -> None:
    sources = [_parquet(tmp_path, _arrow()), tmp_path, _arrow(), tmp_path / "t.arrow"]
    for source in sources:
        with pytest.raises(ArgumentError, match=r"is for (CSV|DuckDB) files only$"):
            open_table(source, **options)


@pytest.mark.parametrize(
    ("shape", "bounds", "names", "message"),
    [
        ((1, 2), (0, 0), None, "columns.x0: min .* must be below max"),
        ((1, 2), ([0, 1, 2], 3), None, "each a number or 2 of them"),
        ((1, 2), 5, None, "bounds must be"),
        ((1, 2), (0, math.inf), None, "finite"),
        ((1, 2), (0, 1), ["a"], "2 different names"),
        ((1, 2), (0, 1), ["a", "b", "b"], "2 different names"),
        ((2,), (0, 1), None, "2-D array"),
    ],
)
def test_bad_schemas_of_arrays(shape: tuple[int, ...], bounds: Any, names: list[str] | None, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_array(np.zeros(shape), bounds, names=names)


def test_the_schema_of_an_array_takes_no_value_from_it() -> None:
    bounds = (np.array([0.0, -1.0]), 10)
    assert Schema.from_array(np.zeros((3, 2)), bounds) == Schema.from_array(np.full((9, 2), np.nan), bounds)
    assert Schema.from_array(np.zeros((3, 2)), bounds).features == open_table(np.zeros((3, 2))).names
    assert Schema.from_array(np.zeros((3, 2)), bounds, names=["a", "b"]).columns["b"].min == -1.0
