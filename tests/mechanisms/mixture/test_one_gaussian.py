"""The strict mixture against a curator that answers exactly: it must find what it was shown."""

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.special import ndtr

import sfumato as sf
from sfumato.encoding.scores import Scores
from sfumato.mechanisms import Plan
from sfumato.mechanisms.mixture.mixture_run import run_mixture
from sfumato.mechanisms.mixture.one_gaussian import settle
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.queries.base import MAP_BITS, Answer, Batch, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.viewed import Viewed
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema
from sfumato.whole_numbers import joined


@dataclass
class Exact:
    """Answers with the exact total and noise `scale` times the one it should have had."""

    batch: Batch
    budget: Budget
    scale: float = 1e-6
    seed: int = 0
    queries: list[Query] = field(default_factory=list)

    @property
    def remaining(self) -> float:
        return self.budget.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        spend = self.budget.charge(name, query.reach.sensitivity(Adjacency.ADD_REMOVE), mu_squared)
        self.queries.append(query)
        sd = self.scale * spend.sigma / query.weights
        noise = np.random.default_rng([self.seed, len(self.queries)]).standard_normal(query.weights.size)
        return Answer(joined(query.answer(query.total(self.batch))).astype(float) + sd * noise, sd)


def schema(columns: int, classes: int, bins: int = 40) -> Schema:
    numbers = {f"x{i}": {"type": "number", "min": -4, "max": 4, "bins": bins} for i in range(columns)}
    if classes == 1:
        return Schema.of({"columns": numbers})
    return Schema.of(
        {"label": "y", "columns": numbers | {"y": {"type": "category", "values": [f"c{k}" for k in range(classes)]}}}
    )


def gaussian_rows(correlations: list[FloatArray], counts: list[int], layout: Layout, seed: int = 0) -> Batch:
    """Normal rows of each class, coded to the cells of the layout's grids."""
    rng = np.random.default_rng(seed)
    rows = [
        rng.multivariate_normal(np.zeros(len(c)), c, size=n, method="cholesky")
        for c, n in zip(correlations, counts, strict=True)
    ]
    values = np.concatenate(rows).T
    codes = np.stack([bins.cell(column) for bins, column in zip(layout.bins, values, strict=True)])
    return Batch(codes.astype(np.int32), np.repeat(np.arange(len(counts)), counts))


def cell_of(described: Schema, code: int) -> int:
    """A cell of the grid that is in this bin of the first column."""
    return int(Layout.of(described).bins[0].cell_starts[code])


def run(
    batch: Batch, described: Schema, scale: float = 1e-6, epsilon: float = 1.0, seed: int = 0
) -> tuple[Scores, GaussianMixture, Exact, Plan]:
    mechanism = sf.Mixture(components=1, pairs=None)
    planned = sf.plan(described, epsilon=epsilon, delta=1e-6, mechanism=mechanism, rows=max(1, len(batch)))
    asker = Exact(batch, Budget(planned.mu), scale, seed)
    model = run_mixture(mechanism, asker, planned)
    assert isinstance(model.encoder, Scores)
    return model.encoder, model.mixture, asker, planned


def check(mixture: GaussianMixture, classes: int, columns: int) -> None:
    assert mixture.weights.shape == (classes,)
    assert (mixture.weights > 0).all()
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert mixture.means.shape == (classes, columns)
    assert np.isfinite(mixture.means).all()
    assert mixture.covariances.shape == (classes, columns, columns)
    np.testing.assert_array_equal(mixture.covariances, mixture.covariances.swapaxes(1, 2))
    np.testing.assert_allclose(np.diagonal(mixture.covariances, axis1=1, axis2=2), 1.0)
    assert np.linalg.eigvalsh(mixture.covariances).min() > 1e-3


def equicorrelated(dim: int, rho: float) -> FloatArray:
    return np.full((dim, dim), rho) + (1 - rho) * np.eye(dim)


# --- the whole mechanism


@pytest.mark.parametrize(("bins", "within"), [(2, 0.05), (4, 0.08), (40, 0.03)])
def test_it_recovers_a_gaussian_copula(bins: int, within: float) -> None:
    truth = [np.array([[1, 0.7, -0.3], [0.7, 1, 0.1], [-0.3, 0.1, 1]]), equicorrelated(3, 0.2)]
    described = schema(3, 2, bins)
    batch = gaussian_rows(truth, [30_000, 20_000], Layout.of(described))
    _, mixture, _, _ = run(batch, described)
    check(mixture, 2, 3)
    np.testing.assert_allclose(mixture.weights, [0.6, 0.4], atol=1e-4)
    for k in range(2):
        np.testing.assert_allclose(mixture.covariances[k], truth[k], atol=within)


def test_it_spends_exactly_the_whole_budget() -> None:
    described = schema(3, 2)
    batch = gaussian_rows([equicorrelated(3, 0.5)] * 2, [500, 500], Layout.of(described))
    for epsilon in (0.1, 1.0, 8.0):
        _, _, asker, planned = run(batch, described, scale=1.0, epsilon=epsilon)
        assert asker.remaining == 0.0
        assert [spend.name for spend in asker.budget.spends] == [each.title for each in planned.rounds]
        for spend, each in zip(asker.budget.spends, planned.rounds, strict=True):
            assert spend.mu == pytest.approx(each.mu, rel=1e-9)
        assert math.fsum(spend.mu**2 for spend in asker.budget.spends) == pytest.approx(planned.mu**2, rel=1e-12)


def last_moments(asker: Exact) -> GroupSums:
    query = asker.queries[-1]
    assert isinstance(query, Viewed)
    assert isinstance(query.query, GroupSums)
    return query.query


def whitened(asker: Exact) -> bool:
    return last_moments(asker).latent.maps is not None


def test_strongly_correlated_columns_are_whitened() -> None:
    described = schema(4, 1)
    batch = gaussian_rows([equicorrelated(4, 0.9)], [50_000], Layout.of(described))
    _, mixture, asker, _ = run(batch, described, scale=0.1)
    assert whitened(asker)
    np.testing.assert_allclose(mixture.covariances[0], equicorrelated(4, 0.9), atol=0.05)


def test_independent_columns_are_not_mixed() -> None:
    """At most rescaled: what is measured again is the same columns."""
    described = schema(4, 1)
    batch = gaussian_rows([np.eye(4)], [50_000], Layout.of(described))
    _, mixture, asker, _ = run(batch, described, scale=0.1)
    query = last_moments(asker)
    if query.latent.maps is not None:
        np.testing.assert_allclose(query.latent.maps[0] / 2.0**MAP_BITS, np.eye(4), atol=0.03)
    np.testing.assert_allclose(mixture.covariances[0], np.eye(4), atol=0.05)


def test_a_space_that_is_nearly_flat_is_left_alone() -> None:
    """Whitening would clip three constant columns at the radius of four live ones."""
    described = schema(4, 1)
    batch = gaussian_rows([np.eye(4)], [50_000], Layout.of(described))
    codes = batch.codes.copy()
    codes[1:] = cell_of(described, 7)
    _, mixture, asker, _ = run(Batch(codes, batch.labels), described, scale=0.1)
    assert not whitened(asker)
    np.testing.assert_allclose(mixture.covariances[0], np.eye(4), atol=0.05)


def test_whitening_makes_the_small_eigenvalues_sharper() -> None:
    """What the second look is for: the same noise hurts a near-singular shape less."""
    described = schema(6, 1)
    truth = equicorrelated(6, 0.93)
    batch = gaussian_rows([truth], [50_000], Layout.of(described))
    errors = []
    for seed in range(5):
        _, mixture, asker, _ = run(batch, described, scale=1.0, epsilon=0.5, seed=seed)
        assert whitened(asker)
        errors.append(np.abs(mixture.covariances[0] - truth).max())
    assert np.median(errors) < 0.1


@pytest.mark.parametrize("classes", [1, 2, 7])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_any_number_of_classes_and_columns(classes: int, columns: int) -> None:
    described = schema(columns, classes)
    counts = [200 * (k + 1) for k in range(classes)]
    batch = gaussian_rows([equicorrelated(columns, 0.4)] * classes, counts, Layout.of(described))
    _, exact, _, _ = run(batch, described)
    check(exact, classes, columns)
    np.testing.assert_allclose(exact.weights, np.array(counts) / sum(counts), atol=1e-3)
    _, noisy, _, _ = run(batch, described, scale=1.0)
    check(noisy, classes, columns)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("classes", [1, 2, 7])
def test_tables_that_are_all_noise_give_a_valid_model(rows: int, classes: int) -> None:
    described = schema(3, classes)
    empty = Batch(np.zeros((3, rows), dtype=np.int16), np.zeros(rows, dtype=np.int64))
    for seed in range(3):
        _, mixture, asker, _ = run(empty, described, scale=1.0, epsilon=0.2, seed=seed)
        check(mixture, classes, 3)
        assert asker.remaining == 0.0


def test_unplaced_cells_do_not_break_the_fit() -> None:
    described = schema(3, 2)
    batch = gaussian_rows([equicorrelated(3, 0.5)] * 2, [2000, 2000], Layout.of(described))
    codes = batch.codes.copy()
    codes[0] = -1
    codes[1, ::2] = -1
    _, mixture, _, _ = run(Batch(codes, batch.labels), described)
    check(mixture, 2, 3)


def test_a_constant_column_is_independent_of_the_rest() -> None:
    described = schema(3, 1)
    batch = gaussian_rows([equicorrelated(3, 0.6)], [20_000], Layout.of(described))
    codes = batch.codes.copy()
    codes[1] = cell_of(described, 7)
    scores, mixture, _, _ = run(Batch(codes, batch.labels), described)
    check(mixture, 1, 3)
    assert scores.columns[1].masses[0, 7] > 0.999
    np.testing.assert_allclose(mixture.covariances[0, 1, [0, 2]], 0.0, atol=1e-9)
    assert mixture.covariances[0, 0, 2] == pytest.approx(0.6, abs=0.05)


def test_noise_weakens_correlations() -> None:
    described = schema(4, 2)
    batch = gaussian_rows([equicorrelated(4, 0.8)] * 2, [150, 150], Layout.of(described))
    exact = run(batch, described)[1].covariances[:, 0, 1:].mean()
    noisy = np.mean([run(batch, described, 1.0, 1.0, seed)[1].covariances[:, 0, 1:].mean() for seed in range(20)])
    assert exact > 0.7
    assert 0.0 < noisy < 0.8 * exact


def test_noise_that_drowns_the_data_leaves_independence() -> None:
    described = schema(4, 2)
    batch = gaussian_rows([np.eye(4)] * 2, [40, 40], Layout.of(described))
    found = [run(batch, described, 1.0, 0.05, seed)[1].covariances - np.eye(4) for seed in range(20)]
    assert np.median([np.abs(f).max() for f in found]) < 0.5


def test_a_schema_of_nothing_but_constants() -> None:
    described = Schema.of({"columns": {"x": {"type": "category", "values": ["only"]}}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, mixture, _, _ = run(Batch(np.zeros((1, 5), dtype=np.int16), np.zeros(5, dtype=np.int64)), described, 1.0)
    check(mixture, 1, 1)


def test_moments_are_asked_per_class_with_all_classes_shares_from_noisy_counts() -> None:
    """Later shares may use noisy answers only: the same noisy answers give the same questions."""
    described = schema(2, 2)
    layout = Layout.of(described)
    one = gaussian_rows([np.eye(2)] * 2, [300, 100], layout, seed=1)
    _, _, first, _ = run(one, described, scale=1.0)
    shuffled = np.random.default_rng(0).permutation(400)
    other = Batch(one.codes[:, shuffled], one.labels[shuffled])
    _, _, second, _ = run(other, described, scale=1.0)
    for a, b in zip(first.queries, second.queries, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


# --- the pieces


def symmetric_noise(dim: int, sd: float, n: int) -> FloatArray:
    noise = np.random.default_rng(0).standard_normal((n, dim, dim)) * sd / math.sqrt(2)
    upper = np.triu(noise, 1)
    return upper + upper.swapaxes(1, 2) + math.sqrt(2) * noise * np.eye(dim)


def test_settling_without_noise_keeps_every_class_s_own_shape() -> None:
    own = np.stack([equicorrelated(3, 0.6), equicorrelated(3, -0.2)])
    found = settle(own, np.zeros((2, 3, 3)), np.ones((2, 3)), sf.Mixture().tuning)
    np.testing.assert_allclose(found, own, atol=1e-9)


def test_settling_takes_a_drowned_class_to_all_classes_together() -> None:
    clear, noise = equicorrelated(3, 0.6), np.zeros((2, 3, 3))
    noise[0], noise[1] = 1e-6, 1.0
    drowned = np.stack([clear, equicorrelated(3, -0.4)])
    found = settle(drowned, noise, np.ones((2, 3)), sf.Mixture().tuning)
    np.testing.assert_allclose(found[0], clear, atol=1e-3)
    np.testing.assert_allclose(found[1], clear, atol=1e-3)


def test_settling_takes_pure_noise_to_independence() -> None:
    noisy = np.eye(3) + symmetric_noise(3, 0.1, 2)
    found = settle(noisy, np.full((2, 3, 3), 0.1), np.ones((2, 3)), sf.Mixture().tuning)
    np.testing.assert_allclose(found, np.stack([np.eye(3)] * 2), atol=1e-12)


def test_settling_gives_the_variances_that_the_marginals_imply() -> None:
    variances = np.array([[0.5, 2.0, 1e-6]])
    found = settle(np.full((1, 3, 3), 0.4), np.zeros((1, 3, 3)), variances, sf.Mixture().tuning)
    np.testing.assert_allclose(np.diag(found[0])[:2], [0.5, 2.0])
    assert found[0, 0, 1] == pytest.approx(0.4)
    assert found[0, 0, 2] == found[0, 1, 2] == 0.0  # as good as constant: nothing goes with it


def copula_share(labels: IntArray, scores: Scores, mixture: GaussianMixture) -> FloatArray:
    rng = np.random.default_rng(0)
    z = mixture.sample(labels, rng)
    return np.bincount(scores.columns[0].bins_at(z[:, 0], 0)[0], minlength=40) / len(labels)


def test_the_model_s_marginals_are_the_table_s() -> None:
    described = schema(2, 1)
    batch = gaussian_rows([equicorrelated(2, 0.5)], [50_000], Layout.of(described))
    scores, mixture, _, _ = run(batch, described)
    shares = copula_share(np.zeros(200_000, dtype=np.int64), scores, mixture)
    truth = np.diff(ndtr(np.linspace(-4, 4, 41)))
    assert np.abs(shares - truth).max() < 0.006
