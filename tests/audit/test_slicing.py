"""Noisy rows are as private as claimed and no more, and planted faults are convicted.

Fixed seeds; limits are more than five standard deviations from what is expected.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit import faults

from sfumato.audit.game import Claim, Game
from sfumato.audit.run import Verdict, decide, run
from sfumato.audit.slicing import PrintedGame, RowsGame, published_slicing, slicing_rows
from sfumato.private import rows as rows_module
from sfumato.private.accounting import Adjacency

REPLACE = Adjacency.REPLACE_ONE
CLAIM = Claim(0.5, 0.05, None)
ALONE, CROWD, NOWHERE, FRAME, WHOLE = slicing_rows(CLAIM, REPLACE)


def verdict(game: Game, trials: int = 1500) -> Verdict:
    return decide("test", [game], CLAIM, REPLACE, trials, seed=7)


def hockey_stick(game: Game, trials: int) -> tuple[float, float]:
    """The delta that the runs show at the claimed epsilon: mean and standard error of (1 - e^(epsilon - loss))_+."""
    (best, *_) = verdict(game, trials).findings
    losses = np.concatenate([best.with_row, -best.without])  # the pairs are symmetric
    parts = np.maximum(0.0, 1.0 - np.exp(CLAIM.epsilon - losses))
    return float(parts.mean()), float(parts.std() / np.sqrt(len(parts)))


@pytest.mark.parametrize("game", [ALONE, FRAME, WHOLE], ids=lambda game: game.pair)
def test_rows_are_as_private_as_claimed_and_no_more(game: Game) -> None:
    mean, error = hockey_stick(game, 2000)
    assert mean - 5.5 * error < CLAIM.delta
    assert mean + 5.5 * error > 0.9 * CLAIM.delta
    assert error < 0.06 * CLAIM.delta


@pytest.mark.parametrize("game", [ALONE, CROWD, NOWHERE, FRAME, WHOLE], ids=lambda game: game.pair)
def test_no_pair_of_tables_convicts_them(game: Game) -> None:
    found = verdict(game, 400)
    assert not found.violation, found.headline()


def test_half_the_noise_is_convicted() -> None:
    assert verdict(replace(ALONE, curator=faults.HalfTheNoiseOnRows)).violation
    assert not verdict(ALONE).violation


def test_queries_beside_the_rows_that_are_not_counted_are_convicted() -> None:
    mean, error = hockey_stick(replace(ALONE, curator=faults.UnpaidRows), 1000)
    assert mean - 5.5 * error > CLAIM.delta


def test_a_number_of_rows_that_depends_on_them_is_convicted() -> None:
    found = verdict(replace(NOWHERE, engine=faults.LeavesOutBadRows), 200)
    assert found.violation
    assert found.findings[1].bound.auc == 1.0
    assert not verdict(NOWHERE, 200).violation


@pytest.mark.parametrize("game", [ALONE, FRAME], ids=lambda game: game.pair)
def test_a_matrix_that_was_known_before_is_convicted(game: RowsGame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "normals", faults.SameMatrix())
    mean, error = hockey_stick(game, 500)
    assert mean - 5.5 * error > CLAIM.delta


def test_the_printed_mechanism_keeps_its_claim_with_room_to_spare() -> None:
    found = run("published-slicing", epsilon=0.5, delta=0.05, trials=1000, workers=1, insecure_seed=1)
    assert not found.violation
    (game,) = published_slicing(CLAIM, REPLACE)
    mean, error = hockey_stick(game, 2000)
    assert mean + 5.5 * error < CLAIM.delta
    far = hockey_stick(PrintedGame(CLAIM, distance=5.0), 2000)  # the twin: rows that the adjacency does not hold
    assert far[0] - 5.5 * far[1] > CLAIM.delta


def test_the_audit_runs_by_its_name() -> None:
    found = run("slicing-rows", epsilon=1.0, delta=1e-5, trials=100, workers=1, insecure_seed=1)
    assert not found.violation
    assert found.claimed.mu is None
    assert len(found.findings) == 10
