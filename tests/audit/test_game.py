"""A claim and the mu that it stands for."""

from __future__ import annotations

import pytest
from tests.audit.helpers import ONE


def test_the_claim_is_mu_one() -> None:
    assert ONE.mu == pytest.approx(1.0, abs=1e-4)
