"""Random features of rows: exact, of the row alone, blind to the label, and bounded in what a row can move."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.private.hunting import look_for

from sfumato.mechanisms.questions import feature_image, feature_matrices, feature_moments, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import features
from sfumato.private.queries.base import BATCH_CAP, LATENT_BITS, LATENT_LIMIT, MAP_BITS, MAP_LIMIT, Batch, BoolArray
from sfumato.private.queries.features import FeatureImage, Features
from sfumato.private.queries.group_sums import FeatureMoments
from sfumato.private.queries.images import AffineImage, ScoreImage

ADD_REMOVE, LABEL, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.LABEL, Adjacency.REPLACE_ONE
ONE = 1 << LATENT_BITS
NOWHERE = BAD_LABEL = -1

Ints = NDArray[np.int64]
Row = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Case:
    query: FeatureMoments
    before: list[Row]
    after: list[Row]


def batch(rows: list[Row], columns: int) -> Batch:
    counted = [row for row in rows if row[1] != BAD_LABEL]
    codes = np.array([codes for codes, _ in counted], dtype=np.int16).reshape(-1, columns).T
    return Batch(codes, np.array([label for _, label in counted], dtype=np.int64))


def change(case: Case) -> float:
    columns = case.query.image.image.dim
    moved = case.query.total(batch(case.after, columns)) - case.query.total(batch(case.before, columns))
    return float(np.linalg.norm(case.query.weights * moved))


def score_image(vectors: Ints) -> ScoreImage:
    """Row j of `vectors` is what the codes (j, j, ...) stand for."""
    return ScoreImage((tuple(np.append(column, 0) for column in vectors.T),))


def drawn(dim: int, width: int, seed: int, bias: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(width, dim + 1)), rng.normal(size=(width, dim + 1))


def query_of(rows: int = 40, dim: int = 5, width: int = 8, radius: float = 2.0) -> FeatureMoments:
    vectors = np.rint(np.random.default_rng(1).normal(size=(rows, dim)) * ONE).astype(np.int64)
    return feature_moments(feature_image(score_image(vectors), *drawn(dim, width, 2), 1.0), radius, 3, (0.4, 0.6))


def some_rows(rows: int, dim: int = 5, top: int = 40, seed: int = 3) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(rng.integers(NOWHERE, top, (dim, rows)).astype(np.int16), rng.integers(0, 3, rows))


# What a row's features are


def slow_features(image: FeatureImage, z: list[int]) -> list[int]:
    """In whole numbers, one gate at a time."""
    found = []
    for gates, values in zip(image.gates.tolist(), image.values.tolist(), strict=True):
        u, v = (sum(a * b for a, b in zip(m, [*z, ONE], strict=True)) for m in (gates, values))
        found.append((max(0, u), v if u > 0 else 0))
    held = [max(-LATENT_LIMIT, min(LATENT_LIMIT, int(Fraction(x, 1 << MAP_BITS)))) for pair in found for x in pair]
    return held[::2] + held[1::2]


def extreme_images() -> list[FeatureImage]:
    rng = np.random.default_rng(4)
    dim, width = 30, 6
    wild = rng.integers(-LATENT_LIMIT, LATENT_LIMIT + 1, (7, dim))
    vectors = np.concatenate([wild, np.sign(wild) * LATENT_LIMIT, wild // 1000, 0 * wild[:1]])
    shape = (width, dim + 1)
    full = rng.choice([-MAP_LIMIT, MAP_LIMIT], shape)
    cancels = np.where(np.arange(dim + 1) % 2 == 0, 1, -1) * np.full(shape, MAP_LIMIT)
    small = rng.integers(-2, 3, shape)
    return [FeatureImage(score_image(vectors), g, v) for g in (full, cancels, small) for v in (full, small)]


@pytest.mark.parametrize("image", extreme_images())
def test_features_are_those_of_whole_numbers(image: FeatureImage) -> None:
    rows = len(image.image.tables[0][0]) - 1  # type: ignore[attr-defined]
    codes = np.tile(np.arange(rows), (image.image.dim, 1)).astype(np.int16)
    everyone = Batch(codes, np.zeros(rows, dtype=np.int64))
    found = image.rows(everyone, np.ones(rows, dtype=bool), 0)
    latent = image.image.rows(everyone, np.ones(rows, dtype=bool), 0)
    assert found.T.tolist() == [slow_features(image, [int(x) for x in z]) for z in latent.T]


def test_totals_are_exact_sums() -> None:
    query, rows = query_of(), some_rows(50)
    gram = np.zeros((16, 16), dtype=object)
    cross = np.zeros((16, 3), dtype=object)
    for i in range(50):
        one = Batch(rows.codes[:, i : i + 1], rows.labels[i : i + 1])
        phi = np.array(slow_features(query.image, query.image.image.rows(one, np.array([True]), 0)[:, 0].astype(int)))
        norm = int((phi**2).sum())
        if norm > query.radius:
            phi = np.trunc(phi * (math.sqrt(query.radius / norm) * (1 - 2.0**-40))).astype(np.int64)
        assert (phi**2).sum() <= query.radius
        gram += np.outer(phi, phi).astype(object)
        cross[:, rows.labels[i]] += phi.astype(object)
    total = query.total(rows)
    assert total.dtype == np.int64
    assert total.tolist() == [*gram[np.triu_indices(16)], *cross.ravel()]


def test_their_inner_products_approximate_the_kernel() -> None:
    """At one pair: <x, y> (1 - t / pi) + |x| |y| (sin t + (pi - t) cos t) / pi, on (x / sqrt(d), bias)."""
    vectors = np.array([[1.0, -0.5, 2.0], [0.5, 1.5, 1.0]])
    image = feature_image(score_image(np.rint(vectors * ONE).astype(np.int64)), *drawn(3, 100_000, 5), 0.8)
    two = Batch(np.array([[0, 1]] * 3, dtype=np.int16), np.zeros(2, dtype=np.int64))
    phi = image.rows(two, np.ones(2, dtype=bool), 0) * image.unit
    x, y = (np.append(v / math.sqrt(3.0), 0.8) for v in vectors)
    lengths = np.linalg.norm(x) * np.linalg.norm(y)
    angle = math.acos(x @ y / lengths)
    kernel = x @ y * (1 - angle / math.pi) + lengths * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi
    assert phi[:, 0] @ phi[:, 1] == pytest.approx(kernel, rel=0.03)
    assert phi[:, 0] @ phi[:, 0] == pytest.approx(2.0 * x @ x, rel=0.03)


def test_matrices_are_told_as_they_are_applied() -> None:
    gates, values = drawn(4, 20, 6)
    image = feature_image(score_image(np.zeros((1, 4), dtype=np.int64)), gates, values, 0.5)
    told = feature_matrices(image, 0.5)
    assert all(np.allclose(a, b, atol=2.0**-MAP_BITS) for a, b in zip(told, (gates, values), strict=True))
    again = feature_image(image.image, *told, 0.5)
    assert np.array_equal(again.gates, image.gates)
    assert np.array_equal(again.values, image.values)


def test_unpack_is_in_the_kernels_units() -> None:
    query, rows = query_of(radius=1e3), some_rows(30)
    gram, cross = unpack(query, query.total(rows).astype(np.float64))
    phi = query.image.rows(rows, np.ones(30, dtype=bool), 0) * query.image.unit
    assert np.allclose(gram, phi @ phi.T)
    assert np.array_equal(gram, gram.T)
    assert np.allclose(cross, phi @ np.eye(3)[rows.labels])
    assert len(query.weights) == query.size == 16 * 17 // 2 + 16 * 3


# A row alone


@settings(deadline=None, max_examples=60, derandomize=True, database=None)
@given(st.sampled_from(extreme_images()), st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(1, 2**40))
def test_a_row_does_not_feel_the_others(image: FeatureImage, rows: int, seed: int, radius: int) -> None:
    """Permuted, thinned out, cut into batches, laid out otherwise in memory: bit for bit the same."""
    rng = np.random.default_rng(seed)
    top = len(image.image.tables[0][0]) - 1  # type: ignore[attr-defined]
    codes = rng.integers(NOWHERE, top, (image.image.dim, rows)).astype(np.int16)
    labels = rng.integers(0, 3, rows)
    query = FeatureMoments(image, radius, 3, (0.5, 0.5))
    alone = [query.total(Batch(codes[:, i : i + 1], labels[i : i + 1])) for i in range(rows)]
    order = rng.permutation(rows)
    assert np.array_equal(query.total(Batch(codes[:, order], labels[order])), sum(alone))
    kept = rng.random(rows) < 0.5
    assert np.array_equal(
        query.total(Batch(np.asfortranarray(codes[:, kept]), labels[kept])),
        sum((a for a, k in zip(alone, kept, strict=True) if k), start=np.zeros(query.size, dtype=np.int64)),
    )
    cut = int(rng.integers(0, rows + 1))
    parts = [query.total(Batch(codes[:, s], labels[s])) for s in (slice(cut), slice(cut, None))]
    assert np.array_equal(parts[0] + parts[1], sum(alone))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = query_of(), some_rows(200)
    whole = query.total(rows)
    monkeypatch.setattr(features, "CHUNK_CELLS", 7 * query.image.dim)
    assert np.array_equal(query.total(rows), whole)


def test_chunks_keep_memory_small(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = query_of(width=100), some_rows(20_000)  # 32 MB of features
    monkeypatch.setattr(features, "CHUNK_CELLS", 1 << 17)
    tracemalloc.start()
    query.total(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_features_do_not_see_the_label() -> None:
    query, rows = query_of(), some_rows(60)
    flipped = Batch(rows.codes, (rows.labels + 1) % 3)
    (gram, cross), (other, moved) = (unpack(query, query.total(b).astype(np.float64)) for b in (rows, flipped))
    assert np.array_equal(gram, other)
    assert np.array_equal(np.roll(cross, 1, axis=1), moved)
    assert not np.array_equal(cross, moved)


def test_values_serve_as_well_as_bins() -> None:
    image = AffineImage(np.full((1, 2), 1000.0), np.full((1, 2), 3.5))
    fixed = np.array([[10, 5000, -1], [-1, 2000, 800]], dtype=np.int32)
    rows = Batch(np.zeros((2, 3), dtype=np.int16), np.array([0, 1, 1]), fixed)
    query = feature_moments(feature_image(image, *drawn(2, 4, 7), 1.0), 1.5, 2, (0.5, 0.5))
    alone = [query.total(Batch(rows.codes[:, [i]], rows.labels[[i]], fixed[:, [i]])) for i in range(3)]
    assert np.array_equal(query.total(rows), sum(alone))


# How far a row can move the totals


def neighbours_of(
    draw: st.DrawFn, rows: st.SearchStrategy[Row], classes: int, adjacency: Adjacency
) -> tuple[list[Row], list[Row]]:
    base, row = draw(st.lists(rows, max_size=6)), draw(rows)
    if adjacency is ADD_REMOVE:
        other = []
    elif adjacency is LABEL:
        other = [(row[0], draw(st.integers(BAD_LABEL, classes - 1)))]
    else:
        other = [draw(rows)]
    pair = [row, *base], [*other, *base]
    return pair if draw(st.booleans()) else pair[::-1]


SHARES = [(0.5, 0.5), (0.1, 0.9), (0.45, 0.55), (0.9, 0.1), (1e-9, 1 - 1e-9), (1 - 1e-9, 1e-9)]


@st.composite
def cases(
    draw: st.DrawFn,
    adjacency: Adjacency,
    kind: type[FeatureMoments] = FeatureMoments,
    image: type[FeatureImage] = FeatureImage,
) -> Case:
    """Few rows of few features, so that opposite and orthogonal ones are met."""
    dim, width, classes = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    limit = draw(st.sampled_from([3, ONE, LATENT_LIMIT]))
    half = rng.integers(-limit, limit + 1, (6, dim))
    vectors = np.concatenate([half, -half])
    gates = rng.integers(-MAP_LIMIT, MAP_LIMIT + 1, (width, dim + 1))
    if draw(st.booleans()):
        gates[:, :-1] = 0
        gates[:, -1] = 1  # open whatever the row, and almost silent: the values are left, of either sign
    found = image(score_image(vectors), gates, rng.integers(-MAP_LIMIT, MAP_LIMIT + 1, (width, dim + 1)))
    radius = draw(st.sampled_from([1, 2, 50, ONE**2, 4 * ONE**2, 2**34, 2**60]))
    whole = st.integers(NOWHERE, len(vectors) - 1).map(lambda code: (code,) * dim)
    rows = st.tuples(whole, st.integers(BAD_LABEL, classes - 1))
    query = kind(found, radius, classes, draw(st.sampled_from(SHARES)))
    return Case(query, *neighbours_of(draw, rows, classes, adjacency))


def hunt(found: st.SearchStrategy[Case], adjacency: Adjacency, examples: int) -> None:
    """Let Hypothesis look for neighbours that break the bound."""

    def holds(case: Case) -> None:
        assert change(case) <= case.query.sensitivity(adjacency)

    look_for(found, holds, examples)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_bound_holds(adjacency: Adjacency) -> None:
    hunt(cases(adjacency), adjacency, 300)


class Unclipped(FeatureMoments):
    def total(self, batch: Batch) -> Ints:
        return FeatureMoments(self.image, 2**90, self.classes, self.shares).total(batch)


class BothTriangles(FeatureMoments):
    """Off the diagonal the weight is 2, as for two equal coordinates whose noise is added."""

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        rows, columns = self._upper
        lift = np.where(rows == columns, 1.0, math.sqrt(2.0))
        return super().weights * np.append(lift, np.ones(self.image.dim * self.classes))


class BlanketReplacement(FeatureMoments):
    def sensitivity(self, adjacency: Adjacency) -> float:
        return math.sqrt(2.0) if adjacency is REPLACE_ONE else super().sensitivity(adjacency)


class LabelsOnly(FeatureMoments):
    """As if a label could not turn into one that does not count."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return math.sqrt(2.0 * self.shares[1]) if adjacency is LABEL else super().sensitivity(adjacency)


@dataclass(frozen=True)
class Rolled:
    """Another image's rows with their coordinates turned round."""

    image: Features
    by: int

    @property
    def dim(self) -> int:
        return self.image.dim

    @property
    def unit(self) -> float:
        return self.image.unit

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> NDArray[np.float64]:
        return np.roll(self.image.rows(batch, mine, k), self.by, axis=0)


class SeesTheLabel(FeatureMoments):
    """Features of each class its own, as the mixture's tables are: then the second moment moves with the label."""

    def total(self, batch: Batch) -> Any:
        own = [
            FeatureMoments(Rolled(self.image, k), self.radius, self.classes, self.shares) for k in range(self.classes)
        ]
        return sum(query.total(batch.only(batch.labels == k)) for k, query in enumerate(own))


FAULTS: dict[str, Callable[[], tuple[st.SearchStrategy[Case], Adjacency]]] = {
    "no clipping": lambda: (cases(ADD_REMOVE, Unclipped), ADD_REMOVE),
    "both triangles": lambda: (cases(ADD_REMOVE, BothTriangles), ADD_REMOVE),
    "blanket replace-one": lambda: (cases(REPLACE_ONE, BlanketReplacement), REPLACE_ONE),
    "bad labels forgotten": lambda: (cases(LABEL, LabelsOnly), LABEL),
    "class-dependent features": lambda: (cases(LABEL, SeesTheLabel), LABEL),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    found, adjacency = FAULTS[fault]()
    with pytest.raises(AssertionError):
        hunt(found, adjacency, 2000)


def opposed(shares: tuple[float, float], cosine: float) -> Case:
    """Two rows of one class whose features have this cosine: gates open to all, values that read the row."""
    z = np.array([1.0, 0.0])
    y = np.array([cosine, math.sqrt(1.0 - cosine**2)])
    vectors = np.rint(np.stack([z, y]) * 8 * ONE).astype(np.int64)
    gates = np.array([[0, 0, 1], [0, 0, 1]])
    values = np.array([[1, 0, 0], [0, 1, 0]]) << MAP_BITS
    query = FeatureMoments(FeatureImage(score_image(vectors), gates, values), 16 * ONE**2, 2, shares)
    return Case(query, [((0, 0), 0)], [((1, 1), 0)])


@pytest.mark.parametrize(("shares", "cosine"), [((0.5, 0.5), -0.5), ((0.1, 0.9), -1.0), ((0.8, 0.2), -0.125)])
def test_the_bound_of_a_replacement_is_reached(shares: tuple[float, float], cosine: float) -> None:
    case = opposed(shares, cosine)
    assert change(case) >= 0.999 * case.query.sensitivity(REPLACE_ONE)


@pytest.mark.parametrize(("shares", "label"), [((0.2, 0.8), 1), ((0.8, 0.2), BAD_LABEL)])
def test_the_bounds_of_an_addition_and_a_label_are_reached(shares: tuple[float, float], label: int) -> None:
    case = opposed(shares, 0.0)
    added = Case(case.query, [], case.before)
    assert change(added) >= 0.999 * case.query.sensitivity(ADD_REMOVE)
    flipped = Case(case.query, case.before, [(case.before[0][0], label)])
    assert change(flipped) >= 0.999 * case.query.sensitivity(LABEL)


# What is refused


def test_what_cannot_be_exact_is_refused() -> None:
    image = query_of().image
    with pytest.raises(ValueError, match="below 16"):
        FeatureImage(image.image, image.gates + 2 * MAP_LIMIT, image.values)
    with pytest.raises(ValueError, match="a column more"):
        FeatureImage(image.image, image.gates[:, 1:], image.values[:, 1:])
    with pytest.raises(ValueError, match="numbers"):
        feature_image(image.image, image.gates * np.nan, image.values * 1.0, 1.0)
    with pytest.raises(ValueError, match="bias"):
        feature_image(image.image, image.gates * 1.0, image.values * 1.0, 0.0)
    for shares in ((0.0, 1.0), (0.6, 0.6)):
        with pytest.raises(ValueError, match="shares"):
            feature_moments(image, 1.0, 2, shares)
    with pytest.raises(ValueError, match="squared radius"):
        FeatureMoments(image, 0, 2, (0.5, 0.5))
    too_many = Batch(np.zeros((5, BATCH_CAP + 1), dtype=np.int16), np.zeros(BATCH_CAP + 1, dtype=np.int64))
    with pytest.raises(ValueError, match="at most"):
        query_of().total(too_many)
