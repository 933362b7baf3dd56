"""What a look changes in what is believed of a class."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sfumato.mechanisms.mixture.beliefs import Beliefs, Glance, average_shapes, learn, settle_eigenvalues
from sfumato.schema.layout import FloatArray


def test_eigenvalues_keep_what_was_measured_well_and_shrink_what_was_not() -> None:
    np.testing.assert_allclose(settle_eigenvalues(np.array([[2.0, 1.0]]), np.array([[1e-6]])), [[2.0, 1.0]], rtol=1e-4)
    hidden = settle_eigenvalues(np.array([[1.0, -0.5]]), np.array([[0.25]]))
    assert 0.0 < hidden[0, 1] < hidden[0, 0] < 1.0


def test_eigenvalues_make_both_divergences_together_least() -> None:
    """Over eigenvalues drawn as believed, KL(released || fitted) + KL(fitted || released) of a variance."""
    rng = np.random.default_rng(0)
    value, noise = 1.0, 0.16
    x = rng.normal(value, math.sqrt(noise), 400_000)
    x = x[x > 0.01]
    released = settle_eigenvalues(np.array([[value]]), np.array([[noise]]))[0, 0]

    def both(y: float) -> float:
        return float((y / x + x / y).mean() / 2 - 1)

    assert both(released) < min(both(0.95 * released), both(1.05 * released), both(value))


def belief(mean: FloatArray, spread: float, noise: float) -> Beliefs:
    unit = np.eye(len(mean))[None]
    return Beliefs(np.array([500.0]), np.array([100.0]), mean[None], spread * unit, unit, unit, np.array([noise]))


def seen(rows: FloatArray, beliefs: Beliefs, radius: float, sd: float) -> Glance:
    z = rows - beliefs.means[0]
    z = z * np.minimum(1.0, radius / np.linalg.norm(z, axis=1))[:, None]
    second = (z.T @ z)[None]
    one = np.array([sd])
    return Glance(
        beliefs.maps, np.array([radius]), np.array([float(len(z))]), z.sum(axis=0)[None], second, one, one, one
    )


@pytest.mark.parametrize("sd", [1e-3, 1e6])
def test_a_sharp_look_is_believed_and_a_blurred_one_is_not(sd: float) -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[1.2, 0.3], [0.3, 0.8]])
    rows = rng.multivariate_normal([0.3, -0.2], truth, size=50_000)
    before = belief(np.zeros(2), 0.5, 0.2)
    after = learn(before, seen(rows, before, 4.0, sd))
    expected: Callable[[FloatArray], object] = lambda a: pytest.approx(a, abs=0.05)  # noqa: E731
    assert after.counts[0] == pytest.approx(50_000 if sd < 1 else 500, rel=0.01)
    assert after.means[0] == expected(np.array([0.3, -0.2]) if sd < 1 else np.zeros(2))
    assert after.shapes[0] == expected(truth if sd < 1 else np.eye(2))
    assert after.noise[0] < 0.01 if sd < 1 else after.noise[0] == pytest.approx(0.2, rel=0.01)


def test_shapes_are_averaged_by_what_noise_is_in_every_direction() -> None:
    """A space that stretches one oblique direction ten times: there the earlier shape says next to nothing, along the
    others both say as much. What is left of the noise is as large as it is said to be, along every axis."""
    rng = np.random.default_rng(0)
    draws, dim, noise = 4000, 3, 0.04
    turn = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    maps = np.broadcast_to(turn @ np.diag([10.0, 1.0, 1.0]) @ turn.T, (draws, dim, dim))
    truth = np.eye(dim)
    unit = np.broadcast_to(truth, maps.shape)
    ones = np.ones(draws)
    earlier = truth + symmetric(rng, maps.shape, noise)
    before = Beliefs(ones, ones, np.zeros((draws, dim)), unit, earlier, unit, noise * ones)
    measured = maps @ unit @ maps + symmetric(rng, maps.shape, noise)
    shapes, spaces, left = average_shapes(before, maps, measured, noise * ones)
    wrong = spaces @ (shapes - truth) @ np.swapaxes(spaces, 1, 2)
    np.testing.assert_allclose(wrong.var(axis=0).diagonal() / left[0], 1.0, atol=0.15)  # 6.7 standard deviations
    inside = turn[:, 1] @ (shapes - truth) @ turn[:, 1]
    across = turn[:, 0] @ (shapes - truth) @ turn[:, 0] * 100.0  # in the space looked at
    assert inside.var() == pytest.approx(noise / 2, rel=0.15)
    assert across.var() == pytest.approx(noise, rel=0.15)


def symmetric(rng: np.random.Generator, shape: tuple[int, ...], variance: float) -> FloatArray:
    """Noise of such variance on the diagonal, and half of it off."""
    drawn = rng.standard_normal(shape) * math.sqrt(variance / 2)
    return np.asarray((drawn + np.swapaxes(drawn, 1, 2)) / math.sqrt(2))
