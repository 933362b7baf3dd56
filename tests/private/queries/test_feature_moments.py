"""The second moment and class sums of features: exact, of the row alone, and bounded in what a row can move."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    BAD_LABEL,
    LABEL,
    NOWHERE,
    ONE,
    REPLACE_ONE,
    UNCLIPPED,
    Case,
    Floats,
    Ints,
    blanket,
    check_rows_add_up,
    check_tight,
    coded,
    hunt,
    neighbours,
    on_grid,
    pool_case,
    told,
)
from tests.private.queries.test_features import drawn, extreme_images, score_image, slow_features
from tests.private.queries.worlds import Build, World, many, world_cases

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import feature_image, feature_moments, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base
from sfumato.private.queries.base import (
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    Batch,
    BoolArray,
    Image,
    Public,
    Query,
    Reach,
    in_limbs,
)
from sfumato.private.queries.features import FeatureImage, WithOne
from sfumato.private.queries.group_sums import FeatureMoments
from sfumato.private.queries.images import AffineImage, ProjectedImage
from sfumato.whole_numbers import joined


def query_of(rows: int = 40, dim: int = 5, width: int = 8, radius: float = 2.0) -> FeatureMoments:
    vectors = np.rint(np.random.default_rng(1).normal(size=(rows, dim)) * ONE).astype(np.int64)
    return feature_moments(feature_image(score_image(vectors), *drawn(dim, width, 2), 1.0), radius, 3, (0.4, 0.6))


def some_rows(rows: int, dim: int = 5, top: int = 40, seed: int = 3) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(rng.integers(NOWHERE, top, (dim, rows)).astype(np.int16), rng.integers(0, 3, rows))


# Exactness, and a row alone


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
    total = told(query, rows)
    assert total.dtype == np.int64
    assert total.tolist() == [*gram[np.triu_indices(16)], *cross.ravel()]


def test_unpack_is_in_the_kernels_units() -> None:
    query, rows = query_of(radius=1e3), some_rows(30)
    gram, cross = unpack(query, told(query, rows).astype(np.float64))
    phi = query.image.rows(rows, np.ones(30, dtype=bool), 0) * query.image.unit
    assert np.allclose(gram, phi @ phi.T)
    assert np.array_equal(gram, gram.T)
    assert np.allclose(cross, phi @ np.eye(3)[rows.labels])
    assert len(query.weights) == query.size // 2 == 16 * 17 // 2 + 16 * 3


@settings(deadline=None, max_examples=some(60), derandomize=True, database=None)
@given(st.sampled_from(extreme_images()), st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(1, 2**40))
def test_a_row_does_not_feel_the_others(image: FeatureImage, rows: int, seed: int, radius: int) -> None:
    """Permuted, thinned out, cut into batches, laid out otherwise in memory: bit for bit the same."""
    rng = np.random.default_rng(seed)
    top = len(image.image.tables[0][0]) - 1  # type: ignore[attr-defined]
    codes = rng.integers(NOWHERE, top, (image.image.dim, rows)).astype(np.int16)
    labels = rng.integers(0, 3, rows)
    query = FeatureMoments(image, radius, 3, (0.5, 0.5))
    alone = [told(query, Batch(codes[:, i : i + 1], labels[i : i + 1])) for i in range(rows)]
    order = rng.permutation(rows)
    assert np.array_equal(told(query, Batch(codes[:, order], labels[order])), sum(alone))
    kept = rng.random(rows) < 0.5
    assert np.array_equal(
        told(query, Batch(np.asfortranarray(codes[:, kept]), labels[kept])),
        sum((a for a, k in zip(alone, kept, strict=True) if k), start=np.zeros(query.weights.size, dtype=np.int64)),
    )
    cut = int(rng.integers(0, rows + 1))
    parts = [told(query, Batch(codes[:, s], labels[s])) for s in (slice(cut), slice(cut, None))]
    assert np.array_equal(parts[0] + parts[1], sum(alone))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = query_of(), some_rows(200)
    whole = told(query, rows)
    monkeypatch.setattr(base, "CHUNK_CELLS", 7 * query.image.dim)
    assert np.array_equal(told(query, rows), whole)


def test_chunks_keep_memory_small(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = query_of(width=100), some_rows(20_000)  # 32 MB of features
    monkeypatch.setattr(base, "CHUNK_CELLS", 1 << 17)
    tracemalloc.start()
    told(query, rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_features_do_not_see_the_label() -> None:
    query, rows = query_of(), some_rows(60)
    flipped = Batch(rows.codes, (rows.labels + 1) % 3)
    (gram, cross), (other, moved) = (unpack(query, told(query, b).astype(np.float64)) for b in (rows, flipped))
    assert np.array_equal(gram, other)
    assert np.array_equal(np.roll(cross, 1, axis=1), moved)
    assert not np.array_equal(cross, moved)


def test_values_serve_as_well_as_bins() -> None:
    image = AffineImage(np.full((1, 2), 1000.0), np.full((1, 2), 3.5))
    fixed = np.array([[10, 5000, -1], [-1, 2000, 800]], dtype=np.int32)
    rows = Batch(np.zeros((2, 3), dtype=np.int16), np.array([0, 1, 1]), fixed)
    query = feature_moments(feature_image(image, *drawn(2, 4, 7), 1.0), 1.5, 2, (0.5, 0.5))
    alone = [told(query, Batch(rows.codes[:, [i]], rows.labels[[i]], fixed[:, [i]])) for i in range(3)]
    assert np.array_equal(told(query, rows), sum(alone))


@pytest.mark.parametrize("dim", [1, 13, 48])
def test_a_total_is_the_sum_of_what_rows_add_alone(dim: int) -> None:
    image, _, rows = many(dim, 120)
    query = feature_moments(WithOne(image), 0.9 * math.sqrt(dim), 3, (0.95, 0.05))
    assert check_rows_add_up(query, rows).any(axis=1).all()


# How far a row can move the totals

SHARES = [(0.5, 0.5), (0.1, 0.9), (0.45, 0.55), (0.9, 0.1), (1e-9, 1 - 1e-9), (1 - 1e-9, 1e-9)]


@st.composite
def cases(
    draw: st.DrawFn,
    adjacency: Adjacency,
    kind: type = FeatureMoments,
    image: type = FeatureImage,
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
    radius = draw(st.sampled_from([1, 2, 50, ONE**2, 4 * ONE**2, 2**34, UNCLIPPED]))
    whole = st.integers(NOWHERE, len(vectors) - 1).map(lambda code: (code,) * dim)
    rows = st.tuples(whole, st.integers(BAD_LABEL, classes - 1))
    query = kind(found, radius, classes, draw(st.sampled_from(SHARES)))
    before, after = neighbours(draw, rows, classes, adjacency)
    return Case(query, coded(before, dim), coded(after, dim))


def second_moment_of(world: World, kind: Any = FeatureMoments) -> Query:
    share = world.draw(st.sampled_from([0.05, 0.4, 0.6, 0.95, 1 - 1e-9]))
    seen = WithOne(world.image)
    return kind(seen, world.radius(seen, UNCLIPPED), world.classes, (share, 1.0 - share))


@pytest.mark.every(2)
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_bound_holds(adjacency: Adjacency) -> None:
    hunt(cases(adjacency), adjacency, 200)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_bound_holds_for_projected_rows(adjacency: Adjacency) -> None:
    hunt(world_cases(second_moment_of, adjacency), adjacency, 60)
    hunt(world_cases(second_moment_of, adjacency, unit=3), adjacency, 20, unit_rows=3)


class Unclipped(FeatureMoments):
    def part(self, batch: Batch) -> Ints:
        return FeatureMoments(self.image, UNCLIPPED, self.classes, self.shares).total(batch)


class BothTriangles(FeatureMoments):
    """Off the diagonal the weight is 2, as for two equal coordinates whose noise is added."""

    @cached_property
    def weights(self) -> Floats:
        rows, columns = np.triu_indices(self.image.dim)
        lift = np.where(rows == columns, 1.0, math.sqrt(2.0))
        return super().weights * np.append(lift, np.ones(self.image.dim * self.classes))


@dataclass(frozen=True)
class _FreeLabels(Reach):
    def sensitivity(self, adjacency: Adjacency, unit_rows: int | None = None) -> float:
        return self.relabelled if adjacency is LABEL else super().sensitivity(adjacency, unit_rows)


class LabelsOnly(FeatureMoments):
    """As if a label could not turn into one that does not count."""

    @property
    def reach(self) -> Reach:
        return _FreeLabels(**vars(super().reach))


@dataclass(frozen=True)
class Rolled(Image):
    """Another image's rows with their coordinates turned round."""

    image: Image
    by: int

    @property
    def dim(self) -> int:
        return self.image.dim

    @property
    def unit(self) -> float:  # type: ignore[override]
        return self.image.unit

    def check(self, public: Public, classes: int) -> None:
        pass

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> Floats:
        return np.roll(self.image.rows(batch, mine, k), self.by, axis=0)


class SeesTheLabel(FeatureMoments):
    """Features of each class its own, as the mixture's tables are: then the second moment moves with the label."""

    def part(self, batch: Batch) -> Any:
        own = [
            FeatureMoments(Rolled(self.image, k), self.radius, self.classes, self.shares) for k in range(self.classes)
        ]
        return sum(query.total(batch.only(batch.labels == k)) for k, query in enumerate(own))


class LooksAtTheLabel(FeatureMoments):
    """Rows are seen from a point of their own class."""

    def part(self, batch: Batch) -> Ints:
        parts = []
        for k in range(self.classes):
            mine = batch.labels == k
            z = self.image.image.rows(batch, mine, k)
            seen = np.concatenate([np.full((1, z.shape[1]), 2.0**LATENT_BITS), z])
            query = FeatureMoments(_As(seen), self.radius, self.classes, self.shares)
            parts.append(query.total(batch.only(mine)))
        return sum(parts)


@dataclass(frozen=True)
class _As(Image):
    """Rows that are given."""

    z: Floats

    @property
    def dim(self) -> int:
        return len(self.z)

    def check(self, public: Public, classes: int) -> None:
        pass

    def rows(self, batch: Batch, mine: Any, k: int) -> Floats:
        return self.z[:, : int(mine.sum())].copy()


class OnesBesideTheRadius(FeatureMoments):
    """The one is added to the row after clipping."""

    def part(self, batch: Batch) -> Ints:
        dim = self.image.dim
        total = joined(self.answer(super().part(batch)))
        counts = np.bincount(batch.labels, minlength=self.classes)
        total[0] = ONE**2 * len(batch)
        total[dim * (dim + 1) // 2 :][: self.classes] = ONE * counts
        return in_limbs(total)


FAULTS: dict[str, Callable[[], tuple[st.SearchStrategy[Case], Adjacency]]] = {
    "no clipping": lambda: (cases(ADD_REMOVE, Unclipped), ADD_REMOVE),
    "both triangles": lambda: (cases(ADD_REMOVE, BothTriangles), ADD_REMOVE),
    "blanket replace-one": lambda: (cases(REPLACE_ONE, blanket(FeatureMoments)), REPLACE_ONE),
    "bad labels forgotten": lambda: (cases(LABEL, LabelsOnly), LABEL),
    "class-dependent features": lambda: (cases(LABEL, SeesTheLabel), LABEL),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    found, adjacency = FAULTS[fault]()
    with pytest.raises(AssertionError):
        hunt(found, adjacency, 2000)


PROJECTED_FAULTS: dict[str, tuple[Adjacency, Build]] = {
    "features that look at the label": (LABEL, lambda w: second_moment_of(w, LooksAtTheLabel)),
    "second moment of long rows": (ADD_REMOVE, lambda w: second_moment_of(w, Unclipped)),
    "the one is not clipped": (ADD_REMOVE, lambda w: second_moment_of(w, OnesBesideTheRadius)),
}


@pytest.mark.parametrize("fault", PROJECTED_FAULTS)
def test_the_hunt_finds_planted_faults_in_projected_rows(fault: str) -> None:
    adjacency, build = PROJECTED_FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(world_cases(build, adjacency), adjacency, 1500)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_without_clipping_rows_that_are_too_long_count_nowhere(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line: the bound rests on no clipping, because every row's length is looked at."""
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: z)
    hunt(cases(adjacency), adjacency, examples=some(60))


# The bounds are reached


def opposed(shares: tuple[float, float], cosine: float) -> Case:
    """Two rows of one class whose features have this cosine: gates open to all, values that read the row."""
    z = np.array([1.0, 0.0])
    y = np.array([cosine, math.sqrt(1.0 - cosine**2)])
    vectors = np.rint(np.stack([z, y]) * 8 * ONE).astype(np.int64)
    gates = np.array([[0, 0, 1], [0, 0, 1]])
    values = np.array([[1, 0, 0], [0, 1, 0]]) << MAP_BITS
    query = FeatureMoments(FeatureImage(score_image(vectors), gates, values), 16 * ONE**2, 2, shares)
    return Case(query, coded([((0, 0), 0)], 2), coded([((1, 1), 0)], 2))


@pytest.mark.parametrize(("shares", "cosine"), [((0.5, 0.5), -0.5), ((0.1, 0.9), -1.0), ((0.8, 0.2), -0.125)])
def test_the_bound_of_a_replacement_is_reached(shares: tuple[float, float], cosine: float) -> None:
    check_tight(opposed(shares, cosine), REPLACE_ONE)


@pytest.mark.parametrize(("shares", "label"), [((0.2, 0.8), 1), ((0.8, 0.2), BAD_LABEL)])
def test_the_bounds_of_an_addition_and_a_label_are_reached(shares: tuple[float, float], label: int) -> None:
    case = opposed(shares, 0.0)
    check_tight(Case(case.query, coded([], 2), case.before), ADD_REMOVE)
    check_tight(Case(case.query, case.before, coded([((0, 0), label)], 2)), LABEL)


PLAIN = ProjectedImage(np.zeros((2, 3), np.int64))
FAR = on_grid([3.0, -9.0, 12.0], [-3.0, 9.0, -12.0], [0.0, 12.0, 9.0])


@pytest.mark.parametrize("share", [0.05, 0.6, 0.95])
def test_the_second_moment_reaches_its_bound(share: float) -> None:
    query = feature_moments(WithOne(PLAIN), 4.0, 2, (share, 1.0 - share))
    check_tight(pool_case(query, FAR, [(0, 1)], [(0, 1), (1, 1)]), ADD_REMOVE)
    after = [(0, 1)] if 2.0 * (1.0 - share) > 1.0 else [(0, BAD_LABEL)]
    check_tight(pool_case(query, FAR, [(0, 0)], after), LABEL)
    x = min((1.0 - share) / (2.0 * share), 14.0 / 16.0)  # opposite rows still have the one in common
    for cosine, label in ((0.0, 1), (-x, 0)):
        length, angle = math.sqrt(15.0), math.acos((16.0 * cosine - 1.0) / 15.0)
        pool = on_grid([length, 0.0, 0.0], [length * math.cos(angle), length * math.sin(angle), 0.0])
        moved = pool_case(query, pool, [(0, 0)], [(1, label)]).change
        worst = 2.0 if label else 2.0 * (1.0 - share) * (1.0 - cosine) + 2.0 * share * (1.0 - cosine**2)
        assert moved == pytest.approx(math.sqrt(worst), rel=1e-2)
        assert moved <= query.reach.sensitivity(REPLACE_ONE)


# What is refused


def test_what_cannot_be_exact_is_refused() -> None:
    image = query_of().image
    for shares in ((0.0, 1.0), (0.6, 0.6), (math.nan, 0.5)):
        with pytest.raises(ArgumentError, match="shares"):
            feature_moments(image, 1.0, 2, shares)
    for radius, classes in ((0, 2), (2**53, 2), (4, 0)):
        with pytest.raises(ArgumentError, match="the radius and the classes"):
            FeatureMoments(image, radius, classes, (0.5, 0.5))


def test_sums_of_other_classes_than_the_schema_s_are_refused() -> None:
    query = query_of()
    query.check(Public((40,) * 5, 3))
    for public in (Public((40,) * 5, 2), Public((40,) * 4, 3), Public((39,) * 5, 3)):
        with pytest.raises(ArgumentError):
            query.check(public)
