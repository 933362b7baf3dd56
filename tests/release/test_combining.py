"""Analyses of several draws, put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import sfumato as sf
from sfumato.errors import ArgumentError


def test_the_variance_is_that_of_fully_synthetic_rows() -> None:
    found = np.random.default_rng(0).normal(3.0, 1.0, 40)
    pooled = sf.combine(found, np.full(40, 0.05)).iloc[0]
    between = (1 + 1 / 40) * found.var(ddof=1)
    assert pooled["estimate"] == pytest.approx(found.mean())
    assert pooled["se"] ** 2 == pytest.approx(between - 0.05)
    assert pooled["df"] == pytest.approx(39 * (1 - 0.05 / between) ** 2)
    assert pooled["high"] - pooled["estimate"] == pytest.approx(student.ppf(0.975, pooled["df"]) * pooled["se"])


def test_claims_that_leave_nothing_give_the_spread_between_draws() -> None:
    pooled = sf.combine([1.0, 1.1, 1.2], [5.0, 5.0, 5.0]).iloc[0]
    assert pooled["se"] ** 2 == pytest.approx(4 / 3 * 0.01)
    assert pooled["df"] == 2.0
    assert sf.combine([1.0, 1.0], [0.0, 0.0])[["low", "high"]].to_numpy().tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(("draws", "ratio"), [(2, 0.1), (5, 1.0), (20, 0.1), (20, 1.0), (50, 0.5)])
def test_intervals_cover(draws: int, ratio: float) -> None:
    """The population's value is N(truth's estimate, 1) away, and each draw adds the variance of its own rows."""
    rng, times = np.random.default_rng(draws), 4000
    truth = rng.normal(size=times)
    drawn = rng.normal(0.0, np.sqrt(1.0 + ratio), (draws, times))
    pooled = sf.combine(drawn, np.full((draws, times), ratio))
    covered = ((pooled["low"] <= truth) & (truth <= pooled["high"])).mean()
    assert covered > 0.95 - 5.0 * np.sqrt(0.95 * 0.05 / times)


def test_lists_are_numbers_too() -> None:
    assert len(sf.combine([[1.0, 2.0], [1.1, 2.1]], [[0.1, 0.1], [0.1, 0.1]])) == 2


def test_names_of_coefficients_stay() -> None:
    fits = [pd.Series({"age": 1.0 + 0.1 * i, "sex": 2.0}) for i in range(4)]
    assert list(sf.combine(fits, [each * 0.0 for each in fits]).index) == ["age", "sex"]


@pytest.mark.parametrize(
    ("estimates", "variances", "level", "said"),
    [
        ([1.0], [1.0], 0.95, "two analyses"),
        ([1.0, 2.0], [1.0], 0.95, "two analyses"),
        ([1.0, 2.0], [1.0, 1.0], 95, "between 0 and 1"),
        ([[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0]], 0.95, "of the same numbers"),
        (["a", "b"], [1.0, 1.0], 0.95, "of the same numbers"),
        ([pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"b": 1.0, "a": 2.0})], [[1.0, 1.0]] * 2, 0.95, "in one order"),
        ([pd.Series({"a": 1.0}), pd.Series({"a": 1.0})], [pd.Series({"b": 1.0})] * 2, 0.95, "in one order"),
        ([1.0, np.nan], [1.0, 1.0], 0.95, "finite numbers"),
        ([1.0, 2.0], [1.0, np.inf], 0.95, "finite numbers"),
        ([1.0, 2.0], [1.0, -1.0], 0.95, "not negative"),
    ],
)
def test_what_cannot_be_combined(estimates: list[Any], variances: list[Any], level: float, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        sf.combine(estimates, variances, level)
