"""How the mixture divides its budget: by expected KL, from public arguments."""

from __future__ import annotations

import inspect
import itertools
import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.test_budget import TUNING as HISTOGRAMS
from tests.mechanisms.test_budget import loss

import sfumato as sf
from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError
from sfumato.mechanisms import Plan, Public
from sfumato.mechanisms.budget import effective_bins, moment_costs, radius, split
from sfumato.mechanisms.encodings.column_looks import FINER
from sfumato.mechanisms.mixture import MixtureTuning, mixture_rounds
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import Layout
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


TUNING = MixtureTuning()
BARE = sf.Mixture(pairs=None)
CELL_SD = "noise on a histogram cell (rows)"


def plan(
    epsilon: float = 1.0, rows: int | None = 20_000, adjacency: str = "add-remove", mechanism: sf.Mixture = BARE
) -> Plan:
    return sf.plan(SCHEMA, epsilon=epsilon, delta=1e-6, mechanism=mechanism, rows=rows, adjacency=adjacency)


def histograms_of(made: Plan) -> float:
    """The share of all looks at columns."""
    return made.round("histograms").share + sum(each.share for each in made.repeats(FINER))


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
    first, parts = histograms_of(made), np.array(made.details.histograms.moment_shares)
    share = np.array([first, *(parts * (1.0 - first))])
    costs = np.array(list(made.expected_kl.values())) * share * made.mu**2
    np.testing.assert_allclose(share, split(costs), rtol=1e-9)
    assert loss(costs, share) < 0.97 * loss(costs, np.full(4, 0.25))


def test_columns_are_weighed_by_the_bins_that_noise_lets_through() -> None:
    layout = Layout.of(SCHEMA)
    bins = effective_bins(layout.sizes, 20_000 / 3, plan().mu / math.sqrt(2.0), HISTOGRAMS.log_slope)
    wanted = bins * np.sqrt(plan().details.histograms.looks)  # as much for each look, where there are several
    np.testing.assert_allclose(plan().details.histograms.column_shares, wanted / wanted.sum())
    assert bins[2] == 2
    assert bins[1] <= 256


def test_rounds_spend_everything() -> None:
    for epsilon, mechanism in itertools.product((0.01, 1.0, 50.0), (BARE, sf.Mixture())):
        made = plan(epsilon, mechanism=mechanism)
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
    assert {each.name for each in fields(Public)} == {"layout", "rows", "modelling"} | budget
    for mechanism in (sf.Mixture, sf.Clustmix, sf.Slicing):
        assert set(inspect.signature(mechanism.plan).parameters) == {"self", "public"}
    assert "table" not in inspect.signature(sf.plan).parameters


def test_kl_of_the_moments_falls_with_the_square_of_mu_at_fixed_shares() -> None:
    layout = Layout.of(SCHEMA)
    parts = ("class weights", "means", "covariances")

    def at(mu: float) -> dict[str, float]:
        made = BARE.plan(Public(layout, 1.0, 1e-6, 1e-6, mu, Adjacency.ADD_REMOVE, 5000))
        rest = 1.0 - histograms_of(made)
        return {part: made.expected_kl[part] * rest for part in parts}

    once, twice = at(0.2), at(0.4)
    for part in parts:
        assert once[part] == pytest.approx(4.0 * twice[part], rel=1e-9)


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


@pytest.mark.parametrize("rows", [0, -5, math.nan, math.inf, 10**400, 2.5, "many", True])
def test_a_bad_guess_is_refused(rows: Any) -> None:
    with pytest.raises(ArgumentError, match="rows must be a whole number above 0, a public guess"):
        plan(rows=rows)


@pytest.mark.parametrize("rows", [1, 2, 10**12])
def test_extreme_guesses_still_make_a_plan(rows: int) -> None:
    made = plan(rows=rows)
    assert all(0 < each.share < 1 for each in made.rounds)
    assert all(math.isfinite(kl) and kl > 0 for kl in made.expected_kl.values())


def best_number(count: float, dim: int, spread: float, mu_squared: float) -> int:
    return mixture_rounds.best_number(count, dim, spread, mu_squared, TUNING)


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(1, 60), st.floats(0, 100), st.floats(1e-6, 1e3))
def test_more_rows_never_mean_fewer_components(a: float, b: float, dim: int, spread: float, budget: float) -> None:
    few, many = (best_number(count, dim, spread, budget) for count in sorted((a, b)))
    assert 1 <= few <= many <= TUNING.most_components


@given(st.floats(1, 1e9), st.integers(1, 60), st.floats(0, 100), st.floats(1e-6, 1e3), st.floats(1e-6, 1e3))
def test_more_budget_never_means_fewer_components(count: float, dim: int, spread: float, a: float, b: float) -> None:
    few, many = (best_number(count, dim, spread, budget) for budget in sorted((a, b)))
    assert 1 <= few <= many <= TUNING.most_components


def test_a_tiny_class_is_one_gaussian_and_a_huge_one_has_most() -> None:
    for count in (-3.0, 0.0, 1.0, 5.0):
        assert best_number(count, 5, 5.0, 0.1) == 1
    assert best_number(1e9, 5, 5.0, 0.1) == TUNING.most_components
    for spread in (0.0, 1e-300, 1e-12):  # nothing but constants
        assert best_number(1e9, 5, spread, 0.1) == 1


def test_the_best_number_balances_gain_and_noise() -> None:
    """Twice the rows carry twice the components: the cost of M is M^2 / rows^2."""
    found = [best_number(500.0 * 2**i, 10, 10.0, 0.1) for i in range(9)]
    inner = [(m, n) for m, n in itertools.pairwise(found) if m > 1 and n < TUNING.most_components]
    assert inner
    assert all(abs(n - 2 * m) <= 1 for m, n in inner)
