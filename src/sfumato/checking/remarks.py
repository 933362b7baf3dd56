"""From counts and hints to remarks: what to look at in a column, in words, and what the schema could say instead."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from sfumato.checking.findings import EXAMPLES_TOLD, LOST_LIMIT, ColumnCheck, RuleCheck, UnitCheck
from sfumato.checking.hints import RULES, is_on_grid
from sfumato.checking.proposal import Remark
from sfumato.schema.layout import DEFAULT_BINS, EPOCH, days
from sfumato.schema.schema import Category, Column, Date, Number
from sfumato.text import one_line, percent

MOST_ADDED = 100  # categories that are proposed; more different ones are no list
BOUND_DIGITS = 2  # of a proposed bound
DIGITS_TOLD = 6
LONGEST_EXAMPLE = 40  # letters
CLAMPED_TOLD = 0.001  # of the cells: to clamp a few is what bounds are for
NO_VALUE = {"?", "-", "--", ".", "*", "na", "n/a", "#n/a", "nan", "null", "nil", "none", "unknown", "missing", "nat"}
COMMA = re.compile(r"[+-]?[0-9. ]+,[0-9]{1,2}")
SIGNED = re.compile(r"([^\w.,;+-]{0,2} ?)[0-9][0-9., ]*( ?[^\w.,;+-]{0,2})")  # separators, a currency, a percent sign
FIELDS = re.compile(r"[^;\t|]*[;\t|].*")


def column_remarks(found: ColumnCheck, column: Column, *, is_label: bool, is_grouped: bool) -> list[Remark]:
    """What to look at in one column.

    Args:
        found: What was found in it.
        column: What the schema says about it.
        is_label: Whether it is the label, without which a row does not count.
        is_grouped: Whether a group describes it, so that it cannot be changed alone.

    Returns:
        The remarks.
    """
    remarks = [*_names(found), *_absent(found, column, is_label, is_grouped)]
    known = {str(value) for value in column.values} if isinstance(column, Category) else set()
    remarks += [Remark(found.name, "slip", told) for text, told in found.hints.slips.items() if text in known]
    if found.bounds is not None:
        remarks += _ordered(found, column, found.bounds)
    if not is_grouped:
        return remarks
    return [Remark(each.column, each.kind, each.text) for each in remarks]


def unit_remarks(unit: UnitCheck) -> list[Remark]:
    """What to look at in the rows of units."""
    remarks = []
    if unit.nameless:
        told = f"rows without {one_line(unit.column)}, which do not count: {unit.nameless:,}"
        remarks.append(Remark(None, "unit", told))
    if unit.dropped > LOST_LIMIT * unit.rows:
        rows = unit.nine_tenths
        told = (
            f"{unit.dropped:,} rows ({percent(unit.dropped / unit.rows)}) do not count, because their "
            f"{one_line(unit.column)} has more than {unit.limit:,}; with rows: {rows:,} nine of ten count whole, "
            "at as many times the noise of one row"
        )
        remarks.append(Remark(None, "unit", told, {"rows": rows}))
    return remarks


def people_remark(column: str, rows: int) -> Remark:
    """What to say of a column outside the schema that names people with several rows.

    Args:
        column: Its name.
        rows: How many rows of each to count.

    Returns:
        The remark, which proposes it as the unit.
    """
    name = one_line(column)
    told = (
        f"several rows share one {name}: without a unit the guarantee speaks of one row, not of all rows of a person; "
        f"if {name} names people, say `unit: {{column: {name}, rows: {rows}}}`"
    )
    return Remark(None, "unit", told, {"column": column, "rows": rows})


def row_remarks(rows: int, empty_rows: int, rules: tuple[RuleCheck, ...]) -> list[Remark]:
    """What to look at in whole rows."""
    remarks = []
    if empty_rows:
        told = (
            f"rows that are empty in every column: {empty_rows:,} ({percent(empty_rows / rows)}); of a CSV file, lines "
            "with more or fewer fields than the header: look at quotes, line breaks, delimiter and encoding"
        )
        remarks.append(Remark(None, "rows", told))
    for each in rules:
        if each.broken:
            told = f"rows that break the rule `{one_line(each.rule)}`: {each.broken:,} ({percent(each.broken / rows)})"
            remarks.append(Remark(None, "rule", told))
    return remarks


def _names(found: ColumnCheck) -> Iterator[Remark]:
    if found.hints.is_name:
        told = "nearly all values are different, as those of an id are; leave the column out, or name it as `unit`"
        yield Remark(found.name, "id", told, drops=True)


def _absent(found: ColumnCheck, column: Column, is_label: bool, is_grouped: bool) -> Iterator[Remark]:
    """Remarks about cells in no ordinary bin."""
    tally = found.tally
    fate = "count as missing" if column.missing else "fit no bin"
    fate = "and a row without a label does not count" if is_label else f"and {fate}"
    fate = "and count as the middle of the range" if is_grouped else fate
    declared = {} if column.missing or is_label or is_grouped else {"missing": True}
    if tally.missing and not column.missing:
        advice = "; say `missing: true`" if declared else ""
        yield Remark(found.name, "missing", f"{_count(found, tally.missing)} missing, {fate}{advice}", declared)
    if not tally.foreign:
        return
    no_value = [text for text, _ in tally.commonest if text.lower() in NO_VALUE]
    if no_value and declared:
        fate += f"; if {_quoted(no_value[0])} stands for no value, say `missing: true`"
    what = "not in the list" if tally.unlisted else f"unreadable as a {found.type}"
    advice, changes = _how_written(found) if isinstance(column, Number) else ("", {})
    told = f"{_count(found, tally.foreign)} {what}, {_examples(found)}, {fate}{advice}"
    if isinstance(column, Category) and not found.hints.is_name:
        changes = _added(found, column)
    changes |= declared if no_value else {}
    yield Remark(found.name, "unlisted" if tally.unlisted else "unreadable", told, changes)


def _added(found: ColumnCheck, column: Category) -> dict[str, Any]:
    """The list with what is common and not in it; with `missing: true`, not to be listed has a meaning."""
    apart = NO_VALUE | found.hints.slips.keys()
    new = [text for text, _ in found.tally.commonest if text.lower() not in apart and text not in apart]
    if column.missing or not new or len(new) > MOST_ADDED:
        return {}
    whole = all(isinstance(value, int) for value in column.values) and all(_is_whole(text) for text in new)
    return {"values": [*column.values, *sorted(int(text) if whole else text for text in new)]}


def _ordered(found: ColumnCheck, column: Any, bounds: tuple[float, float]) -> Iterator[Remark]:
    """Remarks about numbers and dates; later ones build on the bounds that earlier ones propose."""
    sides = [_below(found, column, bounds), _above(found, column, bounds)]
    yield from (remark for remark in sides if remark is not None)
    if isinstance(column, Number):
        low, high = (side.changes.get(fact) if side else None for side, fact in zip(sides, ("min", "max"), strict=True))
        low, high = bounds[0] if low is None else low, bounds[1] if high is None else high
        yield from _stepped(found, column, low)
        yield from _atoms(found, column, low, high)
    yield from _wide(found, column, *bounds)


def _below(found: ColumnCheck, column: Any, bounds: tuple[float, float]) -> Remark | None:
    least = min(found.tally.smallest, bounds[0])
    return _clamped(found, column, found.tally.low, "below", "min", (bounds[0], least), bounds[0])


def _above(found: ColumnCheck, column: Any, bounds: tuple[float, float]) -> Remark | None:
    most = max(found.tally.largest, bounds[1])
    return _clamped(found, column, found.tally.high, "above", "max", (bounds[1], most), bounds[0])


def _clamped(
    found: ColumnCheck, column: Any, count: int, side: str, fact: str, ends: tuple[float, float], origin: float
) -> Remark | None:
    """The remark about cells on one side of the bounds, from a bound to the furthest value."""
    share, (bound, furthest) = found.share(count), ends
    if share <= CLAMPED_TOLD:
        return None
    changes: dict[str, Any] = {}
    told = f"{_count(found, count)} {side} {fact}"
    if isinstance(column, Number | Date):
        reach = f", as far as {_told(column, furthest)}" if furthest != bound else ""
        told += f" {_told(column, bound)}{reach}"
        if furthest != bound and share > LOST_LIMIT:
            changes[fact] = _proposed(column, furthest, origin, up=fact == "max")
    return Remark(found.name, "clamped", f"{told}, and clamped to it", changes)


def _stepped(found: ColumnCheck, column: Number, low: float) -> Iterator[Remark]:
    grid = found.hints.grid
    if column.step is None and grid is not None:
        floor = math.floor(low / grid + 1e-9) * grid
        aligned = {} if is_on_grid(np.array([low]), 0.0, grid).all() else {"min": floor}
        told = f"all values are multiples of {grid:g}; say `step: {grid:g}`, and synthetic ones will be, too"
        yield Remark(found.name, "step", told, {"step": grid} | aligned)
    elif found.off_step:
        told = f"{percent(found.off_step)} of the values are not on the grid of step {column.step:g}, and are rounded"
        yield Remark(found.name, "step", told, {"step": grid if grid != column.step else None})


def _atoms(found: ColumnCheck, column: Number, low: float, high: float) -> Iterator[Remark]:
    steps = math.inf if column.step is None else (high - low) / column.step
    if steps < (column.bins or DEFAULT_BINS):  # every value has a bin of its own
        yield from _ceiling(found, column)
        return
    spikes = [each for each in found.hints.spikes if each[0] not in column.atoms]
    if not spikes:
        return
    told = ", ".join(f"{value:g} ({percent(share)})" for value, share in spikes[:EXAMPLES_TOLD])
    inside = [value for value, _ in spikes if low <= value <= high]
    changes = {"atoms": sorted({*column.atoms, *inside})} if inside else {}
    yield Remark(
        found.name, "atoms", f"far more frequent than values near by: {told}; name them under `atoms`", changes
    )


def _ceiling(found: ColumnCheck, column: Number) -> Iterator[Remark]:
    if found.hints.ceiling is None or found.hints.ceiling[0] > column.max:  # if so, it is clamped
        return
    value, share = found.hints.ceiling
    told = f"{percent(share)} of the values are {value:g}, the largest, and far fewer are just below it"
    yield Remark(found.name, "atoms", f"{told}; if it stands for all from there on, tell readers so")


def _wide(found: ColumnCheck, column: Any, low: float, high: float) -> Iterator[Remark]:
    middle = found.hints.middle
    if middle is None or not isinstance(column, Number | Date) or getattr(column, "scale", "linear") == "log":
        return
    if middle[1] - middle[0] < RULES.filled * (high - low) and middle[0] >= low and middle[1] <= high:
        ends = f"{_told(column, middle[0])} to {_told(column, middle[1])}"
        told = f"{percent(RULES.nearly_all)} of the values ({ends}) fill less than a hundredth of the range"
        yield Remark(found.name, "wide", f"{told}; narrower bounds, if they are public, sharpen the release")


def _count(found: ColumnCheck, count: int) -> str:
    return f"{count:,} cell{'s' if count > 1 else ''} ({percent(found.share(count))}) {'are' if count > 1 else 'is'}"


def _examples(found: ColumnCheck) -> str:
    shown = [f"{_quoted(text)} ({count:,})" for text, count in found.tally.commonest[:EXAMPLES_TOLD]]
    return f"such as {', '.join(shown)}"


def _quoted(text: str) -> str:
    line = one_line(text)
    return f"'{line if len(line) <= LONGEST_EXAMPLE else line[:LONGEST_EXAMPLE] + '...'}'"


def _how_written(found: ColumnCheck) -> tuple[str, dict[str, Any]]:
    """How numbers are written that cannot be read, where most of them are written alike; and the format to declare."""
    texts = [text for text, _ in found.tally.commonest if text.lower() not in NO_VALUE]

    def most(pattern: re.Pattern[str]) -> bool:
        return sum(pattern.fullmatch(text) is not None for text in texts) > len(texts) / 2

    if most(COMMA):
        return _format("they are written with a decimal comma", "1.234,5")
    if most(SIGNED):
        signs = SIGNED.fullmatch(next(text for text in texts if SIGNED.fullmatch(text)))
        assert signs is not None
        what = "they are written with separators, a currency or a percent sign"
        return _format(what, f"{signs[1]}1,234.5{signs[2]}")
    if most(FIELDS):
        return "; they hold several fields: say what separates them with --delimiter", {}
    return "", {}


def _format(what: str, format: str) -> tuple[str, dict[str, Any]]:
    """The advice to declare how 1234.5 is written."""
    return f"; {what}: say `format: {format!r}`", {"format": format}


def _proposed(column: Number | Date, value: float, origin: float, *, up: bool) -> Any:
    """A round bound beyond a value, on the grid of the column where it has one."""
    if isinstance(column, Date):
        year = _date(value).year
        return (datetime.date(year, 12, 31) if up else datetime.date(year, 1, 1)).isoformat()
    context = Context(prec=BOUND_DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    bound = float(context.create_decimal(Decimal(repr(float(value)))))
    if column.step is not None:
        steps = (bound - origin) / column.step
        bound = origin + float(np.ceil(steps - 1e-9) if up else np.floor(steps + 1e-9)) * column.step
    return bound


def _told(column: Number | Date, value: float) -> str:
    """A value for a reader."""
    if isinstance(column, Date):
        return _date(value).isoformat()
    return np.format_float_positional(value, precision=DIGITS_TOLD, fractional=False, trim="-")


def _date(value: float) -> datetime.date:
    """A date from its days, the first or last there is where they are too many: stored ones may be."""
    least, most = days(datetime.date.min), days(datetime.date.max)
    return EPOCH + datetime.timedelta(days=min(max(value, least), most))


def _is_whole(text: str) -> bool:
    return re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) is not None
