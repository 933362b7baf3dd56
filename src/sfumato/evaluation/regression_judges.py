"""Regressors as judges: what they learn of a number from synthetic rows, in the number's own unit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.evaluation.judges import FEWEST_OF_A_CLASS, lightgbm, plainly_named, some, views
from sfumato.evaluation.typed_rows import TypedRows
from sfumato.schema.layout import FloatArray

REGRESSORS = ("lightgbm", "linear", "forest")


def judge_number(train: TypedRows, test: TypedRows, name: str, judges: Sequence[str] = REGRESSORS) -> dict[str, float]:
    """What regressors learn of an ordered column from some rows; rows without a value of it are left out.

    Args:
        train: Rows to train on, such as synthetic ones.
        test: Real rows that none of them was made of.
        name: The column: a number, a date, a time or a duration.
        judges: Which regressors.

    Returns:
        Of each judge, `_r2`: 1 minus its mean squared error relative to that of the mean of the test rows (1 is best; 0
        is no better than that mean, and less is worse), and `_error`, its mean absolute error in the column's unit
        (days of dates, seconds of times). NaN where fewer than 20 rows have a value.
    """
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge

    train, test = some(_known(train, name)), _known(test, name)
    if min(train.size, test.size) < FEWEST_OF_A_CLASS:
        return {f"{judge}_{end}": float("nan") for judge in judges for end in ("r2", "error")}
    rows, known, truth = views(train, test, name), train.numbers[name], test.numbers[name]
    models: dict[str, Callable[[], Any]] = {
        "lightgbm": lambda: lightgbm("LGBMRegressor"),
        "linear": Ridge,
        "forest": lambda: RandomForestRegressor(100, min_samples_leaf=5, max_features="sqrt", random_state=0),
    }
    found: dict[str, float] = {}
    for judge in judges:
        guesses = _guesses(models[judge](), rows[judge], known)
        found |= {f"{judge}_{end}": value for end, value in errors_of(guesses, truth).items()}
    return found


def judge_constant(train: TypedRows, test: TypedRows, name: str) -> dict[str, float]:
    """What the mean of the train rows is worth as a guess: what every judge should exceed."""
    known, truth = (_known(rows, name).numbers[name] for rows in (train, test))
    return errors_of(np.full(len(truth), known.mean()), truth)


def errors_of(guesses: FloatArray, truth: FloatArray) -> dict[str, float]:
    """R squared and the mean absolute error."""
    spread = float(np.mean((truth - truth.mean()) ** 2))
    missed = float(np.mean((truth - guesses) ** 2))
    return {
        "r2": 1.0 - missed / spread if spread > 0 else float("nan"),
        "error": float(np.mean(np.abs(truth - guesses))),
    }


def _known(rows: TypedRows, name: str) -> TypedRows:
    return rows.take(np.isfinite(rows.numbers[name]))


def _guesses(model: Any, rows: tuple[Any, Any], known: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(plainly_named(rows[0]), known)
        return np.asarray(model.predict(plainly_named(rows[1])), dtype=np.float64)
