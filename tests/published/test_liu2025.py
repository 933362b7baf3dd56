"""Algorithm 1 as printed: the closed forms against brute force, and the faults that the docstrings name.

Statistical tests have fixed seeds, an assertion five standard errors wide or more (a false alarm on another seed has
probability below 1e-6), and a twin in which a planted fault is seen.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published import liu2025
from sfumato.published.liu2025 import Fit, Noise
from sfumato.schema.layout import FloatArray, IntArray

SIGMAS = 5.5


def table(seed: int = 0, sizes: tuple[int, ...] = (30, 50, 12), d: int = 3) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    factors = rng.standard_normal((len(sizes), d, d + 1))
    noise = np.einsum("nij,nj->ni", factors[y], rng.standard_normal((len(y), d + 1)))
    return rng.uniform(-10, 10, (len(sizes), d))[y] + noise, y


def settled(seed: int = 0, epsilon: float = 1.0) -> tuple[Fit, Noise]:
    x, y = table(seed)
    fit = liu2025.fit_labelled(x, y, 3)
    return fit, liu2025.settle_noise(x, y, fit, epsilon=epsilon, delta=1e-5)


def flipped(y: IntArray, n: int, k: int) -> IntArray:
    found = y.copy()
    found[n] = k
    return found


# --- The fit and its neighbours


def test_the_fit_is_share_mean_and_sample_covariance() -> None:
    x, y = table()
    fit = liu2025.fit_labelled(x, y, 3)
    assert fit.rows == 92
    for k in range(3):
        rows = x[y == k]
        centred = rows - rows.mean(axis=0)
        assert fit.mixture.weights[k] == pytest.approx(len(rows) / len(x))
        np.testing.assert_allclose(fit.mixture.means[k], rows.mean(axis=0))
        np.testing.assert_allclose(fit.mixture.covariances[k], centred.T @ centred / (len(rows) - 1))


@pytest.mark.parametrize("d", [1, 3])
def test_mean_differences_are_those_of_every_flipped_label(d: int) -> None:
    x, y = table(1, (5, 9, 6), d)
    for k in range(3):
        leave, join = liu2025.mean_differences(x, y, k)
        mean = x[y == k].mean(axis=0)
        left, joined = iter(leave), iter(join)
        for n in range(len(y)):
            if y[n] == k:
                other = flipped(y, n, (k + 1) % 3)
                np.testing.assert_allclose(next(left), mean - x[other == k].mean(axis=0), atol=1e-12)
            else:
                other = flipped(y, n, k)
                np.testing.assert_allclose(next(joined), mean - x[other == k].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("sizes", [(4, 5), (3, 1, 7), (2, 2, 2, 2)])
def test_neighbouring_weights_are_those_of_every_flipped_label(sizes: tuple[int, ...]) -> None:
    y = np.repeat(np.arange(len(sizes)), sizes)
    brute = set()
    for n in range(len(y)):
        for k in set(range(len(sizes))) - {int(y[n])}:
            counts = np.bincount(flipped(y, n, k), minlength=len(sizes))
            if counts.min() > 0:
                brute.add(tuple((counts / len(y)).tolist()))
    found = liu2025.neighbour_weights(np.bincount(y))
    assert {tuple(row) for row in found.tolist()} == brute
    assert len(found) == len(brute)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros(4), np.zeros(4, dtype=int)),
        (np.zeros((4, 1)), np.zeros(3, dtype=int)),
        (np.zeros((4, 1)), np.array([0, 0, 1, 2])),
        (np.zeros((4, 1)), np.array([0, 0, -1, 1])),
        (np.zeros((4, 2)), np.array([0, 0, 1, 1])),
    ],
    ids=["one dimension", "lengths differ", "class too large", "class below 0", "too few rows"],
)
def test_a_table_that_cannot_be_fitted_is_refused(x: FloatArray, y: IntArray) -> None:
    with pytest.raises(ArgumentError):
        liu2025.fit_labelled(x, y, 2)


# --- The random map of the weights


def solve_24(values: FloatArray, epsilon_0: float, *, over_inputs: bool) -> float:
    """(24) for a given epsilon_0 as a linear program: every row of F' sums to 1, or every column."""
    size = len(values)
    cost = np.zeros((size, size))
    cost[:, 0] = values
    bounds, sums = [], []
    for i in range(size):
        for j in range(1, size):
            for sign in (1, -1):  # e^-eps F_ij <= F_i0 <= e^eps F_ij
                row = np.zeros((size, size))
                row[i, j], row[i, 0] = (math.exp(-epsilon_0), -1) if sign > 0 else (-math.exp(epsilon_0), 1)
                bounds.append(row.ravel())
        total = np.zeros((size, size))
        total[(i, slice(None)) if over_inputs else (slice(None), i)] = 1.0
        sums.append(total.ravel())
    found = linprog(cost.ravel(), np.array(bounds), np.zeros(len(bounds)), np.array(sums), np.ones(size))
    assert found.success
    return float(found.fun)


VALUES = {
    "positive": np.array([1.0, 0.5, 2.0]),
    "negative": np.array([-1.0, -0.5, -2.0, -0.1]),
    "mixed": np.array([0.3, -0.7, 1.5, -0.2, 0.9, -1.1, 0.4]),
}


@pytest.mark.parametrize("case", VALUES)
@pytest.mark.parametrize("epsilon_0", [0.1, 1.0, 3.0])
def test_the_printed_map_solves_24_as_printed(case: str, epsilon_0: float) -> None:
    values = VALUES[case]
    mapping = liu2025.weight_map(values, epsilon_0)
    np.testing.assert_allclose(mapping.sum(axis=1), 1.0)
    ratio = np.log(mapping[:, :1] / mapping[:, 1:])
    assert np.abs(ratio).max() <= epsilon_0 + 1e-12
    assert values @ mapping[:, 0] == pytest.approx(solve_24(values, epsilon_0, over_inputs=True), abs=1e-7)


@pytest.mark.parametrize("case", VALUES)
def test_normalised_over_outputs_24_is_solved_by_one_point(case: str) -> None:
    values = VALUES[case]
    assert solve_24(values, 1.0, over_inputs=False) == pytest.approx(values.min(), abs=1e-7)


def test_the_printed_column_is_no_law() -> None:
    column = liu2025.weight_map(VALUES["positive"], 1.0)[:, 0]
    assert column.sum() == pytest.approx(3 / (1 + 2 * math.e))
    np.testing.assert_allclose(liu2025.output_law(liu2025.weight_map(VALUES["positive"], 1.0)), 1 / 3)


@pytest.mark.parametrize(("classes", "share"), [(2, 1 / 3), (3, 3 / 7), (5, 13 / 21), (10, 73 / 91)])
def test_most_weights_are_impossible_one_label_away(classes: int, share: float) -> None:
    counts = np.full(classes, 100)
    other = counts.copy()
    other[0] -= 1
    other[1] += 1
    here, there = (
        {tuple(np.rint(row * 100 * classes).astype(int)) for row in np.vstack([c / c.sum(), w])}
        for c, w in ((c, liu2025.neighbour_weights(c)) for c in (counts, other))
    )
    assert len(here - there) / len(here) == pytest.approx(share)
    assert share == pytest.approx(1 - (2 * classes - 2) / (classes**2 - classes + 1))


def test_one_class_keeps_its_weight() -> None:
    x = np.random.default_rng(0).standard_normal((20, 2))
    found = liu2025.release(x, np.zeros(20, dtype=int), 1, epsilon=1.0, delta=1e-5, rng=np.random.default_rng(0))
    assert found.mixture.weights.tolist() == [1.0]


# --- The Wishart step


def wishart_moments(d: int, gamma: float, draws: int, freedom_scale: float = 1.0) -> tuple[float, float]:
    """z-scores of the mean diagonal and of the mean log determinant."""
    rng = np.random.default_rng(d)
    drawn = np.stack([liu2025.wishart_covariance(np.zeros((d, d)), gamma, rng) for _ in range(draws)])
    diagonal = drawn[:, 0, 0] * freedom_scale
    mean = (d + 1) / gamma
    volume = np.linalg.slogdet(drawn * freedom_scale)[1]
    expected = -2 * liu2025.printed_constant(d) - d * math.log(gamma)
    return (
        float((diagonal.mean() - mean) / (diagonal.std() / math.sqrt(draws))),
        float((volume.mean() - expected) / (volume.std() / math.sqrt(draws))),
    )


@pytest.mark.parametrize("d", [1, 3, 6])
def test_wishart_noise_has_the_moments_of_its_law(d: int) -> None:
    assert max(map(abs, wishart_moments(d, 7.0, 4000))) < SIGMAS


def test_wishart_noise_of_another_size_is_seen() -> None:
    assert min(map(abs, wishart_moments(3, 7.0, 4000, freedom_scale=1.2))) > SIGMAS


def impossible_share(d: int, epsilon: float, rows: int, draws: int) -> float:
    """Outputs on a table whose one unit row is zero that the table with the row in it cannot produce."""
    rng = np.random.default_rng([d, rows])
    row = rng.standard_normal(d)
    row /= np.linalg.norm(row)
    gamma = liu2025.wishart_scale(epsilon, rows)
    noise = np.stack([liu2025.wishart_covariance(np.zeros((d, d)), gamma, rng) for _ in range(draws)])
    return float((np.linalg.eigvalsh(noise - np.outer(row, row) / rows)[:, 0] < 0).mean())


@pytest.mark.parametrize(("d", "epsilon", "rows"), [(1, 1.0, 50), (2, 1.0, 200), (5, 1.0, 200), (8, 0.3, 1000)])
def test_a_share_of_the_released_covariances_is_impossible_on_a_neighbour(d: int, epsilon: float, rows: int) -> None:
    draws, share = 4000, 1 - math.exp(-epsilon / 3)
    error = math.sqrt(share * (1 - share) / draws)
    assert abs(impossible_share(d, epsilon, rows, draws) - share) < SIGMAS * error


def test_an_impossible_share_of_another_epsilon_is_seen() -> None:
    draws, share = 4000, 1 - math.exp(-1.0 / 3)
    error = math.sqrt(share * (1 - share) / draws)
    assert abs(impossible_share(3, 1.3, 200, draws) - share) > SIGMAS * error


def test_22_minimises_what_12_has_and_not_what_21_prints() -> None:
    covariance = np.diag([0.5, 2.0, 4.0])
    trace = np.trace(np.linalg.inv(covariance))
    grid = np.geomspace(0.01, 100, 200_001)
    best = liu2025.best_wishart_scale(covariance, 10**9, 1.0)
    assert grid[np.argmin(3 * np.log(grid) + 4 * trace / grid)] == pytest.approx(best, rel=1e-3)
    assert grid[np.argmin(3 * grid + 4 * trace / grid)] != pytest.approx(best, rel=0.1)
    assert liu2025.best_wishart_scale(covariance, 3, 0.5) == liu2025.wishart_scale(0.5, 3)


# --- Algorithm 1


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_it_stops_after_one_alternation(epsilon: float) -> None:
    fit, noise = settled(epsilon=epsilon)
    assert noise.iterations == 2  # the second changes nothing
    assert noise.objectives[0] == pytest.approx(noise.objectives[1], abs=1e-9)
    assert noise.epsilon_0 == pytest.approx(epsilon / 3)
    spent = noise.epsilon_k + 3 * noise.gamma / (2 * fit.counts) + noise.epsilon_0
    np.testing.assert_allclose(spent, epsilon)


@pytest.mark.parametrize("joining", [True, False])
def test_the_noise_on_the_means_hides_the_rows_it_should(joining: bool) -> None:
    x, y = table()
    fit = liu2025.fit_labelled(x, y, 3)
    noise = liu2025.settle_noise(x, y, fit, epsilon=1.0, delta=1e-5, joining=joining)
    for k in range(3):
        hidden = np.vstack(liu2025.mean_differences(x, y, k)[: 2 if joining else 1])
        size = np.einsum("ni,ij,nj->n", hidden, np.linalg.inv(noise.mean_covariances[k]), hidden).max()
        assert size == pytest.approx(noise.epsilon_k[k] ** 2 / (2 * math.log(2 / 1e-5)))


def test_equation_10_leaves_rows_that_join_a_class_in_the_open() -> None:
    """The hardest row to hide is three times too far out when only those that leave are looked at."""
    x, y = table()
    fit = liu2025.fit_labelled(x, y, 3)
    noise = liu2025.settle_noise(x, y, fit, epsilon=1.0, delta=1e-5, joining=False)
    _, join = liu2025.mean_differences(x, y, 0)
    size = np.einsum("ni,ij,nj->n", join, np.linalg.inv(noise.mean_covariances[0]), join).max()
    assert size > 3**2 * noise.epsilon_k[0] ** 2 / (2 * math.log(2 / 1e-5))


def test_a_release_is_a_mixture_and_repeats_with_its_seed() -> None:
    x, y = table()
    one, again, other = (
        liu2025.release(x, y, 3, epsilon=1.0, delta=1e-5, rng=np.random.default_rng(s)).mixture for s in (4, 4, 5)
    )
    np.testing.assert_array_equal(one.covariances, again.covariances)
    assert (one.means != other.means).any()
    assert one.weights.sum() == pytest.approx(1.0)
    fitted = liu2025.fit_labelled(x, y, 3).mixture
    assert np.linalg.eigvalsh(one.covariances - fitted.covariances).min() > 0
    assert np.abs(one.weights - fitted.weights).max() <= 1 / len(y) + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (math.inf, 1e-5), (2000.0, 1e-5), (1.0, 0.0), (1.0, 1.0)])
def test_senseless_budgets_are_refused(epsilon: float, delta: float) -> None:
    x, y = table()
    with pytest.raises(ArgumentError):
        liu2025.release(x, y, 3, epsilon=epsilon, delta=delta, rng=np.random.default_rng(0))


# --- The objective and the divergence


def monte_carlo_kl(fit: Fit, noise: Noise, draws: int = 1500) -> tuple[float, float]:
    """The mean KL of released mixtures, and its standard error."""
    rng = np.random.default_rng(7)
    found = np.array([liu2025.kl_divergence(liu2025.draw(fit, noise, rng), fit.mixture) for _ in range(draws)])
    return float(found.mean()), float(found.std() / math.sqrt(draws))


def wide(scale: float = 10.0) -> tuple[Fit, Noise]:
    """A table whose covariances are far from 1, where the printed constant is far off."""
    x, y = table(3)
    fit = liu2025.fit_labelled(scale * x, y, 3)
    return fit, liu2025.settle_noise(scale * x, y, fit, epsilon=2.0, delta=1e-5)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_objective_bounds_the_expected_divergence(scale: float) -> None:
    fit, noise = wide(scale)
    mean, error = monte_carlo_kl(fit, noise)
    assert liu2025.kl_bound(fit, noise) > mean - SIGMAS * error


def test_with_the_printed_constant_it_bounds_nothing() -> None:
    fit, noise = wide()
    mean, error = monte_carlo_kl(fit, noise)
    printed = noise.objectives[-1] + liu2025.printed_constant(fit.mixture.dim)
    assert printed < mean - SIGMAS * error


def test_the_bound_is_equal_where_the_noise_swamps_the_covariance() -> None:
    """ln|Sigma + W| = ln|W| in the limit: there the closed form is exact."""
    fit, noise = wide(1e-4)
    mean, error = monte_carlo_kl(fit, noise)
    assert abs(liu2025.kl_bound(fit, noise) / mean - 1) < SIGMAS * error / mean + 1e-3


def test_the_divergence_is_that_of_the_joint_laws() -> None:
    """Against the mean log ratio of densities under the released mixture, 40,000 draws."""
    fit, noise = settled(epsilon=4.0)
    released = liu2025.draw(fit, noise, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    labels = released.sample_components(40_000, rng)
    rows = released.sample(labels, rng)
    ratio = log_joint(released, rows, labels) - log_joint(fit.mixture, rows, labels)
    error = ratio.std() / math.sqrt(len(ratio))
    assert abs(ratio.mean() - liu2025.kl_divergence(released, fit.mixture)) < SIGMAS * error
    assert abs(ratio.mean() - liu2025.kl_divergence(fit.mixture, released)) > SIGMAS * error  # the other direction


def log_joint(model: GaussianMixture, x: FloatArray, y: IntArray) -> FloatArray:
    shift = x - model.means[y]
    inverse = np.linalg.inv(model.covariances)[y]
    quadratic = np.einsum("ni,nij,nj->n", shift, inverse, shift)
    volume = np.linalg.slogdet(2 * np.pi * model.covariances)[1][y]
    return np.asarray(np.log(model.weights[y]) - (quadratic + volume) / 2)


def test_a_class_that_was_not_released_counts_nothing() -> None:
    fitted = GaussianMixture(np.array([0.5, 0.5]), np.zeros((2, 1)), np.ones((2, 1, 1)))
    one = GaussianMixture(np.array([1.0, 0.0]), np.zeros((2, 1)), np.ones((2, 1, 1)))
    assert liu2025.kl_divergence(one, fitted) == pytest.approx(math.log(2))
    assert liu2025.kl_divergence(fitted, fitted) == pytest.approx(0.0, abs=1e-12)


def test_weights_by_em_are_made_discrete_and_labels_by_k_means_find_clusters() -> None:
    """Remark 1 and footnote 1: without labels Algorithm 1 runs on what EM or K-means makes of the rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [200, 120, 80])
    x = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[y] + rng.standard_normal((400, 2))
    labels = liu2025.cluster_labels(x, 3, seed=0)
    assert sorted(np.bincount(labels)) == [80, 120, 200]
    fit, likeliest = liu2025.fit_by_em(x, 3, seed=0)
    assert fit.counts.sum() == 400
    np.testing.assert_allclose(np.sort(fit.mixture.weights * 400), [80, 120, 200], atol=1)
    options = {"epsilon": 50.0, "delta": 1e-5, "rng": rng}
    released = liu2025.release(x, likeliest, 3, **options, fit=fit).mixture
    np.testing.assert_allclose(released.means, fit.mixture.means, atol=0.2)
    assert liu2025.kl_divergence(released, fit.mixture) < liu2025.kl_divergence(
        liu2025.release(x, likeliest, 3, epsilon=0.5, delta=1e-5, rng=rng, fit=fit).mixture, fit.mixture
    )


def test_discrete_counts_are_an_element_of_s() -> None:
    weights = np.random.default_rng(0).dirichlet(np.full(7, 0.3), size=50)
    for each in weights:
        counts = liu2025.discrete_counts(each, 60)
        assert counts.sum() == 60
        assert counts.min() >= 1
        assert np.abs(counts / 60 - each).max() < 7 / 60
