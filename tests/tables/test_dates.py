"""Instants are exact: text, numbers and NumPy's scalars agree on them, and nothing is rounded into another day."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.notation import instant
from sfumato.tables import days
from sfumato.tables.dates import FIRST_DAY, LAST_DAY, NANOS_PER_DAY, Moment, moment, to_text
from sfumato.tables.objects import from_datetime64

MOMENTS = st.builds(Moment, st.integers(FIRST_DAY, LAST_DAY), st.integers(0, NANOS_PER_DAY - 1))


def parse(text: str) -> Moment | None:
    found = instant(text)
    return None if found is None else moment(0, found.second * 10**9 + found.nano)


@given(MOMENTS, st.booleans())
def test_text_stands_for_the_same_instant(when: Moment, aware: bool) -> None:
    text = to_text(when, aware)
    assert parse(text) == when
    found = instant(text)
    assert found is not None
    assert found.aware == aware


@given(MOMENTS)
def test_days_stay_within_their_day(when: Moment) -> None:
    assert math.floor(days(pa.array([to_text(when)])).item()) == when.day


@given(st.integers(FIRST_DAY * 86_400, LAST_DAY * 86_400))
def test_numpy_s_seconds_are_the_same_instant(seconds: int) -> None:
    day, second = divmod(seconds, 86_400)
    when = Moment(day, second * 10**9)
    assert from_datetime64(np.datetime64(seconds, "s")) == when
    assert days(pa.array([seconds], pa.timestamp("s"))).tolist() == days(pa.array([to_text(when)])).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2021-02-30",
        "0000-01-01",
        "2020-1-1",
        "2020-01-01T24:00",
        "2020-01-01T00:60",
        "2020-01-01T00:00:60",
        "2020-01-01T00:00:00.",
        "2020-01-01 00:00+24:00",
        "0001-01-01T00:00+01:00",
        "9999-12-31T23:00-01:00",
        "٢٠٢٠-01-01",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert parse(text) is None
    assert np.isnan(days(pa.array([text]))).all()


def test_offsets_lead_to_utc() -> None:
    day = date(2020, 1, 1).toordinal() - date(1970, 1, 1).toordinal()
    assert parse("2020-01-01T01:00+01:00") == parse("2019-12-31 23:30-00:30") == Moment(day, 0)
    assert parse("2020-01-01T01:00+0100") == parse("2020-01-01 01:00:00.000+01") == Moment(day, 0)


def test_the_calendar_ends() -> None:
    assert moment(LAST_DAY, NANOS_PER_DAY - 1) == Moment(LAST_DAY, NANOS_PER_DAY - 1)
    assert moment(LAST_DAY, NANOS_PER_DAY) is moment(FIRST_DAY, -1) is None
    assert moment(LAST_DAY + 1, -1) == Moment(LAST_DAY, NANOS_PER_DAY - 1)
    assert np.isnan(days(pa.array([FIRST_DAY - 1, LAST_DAY + 1, None], pa.int32()).cast(pa.date32()))).all()
