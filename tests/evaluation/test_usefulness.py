"""The yardsticks measure what they claim."""

from __future__ import annotations

import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation.usefulness import auc, features, marginal, total_variation


def test_equal_tables_are_at_distance_zero_and_disjoint_ones_at_one() -> None:
    one = frame(500, 0)
    assert set(total_variation(one, one, SCHEMA).values()) == {0.0}
    other = one.assign(c=1 - one["c"], y="p")
    found = total_variation(other, one.assign(c=0.0, y="q"), SCHEMA)
    assert found["y"] == 1.0
    assert found["n"] == 0.0


def test_categories_compare_as_the_schema_compares_them() -> None:
    """1.0 is 1 and True is true, so no mass is lost."""
    rows = frame(500, 0)
    for name in ("c", "b", "y"):
        assert marginal(rows[name], rows[name], SCHEMA.columns[name]).sum() == pytest.approx(1.0)
    assert not features(rows, SCHEMA)[["c", "b"]].isna().any(axis=None)


def test_dates_and_missing_numbers_become_features() -> None:
    found = features(frame(500, 0), SCHEMA)
    assert list(found) == ["n", "d", "c", "b"]
    assert found["d"].isna().sum() == found["n"].isna().sum() == 50
    assert found["d"].min() >= 18_262  # days since 1970
    assert found["d"].max() <= 18_262 + 365


def test_auc_measures_what_a_model_learns() -> None:
    test = frame(2000, 1)
    informed, blind = auc(frame(2000, 0), test, SCHEMA, "q"), auc(frame(2000, 0, gap=0.0), test, SCHEMA, "q")
    assert informed > 0.85
    assert blind < 0.75
