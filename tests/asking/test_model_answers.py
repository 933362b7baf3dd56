"""What the model says where no answer does."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.asking.simulated import SCHEMA, rows

from sfumato.asking.model_answers import ModelRows

FRAME = rows(3000)


def model(total: float | None = 500.0) -> ModelRows:
    release: Any = SimpleNamespace(schema=SCHEMA, sample=lambda n, seed: FRAME)
    return ModelRows(release, total)


def test_numbers_are_those_of_the_rows() -> None:
    young = FRAME.age < 40
    assert model().share("age < 40") == pytest.approx(young.mean())
    assert model().count("age < 40") == pytest.approx(500.0 * young.mean())
    assert model().count(None) == 500.0
    assert math.isnan(model(None).count(None))
    assert model().mean("hours", "age < 40") == pytest.approx(FRAME.hours[young].mean())
    assert model().quantile("hours", 0.25, None) == np.quantile(FRAME.hours, 0.25, method="inverted_cdf")
    assert model().correlation("age", "hours") == pytest.approx(FRAME.age.corr(FRAME.hours))


def test_where_no_row_is_nothing_is_known() -> None:
    assert math.isnan(model().quantile("hours", 0.5, "age > 59"))
    assert math.isnan(model().mean("hours", "age > 59"))


def test_groups_are_values_or_ranges() -> None:
    keys, means = model().means("hours", "sex", None)
    assert keys == ["f", "m"]
    assert means == pytest.approx(FRAME.groupby("sex").hours.mean().tolist())
    keys, shares = model().table("sex", "wage")
    assert sum(shares) == pytest.approx(1.0)
    assert len(keys) == 2 * 16
    assert ".." in keys[0][1]
