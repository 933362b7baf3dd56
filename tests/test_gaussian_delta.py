"""delta(epsilon) of Gaussian DP: its special functions against mpmath, its expectation against sums and quadrature."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import erfc, erfcx, gammainc, gammaincc
from tests.private.slicing.test_law import EPSILON, by_quadrature
from tests.private.test_accounting import exact_delta

from sfumato import gaussian_delta
from sfumato.gaussian_delta import delta_left, expected_delta
from sfumato.private.slicing.law import Slices, sliced_delta


@pytest.mark.parametrize(("epsilon", "mu"), [(0.1, 0.02), (1.0, 0.25), (1.0, 40.0), (30.0, 3.0)])
def test_one_mu_is_never_below_the_truth(epsilon: float, mu: float) -> None:
    assert exact_delta(epsilon, mu) <= gaussian_delta.gaussian_delta(epsilon, mu) <= 1.0


def test_what_is_set_aside_is_taken_off_and_never_too_little() -> None:
    assert delta_left(1.0, 1e-5, 0.0) == 1e-5
    assert delta_left(1.0, 1e-5, 1e-6) + (1.0 + math.e) * 1e-6 <= 1e-5
    assert delta_left(1.0, 1e-5, 1e-5) == delta_left(700.0, 1e-5, 1e-300) == 0.0


def test_a_law_without_spread_is_one_mu() -> None:
    found = expected_delta(1.0, 0.0625, 0.0, 7)
    assert found == pytest.approx(gaussian_delta.gaussian_delta(1.0, 0.25), rel=1e-3)
    assert found >= exact_delta(1.0, 0.25)


@pytest.mark.parametrize("laws", [1, 4])
def test_an_expectation_is_that_of_numbers_drawn(laws: int) -> None:
    """Laws that are independent: the bound, which holds for all that depend on each other, lies hardly above."""
    drawn = np.random.default_rng(4).chisquare(6, (20_000, laws)).max(axis=1)
    seen = np.array([gaussian_delta.gaussian_delta(1.0, math.sqrt(0.1 + 0.02 * x)) for x in drawn])
    error = 5.5 * seen.std() / math.sqrt(len(seen))
    found = expected_delta(1.0, 0.1, 0.02, 6, laws)
    assert seen.mean() - error < found < (seen.mean() + error) * (1.0 if laws == 1 else 1.6)


def test_a_grid_that_rounds_down_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = Slices(10, 3, 1.0, 3.0)
    exact = by_quadrature(EPSILON, 0.0, slices)
    assert sliced_delta(EPSILON, 0.0, slices) >= exact
    whole = gaussian_delta._split

    def lower_ends(*arguments: Any) -> Any:
        return np.append(whole(*arguments)[1:], 0.0)

    monkeypatch.setattr(gaussian_delta, "_split", lower_ends)
    gaussian_delta._grid.cache_clear()
    assert sliced_delta(EPSILON, 0.0, slices) < exact
    gaussian_delta._grid.cache_clear()


# The functions it rests on


@pytest.mark.parametrize("half", [0.5, 1.0, 5.5, 50.0, 51.0, 500.0, 1e4])
def test_the_special_functions_are_as_good_as_is_relied_on(half: float) -> None:
    law = stats.gamma(half)
    for p in (1e-12, 1e-4, 0.3):
        low, high = float(law.ppf(p)), float(law.isf(p))
        with mpmath.workdps(60):
            exact = mpmath.gammainc(half, 0, low, regularized=True), mpmath.gammainc(half, high, regularized=True)
        assert abs(gammainc(half, low) / exact[0] - 1) < 2e-12
        assert abs(gammaincc(half, high) / exact[1] - 1) < 2e-12


def test_special_functions_are_better_than_assumed() -> None:
    rng = np.random.default_rng(0)
    with mpmath.workdps(60):
        for x in rng.uniform(0.0, 40.0, 500).tolist():
            assert abs(float(erfcx(x)) / (mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x)) - 1) < 2.0**-49
            assert abs(float(erfc(-x)) / mpmath.erfc(-x) - 1) < 2.0**-49
