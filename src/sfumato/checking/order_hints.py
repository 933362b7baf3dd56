"""Dates that stand in one order in every row, such as admission and discharge: perhaps a rule that a schema should say.

A model draws columns with noise between them: without the rule, some synthetic patients leave before they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np

from sfumato.checking.hints import RULES
from sfumato.checking.proposal import Remark
from sfumato.schema.conditions import written_name
from sfumato.schema.rules import Rule
from sfumato.text import one_line

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

MOST_ORDERS = 5  # told of a table
MOST_DATES = 20  # columns, of which each is held against each


def order_remarks(dates: Mapping[str, FloatArray], rules: tuple[Rule, ...]) -> list[Remark]:
    """Which dates are never after which, where no rule speaks of both.

    Args:
        dates: The days of each column of dates, of the same rows; NaN where there is none.
        rules: What the schema says already.

    Returns:
        A remark for each pair, the first few.
    """
    if len(dates) > MOST_DATES:
        return []
    known = [set(rule.condition.columns()) for rule in rules]
    pairs = [pair for pair in permutations(dates, 2) if not any(set(pair) <= each for each in known)]
    found = [pair for pair in pairs if _is_order(dates[pair[0]], dates[pair[1]])]
    return [_remark(*pair) for pair in found[:MOST_ORDERS]]


def _is_order(first: FloatArray, second: FloatArray) -> bool:
    """Whether the first is never after the second in many rows, and before it in some; nor so far apart that it must
    be: a rule is of use where the two ranges overlap.
    """
    both = np.isfinite(first) & np.isfinite(second)
    one, other = first[both], second[both]
    if len(one) < RULES.fewest or bool(one.max() < other.min()):
        return False
    return bool((one <= other).all() and (one < other).any())


def _remark(first: str, second: str) -> Remark:
    rule = one_line(f"{written_name(first)} <= {written_name(second)}")
    advice = f"if that is a rule, add to the schema: constraints: ['{rule}']"
    return Remark(None, "rule", f"{one_line(first)} is never after {one_line(second)}; {advice}")
