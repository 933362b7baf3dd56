"""What texts may mean: numbers, dates, times and durations, plain or by a format.

A reading maps each text alone to a number: the number itself, days since 1970-01-01, or seconds. Which one suits a
column is guessed from its first cells; `fit` never guesses, it reads what the schema says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.schema.layout import FloatArray
from sfumato.tables import days, numbers

TextArray: TypeAlias = pa.LargeStringArray
SHOWN_TEXTS = 200  # texts that a format is guessed from
MOSTLY = 0.8  # of those: a format that fits fewer is none
ENOUGH = 0.5  # of the cells: what reads fewer is no reading of the column

SECONDS_OF_DAY = 86_400.0
DAY_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d-%b-%Y", "%d.%m.%y", "%m/%d/%y")
CLOCK_FORMATS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")

_WRITTEN = re.compile(r"(?P<before>[^\d\s+.,()-]{0,3} ?)(?P<digits>\d[\d.,' \u00a0]*?)(?P<after>\s?[^\d\s.,()]{0,3})")
_LIKE_DATE = re.compile(r"\d{1,4}([./-])(\d{1,2}|[A-Za-z]{3})\1\d{1,4}(?!\d).*")
_COMPACT_DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
_CLOCK = r"^([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?$"
_ISO_SPAN = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


@dataclass(frozen=True)
class Reading:
    """One way to read texts.

    Attributes:
        kind: The type of column that it makes: number, date, time or duration.
        format: What a schema would have to say of how cells are written; None where they are plain.
        read: The reading: NaN for a text that has none.
    """

    kind: str
    format: str | None
    read: Callable[[TextArray], FloatArray]


def choose_reading(values: TextArray, counts: np.ndarray[Any, Any]) -> Reading | None:
    """The reading that most of these cells have.

    Args:
        values: Different texts.
        counts: How often each occurs.

    Returns:
        The reading; None where nothing reads half of the cells.

    Example:
        >>> found = choose_reading(pa.array(["$1,200", "$37"], pa.large_string()), np.array([1, 1]))
        >>> found.kind, found.format
        ('number', '$1,234')
    """
    best: tuple[float, Reading] | None = None
    for reading in _candidates(values):
        share = float(counts[~np.isnan(reading.read(values))].sum() / counts.sum())
        if share >= ENOUGH and (best is None or share > best[0]):
            best = share, reading
    return None if best is None else best[1]


def _candidates(values: TextArray) -> Iterable[Reading]:
    shown = values.slice(0, SHOWN_TEXTS).to_pylist()
    if _mostly(_COMPACT_DATE.fullmatch(text) for text in shown):
        yield Reading("date", "%Y%m%d", partial(_read_dates, "%Y%m%d"))
    yield Reading("number", None, _finite)
    yield Reading("date", None, days)
    written = _number_format(shown)
    if written is not None:
        yield Reading("number", written, partial(_read_format, written))
    if _mostly(_LIKE_DATE.fullmatch(text) for text in shown):
        yield from (Reading("date", form, partial(_read_dates, form)) for form in _date_formats(shown))
    yield Reading("time", None, _read_clock)
    yield Reading("duration", None, _read_spans)


def _finite(values: TextArray) -> FloatArray:
    found = numbers(values)
    words = pc.is_in(values, pa.array(["true", "false"], values.type)).to_numpy(zero_copy_only=False)
    return np.where(np.isinf(found) | words, np.nan, found)


def _mostly(hits: Iterable[Any]) -> bool:
    found = [bool(hit) for hit in hits]
    return bool(found) and sum(found) >= MOSTLY * len(found)


def _number_format(texts: list[str]) -> str | None:
    """How 1234.5 would be written as most of these texts are; None where they are no such numbers."""
    parts = [_WRITTEN.fullmatch(text.removeprefix("(").removesuffix(")").lstrip("+-")) for text in texts]
    found = [part for part in parts if part is not None]
    if not _mostly(parts):
        return None
    before, after = (_common(part[side] for part in found) for side in ("before", "after"))
    if _letters(before + after):
        return None
    thousands, decimal = _marks([part["digits"] for part in found])
    if not _mostly(re.fullmatch(_grouped(thousands, decimal), part["digits"]) for part in found):
        return None
    form = f"{before}1{thousands}234{decimal}{'5' if decimal else ''}{after}"
    return f"({form})" if any(text.startswith("(") for text in texts) else form


def _letters(affix: str) -> bool:
    """Whether something beside a number makes it a code (`V27`), not an amount (`EUR 27`)."""
    return affix.strip() not in ("", "EUR", "USD", "GBP", "CHF") and any(letter.isalnum() for letter in affix)


def _common(affixes: Iterable[str]) -> str:
    """What most texts have beside the digits."""
    found = [affix for affix in affixes if affix]
    return max(set(found), key=found.count) if found else ""


def _marks(digits: list[str]) -> tuple[str, str]:
    """The mark between thousands and the mark of decimals; "" for none."""
    spaced = next((mark for mark in ("'", "\u00a0", " ") if any(mark in text for text in digits)), "")
    thousands = spaced.replace("\u00a0", " ")
    both = [text for text in digits if "." in text and "," in text]
    if both:
        decimal = max(".,", key=both[0].rfind)
        return ",."[decimal == ","], decimal
    for mark in ",.":
        with_mark = [text for text in digits if mark in text]
        if not with_mark:
            continue
        twice = any(text.count(mark) > 1 for text in with_mark)
        # A point before three digits is a decimal one, as it is in plain numbers.
        grouped = mark == "," and all(re.fullmatch(r"\d{1,3}(,\d{3})+", text) for text in with_mark)
        return (mark, "") if twice or grouped else (thousands, mark)
    return thousands, ""


def _grouped(thousands: str, decimal: str) -> str:
    """A pattern of digits with such marks: thousands are cut off by threes, or not at all."""
    groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
    return rf"(?:{groups}\d+)" + (rf"(?:{re.escape(decimal)}\d*)?" if decimal else "")


def _read_format(form: str, values: TextArray) -> FloatArray:
    """Numbers by a format that shows how 1234.5 is written."""
    digits = re.search(r"1(?P<thousands>[^\d]?)234(?:(?P<decimal>[.,])5)?", form)
    assert digits is not None  # `_number_format` wrote it
    plain = pc.replace_substring(values, "\u00a0", " ")
    for affix in (form[: digits.start()].strip(" ("), form[digits.end() :].strip(" )")):
        plain = pc.replace_substring(plain, affix, "", max_replacements=1) if affix else plain
    plain = pc.utf8_trim(plain, characters=" ")
    plain = pc.replace_substring_regex(plain, r"^\((.*)\)$", r"-\1")
    pattern = _grouped(digits["thousands"], digits["decimal"] or "")
    plain = pc.if_else(pc.match_substring_regex(plain, f"^[+-]?{pattern}$"), plain, "")
    if digits["thousands"]:
        plain = pc.replace_substring(plain, digits["thousands"], "")
    if digits["decimal"] == ",":
        plain = pc.replace_substring(plain, ",", ".")
    return _finite(plain)


def _date_formats(texts: list[str]) -> Iterable[str]:
    """The formats that read most of these texts."""
    for day in DAY_FORMATS:
        for clock in CLOCK_FORMATS:
            if _mostly(_moment(text, day + clock) for text in texts):
                yield day + clock


def _moment(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def _read_dates(form: str, values: TextArray) -> FloatArray:
    found = (_moment(text, form) for text in values.to_pylist())
    epoch = datetime(1970, 1, 1)
    return np.array([np.nan if when is None else (when - epoch) / timedelta(days=1) for when in found])


def _read_clock(values: TextArray) -> FloatArray:
    """Seconds since midnight."""
    is_clock = pc.match_substring_regex(values, _CLOCK).to_numpy(zero_copy_only=False)
    found = np.full(len(values), np.nan)
    for place in np.flatnonzero(is_clock):
        hours, minutes, *seconds = values[int(place)].as_py().split(":")
        found[place] = int(hours) * 3600 + int(minutes) * 60 + float(seconds[0] if seconds else 0)
    return found


def _read_spans(values: TextArray) -> FloatArray:
    """Seconds of ISO durations, such as PT8H30M."""
    return np.array([_span(text) for text in values.to_pylist()], dtype=float)


def _span(text: str) -> float:
    match = _ISO_SPAN.fullmatch(text) if len(text) > len("PT") and text.lstrip("-")[:1] == "P" else None
    if match is None:
        return np.nan
    sign, *parts = match.groups(default="0")
    seconds = np.dot([float(part) for part in parts], [SECONDS_OF_DAY, 3600.0, 60.0, 1.0])
    return float(-seconds if sign == "-" else seconds)
