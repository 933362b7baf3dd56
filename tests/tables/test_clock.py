"""Dates, times and durations of cells, by the clocks of a zone: a stored value reads as its text would."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.schema.columns import Clocked, Date, Datetime, Duration, Time
from sfumato.tables import open_table, texts
from sfumato.tables.clock import clock_values

NAN = float("nan")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("Europe/Vienna", "America/St_Johns", "Australia/Lord_Howe", "Europe/Amsterdam", "Pacific/Apia", "UTC")


def at(zone: str | None, **more: Any) -> Datetime:
    return Datetime(min="1900-01-01", max="2100-01-01", zone=zone, **more)


def utc(text: str) -> float:
    return (datetime.fromisoformat(text) - EPOCH) / timedelta(seconds=1)


def read(cells: Any, column: Clocked) -> list[float]:
    return clock_values(cells if isinstance(cells, pa.Array) else pa.array(cells), column).tolist()


@pytest.mark.parametrize(
    ("cell", "instant"),
    [
        ("2024-07-01 08:00", "2024-07-01T06:00Z"),
        ("2024-01-01 08:00", "2024-01-01T07:00Z"),
        ("2024-01-01", "2023-12-31T23:00Z"),
        ("2024-07-01 08:00Z", "2024-07-01T08:00Z"),
        ("2024-07-01T08:00:00+05:30", "2024-07-01T02:30Z"),
        ("2024-10-27 02:30", "2024-10-27T00:30Z"),  # comes twice: the first
        ("2024-10-27 03:00", "2024-10-27T02:00Z"),
        ("2024-03-31 02:30", "2024-03-31T01:30Z"),  # never comes: 03:30
        ("2024-03-31 01:59:59", "2024-03-31T00:59:59Z"),
    ],
)
def test_a_cell_without_an_offset_is_local_time(cell: str, instant: str) -> None:
    assert read([cell], at("Europe/Vienna")) == [utc(instant)]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.datetimes(datetime(1850, 1, 1), datetime(2200, 1, 1)), min_size=1, max_size=5), st.sampled_from(ZONES)
)
def test_stored_and_written_instants_agree_with_the_calendar_of_python(column: list[datetime], zone: str) -> None:
    expected = [(when.replace(tzinfo=ZoneInfo(zone), fold=0) - EPOCH) / timedelta(seconds=1) for when in column]
    for cells in (pa.array(column, pa.timestamp("us")), pa.array([str(when) for when in column])):
        np.testing.assert_allclose(read(cells, at(zone)), expected, rtol=0, atol=1e-5)
        assert read(cells, at(zone)) == read(texts(cells), at(zone))
    aware = pa.array([when.replace(tzinfo=UTC) for when in column], pa.timestamp("us", "Asia/Tokyo"))
    assert read(aware, at(zone)) == read(texts(aware), at(zone)) == read(aware, at(None))


@settings(deadline=None, max_examples=25)
@given(st.datetimes(datetime(1850, 1, 1), datetime(2200, 1, 1)), st.sampled_from(ZONES))
def test_the_day_of_an_instant_is_that_of_its_zone(when: datetime, zone: str) -> None:
    column = Date(min=date(1800, 1, 1), max=date(2300, 1, 1), zone=zone)
    aware = when.replace(tzinfo=UTC)
    (day,) = read([aware.isoformat()], column)
    assert date(1970, 1, 1) + timedelta(days=day) == aware.astimezone(ZoneInfo(zone)).date()
    (naive,) = read([when.isoformat()], column)
    assert date(1970, 1, 1) + timedelta(days=naive) == when.date()


@pytest.mark.parametrize("zone", [None, "Europe/Vienna", "Pacific/Apia"])
@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.date64(), pa.date32(), pa.string()])
def test_the_ends_of_the_calendar_do_not_raise(zone: str | None, kind: pa.DataType) -> None:
    if kind == pa.string():
        cells = pa.array(["0001-01-01", "9999-12-31T23:59Z", "0001-01-01T00:00+14:00", "9999-12-31 23:59"])
    elif kind == pa.date32():
        cells = pa.array([2**31 - 1, -(2**31), 0, None], pa.int32()).cast(kind)
    else:
        cells = pa.array([2**63 - 1, -(2**63), 0, None], pa.int64()).cast(kind)
    for column in (at(zone), Date(min=date(1900, 1, 1), max=date(2100, 1, 1), zone=zone)):
        assert len(read(cells, column)) == len(cells)


def test_times_and_durations_stored_or_written() -> None:
    expected = [30_600.0, 30_600.5, NAN]
    nanos = [30_600 * 10**9, 30_600_500_000_000, None]
    objects = pd.DataFrame({"c": pd.Series([time(8, 30), time(8, 30, 0, 500_000), None], dtype=object)})
    (batch,) = open_table(objects).batches(["c"])
    for cells in (pa.array(nanos, pa.time64("ns")), pa.array(["8:30", "08:30:00.5", "x"]), batch.column(0)):
        np.testing.assert_equal(read(cells, Time()), expected)
    spans = [timedelta(hours=8, minutes=30), timedelta(hours=8, minutes=30, microseconds=500_000), None]
    (batch,) = open_table(pd.DataFrame({"c": pd.Series(spans, dtype=object)})).batches(["c"])
    for cells in (pa.array(nanos, pa.duration("ns")), pa.array(["8h 30m", "PT30600.5S", "8"]), batch.column(0)):
        np.testing.assert_equal(read(cells, Duration(min=0, max="1d")), expected)
    assert read(pa.array([30_600], pa.time32("s")), Time()) == [30_600.0]


@pytest.mark.parametrize(
    "column", [at(None), Time(), Duration(min=0, max="1d"), Date(min=date(2000, 1, 1), max=date(2001, 1, 1))]
)
@pytest.mark.parametrize(
    "cells",
    [
        pa.array([1, 2]),
        pa.array([1.5, None]),
        pa.array([True, False]),
        pa.array(["x", ""]),
        pa.nulls(2),
        pa.array([b"\xff"] * 2),
    ],
    ids=str,
)
def test_cells_of_another_kind_are_unreadable(cells: pa.Array, column: Clocked) -> None:
    assert np.isnan(read(cells, column)).all()
    other = pa.array([1, 2], pa.duration("s")) if column.type != "duration" else pa.array([1, 2], pa.time32("s"))
    assert np.isnan(read(other, column)).all()


@pytest.mark.filterwarnings("error")
def test_bare_numbers_are_durations_by_their_unit() -> None:
    for unit, size in {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}.items():
        column = Duration(min=0, max="30d", format=unit)
        assert read([90.0, 1.5], column) == [90.0 * size, 1.5 * size]
        np.testing.assert_equal(read(["90", "PT90M", "x", "1e308"], column)[:3], [90.0 * size, 5400.0, NAN])
    assert read(pa.array([90], pa.duration("s")), Duration(min=0, max="30d", format="days")) == [90.0]


def test_a_format_is_for_texts_and_whole_numbers_only() -> None:
    column = Date(min=date(2000, 1, 1), max=date(2100, 1, 1), format="%Y%m%d")
    day = (date(2024, 12, 31) - date(1970, 1, 1)).days
    np.testing.assert_equal(read(["20241231", "2024-12-31"], column), [day, NAN])
    assert read([20241231], column) == read([date(2024, 12, 31)], column) == [day]
    mixed = pd.DataFrame({"c": pd.Series([date(2024, 12, 31), "20241231", "2024-12-31", 20241231], dtype=object)})
    (batch,) = open_table(mixed).batches(["c"])
    np.testing.assert_equal(read(batch.column(0), column), [day, day, NAN, day])


@settings(deadline=None, max_examples=25)
@given(st.lists(st.none() | st.text() | st.datetimes().map(str), max_size=10))
def test_each_cell_is_read_alone(column: list[str | None]) -> None:
    for described in (at("Europe/Vienna"), Time(), Duration(min=0, max=1), at(None, format="%d.%m.%Y %H:%M")):
        together = read(pa.array(column, pa.string()), described)
        np.testing.assert_equal(together, [read(pa.array([cell], pa.string()), described)[0] for cell in column])
