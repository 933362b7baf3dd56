"""What the rows of a sample are to add up to: cells of tables, and single values of categories.

Tables have levels, and rare values of a category share one. Rows drawn within it come as chance has them: of a value
that should have five rows, three or eight. So each value has a count of its own that is wanted: what its level has in
the tables, dealt out to the values of that level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.encoding.scores import Scores
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilt import Int32Array, Tilt
from sfumato.schema.layout import FloatArray, IntArray

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class WantedCounts:
    """Which counts of rows are looked at, and the share of the rows that each should have.

    Attributes:
        tilt: Its tables, of which the widest are looked at.
        columns: Categories of which some values share a level.
        starts: Where the values of each of these columns begin; cells of tables come before.
        shares: Of all cells of all tables, 0 where nobody looks, and then of the values of these columns.
    """

    tilt: Tilt
    columns: tuple[int, ...]
    starts: IntArray
    shares: FloatArray

    @classmethod
    def of(cls, base: MixtureModel, tilt: Tilt, expected: FloatArray, codes: Int32Array) -> WantedCounts:
        """Those of a tilted mixture.

        Args:
            base: The mixture, in the encoding `scores`.
            tilt: The tilt.
            expected: The share of rows in each cell, one table after the other.
            codes: Rows drawn for it, by column.

        Returns:
            The counts.
        """
        cells = np.zeros(tilt.cells)
        for t in tilt.widest:
            part = slice(tilt.starts[t], tilt.starts[t + 1])
            cells[part] = expected[part]
        listed = tuple(j for j in range(len(tilt.levels)) if _shares_levels(base, tilt, j))
        values = []
        assert isinstance(base.encoder, Scores)
        for j in listed:
            level, counts = tilt.levels[j], np.bincount(codes[j], minlength=base.layout.sizes[j])
            masses = base.mixture.class_weights @ base.encoder.columns[j].masses
            values.append(level_shares(tilt, expected, j)[level] * within_levels(counts, masses, level))
        starts = tilt.cells + np.cumsum([0, *map(len, values)])[:-1]
        return cls(tilt, listed, starts, np.concatenate([cells, *values]))

    def places(self, codes: Int32Array, labels: IntArray) -> Int32Array:
        """Where rows count, (rows, tables and columns)."""
        by_table = self.tilt.places_by_row(self.tilt.levels_of(codes, labels), self.tilt.widest)
        by_value = [codes[j] + np.int32(start) for j, start in zip(self.columns, self.starts, strict=True)]
        return np.column_stack([by_table, *by_value])


def level_shares(tilt: Tilt, expected: FloatArray, column: int) -> FloatArray:
    """The share of rows in each level of a column, the label last, by the first table that it is in."""
    t = int(tilt.having(column)[0])
    axis, shape = tilt.tables[t].index(column), tilt.shapes[t]
    table = expected[tilt.starts[t] : tilt.starts[t + 1]].reshape(shape)
    return np.asarray(np.moveaxis(table, axis, 0).reshape(shape[axis], -1).sum(axis=1))


def within_levels(counts: IntArray, masses: FloatArray, level: IntArray) -> FloatArray:
    """The share of each value among those of its level, by rows that were drawn and by the mixture.

    A tilt may favour some values of a level, because it moves other columns that go with them: rows know it, but for
    their chance, and the mixture, which knows each value by its noisy count, does not. Where rows differ from it by no
    more than chance it is as the mixture says; else as rows say, as far as their distance is more than chance would
    make it (the positive part of 1 - degrees / chi-square; James and Stein 1961).

    Args:
        counts: Rows with each value.
        masses: What the mixture gives to each.
        level: The level of each.

    Returns:
        The shares.

    >>> within_levels(np.array([90, 28, 32]), np.array([0.6, 0.2, 0.2]), np.array([0, 1, 1])).tolist()
    [1.0, 0.5, 0.5]
    """
    known = masses / np.bincount(level, masses)[level]
    rows = np.bincount(level, counts)
    wanted = rows[level] * known
    chi_square = float(((counts - wanted) ** 2 / np.maximum(wanted, TINY)).sum())
    degrees = len(level) - len(rows)
    if chi_square <= degrees:
        return known
    found = np.where(rows[level] > 0, counts / np.maximum(rows[level], 1), known)
    trusted = 1.0 - degrees / chi_square
    return np.asarray((1.0 - trusted) * known + trusted * found)


def _shares_levels(base: MixtureModel, tilt: Tilt, column: int) -> bool:
    """Whether a column is of categories, in some table, and has more values than levels."""
    bins = base.layout.bins[column]
    return not bins.ordered and tilt.sizes[column] < bins.size and len(tilt.having(column)) > 0
