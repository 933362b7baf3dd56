"""The risk of a release: closed forms against simulated attackers and against (epsilon, delta) itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.accounting import calibrate
from sfumato.errors import ArgumentError
from sfumato.planning.risk import Risk

DELTA = 1e-6
SCHEMA = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}


def risk(epsilon: float) -> Risk:
    return Risk(epsilon, DELTA, calibrate(epsilon, DELTA))


def test_the_attacker_on_gaussian_noise_does_what_is_told() -> None:
    """The likelihood-ratio attacker on N(0, 1) against N(mu, 1), simulated: 10^6 draws, six standard errors."""
    mu, draws = 0.8, 1_000_000
    rng = np.random.default_rng(0)
    out, inside = rng.normal(0.0, 1.0, draws), rng.normal(mu, 1.0, draws)
    told = Risk(4.0, DELTA, mu)
    error = 6.0 / math.sqrt(draws)
    assert (inside > mu / 2).mean() - (out > mu / 2).mean() == pytest.approx(told.advantage, abs=2 * error)
    bar = norm.isf(0.01)
    assert (inside > bar).mean() == pytest.approx(told.true_positives(0.01), abs=error)
    for prior in (0.01, 0.1, 0.5):
        odds = prior / (1 - prior) * np.exp(mu * inside - mu**2 / 2)
        assert (odds / (1 + odds)).mean() == pytest.approx(told.belief(prior), abs=error)


def test_a_belief_exceeds_the_most_as_rarely_as_delta() -> None:
    """Six standard errors; epsilon itself would be exceeded far more often than delta, which is no contradiction."""
    delta, draws = 1e-3, 1_000_000
    told = Risk(1.0, delta, calibrate(1.0, delta))
    assert told.mu is not None
    loss = told.mu**2 / 2 + told.mu * np.random.default_rng(1).normal(size=draws)
    beliefs = 0.2 * np.exp(loss) / (0.8 + 0.2 * np.exp(loss))
    assert (beliefs > told.largest_belief(0.2)).mean() == pytest.approx(delta, abs=6 * math.sqrt(delta / draws))
    assert (loss > 1.0).mean() > 3 * delta


def test_known_values() -> None:
    assert risk(1.0).advantage == pytest.approx(2 * norm.cdf(0.23670438 / 2) - 1)
    odds = math.exp(0.23670438**2 / 2 + 0.23670438 * 4.753424)
    assert risk(1.0).largest_belief(0.5) == pytest.approx(odds / (1 + odds))
    assert Risk(1.0, DELTA, None).largest_belief(0.5) == pytest.approx(2 * math.e / (1 + 2 * math.e))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_gaussian_law_tells_no_more_than_epsilon_and_delta_allow(epsilon: float) -> None:
    gaussian, any_law = risk(epsilon), Risk(epsilon, DELTA, None)
    assert gaussian.advantage < any_law.advantage < 1.0
    for alarms in (1e-4, 0.01, 0.3, 0.9):
        assert alarms < gaussian.true_positives(alarms) <= any_law.true_positives(alarms) <= 1.0
    assert any_law.belief(0.1) is None
    for prior in (0.01, 0.5):
        belief = gaussian.belief(prior)
        assert belief is not None
        assert prior < belief < gaussian.largest_belief(prior)


def test_more_epsilon_is_more_risk() -> None:
    told = [risk(epsilon) for epsilon in (0.1, 0.5, 1.0, 4.0, 20.0)]
    figures = np.array([(r.advantage, r.true_positives(), r.belief(0.1), r.largest_belief(0.1)) for r in told])
    assert (np.diff(figures, axis=0) > 0).all()


def test_projections_of_every_row_have_no_gaussian_law() -> None:
    schema = {"columns": {name: {"type": "number", "min": 0, "max": 99, "step": 1} for name in "abcd"}}
    rows = sf.Slicing(form="rows", slices=1, training=None)
    made = sf.plan(schema, epsilon=1, delta=DELTA, mechanism=rows, adjacency="replace-one")
    assert made.slices
    assert Risk.of(made).mu is None
    assert Risk.of(sf.plan(SCHEMA, epsilon=1, delta=DELTA)).mu == calibrate(1.0, DELTA)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, math.nan, "0.1", True])
def test_what_is_no_share_is_refused(share: float) -> None:
    for look in (risk(1.0).true_positives, risk(1.0).belief, risk(1.0).largest_belief):
        with pytest.raises(ArgumentError, match="must lie between 0 and 1, not"):
            look(share)
