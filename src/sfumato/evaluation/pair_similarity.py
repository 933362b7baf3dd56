"""How alike pairs of columns are, as SDMetrics defines it (docs.sdv.dev/sdmetrics; 1 is best).

CorrelationSimilarity of two number columns is 1 - |r' - r| / 2, r and r' their Pearson correlations among real and
synthetic rows. ContingencySimilarity of two categories is 1 minus half the sum of |p' - p| over all pairs of values.
"""

from __future__ import annotations

import numpy as np

from sfumato.evaluation.table_distances import counted, distance, tables
from sfumato.evaluation.typed_rows import TypedRows, gaps_allowed
from sfumato.schema.layout import FloatArray


def correlation_similarity(real: TypedRows, synthetic: TypedRows) -> float:
    """The mean over all pairs of ordered columns.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        From 0 to 1; NaN with fewer than two ordered columns. A constant column is taken to correlate with nothing.
    """
    names = list(real.numbers)
    if len(names) < 2:
        return float("nan")
    apart = np.abs(_correlations(real, names) - _correlations(synthetic, names))
    return float(np.mean(1 - apart[np.triu_indices(len(names), 1)] / 2))


def contingency_similarity(real: TypedRows, synthetic: TypedRows) -> float:
    """The mean over the pairs of listed columns, or over 5,000 of them.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        From 0 to 1; NaN with fewer than two listed columns.
    """
    pairs = tables(list(real.codes), 2)
    if not pairs:
        return float("nan")
    one, two = counted(real, real), counted(synthetic, real)
    return float(np.mean([1 - distance(one, two, pair) for pair in pairs]))


def _correlations(rows: TypedRows, names: list[str]) -> FloatArray:
    """Pearson correlations, missing numbers at their column's mean."""
    values = np.column_stack([rows.numbers[name] for name in names])
    with gaps_allowed():
        centred = np.nan_to_num(values - np.nanmean(values, axis=0))
    spread = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    return np.asarray(scaled.T @ scaled, dtype=np.float64)
