"""What plans and reports: epsilon against mpmath and dp-accounting, sums that are exact, and the noise of slices."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from tests.examples import some
from tests.private.slicing.test_law import by_quadrature
from tests.private.test_accounting import GRID, deltas, epsilons, exact_delta, mus

import sfumato as sf
from sfumato.accounting import add_up, delta_of, epsilon_of, mu_of, room_for, slicing_sigma, sum_up, theorem_epsilon
from sfumato.errors import ArgumentError
from sfumato.private.accounting import LARGEST_MU
from sfumato.private.slicing.law import Slices

EPSILON, DELTA = 1.0, 1e-5
# (d, m'): exact, theorem 1, at epsilon 1, delta 1e-5, distance 1.
FIGURES = {(100, 100): (3.85, 5.38), (784, 1000): (4.23, 5.60), (20, 50): (6.24, 9.08)}


# Epsilon


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_epsilon_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert epsilon_of(mu, delta) == pytest.approx(gaussian_mechanism.get_epsilon_gaussian(1 / mu, delta), rel=1e-6)


@given(mus, deltas)
@settings(max_examples=some(150), deadline=None)
def test_epsilon_is_safe_and_nearly_the_smallest(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    assert exact_delta(epsilon, mu) <= delta
    assert epsilon < 1e-5 or exact_delta(epsilon * (1 - 1e-6), mu) > delta


@pytest.mark.parametrize("mu", [1e2, 1e4, 3e5, 1e6, 7e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_epsilon_is_safe_where_its_terms_cancel(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    assert exact_delta(epsilon, mu) <= delta
    assert exact_delta(epsilon * (1 - 1e-9), mu) > delta


@given(epsilons, deltas)
@settings(max_examples=some(150), deadline=None)
def test_mu_and_epsilon_are_inverse(epsilon: float, delta: float) -> None:
    assert epsilon_of(mu_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-6)


def test_the_ends_of_epsilon() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1e-9, 1e-6) == 0.0  # total variation alone is below delta
    assert epsilon_of(LARGEST_MU, 1e-6) >= LARGEST_MU**2 / 2


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan, math.inf])
def test_a_bad_delta_is_refused(delta: float) -> None:
    with pytest.raises(ArgumentError, match=r"delta must lie inside \(0, 1\)"):
        epsilon_of(1.0, delta)


# Sums


@given(st.lists(mus, max_size=30))
def test_a_total_is_never_too_small_and_hardly_too_large(values: list[float]) -> None:
    exact = sum((Fraction(mu) ** 2 for mu in values), Fraction(0))
    total = add_up(values)
    assert Fraction(total) ** 2 >= exact
    assert total == 0 or Fraction(math.nextafter(total, 0.0)) ** 2 < exact
    assert Fraction(sum_up(values)) >= sum(map(Fraction, values), Fraction(0))
    assert add_up(reversed(values)) == total


@pytest.mark.parametrize("mu", [5e-324, 1e-200, 1e-20, 1.0, 1e50])
def test_a_single_release_counts_as_itself(mu: float) -> None:
    assert add_up([mu]) == mu
    assert room_for(mu, []) == mu
    assert room_for(mu, [mu]) == 0.0
    assert add_up([mu, 1e-300 * mu]) > mu or 1e-300 * mu == 0.0


def test_a_sum_in_floats_would_be_seen_to_count_too_little() -> None:
    values = [0.1] * 1000 + [1e-9] * 1000
    plain = math.sqrt(sum(mu * mu for mu in sorted(values, reverse=True)))
    exact = sum((Fraction(mu) ** 2 for mu in values), Fraction(0))
    floats = [math.sqrt(sum(mu * mu for mu in [k / 7] * k)) for k in range(1, 200)]
    sums = [Fraction(k / 7) ** 2 * k for k in range(1, 200)]
    assert Fraction(plain) ** 2 < exact or any(Fraction(f) ** 2 < s for f, s in zip(floats, sums, strict=True))
    assert all(Fraction(add_up([k / 7] * k)) ** 2 >= s for k, s in zip(range(1, 200), sums, strict=True))


@given(st.floats(1e-6, 50.0), st.lists(mus, max_size=10))
def test_what_is_left_fits_and_no_more(total: float, values: list[float]) -> None:
    left = room_for(total, values)
    spent = sum((Fraction(mu) ** 2 for mu in values), Fraction(0))
    if left > 0:
        assert add_up([*values, left]) <= total
    assert spent + Fraction(math.nextafter(left, math.inf)) ** 2 > Fraction(total) ** 2


@given(st.floats(0.01, 20.0), st.floats(-12.0, -2.0), st.floats(-30.0, -2.5))
def test_a_distance_is_paid_for_out_of_delta(epsilon: float, exponent: float, log_distance: float) -> None:
    delta, distance = 10.0**exponent, 10.0**log_distance
    mu = mu_of(epsilon, delta, distance)
    with mpmath.workdps(60):
        slack = (1 + mpmath.exp(epsilon)) * mpmath.mpf(distance)
        if mu == 0.0:
            assert slack > delta * (1 - 1e-8)
            return
        assert exact_delta(epsilon, mu) + slack <= delta
        found = epsilon_of(mu, delta, distance)
        assert found <= epsilon * (1 + 1e-6)
        assert exact_delta(found, mu) + (1 + mpmath.exp(found)) * mpmath.mpf(distance) <= delta


def test_no_epsilon_keeps_a_delta_that_the_distance_exceeds() -> None:
    assert epsilon_of(0.3, 1e-5, 1e-5) == math.inf
    assert mu_of(1.0, 1e-5, 1e-5) == 0.0
    assert epsilon_of(0.0, 1e-5, 1e-7) == 0.0
    for wrong in (-0.1, 1.0, math.nan, "much"):
        with pytest.raises(ArgumentError, match="distance"):
            mu_of(1.0, 1e-5, wrong)  # type: ignore[arg-type]


# The noise of slices


@pytest.mark.parametrize(("shape", "figures"), FIGURES.items())
def test_known_figures(shape: tuple[int, int], figures: tuple[float, float]) -> None:
    known = {"dim": shape[0], "projections": shape[1]}
    assert sf.accounting.slicing_sigma(EPSILON, DELTA, **known) == pytest.approx(figures[0], rel=0.005)
    assert slicing_sigma(EPSILON, DELTA, method="theorem1", **known) == pytest.approx(figures[1], rel=0.005)
    twice = slicing_sigma(EPSILON, DELTA, distance=2.0, **known)
    assert twice == pytest.approx(2.0 * slicing_sigma(EPSILON, DELTA, **known), rel=1e-9)


def test_theorem_one_asks_for_more_than_it_needs() -> None:
    for dim, projections in FIGURES:
        sigma = slicing_sigma(EPSILON, DELTA, dim=dim, projections=projections, method="theorem1")
        assert by_quadrature(EPSILON, 0.0, Slices(dim, projections, 1.0, sigma)) < DELTA / 10


@pytest.mark.parametrize("mu", [0.0, 0.15])
def test_theorem_one_is_at_its_least_over_alpha(mu: float) -> None:
    sigma, dim, projections = 5.38, 100, 100
    alphas = 1.0 + np.exp(np.linspace(math.log(1e-3), math.log(60.0), 200_000))
    room = dim - (alphas**2 - alphas) / sigma**2
    valid = room > 0
    renyi = projections * alphas / (2 * sigma**2 * room) + alphas * mu**2 / 2
    values = renyi + math.log(1 / DELTA) / (alphas - 1)
    found = theorem_epsilon(DELTA, mu, Slices(dim, projections, 1.0, sigma))
    assert found == pytest.approx(values[valid].min(), rel=1e-8)


def test_theorem_one_is_above_the_renyi_divergence_that_it_bounds() -> None:
    """With the error of a rounded matrix in the worst direction, E e^((alpha - 1) alpha T / 2) by quadrature."""
    dim, projections, mu, error = 30, 6, 0.3, 0.1
    slices = Slices(dim, projections, 2.0, 8.0, rounding=error)
    law = stats.chi2(projections)

    def epsilon(alpha: float) -> float:
        def height(x: float) -> float:
            moved = (slices.distance / slices.sigma * (math.sqrt(x / dim) + error)) ** 2
            return math.exp((alpha - 1) * alpha * moved / 2) * float(law.pdf(x))

        moment = integrate.quad(height, 0.0, 200.0, epsabs=0.0, epsrel=1e-9, limit=400)[0]
        return alpha * mu**2 / 2 + (math.log(moment) + math.log(1 / DELTA)) / (alpha - 1)

    least = min(epsilon(alpha) for alpha in np.linspace(2.0, 30.0, 40))
    assert least < theorem_epsilon(DELTA, mu, slices) < 1.3 * least
    assert theorem_epsilon(DELTA, mu, replace(slices, rounding=0.0)) < least  # the twins
    assert theorem_epsilon(DELTA, 0.0, slices) < least


@settings(deadline=None, max_examples=25)
@given(st.floats(0.05, 20.0), st.floats(-9.0, -0.5), st.integers(2, 200), st.integers(1, 200), st.floats(0.0, 0.9))
def test_what_theorem_one_asks_for_is_enough_by_the_exact_law(
    epsilon: float, exponent: float, dim: int, projections: int, share: float
) -> None:
    delta = 10.0**exponent
    mu = share * (math.sqrt(2 * (math.log(1 / delta) + epsilon)) - math.sqrt(2 * math.log(1 / delta)))
    known = {"dim": dim, "projections": projections, "distance": 3.0, "mu": mu, "rounding": 1e-5}
    sigma = slicing_sigma(epsilon, delta, method="theorem1", **known)
    slices = Slices(dim, projections, 3.0, sigma, rounding=1e-5)
    assert delta_of(epsilon, mu, [slices]) < delta
    assert theorem_epsilon(delta, mu, slices) <= epsilon * (1.0 + 1e-12)
    assert theorem_epsilon(delta, mu, replace(slices, sigma=0.99 * sigma)) > epsilon


def test_theorem_one_refuses_a_mu_that_leaves_nothing() -> None:
    with pytest.raises(ArgumentError, match=r"leaves nothing of epsilon = 1, delta = 1e-05 by theorem1"):
        slicing_sigma(1.0, 1e-5, dim=10, projections=10, mu=0.21, method="theorem1")
    assert slicing_sigma(1.0, 1e-5, dim=10, projections=10, mu=0.21) < 50.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dim": 0}, "dim must be a whole number from 1"),
        ({"projections": 2.0}, "projections must be a whole number"),
        ({"distance": math.nan}, "distance must be a number from 1e-30 to"),
        ({"rounding": -1.0}, "rounding must be a number from 0.0 to 1.0"),
        ({"method": "rdp"}, "slices are calibrated by 'exact' or 'theorem1', not 'rdp'"),
        ({"method": "theorem1", "rows": 2}, "theorem1 is proved for one row a unit"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 1.0}, "delta must lie inside"),
    ],
)
def test_bad_arguments_get_one_line(change: dict[str, Any], message: str) -> None:
    options = {"epsilon": 1.0, "delta": 1e-5, "dim": 10, "projections": 10} | change
    with pytest.raises(ArgumentError, match=message):
        slicing_sigma(options.pop("epsilon"), options.pop("delta"), **options)
