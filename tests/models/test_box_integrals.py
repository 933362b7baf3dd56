"""Probabilities of boxes against the sampler as it is written in the books, one row at a time."""

import numpy as np
import pytest
from tests.models.plain_boxes import plainly

from sfumato.models.box_integrals import between, log_between, log_masses, sobol_points
from sfumato.schema.layout import FloatArray

INF = np.inf
DIM, ROWS = 5, 300


def factor_of(dim: int, seed: int, noise: float = 1.0) -> FloatArray:
    """Of a correlation; with little noise some columns nearly follow from others."""
    a = np.random.default_rng(seed).standard_normal((dim, dim - 1))
    covariance = a @ a.T + noise * np.eye(dim)
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(np.linalg.cholesky(covariance / np.outer(scale, scale)))


def boxes_of(factor: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """Cells of grids as rows of the normal fall into them, so many as to repeat, some of them in tails or open."""
    rng = np.random.default_rng(seed)
    dim = len(factor)
    z = factor @ rng.standard_normal((dim, ROWS)) + rng.choice([0.0, 6.0], (dim, ROWS), p=[0.95, 0.05])
    low, high = np.empty_like(z), np.empty_like(z)
    for j in range(dim):
        edges = np.concatenate([[-INF], np.sort(rng.normal(0, 1.5, 1 + 3 * j)), [INF]])
        at = np.searchsorted(edges, z[j], "right") - 1
        low[j], high[j] = edges[at], edges[at + 1]
    order = np.lexsort(low[::-1])
    return low[:, order], high[:, order]


@pytest.mark.parametrize(("exact", "noise"), [(0, 1.0), (0, 0.01), (2, 1.0), (DIM, 0.1)])
def test_boxes_have_what_the_sampler_says_row_by_row(exact: int, noise: float) -> None:
    factor = factor_of(DIM, seed=exact, noise=noise)
    low, high = boxes_of(factor, seed=1)
    low[:exact] = np.clip(low[:exact], -2.0, 2.0)  # points
    uniform = sobol_points(DIM, 4)
    found = log_masses(factor, low, high, exact, uniform)
    known = [plainly(factor, low[:, i], high[:, i], exact, uniform) for i in range(ROWS)]
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-9)


def test_rows_that_begin_alike_share_their_work_and_nothing_else() -> None:
    factor = factor_of(DIM, seed=3)
    low, high = boxes_of(factor, seed=4)
    uniform = sobol_points(DIM, 4)
    sorted_rows = log_masses(factor, low, high, 0, uniform)
    mixed = np.random.default_rng(0).permutation(ROWS)
    np.testing.assert_allclose(
        log_masses(factor, low[:, mixed], high[:, mixed], 0, uniform), sorted_rows[mixed], rtol=0, atol=1e-11
    )
    assert len(np.unique(low, axis=1).T) < ROWS  # some rows are quite the same
    assert log_masses(factor, low[:, :0], high[:, :0], 0, uniform).shape == (0,)


def test_numbers_between_ends_are_between_them() -> None:
    a = np.array([-INF, -1.0, 0.0, 3.0, 20.0, -50.0])
    b = np.array([INF, 1.0, 0.1, INF, 21.0, -49.0])
    drawn = between(a, b, np.full(6, 0.3))
    assert ((drawn >= a) & (drawn <= b) & (np.abs(drawn) < 50.0)).all()
    assert np.isfinite(log_between(a, b)).all()
