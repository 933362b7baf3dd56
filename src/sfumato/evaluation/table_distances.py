"""Total-variation distances of tables of one, two and three columns.

Numbers are counted in 16 bins at the quantiles of the real rows, and missing ones in one more; categories by level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.typed_rows import TypedRows
from sfumato.schema.layout import FloatArray, IntArray

QUANTILE_BINS = 16
MOST_TABLES = {1: 1 << 20, 2: 5000, 3: 120}
"""How many tables of so many columns are looked at; where there are more, they are drawn with a fixed seed."""

MOST_LISTED = 1_000_000  # tables that are listed before some are drawn
DENSE_CELLS = 3_000_000  # a table of more is counted by the cells that rows are in


@dataclass(frozen=True)
class Counted:
    """Every column of some rows as whole numbers below its size."""

    codes: dict[str, IntArray]
    sizes: dict[str, int]

    def cells(self, names: Sequence[str]) -> IntArray:
        """The cell of each row in the table of these columns."""
        found = np.zeros(len(self.codes[names[0]]), dtype=np.int64)
        for name in names:
            found = found * self.sizes[name] + self.codes[name]
        return found

    def shares(self, names: Sequence[str]) -> FloatArray:
        """The table of these columns, as shares of the rows."""
        cells = self.cells(names)
        size = math.prod(self.sizes[name] for name in names)
        return np.asarray(np.bincount(cells, minlength=size) / max(len(cells), 1), dtype=np.float64)


def counted(rows: TypedRows, real: TypedRows) -> Counted:
    """Rows in the bins that the real rows define."""
    codes, sizes = dict(rows.codes), {name: rows.levels(name) + 1 for name in rows.codes}
    for name, values in rows.numbers.items():
        edges = quantile_edges(real.numbers[name])
        codes[name] = np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))
        sizes[name] = len(edges) + 2
    return Counted(codes, sizes)


def quantile_edges(values: FloatArray) -> FloatArray:
    """What cuts values into 16 bins of like counts; fewer where many values are equal."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(0)
    return np.unique(np.quantile(known, np.linspace(0, 1, QUANTILE_BINS + 1)[1:-1]))


def column_distances(real: TypedRows, synthetic: TypedRows) -> dict[str, float]:
    """The distance of each column alone.

    Args:
        real: Real rows; their quantiles are the bins.
        synthetic: Rows of a release.

    Returns:
        Total-variation distances, from 0 to 1, by column.
    """
    return {names[0]: found for names, found in distances(real, synthetic, 1).items()}


def distances(real: TypedRows, synthetic: TypedRows, ways: int) -> dict[tuple[str, ...], float]:
    """The distance of each table of `ways` columns that is looked at.

    Args:
        real: Real rows; their quantiles are the bins.
        synthetic: Rows of a release.
        ways: How many columns a table has: 1, 2 or 3.

    Returns:
        Total-variation distances by the names of the columns: of all tables of one column; of at most 5,000 of two and
        of 120 of three.
    """
    one, two = counted(real, real), counted(synthetic, real)
    return {names: distance(one, two, names) for names in tables(real.names, ways)}


def table_distance(real: TypedRows, synthetic: TypedRows, ways: int) -> float:
    """The mean distance of the tables of `ways` columns.

    Args:
        real: Real rows; their quantiles are the bins.
        synthetic: Rows of a release.
        ways: How many columns a table has: 1, 2 or 3.

    Returns:
        The mean total-variation distance over the tables that are looked at.
    """
    return float(np.mean(list(distances(real, synthetic, ways).values())))


def tables(names: Sequence[str], ways: int) -> list[tuple[str, ...]]:
    """The tables of `ways` columns that are looked at."""
    if math.comb(len(names), ways) > MOST_LISTED:
        return _drawn(names, ways)
    every = list(itertools.combinations(names, ways))
    if len(every) <= MOST_TABLES[ways]:
        return every
    drawn = np.random.default_rng(0).permutation(len(every))[: MOST_TABLES[ways]]
    return [every[place] for place in drawn]


def _drawn(names: Sequence[str], ways: int) -> list[tuple[str, ...]]:
    """Tables of some of very many columns, without a list of all."""
    rng, found = np.random.default_rng(0), set[tuple[int, ...]]()
    while len(found) < MOST_TABLES[ways]:
        found.add(tuple(sorted(rng.choice(len(names), ways, replace=False).tolist())))
    return [tuple(names[place] for place in places) for places in sorted(found)]


def distance(one: Counted, two: Counted, names: Sequence[str]) -> float:
    """The total-variation distance of one table."""
    if math.prod(one.sizes[name] for name in names) <= DENSE_CELLS:
        return float(0.5 * np.abs(one.shares(names) - two.shares(names)).sum())
    cells, place = np.unique(np.concatenate([one.cells(names), two.cells(names)]), return_inverse=True)
    rows = len(one.codes[names[0]])
    counts = [np.bincount(part, minlength=len(cells)) / max(len(part), 1) for part in (place[:rows], place[rows:])]
    return float(0.5 * np.abs(counts[0] - counts[1]).sum())
