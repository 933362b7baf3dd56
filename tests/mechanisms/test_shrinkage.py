"""Shrinkage of noisy means, covariances and eigenvalues, whose noise is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms.mixture.test_one_gaussian import equicorrelated

from sfumato.mechanisms.shrinkage import nearest_correlation, shrink_to_class
from sfumato.mechanisms.shrinkage import shrink_to_zero as shrink


def test_nearest_correlation_is_one_and_leaves_one_alone() -> None:
    good = equicorrelated(4, 0.5)
    np.testing.assert_allclose(nearest_correlation(good), good, atol=1e-12)
    bad = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    assert np.linalg.eigvalsh(bad).min() < 0
    found = nearest_correlation(bad)
    assert np.linalg.eigvalsh(found).min() > 0.01
    np.testing.assert_array_equal(np.diag(found), 1.0)
    assert np.sign(found[0, 1]) == np.sign(found[1, 2]) == -np.sign(found[0, 2]) == 1


def test_means_without_noise_stay_and_drowned_ones_meet() -> None:
    means, counts, classes = np.array([[0.0], [2.0], [7.0]]), np.array([1.0, 1.0, 4.0]), np.array([0, 0, 1])
    assert shrink_to_class(means, np.full(3, 1e-12), counts, classes) == pytest.approx(means, abs=1e-6)
    assert shrink_to_class(means, np.full(3, 1e6), counts, classes)[:, 0] == pytest.approx([1.0, 1.0, 7.0], abs=1e-6)


def test_noise_is_shrunk_away_and_signal_kept() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal((1, 50))
    assert np.abs(shrink(noise, np.array([0.1]))).max() < 0.1 * np.abs(noise).max()
    signal = np.full((1, 50), 5.0)
    np.testing.assert_allclose(shrink(signal, np.array([0.1])), signal, rtol=0.01)
