"""How well synthetic rows stand in for real ones: distances of marginals, and a classifier's AUC."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Category, Column, Date, Schema
from sfumato.text import canonical

MARGINAL_BINS = 20


def features(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The schema's features as a tree-based model takes them: floats and pandas categories."""
    columns = {}
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Category):
            columns[name] = pd.Series(pd.Categorical(_texts(table[name]), categories=column.texts))
        else:
            columns[name] = numbers(table[name], column)
        columns[name] = columns[name].reset_index(drop=True)
    return pd.DataFrame(columns)


def numbers(values: pd.Series, column: Column) -> pd.Series:
    """Numbers as floats and dates as days, NaN where missing."""
    if isinstance(column, Date):
        return (pd.to_datetime(values) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return values.astype(float)


def _texts(values: pd.Series) -> pd.Series:
    return values.map(lambda value: canonical(str(value)))


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
    if isinstance(column, Category):
        shares = _texts(values).value_counts(normalize=True)
        return np.asarray(shares.reindex(column.texts).fillna(0.0), dtype=np.float64)
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
