"""What the model itself says, where no noisy answer speaks: estimates from rows drawn with a fixed seed.

There is no interval to them: how far the model is from the table is not known.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sfumato.schema.columns import Boolean, Number
from sfumato.schema.conditions import Mask, parse

if TYPE_CHECKING:
    from sfumato.release.release import Release

MODEL_ROWS = 1 << 15
LISTED_GROUPS = 64  # of a column that has no bins of its own in the model's table


class ModelRows:
    """Rows of a release's model, and about how many rows the table has."""

    def __init__(self, release: Release, rows: float | None) -> None:
        self._release, self._rows = release, rows

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows."""
        return self._release.sample(MODEL_ROWS, seed=0)

    def holds(self, where: str | None) -> Mask:
        """For which of them a condition holds."""
        if where is None:
            return np.ones(len(self.frame), dtype=bool)
        return parse(where, self._release.schema.columns).holds(self.frame)

    def share(self, where: str, among: str | None = None) -> float:
        """The share of rows that a condition holds for, among those of another."""
        held = self.holds(where)[self.holds(among)]
        return float(held.mean()) if len(held) else math.nan

    def shares(self, where: str, by: str, among: str | None) -> tuple[list[Any], list[float]]:
        """That share in each group."""
        return self._mean_by(pd.Series(self.holds(where)), by, among)

    def count(self, where: str | None) -> float:
        """How many rows of the table that would be."""
        return math.nan if self._rows is None else float(self.holds(where).mean()) * self._rows

    def numbers(self, column: str) -> pd.Series[Any]:
        """A column's numbers."""
        cells = self.frame[column]
        assert isinstance(self._release.schema.columns[column], (Number, Boolean))
        return pd.Series(cells.to_numpy(dtype=np.float64, na_value=np.nan))

    def mean(self, column: str, where: str | None) -> float:
        """The mean of a column."""
        return float(self.numbers(column)[self.holds(where)].mean())

    def quantile(self, column: str, q: float, where: str | None) -> float:
        """The smallest number that a share q of a column is at or below."""
        numbers = self.numbers(column)[self.holds(where)].dropna()
        return float(np.quantile(numbers, q, method="inverted_cdf")) if len(numbers) else math.nan

    def means(self, column: str, by: str, where: str | None) -> tuple[list[Any], list[float]]:
        """The mean of a column in each group."""
        return self._mean_by(self.numbers(column), by, where)

    def _mean_by(self, values: pd.Series[Any], by: str, where: str | None) -> tuple[list[Any], list[float]]:
        held = self.holds(where)
        means = values[held].groupby(self.groups(by)[held]).mean()
        return means.index.tolist(), [float(each) for each in means]

    def correlation(self, one: str, other: str) -> float:
        """The correlation of two columns."""
        return float(self.numbers(one).corr(self.numbers(other)))

    def table(self, one: str, other: str) -> tuple[list[tuple[Any, ...]], list[float]]:
        """The share of rows in each cell of the table of two columns."""
        shares = self.groups(one).groupby([self.groups(one), self.groups(other)]).size() / len(self.frame)
        return list(shares.index), [float(each) for each in shares]

    def groups(self, column: str) -> pd.Series[Any]:
        """What group each row is in: its value, or a range of values."""
        cells = self.frame[column].reset_index(drop=True)
        if cells.nunique() <= LISTED_GROUPS:
            return cells.map(lambda value: value, na_action="ignore").astype(object).where(cells.notna(), "missing")
        cut = pd.qcut(cells.rank(method="first"), LISTED_GROUPS // 4, labels=False)
        ends = cells.groupby(cut).agg(["min", "max"])
        names = {place: f"{low}..{high}" for place, low, high in ends.itertuples()}
        return cut.map(names).where(cells.notna(), "missing")
