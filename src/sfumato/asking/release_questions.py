"""The questions that a release answers: counts, shares, means, quantiles, tables, correlations and regressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from sfumato.asking.estimate import About, Estimate, Estimates
from sfumato.asking.evidence import Axis, Columns, Round, read_rounds
from sfumato.asking.forms import Coefficient, Formula, Sources
from sfumato.asking.model_answers import ModelRows
from sfumato.asking.quantiles import crossing, hull, in_order, levels_as_bins
from sfumato.asking.ratios import Piece, Ratio, is_clear, ratio, total
from sfumato.asking.regions import Region, can_place, missing_nowhere, spread
from sfumato.asking.regressions import HIDDEN_SPREAD, LinearModel, LogisticModel, correlate, fit_rows
from sfumato.asking.ways import (
    Counted,
    bins_within,
    common,
    finer_look,
    first_round,
    number_ways,
    numbers_of,
    region_in,
    ways_by,
    ways_of,
)
from sfumato.errors import ArgumentError
from sfumato.near_names import meant
from sfumato.schema.columns import Boolean, Listed, Number
from sfumato.schema.conditions import Condition, parse
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.release.release import Release

NOT_NEGATIVE = (0.0, math.inf)
SHARE = (0.0, 1.0)
CORRELATION = (-1.0, 1.0)
ANY = (-math.inf, math.inf)
FIRST_SIGHT = 0.02  # of the error, for where the first look lets a quantile be, before a later look tells
BINNED = ", of rows that count, whose cells can be read, as binned: a typical number of its bin stands for each"


@dataclass(frozen=True)
class Manner:
    """How a question is to be answered: how often intervals hold, and about what.

    Attributes:
        level: How often an interval holds the number.
        about: 'table' or 'population'.

    Raises:
        ArgumentError: If they are out of their range.
    """

    level: float = 0.95
    about: About = "table"

    def __post_init__(self) -> None:
        if not isinstance(self.level, (int, float)) or not 0.0 < self.level < 1.0:
            raise ArgumentError(f"level must lie between 0 and 1, like 0.95, not {self.level!r}")
        if self.about not in ("table", "population"):
            raise ArgumentError(f"about must be 'table' or 'population', not {self.about!r}")

    def z(self, share: float = 1.0) -> float:
        """Standard deviations on either side, for a share of the error."""
        return float(-ndtri((1.0 - self.level) * share / 2.0))


@dataclass(frozen=True, eq=False)
class Asked:
    """A release that is asked."""

    release: Release
    rounds: tuple[Round, ...]

    @classmethod
    def of(cls, release: Release) -> Asked:
        """Read the noisy answers of a release."""
        return cls(release, read_rounds(release.answers, release.asked))

    @cached_property
    def model(self) -> ModelRows:
        """What the model says where no answer does."""
        return ModelRows(self.release, self._rows)

    @cached_property
    def _rows(self) -> float | None:
        """About how many rows there are."""
        if not self.rounds:
            return None
        cells = self.rounds[0].cells(())
        return max(cells.total(np.array(1.0)), 0.0)

    # --- questions

    def count(self, where: str | None, manner: Manner) -> Estimate:
        """How many rows a condition holds for."""
        if manner.about == "population":
            raise ArgumentError("a population has no count; ask for the share, or about='table'")
        condition = self.condition(where)
        columns = _columns(condition)
        said = f"rows{_where(condition)}"
        lacking = self.lacking(columns, condition)
        if lacking:
            return self._modelled(self.model.count(where), manner, lacking, said, NOT_NEGATIVE)
        ways = ways_of(self.rounds, columns, condition, lambda region: (region, 1.0, 1.0))
        found = common([total(each, manner.z(1.0 / len(ways))) for each in ways])
        return self._estimate(found, manner, ways, _said(said, columns), NOT_NEGATIVE)

    def share(
        self, where: str, manner: Manner, among: str | None = None, by: str | None = None
    ) -> Estimate | Estimates:
        """The share of rows that a condition holds for, of those whose cells of its columns can be read: of all rows,
        among those of another condition, or in each group.
        """
        self.check_manner(manner)
        condition, others = self.condition(where), self.condition(among)
        if condition is None:
            raise ArgumentError("a share is of the rows for which something holds: give it by where")
        said = f"the share of rows{_where(condition)}" + (f" among those{_where(others)}" if others else "")
        columns = tuple(sorted({*_columns(condition), *_columns(others)} | ({by} if by else set())))
        if by is not None:
            self.check_column(by)
        lacking = self.lacking(columns, condition) or self.lacking(columns, others)
        if by is None and lacking:
            return self._modelled(self.model.share(where, among), manner, lacking, said, SHARE)
        if by is None:
            return self._share(condition, others, Region.everywhere(), columns, manner, said)
        if lacking:
            return self._groups_modelled(by, self.model.shares(where, by, among), manner, lacking, said, SHARE)
        return self._groups(by, columns, lambda group: self._share(condition, others, group, columns, manner, said))

    def mean(self, column: str, by: str | None, where: str | None, manner: Manner) -> Estimate | Estimates:
        """The mean of a column's numbers, of all rows, or of each group."""
        self.check_manner(manner)
        self.check_numeric(column, "mean")
        condition = self.condition(where)
        if by is not None:
            return self._by(column, by, condition, where, manner)
        said = f"the mean of {one_line(column)} over rows{_where(condition)}"
        columns = tuple(sorted({column, *_columns(condition)}))
        lacking = self.lacking(columns, condition)
        if lacking:
            return self._modelled(self.model.mean(column, where), manner, lacking, said, self._bounds(column))
        return self._mean(column, columns, condition, Region.everywhere(), manner, said)

    def quantile(self, column: str, q: float, where: str | None, manner: Manner) -> Estimate:
        """The smallest number that a share q of rows is at or below."""
        self.check_manner(manner)
        self.check_numeric(column, "quantile")
        if isinstance(q, bool) or not isinstance(q, (int, float)) or not 0.0 < q < 1.0:
            raise ArgumentError(f"a quantile lies between 0 and 1, like 0.5 for the median, not at {q!r}")
        condition = self.condition(where)
        said = f"the {q:g}-quantile of {one_line(column)} over rows{_where(condition)}"
        columns = tuple(sorted({column, *_columns(condition)}))
        lacking = self.lacking(columns, condition)
        if not lacking and not in_order(first_round(self.rounds, columns).axes[column]):
            lacking = f"the levels of {one_line(column)} in its tables do not follow each other"
        if lacking:
            return self._modelled(self.model.quantile(column, q, where), manner, lacking, said, self._bounds(column))
        return self._quantile(column, q, columns, condition, manner, said)

    def table(self, one: str, other: str, manner: Manner) -> Estimates:
        """How many rows there are in each cell of the table of two columns."""
        if manner.about == "population":
            raise ArgumentError("a population has no counts; ask for shares, or about='table'")
        for name in (one, other):
            self.check_column(name)
        if one == other:
            raise ArgumentError(f"a table is of two columns, and {one!r} is both")
        lacking = self.lacking((one, other), None)
        said = f"rows by {one_line(one)} and {one_line(other)}"
        if lacking:
            keys, shares = self.model.table(one, other)
            rows = math.nan if self._rows is None else self._rows
            cells = [self._modelled(share * rows, manner, lacking, said, NOT_NEGATIVE) for share in shares]
            return Estimates((one, other), tuple(keys), tuple(cells))
        return self._cells(one, other, manner, said)

    def correlation(self, one: str, other: str, manner: Manner) -> Estimate:
        """The correlation of two columns, for each number a typical one of its level."""
        self.check_manner(manner)
        for name in (one, other):
            self.check_numeric(name, "correlation")
        if one == other:
            raise ArgumentError(f"a correlation is of two columns, and {one!r} is both")
        columns = tuple(sorted((one, other)))
        said = f"the correlation of {one_line(one)} and {one_line(other)}"
        lacking = self.lacking(columns, None)
        if lacking:
            return self._modelled(self.model.correlation(one, other), manner, lacking, said, CORRELATION)
        cells = first_round(self.rounds, columns).cells(columns)
        found = correlate(cells, one, other).coefficients
        if not found:
            return self._modelled(self.model.correlation(one, other), manner, HIDDEN_SPREAD, said, CORRELATION)
        return self._coefficient(found[0], manner, (cells.round,), columns, f"{said}{BINNED}", CORRELATION)

    def regress(self, formula: str, kind: str, manner: Manner) -> Estimates:
        """The coefficients of a regression."""
        self.check_manner(manner)
        asked = self._formula(formula, kind)
        schema = self.release.schema.columns
        said = f"coefficients of the {kind} regression {one_line(formula)}"
        sources, lacking = self._sources(asked, kind)
        if sources is not None:
            model = LinearModel if kind == "linear" else LogisticModel
            found = model(sources, asked, schema).fit().coefficients
            if found:
                rounds = tuple(dict.fromkeys(sources.rounds.values()))
                alike = manner.about == "population" and not sources.is_whole
                said += BINNED + ("; sampling as if residuals had one variance" if alike else "")
                told = tuple(self._coefficient(each, manner, rounds, asked.columns, said, ANY) for each in found)
                return Estimates(("term",), tuple((each.name,) for each in found), told)
            lacking = HIDDEN_SPREAD
        names, slopes = fit_rows(self.model.frame, asked, schema, kind)
        made = tuple(self._modelled(each, manner, lacking, said, ANY) for each in slopes)
        return Estimates(("term",), tuple((name,) for name in names), made)

    # --- what they are made of

    def _formula(self, formula: str, kind: str) -> Formula:
        """A formula, checked against the schema."""
        if kind not in ("linear", "logistic"):
            raise ArgumentError(f"kind must be 'linear' or 'logistic', not {one_line(str(kind))!r}")
        asked = Formula.of(formula)
        for name in asked.columns:
            self.check_column(name)
            described = self.release.schema.columns[name]
            if not isinstance(described, (Number, Listed)):
                told = f"and {one_line(name)!r} is a {described.type}"
                raise ArgumentError(f"a regression is of numbers, categories and truth values, {told}")
        response = self.release.schema.columns[asked.response]
        if kind == "linear" and not isinstance(response, (Number, Boolean)):
            raise ArgumentError(f"a linear regression explains numbers, and {one_line(asked.response)!r} is a category")
        if kind == "logistic" and not (isinstance(response, Listed) and len(response.levels) == 2):
            told = f"and {one_line(asked.response)!r} is no such column"
            raise ArgumentError(f"a logistic regression explains a category of two values, or truth values, {told}")
        return asked

    def _sources(self, asked: Formula, kind: str) -> tuple[Sources | None, str]:
        """Where a regression's sums come from; or why from nowhere."""
        pairs = list(combinations(asked.columns, 2))
        lacking = next((why for pair in pairs if (why := self.lacking(pair, None))), "")
        if lacking:
            return None, lacking
        sources = Sources.of(self.rounds, asked.columns)
        if kind == "logistic" and (sources is None or not sources.is_whole):
            return None, f"no table of {' x '.join(map(one_line, asked.columns))} was bought, and pairs do not tell"
        if sources is None:
            return None, "not every pair of these columns is in a table of the same levels"
        return sources, ""

    def _coefficient(
        self,
        found: Coefficient,
        manner: Manner,
        rounds: Sequence[Round],
        columns: Columns,
        said: str,
        possible: tuple[float, float],
    ) -> Estimate:
        sampled, z = manner.about == "population", manner.z()
        interval = found.interval(z, sampled) if found.is_clear(z) else None
        each = Ratio(found.estimate, found.se(sampled), interval)
        return self._told(each, manner, rounds, columns, said, possible)

    def condition(self, where: str | None) -> Condition | None:
        """A condition, parsed and checked against the schema."""
        if where is None:
            return None
        if not isinstance(where, str):
            raise ArgumentError("where must be a condition in text, like 'age > 40'")
        return parse(where, self.release.schema.columns)

    def check_column(self, column: str) -> None:
        """Refuse what is no column."""
        if column not in self.release.schema.columns:
            alike = meant(str(column), self.release.schema.columns)
            known = ", ".join(map(one_line, list(self.release.schema.columns)[:10]))
            hint = f"did you mean {one_line(alike)!r}?" if alike else f"the release has {known}"
            raise ArgumentError(f"there is no column {one_line(str(column))!r}; {hint}")

    def check_manner(self, manner: Manner) -> None:
        """Refuse to speak of a population where rows are no independent draws of it."""
        unit = self.release.schema.unit
        if manner.about == "population" and unit is not None and unit.rows > 1:
            told = f"up to {unit.rows} rows of one {one_line(unit.column)} are no independent draws of a population"
            raise ArgumentError(f"{told}; ask about='table'")

    def check_numeric(self, column: str, what: str) -> None:
        """Refuse a column that has no numbers."""
        self.check_column(column)
        described = self.release.schema.columns[column]
        if not isinstance(described, (Number, Boolean)):
            instead = "a count or a share with where, or a table, tells of it"
            raise ArgumentError(f"a {what} is of numbers, and {one_line(column)!r} is a {described.type}: {instead}")

    def lacking(self, columns: Columns, condition: Condition | None) -> str:
        """Why no answer speaks of the joint table of some columns; '' if one does."""
        if not self.release.answers:
            return "the release keeps no answers (it was saved compact)"
        if not self.rounds:
            return f"mechanism {one_line(self.release.mechanism)} keeps no counts of such columns"
        layout = self.release.asked
        for name in columns:
            if name not in layout.names and name != layout.label:
                return f"{one_line(name)} is computed from other columns, and no answer is about it"
        if condition is not None:
            bins = dict(zip(layout.names, layout.bins, strict=True))
            if layout.label is not None and layout.label_bins is not None:
                bins[layout.label] = layout.label_bins
            if not can_place(condition, bins):
                return "the condition calculates with columns, or compares them, and answers count cells"
            never = missing_nowhere(condition, bins)
            if never:
                return f"the schema lets no {one_line(never)} be missing (`release.unread` tells what cannot be read)"
        if any(each.speaks_of(columns) for each in self.rounds):
            return ""
        return f"no table of {' x '.join(map(one_line, columns))} was bought"

    def _share(
        self, condition: Condition, among: Condition | None, group: Region, columns: Columns, manner: Manner, said: str
    ) -> Estimate:
        """A mean of 1 where a condition holds and 0 elsewhere, over rows of a group that another one holds for."""

        def question(axes: Mapping[str, Axis]) -> Counted:
            holds = region_in(condition, axes)
            counted = Region.readable(axes, columns) & region_in(among, axes) & group
            return counted, *(spread(end, holds.columns, columns) for end in (holds.sure, holds.possible))

        ways = ways_by(self.rounds, columns, [condition, among], question)
        found = common([ratio(each, manner.z(1.0 / len(ways)), manner.about == "population") for each in ways])
        return self._estimate(found, manner, ways, _said(said, columns), SHARE)

    def _mean(
        self, column: str, columns: Columns, condition: Condition | None, group: Region, manner: Manner, said: str
    ) -> Estimate:
        ways = number_ways(self.rounds, columns, column, condition, group)
        sampled, z = manner.about == "population", manner.z(1.0 / len(ways))
        found = common([ratio(each, z, sampled) for each in ways])
        told = _said(said, columns, *ways[0].cells.axes[column].ranges)
        return self._estimate(found, manner, ways, told, self._bounds(column))

    def _quantile(
        self, column: str, q: float, columns: Columns, condition: Condition | None, manner: Manner, said: str
    ) -> Estimate:
        first, sampled = first_round(self.rounds, columns), manner.about == "population"
        axis = first.axes[column]
        piece = numbers_of(column, first.cells(columns), condition, Region.everywhere())
        if not is_clear(piece, manner.z(), sampled):
            return self._estimate(Ratio(math.nan, math.nan, None), manner, [piece], said, self._bounds(column))
        finer = finer_look(self.rounds, columns)
        found = hull(
            partial(levels_as_bins, piece, column, q), manner.z(1.0 if finer is None else FIRST_SIGHT), sampled
        )
        if finer is not None and found is not None:
            bins = partial(bins_within, found, self.rounds, columns, condition, q)
            found = hull(bins, manner.z(1.0 - FIRST_SIGHT), sampled) or found
        along = tuple(i for i, name in enumerate(columns) if name != column)
        counts = np.asarray((piece.middle()[1] * piece.cells.counts).sum(axis=along))[axis.known]
        low, high = axis.ranges
        middle = crossing(low[axis.known], high[axis.known], counts, q)
        if found is not None:
            middle = min(max(middle, found[0]), found[1])
        rounds = (first,) if finer is None else (first, finer[1])
        said = _said(said, columns, low, high)
        return self._told(Ratio(middle, math.nan, found), manner, rounds, columns, said, self._bounds(column))

    def _by(self, column: str, by: str, condition: Condition | None, where: str | None, manner: Manner) -> Estimates:
        self.check_column(by)
        said = f"the mean of {one_line(column)} over rows{_where(condition)}"
        columns = tuple(sorted({column, by, *_columns(condition)}))
        lacking = self.lacking(columns, condition)
        if lacking:
            means = self.model.means(column, by, where)
            return self._groups_modelled(by, means, manner, lacking, said, self._bounds(column))
        return self._groups(by, columns, lambda group: self._mean(column, columns, condition, group, manner, said))

    def _groups(self, by: str, columns: Columns, ask: Callable[[Region], Estimate]) -> Estimates:
        """One question about each value of a column."""
        axis = first_round(self.rounds, columns).axes[by]
        levels = [i for i in range(axis.size) if i != axis.nowhere]
        names = axis.names()
        here = [np.arange(axis.size) == i for i in levels]
        found = tuple(ask(Region((by,), each, each)) for each in here)
        return Estimates((by,), tuple((names[i],) for i in levels), found)

    def _groups_modelled(
        self,
        by: str,
        found: tuple[list[Any], list[float]],
        manner: Manner,
        lacking: str,
        said: str,
        possible: tuple[float, float],
    ) -> Estimates:
        keys, values = found
        made = tuple(self._modelled(value, manner, lacking, said, possible) for value in values)
        return Estimates((by,), tuple((key,) for key in keys), made)

    def _cells(self, one: str, other: str, manner: Manner, said: str) -> Estimates:
        cells = first_round(self.rounds, (one, other)).cells((one, other))
        axes = [cells.round.axes[one], cells.round.axes[other]]
        names = [axis.names() for axis in axes]
        keys, found = [], []
        unit = np.zeros(cells.shape)
        unit[(0,) * unit.ndim] = 1.0  # all cells have the same noise
        sd = math.sqrt(cells.variance(unit))
        counts = cells.counts if cells.columns == (one, other) else cells.counts.T
        for i in range(axes[0].size):
            for j in range(axes[1].size):
                if i != axes[0].nowhere and j != axes[1].nowhere:
                    keys.append((names[0][i], names[1][j]))
                    value = float(counts[i, j])
                    each = Ratio(value, sd, (value - manner.z() * sd, value + manner.z() * sd))
                    found.append(each)
        made = [self._told(each, manner, (cells.round,), cells.columns, said, NOT_NEGATIVE) for each in found]
        return Estimates((one, other), tuple(keys), tuple(made))

    # --- estimates

    def _estimate(
        self, found: Ratio, manner: Manner, ways: Sequence[Piece], said: str, possible: tuple[float, float]
    ) -> Estimate:
        rounds = tuple({each.name: each for way in ways for each in way.cells.rounds}.values())
        return self._told(found, manner, rounds, ways[0].cells.columns, said, possible)

    def _told(
        self,
        found: Ratio,
        manner: Manner,
        rounds: Sequence[Round],
        columns: Columns,
        said: str,
        possible: tuple[float, float],
    ) -> Estimate:
        reason = "" if found.interval is not None else "noise does not tell the number of such rows from none"
        se = found.se if math.isfinite(found.se) else None
        rests = tuple(rests_on(each, columns) for each in rounds)
        return Estimate(found.estimate, se, found.interval, manner.level, manner.about, rests, reason, said, possible)

    def _modelled(
        self, value: float, manner: Manner, reason: str, said: str, possible: tuple[float, float]
    ) -> Estimate:
        told = f"{reason}; this is the model's own estimate"
        return Estimate(value, None, None, manner.level, manner.about, (), told, said, possible)

    def _bounds(self, column: str) -> tuple[float, float]:
        described = self.release.schema.columns[column]
        return (described.span.low, described.span.high) if isinstance(described, Number) else SHARE


def rests_on(of: Round, columns: Columns) -> str:
    """The name of an answer, and of the table in it."""
    return of.name if of.kind != "tables" or not columns else f"{of.name}: {' x '.join(map(one_line, columns))}"


def _columns(condition: Condition | None) -> Columns:
    return () if condition is None else tuple(sorted(condition.columns()))


def _where(condition: Condition | None) -> str:
    return "" if condition is None else f" with {one_line(str(condition))}"


def _said(said: str, columns: Columns, low: Any = None, high: Any = None) -> str:
    """The estimand: of which rows, and how their cells are read."""
    if not columns:
        return f"{said} that count"
    binned = ", anywhere in its bin" if low is not None and np.any(low < high) else ""
    return f"{said}, of rows that count, whose cells can be read, clamped to their bounds{binned}"
