"""Instants as exact integers: a day since 1970-01-01 and a nanosecond of that day, both in UTC.

Every date, stored or written, passes through this pair, so its text and its number do not depend on
where it came from. Instants before the year 1 and after the year 9999 are no dates.
"""

import math
import re
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

NANOS_PER_DAY = 86_400 * 10**9
EPOCH_DAY = date(1970, 1, 1).toordinal()
FIRST_DAY = date.min.toordinal() - EPOCH_DAY
LAST_DAY = date.max.toordinal() - EPOCH_DAY

_PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400} | {
    unit: 86_400 * 1000**power for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), start=1)
}

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
    r"(?:Z|([+-])(\d\d):(\d\d))?)?",
    re.ASCII,
)


class Moment(NamedTuple):
    """One instant."""

    day: int
    nano: int


def moment(day: int, nano: int) -> Moment | None:
    """The instant `nano` nanoseconds after the start of `day`, or None if it is outside the calendar."""
    carry, nano = divmod(nano, NANOS_PER_DAY)
    day += carry
    return Moment(day, nano) if FIRST_DAY <= day <= LAST_DAY else None


def parse(text: str) -> Moment | None:
    """The instant that an ISO date or date and time stands for; UTC unless it has an offset.

    >>> parse("1970-01-02"), parse("2021-02-30")
    (Moment(day=1, nano=0), None)
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    written, hours, minutes, seconds, fraction, sign, off_hours, off_minutes = match.groups(default="")
    try:
        day = date.fromisoformat(written).toordinal() - EPOCH_DAY
    except ValueError:
        return None
    hour, minute, second = int(hours or 0), int(minutes or 0), int(seconds or 0)
    off_hour, off_minute = int(off_hours or 0), int(off_minutes or 0)
    if max(hour, off_hour) > 23 or max(minute, second, off_minute) > 59:
        return None
    offset = (off_hour * 60 + off_minute) * (-1 if sign == "-" else 1)
    whole = (hour * 60 + minute - offset) * 60 + second
    return moment(day, whole * 10**9 + int(fraction.ljust(9, "0")))


def from_datetime64(value: np.datetime64) -> Moment | None:
    """The instant of a NumPy scalar of any unit.

    >>> from_datetime64(np.datetime64("1969-12-31T12", "h"))
    Moment(day=-1, nano=43200000000000)
    """
    if np.isnat(value):
        return None
    unit, size = np.datetime_data(value.dtype)
    ticks = int(value.astype(np.int64)) * size
    if unit in ("Y", "M"):
        months = ticks * (12 if unit == "Y" else 1)
        year, month = 1970 + months // 12, months % 12 + 1
        return moment(date(year, month, 1).toordinal() - EPOCH_DAY, 0) if 1 <= year <= 9999 else None
    if unit == "W":
        return moment(7 * ticks, 0)
    if unit not in _PER_DAY:  # a bare number without a unit
        return None
    day, rest = divmod(ticks, _PER_DAY[unit])
    return moment(day, rest * NANOS_PER_DAY // _PER_DAY[unit])


def to_text(when: Moment) -> str:
    """ISO text of an instant: the date alone at midnight, else with as many digits as it needs.

    >>> to_text(Moment(0, 0)), to_text(Moment(1, 43_200_500_000_000))
    ('1970-01-01', '1970-01-02T12:00:00.5')
    """
    text = date.fromordinal(when.day + EPOCH_DAY).isoformat()
    if when.nano == 0:
        return text
    whole, fraction = divmod(when.nano, 10**9)
    text += f"T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{text}.{fraction:09}".rstrip("0") if fraction else text


def to_days(when: Moment) -> float:
    """Days since 1970-01-01, never rounded up to another day."""
    return min(when.day + when.nano / NANOS_PER_DAY, math.nextafter(when.day + 1.0, -math.inf))


def days_of_ticks(ticks: pa.Int64Array, per_day: int) -> NDArray[np.float64]:
    """`to_days` of many instants, in ticks since 1970-01-01; NaN for null and outside the calendar."""
    day, rest = np.divmod(ticks.fill_null(0).to_numpy(zero_copy_only=False), per_day)
    found = np.minimum(day + rest * (NANOS_PER_DAY // per_day) / NANOS_PER_DAY, np.nextafter(day + 1.0, -np.inf))
    no_date = ticks.is_null().to_numpy(zero_copy_only=False) | (day < FIRST_DAY) | (day > LAST_DAY)
    return np.where(no_date, np.nan, found)
