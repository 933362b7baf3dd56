"""Where no row can be: rules of a schema as cells of tables with weight -inf.

A rule that speaks of a few columns, each compared with constants, is broken by whole cells of the table of these
columns: `if age < 15 then income is missing` by those of children with an income. A cell is a zero of the tilt where
every combination of values in it breaks the rule. So that this says all that the rule says, levels must not cross its
constants (`rule_parts`); what a bin that a constant cuts in two still lets through, whoever draws rows draws again.

Between the constants of a rule its truth does not change, so a few values of each bin stand for all of them: its ends,
the constants within, and a value between each two of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from sfumato.schema.conditions import Among, ColumnOf, Comparison, Condition, Constant, Missing, Node
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray, Layout, OrderedBins
from sfumato.schema.rules import Modelling, Rule

Leaf = Comparison | Among | Missing


@dataclass(frozen=True)
class Limits:
    """Up to what size a rule becomes a table; larger ones are kept by drawing again."""

    columns: int = 6
    cells: int = 1 << 18
    combinations: int = 1 << 21  # of values that stand for others


LIMITS = Limits()


def rule_parts(layout: Layout, modelling: Modelling) -> tuple[IntArray, ...]:
    """What rules tell apart in each feature.

    Args:
        layout: The bins.
        modelling: The rules.

    Returns:
        For each feature the part of every bin, from 0 on; bins of one part are alike to all rules, so that levels
        should not go beyond one.
    """
    columns, rules = _columns(layout), _rules(layout, modelling)
    found = []
    for name in layout.names:
        mine = [rule for rule in rules if name in rule.condition.columns()]
        found.append(_parts(name, columns[name], mine) if mine else np.zeros(columns[name].size, np.int64))
    return tuple(found)


def refined(levels: Sequence[IntArray], parts: Sequence[IntArray]) -> tuple[IntArray, ...]:
    """Levels cut where parts are.

    >>> refined([np.array([0, 0, 0, 1])], [np.array([0, 0, 1, 1])])[0].tolist()
    [0, 0, 1, 2]

    Args:
        levels: For each feature the level of every bin.
        parts: Those of `rule_parts`.

    Returns:
        Levels numbered by their first bins.
    """
    return tuple(_numbered(np.stack([level, part], axis=1)) for level, part in zip(levels, parts, strict=True))


def rule_tables(
    layout: Layout, modelling: Modelling, levels: Sequence[IntArray]
) -> tuple[tuple[tuple[int, ...], ...], FloatArray]:
    """Tables with zeros where a rule is broken whatever the values are.

    Args:
        layout: The bins.
        modelling: The rules.
        levels: For each feature the level of every bin.

    Returns:
        The tables by their columns, the label behind the features, and the weights of their cells: 0, or -inf where no
        row can be. Rules that break no whole cell, are too large, or calculate with columns have no table.
    """
    columns = _columns(layout)
    places = {name: place for place, name in enumerate(columns)}
    own = dict(zip(layout.names, levels, strict=True))
    tables: dict[tuple[int, ...], FloatArray] = {}
    for rule in _rules(layout, modelling):
        names = sorted(rule.condition.columns(), key=places.__getitem__)
        standing = [_Standing.of(name, columns[name], own.get(name), [rule]) for name in names]
        if prod(each.cells for each in standing) > LIMITS.cells:
            continue
        weights = _zeros(rule.condition, standing)
        if weights is not None and not np.isfinite(weights).all():
            table = tuple(places[name] for name in names)
            tables[table] = tables.get(table, 0.0) + weights
    return tuple(tables), np.concatenate([np.zeros(0), *tables.values()])


@dataclass(frozen=True)
class _Standing:
    """Values of a column that stand for all others.

    Attributes:
        name: The column.
        series: The values, in the column's type.
        codes: Their bins.
        levels: Their levels.
        cells: How many levels there are.
        says: (values, ...), whether the rules' comparisons of this column hold, and whether they fail.
    """

    name: str
    series: pd.Series[Any]
    codes: IntArray
    levels: IntArray
    cells: int
    says: IntArray

    @classmethod
    def of(cls, name: str, bins: Bins, levels: IntArray | None, rules: Sequence[Rule]) -> _Standing:
        leaves = [leaf for rule in rules for leaf in leaves_of(rule.condition) if name in leaf.columns()]
        series, codes = _values(bins, leaves)
        frame = {name: series}
        alone = [leaf for leaf in leaves if leaf.columns() == {name}]
        said: list[Any] = [mask for leaf in alone for mask in (leaf.holds(frame), leaf.fails(frame))]
        if len(alone) < len(leaves):
            said.append(codes)  # compared with another category: each is a case of its own
        says = np.stack([np.zeros(len(codes), np.int64), *said], axis=1).astype(np.int64)
        own = np.arange(bins.size) if levels is None else levels
        return cls(name, series, codes, own[codes], int(own.max()) + 1, says)

    def apart(self) -> _Standing:
        """Without values of which another one of the same level says the same."""
        _, first = np.unique(np.column_stack([self.levels, self.says]), axis=0, return_index=True)
        series = self.series.iloc[first].reset_index(drop=True)
        return _Standing(self.name, series, self.codes[first], self.levels[first], self.cells, self.says[first])


def _zeros(condition: Condition, standing: Sequence[_Standing]) -> FloatArray | None:
    """The weights of a table, flat; None where there are too many values to ask about."""
    standing = [each.apart() for each in standing]
    sizes = [len(each.codes) for each in standing]
    if prod(sizes) > LIMITS.combinations:
        return None
    rows = np.unravel_index(np.arange(prod(sizes)), sizes)
    frame = {each.name: each.series.iloc[row].reset_index(drop=True) for each, row in zip(standing, rows, strict=True)}
    shape = tuple(each.cells for each in standing)
    places = np.ravel_multi_index([each.levels[row] for each, row in zip(standing, rows, strict=True)], shape)
    possible = np.zeros(prod(shape), dtype=bool)
    possible[places[~condition.fails(frame)]] = True
    return np.where(possible, 0.0, -np.inf)


def _parts(name: str, bins: Bins, rules: Sequence[Rule]) -> IntArray:
    """The parts of a column: bins whose values say the same, each comparison always, sometimes or never."""
    standing = _Standing.of(name, bins, None, rules)
    ever, always = (
        np.full((bins.size, standing.says.shape[1]), start, np.int64) for start in (0, np.iinfo(np.int64).max)
    )
    np.maximum.at(ever, standing.codes, standing.says)
    np.minimum.at(always, standing.codes, standing.says)
    return _numbered(np.column_stack([ever, always]))


def _numbered(kinds: IntArray) -> IntArray:
    """Equal rows have one number; numbers are by their first rows."""
    _, first, which = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which.ravel()]


# --- rules and their comparisons


def _columns(layout: Layout) -> dict[str, Bins]:
    """The modelled columns with their bins, the label last."""
    found = dict(zip(layout.names, layout.bins, strict=True))
    if layout.label is not None and layout.label_bins is not None:
        found[layout.label] = layout.label_bins
    return found


def _rules(layout: Layout, modelling: Modelling) -> list[Rule]:
    """The rules that compare a few modelled columns with constants, or categories with each other."""
    columns = _columns(layout)
    return [
        rule
        for rule in modelling.rules
        if rule.condition.columns() <= columns.keys()
        and len(rule.condition.columns()) <= LIMITS.columns
        and all(is_plain(leaf, columns) for leaf in leaves_of(rule.condition))
    ]


def is_plain(leaf: Leaf, columns: dict[str, Bins]) -> bool:
    """Whether a comparison is of one column with constants, or of categories with each other."""
    plain = all(isinstance(side, ColumnOf | Constant) for side in leaf.parts())
    return plain and (len(leaf.columns()) == 1 or all(isinstance(columns[c], CategoryBins) for c in leaf.columns()))


def leaves_of(node: Node) -> Iterator[Leaf]:
    """The comparisons that a condition is made of."""
    if isinstance(node, Leaf):
        yield node
        return
    for part in node.parts():
        yield from leaves_of(part)


def _values(bins: Bins, leaves: Sequence[Leaf]) -> tuple[pd.Series[Any], IntArray]:
    """Values of a column that stand for all others, and their bins."""
    if isinstance(bins, CategoryBins):
        codes = np.arange(bins.size)
        return bins.decode(codes, np.full(bins.size, 0.5)), codes
    constants = [float(side.values({})) for leaf in leaves for side in leaf.parts() if isinstance(side, Constant)]
    known = [_within(bins, i, np.array(constants)) for i in range(len(bins.low))]
    codes = np.repeat(np.arange(len(known)), [len(values) for values in known])
    values = np.concatenate(known)
    if bins.missing < 0:
        return bins.column.typed(values, None), codes
    absent = np.append(np.zeros(len(values), dtype=bool), True)
    return bins.column.typed(np.append(values, values[-1]), absent), np.append(codes, bins.missing)


def _within(bins: OrderedBins, i: int, constants: FloatArray) -> FloatArray:
    """Values of bin i on each side of every constant, and on it."""
    low, high = float(bins.low[i]), float(bins.high[i])
    inside = constants[(constants >= low) & (constants <= high)]
    if bins.step is None:
        marks = np.unique(np.concatenate([[low, high], inside]))
        return np.unique(np.concatenate([marks, (marks[1:] + marks[:-1]) / 2.0]))
    steps = np.floor((inside - low) / bins.step + 1e-9)[:, None] + np.arange(-1, 3)
    return np.unique(np.clip(np.append(low + steps.ravel() * bins.step, [low, high]), low, high))
