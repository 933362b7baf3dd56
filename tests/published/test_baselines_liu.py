"""The baselines: mixtures come out, the sensitivities fail where the docstring says so, and the strict one holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published import baselines_liu as baselines
from sfumato.published.liu2025 import fit_labelled, kl_divergence, mean_differences
from sfumato.schema.layout import FloatArray, IntArray

SIGMAS = 5.5
LOW, HIGH = np.array([-3.0, -8.0]), np.array([3.0, 8.0])


def table(sizes: tuple[int, ...] = (300, 500, 200)) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.clip(rng.standard_normal((len(y), 2)) + y[:, None], LOW, HIGH), y


def naive(x: FloatArray, y: IntArray, epsilon: float, seed: int, **options: int) -> GaussianMixture:
    rng = np.random.default_rng(seed)
    return baselines.naive_strict(x, y, 3, bounds=(LOW, HIGH), epsilon=epsilon, delta=1e-5, rng=rng, **options)


RUNS: dict[str, Callable[[FloatArray, IntArray, float, int], GaussianMixture]] = {
    "laplace": lambda x, y, e, s: baselines.laplace(x, y, 3, epsilon=e, rng=np.random.default_rng(s)),
    "gaussian": lambda x, y, e, s: baselines.gaussian(x, y, 3, epsilon=e, delta=1e-5, rng=np.random.default_rng(s)),
    "coloured": lambda x, y, e, s: baselines.coloured_gaussian(
        x, y, 3, epsilon=e, delta=1e-5, rng=np.random.default_rng(s)
    ),
    "naive strict": naive,
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_what_comes_out_is_a_mixture(name: str, epsilon: float) -> None:
    x, y = table()
    for seed in range(5):
        found = RUNS[name](x, y, epsilon, seed)
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.weights.min() > 0
        assert np.linalg.eigvalsh(found.covariances).min() > 0
        np.testing.assert_array_equal(found.covariances, np.swapaxes(found.covariances, 1, 2))


@pytest.mark.parametrize("name", RUNS)
def test_with_hardly_any_noise_it_is_the_fit(name: str) -> None:
    x, y = table()
    epsilon = 100.0 if name == "naive strict" else 1e6
    assert kl_divergence(RUNS[name](x, y, epsilon, 0), fit_labelled(x, y, 3).mixture) < 0.01


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.5], [0.9, 0.8, -0.4], [-5.0, -6.0, 9.0], [0.0, 0.0, 0.0]])
def test_weights_go_to_the_nearest_feasible_ones(weights: list[float]) -> None:
    """Against every point of a fine grid on the simplex."""
    found = baselines._simplex(np.array(weights), 0.01)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0.01 - 1e-12
    steps = np.linspace(0.01, 0.98, 195)
    a, b = np.meshgrid(steps, steps)
    grid = np.stack([a, b, 1 - a - b], axis=-1)[1 - a - b >= 0.01 - 1e-12]
    nearest = ((grid - weights) ** 2).sum(axis=1).min()
    assert ((found - weights) ** 2).sum() <= nearest + 1e-9


def test_the_stated_sensitivity_fails_for_a_small_class() -> None:
    """20 rows of 1000 in five classes: one row moves its class's mean by far more than 4RK/N."""
    y = np.repeat(np.arange(5), [20, 245, 245, 245, 245])
    x = np.full((1000, 1), -1.0)
    x[0] = 1.0
    _, means, _ = baselines.sensitivities(x, 5)
    leave, _ = mean_differences(x, y, 0)
    assert means == pytest.approx(0.02)
    assert np.abs(leave).sum(axis=1).max() > 4.9 * means


def test_it_holds_for_classes_of_equal_size() -> None:
    y = np.repeat(np.arange(5), 200)
    x = np.full((1000, 1), -1.0)
    x[0] = 1.0
    leave, _ = mean_differences(x, y, 0)
    assert np.abs(leave).sum(axis=1).max() < baselines.sensitivities(x, 5)[1]


@cache
def noisy_runs() -> tuple[GaussianMixture, ...]:
    x, y = table((2000, 2000, 2000))
    return tuple(naive(x, y, 1.0, seed) for seed in range(600))


def excess_noise(planted: float = 1.0) -> list[float]:
    """z-scores of the variances of released means and weights, beside those that the guarantee asks for: 3 / mu^2 on
    a count, and 3 d / mu^2 on a sum of rows scaled to [-1, 1]."""
    x, y = table((2000, 2000, 2000))
    runs = noisy_runs()
    needed = planted * 3 / calibrate(1.0, 1e-5) ** 2
    # To first order: the mean is off by the sum's noise less mean times the count's, over the count.
    middle = x[y == 0].mean(axis=0) / HIGH
    means = np.stack([model.means[0] for model in runs]) / HIGH * 2000
    shares = np.array([model.weights[0] for model in runs]) * 6000
    found = [*(means.var(axis=0) / (needed * (2 + middle**2))), shares.var() / (needed * 6 / 9)]
    return [float((ratio - 1) / math.sqrt(2 / len(runs))) for ratio in found]


def test_the_naive_strict_noise_is_what_its_guarantee_needs() -> None:
    assert max(map(abs, excess_noise())) < SIGMAS


def test_too_little_noise_is_seen() -> None:
    assert min(map(abs, excess_noise(planted=2.0))) > SIGMAS


def test_rows_beyond_the_bounds_count_as_rows_on_them() -> None:
    x, y = table()
    outside = x.copy()
    outside[:10] = 1e9
    inside = outside.copy()
    inside[:10] = HIGH
    np.testing.assert_array_equal(naive(outside, y, 1.0, 0).covariances, naive(inside, y, 1.0, 0).covariances)


def test_several_rows_a_person_cost_so_many_times_the_noise() -> None:
    x, y = table()
    sums = [naive(x, y, 1.0, 0, rows_per_unit=m).weights for m in (1, 10)]
    fitted = fit_labelled(x, y, 3).mixture.weights
    assert np.abs(sums[1] - fitted).max() > 5 * np.abs(sums[0] - fitted).max()


def test_bounds_the_wrong_way_round_are_refused() -> None:
    x, y = table()
    with pytest.raises(ArgumentError):
        baselines.naive_strict(x, y, 3, bounds=(1, -1), epsilon=1, delta=1e-5, rng=np.random.default_rng(0))
