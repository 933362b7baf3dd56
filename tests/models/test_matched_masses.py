"""Probabilities of boxes by moments: against slow arithmetic row by row, and against the integral itself."""

import numpy as np
import pytest
from tests.models.grids import DIM, ROWS, boxes_of, factor_of
from tests.models.plain_boxes import plainly_matched

from sfumato.models import matched_masses
from sfumato.models.box_integrals import drawn_log_masses, sobol_points
from sfumato.models.matched_masses import matched_log_masses
from sfumato.schema.layout import FloatArray

FINE = 13  # log2 of the points for the integral itself
WIDE = 14


@pytest.mark.every(2)
@pytest.mark.parametrize("noise", [1.0, 0.1])
def test_boxes_have_what_moments_say_row_by_row(noise: float) -> None:
    factor = factor_of(DIM, seed=0, noise=noise)
    low, high = boxes_of(factor, seed=1)
    known = [plainly_matched(factor @ factor.T, low[:, i], high[:, i]) for i in range(ROWS)]
    np.testing.assert_allclose(matched_log_masses(factor, low, high), known, rtol=1e-6, atol=1e-6)


def errors(found: FloatArray, known: FloatArray) -> FloatArray:
    """How far logarithms are from those of the integral: at the median and at the ninth decile."""
    return np.quantile(np.abs(found - known), [0.5, 0.9])


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(4))
def test_they_are_the_integral_to_a_few_thousandths(seed: int) -> None:
    """Of rows that the normal has: nearer than what 16 points give, and than wide intervals first."""
    factor = factor_of(WIDE, seed)
    low, high = boxes_of(factor, seed, far=0.0)
    most = np.array([0.005, 0.05])
    known = drawn_log_masses(factor, low, high, sobol_points(WIDE, FINE))
    assert (errors(matched_log_masses(factor, low, high), known) < most).all()
    assert (errors(drawn_log_masses(factor, low, high, sobol_points(WIDE, 4)), known) > most).all()
    backwards = np.linalg.cholesky((factor @ factor.T)[::-1, ::-1])
    assert (errors(matched_log_masses(backwards, low[::-1], high[::-1]), known) > most).all()


def test_one_interval_and_independent_ones_are_exact() -> None:
    low, high = boxes_of(np.eye(DIM), seed=2)
    known = drawn_log_masses(np.eye(DIM), low, high, sobol_points(DIM, 0))
    np.testing.assert_allclose(matched_log_masses(np.eye(DIM), low, high), known, rtol=0, atol=1e-9)
    low[1:], high[1:] = -np.inf, np.inf
    known = drawn_log_masses(np.eye(DIM), low, high, sobol_points(DIM, 0))
    np.testing.assert_allclose(matched_log_masses(factor_of(DIM, seed=5), low, high), known, rtol=0, atol=1e-9)


def test_rows_are_gone_through_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = factor_of(DIM, seed=3)
    low, high = boxes_of(factor, seed=4)
    whole = matched_log_masses(factor, low, high)
    monkeypatch.setattr(matched_masses, "MATCHED_AT_ONCE", 7 * DIM**2)
    np.testing.assert_allclose(matched_log_masses(factor, low, high), whole, rtol=0, atol=1e-11)
    assert matched_log_masses(factor, low[:, :0], high[:, :0]).shape == (0,)


def test_products_of_many_small_masses_do_not_vanish() -> None:
    dim = 90
    low = np.full((dim, 2), 4.0)
    assert matched_log_masses(np.eye(dim), low, low + 0.2) == pytest.approx(dim * np.log(1.83254928e-05), rel=1e-6)


def test_far_tails_and_narrow_intervals_stay_finite() -> None:
    factor = factor_of(DIM, seed=6, noise=0.01)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (DIM, 400))
    low = signs * np.random.default_rng(1).choice([0.3, 6.0, 37.0, 500.0, 1e4], (DIM, 400))
    for high in (low + 0.1, np.nextafter(low, np.inf), np.full_like(low, np.inf)):
        found = matched_log_masses(factor, low, high)
        assert np.isfinite(found).all()
        assert (found <= 1e-9).all()
