"""pandas frames: every type that has a reading reads as text would, others are refused when asked for."""

import pandas as pd
import pyarrow as pa
import pytest
from tests.tables.helpers import readings

from sfumato.errors import TableError
from sfumato.tables import open_table


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
        (pd.Series(pd.to_datetime(["2020-01-01T01:00"]).tz_localize("Asia/Tokyo")), ["2019-12-31T16:00:00Z"]),
        (pd.Series(pd.to_timedelta(["90 min", None])), ["01:30:00", ""]),
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


def test_names_of_columns_become_text() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=pd.Index([0, None, "b", 2.5, pd.Timestamp("2020-01-01")]))
    table = open_table(frame)
    assert table.names == ("0", "1", "b", "2.5", "2020-01-01")
    assert [text for _, text, _ in readings(table, "1")] == ["2"]
    unnamed = pd.DataFrame([[1, 2]], columns=[float("nan"), pd.NaT])
    assert open_table(unnamed).names == ("0", "1")
    levels = pd.MultiIndex.from_tuples([("visit", 1), ("visit", 2), ("age", "")])
    assert open_table(pd.DataFrame([[1, 2, 3]], columns=levels)).names == ("visit_1", "visit_2", "age")


def test_names_that_become_one_text_are_told() -> None:
    with pytest.raises(TableError, match="more than one column '0'; rename all but one"):
        open_table(pd.DataFrame([[1, 2]], columns=["0", 0])).batches(["0"])
