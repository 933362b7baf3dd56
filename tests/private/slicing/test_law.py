"""What slices cost: against quadrature, simulation, mpmath, and the figures of the paper's theorem."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sfumato.accounting import delta_of, epsilon_of, mu_of, slicing_sigma
from sfumato.errors import ArgumentError
from sfumato.private.slicing.law import Slices, sliced_delta

EPSILON, DELTA = 1.0, 1e-5


def by_quadrature(epsilon: float, mu: float, slices: Slices) -> float:
    """The expectation over a single chi-square, by an integrator that knows nothing of grids."""
    ratio = (slices.distance / slices.sigma) ** 2 / slices.dim
    law = stats.chi2(slices.projections)

    def height(x: float) -> float:
        return delta_of(epsilon, math.sqrt(mu**2 + ratio * x)) * float(law.pdf(x))

    ends = [float(law.isf(p)) for p in (1 - 1e-15, 0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-15, 1e-25)]
    return math.fsum(
        integrate.quad(height, a, b, epsabs=0.0, epsrel=1e-10, limit=400)[0] for a, b in itertools.pairwise(ends)
    )


@pytest.mark.every(4)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize(("dim", "projections"), [(10, 1), (20, 50), (784, 1000), (50, 20_000)])
@pytest.mark.parametrize("share", [0.0, 0.7])
def test_the_grid_is_safe_and_hardly_above_quadrature(
    epsilon: float, delta: float, dim: int, projections: int, share: float
) -> None:
    mu = share * mu_of(epsilon, delta)
    sigma = slicing_sigma(epsilon, delta, dim=dim, projections=projections, mu=mu)
    exact = by_quadrature(epsilon, mu, Slices(dim, projections, 1.0, sigma))
    assert exact <= delta
    assert exact == pytest.approx(delta, rel=5e-3)  # a tenth of that in sigma, or less


@settings(deadline=None, max_examples=25)
@given(
    st.floats(-2.0, 2.5).map(math.exp),
    st.floats(0.0, 3.0),
    st.integers(1, 200),
    st.integers(1, 200),
    st.floats(-2.0, 4.0).map(math.exp),
)
def test_delta_is_never_below_quadrature(epsilon: float, mu: float, dim: int, projections: int, sigma: float) -> None:
    """Also where mu is so large that delta is no longer convex in its square."""
    slices = Slices(dim, projections, 1.0, sigma)
    assert sliced_delta(epsilon, mu, slices) >= by_quadrature(epsilon, mu, slices) * (1.0 - 1e-8)


# Against matrices that are really drawn


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_simulated_matrices_have_the_delta_that_is_computed(mu: float) -> None:
    """S = |u^T U|^2 of matrices that are drawn, for a unit vector u that was there before."""
    dim, projections, rng = 8, 12, np.random.default_rng(3)
    slices = Slices(dim, projections, 1.0, 1.5)
    matrices = rng.normal(size=(4000, dim, projections)) / math.sqrt(dim)
    drawn = ((np.ones(dim) / math.sqrt(dim) @ matrices) ** 2).sum(axis=1)
    seen = np.array([delta_of(EPSILON, math.sqrt(mu**2 + s / slices.sigma**2)) for s in drawn])
    error = seen.std() / math.sqrt(len(seen))
    assert abs(seen.mean() - sliced_delta(EPSILON, mu, slices)) < 5.5 * error
    assert error < 0.03 * seen.mean()


def hockey_stick(dim: int, projections: int, sigma: float, epsilon: float, runs: int, matrix: Any = None) -> Any:
    """(1 - e^(epsilon - loss))_+ over whole runs of the mechanism: its mean is the delta that the mechanism has."""
    rng = np.random.default_rng(11)
    change = np.zeros(dim)
    change[0] = 1.0
    found = []
    for _ in range(runs):
        drawn = rng.normal(size=(dim, projections)) / math.sqrt(dim) if matrix is None else matrix
        moved = change @ drawn
        answer = moved + sigma * rng.normal(size=projections)
        loss = (moved @ answer - moved @ moved / 2) / sigma**2
        found.append(max(0.0, 1.0 - math.exp(epsilon - loss)))
    return np.array(found)


def test_an_attack_by_the_likelihood_ratio_finds_the_exact_value_tight() -> None:
    """A delta that runs can show: 0.02 at epsilon 0.5. No more and no less is found; the shortcut is convicted."""
    epsilon, delta, dim, projections = 0.5, 0.02, 30, 2
    exact = slicing_sigma(epsilon, delta, dim=dim, projections=projections)
    seen = hockey_stick(dim, projections, exact, epsilon, 30_000)
    error = seen.std() / math.sqrt(len(seen))
    assert abs(seen.mean() - delta) < 5.5 * error
    # The twin: S taken for its mean, m' / d.
    shortcut = math.sqrt(projections / dim) / mu_of(epsilon, delta)
    seen = hockey_stick(dim, projections, shortcut, epsilon, 30_000)
    assert seen.mean() - 5.5 * seen.std() / math.sqrt(len(seen)) > delta


def test_a_fixed_matrix_costs_its_largest_eigenvalue() -> None:
    """The worst row for a U that was there before the rows were chosen: epsilon 2, where 1 was paid for."""
    rng = np.random.default_rng(5)
    largest = np.mean([np.linalg.norm(rng.normal(size=(100, 100)) / 10.0, 2) ** 2 for _ in range(5)])
    sigma = slicing_sigma(EPSILON, DELTA, dim=100, projections=100)
    assert epsilon_of(math.sqrt(largest) / sigma, DELTA) == pytest.approx(2.03, abs=0.1)


def test_an_attack_shows_what_a_fixed_matrix_costs() -> None:
    dim, projections, epsilon, delta = 30, 6, 0.5, 0.02
    sigma = slicing_sigma(epsilon, delta, dim=dim, projections=projections)
    matrix = np.random.default_rng(1).normal(size=(dim, projections)) / math.sqrt(dim)
    left, sizes, _ = np.linalg.svd(matrix)
    turned = left.T @ matrix  # the first coordinate is now the direction that U shows best
    seen = hockey_stick(dim, projections, sigma, epsilon, 10_000, turned)
    assert seen.mean() - 5.5 * seen.std() / math.sqrt(len(seen)) > 3 * delta
    assert seen.mean() == pytest.approx(delta_of(epsilon, sizes[0] / sigma), rel=0.1)


# Units, and what stands beside them


def test_a_unit_of_several_rows_costs_at_most_the_largest_of_as_many_laws() -> None:
    """Rows that move along one line cost as one row that moves further; in other directions they cost less."""
    dim, projections, rows, sigma = 12, 6, 3, 2.5
    one = Slices(dim, projections, math.sqrt(rows), sigma)
    bound, most = (sliced_delta(EPSILON, 0.0, replace(one, rows=r)) for r in (1, rows))
    assert bound < most < rows * bound * 1.01
    rng = np.random.default_rng(8)
    frames = rng.normal(size=(20_000, dim, projections)) / math.sqrt(dim)
    for moves, tight in ((np.eye(dim)[:rows], False), (np.tile(np.eye(dim)[0], (rows, 1)), True)):
        moved = ((moves @ frames) ** 2).sum(axis=(1, 2)) / sigma**2
        seen = np.array([delta_of(EPSILON, math.sqrt(t)) for t in moved])
        error = 5.5 * seen.std() / math.sqrt(len(seen))
        assert seen.mean() - error < bound
        assert (seen.mean() + error > bound) == tight


@settings(deadline=None, max_examples=10)
@given(st.floats(0.2, 6.0), st.floats(-9.0, -3.0), st.integers(2, 60), st.integers(1, 60), st.floats(0.0, 0.9))
def test_epsilon_beside_slices(epsilon: float, exponent: float, dim: int, projections: int, share: float) -> None:
    delta = 10.0**exponent
    mu = share * mu_of(epsilon, delta)
    slices = Slices(dim, projections, 1.0, slicing_sigma(epsilon, delta, dim=dim, projections=projections, mu=mu))
    assert delta_of(epsilon, mu, [slices]) <= delta < delta_of(epsilon, mu * 1.001 + 1e-3, [slices])
    assert epsilon_of(mu, delta, slices=[slices]) == pytest.approx(epsilon, rel=1e-6)
    assert epsilon_of(mu, delta, 1e-200, slices=[slices]) == pytest.approx(epsilon, rel=1e-6)


def test_slices_that_cost_too_much_leave_nothing() -> None:
    slices = [Slices(10, 10, 1.0, 1.0)]
    with pytest.raises(ArgumentError, match="leaves nothing of epsilon = 1"):
        slicing_sigma(1.0, 1e-5, dim=10, projections=10, mu=0.27)
    assert epsilon_of(0.1, 1e-5, 1e-5, slices=slices) == math.inf


def test_a_release_takes_slices_once() -> None:
    with pytest.raises(ArgumentError, match="takes slices of every row once"):
        delta_of(1.0, 0.1, [Slices(10, 10, 1.0, 9.0)] * 2)


def test_rounding_of_the_matrix_is_paid_for() -> None:
    """A published U that differs from the drawn one by up to `rounding`, in the worst direction."""
    dim, projections, error = 30, 6, 0.01
    sigma = slicing_sigma(0.5, 0.02, dim=dim, projections=projections, rounding=error)
    drawn = np.random.default_rng(2).chisquare(projections, size=40_000) / dim
    seen = np.array([delta_of(0.5, (math.sqrt(s) + error) / sigma) for s in drawn])
    assert 0.6 * 0.02 < seen.mean() < 0.02
    ideal = slicing_sigma(0.5, 0.02, dim=dim, projections=projections)
    seen = np.array([delta_of(0.5, (math.sqrt(s) + error) / ideal) for s in drawn])
    assert seen.mean() - 5.5 * seen.std() / 200 > 0.02
