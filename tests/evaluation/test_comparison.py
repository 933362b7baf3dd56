"""All measures at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato import fit
from sfumato.errors import ArgumentError
from sfumato.evaluation.comparison import compare, log_likelihood

NAMES = {"tv1", "tv2", "tv3", "told_apart", "range_queries", "correlation", "contingency"}
JUDGES = {"lightgbm", "logistic", "forest", "any_column"}


def test_every_measure_that_is_defined() -> None:
    pytest.importorskip("lightgbm")
    train, test = frame(200, 0), frame(200, 1)
    found = compare(train, train, test, SCHEMA)
    assert set(found) == NAMES | JUDGES
    assert found["tv1"] == found["tv3"] == found["range_queries"] == 0.0
    assert set(compare(train, train, None, SCHEMA, rules=["n > 1"])) == NAMES | {"broken_rules"}


def test_a_release_has_a_log_likelihood() -> None:
    release = fit(frame(300, 0), SCHEMA, epsilon=4, delta=1e-3)
    rows = frame(50, 1)
    assert log_likelihood(release, rows) == pytest.approx(float(np.mean(release.log_density(rows))))


def test_what_has_no_density_has_no_likelihood() -> None:
    class Refuses:
        def log_density(self, table: pd.DataFrame) -> None:
            raise ArgumentError("no density")

    assert np.isnan(log_likelihood(Refuses(), frame(5, 0)))  # type: ignore[arg-type]
