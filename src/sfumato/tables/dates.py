"""Instants as exact integers: a day since 1970-01-01 and a nanosecond of that day, both in UTC.

Every date, stored or written, passes through this pair, so its text and its number do not depend on
where it came from. Instants before the year 1 and after the year 9999 are no dates.
"""

from datetime import date
from typing import NamedTuple

from sfumato.schema.notation import EPOCH_DAY, NANOS, time_text

NANOS_PER_DAY = 86_400 * NANOS
FIRST_DAY = date.min.toordinal() - EPOCH_DAY
LAST_DAY = date.max.toordinal() - EPOCH_DAY


class Moment(NamedTuple):
    """One instant."""

    day: int
    nano: int


def moment(day: int, nano: int) -> Moment | None:
    """The instant `nano` nanoseconds after the start of `day`, or None if it is outside the calendar."""
    carry, nano = divmod(nano, NANOS_PER_DAY)
    day += carry
    return Moment(day, nano) if FIRST_DAY <= day <= LAST_DAY else None


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
