"""Correlations and regressions of binned columns, from the noisy tables that hold them.

A number is taken as the middle of its level, a category as its level. Then sums of products of two columns are linear
in the counts of their table, and so known up to Gaussian noise; coefficients are functions of such sums, and their
noise is known to first order (the delta method): the error of a coefficient is that of one linear form, the sum over
rows of its influence, which is evaluated at the estimates.

All columns of a regression may be in one table; or every pair of them in some table, each taken from the first round
that has it. Sums of products need no more than pairs; the scores of a logistic regression do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from sfumato.asking.evidence import Axis, Cells, Columns, Round, covariance
from sfumato.asking.regions import spread
from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column, Listed, Number
from sfumato.schema.conditions import NAME
from sfumato.schema.layout import FloatArray
from sfumato.text import one_line

CLEAR_SPREAD = 4.0  # standard deviations by which a spread stands above its noise: a coefficient divides by it
INTERCEPT = "intercept"
NEWTON_STEPS = 50
LONGEST_STEP = 5.0  # of Newton's method, in each coefficient
CONVERGED = 1e-10
NO_SPREAD = "noise does not tell how far the columns spread, given each other, from no spread at all"


@dataclass(frozen=True)
class Formula:
    """A regression in words: what is explained, and by which columns.

    Example:
        >>> Formula.of("hours ~ age + `home town`")
        Formula(response='hours', terms=('age', 'home town'))
    """

    response: str
    terms: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Formula:
        """Read a formula.

        Raises:
            ArgumentError: If it is none.
        """
        if not isinstance(text, str) or text.count("~") != 1:
            raise ArgumentError(f"a formula looks like 'hours ~ age + sex', not {one_line(str(text))!r}")
        left, right = text.split("~")
        names = [_name(part, text) for part in (left, *right.split("+"))]
        if len(set(names)) < len(names):
            raise ArgumentError(f"formula {one_line(text)!r} has a column twice")
        return cls(names[0], tuple(names[1:]))

    @property
    def columns(self) -> Columns:
        """All columns, in order."""
        return tuple(sorted((self.response, *self.terms)))


def _name(part: str, text: str) -> str:
    bare = part.strip()
    if len(bare) > 2 and bare[0] == bare[-1] == "`":
        return bare[1:-1]
    if NAME.fullmatch(bare) is None:
        hint = "columns with + between, names with signs in back-ticks"
        raise ArgumentError(f"formula {one_line(text)!r}: {one_line(bare)!r} is no column; it has {hint}")
    return bare


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each level of a column; of no column for the intercept."""

    name: str
    column: str | None
    values: FloatArray


def features_of(axis: Axis, described: Column, centre: float = 0.0) -> list[Feature]:
    """A number's middles, or an indicator of each level of a listed column but the first."""
    if isinstance(described, Number):
        return [Feature(axis.column, axis.column, np.where(axis.known, axis.middles - centre, 0.0))]
    names = axis.names()
    levels = np.flatnonzero(axis.known)
    return [
        Feature(f"{axis.column}[{names[i]}]", axis.column, (np.arange(axis.size) == i).astype(np.float64))
        for i in levels[1:]
    ]


@dataclass(frozen=True, eq=False)
class Sources:
    """Where sums of products of features come from.

    Attributes:
        rounds: For each set of columns that is needed, the round that speaks of it: all columns together, or pairs.
        columns: All columns.
    """

    rounds: dict[Columns, Round]
    columns: Columns

    @classmethod
    def of(cls, rounds: Sequence[Round], columns: Columns) -> Sources | None:
        """One round that speaks of all columns, or the first that speaks of each pair; None where there is a gap."""
        whole = next((each for each in rounds if each.speaks_of(columns)), None)
        if whole is not None:
            return cls({columns: whole}, columns)
        bought = [each for each in rounds if each.kind == "tables"]
        found: dict[Columns, Round] = {}
        for pair in combinations(columns, 2):
            first = next((each for each in bought if each.speaks_of(pair)), None)
            if first is None:
                return None
            found[pair] = first
        return cls(found, columns)

    @property
    def is_whole(self) -> bool:
        """Whether all columns are in one table."""
        return self.columns in self.rounds

    def axis(self, column: str) -> Axis:
        """How a column is seen: alike in all rounds of tables."""
        return next(each.axes[column] for some, each in self.rounds.items() if column in some)

    def cells(self, columns: set[str]) -> Cells:
        """The first cells that have these columns."""
        for some, each in self.rounds.items():
            if columns <= set(some):
                return each.cells(some)
        raise KeyError(columns)

    def product(self, one: Feature, other: Feature) -> tuple[Cells, FloatArray]:
        """The coefficients of the sum over rows of the product of two features, of rows whose cells are known."""
        cells = self.cells({name for name in (one.column, other.column) if name is not None})
        found = np.ones(cells.shape)
        for axis in cells.axes:
            found = found * spread(axis.known, (axis.column,), cells.columns)
        for each in (one, other):
            if each.column is not None:
                found = found * spread(each.values, (each.column,), cells.columns)
        return cells, found


class Form:
    """A linear form of the counts in several rounds."""

    def __init__(self) -> None:
        self.terms: dict[Cells, FloatArray] = {}

    def add(self, weight: float, cells: Cells, question: FloatArray) -> None:
        """Add a question with a weight."""
        self.terms[cells] = self.terms.get(cells, 0.0) + weight * question

    @property
    def value(self) -> float:
        """What it is by the counts."""
        return sum(cells.total(question) for cells, question in self.terms.items())

    @property
    def sd(self) -> float:
        """Of its noise: questions to one round share theirs."""
        parts: dict[Round, dict[Columns, Any]] = defaultdict(dict)
        for cells, question in self.terms.items():
            mine = parts[cells.round]
            for some, part in cells.parts(question).items():
                mine[some] = mine.get(some, 0.0) + part
        return math.sqrt(sum(covariance(of, mine, mine) for of, mine in parts.items()))


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: its name, estimate, and standard error for the table and for the population."""

    name: str
    estimate: float
    se: float
    population_se: float


@dataclass(frozen=True)
class Fit:
    """The coefficients; or why there is no interval."""

    coefficients: tuple[Coefficient, ...]
    reason: str = ""


class LinearModel:
    """Least squares of a response on features, from sums of products."""

    def __init__(self, sources: Sources, formula: Formula, schema: Mapping[str, Column]) -> None:
        self.sources = sources
        self.centres = {name: self._centre(name, schema) for name in formula.columns}
        axis = sources.axis(formula.response)
        (self.response,) = features_of(axis, schema[formula.response], self.centres[formula.response])
        self.features = [Feature(INTERCEPT, None, np.ones(1))]
        for name in formula.terms:
            self.features += features_of(sources.axis(name), schema[name], self.centres[name])
        self.moments = np.array([[self._sum(one, other) for other in self.features] for one in self.features])
        self.products = np.array([self._sum(each, self.response) for each in self.features])

    def _centre(self, name: str, schema: Mapping[str, Column]) -> float:
        """About the mean: a choice of units, which keeps the noise of sums from being multiplied by it."""
        if not isinstance(schema[name], Number):
            return 0.0
        one = Feature(INTERCEPT, None, np.ones(1))
        (own,) = features_of(self.sources.axis(name), schema[name])
        rows = self._sum(Feature("", name, np.ones(len(own.values))), one)
        return self._sum(own, one) / rows if rows > 0.0 else 0.0

    def _sum(self, one: Feature, other: Feature) -> float:
        cells, question = self.sources.product(one, other)
        return cells.total(question)

    def fit(self) -> Fit:
        """Solve, and tell how sure each coefficient is."""
        if not self._is_clear():
            return Fit((), NO_SPREAD)
        slopes = np.linalg.solve(self.moments, self.products)
        found = []
        for j, feature in enumerate(self.features):
            wanted = np.eye(len(slopes))[j] if j else np.array([1.0, *(-self._centre_of(f) for f in self.features[1:])])
            influence = np.linalg.solve(self.moments, wanted)
            estimate = float(wanted @ slopes) + (self.centres[self.response.column or ""] if j == 0 else 0.0)
            se = self._influence(influence, slopes).sd
            found.append(Coefficient(feature.name, estimate, se, math.hypot(se, self._sampling(influence, slopes))))
        return Fit(tuple(found))

    def _centre_of(self, feature: Feature) -> float:
        return self.centres[feature.column or ""]

    def _influence(self, weights: FloatArray, slopes: FloatArray) -> Form:
        """The sum over rows of a combination of features times the residual."""
        form = Form()
        for weight, one in zip(weights, self.features, strict=True):
            form.add(float(weight), *self.sources.product(one, self.response))
            for slope, other in zip(slopes, self.features, strict=True):
                form.add(-float(weight * slope), *self.sources.product(one, other))
        return form

    def _sampling(self, weights: FloatArray, slopes: FloatArray) -> float:
        """The standard error that sampling gives, with residuals of one variance."""
        rows = float(self.moments[0, 0])
        squares = (
            self._sum(self.response, self.response) - 2.0 * slopes @ self.products + slopes @ self.moments @ slopes
        )
        return math.sqrt(max(float(squares), 0.0) / rows * max(float(weights @ self.moments @ weights), 0.0))

    def _is_clear(self) -> bool:
        """Whether every feature spreads beyond noise, given the others."""
        for j in range(len(self.features)):
            others = [i for i in range(len(self.features)) if i != j]
            try:
                slopes = np.linalg.solve(self.moments[np.ix_(others, others)], self.moments[others, j])
            except np.linalg.LinAlgError:
                return False
            rest = np.zeros(len(self.features))
            rest[j], rest[others] = 1.0, -slopes
            form = Form()
            for one, a in zip(self.features, rest, strict=True):
                for other, b in zip(self.features, rest, strict=True):
                    form.add(float(a * b), *self.sources.product(one, other))
            if not form.value > CLEAR_SPREAD * form.sd:
                return False
        return True


def correlate(cells: Cells, one: str, other: str) -> Fit:
    """The correlation of two columns in one table."""
    mask = np.ones(cells.shape)
    for name in (one, other):
        mask = mask * spread(cells.round.axes[name].known, (name,), cells.columns)
    rows = cells.total(mask)
    if not rows > CLEAR_SPREAD * math.sqrt(cells.variance(mask)):
        return Fit((), NO_SPREAD)
    centred = []
    for name in (one, other):
        values = spread(cells.round.axes[name].middles, (name,), cells.columns)
        centred.append(mask * (values - cells.total(mask * values) / rows))
    # The square of a noisy mean is too large by its variance, so that a spread about it is too small.
    a, b = centred
    spreads = [cells.total(each**2) + cells.variance(each) / rows for each in (a, b)]
    clear = all(s > CLEAR_SPREAD * math.sqrt(cells.variance(each**2)) for s, each in zip(spreads, (a, b), strict=True))
    if not clear:
        return Fit((), NO_SPREAD)
    r = (cells.total(a * b) + cells.covariance(a, b) / rows) / math.sqrt(spreads[0] * spreads[1])
    u, v = (each * math.sqrt(rows / s) for s, each in zip(spreads, (a, b), strict=True))
    influence = (u * v - r * (u**2 + v**2) / 2.0) / rows
    se = math.sqrt(cells.variance(influence))
    sampling = max(cells.total(influence**2), 0.0)
    return Fit((Coefficient("correlation", r, se, math.hypot(se, math.sqrt(sampling))),))


class LogisticModel:
    """Maximum likelihood for a response of two values, all columns being in one table.

    The scores are linear in the counts, which may be negative by noise: what solves them is unbiased to first order.
    """

    def __init__(self, sources: Sources, formula: Formula, schema: Mapping[str, Column]) -> None:
        self.cells = sources.cells(set(formula.columns))
        (outcome,) = features_of(sources.axis(formula.response), schema[formula.response])
        self.truth = spread(outcome.values, (formula.response,), self.cells.columns)
        one = Feature(INTERCEPT, None, np.ones(1))
        self.features, self.centres = [one], [0.0]
        for name in formula.terms:
            axis = sources.axis(name)
            centre = float(axis.middles[axis.known].mean()) if isinstance(schema[name], Number) else 0.0
            more = features_of(axis, schema[name], centre)
            self.features += more
            self.centres += [centre] * len(more)
        rows = [sources.product(each, one)[1] for each in self.features]  # 0 in cells that are not known
        self.design = np.stack(rows, axis=-1)

    def fit(self) -> Fit:
        """Newton's steps to where the scores are 0, and how sure each coefficient is."""
        slopes, counts = np.zeros(len(self.features)), self.cells.counts
        axes = tuple(range(counts.ndim))
        for _ in range(NEWTON_STEPS):
            chance = _chance(self.design @ slopes)
            spreads = counts * chance * (1.0 - chance)
            curvature = np.tensordot(self.design * spreads[..., None], self.design, (axes, axes))
            if not np.linalg.eigvalsh(curvature)[0] > 0.0:
                break
            scores = np.tensordot(counts * (self.truth - chance), self.design, (axes, axes))
            step = np.linalg.solve(curvature, scores)
            slopes = slopes + np.clip(step, -LONGEST_STEP, LONGEST_STEP)
            if np.abs(step).max() < CONVERGED:
                return self._told(slopes, chance, np.asarray(np.linalg.inv(curvature), dtype=np.float64))
        return Fit((), NO_SPREAD)

    def _told(self, slopes: FloatArray, chance: FloatArray, inverse: FloatArray) -> Fit:
        found = []
        for j, feature in enumerate(self.features):
            wanted = np.eye(len(slopes))[j] if j else np.append(1.0, np.negative(self.centres[1:]))
            weights = self.design @ (inverse @ wanted)
            spreads = weights**2 * chance * (1.0 - chance)
            if not self.cells.total(spreads) > CLEAR_SPREAD * math.sqrt(self.cells.variance(spreads)):
                return Fit((), NO_SPREAD)
            influence = weights * (self.truth - chance)
            se = math.sqrt(self.cells.variance(influence))
            sampling = math.sqrt(max(self.cells.total(influence**2), 0.0))
            found.append(Coefficient(feature.name, float(wanted @ slopes), se, math.hypot(se, sampling)))
        return Fit(tuple(found))


def _chance(logits: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0))))


# --- the model's own


def fit_rows(
    frame: pd.DataFrame, formula: Formula, schema: Mapping[str, Column], kind: str
) -> tuple[list[str], list[float]]:
    """The same regression of drawn rows."""
    complete = frame[list(formula.columns)].dropna()
    names, columns = [INTERCEPT], [np.ones(len(complete))]
    for name in formula.terms:
        for label, values in _row_features(complete[name], schema[name], name):
            names.append(label)
            columns.append(values)
    design = np.stack(columns, axis=1)
    ((_, response),) = list(_row_features(complete[formula.response], schema[formula.response], formula.response))
    if kind == "linear":
        return names, np.linalg.lstsq(design, response, rcond=None)[0].tolist()
    slopes = np.zeros(len(names))
    for _ in range(NEWTON_STEPS):
        chance = _chance(design @ slopes)
        curvature = design.T @ (design * (chance * (1.0 - chance))[:, None])
        step = np.linalg.lstsq(curvature, design.T @ (response - chance), rcond=None)[0]
        slopes = slopes + np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max() < CONVERGED:
            break
    return names, slopes.tolist()


def _row_features(cells: pd.Series[Any], described: Column, name: str) -> list[tuple[str, FloatArray]]:
    if isinstance(described, Number):
        return [(name, cells.to_numpy(dtype=np.float64))]
    assert isinstance(described, Listed)
    return [(f"{name}[{level}]", np.asarray(cells == level, dtype=np.float64)) for level in described.levels[1:]]
