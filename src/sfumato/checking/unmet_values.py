"""Values of two categories that meet in no row though chance would bring them together: perhaps a rule to declare.

Noise gives a model a few such rows: without the rule, some synthetic patients of a maternity ward are men. Only whoever
knows the table can say whether values never meet by their nature or did not happen to; only the first is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.checking.proposal import Remark
from sfumato.schema.conditions import Constant, written_name
from sfumato.schema.layout import CategoryBins, IntArray
from sfumato.schema.rules import Rule
from sfumato.text import one_line

EXPECTED_ROWS = 20.0  # of two values that go their own ways: that none comes has a chance below 1e-8
EXPECTED_SHARE = 0.01  # of the rows: rarer values often do not meet by habit, which is no rule
MOST_PAIRS = 5  # of columns, told of a table
MOST_CATEGORICAL = 30  # columns, of which each is held against each
MOST_MET = 50  # of a column


def unmet_remarks(coded: Mapping[str, tuple[CategoryBins, IntArray]], rules: tuple[Rule, ...]) -> list[Remark]:
    """Which values never meet, where no rule speaks of both columns.

    Args:
        coded: The bins and the codes of each column of categories, of the same rows.
        rules: What the schema says already.

    Returns:
        A remark for each of the few pairs of columns where most rows would be expected.
    """
    few = {name: each for name, each in coded.items() if 1 < len(each[0].column.levels) <= MOST_MET}
    if len(few) > MOST_CATEGORICAL:
        return []
    known = [set(rule.condition.columns()) for rule in rules]
    found = []
    for pair in combinations(few, 2):
        if not any(set(pair) <= each for each in known):
            expected = _unmet([few[name] for name in pair])
            found += [(expected.max(), pair, expected)] if expected.any() else []
    strongest = sorted(found, key=lambda each: (-each[0], each[1]))[:MOST_PAIRS]
    return [_remark(few, pair, expected) for _, pair, expected in strongest]


def _unmet(columns: list[tuple[CategoryBins, IntArray]]) -> Any:
    """How many rows two values would share by chance, where those are many and they share none; else 0."""
    shape = [len(bins.column.levels) for bins, _ in columns]
    codes = np.stack([codes for _, codes in columns])
    told = codes[:, ((codes >= 0) & (codes < np.array(shape)[:, None])).all(axis=0)]  # missing in neither
    table = np.bincount(np.ravel_multi_index(tuple(told), shape), minlength=shape[0] * shape[1]).reshape(shape)
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0)[None, :] / max(table.sum(), 1)
    least = max(EXPECTED_ROWS, EXPECTED_SHARE * table.sum())
    return np.where((table == 0) & (expected >= least), expected, 0.0)


def _remark(coded: Mapping[str, tuple[CategoryBins, IntArray]], pair: tuple[str, str], expected: Any) -> Remark:
    """The remark about two columns: the values that would meet most often, the rarer first, and how many more."""
    places = np.unravel_index(int(expected.argmax()), expected.shape)
    sides = sorted(zip(pair, places, strict=True), key=lambda side: int((coded[side[0]][1] == side[1]).sum()))
    one, other = ((one_line(written_name(name)), _value(coded[name][0], int(place))) for name, place in sides)
    more = int((expected > 0.0).sum()) - 1
    told = f"no row has {one[0]} == {one[1]} with {other[0]} == {other[1]}"
    told += f" (nor {more} other pair{'s' * (more > 1)} of their values)" if more else ""
    rule = f"if {one[0]} == {one[1]} then {other[0]} != {other[1]}"
    return Remark(
        None, "rule", f'{told}; if that is so by its nature, not by chance, add to the schema: constraints: ["{rule}"]'
    )


def _value(bins: CategoryBins, place: int) -> str:
    """A value as conditions write it."""
    level = bins.column.levels[place]
    return one_line(str(Constant(level if isinstance(level, bool) else str(level))))
