"""Kinds of columns: what a schema may say of them, and how their values come back."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.schema.columns import Boolean, Category, Date, Datetime, Duration, Number, Span, Time
from sfumato.schema.schema import Schema

EVERY_KIND = """
columns:
  smoker: {type: boolean}
  insured: {type: boolean, values: {true: "J", false: "N"}, missing: true}
  coded: {type: boolean, values: {true: 1, false: 2}}
  arrived: {type: time, min: 6:00, max: 22:00, step: 15 min}
  woke: {type: time}
  stay: {type: duration, min: 0d, max: 30d, step: 1h, scale: log, missing: true}
  lap: {type: duration, min: -1:30, max: PT8H, step: 0.25, format: minutes}
  seen: {type: datetime, min: 2024-01-01, max: 2024-12-31 23:59, zone: Europe/Vienna}
  sent: {type: datetime, min: 2024-01-01T08:00:00+05:30, max: "2025-01-01", step: 3600, format: "%d.%m.%Y %H:%M"}
  born: {type: date, min: 1920-01-01, max: 2020-12-31, format: "%d.%m.%Y", zone: UTC}
  price: {type: number, min: -1000, max: 5000, step: 0.1, format: "1.234,5 €"}
"""


def refused(column: str) -> str:
    with pytest.raises(SchemaError) as error:
        Schema.parse(f"columns:\n  x: {column}")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_schema_of_every_kind_is_written_and_read_again() -> None:
    schema = Schema.parse(EVERY_KIND)
    assert Schema.parse(schema.to_yaml()) == schema
    assert Schema.of(schema.dump()) == schema
    spans = {name: column.span[:3] for name, column in schema.columns.items() if not isinstance(column, Boolean)}
    assert spans == {
        "arrived": (21_600, 79_200, 900),
        "woke": (0, 86_340, 60),
        "stay": (0, 2_592_000, 3600),
        "lap": (-5400, 28_800, 0.25),
        "seen": (1_704_063_600, 1_735_685_940, 60),  # an hour ahead of UTC, winter at both ends
        "sent": (1_704_076_200, 1_735_689_600, 3600),
        "born": (-18_263, 18_627, 1),
        "price": (-1000, 5000, 0.1),
    }
    assert schema.columns["stay"].span == Span(0, 2_592_000, 3600, "log", ())  # type: ignore[union-attr]


def test_yaml_reads_no_time_as_a_number() -> None:
    schema = Schema.parse(
        "columns:\n  x: {type: time, min: 8:30, max: 9:30:15}\n  y: {type: category, values: [1:20, 7]}"
    )
    assert schema.columns["x"] == Time(min=time(8, 30), max=time(9, 30, 15))
    assert schema.columns["y"] == Category(values=("1:20", 7))


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("{type: time, min: 510}", 'columns.x.min: 510 is no time of day; write one such as "08:30"'),
        ("{type: time, min: '25:00'}", "columns.x.min: '25:00' is no time of day"),
        ("{type: time, min: 9:00, max: 8:00}", "columns.x: min (09:00:00) must be before max (08:00:00)"),
        ("{type: time, step: 0}", "columns.x.step: Input should be greater than or equal to 0.000001"),
        ("{type: time, step: 2d}", "columns.x: min (00:00:00) must be before max"),
        ("{type: time, format: '%Y %H'}", "columns.x: format: '%Y %H' has parts that a time of day has not"),
        ("{type: time, format: '%M'}", "columns.x: format: '%M' needs the hour"),
        ("{type: time, format: '%I:%M'}", "columns.x: format: '%I:%M' needs %I and %p together"),
        ("{type: duration, min: 0, max: a month}", "columns.x.max: 'a month' is no duration; write one such as"),
        ("{type: duration, min: 0, max: true}", "columns.x.max: YAML reads an unquoted"),
        ("{type: duration, min: 0, max: 1, format: weeks}", "columns.x.format: Input should be 'seconds'"),
        ("{type: duration, min: 1d, max: 1h}", "columns.x: min (86400.0) must be before max (3600.0)"),
        ("{type: duration, min: 0, max: 1e18}", "columns.x: step (1) is too fine"),
        ("{type: datetime, min: soon, max: 2024-01-01}", "columns.x.min: 'soon' is no date with a time; write one"),
        ("{type: datetime, min: 2024-01-01, max: 2025-01-01, zone: Vienna}", "columns.x.zone: there is no time zone"),
        ("{type: datetime, min: 2024-01-01, max: 2025-01-01, zone: ../x}", "columns.x.zone: there is no time zone"),
        ("{type: datetime, min: 2024-01-01, max: 2025-01-01, zone: Europe}", "columns.x.zone: there is no time zone"),
        ("{type: datetime, min: 2024-01-01, max: 2025-01-01, zone: localtime}", "columns.x.zone: there is no time"),
        (
            "{type: datetime, min: 0001-01-01, max: 2025-01-01, zone: Asia/Tokyo}",
            "columns.x: 0001-01-01 00:00:00 is out",
        ),
        (
            "{type: datetime, min: 2024-01-01, max: 2025-01-01, format: '%d.%m.%Y'}",
            "columns.x: format: '%d.%m.%Y' needs",
        ),
        ("{type: date, min: 2024-01-01, max: 2025-01-01, format: '%d.%m'}", "columns.x: format: '%d.%m' needs a year"),
        ("{type: date, min: 2024-01-01, max: 2025-01-01, format: '%d.%Q.%Y'}", "columns.x: format: '%Q' is none of"),
        ("{type: number, min: 0, max: 1, format: '$1.200'}", "columns.x: format shows how 1234.5 is written"),
        ("{type: number, min: 0, max: 1, format: 5}", "columns.x.format: Input should be a valid string"),
        ("{type: boolean, values: [yes_, no_]}", "columns.x.values: values says how true and false are written"),
        ("{type: boolean, values: {true: yes, false: no}}", "columns.x.values: YAML reads an unquoted yes"),
        ("{type: boolean, values: {true: Y}}", "columns.x.values: values says how"),
        ("{type: boolean, values: {true: Y, false: Y}}", "columns.x: values has the same spelling for true and false"),
        ("{type: boolean, values: {true: 'false', false: 'true'}}", "columns.x: values has the same spelling"),
        ("{type: boolean, values: {true: Y, false: ''}, missing: true}", "columns.x: an empty value is what missing"),
    ],
)
def test_a_mistake_is_told_in_one_line(column: str, problem: str) -> None:
    assert refused(column).startswith(problem)


@pytest.mark.parametrize("kind", ["time", "duration, min: 0, max: 1d", "datetime, min: 2024-01-01, max: 2025-01-01"])
def test_only_what_has_classes_can_be_the_label(kind: str) -> None:
    with pytest.raises(SchemaError, match=r"columns\.y: a \w+ cannot be the label"):
        Schema.parse(f"label: y\ncolumns:\n  y: {{type: {kind}}}\n  x: {{type: time}}")
    assert Schema.parse("label: y\ncolumns:\n  y: {type: boolean}\n  x: {type: time}").label == "y"


def test_stepped_numbers_come_back_as_exact_decimals() -> None:
    tenths = Number(min=0, max=100, step=0.1)
    grid = tenths.typed(np.arange(1001) * 0.1, None)
    assert [str(x) for x in grid[:4]] == ["0.0", "0.1", "0.2", "0.3"]  # and not 0.30000000000000004
    assert grid.tolist() == [k / 10 for k in range(1001)]


@given(st.integers(-(10**6), 10**6), st.integers(1, 999), st.integers(0, 6), st.integers(0, 1000))
def test_a_stepped_value_is_the_decimal_that_one_would_write(low: int, step: int, digits: int, k: int) -> None:
    column = Number(min=low / 10**digits, max=(low + 1000 * step) / 10**digits, step=step / 10**digits)
    found = column.typed(np.array([column.min + k * step / 10**digits]), None).item()
    assert found == float(f"{low + k * step}e-{digits}")


def test_integers_stay_integers() -> None:
    age = Number(min=0, max=120, step=1)
    assert age.typed(np.array([3.0]), None).dtype == np.int64
    some = age.typed(np.array([3.0, 0.0]), np.array([False, True]))
    assert some.dtype == pd.Int64Dtype()
    assert some.isna().tolist() == [False, True]


ABSENT = np.array([False, True])


@pytest.mark.parametrize(
    ("column", "count", "dtype", "value"),
    [
        (Date(min=date(2000, 1, 1), max=date(2001, 1, 1)), 1.0, "datetime64[s]", pd.Timestamp("1970-01-02")),
        (
            Datetime(min="2000-01-01", max="2001-01-01", zone="Asia/Tokyo"),
            0.5,
            "datetime64[us, Asia/Tokyo]",
            pd.Timestamp("1970-01-01 09:00:00.5", tz="Asia/Tokyo"),
        ),
        (Datetime(min="2000-01-01", max="2001-01-01"), -0.5, "datetime64[us]", pd.Timestamp("1969-12-31 23:59:59.5")),
        (Time(), 30_600.25, "object", time(8, 30, 0, 250_000)),
        (Duration(min=0, max=1), -1.5, "timedelta64[us]", pd.Timedelta(seconds=-1.5)),
    ],
)
def test_counts_come_back_as_what_the_column_holds(column: Any, count: float, dtype: str, value: Any) -> None:
    whole = column.typed(np.array([count]), None)
    assert (str(whole.dtype), whole[0]) == (dtype, value)
    some = column.typed(np.array([count, count]), ABSENT)
    assert (str(some.dtype), some[0], some.isna().tolist()) == (dtype, value, [False, True])


def test_booleans_come_back_as_booleans() -> None:
    assert Boolean().typed(np.array([1, 0])).dtype == bool
    some = Boolean(missing=True).typed(np.array([1, 0, 2]))
    assert some.dtype == pd.BooleanDtype()
    assert some[:2].tolist() == [True, False]
    assert some.isna().tolist() == [False, False, True]


def test_a_declared_spelling_leaves_out_all_others_but_the_stored_ones() -> None:
    assert Boolean(values={True: "J", False: "N"}).texts == ("false", "true", "0", "1", "N", "J")
    assert Boolean(values={True: "J", False: "N"}).codes.tolist() == [0, 1, 0, 1, 0, 1]
    assert Boolean(values={True: 1, False: 2}).texts == ("false", "true", "2", "1")
    assert "no" in Boolean().texts


def test_durations_are_shown_in_words() -> None:
    column = Duration(min=-90, max=timedelta(days=1, hours=1), step="0.5s")
    assert column.model_dump(mode="json", exclude_defaults=True) == {"min": "-1m 30s", "max": "1d 1h", "step": 0.5}


def test_bounds_may_be_python_s_own() -> None:
    column = Datetime(min=date(2024, 1, 1), max=datetime(2024, 1, 2, 8, 30))
    assert (column.min, column.max) == (datetime(2024, 1, 1), datetime(2024, 1, 2, 8, 30))
