"""Rows that break what is publicly known of columns together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sfumato.schema.conditions import Frame, Mask, parse
from sfumato.schema.rules import broken
from sfumato.schema.schema import Schema


def broken_share(rows: pd.DataFrame, schema: Schema, rules: Sequence[str] = ()) -> float:
    """The share of rows that break a rule.

    Args:
        rows: Rows in the types in which `Release.sample` makes them.
        schema: Of the rows; its own rules and derived columns count.
        rules: More rules, which the release was not told.

    Returns:
        From 0 to 1; NaN where there are no rules.

    Raises:
        ArgumentError: A rule is none, or speaks of what the schema has not.
    """
    found = list(broken_by_rule(rows, schema, rules).values())
    return float(np.logical_or.reduce(found).mean()) if found else float("nan")


def broken_by_rule(rows: Frame, schema: Schema, rules: Sequence[str] = ()) -> dict[str, Mask]:
    """Which rows break which rule.

    Args:
        rows: Rows in the types in which `Release.sample` makes them; what is computed from others may be wanting.
        schema: Of the rows; its own rules and derived columns count.
        rules: More rules, which the release was not told.

    Returns:
        By the text of the rule, one truth value a row; without rules of columns that are not there.

    Raises:
        ArgumentError: A rule is none, or speaks of what the schema has not.
    """
    more = {rule: parse(rule, schema.columns) for rule in rules}
    told = {rule: read.fails(rows) for rule, read in more.items() if all(name in rows for name in read.columns())}
    return broken(schema, rows) | told
