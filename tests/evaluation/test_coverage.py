"""The few are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.evaluation.coverage import rare_values, relative_error, small_groups
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "c": {"type": "category", "values": ["a", "b", "c", "d"]},
            "e": {"type": "category", "values": ["e", "f"]},
            "y": {"type": "category", "values": ["n", "p"]},
        },
    }
)


def rows(b: int, c: int, positive: int = 5) -> TypedRows:
    """1000 rows: b of value b, c of value c, and 10 of value d with e, of which some are positive."""
    values = ["a"] * (990 - b - c) + ["b"] * b + ["c"] * c + ["d"] * 10
    label = ["n"] * (1000 - positive) + ["p"] * positive
    return typed(pd.DataFrame({"c": values, "e": ["f"] * 990 + ["e"] * 10, "y": label}), SCHEMA)


def test_rare_values_that_come_or_do_not() -> None:
    """b and c are rare, and p of the label; d is not."""
    found = rare_values(rows(8, 5), rows(4, 0))
    assert found["rare_covered"] == pytest.approx(2 / 3)
    assert found["rare_error"] == pytest.approx((0.5 + 1.0 + 0.0) / 3)


def test_small_groups_and_the_label_inside() -> None:
    """The groups are (b, f), (c, f) and (d, e); in the last, half of the labels are positive, and then a fifth."""
    found = small_groups(rows(8, 5), rows(4, 5, positive=2))
    assert found["group_error"] == pytest.approx((0.5 + 0 + 0) / 3)
    assert found["group_label_error"] == pytest.approx((0 + 0 + 0.3) / 3)


def test_an_empty_group_counts_as_wholly_wrong() -> None:
    found = small_groups(rows(8, 5), rows(0, 5))
    assert found["group_label_error"] == pytest.approx(1 / 3)


def test_without_the_few_there_is_nothing_to_say() -> None:
    none = rows(0, 0, positive=0).take(slice(900))
    assert np.isnan(list(rare_values(none, none).values())).all()
    assert np.isnan(list(small_groups(none, none).values())).all()


def test_a_relative_error_is_one_at_the_most() -> None:
    assert relative_error(np.array([0.1, 0.1]), np.array([0.05, 0.9])) == pytest.approx(0.75)
