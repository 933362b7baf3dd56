"""Correlations and regressions of binned columns, from the noisy tables that hold them.

For a number stands a typical one of its level (`Axis.middles`), for a category its level. Then sums of products of two
columns are linear in the counts of their table, and so known up to Gaussian noise. A coefficient solves an equation in
such sums. To first order in the noise of all others (the delta method) it is theta in I + (estimate - theta) D = 0 with
two linear forms: I sums the influence of rows, D what the coefficient divides by; its interval is Fieller's, for noise
in both.

All columns of a regression may be in one table; or every pair of them in some table, each taken from the first round
that has it. Sums of products need no more than pairs; the scores of a logistic regression do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfumato.asking.evidence import Cells
from sfumato.asking.forms import INTERCEPT, Coefficient, Feature, Form, Formula, Sources, features_of
from sfumato.asking.regions import spread
from sfumato.schema.columns import Column, Listed, Number
from sfumato.schema.layout import FloatArray

CLEAR_SPREAD = 3.0  # standard deviations by which a spread stands above its noise: coefficients divide by it
NEWTON_STEPS = 50
LONGEST_STEP = 5.0  # of Newton's method, in each coefficient
CONVERGED = 1e-10
HIDDEN_SPREAD = "noise does not tell how far the columns spread, given each other, from no spread at all"
ONE = Feature(INTERCEPT, None, np.ones(1))


@dataclass(frozen=True)
class Fit:
    """The coefficients; none where noise hides what they divide by."""

    coefficients: tuple[Coefficient, ...] = ()

    @classmethod
    def of(cls, found: list[Coefficient]) -> Fit:
        """All of them, or none."""
        return cls(tuple(found)) if all(each.is_clear(CLEAR_SPREAD) for each in found) else cls()


class LinearModel:
    """Least squares of a response on features, from sums of products."""

    def __init__(self, sources: Sources, formula: Formula, schema: Mapping[str, Column]) -> None:
        self.sources = sources
        self.centres = {name: self._centre(name, schema) for name in formula.columns}
        axis = sources.axis(formula.response)
        (self.response,) = features_of(axis, schema[formula.response], self.centres[formula.response])
        self.features = [ONE]
        for name in formula.terms:
            self.features += features_of(sources.axis(name), schema[name], self.centres[name])
        self.moments = np.array([[self._sum(one, other) for other in self.features] for one in self.features])
        self.products = np.array([self._sum(each, self.response) for each in self.features])

    def _centre(self, name: str, schema: Mapping[str, Column]) -> float:
        """About the mean: a choice of units, which keeps the noise of sums from being multiplied by it."""
        if not isinstance(schema[name], Number):
            return 0.0
        (own,) = features_of(self.sources.axis(name), schema[name])
        rows = self._sum(Feature("", name, np.ones(len(own.values))), ONE)
        return self._sum(own, ONE) / rows if rows > 0.0 else 0.0

    def _sum(self, one: Feature, other: Feature) -> float:
        cells, question = self.sources.product(one, other)
        return cells.total(question)

    def fit(self) -> Fit:
        """Solve, and tell how sure each coefficient is."""
        if not np.linalg.eigvalsh(self.moments)[0] > 0.0:
            return Fit()
        slopes = np.linalg.solve(self.moments, self.products)
        return Fit.of([self._coefficient(j, slopes) for j in range(len(slopes))])

    def _coefficient(self, j: int, slopes: FloatArray) -> Coefficient:
        """One slope; or the intercept, where all columns are 0 and not at their centres."""
        wanted, estimate = np.eye(len(slopes))[j], float(slopes[j])
        if j == 0:
            centres = [self.centres[feature.column or ""] for feature in self.features[1:]]
            wanted = np.append(1.0, np.negative(centres))
            estimate = float(wanted @ slopes) + self.centres[self.response.column or ""]
        weights = np.linalg.solve(self.moments, wanted)
        weights = weights / (wanted @ weights)  # the feature, less what the others explain of it
        influence, size = Form(), Form()
        for weight, one in zip(weights, self.features, strict=True):
            influence.add(weight, *self.sources.product(one, self.response))
            for slope, again, other in zip(slopes, weights, self.features, strict=True):
                cells, question = self.sources.product(one, other)
                influence.add(-weight * slope, cells, question)
                size.add(weight * again, cells, question)
        sampling = self._sampling(influence, size, slopes)
        return Coefficient.of(self.features[j].name, estimate, influence, size, sampling)

    def _sampling(self, influence: Form, size: Form, slopes: FloatArray) -> float:
        """What sampling adds to the variance of an influence: its sum of squares, where one table has all columns (the
        sandwich); from pairs of columns what it would be if residuals had one variance.
        """
        if self.sources.is_whole:
            return max(sum(cells.total(each**2) for cells, each in influence.terms.items()), 0.0)
        return self._residual(slopes) * max(size.value, 0.0)

    def _residual(self, slopes: FloatArray) -> float:
        """The mean squared residual."""
        explained = 2.0 * slopes @ self.products - slopes @ self.moments @ slopes
        return max(self._sum(self.response, self.response) - float(explained), 0.0) / float(self.moments[0, 0])


def correlate(cells: Cells, one: str, other: str) -> Fit:
    """The correlation of two columns in one table."""
    mask = np.ones(cells.shape)
    for name in (one, other):
        mask = mask * spread(cells.round.axes[name].known, (name,), cells.columns)
    rows = cells.total(mask)
    if not rows > CLEAR_SPREAD * math.sqrt(cells.variance(mask)):
        return Fit()
    standard = []
    for name in (one, other):
        values = spread(cells.round.axes[name].middles, (name,), cells.columns)
        centred = mask * (values - cells.total(mask * values) / rows)
        # The square of a noisy mean is too large by its variance, so that a spread about it is too small.
        squares = cells.total(centred**2) + cells.variance(centred) / rows
        if not squares > CLEAR_SPREAD * math.sqrt(cells.variance(centred**2)):
            return Fit()
        standard.append(centred * math.sqrt(rows / squares))
    u, v = standard
    r = (cells.total(u * v) + cells.covariance(u, v) / rows) / rows
    size = (u**2 + v**2) / 2.0  # its sum is sd times sd, to first order, in units of both
    influence = u * v - r * size
    sampling = max(cells.total(influence**2), 0.0)
    found = Coefficient.of("correlation", r, Form().add(1.0, cells, influence), Form().add(1.0, cells, size), sampling)
    return Fit.of([found])


class LogisticModel:
    """Maximum likelihood for a response of two values, all columns being in one table.

    The scores are linear in the counts, which may be negative by noise: what solves them is unbiased to first order.
    """

    def __init__(self, sources: Sources, formula: Formula, schema: Mapping[str, Column]) -> None:
        self.cells = sources.cells(set(formula.columns))
        (outcome,) = features_of(sources.axis(formula.response), schema[formula.response])
        self.truth = spread(outcome.values, (formula.response,), self.cells.columns)
        self.features, self.centres = [ONE], [0.0]
        for name in formula.terms:
            axis = sources.axis(name)
            centre = float(axis.middles[axis.known].mean()) if isinstance(schema[name], Number) else 0.0
            more = features_of(axis, schema[name], centre)
            self.features += more
            self.centres += [centre] * len(more)
        rows = [sources.product(each, ONE)[1] for each in self.features]  # 0 in cells that are not known
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
                return Fit.of([self._coefficient(j, slopes, chance, curvature) for j in range(len(slopes))])
        return Fit()

    def _coefficient(self, j: int, slopes: FloatArray, chance: FloatArray, curvature: FloatArray) -> Coefficient:
        wanted = np.eye(len(slopes))[j] if j else np.append(1.0, np.negative(self.centres[1:]))
        weights = np.linalg.solve(curvature, wanted)
        combined = self.design @ (weights / (wanted @ weights))
        influence, size = combined * (self.truth - chance), combined**2 * chance * (1.0 - chance)
        sampling = max(self.cells.total(influence**2), 0.0)
        one, two = (Form().add(1.0, self.cells, each) for each in (influence, size))
        return Coefficient.of(self.features[j].name, float(wanted @ slopes), one, two, sampling)


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
