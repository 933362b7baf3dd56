"""How alike two tables are, column by column and pair by pair: the four scores of SDMetrics, from their definitions.

All lie in [0, 1], 1 is best. What SDMetrics 0.32 gives on fixed frames is kept in results/sdmetrics.json, and the tests
compare (check_sdmetrics.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def scores(
    real: pd.DataFrame, synthetic: pd.DataFrame, numbers: Sequence[str], categories: Sequence[str]
) -> dict[str, float]:
    """Each score as its mean over columns, or over pairs of columns."""
    ks = [ks_complement(real[name], synthetic[name]) for name in numbers]
    tv = [tv_complement(real[name], synthetic[name]) for name in categories]
    contingency = [contingency_similarity(real[[a, b]], synthetic[[a, b]]) for a, b in combinations(categories, 2)]
    correlation = [correlation_similarity(real[[a, b]], synthetic[[a, b]]) for a, b in combinations(numbers, 2)]
    found = {
        "KSComplement": ks,
        "TVComplement": tv,
        "ContingencySimilarity": contingency,
        "CorrelationSimilarity": [value for value in correlation if value is not None],
    }
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def ks_complement(real: pd.Series, synthetic: pd.Series) -> float:
    """1 less the Kolmogorov-Smirnov statistic, the largest distance between two empirical CDFs. Missing values do not
    count; a column that has nothing else scores 0, where SDMetrics gives none."""
    x, y = (np.sort(column.dropna().to_numpy(dtype=np.float64)) for column in (real, synthetic))
    if not len(x) or not len(y):
        return 0.0
    at = np.concatenate([x, y])
    first, second = (np.searchsorted(values, at, side="right") / len(values) for values in (x, y))
    return float(1.0 - np.abs(first - second).max())


def tv_complement(real: pd.Series, synthetic: pd.Series) -> float:
    """1 less the total variation distance, half the sum of |p - q| over categories. Missing values do not count.

    SDMetrics adds a millionth of a row to each category that real rows lack; with n rows that is below 1e-6 / n.
    """
    return _overlap(*(column.dropna() for column in (real, synthetic)))


def contingency_similarity(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """The same of a pair of columns, over the combinations of their values. Missing is a value here."""
    codes = [_codes(real[name], synthetic[name]) for name in real.columns]
    width = max(part.max() for part in codes[1]) + 1
    first, second = (a * width + b for a, b in zip(*codes, strict=True))
    return _common(first, second)


def correlation_similarity(real: pd.DataFrame, synthetic: pd.DataFrame) -> float | None:
    """1 - |rho - rho'| / 2 of Pearson's correlations, on rows that have both values.

    None where real rows have no correlation, as one column is constant. Synthetic rows without one count as
    uncorrelated; SDMetrics leaves such pairs out, which would pay for a column that has collapsed.
    """
    wanted, found = pearson(real), pearson(synthetic)
    return None if wanted is None else 1.0 - abs(wanted - (found or 0.0)) / 2.0


def pearson(pair: pd.DataFrame) -> float | None:
    """Pearson's correlation of two columns; None where there is none."""
    x, y = pair.dropna().to_numpy(dtype=np.float64).T
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = x - x.mean(), y - y.mean()
    return float((x @ y) / np.sqrt((x @ x) * (y @ y)))


def _overlap(real: pd.Series, synthetic: pd.Series) -> float:
    return _common(*_codes(real, synthetic)) if len(real) and len(synthetic) else 0.0


def _codes(real: pd.Series, synthetic: pd.Series) -> tuple[IntArray, IntArray]:
    """Values as numbers from 0, the same in both; missing is one of them."""
    both = pd.concat([real, synthetic], ignore_index=True).astype(object)
    codes = np.asarray(pd.factorize(both.where(both.notna(), None), use_na_sentinel=False)[0], dtype=np.int64)
    return codes[: len(real)], codes[len(real) :]


def _common(first: IntArray, second: IntArray) -> float:
    """1 - 1/2 sum |p - q| of the shares of codes."""
    size = int(max(first.max(), second.max())) + 1
    p, q = (np.bincount(codes, minlength=size) / len(codes) for codes in (first, second))
    return float(1.0 - 0.5 * np.abs(p - q).sum())
