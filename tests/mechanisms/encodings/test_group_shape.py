"""Means of classes and the covariance outside the main directions, from answers whose noise is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.mechanisms.encodings import group_shape
from sfumato.mechanisms.encodings.group_shape import Shape, find_directions, shrink_means
from sfumato.mechanisms.shrinkage import shrink_to_class
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.schema.layout import FloatArray

DIM, MAIN = 200, 4
COUNTS = np.array([4000.0, 1000.0])


def turned(seed: int) -> FloatArray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((DIM, DIM)))[0]


def covariance(vectors: FloatArray) -> FloatArray:
    """A few wide directions, which are no columns, among narrow ones."""
    values = np.full(DIM, 0.02)
    values[:MAIN] = 3.0
    return (vectors * values) @ vectors.T


def test_means_without_noise_stay_and_drowned_ones_meet() -> None:
    means, everywhere = np.random.default_rng(0).standard_normal((2, DIM)), covariance(turned(1))
    assert shrink_means(means, np.full(2, 1e-12), COUNTS, everywhere, 1.0) == pytest.approx(means, abs=1e-6)
    met = shrink_means(means, np.full(2, 1e6), COUNTS, everywhere, 1.0)
    assert met == pytest.approx(np.tile(COUNTS @ means / COUNTS.sum(), (2, 1)), abs=1e-6)


@pytest.mark.parametrize("least", [-1.0, 1.0, 1e9])
def test_any_number_of_directions_may_stand_out(least: float) -> None:
    means = np.random.default_rng(0).standard_normal((2, DIM))
    shrunk = shrink_means(means, np.array([0.01, 0.04]), COUNTS, covariance(turned(1)), least)
    assert np.linalg.norm(shrunk - means) < 0.5 * np.linalg.norm(means)
    assert COUNTS @ shrunk != pytest.approx(0.0)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_means_that_differ_where_rows_do_come_out_of_the_noise(seed: int) -> None:
    """The twin takes every column by itself, and hardly tells where classes differ."""
    rng, vectors = np.random.default_rng(seed), turned(seed)
    apart = vectors[:, :MAIN] @ np.array([1.0, -1.0, 0.5, 0.5]) + vectors[:, MAIN:] @ rng.normal(0, 0.03, DIM - MAIN)
    truth, sd = np.stack([-0.2 * apart, 0.8 * apart]), np.array([0.02, 0.08])
    noisy = truth + sd[:, None] * rng.standard_normal(truth.shape)
    found = shrink_means(noisy, sd**2, COUNTS, covariance(vectors), 1.0)
    twin = shrink_to_class(noisy, sd**2, COUNTS, np.zeros(2, dtype=np.int64))

    def error(means: FloatArray) -> float:
        return float(np.linalg.norm(means[1] - means[0] - apart))

    assert error(found) < 0.6 * error(twin)


@pytest.mark.parametrize("seed", [5, 6])
def test_rows_are_not_wider_than_they_are_where_variances_drown(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin, variances whose noise is believed, makes them wider outside the main directions."""
    rng, sd, vectors = np.random.default_rng(seed), 0.06, turned(seed)
    noise = np.triu(rng.normal(0.0, sd / np.sqrt(2.0), (DIM, DIM)), 1)
    noise += noise.T + np.diag(rng.normal(0.0, sd, DIM))
    means = np.stack([vectors[:, 0], -vectors[:, 0]])

    def width() -> float:
        edge = sd * np.sqrt(2.0 * DIM)
        known = Shape(COUNTS, means, covariance(vectors) + noise, np.ones(2), edge, np.zeros(2))
        outside = find_directions(known, replace(GroupTuning(), fewest_directions=MAIN)).rest
        return float(np.trace(outside)) / (0.02 * (DIM - MAIN))

    assert 0.6 < width() < 1.0
    monkeypatch.setattr(group_shape, "_evened", lambda variances, edge: np.maximum(variances, 0.0))
    assert width() > 1.25
