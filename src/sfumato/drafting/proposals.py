"""From what a pass over a column found to what a schema may say of it, or why nothing fits."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.drafting.ids import names_records
from sfumato.drafting.looks import Look
from sfumato.drafting.misspelt import slips
from sfumato.drafting.shapes import find_sentinels, shape_of
from sfumato.errors import SchemaError
from sfumato.schema.layout import EPOCH
from sfumato.schema.schema import Schema
from sfumato.text import one_line

MOST_CATEGORIES = 100  # more different texts than this, and a column is no category
FEW_NUMBERS = 10  # so few different whole numbers look like codes
CODE_ROWS = 30  # in fewer rows, few different numbers mean nothing
REPEATED = 5  # cells of a code at the least: of each on average, or of one that means missing
MANY_NUMBERS = 20  # different ones, before a text among them is one that means missing
ODD_TEXTS = 3  # so few different texts among many numbers mean missing
ODD_SHARE = 0.01  # of the cells, or so few of them
ZEROS = 0.005  # of the cells: leading zeros that are no slip
LISTED_TEXTS = 10
YEAR = 365
OLDEST = 120.0  # years: where an age ends, whoever is in the table
ONE_ROW_EACH = "at one row each the noise stays the same, and the guarantee speaks of people"
NO_DAYS = frozenset(("0001-01-01", "1900-01-01", "1970-01-01", "2099-12-31", "2999-12-31", "9999-12-31"))

STEP_WORDS = {86_400.0: "1d", 3600.0: "1h", 900.0: "15 min", 60.0: "1 min", 1.0: 1}

# What in a draft depends on the rows, also by not being there: one odd cell can change any of it.
FACTS = {
    "boolean": ("type", "missing"),
    "category": ("type", "values", "missing"),
    "date": ("type", "min", "max", "missing"),
    "datetime": ("type", "min", "max", "step", "missing"),
    "duration": ("type", "min", "max", "step", "scale", "missing"),
    "number": ("type", "min", "max", "step", "scale", "atoms", "missing"),
    "time": ("type", "step", "missing"),
}

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # fits in 64 bits
_NINES = re.compile(r"-?9{2,}|-[189]")  # how a code for missing is often written
_ZEROS = re.compile(r"0\d+")
_AGE = re.compile(r"(^|_|-|\s)age($|_|-|\s)", re.I)
_CODE_NAME = re.compile(
    r"(^|_|-|\s)(id|code|cd|type|class|status|zip|zip_?code|post_?code|plz|sex|gender|race|ethnicity|icd\d*|fips|naics|sic)$",
    re.I,
)


@dataclass(frozen=True)
class Proposal:
    """What a schema may say of a column, or why it says nothing and what to do; and what to know about it."""

    column: dict[str, Any] | None
    facts: tuple[str, ...] = ()  # what of the column was read off the rows
    reason: str = ""
    notes: tuple[str, ...] = ()


def propose(name: str, look: Look, is_label: bool = False) -> Proposal:
    """What a schema may say of one column."""
    if is_label:
        return _label(look)
    if not look.filled or not _levels(look):
        return Proposal(None, reason="no cell holds anything; nothing is lost without it")
    if names_records(name, look):
        why = "every cell differs, as in an id or free text: nothing to model"
        return Proposal(None, reason=f"{why}; if it names people, --unit takes it: {ONE_ROW_EACH}")
    code = _why_code(name, look)
    for column in _columns(look, is_code=bool(code)):
        column = _of_age(name, column, look)
        if _is_understood(column):
            return Proposal(column, _facts(column), notes=(*_notes(column, code), *_slips(column, look)))
    return Proposal(None, reason=_why_not(look))


def _of_age(name: str, column: dict[str, Any], look: Look) -> dict[str, Any]:
    """A column; of an age, whose rounded bound would lie beyond any, with the bound that everybody knows."""
    if column["type"] != "number" or not _AGE.search(name) or column["max"] <= OLDEST:
        return column
    oldest = look.highs[~np.isin(look.highs, find_sentinels(look.lows, look.highs)[0])][-1]
    return column | {"max": OLDEST} if oldest <= OLDEST else column


def checked(column: dict[str, Any], facts: Sequence[str], look: Look, notes: Sequence[str] = ()) -> Proposal:
    """A proposal of a column, or none where schemas do not know its format."""
    if "format" in column and not _is_understood(column):
        return Proposal(None, reason=_why_not(look))
    return Proposal(column, tuple(facts), notes=tuple(notes))


def _facts(column: dict[str, Any]) -> tuple[str, ...]:
    return (*FACTS[column["type"]], *(key for key in ("format",) if key in column))


def category_values(texts: list[str]) -> list[str | int]:
    """Categories by name, as a draft should not show which is common, and by the numbers in their names.

    Example:
        >>> category_values(["10-20", "5-10"]), category_values(["2", "10"]), category_values(["02", "10"])
        (['5-10', '10-20'], [2, 10], ['02', '10'])
    """
    if all(_WHOLE.fullmatch(text) for text in texts):
        return sorted(map(int, texts))
    return [*sorted(texts, key=_natural)]


def _natural(text: str) -> list[Any]:
    """A key by which 5 comes before 10: texts and numbers take turns, and a number is its length, then its digits."""
    parts = re.split(r"0*(\d+)", text)
    return [(len(part), part) if place % 2 else part for place, part in enumerate(parts)]


def missing_texts(look: Look, values: set[str]) -> dict[str, Any]:
    """What a category's schema says of missing cells, given what its values are."""
    absent = [text for text in look.tally.sampled if text in look.absent and text not in values]
    if absent:
        return {"missing": category_values(absent)}
    unlisted = not look.tally.is_exact or any(text not in values for text in look.tally.sampled)
    return {"missing": True} if look.empty or unlisted else {}


def _label(look: Look) -> Proposal:
    levels = _levels(look)
    few = FEW_NUMBERS if look.reading is not None and look.reading.kind == "number" else MOST_CATEGORIES
    if not look.tally.is_exact or not 0 < len(levels) <= few:
        return Proposal(None, reason="it is empty, or has too many different values to be a label")
    absent = sorted(text for text in look.tally.sampled if text in look.absent)
    notes = (f"rows whose label is {', '.join(map(repr, absent))} do not count",) if absent else ()
    if _is_boolean(levels):
        return Proposal({"type": "boolean"}, ("type",), notes=notes)
    column = {"type": "category", "values": category_values(levels)}
    return Proposal(column, ("type", "values"), notes=(*notes, *_slips(column, look)))


def _levels(look: Look) -> list[str]:
    """The different texts that do not mean missing; those that were counted, where there are many."""
    return [text for text in look.tally.sampled if text not in look.absent]


def _is_boolean(levels: list[str]) -> bool:
    return {level.lower() for level in levels} <= {"true", "false"}


def _why_code(name: str, look: Look) -> str:
    """Why numbers are codes; "" where they are not."""
    if look.reading is None or look.reading.kind != "number" or look.reading.format is not None:
        return ""
    weights = look.tally.weights()
    if sum(count for text, count in weights.items() if _ZEROS.fullmatch(text)) >= ZEROS * look.filled:
        return "leading zeros: codes, not numbers"
    values, _ = look.weighted()
    values = values[~np.isin(values, find_sentinels(look.lows, look.highs)[0])]
    whole = bool((values == np.rint(values)).all())
    if not whole or look.filled < CODE_ROWS or REPEATED * len(values) > look.filled:
        return ""
    if _CODE_NAME.search(name):
        return "named like a code: a category, not a number"
    if len(values) <= 2 or (len(values) <= FEW_NUMBERS and values[0] >= 1):
        return "few whole numbers: read as codes"
    return ""


def _columns(look: Look, is_code: bool) -> Iterator[dict[str, Any]]:
    """What the column may be, the best first."""
    levels = _levels(look)
    if _is_boolean(levels):
        yield {"type": "boolean"} | missing_texts(look, {"true", "false"})
    if not is_code and _reads(look):
        yield from _ordered(look)
    if look.tally.is_exact and is_code:
        numbers = find_sentinels(look.lows, look.highs)[0] if look.reading is not None else []
        levels = [level for level in levels if level not in {f"{value:g}" for value in numbers}]
    if look.tally.is_exact and 0 < len(levels) <= MOST_CATEGORIES:
        yield _category(look, levels)


def _category(look: Look, levels: list[str]) -> dict[str, Any]:
    values = {"type": "category", "values": category_values(levels)}
    apart = [text for text in look.tally.sampled if text not in levels]
    return values | ({"missing": category_values(apart)} if apart else {"missing": True} if look.empty else {})


def _reads(look: Look) -> bool:
    """Whether the reading suits the column: what it does not read means missing, or is a slip."""
    if look.reading is None or not look.read_cells:
        return False
    odd = [text for text in look.unread if text not in look.absent]
    absent = sum(count for text, count in look.unread.items() if text in look.absent)
    many = look.tally.distinct - len(look.unread) >= MANY_NUMBERS
    odd_cells = look.filled - look.read_cells - absent
    return not odd or (many and (len(odd) <= ODD_TEXTS or odd_cells <= ODD_SHARE * look.filled))


def reads_numbers(look: Look) -> bool:
    """Whether the column's cells read as numbers."""
    return look.reading is not None and look.reading.kind == "number" and len(look.lows) > 0


def written(look: Look) -> dict[str, str]:
    """What a schema says of how cells are written, if not plainly."""
    return {} if look.reading is None or look.reading.format is None else {"format": look.reading.format}


def _ordered(look: Look) -> Iterator[dict[str, Any]]:
    assert look.reading is not None
    form = written(look)
    if look.reading.kind == "number":
        yield number_column(look) | form
    elif look.reading.kind == "time":
        yield {"type": "time"} | clock_step(look) | ordered_missing(look)
    elif look.reading.kind == "duration":
        shape = shape_of(look)
        bounds = {"type": "duration", "min": shape.low, "max": shape.high}
        yield bounds | clock_step(look) | ({"scale": "log"} if shape.is_log else {}) | ordered_missing(look)
    else:
        first, last, odd = _dates(look)
        bounds = {"min": first, "max": last} | ordered_missing(look, odd) | form
        if look.off[0] > 0:
            after = last if last == datetime.date.max else last + datetime.timedelta(days=1)
            yield {"type": "datetime"} | bounds | {"max": after} | clock_step(look)
        yield {"type": "date"} | bounds


def number_column(look: Look) -> dict[str, Any]:
    """A column of numbers."""
    shape = shape_of(look)
    column: dict[str, Any] = {"type": "number", "min": shape.low, "max": shape.high}
    if shape.step is not None:
        column["step"] = shape.step
    if shape.is_log:
        column["scale"] = "log"
    if shape.atoms:
        column["atoms"] = shape.atoms
    return column | ordered_missing(look, shape.sentinels)


def ordered_missing(look: Look, sentinels: Sequence[float | str] = ()) -> dict[str, Any]:
    """What a schema says of the missing cells of numbers and dates.

    A text that few cells hold may be about one person, and a schema is published: only codes that mean missing
    everywhere, and texts that many cells share, are named. What is not named counts as missing all the same.
    """
    codes = [text for text, count in look.unread.items() if text in look.absent or count >= REPEATED]
    common = sorted(codes, key=lambda text: (text not in look.absent, -look.unread[text], text))
    listed = [
        *sorted(common[:LISTED_TEXTS]),
        *(int(each) if isinstance(each, float) and each.is_integer() else each for each in sentinels),
    ]
    return {"missing": listed} if listed else {"missing": True} if look.empty or look.unread else {}


def clock_step(look: Look) -> dict[str, Any]:
    """The largest step that all times are on; a second where there is none."""
    for step, off in zip(look.steps.tolist(), look.off.tolist(), strict=True):
        if off == 0:
            return {"step": STEP_WORDS[step]}
    return {"step": 1}


def plain_dates(first: datetime.date, last: datetime.date) -> tuple[datetime.date, datetime.date]:
    """Dates rounded outwards: to years where they are more than one apart, else to months.

    Example:
        >>> [str(day) for day in plain_dates(datetime.date(2020, 3, 5), datetime.date(2020, 4, 1))]
        ['2020-03-01', '2020-04-30']
    """
    if (last - first).days > YEAR:
        return datetime.date(first.year, 1, 1), datetime.date(last.year, 12, 31)
    next_month = last.replace(day=28).toordinal() + 4
    after = datetime.date.fromordinal(min(next_month, datetime.date.max.toordinal()))
    end = after if after.month == last.month else after - datetime.timedelta(days=after.day)
    return first.replace(day=1), end


def _dates(look: Look) -> tuple[datetime.date, datetime.date, list[str]]:
    """Plain bounds of dates, and texts such as 9999-12-31 that lie apart from all others and mean missing."""
    low, high = look.lows, look.highs
    odd: list[float] = []
    while len(high) > 1 and str(_day(high[-1])) in NO_DAYS and high[-1] - high[-2] > high[-2] - low[0] > 0:
        odd.append(high[-1])
        high = high[:-1]
    while len(low) > 1 and str(_day(low[0])) in NO_DAYS and low[1] - low[0] > high[-1] - low[1] > 0:
        odd.append(low[0])
        low = low[1:]
    return *plain_dates(_day(low[0]), _day(high[-1])), look.texts_of(odd)


def _day(value: float) -> datetime.date:
    return datetime.date.fromordinal(EPOCH.toordinal() + math.floor(value))


def _is_understood(column: dict[str, Any]) -> bool:
    """Whether schemas take such a column: a range may be too wide for them, or a format of no sense."""
    try:
        Schema.of({"columns": {"c": column}})
    except SchemaError:
        return False
    return True


def _notes(column: dict[str, Any], code: str) -> Iterator[str]:
    if code and column["type"] == "category":
        yield code
    values = [str(value) for value in column.get("values", ())]
    odd = [value for value in values if _NINES.fullmatch(value)]
    if odd and not any(value.isdigit() for value in values if value not in odd):
        yield f"{odd[0]!r} beside other texts: if it means missing, draft anew with --missing {odd[0]} --replace"
    listed = column.get("missing")
    if isinstance(listed, list):
        yield f"read as missing: {', '.join(repr(text) for text in listed)}"
    if column.get("atoms"):
        yield f"values of their own: {', '.join(f'{atom:g}' for atom in column['atoms'])}"
    if column.get("scale") == "log":
        yield "a long tail: log scale"
    if "format" in column:
        yield f"written as {column['format']}"


def _slips(column: dict[str, Any], look: Look) -> Iterator[str]:
    """Listed values that may be slips."""
    values = {str(value) for value in column.get("values", ())}
    yield from slips({text: count for text, count in look.tally.sampled.items() if text in values}).values()


def _why_not(look: Look) -> str:
    if look.reading is not None and _reads(look) and not _why_code("", look):
        form = one_line(look.reading.format or look.reading.kind)
        return f"its cells look like {form}, but no schema can describe them: write them in another way"
    return (
        f"{'about ' * (not look.tally.is_exact)}{look.tally.distinct:,} different texts, more than {MOST_CATEGORIES}: "
        "list the public ones in a code book, or replace them by coarser groups"
    )
