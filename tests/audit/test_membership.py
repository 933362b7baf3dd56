"""Membership of a person stays within the claim, and a generator that copies rows is convicted."""

from __future__ import annotations

import pytest
from tests.audit import faults
from tests.audit.helpers import ADD_REMOVE, verdict

from sfumato.audit.game import Claim
from sfumato.audit.membership import membership


@pytest.mark.slow
def test_membership_of_a_person_stays_within_the_claim() -> None:
    claim = Claim.gaussian(1.0, 1e-5)
    found = verdict(membership(claim, ADD_REMOVE)[0], 40, claim)
    assert not found.violation
    assert [finding.attack for finding in found.findings] == [
        "the closest synthetic row",
        "shadow releases, learned statistic",
    ]


@pytest.mark.slow
def test_a_generator_that_copies_rows_is_convicted_by_membership() -> None:
    claim = Claim.gaussian(1.0, 1e-5)
    found = verdict(faults.CopiesRows("a copied row", claim, ADD_REMOVE, outlier=True), 40, claim)
    assert found.violation
    assert max(finding.bound.auc for finding in found.findings) == 1.0
