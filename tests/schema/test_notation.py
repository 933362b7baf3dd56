"""Texts of dates, times, durations and numbers, each read alone and by nothing but the text and its format."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema.notation import (
    Reading,
    compiled,
    duration,
    instant,
    number_format,
    time_of_day,
    time_text,
    written_as,
)

EPOCH = datetime(1970, 1, 1)


def seconds(found: Reading | None) -> float | None:
    return None if found is None else found.second + found.nano / 1e9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8:30", 30_600),
        ("08:30:15", 30_615),
        ("08:30:15.25", 30_615.25),
        ("8:30 pm", 73_800),
        ("8:30PM", 73_800),
        ("12:00 am", 0),
        ("12:00 pm", 43_200),
        ("13:00 pm", None),
        ("0:30 am", None),
        ("24:00", None),
        ("8:60", None),
        ("8", None),
        ("8.30", None),
        ("2024-01-01 08:30", None),
        ("٨:30", None),
    ],
)
def test_times_of_day(text: str, expected: float | None) -> None:
    assert seconds(time_of_day(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:30", 5400),
        ("100:00:00.5", 360_000.5),
        ("-0:00:05", -5),
        ("2 days", 172_800),
        ("2 days, 1:30:00", 178_200),
        ("2 days 01:30:00", 178_200),
        ("-1 day, 23:00:00", -3600),  # as Python writes minus one hour
        ("-1 days +23:00:00", -3600),  # as pandas does
        ("1h 30m", 5400),
        ("1 hour, 30 minutes", 5400),
        ("1.5h", 5400),
        ("90min", 5400),
        ("-90 min", -5400),
        ("30d", 2_592_000),
        ("PT8H", 28_800),
        ("P1DT0.5S", 86_400.5),
        ("-P2W", -1_209_600),
        ("P1M", None),  # a month has no length
        ("1 month", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("90", None),
        ("5 ms", None),
        ("1h,", None),
        ("1:60", None),
        ("1:00:60", None),
        ("", None),
    ],
)
def test_durations(text: str, expected: float | None) -> None:
    assert seconds(duration(text)) == expected


@given(st.timedeltas())
def test_python_s_durations_are_read_from_every_spelling(span: timedelta) -> None:
    micros = span // timedelta(microseconds=1)
    expected = Reading(micros // 10**6, micros % 10**6 * 1000)
    assert duration(str(span)) == expected
    assert duration(time_text(expected.second, expected.nano)) == expected


@given(st.times())
def test_times_are_read_as_they_are_written(when: time) -> None:
    found = time_of_day(when.isoformat())
    assert found is not None
    assert found == time_of_day(time_text(found.second, found.nano))
    assert (EPOCH + timedelta(seconds=found.second, microseconds=found.nano // 1000)).time() == when


FORMATS = ["%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%Y%m%d%H%M", "%d %b %Y, %H:%M", "%Y-%m-%dT%H:%M:%S%z"]


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 30)), st.sampled_from(FORMATS))
def test_formats_mean_what_strftime_writes(when: datetime, form: str) -> None:
    when = when.replace(microsecond=0, second=when.second if "%S" in form else 0)
    found = written_as(form, when.replace(tzinfo=UTC).strftime(form))
    assert found == Reading((when - EPOCH) // timedelta(seconds=1), 0, "%z" in form)


@pytest.mark.parametrize(
    ("form", "text", "same_as"),
    [
        ("%d.%m.%Y", "1.2.2024", "2024-02-01"),
        ("%d.%m.%Y", "2024-02-01", None),
        ("%d.%m.%Y", "31.02.2024", None),
        ("%d.%m.%Y", "01.02.24", None),
        ("%d/%m/%y", "01/02/68", "2068-02-01"),
        ("%d/%m/%y", "01/02/69", "1969-02-01"),
        ("%d%b%Y", "01FEB2024", "2024-02-01"),
        ("%b %d, %Y", "February 1, 2024", "2024-02-01"),
        ("%b %d, %Y", "Februar 1, 2024", None),
        ("%Y%m%d", "2024021", None),
        ("100%% %Y-%m-%d", "100% 2024-02-01", "2024-02-01"),
        ("%Y-%m-%d %H:%M:%S %z", "2024-02-01 01:00:00.0 +0100", "2024-02-01T00:00Z"),
        ("%Y-%m-%d %H:%M %z", "2024-02-01 01:00 +99:00", None),
        (".*%Y-%m-%d", "xx2024-02-01", None),
    ],
)
def test_formats(form: str, text: str, same_as: str | None) -> None:
    assert written_as(form, text) == (None if same_as is None else instant(same_as))


@pytest.mark.parametrize("form", ["%Q", "%", "%d %d", "%H %I %p", "%x"])
def test_formats_without_a_meaning_are_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"^format: "):
        compiled(form)


@pytest.mark.parametrize(
    "example", ["", "1200", "37.2%", "1.234.5", "-1234.5", "1234.50", "1x234.5", "1234.5 5", "($1,234.5", "1234;5"]
)
def test_examples_of_other_numbers_are_refused(example: str) -> None:
    with pytest.raises(ValueError, match=r"^format shows how 1234\.5 is written"):
        number_format(example)


@pytest.mark.parametrize(
    "example",
    ["$1,234.5", "1.234,5", "1 234,5 €", "1234.5%", "1,234", "1'234.5", "CHF 1’234.5", "(1,234.5)", "R$ 1.234,5"],
)
def test_an_example_reads_itself(example: str) -> None:
    pattern, thousands, accounting = number_format(example)
    found = re.fullmatch(pattern, example.strip("()") if accounting else example)
    assert found is not None
    whole = re.sub(thousands, "", found[3]) if thousands else found[3]
    assert (whole, found[4]) == ("1234", "" if example == "1,234" else "5")
