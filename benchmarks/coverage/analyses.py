"""Analyses of rows with the intervals of a textbook: of synthetic rows taken for real ones, and of combined draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from benchmarks.coverage.questions import Rows
from sfumato.release.combining import combine
from sfumato.release.release import Release

LEVEL = 0.95
DRAWS = 10
MOST_DRAWN = 150_000  # rows of a draw, for the sake of time
Interval = tuple[float, float]


@dataclass(frozen=True)
class Analysis:
    """Something that is estimated from rows: a number, and the square of the standard error that goes with it."""

    name: str
    of: Callable[[pd.DataFrame], tuple[float, float]]


def share(where: str) -> Analysis:
    """The share of rows for which something holds."""
    return Analysis(f"share of {where}", lambda frame: _mean(frame.eval(where).to_numpy(float)))


def mean(column: str) -> Analysis:
    """The mean of a column."""
    return Analysis(f"mean of {column}", lambda frame: _mean(frame[column].to_numpy(float)))


def correlation(one: str, other: str) -> Analysis:
    """A correlation, on Fisher's scale, where its standard error is 1 / sqrt(n - 3)."""

    def of(frame: pd.DataFrame) -> tuple[float, float]:
        found = np.corrcoef(frame[one].to_numpy(float), frame[other].to_numpy(float))[0, 1]
        return float(np.arctanh(found)), 1.0 / (len(frame) - 3)

    return Analysis(f"correlation of {one} and {other}", of)


def slope(outcome: str, feature: str) -> Analysis:
    """The slope of a linear regression, with the standard error that does not assume equal variances."""

    def of(frame: pd.DataFrame) -> tuple[float, float]:
        y, x = frame[outcome].to_numpy(float), frame[feature].to_numpy(float)
        away = x - x.mean()
        found = float(away @ y / (away @ away))
        rest = y - y.mean() - found * away
        return found, float((away**2 @ rest**2) / (away @ away) ** 2)

    return Analysis(f"{outcome} ~ {feature}, slope", of)


def _mean(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    return float(values.mean()), float(values.var(ddof=1) / len(values))


ANALYSES = {
    "simulated": (
        share("region == 'east'"),
        share("score >= 6"),
        share("income > 33333"),
        mean("visits"),
        mean("income"),
        correlation("visits", "score"),
        slope("score", "visits"),
        slope("visits", "age"),
    ),
    "adult": (
        share("sex == 'Female'"),
        share("hours_per_week > 40"),
        share("fnlwgt > 200000"),
        mean("age"),
        mean("capital_gain"),
        correlation("age", "hours_per_week"),
        slope("hours_per_week", "age"),
        slope("hours_per_week", "education_num"),
    ),
}


def from_rows(
    analyses: tuple[Analysis, ...], release: Release, rows: int, population: Rows, seed: int
) -> Iterator[tuple[str, float, Interval]]:
    """As many synthetic rows as real ones, taken at face value: for each analysis the truth, and the interval."""
    frame = release.sample(rows, seed=seed)
    z = float(ndtri((1.0 + LEVEL) / 2.0))
    for each in analyses:
        found, variance = each.of(frame)
        yield each.name, truth(each, population), (found - z * variance**0.5, found + z * variance**0.5)


def from_draws(
    analyses: tuple[Analysis, ...], release: Release, rows: int, population: Rows, seed: int
) -> Iterator[tuple[str, float, Interval]]:
    """Draws of the population, analysed one by one and combined."""
    frames = release.sample(min(10 * rows, MOST_DRAWN), seed=seed, draws=DRAWS)
    for each in analyses:
        found, claimed = zip(*map(each.of, frames), strict=True)
        pooled = combine(found, claimed, LEVEL).iloc[0]
        yield each.name, truth(each, population), (float(pooled["low"]), float(pooled["high"]))


def truth(analysis: Analysis, population: Rows) -> float:
    """What is true of the population."""
    return float(population.once(analysis.name, partial(_found, analysis, population)))


def _found(analysis: Analysis, population: Rows) -> float:
    return analysis.of(population.frame)[0]
