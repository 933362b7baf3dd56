"""The sliced Wasserstein loss: against SciPy, in closed form, with its noise, and by its gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from sfumato.training.sliced_wasserstein import sliced_wasserstein

KEY = jax.random.key(0)


def points(rows: int, slices: int = 1, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, slices))


@pytest.mark.parametrize(("n", "m"), [(50, 50), (60, 40), (7, 31), (1, 5)])
def test_it_is_the_distance_for_any_number_of_points(n: int, m: int) -> None:
    x, w = points(n, 3), 0.5 + 2.0 * points(m, 3, seed=1)
    known = np.mean([wasserstein_distance(x[:, j], w[:, j]) for j in range(3)])
    with jax.enable_x64(True):
        assert float(sliced_wasserstein(x, w, KEY, sigma=0.0, power=1.0)) == pytest.approx(known, rel=1e-12)


def test_a_shift_costs_its_power() -> None:
    x = points(100, 4)
    moved = x + np.array([0.0, 1.0, 2.0, 3.0])
    assert float(sliced_wasserstein(x, moved, KEY, sigma=0.0)) == pytest.approx(14.0 / 4.0, rel=1e-5)
    assert float(sliced_wasserstein(x, moved, KEY, sigma=0.0, power=3.0)) == pytest.approx(36.0 / 4.0, rel=1e-5)
    assert float(sliced_wasserstein(x, x[::-1], KEY, sigma=0.0)) == 0.0


@pytest.mark.parametrize("n", [8000, 6000])
def test_noise_on_both_sides_smooths(n: int) -> None:
    """Between Gaussians W_2^2 is the squared gap of the means and of the deviations. Smoothing narrows the latter."""
    sigma, m = 1.5, 8000
    x = points(n) + sigma * points(n, seed=1)
    made = 0.7 + 2.5 * points(m, seed=2)
    known = 0.7**2 + (np.hypot(2.5, sigma) - np.hypot(1.0, sigma)) ** 2
    found = float(sliced_wasserstein(x, made, KEY, sigma=sigma))
    assert found == pytest.approx(known, abs=0.35)  # 7 standard deviations of the sample means
    assert abs(float(sliced_wasserstein(x, made, KEY, sigma=0.0)) - known) > 0.4


def test_noise_is_fresh_with_each_key() -> None:
    x, made = points(50), points(50, seed=1)
    once, again, other = (float(sliced_wasserstein(x, made, jax.random.key(k), sigma=1.0)) for k in (1, 1, 2))
    assert once == again != other


@pytest.mark.parametrize("n", [300, 200])
def test_its_gradient_brings_the_made_points_to_the_real_ones(n: int) -> None:
    sigma = 0.5
    x = jnp.asarray(2.0 + 0.5 * points(n) + sigma * points(n, seed=1))
    made = jnp.asarray(points(300, seed=2))
    step = jax.jit(lambda w, key: w - 100.0 * jax.grad(lambda w: sliced_wasserstein(x, w, key, sigma=sigma))(w))
    for key in jax.random.split(KEY, 100):
        made = step(made, key)
    assert float(made.mean()) == pytest.approx(float(x.mean()), abs=0.15)
    assert float(made.std()) < 0.8
