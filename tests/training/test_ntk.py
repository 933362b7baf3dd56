"""The tangent kernel against wide networks, an independent recursion, and its own random features."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.training.ntk import RandomFeatures, ntk, ntk_diagonal

ROWS = np.random.default_rng(1).normal(size=(12, 5))
OTHERS = np.random.default_rng(2).normal(scale=2.0, size=(7, 5))


def slow_ntk(x: NDArray[np.float64], y: NDArray[np.float64], depth: int, bias: float) -> float:
    """One pair, by the angle between the two, as the papers print it."""
    xx, yy, xy = (float(a @ b) / len(x) + bias**2 for a, b in ((x, x), (y, y), (x, y)))
    tangent = xy
    for _ in range(depth):
        angle = math.acos(min(1.0, max(-1.0, xy / math.sqrt(xx * yy))))
        xy = math.sqrt(xx * yy) * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi
        tangent = xy + tangent * (math.pi - angle) / math.pi
    return tangent


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_it_is_the_recursion_by_angles(depth: int, bias: float) -> None:
    slow = [[slow_ntk(x, y, depth, bias) for y in OTHERS] for x in ROWS]
    assert np.allclose(ntk(ROWS, OTHERS, depth, bias), slow, rtol=1e-4, atol=1e-5)
    itself = [slow_ntk(x, x, depth, bias) for x in ROWS]
    assert np.allclose(ntk_diagonal(ROWS, depth, bias), itself, rtol=1e-4)
    assert np.allclose(np.diagonal(ntk(ROWS, ROWS, depth, bias)), itself, rtol=3e-3)  # the kink, in 32 bits


@pytest.mark.parametrize("depth", [1, 2])
def test_a_wide_network_has_this_kernel(depth: int) -> None:
    """The inner products of a finite network's gradients. Its entries stray by about 5 / sqrt(width)."""
    width, bias = 2048, 0.7
    keys = jax.random.split(jax.random.key(3), depth + 1)
    sizes = [6, *[width] * depth, 1]
    weights = [jax.random.normal(k, (a, b)) for k, a, b in zip(keys, sizes[1:], sizes[:-1], strict=True)]

    def network(weights: list[jax.Array], x: jax.Array) -> jax.Array:
        hidden = jnp.append(x / math.sqrt(5.0), bias)
        for matrix in weights[:-1]:
            hidden = math.sqrt(2.0 / width) * jax.nn.relu(matrix @ hidden)
        return (weights[-1] @ hidden)[0]

    gradients = [jax.grad(network)(weights, jnp.asarray(x, dtype=jnp.float32)) for x in ROWS[:4]]
    found = [[sum(float((g * h).sum()) for g, h in zip(a, b, strict=True)) for b in gradients] for a in gradients]
    kernel = np.asarray(ntk(ROWS[:4], ROWS[:4], depth, bias))
    assert np.abs(found - kernel).max() < 0.1 * kernel.max()
    assert np.abs(found - np.asarray(ntk(ROWS[:4], ROWS[:4], depth + 1, bias))).max() > 0.2 * kernel.max()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_random_features_come_near_the_kernel_as_they_grow(depth: int) -> None:
    kernel = np.asarray(ntk(ROWS, OTHERS, depth))
    errors = []
    for width in (50, 1600):
        features = RandomFeatures.draw(4, 5, width, depth)
        assert features(ROWS).shape == (len(ROWS), features.size)
        errors.append(float(np.sqrt(np.mean((features(ROWS) @ features(OTHERS).T - kernel) ** 2))))
    assert errors[1] < 0.35 * errors[0]  # sqrt(50 / 1600) = 0.18, and what chance adds
    assert errors[1] < 0.1 * kernel.max()


def test_long_features_are_shortened_and_short_ones_left() -> None:
    free = RandomFeatures.draw(4, 5, 50)
    lengths = np.linalg.norm(free(ROWS), axis=1)
    radius = float(np.median(lengths))
    held = RandomFeatures(free.layers, free.bias, radius)(ROWS)
    assert np.allclose(np.linalg.norm(held, axis=1), np.minimum(lengths, radius), rtol=1e-5)
    assert np.array_equal(held[lengths < 0.99 * radius], free(ROWS)[lengths < 0.99 * radius])


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_gradients_are_finite_where_points_coincide_oppose_or_vanish(depth: int, bias: float) -> None:
    x = jnp.asarray(np.stack([ROWS[0], ROWS[0], -ROWS[0], 2.0 * ROWS[0], 0.0 * ROWS[0], 1e-20 * ROWS[0]]))
    gradient = jax.grad(lambda x: ntk(x, x, depth, bias).sum())(x)
    assert np.isfinite(gradient).all()
    features = RandomFeatures.draw(5, 5, 20, depth, bias)
    held = RandomFeatures(features.layers, bias, 0.5)
    assert all(np.isfinite(jax.grad(lambda x, f=f: f(x).sum())(x)).all() for f in (features, held))


def test_gradients_are_those_of_finite_differences() -> None:
    with jax.enable_x64(True):
        x, y = jnp.asarray(ROWS), jnp.asarray(OTHERS)
        gradient = np.asarray(jax.grad(lambda x: jnp.sin(ntk(x, y, 3)).sum())(x))
        for i, j in ((0, 0), (3, 4), (11, 2)):
            step = np.zeros(x.shape)
            step[i, j] = 1e-6
            above, below = (float(jnp.sin(ntk(x + s, y, 3)).sum()) for s in (step, -step))
            assert gradient[i, j] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-6)


def test_features_pull_points_as_the_kernel_does() -> None:
    """Without the smoothed step, half of the kernel's pull would be missing."""
    features = RandomFeatures.draw(6, 5, 20_000)
    seen = np.asarray(jax.grad(lambda x: (features(x) @ features(OTHERS).T).sum())(jnp.asarray(ROWS)))
    true = np.asarray(jax.grad(lambda x: ntk(x, OTHERS).sum())(jnp.asarray(ROWS)))
    assert np.linalg.norm(seen - true) < 0.1 * np.linalg.norm(true)
