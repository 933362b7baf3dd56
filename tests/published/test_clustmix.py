"""ClustMix as printed: the noise of (8), clusters of enough rows, each row once, the loss (6), and what it leaks."""

from __future__ import annotations

import itertools
import math

import jax
import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.published import clustmix
from sfumato.published.clustmix import Kip
from sfumato.schema.layout import FloatArray, IntArray

SIGMAS = 5.5
CASES = [(1.0, 1e-5, 0.2, 2, 14), (0.1, 1e-6, 0.5, 10, 784), (8.0, 1e-3, 0.05, 4, 3), (1.0, 1 / 32561, 0.1, 2, 105)]


def table(rows: int = 600, columns: int = 3) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    y = rng.choice(3, size=rows, p=[0.6, 0.3, 0.1])
    return rng.standard_normal((rows, columns)) + y[:, None], y


def release(**options) -> clustmix.Synthetic:
    x, y = table()
    known = {"epsilon": 1.0, "delta": 1e-5, "sigma_max": 0.6, "adapt": False, "rng": np.random.default_rng(1)}
    return clustmix.release(x, y, 3, **(known | options))


# --- Equation (8)


def printed_delta(epsilon: float, sigma: float, rows: int, classes: int, columns: int) -> mpmath.mpf:
    """(8), letter by letter."""
    with mpmath.workdps(60):
        a = mpmath.mpf(epsilon) * rows * sigma / mpmath.sqrt(classes * columns)
        b = mpmath.sqrt(classes * columns) / (2 * mpmath.mpf(rows) * sigma)
        return mpmath.ncdf(-a + b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b)


@pytest.mark.parametrize(("epsilon", "delta", "sigma", "classes", "columns"), CASES)
def test_equation_8(epsilon: float, delta: float, sigma: float, classes: int, columns: int) -> None:
    least = clustmix.smallest_mixture(epsilon, delta, sigma, classes, columns)
    for rows in (1, 10, least, 3 * least):
        expected = float(printed_delta(epsilon, sigma, rows, classes, columns))
        assert clustmix.delta(epsilon, sigma, rows, classes, columns) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert printed_delta(epsilon, sigma, least, classes, columns) <= delta
    assert printed_delta(epsilon, sigma, least - 1, classes, columns) > delta


@pytest.mark.parametrize(("epsilon", "delta", "sigma", "classes", "columns"), CASES)
def test_the_noise_by_root_finding(epsilon: float, delta: float, sigma: float, classes: int, columns: int) -> None:
    rows = 57
    root = math.sqrt(classes * columns)

    def excess(s: float) -> float:
        a, b = epsilon * rows * s / root, root / (2 * rows * s)
        return float(norm.cdf(-a + b) - math.exp(epsilon) * norm.cdf(-a - b) - delta)

    found = clustmix.noise_sd(epsilon, delta, rows, classes, columns)
    assert found == pytest.approx(brentq(excess, found / 10, found * 10, xtol=1e-14, rtol=1e-12), rel=1e-6)


def test_l_min_keeps_the_noise_below_sigma_max() -> None:
    least = clustmix.smallest_mixture(1.0, 1e-5, 0.2, 2, 14)
    assert clustmix.noise_sd(1.0, 1e-5, least, 2, 14) <= 0.2 < clustmix.noise_sd(1.0, 1e-5, least - 1, 2, 14)


# --- Approximate


@pytest.mark.parametrize("seed", range(20))
def test_the_constrained_assignment_is_the_cheapest_there_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, n = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    least = int(rng.integers(1, rows // n + 1))
    cost = rng.standard_normal((rows, n)) + 3.0 * rng.standard_normal(n)
    found = clustmix.constrained_assignment(cost, least)
    assert np.bincount(found, minlength=n).min() >= least
    every = np.array(list(itertools.product(range(n), repeat=rows)))
    allowed = every[(np.stack([(every == k).sum(axis=1) for k in range(n)]) >= least).all(axis=0)]
    cheapest = cost[np.arange(rows), allowed].sum(axis=1).min()
    assert cost[np.arange(rows), found].sum() == pytest.approx(cheapest)


def test_clusters_are_found() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 20)
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[truth] + 0.05 * rng.standard_normal((60, 2))
    found = clustmix.constrained_mixture(x, 3, 20, rng, restarts=5)
    assert all(len(np.unique(found[truth == k])) == 1 for k in range(3))
    assert len(np.unique(found)) == 3


@pytest.mark.parametrize("rounds", [1, 50])
def test_clusters_have_enough_rows_also_where_k_means_stands_in(monkeypatch, rounds: int) -> None:
    monkeypatch.setattr(clustmix, "MOST_ROUNDS", rounds)
    x, _ = table(200)
    found = clustmix.constrained_mixture(x, 6, 30, np.random.default_rng(0))
    assert np.bincount(found, minlength=6).min() >= 30


def test_rows_that_are_all_the_same_do_not_stop_it() -> None:
    found = clustmix.constrained_mixture(np.zeros((30, 2)), 4, 7, np.random.default_rng(0))
    assert np.bincount(found, minlength=4).min() >= 7


# --- Algorithm 2


@pytest.mark.parametrize("options", [{}, {"cuts": 0}, {"cuts": 4, "restarts": 2}, {"scaling": "quantile"}])
def test_every_cluster_has_l_min_rows_of_one_class_and_every_row_is_used_once(options: dict) -> None:
    _, y = table()
    found = release(**options)
    least = clustmix.smallest_mixture(1.0, 1e-5, 0.6, 3, 3)
    assert len(found.y) == len(found.x) == len(found.scaled) > 3
    assert found.sizes.min() >= least
    assert found.sizes.sum() == (found.membership >= 0).sum()
    inside = found.membership >= 0
    np.testing.assert_array_equal(found.y[found.membership[inside]], y[inside])
    np.testing.assert_allclose(found.sigmas, [clustmix.noise_sd(1.0, 1e-5, int(size), 3, 3) for size in found.sizes])
    assert found.sigmas.max() <= 0.6


def test_without_slices_a_class_has_as_many_points_as_fit() -> None:
    _, y = table()
    least = clustmix.smallest_mixture(1.0, 1e-5, 0.6, 3, 3)
    found = release(cuts=0)
    np.testing.assert_array_equal(np.bincount(found.y, minlength=3), np.bincount(y) // least)
    left_out = np.bincount(y) < least
    np.testing.assert_array_equal(np.isin(y, np.flatnonzero(left_out)), found.membership < 0)


def test_points_are_means_of_their_rows_where_there_is_hardly_any_noise() -> None:
    x, _ = table()
    found = release(epsilon=1e6, sigma_max=1e-5)
    assert found.sigmas.max() < 1e-4
    for point in range(len(found.y)):
        np.testing.assert_allclose(found.x[point], x[found.membership == point].mean(axis=0), atol=0.01)


def test_the_noise_is_what_8_asks_for() -> None:
    """One cluster of fixed rows, so that nothing but the noise varies."""
    x, y = np.linspace(0.0, 1.0, 40)[:, None], np.zeros(40, dtype=int)
    options = {"epsilon": 1.0, "delta": 1e-5, "sigma_max": 0.15, "adapt": False, "cuts": 0}
    runs = [clustmix.release(x, y, 1, rng=np.random.default_rng(seed), **options) for seed in range(1000)]
    assert all(len(run.y) == 1 for run in runs)
    points = np.array([run.scaled[0, 0] for run in runs])
    ratio = points.var() / clustmix.noise_sd(1.0, 1e-5, 40, 1, 1) ** 2
    assert abs(ratio - 1.0) < SIGMAS * math.sqrt(2 / len(runs))
    assert abs(points.mean() - 0.5) < SIGMAS * points.std() / math.sqrt(len(runs))


def test_it_repeats_itself_with_the_same_generator() -> None:
    first, second, other = (release(rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.x, second.x)
    assert not np.array_equal(first.x, other.x)


def test_slices_lie_between_rows() -> None:
    x, _ = table()
    x[:, 0] = 0.0
    region = clustmix.slices(x, 9, np.random.default_rng(0))
    assert len(np.unique(region)) in (9, 10)
    assert any(
        all(x[region == r, j].max() < x[region == r + 1, j].min() for r in range(9) if (region == r).any())
        for j in (1, 2)
    )
    assert not clustmix.slices(x, 0, np.random.default_rng(0)).any()


def test_slices_lie_on_the_feature_whose_commonest_value_is_rarest() -> None:
    x = np.zeros((100, 2))
    x[:40, 0] = np.arange(1, 41)  # has most values, and 60 rows with one of them
    x[:, 1] = np.repeat(np.arange(20), 5)
    region = clustmix.slices(x, 9, np.random.default_rng(0))
    assert np.bincount(region).max() < 60
    assert all(len(np.unique(region[x[:, 1] == value])) == 1 for value in range(20))


def test_a_column_that_is_the_same_everywhere_but_for_rounding_moves_no_centroid_away() -> None:
    x, y = table()
    x[:, 0] = 0.1 + np.spacing(0.1) * np.random.default_rng(0).integers(2, size=len(x))
    assert 0 < x[:, 0].std() < clustmix.ROUNDED_SPREAD
    centroids, of_class = clustmix.approximate(x, y, 3, 20, np.random.default_rng(0))
    moved = clustmix.adapted(x, y, centroids, of_class, 3, clustmix.Kip(steps=20), np.random.default_rng(0))
    assert np.isfinite(moved).all()


@pytest.mark.parametrize("scaling", ["min-max", "quantile"])
def test_scaling_is_undone(scaling: clustmix.Scaling) -> None:
    x, _ = table()
    x[:, 1] = 3.0
    scaled, undo = clustmix.scale(x, scaling)
    assert scaled.min() >= 0.0
    assert scaled.max() <= 1.0
    np.testing.assert_allclose(undo(scaled), x, atol=1e-6)


def test_one_row_moves_every_scaled_row() -> None:
    """What the docstring says of min-max scaling."""
    x, _ = table()
    far = x.copy()
    far[0] = 1000.0
    moved = np.abs(clustmix.scale(far, "min-max")[0] - clustmix.scale(x, "min-max")[0])[1:]
    assert np.median(moved) > 0.3


@pytest.mark.parametrize(
    "change",
    [{"sigma_max": 0.0}, {"epsilon": -1.0}, {"delta": 2.0}],
)
def test_bad_arguments(change: dict) -> None:
    with pytest.raises(ArgumentError):
        release(**change)


def test_bad_rows_and_settings() -> None:
    x, y = table()
    options = {"epsilon": 1.0, "delta": 1e-5, "sigma_max": 0.6, "rng": np.random.default_rng(0)}
    for rows, labels in ((x, y + 1), (x[:, 0], y), (x[1:], y), (np.full_like(x, np.nan), y)):
        with pytest.raises(ArgumentError):
            clustmix.release(rows, labels, 3, **options)
    for change in ({"alpha": 1.5}, {"ridge": 0.0}, {"steps": 0}):
        with pytest.raises(ArgumentError):
            Kip(**change)


# --- Adapt


def kernel(x: FloatArray, y: FloatArray) -> FloatArray:
    """The tangent kernel of one hidden ReLU layer, by its closed form, rows read as (x / sqrt(d), 1)."""
    a, b = (np.hstack([rows / math.sqrt(rows.shape[1]), np.ones((len(rows), 1))]) for rows in (x, y))
    length = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    angle = np.arccos(np.clip(a @ b.T / length, -1.0, 1.0))
    first = length * (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / math.pi
    return first + (math.pi - angle) / math.pi * (a @ b.T)


def printed_loss(points, start, support, rows, labels, unit, kip: Kip) -> float:
    z, t = ((part - unit[0]) / unit[1] for part in (points, rows))
    fit = kernel(t, z) @ np.linalg.solve(kernel(z, z) + kip.ridge * np.eye(len(z)), support)
    moved = np.trace((points - start).T @ (points - start)) / np.trace(start.T @ start)
    return float(kip.alpha * moved + (1 - kip.alpha) * 0.5 * np.linalg.norm(labels - fit) ** 2)


def adapt_case() -> tuple[FloatArray, ...]:
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 2)), rng.integers(2, size=60)
    x[:, 0] = np.clip(x[:, 0] * 0.6 + 0.4 * y, 0.0, 1.0)
    start, of_class = np.vstack([x[y == c][:3] for c in (0, 1)])[:5], np.array([0, 0, 0, 1, 1])
    return x, y, start, of_class


def test_the_loss_is_6_and_absent_centroids_add_nothing() -> None:
    x, y, start, of_class = adapt_case()
    points = start + 0.05 * np.random.default_rng(1).standard_normal(start.shape)
    labels, unit, kip = np.eye(2) - 0.5, (x.mean(axis=0), x.std(axis=0)), Kip(alpha=0.3, ridge=0.01)
    expected = printed_loss(points, start, labels[of_class], x, labels[y], unit, kip)
    with jax.enable_x64(True):
        compiled = jax.jit(clustmix.loss, static_argnums=7)
        for absent in (0, 3):
            padded = [np.pad(part, ((0, absent), (0, 0))) for part in (points, start, labels[of_class])]
            there = np.pad(np.ones(5), (0, absent))
            found = compiled(*padded, there, x, labels[y], unit, kip)
            assert float(found) == pytest.approx(expected, rel=1e-7)  # arccos near 1 keeps half its digits


def test_alpha_one_keeps_the_centroids_and_alpha_zero_fits_the_labels() -> None:
    x, y, start, of_class = adapt_case()
    labels, unit = np.eye(2) - 0.5, (x.mean(axis=0), x.std(axis=0))
    moved = {}
    for alpha in (0.0, 1.0):
        kip = Kip(alpha=alpha, ridge=0.01, steps=100)
        moved[alpha] = clustmix.adapted(x, y, start, of_class, 2, kip, np.random.default_rng(0))
    np.testing.assert_array_equal(moved[1.0], start)
    krr = Kip(alpha=0.0, ridge=0.01)
    before, after = (printed_loss(p, start, labels[of_class], x, labels[y], unit, krr) for p in (start, moved[0.0]))
    assert after < 0.9 * before


def test_a_support_batch_moves_no_other_centroid_and_random_kernels_and_labels_lower_the_loss() -> None:
    x, y, start, of_class = adapt_case()
    labels, unit = np.eye(2) - 0.5, (x.mean(axis=0), x.std(axis=0))
    known = {"alpha": 0.0, "ridge": 0.01}
    one = clustmix.adapted(x, y, start, of_class, 2, Kip(steps=1, support=2, **known), np.random.default_rng(0))
    assert (np.abs(one - start).sum(axis=1) > 0).sum() == 2
    whole = Kip(steps=100, depth=3, random_kernel=True, support=3, learn_labels=True, **known)
    moved = clustmix.adapted(x, y, start, of_class, 2, whole, np.random.default_rng(0))
    before, after = (printed_loss(p, start, labels[of_class], x, labels[y], unit, Kip(**known)) for p in (start, moved))
    assert after < before


def test_the_adapted_release_keeps_its_sizes() -> None:
    options = {"adapt": True, "kip": Kip(alpha=0.1, steps=20), "cuts": 1}
    first, second = (release(rng=np.random.default_rng(3), **options) for _ in range(2))
    least = clustmix.smallest_mixture(1.0, 1e-5, 0.6, 3, 3)
    assert first.sizes.min() >= least
    assert first.sizes.sum() == (first.membership >= 0).sum()
    np.testing.assert_array_equal(first.x, second.x)


def test_without_jax_the_extra_is_named(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(clustmix, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"sfumato\[train\]"):
        release(adapt=True)
