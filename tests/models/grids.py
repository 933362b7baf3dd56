"""Boxes that are cells of grids, and normals that rows fall into them by."""

import numpy as np

from sfumato.schema.layout import FloatArray

INF = np.inf
DIM, ROWS = 5, 300


def factor_of(dim: int, seed: int, noise: float = 1.0) -> FloatArray:
    """Of a correlation; with little noise some columns nearly follow from others."""
    a = np.random.default_rng(seed).standard_normal((dim, dim - 1))
    covariance = a @ a.T + noise * np.eye(dim)
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(np.linalg.cholesky(covariance / np.outer(scale, scale)))


def boxes_of(factor: FloatArray, seed: int, far: float = 0.05) -> tuple[FloatArray, FloatArray]:
    """Cells of grids as rows of the normal fall into them, the first ones narrow, the last ones open; a share of
    coordinates is moved far into a tail.
    """
    rng = np.random.default_rng(seed)
    dim = len(factor)
    z = factor @ rng.standard_normal((dim, ROWS)) + rng.choice([0.0, 6.0], (dim, ROWS), p=[1.0 - far, far])
    low, high = np.empty_like(z), np.empty_like(z)
    for j in range(dim):
        edges = np.concatenate([[-INF], np.sort(rng.normal(0, 1.5, 1 + 3 * (dim - 1 - j))), [INF]])
        at = np.searchsorted(edges, z[j], "right") - 1
        low[j], high[j] = edges[at], edges[at + 1]
    return low, high
