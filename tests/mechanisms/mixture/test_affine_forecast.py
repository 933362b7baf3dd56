"""What an affine mixture will lose, from public facts alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.mechanisms.mixture.test_affine_looks import CLASSES, DIM, LOOKS, planned

from sfumato.mechanisms.mixture.affine_forecast import best_forecast, broken_stick, forecast


def test_the_histograms_share_is_the_best_of_those_tried() -> None:
    counts, sizes, mu = 5000 * broken_stick(CLASSES), (20,) * DIM, 0.268
    best = best_forecast(counts, sizes, mu, LOOKS)
    assert best.total <= min(forecast(counts, sizes, mu, share, LOOKS).total for share in (0.3, 0.5, 0.75))
    assert planned(1.0, 5000).round("histograms").share != pytest.approx(0.5)


def test_broken_sticks_are_the_expected_shares_of_a_uniform_draw() -> None:
    drawn = np.sort(np.random.default_rng(0).dirichlet(np.ones(4), size=100_000), axis=1).mean(axis=0)
    np.testing.assert_allclose(broken_stick(4), drawn, atol=2e-3)


def test_more_rows_or_budget_lose_less_and_wider_neighbours_more() -> None:
    def total(*arguments: float, **options: str) -> float:
        return sum(planned(*arguments, **options).expected_kl.values())  # type: ignore[arg-type]

    assert total(1.0, 1000) > total(1.0, 5000) > total(1.0, 50_000)
    assert total(0.5, 5000) > total(1.0, 5000) > total(4.0, 5000)
    assert total(1.0, 5000, adjacency="replace-one") > total(1.0, 5000)


@pytest.mark.parametrize("rows", [1, 10**12])
def test_extreme_guesses_still_make_a_plan(rows: int) -> None:
    made = planned(1.0, rows, dim=1)
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
    assert all(math.isfinite(kl) and kl > 0 for kl in made.expected_kl.values())
