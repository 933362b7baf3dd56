"""Orders between columns, and the differences that are modelled to keep them.

A rule such as `discharged >= admitted`, `b > a` or `discharged <= admitted + 60` bounds the difference of two columns.
The difference becomes a modelled column in the place of one of them. It is chosen so that the other one and the
difference give it back exactly:

- on its own grid: its step divides the other one's, and both grids fit together;
- with its own missing cells: the difference is missing where either is. So where only one of the two may be missing it
  is that one which is replaced; where both may be, it is missing wherever the other one is.

Where neither can be replaced like that, the rule is kept by drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column, Number, Ordered
from sfumato.schema.conditions import (
    Arithmetic,
    ColumnOf,
    Comparison,
    Condition,
    Constant,
    Negative,
    Value,
    written_name,
)
from sfumato.schema.layout import CategoryBins, Difference, OrderedBins, bins_of

DIGITS = 12  # after the point, of bounds that are computed from steps
CLOSE = 1e-9  # of a step
MOST_CHECKED = 500  # columns in orders whose contradictions are looked for: the search takes their square

Linear: TypeAlias = tuple[dict[str, float], float]


@dataclass(frozen=True)
class Bound:
    """What is known of a difference: its smallest and largest value, and whether it lies strictly between them."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False

    def joined(self, other: Bound) -> Bound:
        """What both say."""
        least, above = max((self.least, self.above), (other.least, other.above))
        most, below = min((self.most, not self.below), (other.most, not other.below))
        return Bound(least, most, above, not below)

    def reversed(self) -> Bound:
        """The same of the difference with the other sign."""
        return Bound(-self.most, -self.least, self.below, self.above)


Pairs: TypeAlias = dict[tuple[str, str], Bound]


@dataclass(frozen=True)
class Read:
    """A difference as a column that is modelled, and what it reads from a row."""

    name: str
    column: Number
    difference: Difference
    bound: Bound


def linear(value: Value) -> Linear | None:
    """The factor of each column in a sum, and the constant; None where it is no sum."""
    if isinstance(value, ColumnOf):
        return {value.name: 1.0}, 0.0
    if isinstance(value, Constant):
        return None if value.kind in ("category", "boolean") else ({}, float(value.values({})))
    if isinstance(value, Negative):
        inner = linear(value.operand)
        return None if inner is None else _added(({}, 0.0), inner, -1.0)
    if isinstance(value, Arithmetic) and value.operation in ("+", "-"):
        left, right = linear(value.left), linear(value.right)
        if left is not None and right is not None:
            return _added(left, right, 1.0 if value.operation == "+" else -1.0)
    return None


def _added(left: Linear, right: Linear, sign: float) -> Linear:
    factors = dict(left[0])
    for name, factor in right[0].items():
        factors[name] = factors.get(name, 0.0) + sign * factor
    return {name: factor for name, factor in factors.items() if factor}, left[1] + sign * right[1]


def bounds(conditions: Iterable[Condition]) -> Pairs:
    """What rules say of the difference of two columns, first minus second, in the order in which they say it.

    The first is the one that is never below the other, where there is such a one. A column that is compared with a
    constant has "" beside it.
    """
    found: Pairs = {}
    for condition in conditions:
        for pair, bound in _bound(condition):
            if pair[::-1] in found:
                pair, bound = pair[::-1], bound.reversed()
            found[pair] = found.get(pair, Bound()).joined(bound)
    return dict(_upper_first(pair, bound) for pair, bound in found.items())


def _bound(condition: Condition) -> Iterator[tuple[tuple[str, str], Bound]]:
    """What a comparison says of a difference, if it does."""
    if not isinstance(condition, Comparison) or condition.operation not in ("<", "<=", ">", ">="):
        return
    left, right = linear(condition.left), linear(condition.right)
    if left is None or right is None:
        return
    factors, constant = _added(left, right, -1.0)
    if len(factors) == 1:
        factors[""] = -sum(factors.values())
    if sorted(factors.values()) != [-1.0, 1.0]:
        return
    upper, lower = sorted(factors, key=lambda name: -factors[name])
    strict = condition.operation in ("<", ">")
    if condition.operation in (">", ">="):
        yield (upper, lower), Bound(least=-constant, above=strict)
    else:
        yield (upper, lower), Bound(most=-constant, below=strict)


def _upper_first(pair: tuple[str, str], bound: Bound) -> tuple[tuple[str, str], Bound]:
    turn = pair[0] == "" or (pair[1] != "" and (bound.least == -math.inf or bound.most <= 0))
    return (pair[::-1], bound.reversed()) if turn else (pair, bound)


def check(pairs: Pairs, columns: Mapping[str, Column]) -> None:
    """Refuse orders that no row can keep, by themselves or together with the bounds of the columns.

    They are bounds of differences, and a set of those has a solution unless some of them add up to less than nothing
    around a cycle: the shortest ways between columns (Bellman and Ford) find it. Of columns that may be missing
    nothing is certain.
    """
    sure = {pair: bound for pair, bound in pairs.items() if not any(columns[name].missing for name in pair if name)}
    names = sorted({name for pair in sure for name in pair if name})
    if len(names) > MOST_CHECKED:
        return
    ways: list[tuple[str, str, float]] = []  # the second is at most the first and so much more
    for (upper, lower), bound in sure.items():
        step = min(step_of(columns[name]) or 0.0 for name in (upper, lower) if name)
        ways += [(lower, upper, bound.most - bound.below * step)] if bound.most < math.inf else []
        ways += [(upper, lower, -bound.least - bound.above * step)] if bound.least > -math.inf else []
    for name in names:
        low, high = ends(columns[name])
        ways += [("", name, high), (name, "", -low)]
    reach = dict.fromkeys(["", *names], 0.0)
    for _ in range(len(reach) + 1):
        before = dict(reach)
        for source, target, most in ways:
            reach[target] = min(reach[target], reach[source] + most)
        if all(before[name] - reach[name] <= CLOSE * (1 + abs(before[name])) for name in reach):
            return
    told = ", ".join(map(written_name, names[:5]))
    raise ArgumentError(f"constraints: no row can keep those of {told}: they contradict each other, or min and max")


def read(name: str, bases: tuple[str, ...], below: bool, bound: Bound, columns: Mapping[str, Column]) -> Read | None:
    """The difference between a column and others, where the column can be had back from it; None otherwise."""
    column = columns[name]
    if all(columns[base].missing for base in bases) and not column.missing:
        return None
    if len(bases) > 1 and bound.most < math.inf:
        return None  # the largest of them bounds it from below, and from above each
    if not all(_grids_fit(column, columns[base]) for base in bases):
        return None
    uppers, lowers = (bases, (name,)) if below else ((name,), bases)
    low = min(ends(columns[upper])[0] for upper in uppers) - max(ends(columns[lower])[1] for lower in lowers)
    high = min(ends(columns[upper])[1] for upper in uppers) - max(ends(columns[lower])[0] for lower in lowers)
    low, high, step = max(low, bound.least) + 0.0, min(high, bound.most) + 0.0, step_of(column)  # zero has no sign
    if step is not None:
        origin = ends(columns[uppers[0]])[0] - ends(columns[lowers[0]])[0]
        low, high = _on_grid(low, high, bound, origin, step)
    if not low < high:
        return None
    absent = column.missing or all(columns[base].missing for base in bases)
    try:
        described = Number(min=low, max=high, step=step, missing=absent)
    except ValueError:
        return None
    difference = Difference(*(tuple((end, _ordered(columns[end])) for end in group) for group in (uppers, lowers)))
    return Read(f"{_least(uppers)} - {_largest(lowers)}", described, difference, bound)


def _on_grid(low: float, high: float, bound: Bound, origin: float, step: float) -> tuple[float, float]:
    """The first and last value of a grid inside bounds."""
    first = math.ceil((low - origin) / step - CLOSE)
    last = math.floor((high - origin) / step + CLOSE)
    if bound.above and abs(origin + first * step - bound.least) <= CLOSE * step:
        first += 1
    if bound.below and abs(origin + last * step - bound.most) <= CLOSE * step:
        last -= 1
    return round(origin + first * step, DIGITS), round(origin + last * step, DIGITS)


def _least(names: tuple[str, ...]) -> str:
    return written_name(names[0]) if len(names) == 1 else f"min({', '.join(map(written_name, names))})"


def _largest(names: tuple[str, ...]) -> str:
    return written_name(names[0]) if len(names) == 1 else f"max({', '.join(map(written_name, names))})"


def _grids_fit(column: Column, base: Column) -> bool:
    """Whether a column's grid holds the other one's values and its own differences from them."""
    if not isinstance(column, Ordered) or not isinstance(base, Ordered):
        return False
    step, wide = step_of(column), step_of(base)
    if step is None:
        return True
    return wide is not None and is_multiple(wide, step) and is_multiple(ends(column)[0] - ends(base)[0], step)


def is_multiple(value: float, step: float) -> bool:
    """Whether a value is a whole number of steps."""
    return abs(value / step - round(value / step)) <= CLOSE * max(1.0, abs(value / step) * 1e-3)


def step_of(column: Column) -> float | None:
    """The step of an ordered column's grid, in its own unit; of a date a day."""
    return column.span.step if isinstance(column, Ordered) else None


def ends(column: Column) -> tuple[float, float]:
    """The bounds of an ordered column, in its own unit."""
    assert isinstance(column, Ordered)  # others have none
    return column.span.low, column.span.high


def _ordered(column: Column) -> OrderedBins:
    bins = bins_of(column)
    assert not isinstance(bins, CategoryBins)
    return bins
