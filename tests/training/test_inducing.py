"""Inducing points: the loss is the paper's, adaptation helps, and it can be held, stopped and repeated."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.training.inducing import Adapted, adapt_points, nearest_gram, noise_edge, regression
from sfumato.training.ntk import RandomFeatures, ntk

Floats = NDArray[np.float64]

WIDTH, ROWS, HELD, POINTS = 100, 3000, 1000, 40
FEATURES = RandomFeatures.draw(1, 2, WIDTH)


def rings(rows: int, seed: int) -> tuple[Floats, Floats]:
    """Two classes that no line parts: inside and outside of a circle, with a few labels flipped."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    y = ((x**2).sum(axis=1) > 1.4) ^ (rng.random(rows) < 0.05)
    return x, np.eye(2)[y.astype(int)]


X, Y = rings(ROWS, 2)
HELD_X, HELD_Y = rings(HELD, 3)
PHI = np.asarray(FEATURES(X), dtype=np.float64)
SD = 2.0
NOISE = np.random.default_rng(4).normal(size=(2 * WIDTH, 2 * WIDTH))
NOISY_GRAM = PHI.T @ PHI + SD * np.where(np.eye(2 * WIDTH), NOISE, (np.triu(NOISE, 1) + np.triu(NOISE, 1).T) / 2**0.5)
NOISY_CROSS = PHI.T @ Y + SD * np.random.default_rng(5).normal(size=(2 * WIDTH, 2))


def start() -> tuple[Floats, Floats]:
    """Points whose labels know half of the story."""
    x = np.random.default_rng(6).normal(size=(POINTS, 2))
    return x, np.eye(2)[(np.abs(x[:, 0]) > 0.8).astype(int)]


def adapt(alpha: float = 0.01, **options: object) -> Adapted:
    given = {"rows": ROWS, "alpha": alpha, "gram_sd": SD, "steps": 100, "learning_rate": 0.05, "ridge": 1e-3} | options
    return adapt_points(*start(), NOISY_GRAM, NOISY_CROSS, FEATURES, **given)  # type: ignore[arg-type]


def predict(x: Floats, points: Floats, labels: Floats, ridge: float = 1e-3, exact: bool = False) -> Floats:
    """Kernel ridge regression, in its dual form."""
    with jax.enable_x64(True):
        kernel = (lambda a, b: ntk(a, b)) if exact else (lambda a, b: FEATURES(a) @ FEATURES(b).T)
        inside = np.asarray(kernel(points, points))
        weights = np.linalg.solve(inside + ridge * np.trace(inside) / len(points) * np.eye(len(points)), labels)
        return np.asarray(kernel(x, points)) @ weights


def wrong(points: Floats, labels: Floats, exact: bool = False) -> float:
    found = predict(HELD_X, points, labels, exact=exact).argmax(axis=1)
    return float((found != HELD_Y.argmax(axis=1)).mean())


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_with_exact_moments_the_loss_is_the_papers(alpha: float) -> None:
    x, y = start()
    result = adapt_points(x, y, PHI.T @ PHI, PHI.T @ Y, FEATURES, rows=ROWS, alpha=alpha, ridge=0.02, steps=3)
    losses = []
    for points in (x, result.points):
        square = ((Y - predict(X, points, y, ridge=0.02)) ** 2).sum()
        distance = ((points - x) ** 2).sum() / (x**2).sum()
        losses.append(alpha * distance + (1 - alpha) / 2 * square / ROWS)
    assert losses[0] == pytest.approx(result.losses[0], rel=1e-4)
    assert losses[1] == pytest.approx(min(result.losses), rel=1e-4)


def test_adaptation_lowers_the_error_on_rows_that_were_not_asked_about() -> None:
    x, y = start()
    result = adapt()
    assert result.losses[-1] < 0.8 * result.losses[0]
    assert wrong(x, y) > 0.25
    assert wrong(result.points, result.labels) < 0.2
    assert wrong(result.points, result.labels, exact=True) < 0.2  # also by the kernel that the features stand for


def test_alpha_holds_points_where_they_are() -> None:
    x, y = start()
    still = adapt(alpha=1.0, steps=5)
    assert np.array_equal(still.points, x)
    assert np.array_equal(still.labels, y)
    moved = [float(((adapt(alpha=alpha, steps=60).points - x) ** 2).sum()) for alpha in (0.9, 0.1)]
    assert 0.0 < moved[0] < 0.5 * moved[1]


def test_labels_are_learned_only_if_asked() -> None:
    _, y = start()
    fixed, free = adapt(steps=40), adapt(steps=40, learn_labels=True)
    assert np.array_equal(fixed.labels, y)
    assert not np.allclose(free.labels, y, atol=0.05)
    assert min(free.losses) < min(fixed.losses)


def test_the_same_seed_gives_the_same_answer() -> None:
    once, again, other = (adapt(steps=5, block=10, seed=seed) for seed in (7, 7, 8))
    assert np.array_equal(once.points, again.points)
    assert once.losses == again.losses
    assert not np.array_equal(once.points, other.points)


def test_blocks_follow_the_whole_loss() -> None:
    whole = adapt(steps=60)
    parts = adapt(steps=60, block=10)
    assert parts.losses[0] == whole.losses[0]
    assert min(parts.losses) == pytest.approx(min(whole.losses), rel=0.1)
    assert wrong(parts.points, parts.labels) < 0.25


def test_it_stops_when_nothing_is_gained_and_when_told() -> None:
    idle = adapt(learning_rate=0.0, steps=500, patience=7)
    assert len(idle.losses) == 7 + 1
    heard: list[tuple[int, float]] = []
    told = adapt(on_step=lambda step, loss: heard.append((step, loss)) or step == 4)
    assert heard == list(enumerate(told.losses))[1:]
    assert len(heard) == 4


def test_the_best_points_are_returned() -> None:
    fallback = np.full((2 * WIDTH, 2), 0.1)
    wild = adapt(learning_rate=3.0, steps=30, fallback=fallback)
    assert wild.losses[-1] > min(wild.losses)
    w = regression(wild.points, wild.labels, FEATURES, 1e-3)
    square = 1.0 + (w * (nearest_gram(NOISY_GRAM) @ w - 2.0 * NOISY_CROSS)).sum() / ROWS
    square += noise_edge(SD, 2 * WIDTH) / ROWS * ((w - fallback) ** 2).sum()
    distance = ((wild.points - start()[0]) ** 2).sum() / (start()[0] ** 2).sum()
    assert 0.01 * distance + 0.99 / 2 * square == pytest.approx(min(wild.losses), rel=1e-4)


def test_regression_predicts_as_its_dual_form() -> None:
    x, y = start()
    with jax.enable_x64(True):
        found = np.asarray(FEATURES(HELD_X)) @ regression(x, y, FEATURES, 0.3)
    assert np.allclose(found, predict(HELD_X, x, y, ridge=0.3), atol=1e-5)


def test_what_noise_hides_is_left_to_the_fallback() -> None:
    """Where nothing of the rows is seen, the best weights are those one came with."""
    good = regression(X, Y, FEATURES)
    x, y = start()
    options = {"rows": ROWS, "alpha": 0.0, "gram_sd": 1e4, "ridge": 1e-3, "steps": 100, "learning_rate": 0.05}
    result = adapt_points(x, y, 0.0 * NOISY_GRAM, 0.0 * NOISY_CROSS, FEATURES, fallback=good, **options)  # type: ignore[arg-type]
    before, after = (((regression(p, y, FEATURES, 1e-3) - good) ** 2).sum() for p in (x, result.points))
    assert after < 0.5 * before


def test_the_nearest_gram_costs_no_direction_less_than_nothing() -> None:
    values = np.linalg.eigvalsh(nearest_gram(NOISY_GRAM))
    assert values.min() > -1e-9 * values.max()
    assert np.linalg.eigvalsh(NOISY_GRAM).min() < -1.0
    exact = PHI.T @ PHI
    assert np.allclose(nearest_gram(exact), exact)


def test_the_edge_is_that_of_noise() -> None:
    largest = float(np.linalg.eigvalsh(NOISY_GRAM - PHI.T @ PHI).max())
    assert largest == pytest.approx(noise_edge(SD, 2 * WIDTH), rel=0.15)
