"""Cells that are any Python objects: exact types are read, others are missing, none has its code called."""

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.tables.helpers import ODD_OBJECTS, one_column, readings

from sfumato.tables import open_table


def test_one_odd_object_changes_no_number() -> None:
    plain = [1, 2.0, True, Decimal("3.5"), 2**70]
    expected = readings(open_table(one_column("pandas", plain, Path())), "c")
    assert [text for _, text, _ in expected] == ["1", "2", "true", "3.5", str(2**70)]
    for odd in ODD_OBJECTS:
        assert readings(open_table(one_column("pandas", [odd, *plain], Path())), "c")[1:] == expected


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
        (datetime(2020, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2020-01-01T21:30:00Z"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), ""),
        (pd.Timestamp("2020-01-02 03:04:05.000000006"), "2020-01-02T03:04:05.000000006"),
        (pd.Timestamp("2020-01-02", tz="Asia/Tokyo"), "2020-01-01T15:00:00Z"),
        (np.datetime64("1969-12-31T23:59"), "1969-12-31T23:59:00"),
        (np.datetime64("2020-03", "M"), "2020-03-01"),
        (np.datetime64(2**62, "s"), ""),
        (Loud("a"), ""),
        (Level.LOW, ""),
        (timedelta(1, microseconds=5), "24:00:00.000005"),
        (timedelta(-1, 82_800), "-01:00:00"),
        (pd.Timedelta("90 min"), "01:30:00"),
        (np.timedelta64(90, "m"), "01:30:00"),
        (np.timedelta64(1, "M"), ""),
        (np.timedelta64(1), ""),
        (np.timedelta64("NaT"), ""),
        (time(8, 30, 0, 500_000), "08:30:00.5"),
        (time(8, 30, tzinfo=UTC), ""),
        (1j, ""),
    ],
)
def test_objects(cell: Any, expected: str) -> None:
    frame = pd.DataFrame({"c": pd.Series([cell, None], dtype=object)})
    assert [text for _, text, _ in readings(open_table(frame), "c")] == [expected, ""]
