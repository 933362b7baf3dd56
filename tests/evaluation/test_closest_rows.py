"""How near rows are, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.evaluation.closest_rows import NOT_PRIVACY, closeness, copies, real_closeness
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "columns": {
            "x": {"type": "number", "min": 0, "max": 100, "missing": True},
            "c": {"type": "category", "values": ["a", "b"]},
        }
    }
)


def rows(x: list[float | None], c: str) -> TypedRows:
    return typed(pd.DataFrame({"x": pd.Series(x, dtype=float), "c": list(c)}), SCHEMA)


TRAIN = rows([0, 10, 20, 30], "aaaa")
TEST = rows([40, 50, 60, 70], "bbbb")


def test_distances_are_of_ranks_and_of_values() -> None:
    """One row is a train row; one is a test row, four of eight ranks from the last train row and of another value."""
    found = closeness(TRAIN, TEST, rows([10, 70], "ab"))
    assert found == {"nearer_train": 0.5, "closest": pytest.approx((0 + (4 / 8 + 1) / 2) / 2), "copies": 0.5}
    assert closeness(TRAIN, TEST, rows([10, 20], "aa"))["nearer_train"] == 1.0
    assert real_closeness(TRAIN, TEST) == {"closest": pytest.approx((2.5 / 8 + 1) / 2), "copies": 0.0}


def test_a_missing_number_is_far_from_all_but_another() -> None:
    gaps = rows([None, None], "aa")
    assert closeness(TRAIN, gaps, gaps)["nearer_train"] == 0.0
    assert closeness(TRAIN, TEST, gaps)["closest"] == 0.5
    assert closeness(gaps, TEST, gaps)["closest"] == 0.0


def test_copies_are_equal_in_every_cell() -> None:
    assert copies(TRAIN, rows([0, 10, 11, 30], "aaab")) == 0.5
    assert copies(rows([None], "a"), rows([None, 0], "aa")) == 0.5


def test_rows_of_one_kind_are_as_near_to_the_one_as_to_the_other() -> None:
    rng = np.random.default_rng(0)
    one, two, three = (rows(list(rng.uniform(0, 100, 600)), "".join(rng.choice(["a", "b"], 600))) for _ in range(3))
    assert 0.4 < closeness(one, two, three)["nearer_train"] < 0.6


def test_why_it_is_no_measure_of_privacy_is_said() -> None:
    assert NOT_PRIVACY.startswith("No measure of privacy")
    assert "threshold" in NOT_PRIVACY
