"""The normal by tables, against scipy."""

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.models.normal_tables import TABLED_REACH, cdf, cdf_and_density, quantile


def test_the_distribution_function_is_right_to_the_last_digits() -> None:
    x = np.concatenate([np.random.default_rng(0).normal(0, 3, 200_000), [0.0, 9.0, -9.0, 40.0, np.inf, -np.inf]])
    assert np.abs(cdf(x) - ndtr(x)).max() < 4e-16


def test_densities_come_with_it() -> None:
    x = np.clip(np.random.default_rng(2).normal(0, 3, 200_000), -TABLED_REACH, TABLED_REACH)
    below, density = cdf_and_density(x)
    np.testing.assert_array_equal(below, cdf(x))
    assert np.abs(density - np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)).max() < 2e-11


def test_quantiles_are_right_in_the_middle_and_in_the_tails() -> None:
    p = np.concatenate([np.random.default_rng(1).random(200_000), np.logspace(-300, -1, 1000), [0.02, 0.5, 0.98]])
    assert np.abs(quantile(p) - ndtri(p)).max() < 1e-12
    assert quantile(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_arrays_keep_their_shape_and_are_not_touched() -> None:
    x = np.linspace(0.001, 0.999, 24).reshape(4, 6)
    before = x.copy()
    assert cdf(x).shape == quantile(x).shape == (4, 6)
    np.testing.assert_array_equal(x, before)
    assert len(cdf(x[:0])) == 0
