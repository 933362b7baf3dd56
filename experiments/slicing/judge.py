"""What a table of synthetic rows is worth: how like the private rows it is, and what a classifier learns from it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from experiments.slicing import similarity
from experiments.three_a.data import DataSet
from experiments.three_a.judge import Scores, design, target
from sfumato.evaluation.typed_rows import numbers
from sfumato.schema.schema import Category
from sfumato.text import canonical

STEPS = 1000  # that logistic regression may take
F1 = "F1"


def table_scores(synthetic: pd.DataFrame, data: DataSet) -> Scores:
    """All columns of the table: likeness to the train rows, and the F1 that the test rows give."""
    return likeness(synthetic, data) | {F1: logistic_f1(synthetic, data)}


def real_scores(data: DataSet) -> Scores:
    """What real rows score: the test rows for likeness, as train rows would be compared with themselves, and the train
    rows for the classifier."""
    return likeness(data.test, data) | {F1: logistic_f1(data.train, data)}


def likeness(synthetic: pd.DataFrame, data: DataSet) -> Scores:
    """The four similarities to the train rows, the label among the categories."""
    assert data.schema is not None  # every table here has one
    categories = [name for name, column in data.schema.columns.items() if isinstance(column, Category)]
    others = [name for name in data.schema.columns if name not in categories]
    return similarity.scores(typed(data.train, data), typed(synthetic, data), others, categories)


def typed(frame: pd.DataFrame, data: DataSet) -> pd.DataFrame:
    """The schema's columns as floats and texts: a synthetic 1 is a real "1"."""
    assert data.schema is not None
    columns = {}
    for name, column in data.schema.columns.items():
        if isinstance(column, Category):
            columns[name] = frame[name].astype(object).map(lambda value: canonical(str(value)), na_action="ignore")
        else:
            columns[name] = numbers(frame[name], column)
    return pd.DataFrame(columns)


def logistic_f1(synthetic: pd.DataFrame, data: DataSet) -> float:
    """F1 of the positive class, the second one, on the test rows.

    Logistic regression (L2 penalty with C = 1, L-BFGS) on numbers standardised by the rows it is trained on, missing
    ones at their mean, and categories one-hot; whoever is more likely than not is called positive.
    """
    labels, truth = target(synthetic, data), target(data.test, data)
    if len(np.unique(labels)) < 2:  # nothing can be learned: all are called what all synthetic rows are
        return float(f1_score(truth, np.full(len(truth), labels[0]), zero_division=0.0))
    train, test = design(synthetic, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # enough steps for a score
        model = LogisticRegression(C=1.0, max_iter=STEPS).fit(train, labels)
    return float(f1_score(truth, model.predict(test), zero_division=0.0))
