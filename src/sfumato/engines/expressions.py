"""What a database has to compare so that its columns become the numbers that rows are coded to here.

A column's cells are seen in levels, which put cells of its grid together. Where the column's stored type has an order,
levels are runs of values: `Runs` holds the values at which they begin, found by our own coding of values, never by a
formula of their own. Where it is text and the schema lists what may be there, `Words` holds the spellings that lead to
each level. Both are data, and a database needs comparisons alone to apply them, which fail on no value.

>>> from sfumato.schema.layout import bins_of
>>> from sfumato.schema.schema import Number
>>> bins = bins_of(Number(min=0, max=3, step=1))
>>> runs = runs_of(INTEGERS, bins, np.array([0, 0, 1, 1, 2]))
>>> runs.cuts, runs.levels, runs.absent
((2,), (0, 1), 2)
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.schema.layout import EPOCH, Bins, CategoryBins, FloatArray, IntArray, OrderedBins
from sfumato.tables.cells import float_text
from sfumato.tables.coding import find_cells, values_of
from sfumato.text import canonical

EXACT_INTEGERS = 1 << 53  # up to here every whole number is a float64
MOST_TRIED = 1 << 12  # cuts of a column around which a database is tried
TAKEN_FOR = {"true": ("True", "TRUE"), "false": ("False", "FALSE"), "0": ("-0",)}  # that `canonical` takes for one

_WHOLE_TEXT = re.compile(r"-?(?:0|[1-9][0-9]*)")


@dataclass(frozen=True)
class Kind:
    """A stored type of cells that a database can compare as we do.

    Attributes:
        name: integer, float, date, boolean or text.
        arrow: The type of such cells here.
        least: The smallest value.
        most: The largest value that is no infinity; what is stored beyond, or below `least`, has no reading.
    """

    name: str
    arrow: pa.DataType
    least: Any = None
    most: Any = None


def integer(bits: int, signed: bool = True) -> Kind:
    """Whole numbers of so many bits."""
    least = -(1 << (bits - 1)) if signed else 0
    return Kind("integer", pa.int64() if signed else pa.uint64(), least, least + (1 << bits) - 1)


INTEGERS = integer(64)
FLOATS = Kind("float", pa.float64(), -math.inf, math.inf)
DATES = Kind("date", pa.date32(), datetime.date.min, datetime.date.max)
BOOLEANS = Kind("boolean", pa.bool_(), False, True)
TEXTS = Kind("text", pa.large_string())


@dataclass(frozen=True)
class Runs:
    """Levels of ordered values: the first below `cuts[0]`, the next from there on to below `cuts[1]`, and so on.

    `absent` is the level of what has no value: null, NaN, and dates outside the calendar.
    """

    kind: Kind
    cuts: tuple[Any, ...]
    levels: tuple[int, ...]
    absent: int


@dataclass(frozen=True)
class Words:
    """Levels of texts. A text is looked for among `words` without blanks at its ends; then, without the zeros at its
    end, among `stems`, which all end in a point: 7.00 is 7. `other` is the level of all others, `absent` that of null.
    """

    words: dict[str, int]
    stems: dict[str, int]
    other: int
    absent: int


Coding: TypeAlias = Runs | Words


def coding_of(kind: Kind, bins: Bins, levels: IntArray) -> Coding | None:
    """How cells of a kind become levels; None where only our own reader can tell.

    Args:
        kind: Of the stored cells.
        bins: Of the column.
        levels: The level of every cell of the column's grid, and last that of what is in none.

    Returns:
        What to compare.
    """
    if kind is TEXTS:
        return _words_of(bins, levels) if isinstance(bins, CategoryBins) else None
    return runs_of(kind, bins, levels) if _is_ordered(kind, bins) else None


def own_levels(cells: pa.Array, bins: Bins, levels: IntArray) -> IntArray:
    """The levels of cells by our own coding."""
    return np.asarray(levels[find_cells(cells, bins)])  # -1 is the last


def runs_of(kind: Kind, bins: Bins, levels: IntArray) -> Runs:
    """The runs of an ordered kind of cells, each of the level that our own coding gives to its first value."""
    points = _named(kind, bins) if isinstance(bins, CategoryBins) else _edges(kind, bins, levels)
    inside = {point for point in points if kind.least < point <= kind.most}
    starts = [kind.least, *sorted(inside)]
    found = own_levels(pa.array([*starts, None], kind.arrow), bins, levels).tolist()
    kept = [place for place in range(1, len(starts)) if found[place] != found[place - 1]]
    return Runs(kind, tuple(starts[place] for place in kept), (found[0], *(found[place] for place in kept)), found[-1])


def battery(kind: Kind, coding: Coding) -> list[str]:
    """Texts of public values on which a database has to agree with us: around cuts, and where types are odd."""
    if isinstance(coding, Words):
        known = [*coding.words, *(f"{stem}00" for stem in coding.stems)]
        odd = ["", " ", "\v", "ä", "a\u0308", "\u00a0", "\u200b", "1.0", "-0.0", "01", "1_000", "NaN", "true", "TRUE"]
        spoilt = [each for word in known for each in (f" {word}\t", f"{word}\u00a0", f"{word}0", word.swapcase())]
        return [*odd, *known, *spoilt]
    cuts = coding.cuts[:: -(-len(coding.cuts) // MOST_TRIED) or 1]
    near = [each for cut in cuts for each in (cut, *_around(kind, cut))]
    return [*ODD[kind.name], *map(_written, [*near, *(v for v in (kind.least, kind.most) if kind.name != "float")])]


ODD: dict[str, tuple[str, ...]] = {
    "integer": ("0", "1"),
    "float": ("NaN", "Infinity", "-Infinity", "-0.0", "0", "5e-324", "-5e-324", "1.7976931348623157e308", "0.1"),
    "date": ("infinity", "-infinity", "1970-01-01", "1969-12-31"),
    "boolean": ("true", "false"),
}


def _is_ordered(kind: Kind, bins: Bins) -> bool:
    """Whether our reader takes the stored value for what it is."""
    if isinstance(bins, CategoryBins):
        return True
    if bins.column.format is not None:
        return False
    return bins.column.type == ("date" if kind is DATES else "number")


def _edges(kind: Kind, bins: OrderedBins, levels: IntArray) -> Sequence[Any]:
    """Values at which the level may change: where a run of the grid begins, and at and behind what means missing."""
    grid = levels[: bins.grid.size]
    cells = np.flatnonzero(grid[1:] != grid[:-1]) + 1
    plain = replace(bins, column=bins.column.model_copy(update={"sentinels": ()}))
    marks = values_of(pa.array(bins.column.sentinel_texts, pa.large_string()), plain)
    marks = marks[~np.isnan(marks)]
    values = np.concatenate([_least(bins.cell, cells), marks, np.nextafter(marks, np.inf)])
    return [found for value in values.tolist() for found in _first(kind, value)]


def _named(kind: Kind, bins: CategoryBins) -> Sequence[Any]:
    """The values whose texts the schema lists, and those next to them."""
    found = []
    for text in bins.column.texts:
        value = _value(kind, text)
        if value is not None:
            found += [value, _next(kind, value)]
    return [point for point in found if point is not None]


def _value(kind: Kind, text: str) -> Any:
    """The value that is written like this, and not otherwise; None where there is none."""
    try:
        value = _PARSED_AS[kind.name](text)
    except (ValueError, KeyError, OverflowError):
        return None
    return value if value is not None and _written(value) == text else None


_PARSED_AS: dict[str, Callable[[str], Any]] = {
    "integer": lambda text: int(text) if _WHOLE_TEXT.fullmatch(text) and len(text) < 25 else None,
    "float": float,
    "date": datetime.date.fromisoformat,
    "boolean": lambda text: {"true": True, "false": False}[text],
}


def _written(value: Any) -> str:
    """A value as our reader writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(float_text(value)) if math.isfinite(value) else repr(value)
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _next(kind: Kind, value: Any) -> Any:
    """The value behind one; None behind the last."""
    if kind is BOOLEANS:
        return True
    if kind is FLOATS:
        return math.nextafter(value, math.inf)
    if kind is DATES:
        return None if value == kind.most else value + datetime.timedelta(days=1)
    return value + 1


def _around(kind: Kind, cut: Any) -> tuple[Any, ...]:
    """The neighbours of a cut, which is above the least value."""
    if kind is BOOLEANS:
        return (False,)
    if kind is FLOATS:
        return (math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf))
    before = cut - datetime.timedelta(days=1) if kind is DATES else cut - 1
    return (before, cut if cut == kind.most else _next(kind, cut))


def _least(cell: Callable[[FloatArray], IntArray], wanted: IntArray) -> FloatArray:
    """The smallest number whose cell is each of those wanted, or one beyond; infinity where there is none.

    The cell of a number never falls with the number, so that halving finds it; floats are halved by their bits.
    """
    low, high = (np.full(len(wanted), bits, dtype=np.int64) for bits in _bits(np.array([-np.inf, np.inf])))
    for _ in range(64):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        reached = cell(_of_bits(middle)) >= wanted
        low, high = np.where(reached | (low == high), low, middle + 1), np.where(reached, middle, high)
    return _of_bits(high)


def _bits(values: FloatArray) -> IntArray:
    """Whole numbers in the order of the floats that they stand for."""
    raw = values.view(np.int64)
    return np.where(raw < 0, raw ^ np.int64(2**63 - 1), raw)


def _of_bits(bits: IntArray) -> FloatArray:
    return np.asarray(np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits).view(np.float64) + 0.0)


def _first(kind: Kind, value: float) -> Sequence[Any]:
    """The first value of a kind that reads as this number or more; none where there is none."""
    if kind is FLOATS:
        return [value]
    if not math.isfinite(value):
        return []
    if kind is BOOLEANS:
        return [True] if 0.0 < value <= 1.0 else []
    whole = math.ceil(value)
    if kind is DATES:
        days = whole + EPOCH.toordinal()
        return [datetime.date.fromordinal(days)] if 1 <= days <= datetime.date.max.toordinal() else []
    return [_first_integer(value) if abs(whole) > EXACT_INTEGERS else whole]


def _first_integer(value: float) -> int:
    """The first whole number that rounds to a float64 of this value or more."""
    low, high = int(math.nextafter(value, -math.inf)), int(value)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if float(middle) >= value else (middle + 1, high)
    return high


def _words_of(bins: CategoryBins, levels: IntArray) -> Words:
    words, stems = dict[str, int](), dict[str, int]()
    for text, code in zip(bins.column.texts, bins.column.codes.tolist(), strict=True):
        if canonical(text) != text:
            continue  # no cell reads as it
        forms = (text, *TAKEN_FOR.get(text, ()))
        words |= dict.fromkeys(forms, int(levels[code]))
        stems |= {f"{form}.": int(levels[code]) for form in forms if _WHOLE_TEXT.fullmatch(form)}
    absent = int(own_levels(pa.array([None], pa.large_string()), bins, levels)[0])
    return Words(words, stems, int(levels[bins.missing]), absent)
