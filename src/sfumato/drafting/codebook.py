"""A code book: public facts about columns, in a CSV file.

Its header names `column` and any of `value`, `min`, `max` and `step`; other columns, such as a label or a description,
are not read. A column has a line for each of its values, or one line with its bounds. Values beside bounds are special:
those inside get bins of their own, those outside mean missing.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.drafting.looks import Look
from sfumato.drafting.proposals import Proposal, category_values, missing_texts, number_column, ordered_missing
from sfumato.errors import SchemaError
from sfumato.text import canonical, one_line

READ = ("column", "value", "min", "max", "step")


@dataclass
class Entry:
    """What a code book says of one column."""

    values: list[str] = field(default_factory=list)
    bounds: dict[str, Any] = field(default_factory=dict)


def read_codebook(path: str | Path) -> dict[str, Entry]:
    """Read a code book.

    Args:
        path: A CSV file, in UTF-8, with commas or semicolons.

    Returns:
        What it says of each column.

    Raises:
        SchemaError: It cannot be read, or a line says nothing.
    """
    found: dict[str, Entry] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            for place, line in _lines(file, path):
                _take(found.setdefault(line["column"], Entry()), line, f"{path}, line {place}")
    except OSError as error:
        raise SchemaError(f"cannot read the code book {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise SchemaError(f"cannot read the code book {path}: it is no CSV file in UTF-8") from error
    for name, entry in found.items():
        if entry.bounds and not {"min", "max"} <= set(entry.bounds):
            raise SchemaError(f"the code book {path} gives column {one_line(name)!r} one bound; give min and max")
    return found


def _lines(file: Any, path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    header = file.readline()
    delimiter = ";" if header.count(";") > header.count(",") else ","
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
    if "column" not in names or not {"value", "min"} & set(names):
        raise SchemaError(f"the header of the code book {path} must name `column`, and `value` or `min` and `max`")
    for place, fields in enumerate(csv.reader(file, delimiter=delimiter), start=2):
        line = {name: text.strip() for name, text in zip(names, fields, strict=False) if name in READ}
        if any(line.values()):
            yield place, line


def _take(entry: Entry, line: dict[str, str], where: str) -> None:
    if not line.get("column"):
        raise SchemaError(f"{where}: it names no column")
    bounds = {key: _bound(line[key], where) for key in ("min", "max", "step") if line.get(key)}
    if not bounds and not line.get("value"):
        raise SchemaError(f"{where}: give a value, or min and max")
    entry.bounds |= bounds
    if line.get("value"):
        text = canonical(line["value"])
        if text in entry.values:
            raise SchemaError(f"{where}: the value {one_line(text)!r} is there twice")
        entry.values.append(text)


def _bound(text: str, where: str) -> float | datetime.date:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise SchemaError(f"{where}: {one_line(text)!r} is neither a number nor a date such as 2024-12-31") from None


def described(
    entry: Entry, look: Look, drafted: Proposal, is_label: bool
) -> tuple[dict[str, Any], list[str], list[str]]:
    """A column as the code book has it, with what it leaves open from the draft.

    Returns:
        The column, what of it was read off the rows, and where the table differs from the code book.
    """
    if not entry.bounds:
        return _category(entry, look, is_label)
    if isinstance(entry.bounds["min"], datetime.date):
        column = {"type": "date"} | {key: entry.bounds[key] for key in ("min", "max")}
        return column | ordered_missing(look, []), ["missing"], []
    return _number(entry, look, drafted)


def _category(entry: Entry, look: Look, is_label: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    column = {"type": "category", "values": category_values(entry.values)}
    if not is_label:
        column |= missing_texts(look, set(entry.values))
    odd = [text for text in look.tally.sampled if text not in entry.values and text not in look.absent]
    conflicts = [f"{len(odd)} different texts are not in the code book, such as {one_line(odd[0])!r}"] if odd else []
    return column, [] if is_label else ["missing"], conflicts


def _number(entry: Entry, look: Look, drafted: Proposal) -> tuple[dict[str, Any], list[str], list[str]]:
    low, high = entry.bounds["min"], entry.bounds["max"]
    is_number = look.reading is not None and look.reading.kind == "number" and len(look.lows) > 0
    found = number_column(look) if is_number else {}
    special = [float(text) for text in entry.values if _is_number(text)]
    column: dict[str, Any] = {"type": "number", **entry.bounds}
    open_facts = ["scale"]
    if "step" not in entry.bounds:
        open_facts.insert(0, "step")
        column |= {"step": found["step"]} if found.get("step", np.inf) <= high - low else {}
    column |= {"scale": "log"} if found.get("scale") == "log" and low >= 0 else {}
    column |= {"format": drafted.column["format"]} if drafted.column and "format" in drafted.column else {}
    if entry.values:
        column |= {"atoms": atoms} if (atoms := [value for value in special if low <= value <= high]) else {}
        outside = [text for text in entry.values if not _is_number(text) or not low <= float(text) <= high]
        column |= {"missing": category_values(outside)} if outside else ordered_missing(look, [])
        open_facts += [] if outside else ["missing"]
    else:
        sentinels = [value for value in _sentinels(found) if not low <= value <= high]
        column |= ordered_missing(look, sentinels)
        open_facts.append("missing")
    apart = {float(text) for text in column.get("missing", []) if _is_number(text)} if _lists(column) else set()
    return column, open_facts + ["format"] * ("format" in column), _outside(look, low, high, apart)


def _lists(column: dict[str, Any]) -> bool:
    return isinstance(column.get("missing"), list)


def _sentinels(found: dict[str, Any]) -> list[float]:
    return [float(each) for each in found["missing"] if not isinstance(each, str)] if _lists(found) else []


def _is_number(text: Any) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _outside(look: Look, low: float, high: float, apart: set[float]) -> list[str]:
    """Which end of the bounds the table goes beyond."""
    ends = [value for value in (*look.lows.tolist(), *look.highs.tolist()) if value not in apart]
    told = []
    if ends and min(ends) < low:
        told.append(f"cells lie below the code book's min {low:g}: they count as {low:g}")
    if ends and max(ends) > high:
        told.append(f"cells lie above the code book's max {high:g}: they count as {high:g}")
    return told
