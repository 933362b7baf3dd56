"""What a check found. Private: it was computed from the rows, without noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.checking.cell_counts import Tally
from sfumato.checking.hints import Hints
from sfumato.checking.proposal import Remark, proposed
from sfumato.schema.schema import Schema
from sfumato.text import one_line, percent

PRIVATE = "PRIVATE: computed from the rows, without noise. Do not publish it."
LOST_LIMIT = 0.01  # of a column's cells: more, and a schema is not ready
CLAMPED_LIMIT = 0.1  # of them outside the bounds: more, and the bounds are in another unit, or wrong
FOREIGN_LIMIT = 0.5  # of them that say something the schema does not know, even where that counts as missing
EXAMPLES_TOLD = 5
COLUMNS_TOLD = 60  # of wide tables only those with something to say are listed


@dataclass(frozen=True)
class ColumnCheck:
    """One column.

    Attributes:
        name: Of the column.
        type: What the schema says that it is.
        tally: How many of its cells are what.
        hints: What a sample of its values suggests.
        off_step: The share of values that are not on the schema's grid, and are rounded to it; None without a step.
        bounds: The least and the most that an ordered column can hold, as its cells are read.
    """

    name: str
    type: str
    tally: Tally
    hints: Hints = field(default_factory=Hints)
    off_step: float | None = None
    bounds: tuple[float, float] | None = None

    @property
    def lost(self) -> float:
        """The share of cells that fit no bin."""
        return self.share(self.tally.lost)

    @property
    def foreign(self) -> float:
        """The share of cells that are not missing and that the schema cannot read, whatever becomes of them."""
        return self.share(self.tally.foreign)

    @property
    def clamped(self) -> float:
        """The share of cells outside the bounds."""
        return self.share(self.tally.low + self.tally.high)

    def share(self, count: int) -> float:
        """A number of cells as a share of all."""
        return count / max(self.tally.cells, 1)

    def data(self) -> dict[str, Any]:
        """The column as plain JSON data."""
        tally, hints = self.tally, self.hints
        return {
            "type": self.type,
            "cells": tally.cells,
            "missing": tally.missing,
            "unreadable": tally.unreadable,
            "unlisted": tally.unlisted,
            "clamped_low": tally.low,
            "clamped_high": tally.high,
            "lost": tally.lost,
            "share_lost": self.lost,
            "smallest": _finite(tally.smallest),
            "largest": _finite(tally.largest),
            "examples": dict(tally.commonest[:EXAMPLES_TOLD]),
            "spikes": [{"value": value, "share": share} for value, share in hints.spikes],
            "grid": hints.grid,
            "off_step": self.off_step,
            "looks_like_an_id": hints.is_name,
        }


@dataclass(frozen=True)
class UnitCheck:
    """Rows per unit of privacy, of the rows that have a good label. Exact where units are few, else of a sample.

    Attributes:
        column: The unit column.
        limit: How many rows of a unit count.
        units: How many units there are.
        rows: How many rows have an id.
        nameless: How many have none, and do not count.
        dropped: How many rows do not count because their unit has more than the limit.
        middle: Rows of the median unit.
        nine_tenths: Rows that nine of ten units do not exceed.
        largest: Rows of the largest unit.
        exact: Whether all units were counted; else these, `units` and `dropped` are estimates from many.
    """

    column: str
    limit: int
    units: int
    rows: int
    nameless: int
    dropped: int
    middle: int
    nine_tenths: int
    largest: int
    exact: bool = True


@dataclass(frozen=True)
class RuleCheck:
    """One rule between columns.

    Attributes:
        rule: As the schema says it.
        broken: How many rows break it.
    """

    rule: str
    broken: int


@dataclass(frozen=True, repr=False)
class Check:
    """What of a table a schema cannot read, and what it should say. Private, as the rows are.

    Attributes:
        schema: The schema that was checked.
        rows: How many rows the table has.
        columns: What was found in each column of the schema.
        empty_rows: Rows of several columns in which every cell is missing, as in lines that could not be split.
        sampled: Of how many rows the hints are; exact counts are of all.
        unit: Rows per unit, where the schema names one.
        rules: How many rows break each rule of the schema.
        unmodelled: Columns of the table that the schema does not name.
        remarks: What to look at, in words, with the change that each proposes.
        people: A column outside the schema that seems to name people with several rows, where no unit is named.

    Example:
        >>> import pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> found = sf.check(pd.DataFrame({"age": [41, 52, None, 7]}), schema)
        >>> found.verdict
        'not ready: 25 % of `age` fits no bin'
        >>> found.patch.columns["age"].missing, found.patch.unconfirmed
        (True, ('columns.age.missing',))
    """

    schema: Schema
    rows: int
    columns: Mapping[str, ColumnCheck]
    empty_rows: int = 0
    sampled: int = 0
    unit: UnitCheck | None = None
    rules: tuple[RuleCheck, ...] = ()
    unmodelled: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    people: str | None = None

    @property
    def lost(self) -> dict[str, float]:
        """The share of each column's cells that fit no bin, of the columns where there are any."""
        return {name: column.lost for name, column in self.columns.items() if column.tally.lost}

    @property
    def ready(self) -> bool:
        """Whether there are rows, and of no column more than one cell in a hundred fits no bin, more than a tenth lies
        outside the bounds, or more than half says something that the schema does not know.
        """
        return self.rows > 0 and not self._hindrances

    @property
    def verdict(self) -> str:
        """One line: ready, ready with remarks, or not ready and why."""
        if not self.rows:
            return "not ready: the table has no rows"
        if self._hindrances:
            return f"not ready: {self._hindrances[0]}"
        if not self.remarks:
            return "ready"
        told = [f"ready, with {len(self.remarks)} remark{'s' if len(self.remarks) > 1 else ''}"]
        for word, share in (("is clamped", "clamped"), ("is unknown to the schema, and missing", "foreign")):
            most, name = max((getattr(each, share), each.name) for each in self.columns.values())
            told += [f"{percent(most)} of `{one_line(name)}` {word}"] if most > LOST_LIMIT else []
        if self.people is not None:
            told.append(f"several rows share one `{one_line(self.people)}`, and the guarantee would speak of rows")
        return "; ".join(told)

    @cached_property
    def _hindrances(self) -> list[str]:
        """Why a schema is not ready, what is lost first; the worst column for each reason."""

        def worst(share: str, limit: float) -> list[tuple[float, str]]:
            found = [(getattr(each, share), one_line(each.name)) for each in self.columns.values()]
            return sorted((each for each in found if each[0] > limit), key=lambda each: (-each[0], each[1]))

        told = []
        for share, name in (lost := worst("lost", LOST_LIMIT))[:1]:
            others = "1 other column" if len(lost) == 2 else f"{len(lost) - 1} other columns"
            more = f", and more than 1 % of {others}" if len(lost) > 1 else ""
            told.append(f"{percent(share)} of `{name}` fits no bin{more}")
        for share, name in worst("clamped", CLAMPED_LIMIT)[:1]:
            told.append(f"{percent(share)} of `{name}` lies outside its bounds, and would count as a bound")
        for share, name in worst("foreign", FOREIGN_LIMIT)[:1]:
            told.append(f"the schema does not know {percent(share)} of `{name}`")
        return told

    @cached_property
    def patch(self) -> Schema:
        """The schema with all that the remarks propose. What it took from rows is private, and `unconfirmed`."""
        return proposed(self.schema, self.remarks)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON data, which says that it is private.

        Returns:
            A dictionary.
        """
        return {
            "private": PRIVATE,
            "verdict": self.verdict,
            "ready": self.ready,
            "rows": self.rows,
            "sampled_rows": self.sampled,
            "empty_rows": self.empty_rows,
            "columns": {name: column.data() for name, column in self.columns.items()},
            "unit": None if self.unit is None else vars(self.unit),
            "rules": [vars(rule) for rule in self.rules],
            "unmodelled": list(self.unmodelled),
            "people": self.people,
            "remarks": [remark.data() for remark in self.remarks],
            "patch": self.patch.dump(),
        }

    def __repr__(self) -> str:
        return f"Check(PRIVATE, {self.rows:,} rows, {len(self.columns)} columns; {self.verdict})"

    def __str__(self) -> str:
        parts = [PRIVATE, "", f"{self.rows:,} rows, {len(self.columns)} columns", "", *self._table(), ""]
        if self.unit is not None:
            parts += [_unit_line(self.unit), ""]
        seen = " of those whose cells can be read" if self.lost else ""
        parts += ["rules:", *(_rule_line(each) + seen for each in self.rules)] if self.rules else ["rules: none"]
        if self.unmodelled:
            parts += [f"not in the schema: {', '.join(map(one_line, self.unmodelled))}"]
        if self.remarks:
            parts += ["", "remarks:", *(f"  {remark}" for remark in self.remarks)]
        if self.sampled < self.rows:
            sought = "atoms, steps, wide bounds, ids, slips and rules"
            parts += [f"  ({sought} were looked for in {self.sampled:,} rows drawn at random)"]
        return "\n".join([*parts, "", f"verdict: {self.verdict}"])

    def _table(self) -> list[str]:
        """One line a column."""
        remarked = {remark.column for remark in self.remarks}
        few = len(self.columns) <= COLUMNS_TOLD
        shown = [each for name, each in self.columns.items() if few or name in remarked]
        heads = ("column", "missing", "unreadable", "not listed", "below min", "above max", "lost")
        lines: list[tuple[str, ...]] = [heads]
        for each in shown:
            tally = each.tally
            counts = (tally.missing, tally.unreadable, tally.unlisted, tally.low, tally.high, tally.lost)
            lines.append((one_line(each.name), *(percent(each.share(count)) if count else "-" for count in counts)))
        widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
        told = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]
        rest = len(self.columns) - len(shown)
        return told + ([f"and {rest} columns with nothing to remark"] if rest else [])


def _rule_line(each: RuleCheck) -> str:
    return f"  {one_line(each.rule)}: broken by {each.broken:,} row{'' if each.broken == 1 else 's'}"


def _unit_line(unit: UnitCheck) -> str:
    about = "" if unit.exact else "about "
    return (
        f"unit {one_line(unit.column)}: {about}{unit.units:,} units, {unit.middle:,} rows in the middle one, at most "
        f"{unit.nine_tenths:,} in nine of ten, {unit.largest:,} in the largest; {unit.limit:,} of each count"
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
