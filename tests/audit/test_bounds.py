"""The statistics of an audit: bounds hold as often as they say, and would not if limits were left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom, binomtest

from sfumato.audit import bounds
from sfumato.audit.bounds import area, bound, epsilon_bound, error_rates, largest_area, mu_bound, rate_limit
from sfumato.audit.game import Claim, learn
from sfumato.audit.game_plot import trade_off


@given(trials=st.integers(1, 500), share=st.floats(0, 1), level=st.floats(1e-6, 0.4))
def test_rate_limits_are_clopper_pearson(trials: int, share: float, level: float) -> None:
    errors = round(share * trials)
    test = binomtest(errors, trials).proportion_ci(1 - 2 * level, method="exact")
    assert rate_limit(errors, trials, level) == pytest.approx(test.high, rel=1e-9)


@given(mu=st.floats(0.01, 4), threshold=st.floats(-3, 3))
def test_mu_of_a_gaussian_pair_is_found_at_any_threshold(mu: float, threshold: float) -> None:
    positive, negative = ndtr(-threshold - mu / 2), ndtr(threshold - mu / 2)
    assert mu_bound(positive, negative) == pytest.approx(mu, rel=1e-6)


@given(epsilon=st.floats(0.01, 5), delta=st.floats(0, 0.1), rate=st.floats(0.001, 0.999))
def test_no_attack_on_the_claimed_curve_shows_more_than_the_claim(epsilon: float, delta: float, rate: float) -> None:
    claim = Claim(epsilon, delta, None)
    found = epsilon_bound(np.array(rate), trade_off(claim, np.array(rate)).clip(1e-300), delta)
    assert found <= epsilon + 1e-6


def test_rates_of_one_and_zero_show_nothing_false() -> None:
    assert mu_bound(np.array(1.0), np.array(1e-9)) == -np.inf
    assert mu_bound(np.array(1.0), np.array(0.0)) == 0.0
    assert epsilon_bound(np.array(1.0), np.array(1.0), 0.1) == 0.0


AUDITS, RUNS, MU = 400, 300, 1.0


def convictions(seed: int) -> int:
    """How many of many audits of an exactly mu-GDP mechanism find more than mu."""
    rng = np.random.default_rng(seed)
    without = rng.normal(-MU / 2, 1, (AUDITS, RUNS))
    with_row = rng.normal(MU / 2, 1, (AUDITS, RUNS))
    found = [bound(a, b, 1e-5, 0.05).mu for a, b in zip(without, with_row, strict=True)]
    return sum(mu > MU for mu in found)


def test_a_tight_mechanism_is_rarely_convicted() -> None:
    # By the claim at most 5 % are; the number then exceeds this limit with probability below 1e-6.
    assert convictions(seed=1) <= binom.isf(1e-6, AUDITS, 0.05)


def test_without_limits_it_would_often_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "rate_limit", lambda errors, trials, level: np.asarray(errors) / trials)
    assert convictions(seed=1) > binom.isf(1e-6, AUDITS, 0.05)


def test_thresholds_chosen_on_what_they_are_measured_on_would_convict_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no signal at all: the best of hundreds of thresholds looks like one, unless fresh runs judge it."""
    rng = np.random.default_rng(3)
    both = rng.normal(size=(2, 200, 40))
    honest = [bound(a, b, 1e-5, 0.4).mu for a, b in zip(*both, strict=True)]
    monkeypatch.setattr(bounds, "PILOT", 1.0)
    scores = np.stack([both[0], both[1]])
    dishonest = []
    for a, b in zip(*scores, strict=True):
        positives, negatives = error_rates(a, b, np.sort(np.concatenate([a, b])))
        limits = [rate_limit(np.rint(r * 40), 40, 0.1) for r in (positives, negatives)]
        dishonest.append(mu_bound(*limits).max())
    limit = binom.isf(1e-6, 200, 0.4)
    assert sum(mu > 0 for mu in honest) <= limit
    assert np.mean(np.array(dishonest) > 0) > np.mean(np.array(honest) > 0)


def test_area_is_the_chance_to_rank_right() -> None:
    assert area(np.array([0.0, 1.0]), np.array([1.0, 2.0])) == pytest.approx(3.5 / 4)
    rng = np.random.default_rng(0)
    seen = area(rng.normal(0, 1, 50_000), rng.normal(1, 1, 50_000))
    assert seen == pytest.approx(largest_area(1.0), abs=6 * 0.0015)


def test_a_learned_statistic_finds_the_direction() -> None:
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(5, 5))
    without, with_row = (rng.normal(size=(4000, 5)) for _ in range(2))
    with_row[:, 2] += 1.0  # all of it in one direction of the five, hidden by the mixing
    views = without @ mix, with_row @ mix
    score = learn(views[0][:1000], views[1][:1000], 1e-5)
    assert bound(score(views[0]), score(views[1]), 1e-5, 0.05).mu > 0.75


def test_a_learned_statistic_sees_a_number_that_never_varies_but_between_tables() -> None:
    rng = np.random.default_rng(0)
    without, with_row = (np.column_stack([rng.normal(size=400), np.full(400, value)]) for value in (1.0, 2.0))
    score = learn(without[:100], with_row[:100], 1e-5)
    assert area(score(without), score(with_row)) == 1.0
