"""A code book: public facts about columns, in a CSV file.

Its header names `column` and any of `value`, `min`, `max` and `step`; other columns, such as a label or a description,
are not read. A column has a line for each of its values, or one line with its bounds. Values beside bounds are special:
those inside get bins of their own, those outside mean missing.
"""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.drafting.looks import Look
from sfumato.drafting.proposals import (
    Proposal,
    category_values,
    checked,
    missing_texts,
    ordered_missing,
    reads_numbers,
    written,
)
from sfumato.drafting.shapes import shape_of
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
    if is_real(text):
        return float(text)
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise SchemaError(f"{where}: {one_line(text)!r} is neither a number nor a date such as 2024-12-31") from None


def described(entry: Entry, look: Look, is_label: bool = False) -> Proposal:
    """A column as the code book has it; what that leaves open is read off the rows.

    Args:
        entry: What the code book says.
        look: What the rows hold.
        is_label: Whether it is the label, which is never missing.

    Returns:
        The column; its notes say where the table differs from the code book.
    """
    if not entry.bounds:
        return _category(entry, look, is_label)
    if isinstance(entry.bounds["min"], datetime.date):
        column = {"type": "date", **entry.bounds, **written(look), **ordered_missing(look)}
        return checked(column, ["missing", *written(look)], look)
    return _number(entry, look)


def _category(entry: Entry, look: Look, is_label: bool) -> Proposal:
    column = {"type": "category", "values": category_values(entry.values)}
    odd = [text for text in look.tally.sampled if text not in entry.values and text not in look.absent]
    notes = [f"{len(odd)} different texts are not in the code book, such as {one_line(odd[0])!r}"] if odd else []
    if is_label:
        return Proposal(column, (), notes=tuple(notes))
    return Proposal(column | missing_texts(look, set(entry.values)), ("missing",), notes=tuple(notes))


def _number(entry: Entry, look: Look) -> Proposal:
    low, high = entry.bounds["min"], entry.bounds["max"]
    column: dict[str, Any] = {"type": "number", **entry.bounds, **written(look)}
    facts = ["scale", *(["step"] if "step" not in entry.bounds else []), *written(look)]
    shape = shape_of(look) if reads_numbers(look) else None
    if shape is not None and shape.step is not None and shape.step <= high - low:
        column = {"step": shape.step} | column
    if shape is not None and shape.is_log and low >= 0:
        column["scale"] = "log"
    atoms = [float(text) for text in entry.values if _is_inside(text, low, high)]
    if atoms:
        column["atoms"] = atoms
    apart = [text for text in entry.values if not _is_inside(text, low, high)]
    sentinels = [] if shape is None else [value for value in shape.sentinels if not low <= value <= high]
    if apart:
        column["missing"] = category_values(apart)
    else:
        column |= ordered_missing(look, sentinels)
        facts.append("missing")
    known = {*sentinels, *(float(text) for text in apart if is_real(text))}
    return checked(column, facts, look, _outside(look, low, high, known))


def _is_inside(text: str, low: float, high: float) -> bool:
    return is_real(text) and low <= float(text) <= high


def is_real(text: str) -> bool:
    """Whether a text is a number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _outside(look: Look, low: float, high: float, known: set[float]) -> list[str]:
    """Which of the bounds the table goes beyond."""
    ends = [value for value in (*look.lows.tolist(), *look.highs.tolist()) if value not in known]
    told = []
    if ends and min(ends) < low:
        told.append(f"cells lie below the code book's min {low:g}, and count as {low:g}")
    if ends and max(ends) > high:
        told.append(f"cells lie above the code book's max {high:g}, and count as {high:g}")
    return told
