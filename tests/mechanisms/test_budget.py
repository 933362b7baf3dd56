"""The split minimises expected KL, and the plan is a function of public arguments."""

import inspect
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import sfumato as sf
from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError
from sfumato.mechanisms import Plan, Public
from sfumato.mechanisms.budget import effective_bins, marginal_cost, moment_costs, radius, split
from sfumato.mechanisms.tuning import HistogramTuning
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "age": {"type": "number", "min": 0, "max": 99, "step": 1},
            "pay": {"type": "number", "min": 0, "max": 1e6},
            "sex": {"type": "category", "values": ["f", "m"]},
            "y": {"type": "category", "values": ["a", "b", "c"]},
        },
    }
)
CELL_SD = "noise on a histogram cell (rows)"
TUNING = HistogramTuning()
COSTS = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8).map(np.array)


def plan(epsilon: float = 1.0, rows: int | None = 20_000, adjacency: str = "add-remove") -> Plan:
    return sf.plan(SCHEMA, epsilon=epsilon, delta=1e-6, rows=rows, adjacency=adjacency)


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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_plan_s_moments_are_split_by_kl_not_evenly(epsilon: float) -> None:
    made = plan(epsilon).details.histograms
    costs = moment_costs(np.full(3, 20_000 / 3), 3, radius(3))
    parts = np.array([costs.count, costs.mean, costs.covariance])
    assert made.moment_shares == pytest.approx(tuple(split(parts)))
    assert loss(parts, np.array(made.moment_shares)) < 0.9 * loss(parts, np.full(3, 1 / 3))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_plan_s_rounds_are_split_by_kl_not_evenly(epsilon: float) -> None:
    made = plan(epsilon)
    # expected_kl[i] = cost[i] / (share[i] mu^2), so a share's square is proportional to its cost.
    first, parts = made.round("histograms").share, np.array(made.details.histograms.moment_shares)
    share = np.array([first, *(parts * (1.0 - first))])
    costs = np.array(list(made.expected_kl.values())) * share * made.mu**2
    np.testing.assert_allclose(share, split(costs), rtol=1e-9)
    assert loss(costs, share) < 0.97 * loss(costs, np.full(4, 0.25))


def test_columns_are_weighed_by_the_bins_that_noise_lets_through() -> None:
    layout = Layout.of(SCHEMA)
    bins = effective_bins(layout.sizes, 20_000 / 3, plan().mu / math.sqrt(2.0), TUNING.log_slope)
    np.testing.assert_allclose(plan().details.histograms.column_shares, bins / bins.sum())
    assert bins[2] == 2
    assert bins[1] <= 256


# --- the plan as a whole


def test_rounds_spend_everything() -> None:
    for epsilon in (0.01, 1.0, 50.0):
        made = plan(epsilon)
        assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
        assert sum(each.mu**2 for each in made.rounds) == pytest.approx(made.mu**2)
        columns, moments = made.details.histograms.column_shares, made.details.histograms.moment_shares
        assert sum(columns) == pytest.approx(1.0)
        assert sum(moments) == pytest.approx(1.0)
        assert min(*columns, *moments, *(each.share for each in made.rounds)) > 0
        assert made.mu == calibrate(epsilon, 1e-6)


def test_the_plan_is_a_function_of_public_arguments() -> None:
    assert plan() == plan()
    budget = {"epsilon", "delta", "delta_left", "mu", "adjacency", "unit_rows"}
    assert {each.name for each in fields(Public)} == {"layout", "rows"} | budget
    for mechanism in (sf.Mixture, sf.Clustmix, sf.Slicing):
        assert set(inspect.signature(mechanism.plan).parameters) == {"self", "public"}
    assert "table" not in inspect.signature(sf.plan).parameters


def test_kl_of_the_moments_falls_with_the_square_of_mu_at_fixed_shares() -> None:
    layout = Layout.of(SCHEMA)
    parts = ("class weights", "means", "covariances")

    def at(mu: float) -> dict[str, float]:
        made = sf.Mixture().plan(Public(layout, 1.0, 1e-6, 1e-6, mu, Adjacency.ADD_REMOVE, 5000))
        rest = 1.0 - made.round("histograms").share
        return {part: made.expected_kl[part] * rest for part in parts}

    once, twice = at(0.2), at(0.4)
    for part in parts:
        assert once[part] == pytest.approx(4.0 * twice[part], rel=1e-9)


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


def test_neighbours_that_move_more_cost_more() -> None:
    base = plan()
    for adjacency in ("replace-one", "label"):
        other = plan(adjacency=adjacency)
        assert other.notes[CELL_SD] == pytest.approx(math.sqrt(2.0) * base.notes[CELL_SD])
        for part, kl in base.expected_kl.items():
            assert other.expected_kl[part] == pytest.approx(2.0 * kl)


def test_more_budget_or_more_rows_lose_less() -> None:
    totals = [sum(plan(epsilon).expected_kl.values()) for epsilon in (0.1, 0.5, 1.0, 4.0)]
    assert totals == sorted(totals, reverse=True)
    totals = [sum(plan(rows=rows).expected_kl.values()) for rows in (100, 1000, 10_000, 10**6)]
    assert totals == sorted(totals, reverse=True)


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


@pytest.mark.parametrize("rows", [0, -5, math.nan, math.inf, 10**400, 2.5, "many", True])
def test_a_bad_guess_is_refused(rows: Any) -> None:
    with pytest.raises(ArgumentError, match="rows must be a whole number above 0, a public guess"):
        plan(rows=rows)


@pytest.mark.parametrize("rows", [1, 2, 10**12])
def test_extreme_guesses_still_make_a_plan(rows: int) -> None:
    made = plan(rows=rows)
    assert all(0 < each.share < 1 for each in made.rounds)
    assert all(math.isfinite(kl) and kl > 0 for kl in made.expected_kl.values())
