"""Instants as exact integers: a day since 1970-01-01 and a nanosecond of that day, both in UTC.

Every date, stored or written, passes through this pair, so its text and its number do not depend on
where it came from. Instants before the year 1 and after the year 9999 are no dates.
"""

from datetime import date
from typing import NamedTuple

import numpy as np

from sfumato.schema.notation import EPOCH_DAY, NANOS, time_text

NANOS_PER_DAY = 86_400 * NANOS
FIRST_DAY = date.min.toordinal() - EPOCH_DAY
LAST_DAY = date.max.toordinal() - EPOCH_DAY

PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400} | {
    unit: 86_400 * 1000**power for power, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), start=1)
}


class Moment(NamedTuple):
    """One instant."""

    day: int
    nano: int


def moment(day: int, nano: int) -> Moment | None:
    """The instant `nano` nanoseconds after the start of `day`, or None if it is outside the calendar."""
    carry, nano = divmod(nano, NANOS_PER_DAY)
    day += carry
    return Moment(day, nano) if FIRST_DAY <= day <= LAST_DAY else None


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
    if unit not in PER_DAY:  # a bare number without a unit
        return None
    day, rest = divmod(ticks, PER_DAY[unit])
    return moment(day, rest * NANOS_PER_DAY // PER_DAY[unit])


def to_text(when: Moment, aware: bool = False) -> str:
    """ISO text of an instant: the date alone at midnight, else with as many digits as it needs.

    Args:
        when: The instant.
        aware: Whether it is known to be in UTC, which the text then says.

    Returns:
        The text.

    Example:
        >>> to_text(Moment(0, 0)), to_text(Moment(1, 43_200_500_000_000)), to_text(Moment(0, 0), aware=True)
        ('1970-01-01', '1970-01-02T12:00:00.5', '1970-01-01T00:00:00Z')
    """
    text = date.fromordinal(when.day + EPOCH_DAY).isoformat()
    if when.nano == 0 and not aware:
        return text
    return f"{text}T{time_text(*divmod(when.nano, NANOS))}{'Z' * aware}"
