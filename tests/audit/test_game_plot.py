"""The curve below which no attack may come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from sfumato.audit.game import Claim
from sfumato.audit.game_plot import trade_off

RATES = np.linspace(0.0, 1.0, 201)


@pytest.mark.parametrize("claim", [Claim.gaussian(1.0, 1e-5), Claim(1.0, 0.0, None), Claim(1.0, 0.1, None)])
def test_a_claim_s_curve_falls_and_is_its_own_inverse(claim: Claim) -> None:
    curve = trade_off(claim, RATES)
    assert (np.diff(curve) <= 1e-15).all()
    assert (curve <= 1.0 - RATES + 1e-12).all(), "guessing is always allowed"
    inside = (curve > 1e-9) & (RATES > 0)
    np.testing.assert_allclose(trade_off(claim, curve)[inside], RATES[inside], atol=1e-6)


def test_normal_noise_allows_what_two_normals_do() -> None:
    claim = Claim(1.0, 1e-5, 2.0)
    thresholds = np.linspace(-3.0, 5.0, 50)
    np.testing.assert_allclose(trade_off(claim, ndtr(-thresholds)), ndtr(thresholds - 2.0), atol=1e-12)


def test_pure_privacy_bounds_the_ratio_of_errors() -> None:
    curve = trade_off(Claim(np.log(3.0), 0.0, None), np.array([0.0, 0.1, 0.25, 1.0]))
    assert curve == pytest.approx([1.0, 0.7, 0.25, 0.0])
