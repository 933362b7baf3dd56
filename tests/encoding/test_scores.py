"""The map to latent space: a bijection with the marginals built in, and correlations that come back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import HermiteE
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from sfumato.encoding.marginals import Marginals
from sfumato.encoding.scores import (
    HERMITE_TERMS,
    STANDARD,
    ColumnScores,
    Latent1D,
    Scores,
    correspondence_axis,
    latent_order,
)
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.schema.layout import FloatArray, bins_of
from sfumato.schema.schema import Category, Number

MASSES = st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=30).map(lambda m: np.array([m]) / sum(m))


def column(*masses: float, order: list[int] | None = None) -> ColumnScores:
    values = np.array([masses]) / sum(masses)
    return ColumnScores(np.arange(len(masses)) if order is None else np.array(order), values)


def normal_column(bins: int) -> ColumnScores:
    """Bins equal in width over a standard normal."""
    return ColumnScores(np.arange(bins), np.diff(ndtr(np.linspace(-4, 4, bins + 1)))[None] / (ndtr(4) - ndtr(-4)))


# --- edges, scores, and the way there and back


@given(MASSES, st.randoms(use_true_random=False))
def test_edges_and_cdf_agree(masses: FloatArray, random: np.random.Generator) -> None:
    order = list(range(masses.shape[1]))
    random.shuffle(order)
    made = ColumnScores(np.array(order), masses)
    assert made.cdf[0, 0] == 0.0
    assert made.cdf[0, -1] == 1.0
    assert made.edges[0, 0] == -np.inf
    assert made.edges[0, -1] == np.inf
    np.testing.assert_allclose(ndtr(made.edges), made.cdf, atol=1e-12)
    np.testing.assert_allclose(np.diff(made.cdf[0]), masses[0, order], atol=1e-12)
    assert (np.diff(made.in_order[0]) > 0).all()
    assert (made.in_order[0] > made.edges[0, :-1]).all()
    assert (made.in_order[0] < made.edges[0, 1:]).all()


def test_scores_by_bin_number_and_by_latent_order_are_the_same() -> None:
    made = column(0.2, 0.5, 0.3, order=[2, 0, 1])
    np.testing.assert_array_equal(made.scores[0, [2, 0, 1]], made.in_order[0])
    np.testing.assert_allclose(made.scores[0], norm.ppf([0.4, 0.75, 0.15]))
    assert made.rank.tolist() == [1, 2, 0]


@given(MASSES, st.integers(0, 2**31), st.data())
def test_a_place_in_a_bin_goes_to_latent_space_and_back(masses: FloatArray, seed: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(masses.shape[1])))
    made = ColumnScores(np.array(order), masses)
    rng = np.random.default_rng(seed)
    codes, position = rng.integers(0, masses.shape[1], 50), rng.uniform(0.01, 0.99, 50)
    latent = made.latent_at(codes, position, 0)
    back, where = made.bins_at(latent, 0)
    np.testing.assert_array_equal(back, codes)
    np.testing.assert_allclose(where, position, atol=1e-6)
    low, high = made.box(codes, 0)
    assert ((low <= latent) & (latent <= high)).all()


def test_latent_normals_decode_to_the_marginal() -> None:
    made = column(0.1, 0.6, 0.05, 0.25, order=[3, 1, 0, 2])
    z = norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    codes, position = made.bins_at(z, 0)
    np.testing.assert_allclose(np.bincount(codes) / 10_000, made.masses[0], atol=2e-4)
    assert position.min() >= 0.0
    assert position.max() < 1.0


def test_far_latent_values_land_in_the_outer_bins() -> None:
    made = column(0.3, 0.4, 0.3)
    codes, position = made.bins_at(np.array([-50.0, -9.0, 9.0, 50.0]), 0)
    assert codes.tolist() == [0, 0, 2, 2]
    assert ((position >= 0.0) & (position < 1.0)).all()


def test_an_unknown_cell_is_the_whole_line() -> None:
    low, high = column(0.5, 0.5).box(np.array([-1, 0, 1]), 0)
    assert low.tolist() == [-np.inf, -np.inf, 0.0]
    assert high.tolist() == [np.inf, 0.0, np.inf]


def test_moments_are_those_of_the_scores() -> None:
    made = column(0.2, 0.5, 0.3)
    assert made.means[0] == pytest.approx(float(made.masses[0] @ made.scores[0]))
    assert made.variances[0] == pytest.approx(float(made.masses[0] @ (made.scores[0] - made.means[0]) ** 2))
    fine = normal_column(400)
    assert fine.means[0] == pytest.approx(0.0, abs=1e-9)
    assert fine.variances[0] == pytest.approx(1.0, abs=0.01)


# --- Hermite coefficients and correlations


@pytest.mark.every(2)
@pytest.mark.parametrize("masses", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.5, 0.3), (0.01, 0.01, 0.08, 0.3, 0.6), (1.0,)])
def test_hermite_coefficients_are_the_integrals(masses: tuple[float, ...]) -> None:
    made = column(*masses)
    z = np.linspace(-12.0, 12.0, 1_000_001)
    step = made.in_order[0][np.clip(np.searchsorted(made.edges[0], z, "right") - 1, 0, len(masses) - 1)]
    weight = norm.pdf(z)
    for m in range(1, HERMITE_TERMS + 1):
        integral = np.trapezoid(step * HermiteE.basis(m)(z) * weight, z)
        assert made.hermite[0, m - 1] == pytest.approx(integral, abs=1e-3)


def test_a_fine_staircase_is_the_identity() -> None:
    coefficients = normal_column(500).hermite[0]
    assert coefficients[0] == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(coefficients[1:], 0.0, atol=0.05)


def score_covariance(first: ColumnScores, second: ColumnScores, rho: float) -> float:
    """Exact covariance of two columns' scores over a bivariate normal."""
    a, b = np.clip(first.edges[0], -9, 9), np.clip(second.edges[0], -9, 9)
    grid = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1)
    cdf = multivariate_normal.cdf(grid, [0, 0], [[1, rho], [rho, 1]], abseps=1e-9, releps=1e-9)
    cells = np.diff(np.diff(cdf.reshape(len(a), len(b)), axis=0), axis=1)
    return float(first.in_order[0] @ cells @ second.in_order[0] - first.means[0] * second.means[0])


FINE, COARSE = normal_column(20), column(0.1, 0.25, 0.4, 0.25)
BINARY, LOPSIDED = column(0.6, 0.4), column(0.85, 0.15)


@pytest.mark.parametrize("rho", [-0.8, -0.3, 0.0, 0.5, 0.8])
@pytest.mark.parametrize("pair", [(FINE, FINE), (FINE, COARSE), (FINE, BINARY), (BINARY, BINARY), (BINARY, LOPSIDED)])
def test_latent_correlation_comes_back(pair: tuple[ColumnScores, ColumnScores], rho: float) -> None:
    exact = score_covariance(*pair, rho)
    covariance = np.array([[pair[0].variances[0], exact], [exact, pair[1].variances[0]]])
    found = Scores(pair).latent_correlation(covariance, 0)
    assert found[0, 1] == pytest.approx(rho, abs=0.03)
    assert found[0, 1] == found[1, 0]
    assert found[0, 0] == found[1, 1] == 1.0


def test_the_raw_correlation_of_coarse_scores_would_be_too_low() -> None:
    exact = score_covariance(BINARY, BINARY, 0.6)
    naive = exact / BINARY.variances[0]
    assert naive < 0.45
    covariance = np.array([[1.0, exact], [exact, 1.0]])
    assert Scores((BINARY, BINARY)).latent_correlation(covariance, 0)[0, 1] == pytest.approx(0.6, abs=0.02)


def test_impossible_covariances_stay_correlations() -> None:
    huge = np.array([[1.0, 50.0], [-50.0, 1.0]])
    found = Scores((FINE, BINARY)).latent_correlation(huge, 0)
    assert np.abs(found).max() <= 1.0
    assert found[0, 1] > 0.99
    assert found[1, 0] < -0.99


def test_constant_columns_do_not_break_anything() -> None:
    one, point = column(1.0), ColumnScores(np.arange(3), np.array([[1.0 - 2e-12, 1e-12, 1e-12]]))
    for constant in (one, point):
        scores = Scores((constant, FINE))
        assert np.isfinite(scores.hermite(0)).all()
        rho = scores.latent_correlation(np.zeros((2, 2)), 0)
        assert np.isfinite(rho).all()
        assert scores.variances()[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert one.scores.tolist() == [[0.0]]
    assert one.bins_at(np.array([-3.0, 0.0, 3.0]), 0)[0].tolist() == [0, 0, 0]


def test_tables_and_moments_are_laid_out_by_class() -> None:
    two = ColumnScores(np.arange(2), np.array([[0.5, 0.5], [0.9, 0.1]]))
    three = ColumnScores(np.array([1, 0, 2]), np.array([[0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]))
    scores = Scores((two, three))
    assert scores.classes == 2
    assert scores.means().shape == scores.variances().shape == (2, 2)
    np.testing.assert_array_equal(scores.tables()[1][0], two.scores[1])
    np.testing.assert_array_equal(scores.tables()[0][1], three.scores[0])
    assert scores.hermite(1).shape == (2, HERMITE_TERMS)


# --- the order of categories, and of the missing bin

COLOURS = bins_of(Category(values=("a", "b", "c", "d")))


def test_categories_lie_in_the_order_of_the_log_odds() -> None:
    masses = np.array([[0.4, 0.1, 0.3, 0.2], [0.1, 0.5, 0.2, 0.2]])
    counts = np.array([3000.0, 1000.0])
    log_odds = np.log(counts[1] * masses[1]) - np.log(counts[0] * masses[0])
    order = latent_order(masses, counts, 0.01, COLOURS)
    assert order.tolist() == np.argsort(log_odds).tolist() == [0, 2, 3, 1]


@given(st.lists(st.floats(0.02, 1.0), min_size=8, max_size=8), st.floats(10, 1e6), st.floats(10, 1e6))
def test_two_classes_always_give_the_order_of_the_log_odds(cells: list[float], one: float, two: float) -> None:
    masses = np.array(cells).reshape(2, 4)
    masses /= masses.sum(axis=1, keepdims=True)
    ratio = masses[1] / masses[0]
    if np.ptp(np.log(ratio)) < 1e-3 or np.diff(np.sort(ratio)).min() < 1e-6:
        return
    order = latent_order(masses, np.array([one, two]), 1e-9, COLOURS)
    assert (np.diff(ratio[order]) > 0).all()


def test_without_a_label_the_schema_gives_the_order() -> None:
    masses = np.array([[0.1, 0.5, 0.3, 0.1]])
    assert latent_order(masses, np.array([100.0]), 1.0, COLOURS).tolist() == [0, 1, 2, 3]
    assert correspondence_axis(masses, np.array([100.0]), 1.0).tolist() == [0.0] * 4


def test_many_classes_are_ordered_along_their_first_axis() -> None:
    """Classes along a line, each with categories near its own place: the axis finds the line."""
    places = np.array([3.0, 1.0, 2.0, 0.0])  # of categories a, b, c, d
    masses = np.exp(-((places[None] - np.linspace(0, 3, 7)[:, None]) ** 2))
    masses /= masses.sum(axis=1, keepdims=True)
    order = latent_order(masses, np.full(7, 500.0), 0.1, COLOURS).tolist()
    assert order == [3, 1, 2, 0]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_last_class_lies_above(classes: int) -> None:
    """The sign of an axis is arbitrary; a rule fixes it, so that a release does not depend on the machine."""
    rng = np.random.default_rng(classes)
    for _ in range(50):
        masses, counts = rng.dirichlet(np.ones(4), classes), rng.uniform(10, 1000, classes)
        axis = correspondence_axis(masses, counts, 1e-6)
        everyone = counts @ masses / counts.sum()
        assert (masses[-1] - everyone) @ axis >= -1e-9


def test_noise_pulls_a_rare_category_to_the_middle() -> None:
    masses = np.array([[0.5, 0.4, 0.0999, 0.0001], [0.4, 0.5, 0.0, 0.1]])
    masses[1, 2] = 1.0 - masses[1].sum() + masses[1, 2]
    counts = np.array([1000.0, 1000.0])
    calm, loud = (np.abs(correspondence_axis(masses, counts, sd)[3]) for sd in (0.1, 1000.0))
    assert loud < calm


@pytest.mark.parametrize("like_the_rich", [True, False])
@pytest.mark.parametrize("flipped", [False, True])
def test_the_missing_bin_goes_to_the_end_it_resembles(like_the_rich: bool, flipped: bool) -> None:
    bins = bins_of(Number(min=0, max=3, step=1, missing=True))
    rich, poor = np.array([0.05, 0.15, 0.3, 0.4]), np.array([0.4, 0.3, 0.15, 0.05])
    missing = [0.02, 0.3] if like_the_rich else [0.3, 0.02]
    masses = np.stack([np.append(c * (1 - m), m) for c, m in zip((poor, rich), missing, strict=True)])
    if flipped:
        masses = masses[::-1]
    order = latent_order(masses, np.array([1000.0, 500.0]), 1.0, bins).tolist()
    assert order == ([0, 1, 2, 3, 4] if like_the_rich else [4, 0, 1, 2, 3])


def test_ordered_bins_keep_their_order_whatever_the_classes_say() -> None:
    bins = bins_of(Number(min=0, max=3, step=1))
    masses = np.array([[0.4, 0.1, 0.4, 0.1], [0.1, 0.4, 0.1, 0.4]])
    assert latent_order(masses, np.array([500.0, 500.0]), 1.0, bins).tolist() == [0, 1, 2, 3]


def test_scores_are_built_from_marginals_column_by_column() -> None:
    bins = (bins_of(Number(min=0, max=3, step=1)), COLOURS)
    masses = (np.full((2, 4), 0.25), np.array([[0.4, 0.1, 0.3, 0.2], [0.1, 0.5, 0.2, 0.2]]))
    made = Scores.of(
        Marginals(np.array([3000.0, 1000.0]), 1.0, masses, np.array([1.0, 0.01]), np.ones(2), (None, None)), bins
    )
    assert made.columns[0].order.tolist() == [0, 1, 2, 3]
    assert made.columns[1].order.tolist() == [0, 2, 3, 1]
    assert math.isclose(made.columns[1].masses[1, 1], 0.5)


# --- the latent coordinate of a class of several components


@st.composite
def mixtures(draw: st.DrawFn) -> Latent1D:
    size = draw(st.integers(1, 6))

    def some(low: float, high: float) -> FloatArray:
        return np.array(draw(st.lists(st.floats(low, high), min_size=size, max_size=size)))

    weights = some(0.01, 1.0)
    return Latent1D(weights / weights.sum(), some(-5.0, 5.0), some(0.2, 3.0))


UNIT = st.lists(st.floats(1e-9, 1.0 - 1e-9), min_size=1, max_size=20).map(np.array)
PLACES = st.lists(st.floats(-12.0, 12.0), min_size=1, max_size=20).map(np.array)


@given(mixtures(), UNIT)
def test_the_quantile_of_a_mixture_inverts_its_cdf(law: Latent1D, u: FloatArray) -> None:
    z = law.quantile(np.sort(u))
    assert np.isfinite(z).all()
    assert (np.diff(z) >= 0).all()
    np.testing.assert_allclose(law.cdf(z), np.sort(u), rtol=1e-9, atol=1e-12)


@given(mixtures(), PLACES)
def test_the_density_of_a_mixture_is_the_slope_of_its_cdf(law: Latent1D, z: FloatArray) -> None:
    parts = [np.log(w) + norm.logpdf(z, m, s) for w, m, s in zip(law.weights, law.means, law.scales, strict=True)]
    np.testing.assert_allclose(law.log_density(z), np.logaddexp.reduce(parts), atol=1e-9)
    step = 1e-4
    slope = (law.cdf(z + step) - law.cdf(z - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(law.log_density(z)), slope, rtol=1e-4, atol=1e-6)


@given(mixtures())
def test_nothing_lies_beyond_the_ends(law: Latent1D) -> None:
    ends = law.quantile(np.array([0.0, 1.0]))
    assert ends.tolist() == [-np.inf, np.inf]
    np.testing.assert_allclose(law.cdf(ends), [0.0, 1.0], atol=1e-12)
    inside = law.quantile(np.array([5e-324, 1e-300, np.nextafter(1.0, 0.0)]))
    assert np.isfinite(inside).all()
    assert law.quantile(np.full((2, 3), 0.5)).shape == law.cdf(np.zeros((2, 3))).shape == (2, 3)


@given(UNIT)
def test_a_mixture_of_one_standard_normal_is_the_standard_normal(u: FloatArray) -> None:
    one = Latent1D(np.ones(1), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(one.quantile(u), STANDARD.quantile(u), atol=1e-6)
    np.testing.assert_allclose(one.cdf(STANDARD.quantile(u)), u, atol=1e-12)
    np.testing.assert_allclose(one.log_density(one.quantile(u)), STANDARD.log_density(one.quantile(u)), atol=1e-9)
    assert STANDARD.quantile(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


@given(MASSES, mixtures(), st.data())
def test_edges_and_places_follow_the_mixture(masses: FloatArray, law: Latent1D, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(masses.shape[1]))))
    made = ColumnScores(order, masses, (law,))
    assert made.edges[0, 0] == -np.inf
    assert made.edges[0, -1] == np.inf
    np.testing.assert_allclose(law.cdf(made.edges[0]), made.cdf[0], atol=1e-12)
    codes = np.arange(masses.shape[1])
    position = np.full(len(codes), 0.3)
    found, where = made.bins_at(made.latent_at(codes, position, 0), 0)
    np.testing.assert_array_equal(found, codes)
    np.testing.assert_allclose(where, position, atol=1e-6)
    np.testing.assert_array_equal(made.in_order, ColumnScores(order, masses).in_order)  # scores stay what they were


def test_matching_gives_each_class_its_own_components() -> None:
    columns = tuple(ColumnScores(np.arange(2), np.array([[0.4, 0.6], [0.9, 0.1]])) for _ in range(2))
    means, sds = np.arange(6.0).reshape(3, 2), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    covariances = np.stack([np.diag(s**2) for s in sds])
    made = Scores(columns).matched(GaussianMixture(np.array([0.1, 0.3, 0.6]), means, covariances, np.array([0, 0, 1])))
    first, second = made.columns[1].law(0), made.columns[1].law(1)
    assert isinstance(first, Latent1D)
    assert isinstance(second, Latent1D)
    np.testing.assert_allclose(first.weights, [0.25, 0.75])
    assert (first.means.tolist(), first.scales.tolist()) == ([1.0, 3.0], [2.0, 4.0])
    assert (second.weights.tolist(), second.means.tolist(), second.scales.tolist()) == ([1.0], [5.0], [6.0])
    assert Scores(columns).columns[0].law(1) is STANDARD


def test_bins_of_short_numbers_are_those_of_the_same_long_ones() -> None:
    """Also at the edges themselves, one step below them and one above."""
    rng = np.random.default_rng(0)
    column = ColumnScores(rng.permutation(40), rng.dirichlet(np.full(40, 0.3), size=2) + 1e-9)
    for k in range(2):
        edges = column.edges[k][1:-1].astype(np.float32)
        near = [np.nextafter(edges, np.float32(to)) for to in (-np.inf, np.inf)]
        short = np.concatenate([edges, *near, rng.normal(size=1000).astype(np.float32)])
        np.testing.assert_array_equal(column.codes_at(short, k), column.codes_at(short.astype(float), k))
