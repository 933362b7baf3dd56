"""The same table reads the same from every source, and one odd cell changes no other."""

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import TableError
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
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="as CSV: IsADirectoryError"):
        open_table(tmp_path / "folder.csv")
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
