"""From cells of any stored type to bin numbers."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.schema.layout import Layout, bins_of
from sfumato.schema.schema import Category, Date, Number, Schema
from sfumato.tables import open_table
from sfumato.tables.coding import cells_of, code_cells, code_label, read_batches

GRADES = Category(values=(1, "2", 2.5, "A", "true"))
GRADES_OR_MISSING = Category(values=(1, "2", 2.5, "A", "true"), missing=True)
MISSING = len(GRADES.values)


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (pa.array(["1", "1.0", " 1 ", "01", "+1", "1.00"]), [0, 0, 0, -1, -1, 0]),
        (pa.array([1, 2, 3, None]), [0, 1, -1, -1]),
        (pa.array([1.0, 2.0, 2.5, float("nan")]), [0, 1, 2, -1]),
        (pa.array([Decimal("1.00"), Decimal("2.50"), None]), [0, -1, -1]),  # as the text 2.50 would
        (pa.array([True, False, None]), [4, -1, -1]),
        (pa.array(["TRUE", "True", "true", "tRUE"]), [4, 4, 4, -1]),
        (pa.array(["A", "a", "", "A\t", None]), [3, -1, -1, 3, -1]),
        (pa.array([b"A", b"\xff", None]), [3, -1, -1]),
        (pa.array(["A", "1.0", "A", None]).dictionary_encode(), [3, 0, 3, -1]),
        (pa.array([1, 2], pa.int8()), [0, 1]),
        (pa.nulls(2), [-1, -1]),
        (pa.array([], pa.string()), []),
    ],
    ids=str,
)
def test_categories_compare_as_text(cells: pa.Array, codes: list[int]) -> None:
    found = code_cells(cells, bins_of(GRADES))
    assert found.codes.tolist() == codes
    assert found.values is None
    with_bucket = code_cells(cells, bins_of(GRADES_OR_MISSING)).codes.tolist()
    assert with_bucket == [MISSING if code < 0 else code for code in codes]


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (pa.array(["0", "4.4", "4.6", " 9 ", "1e1", "-3", "999"]), [0, 4, 5, 9, 10, 0, 10]),
        (pa.array(["", "x", "1,5", "1 5", "nan", None]), [-1] * 6),
        (pa.array(["inf", "-inf", "Infinity"]), [10, 0, 10]),
        (pa.array([3, -7, 2**62, None]), [3, 0, 10, -1]),
        (pa.array([2**64 - 1], pa.uint64()), [10]),
        (pa.array([-0.0, float("nan"), float("inf"), 5e-324]), [0, -1, 10, 0]),
        (pa.array([True, False]), [1, 0]),
        (pa.array([Decimal("7.00")]), [7]),
        (pa.array([datetime.date(2020, 1, 1)]), [-1]),
        (pa.array(["7", "x", "7"]).dictionary_encode(), [7, -1, 7]),
    ],
    ids=str,
)
def test_numbers_are_placed_clamped_or_left_out(cells: pa.Array, codes: list[int]) -> None:
    column = Number(min=0, max=10, step=1)
    assert code_cells(cells, bins_of(column)).codes.tolist() == codes
    bucket = code_cells(cells, bins_of(column.model_copy(update={"missing": True}))).codes.tolist()
    assert bucket == [11 if code < 0 else code for code in codes]


def test_values_of_ordered_columns_come_along() -> None:
    found = code_cells(pa.array(["1.25", "x", "99"]), bins_of(Number(min=0, max=10)))
    assert found.values is not None
    np.testing.assert_array_equal(found.values, [1.25, np.nan, 99.0])


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (pa.array(["2020-01-01", "2020-01-03", "2020-01-10"]), [0, 2, 9]),
        (pa.array(["2020-01-02T23:59:59.999999", "2020-01-02 00:00"]), [1, 1]),
        (pa.array(["2020-01-02T01:00+02:00"]), [0]),  # in UTC it is the day before
        (pa.array(["2020-01-02T01:00Z"]), [1]),
        (pa.array(["1999-01-01", "2099-01-01"]), [0, 9]),
        (pa.array(["2020-02-30", "1.1.2020", "20200101", "", None, "18262"]), [-1] * 6),
        (pa.array([datetime.date(2020, 1, 4), None]), [3, -1]),
        (pa.array([datetime.datetime(2020, 1, 4, 23, 59), None]), [3, -1]),
        (pa.array([datetime.datetime(2020, 1, 4, 23, 59)], pa.timestamp("ns")), [3]),
        (pa.array([18262, 18263]), [-1, -1]),  # a number is no date
    ],
    ids=str,
)
def test_dates_lose_their_time_of_day(cells: pa.Array, codes: list[int]) -> None:
    column = Date(min=datetime.date(2020, 1, 1), max=datetime.date(2020, 1, 10))
    assert code_cells(cells, bins_of(column)).codes.tolist() == codes


def test_times_before_1970_fall_on_their_own_day() -> None:
    column = Date(min=datetime.date(1969, 12, 30), max=datetime.date(1970, 1, 2))
    cells = pa.array(["1969-12-31T12:00", "1969-12-31T00:00", "1970-01-01T00:00"])
    found = code_cells(cells, bins_of(column))
    assert found.codes.tolist() == [1, 1, 2]
    assert found.values is not None
    assert found.values.tolist() == [-1.0, -1.0, 0.0]


def test_the_last_nanosecond_of_a_day_belongs_to_it() -> None:
    column = Date(min=datetime.date(2020, 1, 1), max=datetime.date(2020, 1, 10))
    assert code_cells(pa.array(["2020-01-02T23:59:59.999999999"]), bins_of(column)).codes.tolist() == [1]


def layout(label: dict[str, Any] | None) -> Layout:
    columns: dict[str, Any] = {"x": {"type": "number", "min": 0, "max": 1}}
    return Layout.of(
        Schema.of({"columns": columns} if label is None else {"columns": columns | {"y": label}, "label": "y"})
    )


def test_a_label_is_its_class_or_nowhere() -> None:
    batch = pa.RecordBatch.from_pydict({"y": ["b", "a", "c", None, " a "]})
    found = code_label(batch, layout({"type": "category", "values": ["a", "b"]}))
    assert found.tolist() == [1, 0, -1, -1, 0]
    assert found.dtype == np.int64


def test_a_number_may_be_the_label() -> None:
    batch = pa.RecordBatch.from_pydict({"y": ["0", "4.9", "5", "10", "77", "x"]})
    found = code_label(batch, layout({"type": "number", "min": 0, "max": 10, "bins": 2}))
    assert found.tolist() == [0, 0, 1, 1, 1, -1]


def test_without_a_label_all_rows_are_of_one_class() -> None:
    batch = pa.RecordBatch.from_pydict({"x": ["0", "bad", None]})
    assert code_label(batch, layout(None)).tolist() == [0, 0, 0]


def test_columns_are_read_in_the_order_of_the_schema_and_others_ignored() -> None:
    table = open_table(pa.table({"other": ["q"], "y": ["a"], "x": ["1"]}))
    made = layout({"type": "category", "values": ["a"]})
    (batch,) = read_batches(table, made, made.label)
    assert batch.schema.names == ["x", "y"]
    (features,) = read_batches(table, made)
    assert features.schema.names == ["x"]


def test_a_large_float_category_matches_the_stored_float() -> None:
    assert code_cells(pa.array([1e20]), bins_of(Category(values=(1e20,)))).codes.tolist() == [0]


def difference(rules: list[str], **missing: bool) -> Layout:
    day = {"type": "date", "min": "2020-01-01", "max": "2020-01-31"}
    columns = {name: day | {"missing": missing.get(name, False)} for name in ("came", "left", "paid")}
    return Layout.of(Schema.of({"columns": columns, "constraints": rules}))


def test_a_difference_is_read_from_the_cells_of_one_row() -> None:
    layout = difference(["left >= came"])
    cells = {
        "came": ["2020-01-03", "2020-01-03T23:00", "2019-05-05", "2020-01-05", "?", None],
        "left": ["2020-01-04", "2020-01-04T01:00", "2025-01-01", "2020-01-03", "2020-01-03", "2020-01-03"],
    }
    found = cells_of(pa.RecordBatch.from_pydict(cells), "left - came", layout)
    assert found.to_pylist()[:4] == [1, 1, 30, -2]  # each day clamped to its own bounds
    assert code_cells(found, layout.bins[1]).codes.tolist() == [1, 1, 30, 0, -1, -1]


def test_a_difference_has_the_missing_cells_of_its_ends() -> None:
    layout = difference(["left >= came"], left=True)
    batch = pa.RecordBatch.from_pydict({"came": ["2020-01-03", "?"], "left": [None, "2020-01-03"]})
    bins = layout.bins[layout.names.index("left - came")]
    assert code_cells(cells_of(batch, "left - came", layout), bins).codes.tolist() == [bins.missing] * 2


def test_a_difference_from_the_largest_of_several() -> None:
    layout = difference(["paid >= came", "paid >= left"])
    batch = pa.RecordBatch.from_pydict(
        {"came": ["2020-01-03", None], "left": ["2020-01-07", "2020-01-02"], "paid": ["2020-01-09", "2020-01-09"]}
    )
    assert cells_of(batch, "paid - max(came, left)", layout).to_pylist() == [2, 7]


def test_other_rows_do_not_change_a_difference() -> None:
    layout = difference(["left >= came"])
    row = {"came": "2020-01-03", "left": "2020-01-09"}
    for other in ("2020-01-01", "", "x", "9999-12-31", "inf"):
        cells = {name: [row[name], other] for name in row}
        assert cells_of(pa.RecordBatch.from_pydict(cells), "left - came", layout)[0].as_py() == 6


def test_a_difference_reads_its_columns_and_no_other() -> None:
    layout = difference(["left >= came"])
    table = open_table(pa.table({"paid": ["2020-01-03"], "left": ["2020-01-03"], "came": ["2020-01-03"], "x": [1]}))
    (batch,) = read_batches(table, layout)
    assert batch.schema.names == ["came", "left", "paid"]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["999", "9.99e2", " 999.0 ", "?", "-9", "5", "-3", "500", "", "x"]),
        pa.array(["999", "999", "999", "?", "-9.0", "5", "-3", "500", None, "x"]).dictionary_encode(),
        pa.array([999, 999, 999, None, -9, 5, -3, 500, None, None], pa.int16()),
        pa.array([999.0, 999.0, 999.0, None, -9.0, 5.0, -3.0, 500.0, None, None]),
    ],
    ids=lambda cells: str(cells.type),
)
def test_what_is_listed_as_missing_is_missing_and_never_clamped(cells: pa.Array) -> None:
    bins = bins_of(Number(min=0, max=9, step=1, missing=["?", 999, -9]))
    coded = code_cells(cells, bins)
    assert coded.codes.tolist() == [10, 10, 10, 10, 10, 5, 0, 9, 10, 10]
    assert coded.values is not None
    assert np.isnan(coded.values).tolist() == [True] * 5 + [False] * 3 + [True] * 2
    for place in range(len(cells)):  # each cell alone
        assert code_cells(cells.slice(place, 1), bins).codes.tolist() == coded.codes[place : place + 1].tolist()


def test_days_and_texts_that_mean_missing() -> None:
    seen = bins_of(Date(min=datetime.date(2020, 1, 1), max=datetime.date(2020, 1, 9), missing=["9999-12-31"]))
    cells = pa.array(["2020-01-02", "9999-12-31", "9999-12-31T08:00", "9998-12-31"])
    assert code_cells(cells, seen).codes.tolist() == [1, 9, 9, 8]
    town = bins_of(Category(values=("Ulm",), missing=["N/A"]))
    assert code_cells(pa.array(["Ulm", "N/A", "Bonn"]), town).codes.tolist() == [0, 1, 1]


@pytest.mark.filterwarnings("error")
def test_a_difference_beyond_all_numbers_is_clamped_without_a_word() -> None:
    below, above = {"type": "number", "min": -1.7e308, "max": 0}, {"type": "number", "min": 0, "max": 1.7e308}
    rules = ["above >= below", "above <= below + 100"]
    layout = Layout.of(Schema.of({"columns": {"below": below, "above": above}, "constraints": rules}))
    batch = pa.RecordBatch.from_pydict({"below": ["-1.7e308", "0"], "above": ["1.7e308", "50"]})
    values = code_cells(cells_of(batch, "above - below", layout), layout.bins[1]).values
    assert values is not None
    assert values.tolist() == [np.inf, 50.0]
