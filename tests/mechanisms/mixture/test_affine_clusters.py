"""Clusters in data units: found from noisy answers and looked at like classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import sfumato as sf
from sfumato.mechanisms.mixture import affine_clusters as clusters
from sfumato.mechanisms.mixture.affine_clusters import Summary, cluster
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray

CENTRES = np.array([[-8.0, 0.0], [0.0, 8.0], [8.0, -4.0]])


def rows(n: int = 3000, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    which = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    return CENTRES[which] + rng.normal(size=(n, 2)), which


def fit(x: FloatArray, y: FloatArray | None = None, **options: object) -> sf.PrivateMixture:
    given = {"epsilon": 4, "delta": 1e-5, "bounds": (-14, 14), "rows": len(x), "insecure_seed": 1} | options
    return sf.PrivateMixture(**given).fit(x, y)


def nearest(found: FloatArray) -> FloatArray:
    return np.linalg.norm(found[None] - CENTRES[:, None], axis=2).min(axis=1)


def test_clusters_without_labels_are_found() -> None:
    model = fit(rows()[0], components_per_class=3)
    assert model.means_.shape == (3, 2)
    assert (nearest(model.means_) < 0.5).all()
    assert np.sort(model.weights_) == pytest.approx([0.2, 0.3, 0.5], abs=0.05)
    assert (model.component_class_ == 0).all()


def test_how_many_is_chosen_from_noisy_answers() -> None:
    assert len(fit(rows(20_000)[0], components_per_class="auto").weights_) in (3, 4, 5)
    blob = np.random.default_rng(0).normal(size=(5000, 2))
    assert len(fit(blob, components_per_class="auto").weights_) <= 3


def test_components_inside_classes() -> None:
    x, which = rows()
    labels = np.where(which == 0, "one", "two")  # the second class is made of two clumps
    model = fit(x, labels, classes=["one", "two"], components_per_class=2)
    assert model.component_class_.tolist() == ["one", "one", "two", "two"]
    assert (nearest(model.means_[2:])[1:] < 0.6).all()
    assert (model.predict(x) == labels).mean() > 0.97
    again, classes = model.sample(2000, seed=0)
    assert set(classes) == {"one", "two"}
    assert nearest(again).mean() < 1.0


def test_components_score_far_better_than_one_gaussian() -> None:
    x, fresh = rows(seed=0)[0], rows(seed=1)[0]
    one, three = (fit(x, components_per_class=number).score_samples(fresh).mean() for number in (1, 3))
    assert three > one + 0.5


def test_the_model_s_density_is_that_of_its_parameters() -> None:
    x = rows(400)[0]
    model = fit(x, components_per_class=3)
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    expected = logsumexp([np.log(w) + multivariate_normal(m, c).logpdf(x) for w, m, c in parts], axis=0)
    np.testing.assert_allclose(model.score_samples(x), expected, atol=1e-6)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_fit_spends_its_plan(adjacency: Adjacency) -> None:
    x, which = rows(500)
    options = {"classes": [0, 1, 2], "adjacency": str(adjacency), "components_per_class": 2}
    model = fit(x, which, **options)
    names = [spend.name for spend in model.guarantee_.spends]
    assert names == ["histograms", "summary", *(f"moments {i}" for i in range(1, 7))]
    two = sf.Mixture(encoding="affine", components=2)
    planned = sf.plan(model.release_.schema, epsilon=4, delta=1e-5, mechanism=two, rows=500)
    assert [each.title for each in planned.rounds] == names
    spent = sum(spend.mu**2 for spend in model.guarantee_.spends)
    assert planned.mu**2 * (1 - 1e-9) < spent <= planned.mu**2


@pytest.mark.every(2)
@pytest.mark.parametrize("n", [0, 1, 5, 40])
@pytest.mark.parametrize("epsilon", [0.1, 8])
def test_hardly_any_rows_or_budget(n: int, epsilon: float) -> None:
    model = fit(np.zeros((n, 2)) + 1.0, components_per_class=4, epsilon=epsilon, rows=100)
    assert np.isfinite(model.means_).all()
    assert (np.linalg.eigvalsh(model.covariances_) > 0).all()
    assert model.weights_.sum() == pytest.approx(1.0)
    assert np.isfinite(model.sample(20, seed=0)[0]).all()


def test_a_release_of_clusters_comes_back_from_its_file(tmp_path) -> None:
    model = fit(rows(500)[0], components_per_class=3)
    model.release_.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    np.testing.assert_array_equal(again.model.mixture.means, model.means_)
    np.testing.assert_array_equal(again.model.mixture.component_class, [0, 0, 0])
    assert again.sample(50, seed=1).equals(model.release_.sample(50, seed=1))


def test_starts_know_nothing_but_noisy_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same noisy histograms, the summary's cells are the same whatever the rows are."""
    seen = []
    real = clusters.summarise
    monkeypatch.setattr(
        clusters, "summarise", lambda curator, cells, *rest: seen.append(cells) or real(curator, cells, *rest)
    )
    x = rows(600)[0]
    shuffled = np.column_stack([x[:, 0], np.random.default_rng(0).permutation(x[:, 1])])  # the same histograms
    for table in (x, shuffled):
        fit(table, components_per_class=3)
    np.testing.assert_array_equal(seen[0].centres[0], seen[1].centres[0])


def test_clusters_of_a_summary() -> None:
    points = np.concatenate([c + 0.1 * np.random.default_rng(0).normal(size=(10, 2)) for c in CENTRES])
    summary = Summary(points, np.full(30, 100.0), 0.01)
    assert len(cluster(summary, None, 16).counts) == 3
    found = cluster(summary, 5, 16)
    assert len(found.counts) == 5
    assert found.counts.sum() == pytest.approx(3000.0)
    nobody = cluster(Summary(points, np.zeros(30), 0.01), 2, 16)
    assert np.isfinite(nobody.centres).all()
