"""The mechanisms that Liu, Scaglione and Peisert (2025) compare with (Section V-A), and one that is what it claims.

`laplace`, `gaussian` and `coloured_gaussian` are NOT DIFFERENTIALLY PRIVATE. Their noise is scaled by R, the largest
L1 norm of the table's own rows, and by sensitivities that presume N_k of order N / K. A row that leaves a class of N_k
rows moves its mean by up to 2R / (N_k - 1); the formula allows 4RK / N for both classes that it touches, five times too
little for 20 rows out of 1000 in five classes. Each adds noise to weights, means and covariances at a third of epsilon
(and of delta), then projects onto parameters that make a mixture.

`naive_strict` asks for counts, sums and second moments inside public bounds and adds the noise they really need.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.liu2025 import coloured, fit_labelled, mean_differences
from sfumato.published.noise_shape import noise_shape
from sfumato.schema.layout import FloatArray, IntArray

SMALLEST_EIGENVALUE = 1e-3
"""The floor under the eigenvalues of a covariance that the first three project onto the feasible ones."""

SMALLEST_SHARE = 0.02
"""The same for `naive_strict`: no standard deviation below this share of half the public range."""

RELEASED_PARTS = 3  # weights, means, covariances


def laplace(x: FloatArray, y: IntArray, classes: int, *, epsilon: float, rng: np.random.Generator) -> GaussianMixture:
    """i.i.d. Laplace noise of scale 3 Delta_1 / epsilon, after Wu et al. (2016), Algorithm 2.

    Claimed: (epsilon, 0)-DP. It is not, see the module's text.
    """
    sizes = [RELEASED_PARTS * s / epsilon for s in sensitivities(x, classes)]
    return _noisy(x, y, classes, sizes, rng.laplace)


def gaussian(
    x: FloatArray, y: IntArray, classes: int, *, epsilon: float, delta: float, rng: np.random.Generator
) -> GaussianMixture:
    """i.i.d. Gaussian noise, its L2 sensitivities bounded by the L1 ones of Wu et al. (2016).

    Claimed: (epsilon, delta)-DP. It is not, see the module's text. The classical sigma, besides, is proved for
    a share of epsilon below 1 only, that is for epsilon < 3.
    """
    sizes = [_classical_sigma(s, epsilon, delta) for s in sensitivities(x, classes)]
    return _noisy(x, y, classes, sizes, rng.normal)


def coloured_gaussian(
    x: FloatArray, y: IntArray, classes: int, *, epsilon: float, delta: float, rng: np.random.Generator
) -> GaussianMixture:
    """As `gaussian`, but the means get noise of the shape that has the least mean squared error subject to (10), after
    Ravi et al. (2022): problem (23) with the identity for weight.

    Claimed: (epsilon, delta)-DP. It is not: see the module's text, and (10) scales the noise to the table's own
    neighbours.
    """
    sizes = [_classical_sigma(s, epsilon, delta) for s in sensitivities(x, classes)]
    noisy = _noisy(x, y, classes, sizes, rng.normal)
    level = (epsilon / RELEASED_PARTS) ** 2 / (2 * math.log(2 / (delta / RELEASED_PARTS)))
    means = fit_labelled(x, y, classes).mixture.means.copy()
    for k in range(classes):
        differences = np.vstack(mean_differences(x, y, k))
        means[k] += coloured(noise_shape(differences, np.eye(x.shape[1]), level).covariance, rng)
    return GaussianMixture(noisy.weights, means, noisy.covariances)


def sensitivities(x: FloatArray, classes: int) -> tuple[float, float, float]:
    """The L1 sensitivities of weights, means and covariances as Wu et al. (2016) state them.

    They hold neither for classes smaller than N / K nor for rows beyond the largest in this table.
    """
    n, k = len(x), classes
    radius = float(np.abs(x).sum(axis=1).max())
    return k / n, 4 * radius * k / n, (12 * n * k + 8 * k * k) * radius**2 / n**2


def naive_strict(
    x: FloatArray,
    y: IntArray,
    classes: int,
    *,
    bounds: tuple[FloatArray | float, FloatArray | float],
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    rows_per_unit: int = 1,
) -> GaussianMixture:
    """Counts, sums and second moments per class with i.i.d. Gaussian noise: (epsilon, delta)-DP, add-remove.

    Formal guarantee. Every column is clamped to its `bounds`, which are public, and mapped to [-1, 1], so the norm of a
    row is at most sqrt(d). One row adds (1, z, zz^T) to one class: at most 1, sqrt(d) and d in L2 (Frobenius) norm.
    Each of the three is asked at mu / sqrt(3), together mu-GDP; `calibrate` makes mu of (epsilon, delta). Where a
    person has up to m = `rows_per_unit` rows, the noise is m times as large. What follows is post-processing.

    The guarantee is for ideal noise and exact sums. This code draws from the generator that it is given and adds
    floats: for experiments, not for releases.
    """
    low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), x.shape[1]) for b in bounds)
    if not (low < high).all():
        raise ArgumentError("bounds must be (low, high) with low below high")
    centre, half = (low + high) / 2, (high - low) / 2
    z = np.clip((x - centre) / half, -1.0, 1.0)
    d = x.shape[1]
    sigma = rows_per_unit * math.sqrt(RELEASED_PARTS) / calibrate(epsilon, delta)
    counts, means, covariances = np.empty(classes), np.empty((classes, d)), np.empty((classes, d, d))
    for k in range(classes):
        rows, noise = z[y == k], rng.standard_normal((d, d))
        counts[k] = max(1.0, len(rows) + sigma * rng.standard_normal())
        sums = rows.sum(axis=0) + sigma * math.sqrt(d) * rng.standard_normal(d)
        # Off the diagonal an entry stands in the Frobenius norm twice, so 1 / sqrt(2) of the noise is enough.
        moments = rows.T @ rows + sigma * d * (noise + noise.T) / 2
        means[k] = np.clip(sums / counts[k], -1.0, 1.0)
        covariances[k] = moments / counts[k] - np.outer(means[k], means[k])
    spread = _positive(covariances, SMALLEST_SHARE**2) * np.outer(half, half)
    return GaussianMixture(counts / counts.sum(), centre + half * means, spread)


def _noisy(
    x: FloatArray, y: IntArray, classes: int, sizes: list[float], noise: Callable[..., FloatArray]
) -> GaussianMixture:
    """The fitted mixture with noise of those sizes on weights, means and covariances, projected."""
    model = fit_labelled(x, y, classes).mixture
    weights, means, covariances = sizes
    return GaussianMixture(
        _simplex(model.weights + noise(scale=weights, size=model.weights.shape), 1.0 / len(x)),
        model.means + noise(scale=means, size=model.means.shape),
        _positive(
            model.covariances + _symmetric(noise(scale=covariances, size=model.covariances.shape)), SMALLEST_EIGENVALUE
        ),
    )


def _classical_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    return sensitivity * math.sqrt(2 * math.log(1.25 * RELEASED_PARTS / delta)) * RELEASED_PARTS / epsilon


def _symmetric(noise: FloatArray) -> FloatArray:
    """The upper triangle, mirrored."""
    upper = np.triu(noise)
    return upper + np.swapaxes(np.triu(noise, 1), -1, -2)


def _positive(covariances: FloatArray, floor: float) -> FloatArray:
    """The nearest symmetric matrices (Frobenius) with no eigenvalue below the floor."""
    squares, axes = np.linalg.eigh(covariances)
    found = (axes * np.maximum(squares, floor)[:, None, :]) @ np.swapaxes(axes, -1, -2)
    return np.asarray((found + np.swapaxes(found, -1, -2)) / 2)


def _simplex(weights: FloatArray, least: float) -> FloatArray:
    """The nearest weights that sum to 1, none below `least`."""
    room = 1.0 - least * len(weights)
    falling = np.sort(weights - least)[::-1]
    excess = (np.cumsum(falling) - room) / np.arange(1, len(weights) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return least + np.maximum(weights - least - excess[last], 0.0)
