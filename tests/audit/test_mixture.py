"""Audits of whole fits of mixtures and clustmix clear the library, and convict what is broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit import faults
from tests.audit.helpers import ADD_REMOVE, ONE, verdict

from sfumato.audit.bounds import largest_area
from sfumato.audit.mixture import PLACES, FitGame, adapted, affine, clustmix, components, mixture, pairs
from sfumato.mechanisms import Mixture
from sfumato.mechanisms.clustmix import ClustmixTuning
from sfumato.mechanisms.tuning import GroupTuning, LabelTuning
from sfumato.private.accounting import Adjacency
from sfumato.schema.schema import Schema


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_whole_fit_is_as_private_as_claimed_and_no_more(adjacency: Adjacency) -> None:
    """The likelihood ratio of all answers is normal around -mu^2/2 and mu^2/2: nothing is lost, nothing leaks."""
    game = mixture(ONE, adjacency)[-1]
    found = verdict(game, 100, adjacency=adjacency)
    assert not found.violation, found.headline()
    answers, noise, file = found.findings
    assert noise.bound.mu <= 1.0
    both = np.concatenate([answers.with_row, -answers.without])
    assert both.mean() == pytest.approx(0.5, abs=6.0 / np.sqrt(200)), adjacency
    assert both.std() == pytest.approx(1.0, abs=6.0 / np.sqrt(400))
    assert answers.bound.auc < largest_area(1.0) + 0.2
    assert file.bound.mu <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.LABEL])
def test_a_fit_that_adapts_labels_stays_within_the_claim(adjacency: Adjacency) -> None:
    """A row need not reach the bound of every gradient: the model may be right about it."""
    found = verdict(adapted(ONE, adjacency)[0], 60, adjacency=adjacency)
    assert not found.violation, found.headline()
    answers = found.findings[0]
    both = np.concatenate([answers.with_row, -answers.without])
    assert 0.3 - 6.0 / np.sqrt(120) < both.mean() < 0.5 + 6.0 / np.sqrt(120)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE])
def test_a_fit_with_tables_of_pairs_stays_within_the_claim_and_reaches_it(adjacency: Adjacency) -> None:
    """A row joins one cell of every table; its distances follow unless a table is about right there."""
    found = verdict(pairs(ONE, adjacency)[0], 60, adjacency=adjacency)
    assert not found.violation, found.headline()
    answers = found.findings[0]
    both = np.concatenate([answers.with_row, -answers.without])
    assert 0.3 - 6.0 / np.sqrt(120) < both.mean() < 0.5 + 6.0 / np.sqrt(120)


@pytest.mark.slow
@pytest.mark.parametrize("game", [*mixture(ONE, ADD_REMOVE)[:-1], *affine(ONE, ADD_REMOVE)], ids=lambda game: game.pair)
def test_worst_case_neighbours_reach_the_claim(game: FitGame) -> None:
    found = verdict(game, 60)
    assert not found.violation, found.headline()
    answers = found.findings[0]
    both = np.concatenate([answers.with_row, -answers.without])
    # Over 120 runs the mean's spread is 0.09; 0.35 is what mu = 0.84 would give on average.
    assert both.mean() > 0.35 - 5 * 0.09, game.pair


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_several_components_are_as_private_as_claimed(adjacency: Adjacency) -> None:
    for game, trials in zip(components(ONE, adjacency), (60, 20), strict=True):
        found = verdict(game, trials, adjacency=adjacency)
        assert not found.violation, found.headline()
        answers = found.findings[0]
        both = np.concatenate([answers.with_row, -answers.without])
        assert both.mean() <= 0.5 + 6.0 / np.sqrt(2 * trials), game.pair


FEW_DRAWN = ClustmixTuning(labels=LabelTuning(drawn=2000), groups=GroupTuning(label_drawn=500, free_steps=5))


def few_drawn(game: FitGame) -> FitGame:
    """Less of what a fit does for free, without any private row."""
    return replace(game, mechanism=replace(game.mechanism, tuning=FEW_DRAWN))  # type: ignore[type-var]


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
def test_clustmix_stays_within_the_claim(adjacency: Adjacency) -> None:
    for game in map(few_drawn, clustmix(ONE, adjacency)):
        found = verdict(game, 12, adjacency=adjacency)
        assert not found.violation, found.headline()
        answers = found.findings[0]
        both = np.concatenate([answers.with_row, -answers.without])
        assert -6.0 / np.sqrt(24) < both.mean() < 0.5 + 6.0 / np.sqrt(24), game.pair
        assert both.std() < 1.0 + 6.0 / np.sqrt(48)


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["scores", "group"])
def test_clustmix_with_half_the_sensitivity_shows_in_its_answers(place: int) -> None:
    game = replace(few_drawn(clustmix(ONE, ADD_REMOVE)[place]), curator=faults.half_the_sensitivity)
    answers = verdict(game, 20).findings[0]
    both = np.concatenate([answers.with_row, -answers.without])
    assert both.mean() > 0.5 + 5.0 / np.sqrt(40)


@pytest.mark.slow
def test_a_charge_forgotten_in_a_fit_shows_in_its_answers() -> None:
    """The same inside a whole fit, with fewer runs: the ratio's mean is beyond what mu = 1 can give."""
    game = replace(mixture(ONE, ADD_REMOVE)[-1], curator=faults.forgetful)
    answers = verdict(game, 150).findings[0]
    both = np.concatenate([answers.with_row, -answers.without])
    assert both.mean() > 0.5 + 5.0 / np.sqrt(300)


@pytest.mark.slow
def test_a_bound_read_off_the_data_is_convicted() -> None:
    place = {"type": "number", "min": 0, "max": 100, "bins": 20}
    known = PLACES.dump()
    schema = Schema.of({**known, "columns": known["columns"] | {"x": place, "y": place}})
    (outlier,) = affine(ONE, ADD_REMOVE)
    healthy = replace(outlier, schema=schema, mechanism=Mixture())
    broken = faults.RangeReadOffTheData(healthy.pair, ONE, ADD_REMOVE, healthy.tables, schema, healthy.mechanism)
    found = verdict(broken, 40)
    assert found.violation
    assert found.findings[2].bound.auc == 1.0, "the released file itself gives it away"
    assert not verdict(healthy, 40).violation
