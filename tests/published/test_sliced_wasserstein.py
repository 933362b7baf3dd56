"""The sliced Wasserstein baseline: its lemma by simulation, the noise that follows, and its generator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, kstest

from sfumato.accounting import mu_of
from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.published import row_generator
from sfumato.published.row_generator import LabelledRows
from sfumato.published.sliced_wasserstein import lemma_bound, lemma_sigma, project_rows, sliced_wasserstein
from sfumato.published.slicing import Training
from sfumato.schema.layout import FloatArray, IntArray

LOW, HIGH, LEVELS = np.array([-3.0, 0.0]), np.array([3.0, 8.0]), (3, 2)


def rows(n: int = 200, dim: int = 100) -> FloatArray:
    x = np.random.default_rng(3).normal(size=(n, dim))
    return np.asarray(x / np.linalg.norm(x, axis=1)[:, None])


def moved(dim: int, slices: int, runs: int) -> FloatArray:
    """What a row at distance 1 moves: the squared lengths of a fixed unit vector's projections."""
    u = np.random.default_rng(1).normal(size=(runs, dim, slices))
    return np.asarray(((u[:, 0] / np.linalg.norm(u, axis=1)) ** 2).sum(axis=1))


def test_the_lemma_is_bernsteins_for_the_law_of_a_projection() -> None:
    dim, slices, delta = 9, 40, 1e-3
    law = beta(0.5, (dim - 1) / 2)
    assert kstest(moved(dim, 1, 5000), law.cdf).pvalue > 1e-6
    tail = math.log(1 / delta)
    expected = slices * law.mean() + 2 / 3 * tail + math.sqrt(2 * slices * law.var() * tail)
    assert lemma_bound(slices, delta, dim) == pytest.approx(expected, rel=1e-12)
    assert lemma_bound(200, 1e-5, 784) == pytest.approx(200 / 784 + 7.6753 + 0.1221, abs=1e-4)


@pytest.mark.parametrize(("dim", "slices"), [(3, 5), (20, 50), (50, 10)])
def test_it_is_seldom_exceeded(dim: int, slices: int) -> None:
    found = moved(dim, slices, 4000)
    assert (found > lemma_bound(slices, 0.05, dim)).mean() < 0.05
    assert (found > slices / dim).mean() > 0.3, "and without its margin it would be, often"


def test_the_noise_is_that_of_the_lemma() -> None:
    x = rows()
    found = project_rows(x, slices=100, epsilon=1.0, delta=1e-5, rng=np.random.default_rng(1))
    assert found.sigma == lemma_sigma(1.0, 1e-5, dim=100, slices=100)
    # With probability delta / 2 the sensitivity is larger; otherwise the noise is that of epsilon and delta / 2.
    assert found.sigma == pytest.approx(math.sqrt(lemma_bound(100, 5e-6, 100)) / mu_of(1.0, 5e-6), rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=0), 1.0)
    noise = (found.values - x @ found.directions) / found.sigma
    assert kstest(noise.ravel(), "norm").pvalue > 1e-6
    far = project_rows(x, slices=100, epsilon=1.0, delta=1e-5, rng=np.random.default_rng(1), distance=2.0)
    assert far.sigma == pytest.approx(2.0 * found.sigma)
    with pytest.raises(ArgumentError, match="norm of at most 1"):
        project_rows(2.0 * x, slices=5, epsilon=1.0, delta=1e-5, rng=np.random.default_rng(1))


def table(rows: int) -> tuple[FloatArray, IntArray, IntArray]:
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(int)
    numbers = np.stack([rng.normal(1.5 * y, 0.7), rng.normal(5.0 - 3.0 * y, 0.8)], axis=1)
    codes = np.stack([rng.integers(3, size=rows), rng.random(rows) < 0.2 + 0.6 * y], axis=1).astype(int)
    return numbers, codes, y


def synthetic(rows: int, epsilon: float, epochs: int, seed: int = 0) -> tuple[FloatArray, IntArray, IntArray]:
    return sliced_wasserstein(
        LabelledRows(*table(rows), 2, (LOW, HIGH), LEVELS),
        epsilon=epsilon,
        delta=1e-5,
        rows=1000,
        slices=20,
        rng=np.random.default_rng(seed),
        training=Training(width=32, batch=128, epochs=epochs, rate=5e-3),
    )


def test_with_hardly_any_noise_the_rows_look_like_the_table() -> None:
    numbers, _, y = table(1280)
    made, coded, labels = synthetic(1280, 2000.0, 20)
    assert labels.mean() == pytest.approx(y.mean(), abs=0.1)
    np.testing.assert_allclose(made.mean(axis=0), numbers.mean(axis=0), atol=0.5)
    assert made[labels == 0, 1].mean() > made[labels == 1, 1].mean() + 1.0
    assert coded[labels == 1, 1].mean() > coded[labels == 0, 1].mean() + 0.2
    assert ((made >= LOW) & (made <= HIGH)).all()
    assert ((coded >= 0) & (coded < LEVELS)).all()


def test_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(row_generator, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"sfumato\[train\]"):
        synthetic(50, 1.0, 1)
