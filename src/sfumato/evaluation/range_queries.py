"""Counting queries: what share of rows lies in ranges of some columns and sets of values of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.typed_rows import TypedRows

QUERIES = 1000
MOST_CONDITIONS = 3


@dataclass(frozen=True)
class Query:
    """Conditions that all hold: a range of each ordered column, a set of levels of each listed one."""

    ranges: Mapping[str, tuple[float, float]]
    sets: Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]

    def share(self, rows: TypedRows) -> float:
        """The share of rows for which all conditions hold."""
        kept = np.ones(rows.size, dtype=bool)
        for name, (low, high) in self.ranges.items():
            kept &= (rows.numbers[name] >= low) & (rows.numbers[name] <= high)
        for name, among in self.sets.items():
            kept &= among[rows.codes[name]]
        return float(kept.mean())


def range_query_error(real: TypedRows, synthetic: TypedRows) -> float:
    """How far shares of rows are off, over 1000 random queries of one to three columns with a fixed seed.

    Args:
        real: Real rows; the ends of a range are values of two of them.
        synthetic: Rows of a release.

    Returns:
        The mean absolute difference of the shares.
    """
    rng = np.random.default_rng(0)
    queries = [random_query(real, rng) for _ in range(QUERIES)]
    return float(np.mean([abs(query.share(real) - query.share(synthetic)) for query in queries]))


def random_query(real: TypedRows, rng: np.random.Generator) -> Query:
    """One to three columns; of a number the range between two real rows, of a category each level or not."""
    count = int(rng.integers(1, min(MOST_CONDITIONS, len(real.names)) + 1))
    ranges: dict[str, tuple[float, float]] = {}
    sets = {}
    for name in rng.choice(real.names, count, replace=False):
        if name in real.codes:
            sets[name] = rng.random(real.levels(name) + 1) < 0.5
        else:
            low, high = np.sort(real.numbers[name][rng.integers(real.size, size=2)])
            ranges[name] = float(low), float(high)
    return Query(ranges, sets)
