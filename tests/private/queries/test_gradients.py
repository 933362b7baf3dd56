"""The gradient of a label model: how far one row can move it, and that what a row adds is that row's affair."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    LABEL,
    NOWHERE,
    ONE,
    REPLACE_ONE,
    UNCLIPPED,
    Case,
    Row,
    blanket,
    check_rows_add_up,
    check_tight,
    code_rows,
    coded,
    hunt,
    neighbours,
    told,
)

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import label_gradient, label_model, score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base, gradients
from sfumato.private.queries.base import EXACT, LATENT_LIMIT, Batch, Public, in_limbs
from sfumato.private.queries.gradients import Gradient, LabelModel
from sfumato.private.queries.images import ScoreImage
from sfumato.whole_numbers import EXP_STEPS, PROBABILITY_BITS, exponentials

SURE = 1 << PROBABILITY_BITS


def wild_tables(rng: np.random.Generator, margins: int, dim: int, bins: int) -> ScoreImage:
    """Coordinates at the limit, at zero, small and anything between; opposite in the first two bins."""
    scale = rng.choice([1, 30, ONE, LATENT_LIMIT], (margins, dim, 1))
    drawn = np.rint(rng.uniform(-1, 1, (margins, dim, bins)) * scale).astype(np.int64)
    extreme = rng.choice([-1, 0, 1], (margins, dim, bins)) * LATENT_LIMIT
    whole = np.where(rng.random((margins, dim, bins)) < 0.4, extreme, drawn)
    whole[:, :, 1] = -whole[:, :, 0]
    return ScoreImage(tuple(tuple(np.append(t, 0) for t in m) for m in whole))


@st.composite
def cases(draw: st.DrawFn, adjacency: Adjacency, kind: type = Gradient) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes, dim, bins = draw(st.sampled_from([2, 2, 3, 5])), draw(st.integers(1, 20)), 4
    margins = 1 if classes == 2 else classes
    intercepts = tuple(int(b) for b in rng.choice([0, 5, -LATENT_LIMIT, LATENT_LIMIT], margins))
    model = LabelModel(intercepts, wild_tables(rng, margins, dim, bins))
    radius = draw(st.sampled_from([1, 2, ONE**2 - 1, ONE**2, ONE**2 + 1, 5 * ONE**2, 2**40, UNCLIPPED]))
    query = kind(model, wild_tables(rng, margins, dim, bins), radius)
    before, after = neighbours(draw, code_rows(dim, bins - 1, classes), classes, adjacency, most=10)
    return Case(query, coded(before, dim), coded(after, dim))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_it_keeps_its_bound(adjacency: Adjacency) -> None:
    hunt(cases(adjacency), adjacency, examples=some(250))


# Planted faults: the same hunt must find them


class Long(Gradient):
    """Whatever features are like, none is left out for its length."""

    def part(self, batch: Batch) -> NDArray[np.int64]:
        blocks = [self._features(batch, m) @ e for m, e in enumerate(self._residuals(batch))]
        return in_limbs(np.concatenate(blocks))

    def _residuals(self, batch: Batch) -> NDArray[np.float64]:
        return self.model.residuals(batch)


class Unclipped(Long):
    def _features(self, batch: Batch, m: int) -> NDArray[np.float64]:
        return Gradient(self.model, self.features, UNCLIPPED)._features(batch, m)


class InterceptOutside(Long):
    """The intercept is added after clipping."""

    def _features(self, batch: Batch, m: int) -> NDArray[np.float64]:
        inside = super()._features(batch, m)
        inside[0] = ONE
        return inside


class OneBlock(Gradient):
    """As if only one class's residual were large."""

    @property
    def weights(self) -> NDArray[np.float64]:
        return Gradient.weights.func(self) * math.sqrt(2.0)


class SignedLabels(Long):
    """Labels of -1 and 1: a flip then moves twice as far."""

    def _residuals(self, batch: Batch) -> NDArray[np.float64]:
        own = batch.labels == np.arange(self.model.margins)[:, None] + (self.model.margins == 1)
        return self.model.residuals(batch) + np.where(own, 0.0, -float(SURE))


@pytest.mark.parametrize(
    ("kind", "adjacency"),
    [
        (Unclipped, ADD_REMOVE),
        (InterceptOutside, ADD_REMOVE),
        (OneBlock, LABEL),
        (blanket(Gradient), REPLACE_ONE),
        (SignedLabels, LABEL),
    ],
)
def test_the_hunt_finds_planted_faults(kind: type, adjacency: Adjacency) -> None:
    with pytest.raises(AssertionError):
        hunt(cases(adjacency, kind), adjacency, examples=2000)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_without_clipping_rows_that_are_too_long_count_nowhere(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line: the bound rests on no clipping, because every row's length is looked at."""
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: z)
    hunt(cases(adjacency), adjacency, examples=some(80))


# Tightness: the bounds cannot be loosened unseen


def two_sided(classes: int, favoured: float) -> Gradient:
    """Features far beyond the radius, opposite in bins 0 and 1, and a model that is sure of one class."""
    margins = 1 if classes == 2 else classes
    side = np.array([15.0, -15.0])
    logits = np.zeros(margins)
    logits[0] = favoured
    sure = label_model(logits, [[np.zeros(2)] * 3] * margins)
    return label_gradient(sure, [[side] * 3] * margins, 4.0)


def row(code: int, label: int) -> Row:
    return (code,) * 3, label


def case(query: Gradient, before: list[Row], after: list[Row]) -> Case:
    return Case(query, coded(before, 3), coded(after, 3))


TIGHT: dict[str, tuple[Adjacency, Callable[[], Case]]] = {
    "two classes, a row added": (ADD_REMOVE, lambda: case(two_sided(2, 15.0), [row(1, 1)], [row(1, 1), row(0, 0)])),
    "two classes, a label changed": (LABEL, lambda: case(two_sided(2, 0.3), [row(0, 0)], [row(0, 1)])),
    "two classes, a row replaced": (REPLACE_ONE, lambda: case(two_sided(2, 15.0), [row(0, 0)], [row(1, 0)])),
    "three classes, a row added": (ADD_REMOVE, lambda: case(two_sided(3, 15.0), [], [row(0, 1)])),
    "three classes, a label changed": (LABEL, lambda: case(two_sided(3, 0.3), [row(0, 0)], [row(0, 2)])),
    "three classes, a row replaced": (REPLACE_ONE, lambda: case(two_sided(3, 15.0), [row(0, 1)], [row(1, 1)])),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_reaches_the_bound(name: str) -> None:
    adjacency, build = TIGHT[name]
    check_tight(build(), adjacency)


# A row's contribution is a function of that row alone


def many(classes: int, dim: int, count: int, seed: int = 0) -> tuple[Gradient, Batch]:
    rng = np.random.default_rng(seed)
    margins, bins = (1 if classes == 2 else classes), 32
    evidence = [[rng.normal(scale=1.5, size=bins) for _ in range(dim)] for _ in range(margins)]
    features = [[rng.normal(size=bins) for _ in range(dim)] for _ in range(margins)]
    query = label_gradient(label_model(rng.normal(size=margins), evidence), features, math.sqrt(dim))
    codes = rng.integers(NOWHERE, bins, (dim, count)).astype(np.int16)
    return query, Batch(codes, rng.integers(0, classes, count))


def contributions(query: Gradient, rows: Batch) -> list[list[int]]:
    return [told(query, rows.only(slice(i, i + 1))).tolist() for i in range(len(rows))]


@pytest.mark.every(3)
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("dim", [1, 14, 40])
def test_a_total_is_the_sum_of_what_rows_add_alone(classes: int, dim: int) -> None:
    query, rows = many(classes, dim, 300)
    check_rows_add_up(query, rows)


class FloatModel(LabelModel):
    """The same softmax in floating point, by a product of the batch's one-hot cells."""

    def residuals(self, batch: Batch) -> NDArray[np.float64]:
        tables = np.concatenate([t / ONE * 1.000001 for t in self.evidence.tables[0]])
        width = len(self.evidence.tables[0][0])
        cells = np.zeros((len(batch), len(tables)))
        for c, codes in enumerate(batch.codes):
            cells[np.arange(len(batch)), c * width + codes % width] = 1.0
        logits = cells @ np.stack([tables, tables], axis=1)
        return (batch.labels - 1.0 / (1.0 + np.exp(-logits[:, :1].T))) * SURE


def test_in_floating_point_the_sum_is_not_that_of_its_rows() -> None:
    query, rows = many(2, 40, 300)
    fault = Gradient(FloatModel(query.model.intercepts, query.model.evidence), query.features, query.radius)
    alone = np.array(contributions(fault, rows), dtype=object)
    assert told(fault, rows).tolist() != alone.sum(axis=0).tolist()


@pytest.mark.parametrize("classes", [2, 4])
def test_totals_are_what_python_integers_say(classes: int) -> None:
    query, rows = many(classes, 5, 60)
    table = exponentials()
    for i in range(len(rows)):
        codes, label = rows.codes[:, i].tolist(), int(rows.labels[i])
        sums = [
            b + sum(int(t[c]) for t, c in zip(m, codes, strict=True))
            for b, m in zip(query.model.intercepts, query.model.evidence.tables, strict=True)
        ]
        logits = [0, *sums] if classes == 2 else sums
        risen = [int(table[min(max(logits) - logit, EXP_STEPS)]) for logit in logits]
        probabilities = [(e << PROBABILITY_BITS) // sum(risen) for e in risen]
        residuals = [(SURE if k == label else 0) - p for k, p in enumerate(probabilities)]
        expected: list[int] = []
        for m, e in enumerate(residuals[1:] if classes == 2 else residuals):
            expected += [int(x) * e for x in query._features(rows.only(slice(i, i + 1)), m)[:, 0]]
        assert told(query, rows.only(slice(i, i + 1))).tolist() == expected


def test_probabilities_are_those_of_a_softmax() -> None:
    for classes in (2, 3, 7):
        query, rows = many(classes, 14, 500)
        evidence = query.model.evidence
        everyone = np.ones(500, dtype=bool)
        sums = np.stack([evidence.rows(rows, everyone, m).sum(axis=0) for m in range(query.model.margins)]) / ONE
        logits = sums + np.array(query.model.intercepts)[:, None] / ONE
        logits = np.concatenate([np.zeros((1, 500)), logits]) if classes == 2 else logits
        right = np.exp(logits - logits.max(axis=0))
        right /= right.sum(axis=0)
        found = query.model.probabilities(rows) / SURE
        assert (found.sum(axis=0) <= 1.0).all()
        assert np.abs(found - right).max() < 2.0**-15


def test_the_gradient_is_that_of_the_likelihood() -> None:
    """Against differences of the log-likelihood, where nothing is clipped."""
    rng = np.random.default_rng(3)
    dim, classes, bins = 3, 3, 8
    features = [[rng.normal(size=bins) for _ in range(dim)] for _ in range(classes)]
    weights = rng.normal(size=(classes, 1 + dim))
    codes = rng.integers(0, bins, (dim, 50)).astype(np.int16)
    rows = Batch(codes, rng.integers(0, classes, 50))
    phi = np.stack([np.stack([np.ones(50), *(f[c] for f, c in zip(m, codes, strict=True))]) for m in features])

    def likelihood(w: NDArray[np.float64]) -> float:
        logits = np.einsum("kp,kpn->kn", w, phi)
        return float((logits[rows.labels, np.arange(50)] - np.log(np.exp(logits).sum(axis=0))).sum())

    evidence = [[w * f for w, f in zip(row[1:], m, strict=True)] for row, m in zip(weights, features, strict=True)]
    query = label_gradient(label_model(weights[:, 0], evidence), features, 100.0)
    found = unpack(query, told(query, rows).astype(np.float64))
    small = 1e-5
    for at in np.ndindex(weights.shape):
        change_at = np.zeros_like(weights)
        change_at[at] = small
        slope = (likelihood(weights + change_at) - likelihood(weights - change_at)) / (2 * small)
        assert found[at] == pytest.approx(slope, abs=0.05)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = many(3, 5, 200)
    whole = told(query, rows)
    monkeypatch.setattr(base, "BATCH_CAP", 7)
    assert np.array_equal(told(query, rows), whole)


@pytest.mark.parametrize("fault", [math.nan, math.inf, 1e6])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_row_whose_residual_is_too_long_counts_nowhere(
    classes: int, fault: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a model says: the bound does not rest on its probabilities."""
    query, rows = many(classes, 5, 20)
    sure = np.full((classes, 20), fault)
    monkeypatch.setattr(gradients, "_residuals", lambda labels, probabilities: sure)
    with np.errstate(invalid="ignore"):
        assert not np.nan_to_num(query.model.residuals(rows)).any()


# What is refused


def test_models_and_queries_off_their_grids_are_refused() -> None:
    one = score_image([[np.ones(2)]])
    with pytest.raises(ArgumentError, match="margin"):
        LabelModel((0, 0), score_image([[np.ones(2)]] * 2))
    with pytest.raises(ArgumentError, match="margin"):
        LabelModel((0, 0, 0), one)
    with pytest.raises(ArgumentError, match="below 16"):
        LabelModel((LATENT_LIMIT + 1,), one)
    with pytest.raises(ArgumentError, match="same margins"):
        Gradient(LabelModel((0,), one), score_image([[np.ones(2)] * 2]), 4)
    with pytest.raises(ArgumentError, match="radius"):
        Gradient(LabelModel((0,), one), one, 0)
    with pytest.raises(ArgumentError, match="radius"):
        Gradient(LabelModel((0,), one), one, EXACT)
    with pytest.raises(ArgumentError, match="numbers"):
        label_model(np.array([np.nan]), [[np.ones(2)]])


def test_weights_are_positive_and_one_for_each_coordinate() -> None:
    for classes in (2, 5):
        query = two_sided(classes, 1.0)
        assert query.weights.shape == told(query, coded([], 3)).shape
        assert (query.weights > 0).all()
        assert unpack(query, query.weights).shape == (query.model.margins, 4)


def test_a_model_that_is_not_of_the_schema_is_refused() -> None:
    for classes in (2, 5):
        query = two_sided(classes, 1.0)
        query.check(Public((2, 2, 2), classes))
        for public in (Public((2, 2, 2), 3), Public((2, 2), classes), Public((2, 2, 3), classes)):
            with pytest.raises(ArgumentError):
                query.check(public)
