"""A first draft of a schema, made by looking at a private table.

Everything it takes from the rows is listed under `unconfirmed`: bounds and categories found in private
data are private. The custodian replaces them by public knowledge, or confirms that they are public, and
empties the list.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import SchemaError
from sfumato.schema.layout import EPOCH
from sfumato.schema.schema import Schema
from sfumato.tables import Table, days, numbers, open_table, texts
from sfumato.tables.dates import LAST_DAY

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # fits in 64 bits

MOST_CATEGORIES = 100  # more different texts than this, and a column is no category
FEW_NUMBERS = 10  # so few different whole numbers look like codes, when the column is the label


def draft_schema(source: Any, label: str | None = None) -> tuple[Schema, list[str]]:
    """Draft a schema for a table. The draft is as private as the rows that it was read off.

    Args:
        source: Whatever `open_table` takes.
        label: The column to predict.

    Returns:
        The schema, with all that was read off rows under `unconfirmed`, and the columns left out because nothing fits
        them.

    Raises:
        SchemaError: The label is no column, or none that can be one; or nothing can be modelled.
        TableError: The table cannot be read.
    """
    table = open_table(source)
    if label is not None and label not in table.names:
        raise SchemaError(f"the label {label!r} is not a column of the table")
    columns: dict[str, Any] = {}
    unconfirmed: list[str] = []
    left_out: list[str] = []
    for name in table.names:
        column = _column(table, name, is_label=name == label)
        if column is None:
            left_out.append(name)
            unconfirmed.append(f"columns.{name} (left out)")
        else:
            columns[name] = column
            unconfirmed += [f"columns.{name}.{fact}" for fact in _facts(column, is_label=name == label)]
    if label in left_out:
        raise SchemaError(f"the label {label!r} is empty, or has too many different values to be a label")
    if not columns:
        raise SchemaError("no column of the table is a number, a date or one of a few categories")
    return Schema.of({"label": label, "columns": columns, "unconfirmed": unconfirmed}), left_out


def _column(table: Table, name: str, is_label: bool) -> dict[str, Any] | None:
    """One column's draft, or None where nothing fits it."""
    look = _Look()
    for batch in table.batches([name]):
        look.add(batch.column(0))
    few = bool(look.levels) and (not look.numeric or look.words or len(look.levels or ()) <= FEW_NUMBERS)
    if is_label:
        return look.category() if few else None
    if look.numeric and not look.words:
        column = look.number()
    elif look.dated:
        column = look.date()
    else:
        column = look.category() if look.levels else None
    return column if column is None or not look.empty else column | {"missing": True}


def _facts(column: dict[str, Any], is_label: bool) -> list[str]:
    """What in a draft depends on the rows, also by not being there: one odd cell can change any of it."""
    facts = {"number": ["type", "min", "max", "step"], "date": ["type", "min", "max"], "category": ["type", "values"]}
    return facts[column["type"]] + ([] if is_label else ["missing"])


class _Look:
    """What one pass over a column's cells finds."""

    def __init__(self) -> None:
        self.empty = False
        self.numeric = self.dated = True
        self.whole = True
        self.words = True  # nothing but true and false
        self.low, self.high = math.inf, -math.inf
        self.first, self.last = math.inf, -math.inf
        self.levels: Counter[str] | None = Counter()

    def add(self, cells: pa.Array) -> None:
        written = texts(cells)
        filled = np.asarray(written.to_numpy(zero_copy_only=False) != "", dtype=bool)
        self.empty |= not filled.all()
        values, dates = numbers(cells)[filled], days(cells)[filled]
        self.numeric &= bool(np.isfinite(values).all())
        self.dated &= not np.isnan(dates).any()
        if self.numeric and len(values):
            self.low, self.high = min(self.low, values.min()), max(self.high, values.max())
            self.whole &= bool((values == np.rint(values)).all()) and abs(values).max() < 2**50
        if self.dated and len(dates):
            self.first, self.last = min(self.first, dates.min()), max(self.last, dates.max())
        self.words &= bool(pc.all(pc.is_in(written, pa.array(["", "true", "false"], written.type))).as_py())
        if self.levels is not None:
            self.levels.update(text for text in written.to_pylist() if text)
            if len(self.levels) > MOST_CATEGORIES:
                self.levels = None

    def values(self) -> list[str | int]:
        """The categories in alphabetical order (a draft should not show which is common)."""
        levels = sorted(self.levels or ())
        whole = all(_WHOLE.fullmatch(text) for text in levels)
        return sorted(int(text) for text in levels) if whole else list(levels)

    def category(self) -> dict[str, Any]:
        return {"type": "category", "values": self.values()}

    def number(self) -> dict[str, Any] | None:
        if not self.low <= self.high:
            return None
        low, high = float(self.low), float(self.high)
        high = high if low < high else low + max(1.0, abs(low) * 1e-9)
        column: dict[str, Any] = {"type": "number", "min": low, "max": high}
        return column | {"step": 1} if self.whole else column

    def date(self) -> dict[str, Any] | None:
        if not self.first <= self.last:
            return None
        first, last = math.floor(self.first), math.floor(self.last)  # the time of day is not kept
        if first == last:
            first, last = (first, last + 1) if last < LAST_DAY else (first - 1, last)
        first_day, last_day = (np.datetime64(EPOCH) + np.array([first, last])).tolist()
        return {"type": "date", "min": first_day, "max": last_day}
