"""Label adaptation: what it asks, that its steps go the right way, and that noise does not move it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.encoding.marginals import Marginals
from sfumato.errors import ArgumentError
from sfumato.mechanisms.budget import Reserved
from sfumato.mechanisms.encodings.logistic_labels import Drawn, damp, log_odds, logit_noise, step, update_curvature
from sfumato.mechanisms.tuning import LabelTuning
from sfumato.schema.layout import FloatArray

TUNING = LabelTuning()
FLATTEST = TUNING.least_curvature
COLUMNS: dict[str, Any] = {
    "x": {"type": "number", "min": 0, "max": 4, "step": 1},
    "z": {"type": "number", "min": 0, "max": 4, "step": 1},
}
TWO = {"label": "y", "columns": COLUMNS | {"y": {"type": "category", "values": ["no", "yes"]}}}


def table(n: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Two columns that always agree, so that a model of each alone counts their evidence twice."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, n)
    yes = rng.random(n) < 1.0 / (1.0 + np.exp(-(x - 2.0)))
    return pd.DataFrame({"x": x, "z": x, "y": np.where(yes, "yes", "no")})


def fit(adapt: bool, epsilon: float = 4.0, n: int = 20_000, seed: int = 1) -> sf.Release:
    mechanism = sf.Mixture(components=1, pairs=None, adapt="labels" if adapt else None)
    return sf.fit(table(n), TWO, epsilon=epsilon, delta=1e-6, mechanism=mechanism, insecure_seed=seed)


def plan(adapt: Any = "labels", schema: dict[str, Any] = TWO, encoding: str = "scores") -> Any:
    mechanism = sf.Mixture(pairs=None, adapt=adapt, encoding=encoding)  # type: ignore[arg-type]
    return sf.plan(schema, epsilon=1.0, delta=1e-6, mechanism=mechanism)


# The plan


def test_the_plan_sets_a_share_aside() -> None:
    made, without = plan("labels"), plan(None)
    assert [each.title for each in made.repeats("labels")] == [f"labels {i + 1}" for i in range(TUNING.rounds)]
    assert sum(each.share for each in made.repeats("labels")) == pytest.approx(TUNING.share)
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
    assert made.mu == without.mu
    assert without.repeats("labels") == ()
    assert sum(made.expected_kl.values()) > sum(without.expected_kl.values())
    cell = "noise on a histogram cell (rows)"
    assert made.notes[cell] > without.notes[cell]


def test_auto_adapts_where_it_can() -> None:
    columns = COLUMNS | {"y": {"type": "category", "values": ["no"]}}
    assert plan("auto").has("labels")
    assert not plan("auto", {"columns": COLUMNS}).has("labels")
    assert not plan("auto", {"label": "y", "columns": columns}).has("labels")
    assert not plan("auto", encoding="affine").has("labels")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": {"columns": COLUMNS}}, "adapt needs a label of at least two classes"),
        ({"encoding": "affine"}, "adapt needs encoding 'scores'"),
        ({"adapt": "yes"}, "adapt must be one of 'labels', 'auto' or None, not 'yes'"),
        ({"adapt": 1}, "adapt must be one of 'labels', 'auto' or None, not 1"),
        ({"adapt": "points"}, "adapt must be one of 'labels', 'auto' or None, not 'points'"),
    ],
)
def test_what_cannot_be_adapted_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan(**options)


def test_a_label_model_has_so_many_weights_at_most() -> None:
    kinds = {"type": "category", "values": [str(i) for i in range(700)]}
    with pytest.raises(ArgumentError, match="adapt needs at most 2000 weights"):
        plan("labels", {"label": "y", "columns": COLUMNS | {"y": kinds}})


# What is asked


def test_the_whole_budget_is_spent_and_not_more() -> None:
    release = fit(True)
    spent = sum(spend.mu**2 for spend in release.guarantee.spends)
    planned = sf.plan(TWO, epsilon=4.0, delta=1e-6, mechanism=sf.Mixture(components=1, pairs=None, adapt="labels"))
    assert spent == pytest.approx(planned.mu**2, rel=1e-9)
    for each, spend in zip(planned.rounds, release.guarantee.spends, strict=True):
        assert spend.name == each.title
        assert spend.mu**2 == pytest.approx(each.share * planned.mu**2, rel=1e-6)


def test_reserved_budget_is_not_seen() -> None:
    class Rich:
        remaining = 1.0

        def total(self, *asked: Any) -> Any:
            return asked

    held = Reserved(Rich(), 0.25)
    assert held.remaining == 0.75
    assert held.total("name", "query", 0.5) == ("name", "query", 0.5)  # type: ignore[arg-type, comparison-overlap]


# What is learnt


def rate(release: sf.Release, x: int) -> float:
    return float(release.predict_proba(pd.DataFrame({"x": [x], "z": [x]}))["yes"].iloc[0])


def test_evidence_that_the_columns_share_is_counted_once() -> None:
    """The truth is 1 / (1 + exp(2)) at 0 and its complement at 4; twice the evidence would be 0.018 and 0.982."""
    release = fit(True)
    assert release.model.labeller is not None
    found = np.exp(release.model.labeller.log_probabilities([np.array([0, 4]), np.array([0, 4])]))[:, 1]
    np.testing.assert_allclose(found, [0.119, 0.881], atol=0.03)


def test_where_there_are_hardly_any_rows_noise_is_not_believed() -> None:
    """With 30 rows at epsilon 0.5 the gradient drowns; steps are as long as it stands above its noise."""
    for seed in range(3):
        release = fit(True, epsilon=0.5, n=30, seed=seed)
        assert release.model.labeller is not None
        assert np.isfinite(release.log_density(pd.DataFrame({"x": [0], "z": [4], "y": ["yes"]}))).all()


@pytest.mark.parametrize("mechanism", [sf.Mixture(components=1, pairs=None, adapt="auto"), sf.Clustmix()])
def test_auto_leaves_labels_of_a_class_that_noise_hides_and_spends_all_the_same(mechanism: Any) -> None:
    """With 30 rows noise moves a logit by several nats; with 20,000 by a hundredth of one."""
    for rows, adapted in ((30, False), (20_000, True)):
        release = sf.fit(table(rows), TWO, epsilon=0.5, delta=1e-6, mechanism=mechanism, insecure_seed=0)
        assert (release.model.labeller is not None) == adapted
        spent = sum(spend.mu**2 for spend in release.guarantee.spends)
        planned = sf.plan(TWO, epsilon=0.5, delta=1e-6, mechanism=mechanism)
        assert spent == pytest.approx(planned.mu**2, rel=1e-9)


def test_the_noise_on_a_logit_is_what_noisy_gradients_make_it() -> None:
    """A regression of p standard normal features on n rows, all logits 0, corrected by one gradient with noise."""
    rng = np.random.default_rng(0)
    rows, weights, mu = 4000, 8, 0.3
    x = rng.standard_normal((rows, weights))
    curvature = x.T @ x / 4.0
    noise = rng.standard_normal((200, weights)) * np.sqrt(weights) / mu
    moved = np.linalg.solve(curvature, noise.T).T @ x[:500].T
    expected = logit_noise(np.array([rows / 4.0, 1e9]), weights, mu**2)  # p (1 - p) is a quarter everywhere
    assert np.sqrt((moved**2).mean()) == pytest.approx(expected, rel=0.15)


def marginals(counts: list[float], masses: FloatArray, sd: float) -> Marginals:
    """Of one column whose cells can all be read."""
    return Marginals(np.array(counts), sd, (masses,), np.array([sd]), np.ones(1), (None,))


def test_log_odds_are_those_of_the_masses() -> None:
    masses = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    (table_,) = log_odds(marginals([1e6, 3e6], masses, 1e-9))
    odds = np.log(masses[1] / masses[0])
    everyone = (masses[0] + 3 * masses[1]) / 4
    np.testing.assert_allclose(table_[0], odds - everyone @ odds, atol=1e-9)
    three = log_odds(marginals([1e6] * 3, np.array([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]]), 1e-9))
    assert len(three) == 3
    np.testing.assert_allclose(three[0][0], 0.0, atol=1e-9)
    assert three[1][0][1] > 0 > three[1][0][0]


def test_a_bin_that_noise_hides_has_little_evidence() -> None:
    masses = np.array([[0.499, 0.5, 0.001], [0.499, 0.499, 0.002]])
    loud, quiet = (log_odds(marginals([1000.0, 1000.0], masses, sd))[0][0][2] for sd in (50.0, 1e-6))
    assert abs(loud) < 0.1 * abs(quiet)


# Steps


def test_a_step_is_newtons_as_far_as_the_gradient_is_signal() -> None:
    curvature = np.array([[4.0, 1.0], [1.0, 3.0]])
    gradient = np.array([3.0, 4.0])
    np.testing.assert_allclose(step(curvature, gradient, 1e-9), np.linalg.solve(curvature, gradient))
    np.testing.assert_allclose(step(curvature, gradient, np.sqrt(12.5 / 2)), np.linalg.solve(curvature, gradient) / 2)
    assert not step(curvature, gradient, 4.0).any()
    assert not step(curvature, np.zeros(2), 1.0).any()


def test_the_curvature_is_learnt_along_the_step() -> None:
    curvature, moved, truth = np.eye(3), np.array([1.0, 2.0, 0.0]), np.diag([5.0, 2.0, 9.0])
    learnt = update_curvature(curvature, moved, truth @ moved, 1e-9, FLATTEST)
    np.testing.assert_allclose(learnt @ moved, truth @ moved)
    np.testing.assert_allclose(learnt, learnt.T)
    assert np.linalg.eigvalsh(learnt).min() > 0
    assert np.array_equal(update_curvature(curvature, moved, truth @ moved, 1e3, FLATTEST), curvature), (
        "noise teaches nothing"
    )
    assert np.array_equal(update_curvature(curvature, moved, -moved, 1e-9, FLATTEST), curvature), (
        "a hill is not believed"
    )
    assert np.array_equal(update_curvature(curvature, np.zeros(3), np.ones(3), 1e-9, FLATTEST), curvature)


def test_with_it_steps_settle_where_they_would_grow() -> None:
    """The rows' curvature is three times what was taken for it: plain steps overshoot by more each time."""
    truth, taken = np.diag([3.0, 1.0]), np.eye(2)
    for learning, settles in ((True, True), (False, False)):
        at, curvature, moved, before = np.array([1.0, 1.0]), taken, np.zeros(2), np.zeros(2)
        for i in range(6):
            gradient = -truth @ at
            if i and learning:
                curvature = update_curvature(curvature, moved, before - gradient, 1e-9, FLATTEST)
            moved, before = step(curvature, gradient, 1e-9), gradient
            at = at + moved
        assert (np.linalg.norm(at) < 0.1) == settles


def test_steps_are_limited_and_damped() -> None:
    rng = np.random.default_rng(0)
    drawn = Drawn.of([[rng.normal(size=4)]], [rng.integers(0, 4, 1000)], TUNING)
    long, short = np.array([[30.0, -20.0]]), np.array([[1e-3, 1e-3]])
    assert np.array_equal(drawn.limit(short), short)
    logits = drawn.features[0] @ drawn.limit(long)[0]
    assert np.sqrt((logits**2).mean()) == pytest.approx(TUNING.longest_step)
    np.testing.assert_allclose(damp(np.diag([1.0, 3.0]), 1.0), np.diag([4.0, 6.0]))


@pytest.mark.parametrize("classes", [2, 4])
def test_the_hessian_is_the_slope_of_the_gradient(classes: int) -> None:
    rng = np.random.default_rng(classes)
    margins = 1 if classes == 2 else classes
    drawn = Drawn.of(
        [[rng.normal(size=6) for _ in range(2)] for _ in range(margins)], list(rng.integers(0, 6, (2, 400))), TUNING
    )
    drawn = Drawn(drawn.features, 1e9, TUNING)  # nothing is clipped
    labels, weights = rng.integers(0, classes, 400), rng.normal(size=(margins, 3))

    def gradient(w: Any) -> Any:
        p = drawn.probabilities(w)
        residuals = ((labels[:, None] == np.arange(classes)) - p)[:, -margins:]
        return np.einsum("mnp,nm->mp", drawn.features, residuals).ravel()

    found, small = drawn.hessian(weights), 1e-5
    for j in range(weights.size):
        change = np.zeros(weights.size)
        change[j] = small
        change = change.reshape(weights.shape)
        slope = (gradient(weights + change) - gradient(weights - change)) / (2 * small)
        np.testing.assert_allclose(found[j], -slope, atol=1e-4)


def test_regression_recovers_the_weights() -> None:
    rng = np.random.default_rng(5)
    drawn = Drawn.of([[rng.normal(size=8) for _ in range(3)]], list(rng.integers(0, 8, (3, 100_000))), TUNING)
    weights = np.array([[-0.5, 1.0, 0.0, 2.0]])
    labels = (rng.random(100_000) < drawn.probabilities(weights)[:, 1]).astype(np.int64)
    np.testing.assert_allclose(drawn.regress(labels), weights, atol=0.1)
