"""Points moved by kernel inducing points: how many features pay, what is asked, and what alpha does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms.clustmix import ClustmixTuning, PointTuning
from sfumato.mechanisms.clustmix.inducing_points import features_that_pay, move_points
from sfumato.mechanisms.encodings import Blind
from sfumato.mechanisms.questions import score_image
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import Answer, Batch
from sfumato.private.queries.group_sums import FeatureMoments
from sfumato.progress import Step, listening
from sfumato.whole_numbers import joined

NUMBER: dict[str, Any] = {"type": "number", "min": 0, "max": 9, "step": 1}
SCHEMA: dict[str, Any] = {
    "label": "y",
    "columns": {"x": NUMBER, "z": NUMBER, "y": {"type": "category", "values": ["no", "yes"]}},
}
SCORES = np.linspace(-1.5, 1.5, 10)
IMAGE = score_image([[SCORES, SCORES]])
ROWS = 4000
POINTS = PointTuning()
FEW = PointTuning(steps=60)


@given(st.floats(1.0, 1e9), st.floats(1e-3, 10.0))
def test_features_are_even_and_between_the_limits(rows: float, mu: float) -> None:
    count = features_that_pay(rows, mu, POINTS)
    assert count % 2 == 0
    assert POINTS.fewest_features <= count <= POINTS.most_features
    assert count <= features_that_pay(2 * rows, mu, POINTS)
    assert count <= features_that_pay(rows, 2 * mu, POINTS)


def test_features_that_pay_keep_the_noise_at_a_share_of_the_rows() -> None:
    """The largest eigenvalue of the noise on a second moment of p features is about sd sqrt(2 p)."""
    mu = 0.3
    rows = 2.0 * POINTS.noisiest * math.sqrt(100) / mu
    count = features_that_pay(rows, mu, POINTS)
    assert POINTS.fewest_features < count < POINTS.most_features
    sd = 1.0 / (mu * math.sqrt(POINTS.shares[0]))  # for features of norm one
    assert sd * math.sqrt(2.0 * count) / rows == pytest.approx(1.0 / POINTS.noisiest, rel=0.02)


@pytest.fixture
def jax() -> None:
    pytest.importorskip("jax")


class Rows:
    """A curator of rows that adds no noise, and says how little it would have been."""

    def __init__(self, codes: np.ndarray, labels: np.ndarray, mu: float) -> None:
        self.batch = Batch(codes, labels)
        self.remaining = mu**2
        self.asked: list[tuple[str, FeatureMoments, float]] = []

    def total(self, name: str, query: Any, mu_squared: float) -> Answer:
        self.asked.append((name, query, mu_squared))
        self.remaining -= mu_squared
        return Answer(joined(query.answer(query.total(self.batch))).astype(np.float64), 1e-6 / query.weights)


def plan() -> sf.Plan:
    return sf.plan(SCHEMA, epsilon=4, delta=1e-6, mechanism=sf.Clustmix(adapt="points"))


def moved(alpha: float) -> tuple[np.ndarray, Rows, list[float]]:
    """Four points, two of them with the wrong label for where they are, among rows whose label is the sign of x."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, (2, ROWS))
    made = plan()
    asker = Rows(codes, (codes[0] > 4).astype(np.int64), made.mu)
    blind, labels = Blind(IMAGE, START, rng.normal(0, 1, (500, 2)), 1.0), rng.integers(0, 2, 500)
    losses: list[float] = []
    with listening(lambda event: losses.append(event.loss) if isinstance(event, Step) else None):
        after = move_points(asker, made, blind, np.array([0, 1, 0, 1]), labels, float(ROWS), alpha, FEW)
    return after, asker, losses


START = np.array([[-0.5, 0.5], [0.5, 0.5], [0.3, -0.5], [-0.3, -0.5]])


@pytest.mark.slow
def test_points_follow_the_rows_and_alpha_holds_them(jax: None) -> None:
    free, asker, losses = moved(0.0)
    held, _, _ = moved(0.99)
    ((name, query, spent),) = asker.asked
    assert name == "features"
    assert spent == pytest.approx(POINTS.share * plan().mu ** 2)
    assert query.reach.sensitivity(Adjacency.ADD_REMOVE) > 0
    assert np.linalg.norm(held - START) < 0.2 * np.linalg.norm(free - START)
    assert losses[-1] < losses[0]
    signs = np.array([-1.0, 1.0, -1.0, 1.0])
    assert (free[:, 0] * signs).mean() > (START[:, 0] * signs).mean() + 0.1, "points move to where their label is"
    assert np.isfinite(free).all()


@pytest.mark.slow
def test_a_whole_fit_with_points_and_labels(jax: None) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 2000), "z": rng.integers(0, 10, 2000)})
    frame["y"] = np.where(frame["x"] + rng.integers(-1, 2, 2000) > 4, "yes", "no")
    both = sf.Clustmix(adapt="both", sigma_max=0.3, tuning=ClustmixTuning(points=FEW))
    told: list[object] = []
    made = sf.fit(
        frame,
        SCHEMA,
        epsilon=4,
        delta=1e-6,
        mechanism=both,
        engine=sf.Local(workers=1),
        progress=told.append,
        insecure_seed=1,
    )
    spends = made.guarantee.spends
    asked = sf.plan(SCHEMA, epsilon=4, delta=1e-6, mechanism=both)
    assert [spend.name for spend in spends] == [each.title for each in asked.rounds]
    assert [event.name for event in told if isinstance(event, sf.Spending)] == [each.title for each in asked.rounds]
    assert max(event.step for event in told if isinstance(event, sf.Step)) <= FEW.steps
    assert math.hypot(*(spend.mu for spend in spends)) == pytest.approx(asked.mu, rel=1e-9)
    assert made.model.labeller is not None
    drawn = made.sample(2000, seed=0)
    assert ((drawn["x"] > 4) == (drawn["y"] == "yes")).mean() > 0.8


@pytest.mark.slow
def test_points_of_columns_in_groups_move_too(jax: None) -> None:
    """Two kinds of 2 x 2 images: what is moved are the cells' means, and each round costs what the plan says."""
    rng = np.random.default_rng(2)
    kinds = rng.integers(0, 2, 1500)
    pixels = np.clip(np.rint(8 + np.outer(2 * kinds - 1, [4, -4, 2, 0]) + rng.normal(0, 2, (1500, 4))), 0, 16)
    frame = pd.DataFrame(pixels, columns=[f"px_{i}" for i in range(4)]).assign(kind=kinds.astype(str))
    schema = {
        "label": "kind",
        "columns": {"kind": {"type": "category", "values": ["0", "1"]}},
        "groups": {"pixels": {"columns": "px_*", "min": 0, "max": 16, "step": 1, "shape": [2, 2]}},
    }

    def fitted(adapt: Any) -> sf.Release:
        mechanism = sf.Clustmix(adapt=adapt, tuning=ClustmixTuning(points=FEW))
        return sf.fit(frame, schema, epsilon=8, delta=1e-6, mechanism=mechanism, insecure_seed=1)

    made = fitted("points")
    planned = sf.plan(schema, epsilon=8, delta=1e-6, mechanism=sf.Clustmix(adapt="points"))
    assert [spend.name for spend in made.guarantee.spends] == [each.title for each in planned.rounds]
    assert planned.has("features")
    drawn = made.sample(1000, seed=0)
    difference = drawn.groupby("kind").mean(numeric_only=True).diff().to_numpy()[-1]
    assert difference == pytest.approx([8, -8, 4, 0], abs=1.5)
    assert not drawn.equals(fitted(None).sample(1000, seed=0))
