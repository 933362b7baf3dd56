"""Regressors measure what they learn, in the unit of the column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import RELATED, SCHEMA, frame, related

from sfumato.evaluation.regression_judges import REGRESSORS, errors_of, judge_constant, judge_number
from sfumato.evaluation.typed_rows import typed


def test_errors_by_hand() -> None:
    assert errors_of(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])) == {
        "r2": pytest.approx(0.5),
        "error": pytest.approx(1 / 3),
    }
    assert np.isnan(errors_of(np.ones(2), np.ones(2))["r2"])


@pytest.mark.slow
def test_judges_learn_a_number_where_there_is_something_to_learn() -> None:
    pytest.importorskip("lightgbm")
    test = typed(related(500, 1), RELATED)
    good = judge_number(typed(related(500, 0), RELATED), test, "a")
    bad = judge_number(typed(related(500, 0, "a"), RELATED), test, "a")
    assert set(good) == {f"{judge}_{end}" for judge in REGRESSORS for end in ("r2", "error")}
    for judge in REGRESSORS:
        assert good[f"{judge}_r2"] > 0.8
        assert bad[f"{judge}_r2"] < 0.2
        assert good[f"{judge}_error"] < bad[f"{judge}_error"]


def test_dates_are_learned_in_days_and_gaps_left_out() -> None:
    """The label says whether a date is early or late, by a hundred days."""
    tables = [frame(400, seed) for seed in (0, 1)]
    for table in tables:
        late = (table["y"] == "q").to_numpy()
        table["d"] = (pd.Timestamp("2020-03-01") + pd.to_timedelta(100 * late, unit="D")).where(table["d"].notna())
    train, test = (typed(table, SCHEMA) for table in tables)
    found = judge_number(train, test, "d", ["linear"])
    assert found["linear_r2"] > 0.99
    assert found["linear_error"] < 1.0
    assert 45 < judge_constant(train, test, "d")["error"] < 55


def test_too_few_known_rows_say_nothing() -> None:
    rows = typed(related(30, 0), RELATED)
    gone = rows.take(slice(10))
    assert np.isnan(list(judge_number(gone, rows, "a", ["linear"]).values())).all()
