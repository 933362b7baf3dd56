"""Rows that break what is publicly known of columns together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sfumato.schema.conditions import parse
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
    found = [*broken(schema, rows).values(), *(parse(rule, schema.columns).fails(rows) for rule in rules)]
    return float(np.logical_or.reduce(found).mean()) if found else float("nan")
