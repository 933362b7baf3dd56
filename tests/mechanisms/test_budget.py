"""The split minimises expected KL, and the plan is a function of public arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato.mechanisms.budget import effective_bins, fill, marginal_cost, moment_costs, radius, split
from sfumato.mechanisms.tuning import HistogramTuning
from sfumato.schema.layout import FloatArray

TUNING = HistogramTuning()
COSTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8).map(np.array)


def loss(costs: FloatArray, shares: FloatArray) -> float:
    return float((costs / shares).sum())


# --- the split


@given(COSTS)
def test_shares_add_up_to_one(costs: FloatArray) -> None:
    shares = split(costs)
    assert (shares > 0).all()
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


@given(COSTS, st.integers(0, 2**31))
def test_no_other_split_loses_less(costs: FloatArray, seed: int) -> None:
    shares = split(costs)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        other = shares * np.exp(size * rng.standard_normal(len(costs)))
        assert loss(costs, shares) <= loss(costs, other / other.sum()) * (1 + 1e-12)
    assert loss(costs, shares) == pytest.approx(np.sqrt(costs).sum() ** 2)


def test_a_numerical_optimiser_finds_the_same_split() -> None:
    costs = np.array([0.3, 7.0, 0.02, 40.0])
    found = minimize(
        lambda x: loss(costs, np.exp(x) / np.exp(x).sum()), np.zeros(4), method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(np.exp(found.x) / np.exp(found.x).sum(), split(costs), atol=1e-4)


@given(st.floats(1e-6, 1e6), st.integers(1, 9))
def test_only_equal_costs_get_equal_shares(cost: float, parts: int) -> None:
    np.testing.assert_allclose(split(np.full(parts, cost)), 1.0 / parts)
    costs = cost * 4.0 ** np.arange(parts)
    even = loss(costs, np.full(parts, 1.0 / parts))
    assert loss(costs, split(costs)) <= (even if parts == 1 else 0.95 * even)


# --- the plan as a whole


def test_costs_fall_with_the_square_of_the_rows() -> None:
    small, large = (moment_costs(np.full(4, n), 5, radius(5)) for n in (1000.0, 10_000.0))
    for part in ("count", "mean", "covariance"):
        assert getattr(small, part) == pytest.approx(100.0 * getattr(large, part))
    assert small.shares == pytest.approx(large.shares)


def test_moment_costs_are_the_closed_form() -> None:
    """Expected KL at mu = 1 with one class, term by term (sd of a mean is r / n, of a covariance r^2 / n)."""
    n, d, r = 500.0, 4, 3.0
    found = moment_costs(np.array([n]), d, r)
    assert found.mean == pytest.approx(0.5 * d * (r / n) ** 2)
    assert found.covariance == pytest.approx(0.25 * d * (d + 1) / 2 * (r**2 / n) ** 2)
    assert found.count == pytest.approx(0.25 * d / n**2)


def test_the_mean_s_cost_is_the_kl_that_noise_on_a_mean_makes() -> None:
    rng = np.random.default_rng(0)
    n, d, r = 500.0, 4, 3.0
    shifts = r / n * rng.standard_normal((200_000, d))
    assert 0.5 * (shifts**2).sum(axis=1).mean() == pytest.approx(moment_costs(np.array([n]), d, r).mean, rel=0.02)


def test_the_covariance_s_cost_is_the_kl_that_noise_on_a_covariance_makes() -> None:
    rng = np.random.default_rng(0)
    n, d, r = 5000.0, 4, 3.0
    sd = r**2 / n
    noise = rng.standard_normal((20_000, d, d)) * sd / np.sqrt(2)
    upper = np.triu(noise, 1)
    noisy = np.eye(d) + upper + upper.swapaxes(1, 2) + np.sqrt(2) * noise * np.eye(d)
    kl = 0.5 * (np.trace(noisy, axis1=1, axis2=2) - d - np.linalg.slogdet(noisy)[1])
    assert kl.mean() == pytest.approx(moment_costs(np.array([n]), d, r).covariance, rel=0.05)


def test_the_count_s_cost_is_the_kl_of_the_weights() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([6000.0, 3000.0, 1000.0])
    noisy = counts + 5.0 * rng.standard_normal((200_000, 3))
    pi, found = counts / counts.sum(), noisy / noisy.sum(axis=1, keepdims=True)
    kl = (pi * np.log(pi / found)).sum(axis=1).mean() / 25.0
    # The second term is what a wrong count does to a class's covariance: d/4 per class.
    weights = moment_costs(counts, 0, 1.0).count
    assert kl == pytest.approx(weights, rel=0.03)


def test_the_histogram_s_cost_grows_with_bins_and_falls_with_rows() -> None:
    coarse, fine = np.full(3, 4.0), np.full(3, 40.0)
    hidden = TUNING.hidden_cells
    assert marginal_cost(fine, 1e4, 1.0, hidden) > 10 * marginal_cost(coarse, 1e4, 1.0, hidden)
    assert marginal_cost(fine, 1e3, 1.0, hidden) > 30 * marginal_cost(fine, 1e4, 1.0, hidden)


def test_effective_bins_never_exceed_the_real_ones_nor_fall_below_two() -> None:
    sizes = (2, 5, 256, 65_536)
    for rows in (1.0, 1e3, 1e9):
        for mu in (1e-3, 0.3, 10.0):
            found = effective_bins(sizes, rows, mu, TUNING.log_slope)
            assert (found <= sizes).all()
            assert (found >= 2).all()
    assert effective_bins(sizes, 1e12, 10.0, TUNING.log_slope).tolist() == list(sizes)


def together(costs: FloatArray, losses: FloatArray, shares: FloatArray) -> float:
    return float((1.0 / (shares / costs + 1.0 / losses)).sum())


def test_filling_is_splitting_where_nothing_is_known() -> None:
    costs = np.array([[0.3, 7.0, 0.02], [0.1, 1.0, 3.0]])
    np.testing.assert_allclose(fill(costs, np.full((2, 3), 1e12)), split(costs.sum(axis=0)), rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_shares_lose_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, known = np.exp(rng.normal(0, 2, (2, 4, 3)))
    best = fill(costs, known)
    assert best.sum() == pytest.approx(1.0)
    for size in (0.05, 1.0):
        other = best * np.exp(size * rng.standard_normal(3))
        other = np.maximum(other / other.sum(), 0.01)
        assert together(costs, known, best) <= together(costs, known, other / other.sum()) * (1 + 1e-3)


def test_what_cannot_be_learnt_gets_nothing() -> None:
    shares = fill(np.array([[1.0, 1e6, 1.0]]), np.array([[10.0, 1.0, 10.0]]))
    assert shares[1] == pytest.approx(0.01, rel=0.05)
