"""Noisy rows and whole fits of slicing are as private as claimed, and planted faults are convicted.

Fixed seeds; limits are more than five standard deviations from what is expected.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit import faults

from sfumato.audit.game import Claim, Game
from sfumato.audit.mixture import FitGame, file_numbers, noisy_rows, slicing
from sfumato.audit.run import AUDITS, Verdict, decide, run
from sfumato.audit.slicing_games import PrintedGame, published_slicing, slicing_rows
from sfumato.mechanisms.slicing import SlicingTuning, WaveTuning
from sfumato.models import GeneratorModel
from sfumato.private.accounting import Adjacency
from sfumato.private.slicing import rows as rows_module

REPLACE = Adjacency.REPLACE_ONE
CLAIM = Claim(0.5, 0.05, None)
ONE = Claim.gaussian(4.377, 1e-5)  # mu = 1
ALONE, CROWD, NOWHERE, WHOLE = slicing_rows(CLAIM, REPLACE)


def verdict(game: Game, trials: int = 1500) -> Verdict:
    return decide("test", [game], CLAIM, REPLACE, trials, seed=7)


def hockey_stick(game: Game, trials: int, epsilon: float = CLAIM.epsilon) -> tuple[float, float]:
    """The delta that the runs show at the claimed epsilon: mean and standard error of (1 - e^(epsilon - loss))_+."""
    (best, *_) = verdict(game, trials).findings
    losses = np.concatenate([best.with_row, -best.without])  # the pairs are symmetric
    parts = np.maximum(0.0, 1.0 - np.exp(epsilon - losses))
    return float(parts.mean()), float(parts.std() / np.sqrt(len(parts)))


@pytest.mark.slow
@pytest.mark.parametrize("game", [ALONE, WHOLE], ids=lambda game: game.pair)
def test_rows_are_as_private_as_claimed_and_no_more(game: Game) -> None:
    mean, error = hockey_stick(game, 2000)
    assert mean - 5.5 * error < CLAIM.delta
    assert mean + 5.5 * error > 0.9 * CLAIM.delta
    assert error < 0.06 * CLAIM.delta


@pytest.mark.slow
@pytest.mark.parametrize("game", [ALONE, CROWD, NOWHERE, WHOLE], ids=lambda game: game.pair)
def test_no_pair_of_tables_convicts_them(game: Game) -> None:
    found = verdict(game, 400)
    assert not found.violation, found.headline()


@pytest.mark.slow
def test_half_the_noise_is_convicted() -> None:
    assert verdict(replace(ALONE, curator=faults.HalfTheNoiseOnRows)).violation
    assert not verdict(ALONE).violation


@pytest.mark.slow
def test_queries_beside_the_rows_that_are_not_counted_are_convicted() -> None:
    mean, error = hockey_stick(replace(ALONE, curator=faults.UnpaidRows), 1000)
    assert mean - 5.5 * error > CLAIM.delta


@pytest.mark.slow
def test_a_number_of_rows_that_depends_on_them_is_convicted() -> None:
    found = verdict(replace(NOWHERE, engine=faults.LeavesOutBadRows), 200)
    assert found.violation
    assert found.findings[1].bound.auc == 1.0
    assert not verdict(NOWHERE, 200).violation


@pytest.mark.slow
def test_a_matrix_that_was_known_before_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "normals", faults.SameMatrix())
    mean, error = hockey_stick(ALONE, 500)
    assert mean - 5.5 * error > CLAIM.delta


def test_the_printed_mechanism_keeps_its_claim_with_room_to_spare() -> None:
    found = run("published-slicing", epsilon=0.5, delta=0.05, trials=1000, workers=1, insecure_seed=1)
    assert not found.violation
    (game,) = published_slicing(CLAIM, REPLACE)
    mean, error = hockey_stick(game, 2000)
    assert mean + 5.5 * error < CLAIM.delta
    far = hockey_stick(PrintedGame(CLAIM, distance=5.0), 2000)  # the twin: rows that the adjacency does not hold
    assert far[0] - 5.5 * far[1] > CLAIM.delta


@pytest.mark.slow
def test_the_audit_runs_by_its_name() -> None:
    found = run("slicing-rows", epsilon=1.0, delta=1e-5, trials=100, workers=1, insecure_seed=1)
    assert not found.violation
    assert found.claimed.mu is None
    assert len(found.findings) == 8


def few_waves(game: FitGame) -> FitGame:
    """Fewer numbers, which divide the same budget."""
    few = SlicingTuning(waves=WaveTuning(fewest=40))
    return replace(game, mechanism=replace(game.mechanism, tuning=few))  # type: ignore[type-var]


def ratios(game: FitGame, trials: int) -> np.ndarray:
    """The insider's log-likelihood ratios, towards the truth: on average mu^2 / 2 at most, and 1/2 is claimed."""
    found = decide("test", [game], game.claim, game.adjacency, trials, seed=7)
    assert game.curator is not FitGame.curator or not found.violation, found.headline()
    return np.concatenate([found.findings[0].with_row, -found.findings[0].without])


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_whole_fit_stays_within_the_claim(adjacency: Adjacency) -> None:
    games = slicing(ONE, adjacency)
    assert len(games) == (4 if adjacency is REPLACE else 2)
    for game in games:
        both = ratios(few_waves(game), 25)
        assert -6.0 / np.sqrt(50) < both.mean() < 0.5 + 6.0 / np.sqrt(50), game.pair
        assert both.std() < 1.0 + 6.0 / np.sqrt(100), game.pair


@pytest.mark.slow
def test_a_row_that_joins_uses_up_the_whole_budget() -> None:
    both = ratios(slicing(ONE, Adjacency.ADD_REMOVE)[0], 100)
    assert both.mean() == pytest.approx(0.5, abs=5.5 / np.sqrt(200))
    assert both.std() == pytest.approx(1.0, abs=5.5 / np.sqrt(400))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["scores", "group"])
def test_waves_with_half_the_sensitivity_show_in_a_fit(place: int) -> None:
    game = replace(few_waves(slicing(ONE, Adjacency.ADD_REMOVE)[place]), curator=faults.half_the_sensitivity)
    assert ratios(game, 40).mean() > 0.5 + 5.0 / np.sqrt(80)


@pytest.mark.slow
def test_rows_with_half_the_noise_show_in_a_fit() -> None:
    alone, crowd = noisy_rows(ONE)
    assert ratios(replace(alone, curator=faults.half_the_noise_on_rows), 100).mean() > 0.5 + 5.0 / np.sqrt(200)
    for game in (alone, crowd):
        assert ratios(game, 50).mean() < 0.5 + 6.0 / np.sqrt(100), game.pair


@pytest.mark.slow
def test_true_counts_in_the_file_are_convicted() -> None:
    healthy = few_waves(slicing(ONE, Adjacency.ADD_REMOVE)[0])
    leaky = faults.TrueCounts(healthy.pair, ONE, healthy.adjacency, healthy.tables, healthy.schema, healthy.mechanism)
    answers, noise, file = decide("test", [leaky], ONE, leaky.adjacency, 100, seed=7).findings
    assert ONE.broken_by(file.bound)
    assert file.bound.auc == 1.0
    assert not ONE.broken_by(answers.bound), "the answers themselves are as they should be"
    assert not ONE.broken_by(noise.bound)
    assert not decide("test", [healthy], ONE, healthy.adjacency, 100, seed=7).violation


def test_every_number_of_a_file_is_seen() -> None:
    """Arrays, also of rows in any order, what the document says, and weights that are not what they begin with."""
    (alone, _) = noisy_rows(ONE)
    for game in (few_waves(slicing(ONE, REPLACE)[1]), alone):
        job = game._job(True, 3)
        made = job.release(job.curator())
        assert isinstance(made.model, GeneratorModel)
        seen = file_numbers(made)
        weights = {name: weight + 1 for name, weight in made.model.generator.weights.items()}
        changed = {
            "bought": replace(made.model.bought, counts=made.model.bought.counts + 1),
            "generator": replace(made.model.generator, weights=weights),
            "progress": replace(made.model.progress, step=1),
        }
        for name, value in changed.items():
            assert (file_numbers(replace(made, model=replace(made.model, **{name: value}))) != seen).any(), name


def test_a_whole_fit_is_audited_under_every_adjacency() -> None:
    assert AUDITS["slicing"].adjacencies == tuple(Adjacency)
