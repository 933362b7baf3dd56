"""The slicing mechanism as printed: its noise, its laws, and what its adjacency leaves out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from sfumato.errors import ArgumentError
from sfumato.private.accounting import delta_of, slicing_sigma
from sfumato.private.slicing_law import Slices
from sfumato.published.slicing import slice_rows

KNOWN = {"slices": 50, "slice_dim": 2, "epsilon": 1.0, "delta": 1e-5}


def rows(n: int = 200, dim: int = 100) -> np.ndarray:
    x = np.random.default_rng(3).normal(size=(n, dim))
    return x / np.linalg.norm(x, axis=1)[:, None]


def test_it_is_what_theorem_one_says() -> None:
    x = rows()
    found = slice_rows(x, rng=np.random.default_rng(1), **KNOWN)
    assert found.sigma == pytest.approx(5.38, rel=0.005)
    assert kstest(found.directions.ravel() * 10.0, "norm").pvalue > 1e-6
    noise = (found.values - x @ found.directions) / found.sigma
    assert kstest(noise.ravel(), "norm").pvalue > 1e-6


def test_it_keeps_its_claim_with_room_to_spare_at_distance_one_and_not_at_two() -> None:
    """Both ends of the unit ball are at distance 2, which the paper's adjacency leaves out."""
    sigma = slicing_sigma(1.0, 1e-5, dim=100, projections=100, method="theorem1")
    assert delta_of(1.0, 0.0, [Slices(100, 100, 1.0, sigma)]) < 1e-7
    assert delta_of(1.0, 0.0, [Slices(100, 100, 2.0, sigma)]) > 1e-4


def test_rows_outside_the_ball_are_refused() -> None:
    with pytest.raises(ArgumentError, match="norm of at most 1"):
        slice_rows(2.0 * rows(), rng=np.random.default_rng(1), **KNOWN)
    assert slice_rows(rows(0), rng=np.random.default_rng(1), **KNOWN).values.shape == (0, 100)
    assert math.isfinite(slice_rows(rows(1), rng=np.random.default_rng(1), **KNOWN).values.sum())
