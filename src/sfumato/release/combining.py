"""Analyses of several draws of a population, put together.

Each draw is of a whole population, and the rows that are analysed are a sample of it: with B the variance of the
estimates between draws and u the mean of the variances that the analyses themselves claim, the estimate is their mean,
and its variance (1 + 1/m) B - u. That is the rule for fully synthetic rows (Raghunathan, Reiter and Rubin 2003,
"Multiple imputation for statistical disclosure limitation", Journal of Official Statistics 19, 1-16; degrees of freedom
by Reiter 2002, in the same journal, 18, 531-543). Rubin's own, u + (1 + 1/m) B, is for missing cells and counts the
rows' sampling twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from sfumato.errors import ArgumentError
from sfumato.schema.layout import FloatArray

UNLIKE = "combine needs two analyses or more of the same numbers, and as many variances as estimates of each"


def combine(estimates: Sequence[Any], variances: Sequence[Any], level: float = 0.95) -> pd.DataFrame:
    """Combine the same analysis of several draws of a release, `release.sample(draws=m)`, for the population.

    The variance is (1 + 1/m) B - u, and the interval that of Student's t with (m - 1) (1 - u / ((1 + 1/m) B))^2 degrees
    of freedom. Where u leaves little or nothing of B, because draws have few rows, (1 + 1/m) B with m - 1 degrees of
    freedom is taken where that is narrower: it is never too small. Model-based, as the draws are.

    Args:
        estimates: What each analysis found: a number, or an array or Series of them.
        variances: The squares of the standard errors that each analysis claims, of the same shape.
        level: How often intervals are to hold the population's value.

    Returns:
        One row a number, under the names of a Series: estimate, se, df, low and high.

    Raises:
        ArgumentError: There are fewer than two analyses, or they do not go together, as where a rare category is in
            some draws only; a number is none, or a variance negative; or the level is none.

    Example:
        >>> combine([1.0, 1.2, 1.4, 1.3, 1.1], [0.001] * 5).round(3)
           estimate     se   df    low   high
        0       1.2  0.173  4.0  0.719  1.681
    """
    names = _names([*estimates, *variances])
    found, claimed = _numbers(estimates), _numbers(variances)
    if len(found) < 2 or found.ndim != 2 or found.shape != claimed.shape:
        raise ArgumentError(UNLIKE)
    if not np.isfinite(found).all() or not np.isfinite(claimed).all() or (claimed < 0.0).any():
        raise ArgumentError("combine takes finite numbers, and variances that are not negative")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level must be between 0 and 1, not {level!r}")
    m = len(found)
    between = (1.0 + 1.0 / m) * found.var(axis=0, ddof=1)
    left = np.clip(1.0 - claimed.mean(axis=0) / np.where(between > 0.0, between, np.inf), 0.0, 1.0)
    shorter = [_half(between * left, (m - 1) * left**2, level), _half(between, np.full(len(left), m - 1.0), level)]
    whole = shorter[1] <= shorter[0]
    half = np.where(whole, shorter[1], shorter[0])
    middle = found.mean(axis=0)
    return pd.DataFrame(
        {
            "estimate": middle,
            "se": np.sqrt(between * np.where(whole, 1.0, left)),
            "df": (m - 1) * np.where(whole, 1.0, left**2),
            "low": middle - half,
            "high": middle + half,
        },
        index=names,
    )


def _names(parts: Sequence[Any]) -> pd.Index | None:
    """What Series call their numbers, all of them alike."""
    named = [part.index for part in parts if isinstance(part, pd.Series)]
    if not all(each.equals(named[0]) for each in named):
        raise ArgumentError("the analyses are not of the same numbers: combine those that every draw has, in one order")
    return named[0] if named else None


def _numbers(parts: Sequence[Any]) -> FloatArray:
    """(analyses, numbers)."""
    try:
        return np.array([np.atleast_1d(part) for part in parts], dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(UNLIKE) from None


def _half(variance: Any, freedom: Any, level: float) -> Any:
    """Half the width of an interval; without end where there is no freedom."""
    quantile = student.ppf((1.0 + level) / 2.0, np.where(freedom > 0.0, freedom, 1.0))
    return np.where(freedom > 0.0, quantile * np.sqrt(variance), np.inf)
