"""Classifiers as judges: what they learn from synthetic rows, and whether they tell them from real ones.

All scores are areas under the ROC curve (AUC). Of a column of several classes it is the mean of one class against the
rest, weighted by their counts among the test rows; classes of fewer than 20 test rows are left out. LightGBM comes with
the extra `evaluate`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.evaluation.typed_rows import TypedRows, gaps_allowed
from sfumato.schema.layout import FloatArray, IntArray

CLASSIFIERS = ("lightgbm", "logistic", "forest")
FEWEST_OF_A_CLASS = 20  # test rows, for an AUC that says something
MOST_TRAINING_ROWS = 50_000  # the judges see no more: more rows would cost hours and say the same
QUICK_TREES = 30  # of LightGBM, where every column is a target
LOGISTIC_STEPS = 300


def judge_label(train: TypedRows, test: TypedRows) -> dict[str, float]:
    """What three classifiers of the label learn from some rows.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows that none of them was made of.

    Returns:
        The AUC on the test rows of LightGBM as it comes, logistic regression and a random forest.

    Raises:
        ArgumentError: The schema has no label.
    """
    return judge_classes(train, test, label(train))


def judge_classes(
    train: TypedRows, test: TypedRows, name: str, judges: Sequence[str] = CLASSIFIERS
) -> dict[str, float]:
    """What classifiers learn of a column from some rows.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows that none of them was made of.
        name: The column; a number is split at the median of the train rows.
        judges: Which classifiers.

    Returns:
        The AUC of each on the test rows.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    train = some(train)
    middle = median(train, name)
    known, truth = target(train, name, middle), target(test, name, middle)
    if len(np.unique(known)) < 2:
        return dict.fromkeys(judges, 0.5)
    rows = views(train, test, name)
    models: dict[str, Callable[[], Any]] = {
        "lightgbm": lightgbm,
        "logistic": lambda: LogisticRegression(max_iter=LOGISTIC_STEPS),
        "forest": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
    }
    return {judge: learned(models[judge](), rows[judge], known, truth) for judge in judges}


def views(train: TypedRows, test: TypedRows, name: str) -> dict[str, tuple[Any, Any]]:
    """All columns but one, as each judge takes them: of the rows to train on, and of those to test on."""
    others = [each for each in train.names if each != name]
    standard = design(train, test, others)
    plain = train.features(others), test.features(others)
    return {"lightgbm": plain, "logistic": standard, "forest": standard, "linear": standard}


def any_column(train: TypedRows, test: TypedRows, real: TypedRows) -> float:
    """What LightGBM learns of every column from all others.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows that none of them was made of.
        real: The real rows, whose medians split the numbers in two.

    Returns:
        The mean AUC over the columns as targets; a column that is constant among the rows to train on counts 0.5.
    """
    train = some(train)
    scores = [column_score(train, test, name, median(real, name)) for name in train.names]
    with gaps_allowed():
        return float(np.nanmean(scores))


def column_score(train: TypedRows, test: TypedRows, name: str, middle: float) -> float:
    """The AUC of one column as the target of a small LightGBM; NaN where the test rows cannot tell."""
    known, truth = target(train, name, middle), target(test, name, middle)
    if len(np.unique(known)) < 2:
        return 0.5
    others = [each for each in train.names if each != name]
    rows = train.features(others), test.features(others)
    return learned(lightgbm(n_estimators=QUICK_TREES), rows, known, truth)


def told_apart(real: TypedRows, synthetic: TypedRows) -> float:
    """How well LightGBM tells synthetic rows from real ones.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        The AUC on half of the rows, after training on the other half: 0.5 where it cannot tell.
    """
    from sklearn.metrics import roc_auc_score

    size = min(real.size, synthetic.size, MOST_TRAINING_ROWS)
    both = [some(rows, size).features(real.names) for rows in (real, synthetic)]
    is_real = np.repeat([1, 0], size)
    order = np.random.default_rng(0).permutation(2 * size)
    rows = pd.concat(both, ignore_index=True)
    model = lightgbm().fit(plainly_named(rows.iloc[order[:size]]), is_real[order[:size]])
    scores = model.predict_proba(plainly_named(rows.iloc[order[size:]]))[:, 1]
    return float(roc_auc_score(is_real[order[size:]], scores))


def boosted_auc(train: TypedRows, test: TypedRows) -> float:
    """What scikit-learn's histogram gradient boosting learns of the label: a judge that needs no extra.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows that none of them was made of.

    Returns:
        The AUC on the test rows.

    Raises:
        ArgumentError: The schema has no label.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    name = label(train)
    others = [each for each in train.names if each != name]
    middle = median(train, name)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    rows = train.features(others), test.features(others)
    return learned(model, rows, target(train, name, middle), target(test, name, middle))


def learned(
    model: Any, rows: tuple[Any, Any], known: IntArray, truth: IntArray, weights: FloatArray | None = None
) -> float:
    """Train a model on the first rows, by weight if these have any, and score it on the second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, and of classes that are not there
        model.fit(plainly_named(rows[0]), known, sample_weight=weights)
        return weighted_auc(truth, model.predict_proba(plainly_named(rows[1])), model.classes_)


def weighted_auc(truth: IntArray, scores: FloatArray, classes: IntArray) -> float:
    """The AUC of each class against the rest, averaged by how many test rows are of it.

    Args:
        truth: The class of each test row.
        scores: The probability of each class, (rows, classes).
        classes: Which classes the columns of the scores are.

    Returns:
        The weighted mean over classes of at least 20 test rows; NaN where there is none.
    """
    from sklearn.metrics import roc_auc_score

    counts = [int((truth == each).sum()) for each in classes]
    counted = [place for place, count in enumerate(counts) if FEWEST_OF_A_CLASS <= count < len(truth)]
    if not counted:
        return float("nan")
    found = [roc_auc_score(truth == classes[place], scores[:, place]) for place in counted]
    return float(np.average(found, weights=[counts[place] for place in counted]))


def label(rows: TypedRows) -> str:
    """The label's name."""
    if rows.schema.label is None:
        raise ArgumentError("the schema has no label to judge by; name one, or leave the judges of the label out")
    return rows.schema.label


def target(rows: TypedRows, name: str, middle: float) -> IntArray:
    """A column as classes: its levels, or whether a number is above the middle."""
    return rows.codes[name] if name in rows.codes else (rows.numbers[name] > middle).astype(np.int64)


def median(rows: TypedRows, name: str) -> float:
    """The median of a number column; of a category nothing."""
    known = rows.numbers.get(name, np.zeros(0))
    known = known[~np.isnan(known)]
    return float(np.median(known)) if len(known) else float("nan")


def some(rows: TypedRows, most: int = MOST_TRAINING_ROWS) -> TypedRows:
    """All rows, or some drawn with a fixed seed where there are more: the first ones may be of one kind."""
    if rows.size <= most:
        return rows
    return rows.take(np.sort(np.random.default_rng(0).permutation(rows.size)[:most]))


def design(train: TypedRows, test: TypedRows, names: list[str]) -> tuple[FloatArray, FloatArray]:
    """Numbers and one-hot categories, standardised by the rows to train on; missing numbers at their mean."""
    raw = [np.column_stack([block for name in names for block in _columns(rows, name)]) for rows in (train, test)]
    with gaps_allowed():
        mean, spread = np.nanmean(raw[0], axis=0), np.nanstd(raw[0], axis=0, ddof=1) + 1e-9
    one, two = (np.nan_to_num((each - mean) / spread) for each in raw)
    return one, two


def _columns(rows: TypedRows, name: str) -> list[FloatArray]:
    if name in rows.numbers:
        return [rows.numbers[name]]
    return [(rows.codes[name] == level).astype(np.float64) for level in range(rows.levels(name))]


def plainly_named(rows: Any) -> Any:
    """Rows whose columns have names that LightGBM takes, which are not all."""
    return rows.set_axis([f"x{place}" for place in range(rows.shape[1])], axis=1) if hasattr(rows, "set_axis") else rows


def has_lightgbm() -> bool:
    """Whether LightGBM is installed, and finds the libraries that it needs itself."""
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


def lightgbm(kind: str = "LGBMClassifier", **options: Any) -> Any:
    """LightGBM as it comes, silent."""
    try:
        import lightgbm as library
    except ImportError:
        raise MissingExtraError("LightGBM is missing; install it by pip install 'sfumato[evaluate]'") from None
    threads = os.environ.get("OMP_NUM_THREADS", "")  # which it would not ask: many at once get into each other's way
    return getattr(library, kind)(verbose=-1, n_jobs=int(threads) if threads.isdigit() else None, **options)
