"""The slicing mechanism of Greenewald, Yu, Wang and Xu (2024), arXiv 2410.19941, as printed.

Rows x of norm at most 1, m slices of dimension k, m' = m k. U is d by m' with entries N(0, 1/d), V is n by m' with
entries N(0, sigma^2); (U, X U + V) is released. Theorem 1: with gamma = (alpha^2 - alpha) / sigma^2 < d this is
(alpha, m' alpha / (2 sigma^2 (d - gamma)))-RDP, hence (epsilon, delta)-DP with epsilon = m' alpha / (2 sigma^2
(d - gamma)) + ln(1 / delta) / (alpha - 1), for tables in which one row is replaced by another at distance at most 1;
the number of rows is public.

It holds, with ideal arithmetic and a fresh U, and asks for 1.3 to 1.5 times the noise that is needed
(`sf.accounting.slicing_sigma(..., method="exact")`). Three things to know before it is used on people: a row replaced
by *any* other of norm at most 1 may be at distance 2, for which sigma must be doubled; U must be drawn afresh for every
release, after the rows are fixed, or the largest eigenvalue of U U^T counts; and this code draws from a seeded
generator and adds floats. It is for experiments; the strict form is the curator's `rows`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.bins import FloatArray
from sfumato.errors import ArgumentError
from sfumato.private.accounting import slicing_sigma

ROUNDING = 1e-9


@dataclass(frozen=True)
class SlicedRows:
    """What is released: the directions U (d, m'), the noisy projections (n, m'), and the noise's sigma."""

    directions: FloatArray
    values: FloatArray
    sigma: float


def slice_rows(
    x: FloatArray, *, slices: int, slice_dim: int, epsilon: float, delta: float, rng: np.random.Generator
) -> SlicedRows:
    """(U, X U + V), with the noise of Theorem 1.

    Claimed: (epsilon, delta)-DP for a row replaced by another at distance at most 1.
    """
    n, dim = x.shape
    if n and np.linalg.norm(x, axis=1).max() > 1.0 + ROUNDING:
        raise ArgumentError("rows must have a norm of at most 1: scale them by a public bound")
    sigma = theorem_sigma(epsilon, delta, dim=dim, projections=slices * slice_dim)
    return release_slices(x, slices * slice_dim, sigma, rng)


def theorem_sigma(epsilon: float, delta: float, *, dim: int, projections: int) -> float:
    """The smallest sigma of Theorem 1, at the best alpha."""
    return slicing_sigma(epsilon, delta, dim=dim, projections=projections, method="theorem1")


def release_slices(x: FloatArray, projections: int, sigma: float, rng: np.random.Generator) -> SlicedRows:
    """(U, X U + V) with noise of this sigma."""
    directions = rng.normal(size=(x.shape[1], projections)) / np.sqrt(x.shape[1])
    return SlicedRows(directions, x @ directions + rng.normal(scale=sigma, size=(len(x), projections)), sigma)
