"""Audits of merged releases clear them, and convict a promise to someone at two sites that is one site's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.helpers import ADD_REMOVE, ONE, verdict

from sfumato.audit.merged import MergedGame, merged_sites
from sfumato.private.accounting import Adjacency


def quick(game: MergedGame) -> MergedGame:
    """The game on a layout without tables, whose model takes no time."""
    return replace(game, tables=0)


@pytest.mark.half
@pytest.mark.parametrize("adjacency", Adjacency)
def test_sites_spend_what_is_claimed_and_the_row_is_where_it_is_said(adjacency: Adjacency) -> None:
    one, both = merged_sites(ONE, adjacency)
    assert one.spent.mu == ONE.mu
    assert both.spent.mu == pytest.approx(ONE.mu / np.sqrt(2.0), rel=1e-6)
    assert 2 * both.spent.mu**2 <= ONE.mu**2
    assert not one.sites[0][0].equals(one.sites[0][1])
    assert one.sites[1][0].equals(one.sites[1][1]), "elsewhere nothing changes"
    view = quick(both).play(True, 3)
    assert np.isfinite(view).all()
    assert len(view) == len(quick(both).play(False, 4))


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_merged_release_stays_within_the_claim_and_reaches_it(adjacency: Adjacency) -> None:
    """The likelihood ratio of both sites' answers is normal around -mu^2/2 and mu^2/2."""
    for game in merged_sites(ONE, adjacency):
        found = verdict(game, 60, adjacency=adjacency)
        assert not found.violation, found.headline()
        answers = found.findings[0]
        both = np.concatenate([answers.with_row, -answers.without])
        assert 0.3 - 6.0 / np.sqrt(120) < both.mean() < 0.5 + 6.0 / np.sqrt(120)


@pytest.mark.slow
def test_one_site_s_promise_to_someone_at_both_is_convicted() -> None:
    game = quick(merged_sites(ONE, ADD_REMOVE)[1])
    broken = replace(game, spent=ONE)
    assert verdict(broken, 500).violation  # at least mu 1.1 of 1.41, where 1 is promised
    assert not verdict(game, 100).violation
