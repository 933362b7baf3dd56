"""How wide the 95 % intervals of a release will be, about the table itself: noise alone, from public facts alone.

A plan fixes the noise of its histograms before a row is read: a cell of column c, in one class, has the standard
deviation s_c. Every row that counts is in one cell of each column (that of what fits no bin among them), so the M_c
cells of all columns add up to the same rows, and what the others say of that number helps. The best linear unbiased
estimate of sum_b a_b N_b from all histograms has, in each class, the variance

    s_c^2 sum a_b^2 - (s_c^2 sum a_b)^2 / (s_c^2 M_c + V),     1 / V = sum over the other columns of 1 / (s^2 M).

A count of one bin has a = 1 there; its share p of the rows that can be read has a = 1 - p there and -p elsewhere, over
the rows; a mean has a_b = (middle of the bin - mean) over the rows, and half the width of its bins comes on top, since
where in a bin rows lie is not known. Where a later look goes into wide bins, a mean has two intervals, with half of the
error each, and what they have in common is told: the forecast is the first, about the most that it can be. How rows lie
is a guess: evenly over bins, unless a mean is guessed.

A pair's correlation comes from its table. Where a layout has settled the tables, its noise is known (`pair_widths`).
Otherwise noisy answers say whether the table is bought, and how many others with it. What is told then is for columns
in at most 16 even levels, and for a share of the tables that are looked at: about the least that it can be. Rows that
lie unevenly make it several times as wide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from scipy.special import ndtri

from sfumato.errors import ArgumentError
from sfumato.mechanisms.pairs.pair_rounds import PAIR_NOTE, TABLES
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.near_names import meant
from sfumato.planning.pair_widths import Lying, SettledTables

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan
    from sfumato.schema.layout import Bins, FloatArray, OrderedBins

LEVEL = 0.95
HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # of an interval, in standard deviations
CLEAR = 4.0  # standard deviations of its noise, at least, that half of a column's rows are, or the column drowns
WIDE_MEAN = 0.05  # of the way from a mean to its nearer bound: an interval that reaches further says little
BOUGHT = 0.3  # of the tables that are looked at; measured, see docs/planning.md


@dataclass(frozen=True)
class ColumnWidth:
    """Half-widths of 95 % intervals for one column.

    Attributes:
        column: Its name.
        bins: How many bins or categories it is counted in.
        count: Of the number of rows in one of them.
        share: The same, of all rows.
        mean: Of its mean, in its own units; None for what has none.
        blur: The noise on the number of rows in half of its bins, one standard deviation, over the rows there.
        room: How far the mean, as guessed, is from its nearer bound; None for what has none.
    """

    column: str
    bins: int
    count: float
    share: float
    mean: float | None
    blur: float
    room: float | None = None

    @property
    def wide_mean(self) -> bool:
        """Whether the interval of its mean is so wide that it says little."""
        return self.mean is not None and self.room is not None and self.mean > WIDE_MEAN * self.room

    @property
    def drowns(self) -> bool:
        """Whether even half of its bins does not stand clear of the noise."""
        return self.blur * CLEAR > 1.0


@dataclass(frozen=True)
class PairWidth:
    """The forecast for one pair of columns, if its table is bought.

    Attributes:
        columns: Their names.
        correlation: The half-width of the 95 % interval of their correlation, at about the least; where a layout has
            settled the tables, as it is to be expected, and infinite where noise would leave no interval.
        drowns: Whether even a quarter of the table's cells would not stand clear of the noise.
    """

    columns: tuple[str, str]
    correlation: float
    drowns: bool

    @property
    def told(self) -> float | None:
        """The half-width where there is going to be an interval that says anything; None otherwise."""
        return self.correlation if self.correlation < 1.0 else None


@dataclass(frozen=True)
class Widths:
    """Expected half-widths of 95 % intervals, about the table itself, at the guessed number of rows.

    Attributes:
        plan: What they are a forecast of.
        guesses: Means that are guessed at, by column; the middle of the bins for others.
        spreads: Standard deviations that are guessed at, by column, for correlations; evenly over the bins for others.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> widths = Widths(sf.plan(schema, epsilon=1, delta=1e-6, rows=5000))
        >>> age = widths.columns[0]
        >>> f"± {age.count:.0f} rows of one age, ± {age.mean:.1f} years on the mean age"
        '± 8 rows of one age, ± 0.5 years on the mean age'
    """

    plan: Plan
    guesses: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, guess in self.spreads.items():
            low, high = self._ordered(name).bounds
            if not 0.0 < guess <= high - low:
                raise ArgumentError(
                    f"a guess at the spread of {name!r} must be above 0, up to {high - low:g}, not {guess:g}"
                )
        for name, guess in self.guesses.items():
            low, high = self._ordered(name).bounds
            if not low <= guess <= high:
                raise ArgumentError(
                    f"a guess at the mean of {name!r} must lie between {low:g} and {high:g}, not {guess:g}"
                )

    @property
    def are_known(self) -> bool:
        """Whether the plan asks for histograms; columns in groups have none, and their answers no intervals."""
        return bool(len(self._sd))

    @cached_property
    def _sd(self) -> FloatArray:
        """Of the noise on a cell of each column's histogram, in one class."""
        opening = getattr(self.plan.details, "histograms", None)
        if opening is None or not self.plan.has("histograms"):
            return np.zeros(0)
        shares = np.array(opening.look_shares)
        spend = self.plan.spend(self.plan.round("histograms"))
        return np.sqrt(self.plan.public.noise_factor * shares.sum() / shares / spend)

    @cached_property
    def _total_precision(self) -> FloatArray:
        """What each column says of the number of rows of a class: the inverse of its variance."""
        return 1.0 / (self._sd**2 * (np.array(self.plan.layout.sizes) + 1))

    @property
    def rows(self) -> float:
        """Of the number of all rows."""
        return HALF_WIDTH * math.sqrt(self.plan.classes / self._total_precision.sum())

    @property
    def label(self) -> float | None:
        """Of the number of rows of one class; None without a label."""
        return None if self.plan.layout.label is None else HALF_WIDTH / math.sqrt(self._total_precision.sum())

    @cached_property
    def columns(self) -> tuple[ColumnWidth, ...]:
        """One for each column but the label.

        Raises:
            ArgumentError: The plan asks for no histograms.
        """
        if not self.are_known:
            raise ArgumentError("this plan asks for no histograms, as for columns in groups: it has no widths to tell")
        return tuple(self._column(place) for place in range(len(self._sd)))

    @property
    def count(self) -> float:
        """Of the number of rows in one bin or category, in the column where it is widest."""
        return max(each.count for each in self.columns)

    @property
    def share(self) -> float:
        """The same, of all rows."""
        return max(each.share for each in self.columns)

    def mean(self, column: str) -> float:
        """Of the mean of a column, in its own units.

        Args:
            column: A number.

        Returns:
            The half-width.

        Raises:
            ArgumentError: There is no such column, or it has no mean.
        """
        self._ordered(column)
        found = self.columns[self.plan.layout.names.index(column)].mean
        assert found is not None
        return found

    def pair(self, first: str, second: str) -> PairWidth:
        """The forecast for a pair of columns.

        Args:
            first: A column.
            second: Another one.

        Returns:
            The forecast.

        Raises:
            ArgumentError: There is no such column, or the plan buys no tables.
        """
        places = [self._place(name) for name in (first, second)]
        if (settled := self._settled) is not None:
            width = settled.half_width(first, second, HALF_WIDTH)
            drowns = 4.0 * CLEAR * settled.quarter_sd(first, second) > self.plan.rows
            return PairWidth((first, second), width, bool(drowns))
        if self._table_sd is None:
            raise ArgumentError("this plan buys no tables of pairs")
        spread = self._table_sd * math.sqrt(math.prod(self._levels[places])) / self.plan.rows
        return PairWidth((first, second), HALF_WIDTH * spread, bool(2.0 * CLEAR * spread > 1.0))

    def some_correlations(self, most: int = 4) -> list[PairWidth]:
        """The forecasts for pairs of the first columns of numbers.

        Args:
            most: How many columns, at the most.

        Returns:
            Those that may have a table; none where the plan buys no tables.
        """
        layout, settled = self.plan.layout, self._settled
        if settled is None and self._table_sd is None:
            return []
        names = [name for name, bins in zip(layout.names, layout.bins, strict=True) if _has_mean(bins)][:most]
        return [self.pair(*pair) for pair in combinations(names, 2) if settled is None or settled.has(*pair)]

    @property
    def are_settled(self) -> bool:
        """Whether a layout has settled which tables are bought."""
        return self._settled is not None

    @cached_property
    def _settled(self) -> SettledTables | None:
        shared = getattr(self.plan.details, "settled", None)
        if shared is None:
            return None
        (buying,) = self.plan.repeats(TABLES)
        sd = math.sqrt(self.plan.public.noise_factor * len(shared.tables) / self.plan.spend(buying))
        names = self.plan.layout.names
        return SettledTables(
            self.plan.layout,
            shared,
            sd,
            self.plan.rows,
            lambda place: Lying(self.guesses.get(names[place]), self.spreads.get(names[place])),
            lambda place: self.columns[place].count / HALF_WIDTH,
        )

    @cached_property
    def drowned_pairs(self) -> int:
        """How many pairs of columns noise would hide, even if their tables are bought; 0 where none can be."""
        if self._table_sd is None:
            return 0
        limit = (self.plan.rows / (2.0 * CLEAR * self._table_sd)) ** 2
        levels = np.sort(self._levels)
        first = np.searchsorted(levels, limit / levels, "right")
        return int(sum(len(levels) - max(start, i + 1) for i, start in enumerate(first)))

    def some_drowned(self, most: int = 5) -> list[PairWidth]:
        """Some of the pairs that noise would hide, those of the columns with most levels.

        Args:
            most: How many, at the most.

        Returns:
            Their forecasts.
        """
        if not self.drowned_pairs:
            return []
        finest = np.argsort(-self._levels, kind="stable")[: 2 * most]
        names = [self.plan.layout.names[place] for place in np.sort(finest)]
        return [found for pair in combinations(names, 2) if (found := self.pair(*pair)).drowns][:most]

    @property
    def pairs(self) -> int:
        """How many pairs of columns there are."""
        return math.comb(len(self.plan.layout.names), 2)

    @property
    def tables_bought(self) -> int | None:
        """How many tables of pairs a round is taken to buy; None where the plan buys none."""
        looked_at = self.plan.notes.get(PAIR_NOTE)
        return None if looked_at is None else max(1, round(BOUGHT * int(looked_at)))

    @cached_property
    def _table_sd(self) -> float | None:
        """Of the noise on a cell of a table."""
        if self.tables_bought is None:
            return None
        spend = self.plan.spend(self.plan.repeats(TABLES)[0])
        return math.sqrt(self.plan.public.noise_factor * self.tables_bought / spend)

    @cached_property
    def _levels(self) -> FloatArray:
        """Of each column in a table."""
        return np.minimum(np.array(self.plan.layout.sizes, dtype=np.float64), PairTuning().levels)

    def _column(self, place: int) -> ColumnWidth:
        name, bins, rows = self.plan.layout.names[place], self.plan.layout.bins[place], self.plan.rows
        one, half = np.zeros(bins.size), half_of(bins.size)
        one[0] = 1.0
        known = bins.size - (bins.missing >= 0)
        apart = np.append(np.full(known, -1.0 / known), np.zeros(bins.size - known)) + one  # its rows less its share
        mean = room = None
        if _has_mean(bins):
            guess, away, blur = self._from_mean(name, bins)
            mean = self._z(place, blur) * self._spread(place, away) / rows + blur
            room = min(guess - bins.bounds[0], bins.bounds[1] - guess)
        count, share = HALF_WIDTH * self._spread(place, one), HALF_WIDTH * self._spread(place, apart) / rows
        return ColumnWidth(name, bins.size, count, share, mean, self._spread(place, half) / (rows / 2.0), room)

    def _spread(self, place: int, weights: FloatArray) -> float:
        """The standard deviation of a weighted sum of a column's bins over all classes, best estimated."""
        others = self._total_precision.sum() - self._total_precision[place]
        return math.sqrt(self.plan.classes * best_variance(self._sd[place] ** 2, others, weights))

    def _z(self, place: int, blur: float) -> float:
        """The half-width of a mean's interval, in standard deviations.

        Where wide bins are looked into once more, there are two ways to answer, with half of the error each.
        """
        looks = self.plan.details.histograms.looks
        two_ways = blur > 0.0 and bool(looks) and looks[place] > 1
        return float(ndtri(1.0 - (1.0 - LEVEL) / (4.0 if two_ways else 2.0)))

    def _from_mean(self, name: str, bins: OrderedBins) -> tuple[float, FloatArray, float]:
        """The guessed mean, how far the middle of each bin is from it, none for what is missing; and half a bin's mean
        width.
        """
        middle = (bins.low + bins.high) / 2.0
        guess = self.guesses.get(name, float(middle.mean()))
        away = np.zeros(bins.size)
        away[: len(middle)] = middle - guess
        return guess, away, float((bins.high - bins.low).mean() / 2.0)

    def _place(self, name: str) -> int:
        layout = self.plan.layout
        if name == layout.label:
            raise ArgumentError(f"{name!r} is the label: its classes are counted, they have no mean")
        if name not in layout.names:
            alike = meant(name, layout.names)
            known = ", ".join(map(repr, layout.names[:10])) + (", ..." if len(layout.names) > 10 else "")
            hint = f"did you mean {alike!r}?" if alike else f"it has {known}"
            raise ArgumentError(f"the schema has no column {name!r}; {hint}")
        return layout.names.index(name)

    def _ordered(self, name: str) -> OrderedBins:
        bins = self.plan.layout.bins[self._place(name)]
        if not _has_mean(bins):
            raise ArgumentError(f"{name!r} is a {bins.column.type}: only numbers have a mean")
        return bins

    def data(self) -> dict[str, Any]:
        """The numbers, for JSON.

        Returns:
            Plain values.
        """
        if not self.are_known:
            return {}
        bought: dict[str, Any] | None = None
        if self.tables_bought is not None:
            bought = {
                "pairs": self.pairs,
                "tables_a_round": self.tables_bought,
                "drowned": self.drowned_pairs,
                "such_as": [list(each.columns) for each in self.some_drowned()],
            }
        return {
            "level": LEVEL,
            "rows": self.rows,
            "label": self.label,
            "columns": [vars(each) | {"drowns": each.drowns, "wide_mean": each.wide_mean} for each in self.columns],
            "pairs": bought,
            "correlations": {
                "settled": self.are_settled,
                "pairs": [
                    {"columns": list(each.columns), "half_width": each.told} for each in self.some_correlations()
                ],
            },
        }


def amount(width: float) -> str:
    """Three digits, thousands apart.

    >>> amount(1123.4), amount(0.05712)
    ('1,120', '0.0571')
    """
    return f"{float(f'{width:.3g}'):,.12g}"


def half_of(bins: int) -> FloatArray:
    """The weights by which half of a column's bins are added up."""
    return (np.arange(bins) < max(bins // 2, 1)).astype(np.float64)


def best_variance(variance: float, others: float, weights: FloatArray) -> float:
    """The variance of a weighted sum of a column's bins in one class, best estimated from all columns.

    Args:
        variance: Of the noise on each of its cells.
        others: What the other columns say of the number of rows: the inverse of a variance.
        weights: One a bin.

    Returns:
        The variance, by the formula above.
    """
    own = variance * (len(weights) + 1)
    gain = 0.0 if others <= 0.0 else (variance * weights.sum()) ** 2 / (own + 1.0 / others)
    return float(variance * (weights**2).sum() - gain)


def _has_mean(bins: Bins) -> TypeGuard[OrderedBins]:
    """Whether a release tells the mean of such a column: of numbers it does."""
    return bins.column.type == "number"
