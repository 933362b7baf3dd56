"""How numbers, dates, times and durations are written: fixed grammars, one text at a time, the same in every language.

Bounds in a schema, constants in a condition and cells of a table are read by the same functions. Each gives whole
seconds and nanoseconds, so that nothing is rounded before a value is placed in its bin.

>>> instant("1970-01-02T00:00+01:00"), time_of_day("8:30 pm"), duration("1h 30m")
(Reading(second=82800, nano=0, aware=True), Reading(second=73800, nano=0, aware=False), \
Reading(second=5400, nano=0, aware=False))
>>> written_as("%d.%m.%Y", "2.1.1970"), written_as("%d.%m.%Y", "1970-01-02")
(Reading(second=86400, nano=0, aware=False), None)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

NANOS = 10**9  # of a second
EPOCH_DAY = date(1970, 1, 1).toordinal()
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
PIVOT = 69  # of two digits for a year, this and above are of the 1900s, as POSIX has it

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
CODES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d\d)",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": r"(?P<b>[A-Za-z]{3,9})",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<H>\d{1,2})",
    "M": r"(?P<M>\d\d)",
    "S": r"(?P<S>\d\d(?:\.\d{1,9})?)",
    "p": r"(?P<p>[AaPp][Mm])",
    "z": r"(?P<z>Z|[+-]\d\d(?::?\d\d)?)",
    "%": "%",
}

_CODE = re.compile(r"%(.?)", re.DOTALL)
_CLOCK_TIME = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ISO = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:[T ](?=\d\d:){_CLOCK_TIME}(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_TIME = re.compile(rf"{_CLOCK_TIME}(?: ?([AaPp][Mm]))?", re.ASCII)

_AMOUNT = r"\d{1,12}(?:\.\d{1,9})?"
_UNIT = "weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
_CLOCK = re.compile(r"(?:([+-]?\d{1,12}) days?,? )?([+-]?)(\d{1,12}):(\d\d)(?::(\d\d(?:\.\d{1,9})?))?", re.ASCII)
_WORDS = re.compile(rf"([+-]?)((?:{_AMOUNT} ?(?:{_UNIT})(?:,? ?(?=\d)|\Z))+)", re.ASCII | re.IGNORECASE)
_WORD = re.compile(rf"({_AMOUNT}) ?([a-z])", re.ASCII | re.IGNORECASE)
_PERIOD = re.compile(
    rf"([+-]?)P(?=.)((?:{_AMOUNT}W)?(?:{_AMOUNT}D)?)(?:T(?=.)((?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?))?",
    re.ASCII,
)

BLANK = "[ \u00a0\u202f]"  # and the no-break spaces, broad and narrow
_EXAMPLE = re.compile(r"(?P<before>[^0-9]*)1(?P<thousands>[^0-9]?)234(?:(?P<decimal>[.,])5)?(?P<behind>[^0-9]*)")
_MARKS = {mark: re.escape(mark) for mark in ",._"} | dict.fromkeys("'’", "['’]") | dict.fromkeys(" \u00a0\u202f", BLANK)


class Reading(NamedTuple):
    """Seconds, and nanoseconds of a second: since 1970, since midnight, or from one moment to another."""

    second: int
    nano: int
    aware: bool = False  # in UTC, by an offset of its own, not by a clock on some wall


def instant(text: str) -> Reading | None:
    """The day, or the day and time, that an ISO text stands for."""
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    written, hour, minute, second, fraction, offset = found.groups()
    try:
        day = date.fromisoformat(written).toordinal() - EPOCH_DAY
    except ValueError:
        return None
    return _assembled(day, hour, minute, second, fraction, None, offset)


def time_of_day(text: str) -> Reading | None:
    """The time that a text such as 8:30, 08:30:15.5 or 8:30 pm stands for."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute, second, fraction, half = found.groups()
    return _assembled(0, hour, minute, second, fraction, half, None)


def duration(text: str) -> Reading | None:
    """The span of time that a text such as 1:30:00, PT90M, 1h 30m or 2 days stands for.

    >>> [duration(text).second for text in ("1:30", "-1 day, 23:00:00", "-PT1H", "1 week, 2 days")]
    [5400, -3600, -3600, 777600]
    """
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        days, sign, hours, minutes, seconds = clock.groups(default="0")
        if int(minutes) > 59 or Fraction(seconds) >= 60:
            return None
        within = (int(hours) * 60 + int(minutes)) * 60 + Fraction(seconds)
        return _span(int(days) * UNITS["d"] + (-within if sign == "-" else within))
    found = _WORDS.fullmatch(text) or _PERIOD.fullmatch(text)
    if found is None:
        return None
    total = sum(Fraction(amount) * UNITS[unit.lower()] for amount, unit in _WORD.findall("".join(found.groups("")[1:])))
    return _span(-total if found[1] == "-" else Fraction(total))


def written_as(form: str, text: str) -> Reading | None:
    """The date or time of a text that is written as a declared format says."""
    found = compiled(form).fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    second, _, fraction = (parts.get("S") or "0").partition(".")
    return _assembled(_day(parts), parts.get("H"), parts.get("M"), second, fraction, parts.get("p"), parts.get("z"))


@lru_cache
def compiled(form: str) -> re.Pattern[str]:
    """A format such as `%d.%m.%Y` as a pattern; ValueError where it has no meaning, or one thing twice.

    >>> compiled("%Y%m%d").fullmatch("20241231").groupdict()
    {'Y': '2024', 'm': '12', 'd': '31'}
    """
    parts, place = [], 0
    for code in _CODE.finditer(form):
        if code[1] not in CODES:
            raise ValueError(f"format: {code[0]!r} is none of {' '.join('%' + known for known in CODES)}")
        beside = form[code.end() :].startswith("%") or (place == code.start() and place > 0)
        pattern = CODES[code[1]].replace(r"\d{1,2}", r"\d\d") if beside else CODES[code[1]]
        parts += [re.escape(form[place : code.start()]), pattern]
        place = code.end()
    try:
        return re.compile("".join([*parts, re.escape(form[place:])]), re.ASCII)
    except re.error:
        raise ValueError(f"format: {form!r} names a part of the date or time twice") from None


class NumberFormat(NamedTuple):
    """A pattern whose groups are two places of a sign, whole digits and decimals; and the mark between thousands."""

    pattern: str
    thousands: str
    accounting: bool  # negative numbers stand in parentheses


@lru_cache
def number_format(example: str) -> NumberFormat:
    """How numbers are written, from how 1234.5 is; ValueError where the example is none.

    >>> import re
    >>> re.fullmatch(number_format("$1,234.5").pattern, "-$1,200").groups()
    ('-', '', '1,200', None)
    """
    accounting = example.startswith("(") and example.endswith(")")
    found = _EXAMPLE.fullmatch(example[1:-1] if accounting else example)
    wrong = found is None or found["thousands"] not in {"", *_MARKS} or found["thousands"] == found["decimal"]
    if found is None or wrong or re.search("[-+−()]", found["before"] + found["behind"]):
        raise ValueError(f'format shows how 1234.5 is written, such as "$1,234.5" or "1.234,5"; {example!r} does not')
    before, behind = (_optional(found[side]) for side in ("before", "behind"))
    thousands = _MARKS.get(found["thousands"], "")
    whole = rf"[0-9]{{1,3}}(?:{thousands}[0-9]{{3}})+|[0-9]+" if thousands else "[0-9]+"
    decimals = rf"(?:{re.escape(found['decimal'])}([0-9]*))?" if found["decimal"] else "()"
    return NumberFormat(rf"^([+−-]?){before}([+−-]?)({whole}){decimals}{behind}$", thousands, accounting)


def _optional(letters: str) -> str:
    """What may stand beside a number, with blanks or without."""
    words = [re.escape(word) for word in re.split(BLANK, letters) if word]
    return f"{BLANK}*(?:{f'{BLANK}*'.join(words)})?{BLANK}*" if words else f"{BLANK}*"


def _assembled(
    day: int | None,
    hour: str | None,
    minute: str | None,
    second: str | None,
    fraction: str | None,
    half: str | None,
    zone: str | None,
) -> Reading | None:
    """The moment that the parts of a date, a time, or both make."""
    if hour is None:
        return None if day is None else Reading(day * UNITS["d"], 0)
    hours, minutes, seconds, offset = int(hour), int(minute or 0), int(second or 0), _offset(zone)
    if half is not None:
        hours = hours % 12 + 12 * (half.lower() == "pm") if 1 <= hours <= 12 else 24
    if day is None or offset is None or hours > 23 or minutes > 59 or seconds > 59:
        return None
    whole = ((day * 24 + hours) * 60 + minutes) * 60 + seconds - offset
    return Reading(whole, int(fraction.ljust(9, "0")) if fraction else 0, zone is not None)


def _day(parts: Mapping[str, str | None]) -> int | None:
    """Days since 1970, 0 where there is no date; None where the calendar has no such day."""
    if not parts.get("d"):
        return 0
    name = (parts.get("b") or "").lower()
    month = 1 + next((i for i, full in enumerate(MONTHS) if name in (full, full[:3])), -1)
    year = int(parts.get("Y") or parts.get("y") or 0)
    if parts.get("y"):
        year += 1900 if year >= PIVOT else 2000
    try:
        return date(year, int(parts.get("m") or month), int(parts["d"] or 0)).toordinal() - EPOCH_DAY
    except ValueError:
        return None


def _offset(written: str | None) -> int | None:
    """Seconds ahead of UTC."""
    if written is None or written == "Z":
        return 0
    hours, minutes = int(written[1:3]), int(written[3:].removeprefix(":") or 0)
    ahead = (hours * 60 + minutes) * 60
    return None if hours > 23 or minutes > 59 else -ahead if written[0] == "-" else ahead


def _span(seconds: Fraction | int) -> Reading:
    return Reading(*divmod(int(seconds * NANOS), NANOS))


def time_text(second: int, nano: int) -> str:
    """A time of day, or a duration in hours, as it is read again.

    >>> time_text(30_600, 0), time_text(-5, 500_000_000), time_text(360_000, 0)
    ('08:30:00', '-00:00:04.5', '100:00:00')
    """
    if second < 0:
        return f"-{time_text(*divmod(-second * NANOS - nano, NANOS))}"
    text = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{text}.{nano:09}".rstrip("0") if nano else text
