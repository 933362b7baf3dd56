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


def test_what_all_histograms_have_in_common_gives_a_hidden_class_its_scale() -> None:
    """Noise as high as a class's peak hides one scale; forty classes and columns show the one that they share."""
    bins = bins_of(Number(min=-40, max=40, bins=40))
    rng = np.random.default_rng(0)
    columns = [
        np.stack([np.bincount(bins.code(rng.normal(rng.uniform(-9, 9), 5, 300)), minlength=40) for _ in range(5)])
        for _ in range(8)
    ]
    noise = 50.0  # the peak has 48 rows
    noisy = [cells + noise * rng.standard_normal(cells.shape) for cells in columns]
    together = locate(noisy, np.full(8, noise), [bins] * 8)
    alone = [locate([cells[k : k + 1]], np.array([noise]), [bins]) for cells in noisy for k in range(5)]
    off = np.abs(np.log(np.sqrt(together.squared_scales) / 5))
    apart = np.abs([np.log(np.sqrt(a.squared_scales[0, 0]) / 5) for a in alone])
    assert off.max() < 0.6 < apart.max()
    assert off.mean() < 0.8 * apart.mean()
    assert together.centre_variances.mean() < np.mean([a.centre_variances[0, 0] for a in alone])
