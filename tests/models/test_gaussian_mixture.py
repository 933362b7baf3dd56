"""Probabilities of boxes and points against scipy, and samples against their moments."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sfumato.encoding.boxes import Boxes
from sfumato.models.gaussian_mixture import BoolArray, GaussianMixture
from sfumato.schema.layout import FloatArray

INF = np.inf


def correlation(dim: int, seed: int = 0) -> FloatArray:
    a = np.random.default_rng(seed).standard_normal((dim, dim + 3))
    cov = a @ a.T
    scale = np.sqrt(np.diag(cov))
    return cov / np.outer(scale, scale)


def model(covariance: FloatArray, mean: FloatArray | None = None) -> GaussianMixture:
    shift = np.zeros(len(covariance)) if mean is None else np.asarray(mean, dtype=float)
    return GaussianMixture(np.ones(1), shift[None], covariance[None])


def boxes(made: GaussianMixture, low: FloatArray, high: FloatArray, points: list[int] | None = None) -> FloatArray:
    is_point = np.zeros(low.shape, dtype=bool)
    is_point[:, points or []] = True
    return inside(made, low, high, is_point)


def inside(made: GaussianMixture, low: FloatArray, high: FloatArray, is_point: BoolArray) -> FloatArray:
    return made.log_boxes(0, Boxes(low, high, is_point, np.zeros(len(low)), np.arange(low.shape[1])))


@pytest.mark.parametrize(("dim", "most"), [(1, 1e-6), (2, 0.1), (3, 0.15), (4, 0.25)])
def test_boxes_have_the_probability_that_scipy_gives(dim: int, most: float) -> None:
    rng = np.random.default_rng(dim)
    cov, mean = correlation(dim, seed=dim), rng.normal(0, 0.3, dim)
    low = rng.normal(-0.7, 0.6, (30, dim))
    high = low + rng.uniform(0.5, 2.5, (30, dim))
    exact = [multivariate_normal.cdf(h, mean, cov, lower_limit=b) for b, h in zip(low, high, strict=True)]
    ratio = np.exp(boxes(model(cov, mean), low, high)) / exact
    assert np.abs(ratio - 1.0).max() < most
    assert np.median(np.abs(ratio - 1.0)) < 0.03
    assert abs(ratio.mean() - 1.0) < 0.03


def test_one_dimension_is_exact_far_into_the_tail() -> None:
    low = np.array([[-INF], [-1.0], [3.0], [8.0], [20.0], [-21.0], [30.0]])
    high = np.array([[-2.0], [0.5], [INF], [8.5], [21.0], [-20.0], [INF]])
    near, far = np.where(low > 0, low, -high)[:, 0], np.where(low > 0, high, -low)[:, 0]
    exact = norm.logsf(near) + np.log1p(-np.exp(norm.logsf(far) - norm.logsf(near)))
    np.testing.assert_allclose(boxes(model(np.eye(1)), low, high), exact, rtol=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_have_the_exact_density(dim: int) -> None:
    rng = np.random.default_rng(dim)
    cov, mean = correlation(dim), rng.normal(size=dim)
    z = rng.normal(size=(30, dim))
    found = boxes(model(cov, mean), z, z, list(range(dim)))
    np.testing.assert_allclose(found, multivariate_normal.logpdf(z, mean, cov).reshape(-1), rtol=1e-9)


def test_points_are_conditioned_on_before_boxes() -> None:
    """p(z1) P(box | z1) in closed form, with the point after the box in the order of columns."""
    rho = 0.7
    z = np.linspace(-2, 2, 9)
    low, high = np.stack([np.full(9, -0.5), z], axis=1), np.stack([np.full(9, 1.0), z], axis=1)
    sd = np.sqrt(1 - rho**2)
    inside = norm.cdf((1.0 - rho * z) / sd) - norm.cdf((-0.5 - rho * z) / sd)
    found = boxes(model(np.array([[1, rho], [rho, 1]])), low, high, [1])
    np.testing.assert_allclose(found, norm.logpdf(z) + np.log(inside), rtol=1e-9)


def test_each_row_may_have_its_own_points_and_depends_on_no_other_row() -> None:
    cov, rng = correlation(4, seed=3), np.random.default_rng(0)
    made = model(cov)
    low = rng.normal(size=(200, 4))
    high = low + 1.0
    is_point = rng.random((200, 4)) < 0.5
    together = inside(made, low, high, is_point)
    alone = [inside(made, low[i : i + 1], high[i : i + 1], is_point[i : i + 1])[0] for i in range(200)]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    exact = is_point.all(axis=1)
    assert exact.any()
    np.testing.assert_allclose(together[exact], multivariate_normal.logpdf(low[exact], np.zeros(4), cov))


@pytest.mark.parametrize("dim", [1, 3, 8, 40])
def test_the_whole_space_has_probability_one(dim: int) -> None:
    low = np.full((5, dim), -INF)
    np.testing.assert_allclose(boxes(model(correlation(dim)), low, -low), 0.0, atol=1e-12)


def test_a_free_coordinate_is_integrated_out() -> None:
    cov = correlation(3)
    low, high = np.array([[-0.5, -INF, 0.2]]), np.array([[1.0, INF, 1.5]])
    part = cov[np.ix_([0, 2], [0, 2])]
    exact = multivariate_normal.cdf([1.0, 1.5], [0, 0], part, lower_limit=[-0.5, 0.2])
    assert np.exp(boxes(model(cov), low, high))[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_all_cells_add_up_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [np.array([-INF, *np.sort(rng.normal(size=n)), INF]) for n in (1, 2, 3)]
    cells = list(itertools.product(*(range(len(e) - 1) for e in edges)))
    low = np.array([[edges[c][i] for c, i in enumerate(cell)] for cell in cells])
    high = np.array([[edges[c][i + 1] for c, i in enumerate(cell)] for cell in cells])
    made = model(correlation(3, seed), rng.normal(0, 0.3, 3))
    assert np.exp(boxes(made, low, high)).sum() == pytest.approx(1.0, abs=0.02)


def test_far_tails_stay_finite() -> None:
    cov = np.array([[1.0, 0.95], [0.95, 1.0]])
    far = [6.0, 20.0, 37.0, 40.0, 500.0, 1e4]
    low = np.array([[s * a, t * b] for a in far for b in far for s in (-1, 1) for t in (-1, 1)])
    for high in (low + 0.1, np.full_like(low, INF)):
        found = boxes(model(cov), low, high)
        assert not np.isnan(found).any()
        assert (found <= 1e-9).all()
        assert not np.isposinf(found).any()
    for points in ([0], [1], [0, 1]):
        assert np.isfinite(boxes(model(cov), low, low + 0.1, points)).all()


def test_narrow_boxes_stay_finite() -> None:
    low = np.array([[0.3, -0.2], [5.0, 5.0]])
    found = boxes(model(np.eye(2)), low, np.nextafter(low, INF))
    assert np.isfinite(found).all()


def test_many_rows_are_cut_into_chunks_without_a_seam() -> None:
    rng = np.random.default_rng(0)
    low = rng.normal(size=(10_000, 2))
    made = model(correlation(2))
    whole = boxes(made, low, low + 1.0)
    np.testing.assert_array_equal(whole[5000:5010], boxes(made, low[5000:5010], low[5000:5010] + 1.0))
    assert len(boxes(made, low[:0], low[:0])) == 0


def test_the_answer_is_the_same_each_time() -> None:
    low = np.random.default_rng(1).normal(size=(50, 6))
    made = model(correlation(6))
    np.testing.assert_array_equal(boxes(made, low, low + 1.0), boxes(made, low, low + 1.0))


def test_samples_have_the_model_s_moments() -> None:
    n, weights = 200_000, np.array([0.7, 0.25, 0.05])
    covariances = np.stack([correlation(3, seed) for seed in range(3)])
    means = np.array([[0.0, 0.5, -0.5], [1.0, 0.0, 0.0], [-1.0, 2.0, 0.3]])
    made = GaussianMixture(weights, means, covariances)
    rng = np.random.default_rng(7)
    labels = made.sample_components(n, rng)
    z = made.sample(labels, rng)
    assert z.shape == (n, 3)
    for k in range(3):
        mine = z[labels == k]
        bound = 6.0 / np.sqrt(len(mine))
        assert abs(len(mine) / n - weights[k]) < 6.0 * np.sqrt(weights[k] / n)
        assert np.abs(mine.mean(axis=0) - means[k]).max() < bound
        assert np.abs(np.cov(mine.T) - covariances[k]).max() < 1.5 * bound


def test_sampling_nothing_and_a_single_class() -> None:
    made = model(correlation(2))
    rng = np.random.default_rng(0)
    assert made.sample_components(0, rng).shape == (0,)
    assert made.sample(np.zeros(0, dtype=np.int64), rng).shape == (0, 2)
    assert set(made.sample_components(10, rng)) == {0}
