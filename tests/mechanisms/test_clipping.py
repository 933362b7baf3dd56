"""What clipping to a ball takes from the moments, how it is undone, and the radius that loses least."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.mechanisms.budget import radius
from sfumato.mechanisms.clipping import Clip, best_radii, unclip, unclipped
from sfumato.schema.layout import FloatArray


@pytest.mark.every(2)
@pytest.mark.parametrize("dim", [1, 3, 8])
@pytest.mark.parametrize("factor", [0.8, 1.3])
def test_what_is_left_after_clipping(dim: int, factor: float) -> None:
    rng = np.random.default_rng(0)
    radius = factor * math.sqrt(dim)
    z = rng.standard_normal((400_000, dim))

    def clipped(rows: FloatArray) -> FloatArray:
        return rows * np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]

    clip, small = Clip(dim, np.array(radius)), 0.1
    shifted = (clipped(z + small) - clipped(z - small)).mean() / (2 * small)
    assert clip.mean == pytest.approx(shifted, rel=0.01)
    assert clip.second == pytest.approx((clipped(z) ** 2).sum(axis=1).mean() / dim, rel=0.01)
    wider = ((clipped(z * 1.05) ** 2).mean() - (clipped(z * 0.95) ** 2).mean()) / (1.05**2 - 0.95**2)
    assert clip.size == pytest.approx(wider, rel=0.03)
    if dim > 1:
        longer, shorter = z.copy(), z.copy()
        longer[:, 0] *= math.sqrt(1.1)
        longer[:, 1] *= math.sqrt(0.9)
        shorter[:, 0] *= math.sqrt(0.9)
        shorter[:, 1] *= math.sqrt(1.1)
        change = ((clipped(longer)[:, 0] ** 2).mean() - (clipped(shorter)[:, 0] ** 2).mean()) / 0.2
        assert clip.shape == pytest.approx(change, rel=0.03)


@pytest.mark.parametrize("spread", [0.1, 1.0, 2.5])
def test_clipping_is_undone_for_round_rows_of_any_width(spread: float) -> None:
    z = math.sqrt(spread) * np.random.default_rng(0).standard_normal((200_000, 3))
    z *= np.minimum(1.0, 2.5 / np.linalg.norm(z, axis=1))[:, None]
    whole, put_back, _ = unclip(np.array([2.5]), (z.T @ z / len(z))[None])
    np.testing.assert_allclose(whole[0], spread * np.eye(3), atol=0.03 * spread)
    assert put_back[0] < 1e-3 * spread


def test_radii_grow_with_the_rows_and_with_doubt_about_the_shape() -> None:
    few, many = best_radii(3, np.array([50.0, 5e4]), 0.2, np.zeros(2))
    assert few < many
    sure, unsure = best_radii(3, np.array([500.0, 500.0]), 0.2, np.array([0.0, 0.5]))
    assert sure < unsure


@pytest.mark.parametrize(("dim", "factor"), [(1, 0.8), (3, 1.0), (14, 1.2), (40, 0.9)])
def test_unclipped_is_the_share_that_survives(dim: int, factor: float) -> None:
    rng = np.random.default_rng(0)
    spread = 0.7 * dim
    rows = rng.standard_normal((200_000, dim)) * math.sqrt(spread / dim)
    clip = factor * radius(spread)
    norms = (rows**2).sum(axis=1)
    survived = np.minimum(norms, clip**2).sum() / norms.sum()
    assert unclipped(dim, clip, spread) == pytest.approx(survived, rel=0.01)
    assert unclipped(dim, 1e3, spread) == pytest.approx(1.0)
