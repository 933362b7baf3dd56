"""What texts may mean: numbers, dates, times and durations, plain or by a format.

A reading maps each text alone to a number: the number itself, days since 1970-01-01, or seconds, as `fit` would by the
schema. Which one suits a column is guessed from its first cells; `fit` never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.schema import notation
from sfumato.schema.layout import FloatArray
from sfumato.tables import days, numbers
from sfumato.tables.formats import formatted_numbers

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


def choose_reading(values: TextArray, counts: np.ndarray[Any, Any], stored: str | None = None) -> Reading | None:
    """The reading that most of these cells have.

    Args:
        values: Different texts.
        counts: How often each occurs.
        stored: The only kind that cells of this stored type can be; None for texts.

    Returns:
        The reading; None where nothing reads half of the cells.

    Example:
        >>> found = choose_reading(pa.array(["$1,200", "$37"], pa.large_string()), np.array([1, 1]))
        >>> found.kind, found.format
        ('number', '$1,234')
    """
    best: tuple[float, Reading] | None = None
    for reading in _candidates(values):
        if stored is not None and (reading.kind != stored or reading.format is not None):
            continue
        share = float(counts[~np.isnan(reading.read(values))].sum() / counts.sum())
        if share >= ENOUGH and (best is None or share > best[0]):
            best = share, reading
    return None if best is None else best[1]


def stored_kind(kind: pa.DataType) -> str | None:
    """What cells of a stored type are read as: a schema does not read a number as a date, nor a duration as a time.

    Example:
        >>> stored_kind(pa.duration("s")), stored_kind(pa.int8()), stored_kind(pa.string())
        ('duration', 'number', None)
    """
    if pa.types.is_dictionary(kind):
        return stored_kind(kind.value_type)
    if pa.types.is_duration(kind):
        return "duration"
    if pa.types.is_time(kind):
        return "time"
    if pa.types.is_temporal(kind):
        return "date"
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return "number" if is_number else None


def _candidates(values: TextArray) -> Iterable[Reading]:
    shown = values.slice(0, SHOWN_TEXTS).to_pylist()
    if _mostly(_COMPACT_DATE.fullmatch(text) for text in shown):
        yield Reading("date", "%Y%m%d", partial(_days, "%Y%m%d"))
    yield Reading("number", None, _finite)
    yield Reading("date", None, days)
    written = _number_format(shown)
    if written is not None:
        yield Reading("number", written, partial(_finite_format, written))
    if _mostly(_LIKE_DATE.fullmatch(text) for text in shown):
        yield from (Reading("date", form, partial(_days, form)) for form in _date_formats(shown))
    yield Reading("time", None, partial(_seconds, notation.time_of_day))
    yield Reading("duration", None, partial(_seconds, notation.duration))


def _finite(values: TextArray) -> FloatArray:
    found = numbers(values)
    words = pc.is_in(values, pa.array(["true", "false"], values.type)).to_numpy(zero_copy_only=False)
    return np.where(np.isinf(found) | words, np.nan, found)


def _finite_format(form: str, values: TextArray) -> FloatArray:
    found = formatted_numbers(values, form)
    return np.where(np.isinf(found), np.nan, found)


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


def _date_formats(texts: list[str]) -> Iterable[str]:
    """The formats that read most of these texts."""
    for day in DAY_FORMATS:
        for clock in CLOCK_FORMATS:
            if _mostly(notation.written_as(day + clock, text) for text in texts):
                yield day + clock


def _seconds(parse: Callable[[str], notation.Reading | None], values: TextArray) -> FloatArray:
    """Seconds, by a parser of one text."""
    found = [parse(text) for text in values.to_pylist()]
    return np.array([np.nan if each is None else each.second + each.nano / notation.NANOS for each in found])


def _days(form: str, values: TextArray) -> FloatArray:
    return _seconds(partial(notation.written_as, form), values) / SECONDS_OF_DAY
