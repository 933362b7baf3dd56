"""Rules between columns: how rows are modelled so that every synthetic one keeps them.

A schema's `constraints` and `derived` columns say how rows are modelled, by formula and from the schema alone:

- A derived column, and the `total` of a rule `total == a + b`, is not modelled: it is computed from the others.
- Of two columns in an order, `discharged >= admitted`, the difference is modelled in place of one of them, which is
  then the other one and the difference (`schema/differences.py`).
- Every other rule, and that what was computed lies within its own bounds, is kept by drawing rows given the rules.

A row breaks a rule where it is known to be wrong: what is missing breaks no comparison.

>>> from sfumato.schema.schema import Schema
>>> day = {"type": "date", "min": "2020-01-01", "max": "2020-12-31"}
>>> schema = Schema.of({"columns": {"came": day, "left": day}, "constraints": ["left >= came"]})
>>> [(name, column.min, column.max) for name, column in schema.modelling.modelled.items()][1]
('left - came', 0.0, 365.0)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError
from sfumato.schema import differences
from sfumato.schema.columns import Category, Column, Listed, Lookup, Ordered, category_text
from sfumato.schema.conditions import (
    ColumnOf,
    Comparison,
    Condition,
    Frame,
    Joined,
    Mask,
    Once,
    Value,
    parse,
    parse_value,
)
from sfumato.schema.layout import CategoryBins, Difference, FloatArray, bins_of
from sfumato.schema.schema import Schema
from sfumato.text import one_line

ROUNDING = 1e-9  # of a column's step or range: what is computed may be off by so much


@dataclass(frozen=True)
class Step(ABC):
    """A column that is computed from others.

    Attributes:
        name: The column.
    """

    name: str

    @property
    @abstractmethod
    def sources(self) -> tuple[str, ...]:
        """What it is computed from: columns of the schema, and differences."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What it says, for a reader."""

    @abstractmethod
    def values(self, frame: Frame) -> FloatArray:
        """Numbers, days of a date or places among a category's values; NaN where there is none."""


@dataclass(frozen=True)
class Calculated(Step):
    """A column that is a value of the grammar, such as a sum."""

    value: Value

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(sorted(self.value.columns()))

    @property
    def text(self) -> str:
        return f"{ColumnOf(self.name, 'number')} == {self.value}"

    def values(self, frame: Frame) -> FloatArray:
        return np.asarray(self.value.values(frame), dtype=np.float64)


@dataclass(frozen=True)
class Mapped(Step):
    """A column that follows from a category, value by value."""

    source: str
    table: Mapping[str, float]
    missing: float

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def text(self) -> str:
        return f"{ColumnOf(self.name, 'category')} by {ColumnOf(self.source, 'category')}"

    def values(self, frame: Frame) -> FloatArray:
        codes, texts = ColumnOf(self.source, "category").coded(frame)
        return np.array([self.table.get(text, self.missing) for text in texts])[codes]


@dataclass(frozen=True)
class Moved(Step):
    """A column at a modelled difference from the largest of others, or with `below` from the smallest."""

    difference: str
    bases: tuple[ColumnOf, ...]
    below: bool

    @property
    def sources(self) -> tuple[str, ...]:
        return (*(base.name for base in self.bases), self.difference)

    @property
    def text(self) -> str:
        return self.difference

    def values(self, frame: Frame) -> FloatArray:
        apart = ColumnOf(self.difference, "number").values(frame)
        bases = [base.values(frame) for base in self.bases]
        return np.asarray(np.fmin.reduce(bases) - apart if self.below else np.fmax.reduce(bases) + apart)


@dataclass(frozen=True)
class Rule:
    """A rule of the schema: as it is written, and as it was read."""

    text: str
    condition: Condition


@dataclass(frozen=True)
class Modelling:
    """What is modelled, what is computed from it, and which rules drawn rows must keep.

    Attributes:
        columns: The schema's columns.
        modelled: The columns that the model draws, the label among them: the schema's that are not computed, and a
            difference in the place of each column that it moves.
        differences: What each difference reads from a row of the table.
        steps: The computed columns, each behind what it is computed from.
        rules: All rules of the schema.
    """

    columns: Mapping[str, Column]
    modelled: Mapping[str, Column]
    differences: Mapping[str, Difference]
    steps: tuple[Step, ...]
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, schema: Schema) -> Modelling:
        """How the rows of a schema are modelled.

        Args:
            schema: The schema.

        Returns:
            What depends on nothing else.

        Raises:
            ArgumentError: If a rule is none, cannot be kept, or contradicts others.
        """
        return _Reader(schema).modelling()

    @property
    def is_plain(self) -> bool:
        """Whether there are no rules, so that rows come as the model draws them."""
        return not self.steps and not self.rules

    @property
    def checked(self) -> tuple[str, ...]:
        """The columns that say whether a row keeps the rules, in the schema's order."""
        named = {name for rule in self.rules for name in rule.condition.columns()}
        named |= {name for step in self.steps for name in (step.name, *step.sources)}
        return tuple(name for name in self.columns if name in named)

    @property
    def involved(self) -> tuple[str, ...]:
        """The modelled columns that decide whether a row keeps the rules, in order."""
        steps = {step.name: step for step in self.steps}
        waiting, found = list(self.checked), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += steps[name].sources if name in steps else ()
        return tuple(name for name in self.modelled if name in found)

    def complete(self, columns: Once) -> tuple[pd.DataFrame, Mask]:
        """The schema's columns, from those that were drawn, and which rows keep all rules.

        Args:
            columns: The modelled columns, in the types in which they are drawn; what is computed is added to them.

        Returns:
            The rows with all columns in order, and one truth value a row.
        """
        kept = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for step in self.steps:
            columns[step.name], fits = _fitted(self.columns[step.name], step.values(columns))
            kept &= fits
        for rule in self.rules:
            kept &= ~rule.condition.fails(columns)
        return pd.DataFrame({name: columns[name] for name in self.columns}), kept

    def broken(self, frame: Frame) -> dict[str, Mask]:
        """Which rows break each rule, and each derived column.

        Args:
            frame: Rows with columns of the schema, in the types in which `Release.sample` makes them; a computed
                column may be left out.

        Returns:
            By the rule's text, one truth value a row.
        """
        frame = Once(frame)
        found = {rule.text: rule.condition.fails(frame) for rule in self.rules if _has(frame, rule.condition.columns())}
        for step in self.steps:
            if not isinstance(step, Moved) and _has(frame, {step.name, *step.sources}):
                found[step.text] = self._differs(step, frame)
        return found

    def _differs(self, step: Step, frame: Frame) -> Mask:
        """Where a computed column is known to be something else; ordered ones may be rounded to their grid."""
        column = self.columns[step.name]
        if isinstance(column, Listed):
            computed, fits = _fitted(column, step.values(frame))
            columns = {"is": frame[step.name], "should": computed}
            same = Comparison("==", ColumnOf("is", column.type), ColumnOf("should", column.type))
            return same.fails(columns) & fits
        wanted, found = step.values(frame), ColumnOf(step.name, column.type).values(frame)
        with np.errstate(invalid="ignore"):
            return np.abs(wanted - found) > _slack(column)


def broken(schema: Schema, frame: Frame) -> dict[str, Mask]:
    """Which rows break each rule of a schema, and each derived column.

    Args:
        schema: The schema.
        frame: Rows with columns of the schema, in the types in which `Release.sample` makes them.

    Returns:
        By the rule's text, one truth value a row. A rule of columns that the frame has not is left out.

    Example:
        >>> a = {"type": "number", "min": 0, "max": 9, "step": 1}
        >>> schema = Schema.of({"columns": {"a": a, "b": a}, "constraints": ["a <= b"]})
        >>> broken(schema, pd.DataFrame({"a": [1, 5], "b": [2, 3]}))["a <= b"].tolist()
        [False, True]
    """
    return schema.modelling.broken(frame)


def conjuncts(condition: Condition) -> tuple[Condition, ...]:
    """The conditions that must all hold where this one does."""
    return condition.operands if isinstance(condition, Joined) and condition.operation == "and" else (condition,)


def _has(frame: Frame, names: Any) -> bool:
    return all(name in frame for name in names)


def _slack(column: Column) -> float:
    """How far a computed value may lie from the column's own."""
    low, high = differences.ends(column)
    step = differences.step_of(column)
    return ROUNDING * (high - low) if step is None else 0.5 * step * (1 + ROUNDING)


def _fitted(column: Column, values: Any) -> tuple[pd.Series[Any], Mask]:
    """Computed values in a column's type and on its grid, and whether each has a place in the column."""
    bins = bins_of(column)
    absent = ~np.isfinite(values)
    if isinstance(bins, CategoryBins):
        return bins.decode(np.where(absent, 0, values).astype(np.int64), values), ~absent
    (low, high), slack = differences.ends(column), _slack(column)
    inside = (values >= low - slack) & (values <= high + slack)
    series = bins.of_values(np.where(absent, low, values))
    if not column.missing:
        return series, inside & ~absent
    if series.dtype == np.int64:
        series = series.astype("Int64")
    return series.mask(pd.Series(absent)), inside | absent


class _Reader:
    """Reads the rules of a schema, one after the other, and finds a place for each."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._columns = schema.columns
        self._rules = tuple(Rule(text, self._parsed(text)) for text in schema.constraints)
        self._steps: dict[str, Step] = {}
        self._read: dict[str, differences.Read] = {}

    def modelling(self) -> Modelling:
        for name, column in self._columns.items():
            if column.derived is not None:
                self._derive(name, column)
        for name in self._steps:
            self._check_cycle(name)
        for rule in self._rules:
            for condition in conjuncts(rule.condition):
                if isinstance(condition, Comparison) and condition.operation == "==":
                    self._equate(rule, condition)
        self._order()
        modelled: dict[str, Column] = {}
        for name, column in self._columns.items():
            step = self._steps.get(name)
            if isinstance(step, Moved):
                modelled[step.difference] = self._read[step.difference].column
            elif step is None:
                modelled[name] = column
        if not set(modelled) - {self._schema.label}:
            raise ArgumentError("constraints: every column is computed; leave one to be modelled")
        found = {name: read.difference for name, read in self._read.items()}
        return Modelling(self._columns, modelled, found, self._sorted(), self._rules)

    def _parsed(self, text: str) -> Condition:
        try:
            return parse(text, self._columns)
        except ArgumentError as error:
            raise ArgumentError(f"constraints: {error}") from None

    def _sorted(self) -> tuple[Step, ...]:
        """The steps, each behind those that it needs."""
        order = TopologicalSorter({name: step.sources for name, step in self._steps.items()}).static_order()
        return tuple(self._steps[name] for name in order if name in self._steps)

    def _needs(self, name: str, target: str) -> bool:
        """Whether a column is computed from another one, by whatever way."""
        waiting, seen = [name], set[str]()
        while waiting:
            at = waiting.pop()
            if at == target:
                return True
            if at in self._steps and at not in seen:
                seen.add(at)
                waiting += self._steps[at].sources
        return False

    def _check_cycle(self, name: str) -> None:
        if any(self._needs(source, name) for source in self._steps[name].sources):
            raise ArgumentError(f"columns.{one_line(name)}: derived: it is computed from itself")

    # derived columns

    def _derive(self, name: str, column: Column) -> None:
        where = f"columns.{one_line(name)}: derived"
        if name == self._schema.label:
            raise ArgumentError(f"{where}: it is the label, which is modelled; take derived away")
        try:
            self._steps[name] = self._looked_up(name, column) or self._calculated(name, column)
        except ArgumentError as error:
            raise ArgumentError(f"{where}: {error}") from None

    def _calculated(self, name: str, column: Column) -> Step:
        assert isinstance(column.derived, str)
        value = parse_value(column.derived, self._columns)
        if not value.columns():
            raise ArgumentError(f"{value} speaks of no column")
        if isinstance(column, Listed):
            raise ArgumentError(
                f"a {column.type} follows from a category: write {{from: COLUMN, map: {{VALUE: VALUE}}}}"
            )
        if value.kind != column.type:
            raise ArgumentError(f"{value} is a {value.kind}, and the column a {column.type}")
        self._check_missing(value, column)
        return Calculated(name, value)

    def _check_missing(self, value: Value, column: Column) -> None:
        absent = [source for source in sorted(value.columns()) if self._columns[source].missing]
        if absent and not column.missing:
            raise ArgumentError(f"{absent[0]!r} may be missing, and so may what is computed from it: add missing: true")

    def _looked_up(self, name: str, column: Column) -> Step | None:
        table = column.derived
        if not isinstance(table, Lookup):
            return None
        source = self._columns.get(table.source)
        if not isinstance(source, Category):
            raise ArgumentError(f"from: {table.source!r} is no category of the schema")
        texts = dict.fromkeys(source.texts)
        strange = [text for text in table.map if text not in texts]
        if strange:
            raise ArgumentError(f"map: {table.source!r} is never {strange[0]!r}")
        left_out = [text for text in texts if text not in table.map]
        if (left_out or source.missing) and not column.missing:
            what = repr(left_out[0]) if left_out else "what is missing"
            raise ArgumentError(f"map: it says nothing of {what}; add it to the map, or missing: true to the column")
        missing = len(column.levels) if isinstance(column, Listed) and column.missing else np.nan
        return Mapped(name, table.source, _places(table.map, column), missing)

    # equalities

    def _equate(self, rule: Rule, equality: Comparison) -> None:
        """Compute the column that stands alone on one side."""
        ordered = [name for name in equality.columns() if isinstance(self._columns[name], Ordered)]
        if len(ordered) < 2:
            return  # `x == 5`, and categories that are the same
        for alone, value in ((equality.left, equality.right), (equality.right, equality.left)):
            if isinstance(alone, ColumnOf) and self._computes(rule, alone.name, value):
                return
        raise ArgumentError(
            f"constraints: {one_line(rule.text)!r} cannot be kept: write it as COLUMN == ..., of a column that is "
            "neither the label, nor in a group, nor computed by another rule"
        )

    def _computes(self, rule: Rule, name: str, value: Value) -> bool:
        step = Calculated(name, value)
        if self._steps.get(name) == step:
            return True
        if not self._is_free(name) or any(self._needs(source, name) for source in step.sources):
            return False
        try:
            self._check_missing(value, self._columns[name])
            _check_grid(name, value, self._columns)
        except ArgumentError as error:
            raise ArgumentError(f"constraints: {one_line(rule.text)!r}: {error}") from None
        self._steps[name] = step
        return True

    def _is_free(self, name: str) -> bool:
        """Whether a column may be computed."""
        return name not in self._steps and name != self._schema.label and name not in self._schema.grouped

    # orders

    def _order(self) -> None:
        bounds = differences.bounds(part for rule in self._rules for part in conjuncts(rule.condition))
        differences.check(bounds, self._columns)
        for (upper, lower), bound in bounds.items():
            known = any(isinstance(self._steps.get(name), (Calculated, Mapped)) for name in (upper, lower))
            outside = {self._schema.label, *self._schema.grouped} & {upper, lower}
            if known or outside or lower == "":
                continue  # such an order is kept by drawing
            for name, base in ((upper, lower), (lower, upper)):
                if self._move(name, base, base == upper, bound):
                    break

    def _move(self, name: str, base: str, below: bool, bound: differences.Bound) -> bool:
        """Model the difference in place of a column, if that can be."""
        bases: tuple[str, ...] = (base,)
        step = self._steps.get(name)
        if isinstance(step, Moved) and step.below == below and self._read[step.difference].bound == bound:
            bases = (*(each.name for each in step.bases), base)  # above several, by the largest of them
        elif step is not None:
            return False
        if self._needs(base, name):
            return False
        read = differences.read(name, bases, below, bound, self._columns)
        if read is None or read.name in self._columns:
            return False
        if isinstance(step, Moved):
            del self._read[step.difference]
        self._read[read.name] = read
        ends = tuple(ColumnOf(each, self._columns[each].type) for each in bases)
        self._steps[name] = Moved(name, read.name, ends, below)
        return True


def _places(values: Mapping[str, Any], column: Column) -> dict[str, float]:
    """Where the values of a map have their place in a column: which of its categories they are, or their number."""
    if isinstance(column, Listed):
        places = {text: float(place) for text, place in zip(column.texts, column.codes, strict=True)}
        strange = [value for value in values.values() if category_text(value) not in places]
        if strange:
            raise ArgumentError(f"map: {strange[0]!r} is none of the column's values")
        return {key: places[category_text(value)] for key, value in values.items()}
    low, high = differences.ends(column)
    for value in values.values():
        if column.type != "number" or isinstance(value, str) or not low <= value <= high:
            raise ArgumentError(f"map: {value!r} has no place in the column, a {column.type} from {low:g} to {high:g}")
    return {key: float(value) for key, value in values.items()}


def _check_grid(name: str, value: Value, columns: Mapping[str, Column]) -> None:
    """Refuse a sum that a column's grid does not hold."""
    step = differences.step_of(columns[name])
    if step is None:
        return
    form = differences.linear(value)
    whole = form is not None and all(
        differences.is_multiple(factor * (differences.step_of(columns[source]) or np.pi), step)
        for source, factor in form[0].items()
    )
    if form is not None and whole:
        start = sum(factor * differences.ends(columns[source])[0] for source, factor in form[0].items()) + form[1]
        whole = differences.is_multiple(start - differences.ends(columns[name])[0], step)
    if not whole:
        raise ArgumentError(f"{name!r} goes in steps of {step:g}, which {value} does not; take step away, or derive it")
