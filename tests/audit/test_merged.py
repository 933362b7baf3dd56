"""Audits of merged and sharpened releases clear them, and convict a promise for two fits that is one fit's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.audit.helpers import ADD_REMOVE, ONE, verdict

from sfumato.audit.merged import MergedGame, merged_sites
from sfumato.guarantee import Guarantee
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray

MERGED_SHARE = 0.854  # of mu^2: what the histograms and tables of a fit on that layout spend; no moment is merged


def quick(game: MergedGame) -> MergedGame:
    """The game on a layout without tables, whose model takes no time."""
    return replace(game, tables=0)


@pytest.mark.every(2)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_sites_spend_what_is_claimed_and_the_row_is_where_it_is_said(adjacency: Adjacency) -> None:
    one, *others = merged_sites(ONE, adjacency)
    assert one.spent.mu == ONE.mu
    for game in others:
        assert game.spent.mu == pytest.approx(ONE.mu / np.sqrt(2.0), rel=1e-6)
        assert 2 * game.spent.mu**2 <= ONE.mu**2
    changes = [[not without.equals(with_row) for without, with_row in game.sites] for game in (one, *others)]
    assert changes == [[True, False], [True, True], [True, True], [True, True]]
    moving = others[1]
    assert moving.sites[0][0].equals(moving.sites[1][1])
    assert moving.sites[0][1].equals(moving.sites[1][0])
    sharpened = quick(others[-1])
    view = sharpened.play(True, 3)
    assert np.isfinite(view).all()
    assert len(view) == len(sharpened.play(False, 4))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("place", "promised"),
    [
        (0, lambda told: told.joint.own.mu),
        (1, lambda told: told.mu),
        (2, lambda told: told.joint.moved.mu),
        (3, lambda told: told.mu),
    ],
)
def test_what_is_claimed_is_what_the_merged_guarantee_says(place: int, promised: Callable[[Guarantee], float]) -> None:
    game = quick(merged_sites(ONE, ADD_REMOVE)[place])
    releases, _ = game.fits(with_row=True, seed=None)
    assert promised(game.merge(releases).guarantee) == pytest.approx(ONE.mu, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_merged_release_stays_within_the_claim_and_reaches_it(adjacency: Adjacency) -> None:
    """The likelihood ratio of both sites' answers is normal around -mu^2/2 and mu^2/2, and so is that of the merged
    ones, with what they have of it: added up, those of a site where nothing changes are noise; of a move nothing stays.
    """
    runs = 20
    slack = 6.0 / np.sqrt(2 * runs)
    for game, kept in zip(merged_sites(ONE, adjacency), (0.5, 1.0, 0.0, 1.0), strict=True):
        found = verdict(game, runs, adjacency=adjacency)
        assert not found.violation, found.headline()
        answers, _, of_both, _ = (np.concatenate([each.with_row, -each.without]) for each in found.findings)
        assert 0.3 - slack < answers.mean() < 0.5 + slack
        assert of_both.mean() == pytest.approx(MERGED_SHARE * kept / 2.0, abs=slack * np.sqrt(kept) + 1e-9)


class Unmerged(MergedGame):
    """What both sites answer, before anything is made of it."""

    attacks = MergedGame.attacks[:1]

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        _, insiders = self.fits(with_row, seed)
        return np.sum([insider.view for insider in insiders], axis=0)


@pytest.mark.slow
def test_one_fit_s_promise_to_someone_who_is_in_two_is_convicted() -> None:
    *_, game = merged_sites(ONE, ADD_REMOVE)
    both = quick(Unmerged(**vars(game)))
    assert verdict(replace(both, spent=ONE), 400).violation  # at least mu 1.1 of 1.41, where 1 is promised
    assert not verdict(both, 100).violation
