"""Centre and scale of a class, from noisy histograms."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.encoding.affine import locate
from sfumato.schema.layout import bins_of
from sfumato.schema.schema import Number


def test_a_class_is_found_in_noisy_cells_and_a_drowned_one_is_not_believed() -> None:
    bins = bins_of(Number(min=-14, max=14, bins=20))
    rng = np.random.default_rng(0)
    cells = np.stack([np.bincount(bins.code(rng.normal(6, 2, n)), minlength=20) for n in (400, 4)])
    places = locate([cells + 10.0 * rng.standard_normal(cells.shape)], np.array([10.0]), [bins])
    assert places.centres[0, 0] == pytest.approx(6.0, abs=1.0)
    assert places.squared_scales[0, 0] == pytest.approx(4.0, rel=0.8)
    assert places.centre_variances[0, 0] < 1.0
    assert places.centre_variances[1, 0] > 20.0
