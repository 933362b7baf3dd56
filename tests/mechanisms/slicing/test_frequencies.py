"""The frequencies of the central form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.mechanisms.slicing.test_slicing_run import WAVES

from sfumato.mechanisms.slicing.frequencies import frames, planes


@pytest.mark.parametrize(("dim", "slice_dim"), [(1, 2), (3, 1), (30, 2), (30, 12)])
def test_frequencies_lie_on_slices_of_few_columns(dim: int, slice_dim: int) -> None:
    found = frames(dim, slice_dim, WAVES)
    assert found.shape == (WAVES.fewest, dim)
    seen = (found != 0).sum(axis=1)
    assert seen.max() == min(WAVES.span, dim)
    np.testing.assert_array_equal(found, frames(dim, slice_dim, WAVES))
    if dim == 30:
        assert (found != 0).any(axis=0).all(), "every column is seen"
        inside = min(slice_dim, WAVES.span)
        sizes = np.linalg.norm(found, axis=1).reshape(-1, len(WAVES.scales))
        expected = np.array(WAVES.scales) * math.sqrt(inside)
        assert sizes.mean(axis=0) == pytest.approx(expected, rel=0.3)


@pytest.mark.parametrize("dim", [1, 2, 12, 60])
def test_planes_are_of_every_two_coordinates(dim: int) -> None:
    found = planes(dim, WAVES)
    assert WAVES.fewest <= len(found) <= WAVES.most
    pairs = {tuple(np.flatnonzero(row)) for row in found}
    assert len(pairs) == max(1, dim * (dim - 1) // 2)
    assert {len(pair) for pair in pairs} == {1 if dim == 1 else 2}
    sizes = np.abs(found[found != 0])
    assert set(np.round(sizes, 12)) == set(WAVES.plane_scales)
    if dim == 2:
        assert {float(np.sign(a * b)) for a, b in found} == {1.0, -1.0}, "diagonal one way and the other"
