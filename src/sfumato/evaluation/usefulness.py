"""How well synthetic rows stand in for real ones: distances of marginals, and a classifier's AUC."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.schema.columns import Column, Listed, category_text
from sfumato.schema.layout import NOWHERE, FloatArray, bins_of
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import Cells, code_cells

MARGINAL_BINS = 20


def features(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The schema's features as a tree-based model takes them: floats and pandas categories."""
    columns = {}
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Listed):
            codes = _cells(table[name], column).codes
            codes = np.where(codes < len(column.levels), codes, NOWHERE)
            columns[name] = pd.Series(
                pd.Categorical.from_codes(codes, pd.Index(list(map(category_text, column.levels))))
            )
        else:
            columns[name] = numbers(table[name], column)
    return pd.DataFrame(columns)


def numbers(values: pd.Series, column: Column) -> pd.Series:
    """Values as their column counts (dates in days, times in seconds), NaN where missing."""
    return pd.Series(_cells(values, column).values)


def _cells(values: pd.Series, column: Column) -> Cells:
    bins = bins_of(column)
    parts = [code_cells(batch.column(0), bins) for batch in open_table(values.to_frame("cells")).batches(["cells"])]
    codes = np.concatenate([np.zeros(0, dtype=np.int64), *(part.codes for part in parts)])
    return Cells(codes, np.concatenate([np.zeros(0), *(part.values for part in parts if part.values is not None)]))


def auc(train: pd.DataFrame, test: pd.DataFrame, schema: Schema, positive: object) -> float:
    """The AUC of scikit-learn's histogram gradient boosting.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows to test on.
        schema: Of both; it has a label.
        positive: The value of the label that is to be told from the others.

    Returns:
        The area under the ROC curve on `test`.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    model.fit(features(train, schema), train[schema.label] == positive)
    scores = model.predict_proba(features(test, schema))[:, 1]
    return float(roc_auc_score(test[schema.label] == positive, scores))


def marginal(values: pd.Series, reference: pd.Series, column: Column) -> FloatArray:
    """Shares of a column's values: by category, or in equal bins over the reference's range."""
    if isinstance(column, Listed):
        codes = _cells(values, column).codes
        counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))[: len(column.levels)]
        return np.asarray(counts / max(len(values), 1), dtype=np.float64)
    known = numbers(reference, column)
    edges = np.linspace(known.min(), known.max(), MARGINAL_BINS + 1)
    counts, _ = np.histogram(np.clip(numbers(values, column), edges[0], edges[-1]), bins=edges)
    return np.asarray(counts / max(len(values), 1), dtype=np.float64)


def total_variation(synthetic: pd.DataFrame, real: pd.DataFrame, schema: Schema) -> dict[str, float]:
    """The total-variation distance between real and synthetic marginals.

    Args:
        synthetic: Rows of a release.
        real: The rows that it was made of, or others.
        schema: Of both.

    Returns:
        By column, numbers in equal bins over the range of the real ones.
    """
    distances = {}
    for name, column in schema.columns.items():
        ours = marginal(synthetic[name], real[name], column)
        distances[name] = float(0.5 * np.abs(ours - marginal(real[name], real[name], column)).sum())
    return distances
