"""Questions about projected rows: how far one row can move them, that it does so alone, and that all sums are exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.private.hunting import look_for

from sfumato.mechanisms.questions import (
    around,
    cells_at,
    clipped_gradient,
    feature_moments,
    latent_space,
    projected_image,
    unpack,
)
from sfumato.private import source
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    BATCH_CAP,
    FIXED_BITS,
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    Batch,
    Image,
    Query,
)
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.gradients import EXP_STEPS, PROBABILITY_BITS, ClippedGradient, exponentials
from sfumato.private.queries.group_sums import LARGEST_RADIUS, FeatureMoments, GroupSums, Latent
from sfumato.private.queries.images import Cells, ColumnImage, ProjectedImage, Within
from sfumato.private.units import unit_sensitivity

ADD_REMOVE, LABEL, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.LABEL, Adjacency.REPLACE_ONE
ONE = 1 << LATENT_BITS
TOP = 1 << FIXED_BITS
SURE = 1 << PROBABILITY_BITS
BAD_LABEL = MISSING = -1

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Row = tuple[int, int]  # which vector of the pool, and the label; a bad label counts nowhere


@dataclass(frozen=True)
class Case:
    """A query, vectors that rows may have, and two neighbouring tables."""

    query: Query
    pool: Ints
    before: list[Row]
    after: list[Row]


def batch(pool: Ints, rows: list[Row]) -> Batch:
    """The same vectors as projection and as places between the bounds: an image reads one of them."""
    counted = [row for row in rows if row[1] != BAD_LABEL]
    vectors = pool[[i for i, _ in counted]].T.astype(np.int32) if counted else np.zeros((pool.shape[1], 0), np.int32)
    labels = np.array([label for _, label in counted], dtype=np.int64)
    return Batch(np.empty((0, len(counted)), np.int16), labels, vectors, vectors)


def change(case: Case) -> float:
    moved = case.query.total(batch(case.pool, case.after)) - case.query.total(batch(case.pool, case.before))
    return float(np.linalg.norm(case.query.weights * moved))


def hunt(cases: st.SearchStrategy[Case], adjacency: Adjacency, examples: int) -> None:
    """Let Hypothesis look for neighbours that break the bound."""

    def holds(case: Case) -> None:
        assert change(case) <= case.query.sensitivity(adjacency)

    look_for(cases, holds, examples)


# --- adversarial neighbours


def vectors_of(dim: int, rng: np.random.Generator) -> Ints:
    """Projected rows that a proof might overlook, and their opposites, one a row."""
    wild = rng.integers(-LATENT_LIMIT, LATENT_LIMIT + 1, dim)
    spike = np.where(np.arange(dim) == rng.integers(dim), LATENT_LIMIT, 0)
    corner = np.full(dim, LATENT_LIMIT)
    signs = rng.choice([-1, 1], dim) * LATENT_LIMIT
    small = rng.integers(-3, 4, dim)
    plain = np.rint(rng.normal(size=dim) * ONE).astype(np.int64)
    halves = [np.zeros(dim, np.int64), wild, rng.permutation(wild), spike, np.roll(spike, 1), corner, signs, small]
    return np.stack([half * sign for half in [*halves, plain, rng.permutation(plain)] for sign in (1, -1)])


def places_of(columns: int, rng: np.random.Generator) -> Ints:
    """Places between the bounds: at both ends, in the middle, hardly beside it, missing."""
    wild = rng.integers(0, TOP + 1, columns)
    near = TOP // 2 + rng.integers(-90_000, 90_001, columns)
    holes = np.where(rng.random(columns) < 0.5, MISSING, wild)
    whole = [np.full(columns, value) for value in (0, TOP, TOP // 2, MISSING, TOP // 2 - 4096)]
    return np.stack([*whole, wild, TOP - wild, near, TOP - near, holes])


@dataclass(frozen=True)
class World:
    """Whatever a query is built from: an image, as many classes as it has, and radii that just miss some row."""

    draw: st.DrawFn
    rng: np.random.Generator
    classes: int
    pool: Ints
    image: ProjectedImage

    @classmethod
    def drawn(cls, draw: st.DrawFn) -> World:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        dim, classes = draw(st.integers(1, 9)), draw(st.integers(1, 3))
        pool = vectors_of(dim, rng)
        zero = np.zeros((classes, dim), np.int64)
        centres = draw(st.sampled_from([zero, zero, rng.integers(-ONE, ONE + 1, zero.shape), pool[:classes]]))
        limit = draw(st.sampled_from([1 << MAP_BITS, MAP_LIMIT]))
        turned = rng.permutation(np.eye(dim, dtype=np.int64)) * limit
        wild = rng.integers(-limit, limit + 1, (dim, dim))
        full = np.full((dim, dim), limit)  # saturates
        matrix = draw(st.sampled_from([None, None, turned, wild, full]))
        return cls(draw, rng, classes, pool, ProjectedImage(centres, matrix))

    def radius(self, image: Image, largest: int = LARGEST_RADIUS - 1) -> int:
        everyone = batch(self.pool, [(i, 0) for i in range(len(self.pool))])
        z = image.rows(everyone, np.ones(len(everyone), dtype=bool), 0)
        near = int((z[:, self.draw(st.integers(0, z.shape[1] - 1))] ** 2).sum()) + self.draw(st.integers(-2, 2))
        fixed = st.sampled_from([1, 2, 50, ONE**2 - 1, ONE**2 + 1, 5 * ONE**2, 200 * ONE**2])
        return min(max(1, self.draw(st.one_of(st.just(near), fixed))), largest)

    def cells(self) -> Cells:
        sizes = self.draw(st.sampled_from([[1] * self.classes, self.rng.integers(1, 5, self.classes).tolist()]))
        return Cells(self.image, tuple(self.pool[self.rng.integers(0, len(self.pool), size)] for size in sizes))

    def shares(self) -> tuple[float, float, float]:
        return self.draw(st.sampled_from(SHARES))


SHARES = [
    (1 / 3, 1 / 3, 1 / 3),
    (0.05, 0.9, 0.05),  # a row replaced by its opposite: twice the square root of 0.9
    (0.1, 0.5, 0.4),
    (0.01, 0.3, 0.69),  # squared norms weigh most
    (1e-9, 1 - 2e-9, 1e-9),
    (1e-9, 1e-9, 1 - 2e-9),
    (1 - 2e-9, 1e-9, 1e-9),
]


def spreads_of(world: World, kind: Any = GroupSums, latent: Any = Latent, largest: int = LARGEST_RADIUS - 1) -> Query:
    radii = tuple(world.radius(world.image, largest) for _ in range(world.classes))
    return kind(latent(world.image, radii), world.shares())


def cell_spreads_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    cells = world.cells()
    around = around(cells)
    return kind(latent(around, tuple(world.radius(around) for _ in cells.classes), cells=cells), world.shares())


def within_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    within = Within(world.cells())
    return kind(latent(within, tuple(world.radius(within) for _ in range(world.classes))), world.shares())


def second_moment_of(world: World, kind: Any = FeatureMoments) -> Query:
    share = world.draw(st.sampled_from([0.05, 0.4, 0.6, 0.95, 1 - 1e-9]))
    seen = WithOne(world.image)
    return kind(seen, world.radius(seen, 2**60), world.classes, (share, 1.0 - share))


def columns_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    centres = world.rng.choice([0, TOP, TOP // 2, TOP // 2, 1234567], (world.classes, world.pool.shape[1]))
    image = ColumnImage(centres, world.draw(st.sampled_from([1, 2, 8])))
    radii = tuple(world.radius(image, 2**60) for _ in range(world.classes))
    shares = world.shares()
    return kind(latent(image, radii), (shares[0], 1.0 - shares[0]))


def gradient_of(world: World, kind: Any = ClippedGradient) -> Query:
    image = world.draw(st.sampled_from([world.image, WithOne(world.image), QuadraticImage(world.image)]))
    shape = (world.classes, image.dim)
    limit = world.draw(st.sampled_from([0, 3, ONE, LATENT_LIMIT]))
    slopes = world.rng.integers(-limit, limit + 1, shape)
    return kind(image, slopes, world.radius(image), world.draw(st.sampled_from([1e-9, 0.01, 0.2, 0.7, 1.0])))


BUILD: dict[str, Callable[[World], Query]] = {
    "spreads": spreads_of,
    "spreads far out": lambda w: spreads_of(w, largest=2**60),
    "spreads of cells": cell_spreads_of,
    "moments within cells": within_of,
    "second moment": second_moment_of,
    "columns": columns_of,
    "gradient": gradient_of,
}


@st.composite
def cases(draw: st.DrawFn, build: Callable[[World], Query], adjacency: Adjacency, unit: int = 1) -> Case:
    """A table, and its neighbour in which `unit` rows are gone, have other labels, or are others."""
    world = World.drawn(draw)
    if build is columns_of or getattr(build, "columns", False):
        world = replace(world, pool=places_of(world.pool.shape[1], world.rng))
    rows = st.tuples(st.integers(0, len(world.pool) - 1), st.integers(BAD_LABEL, world.classes - 1))
    base, mine = draw(st.lists(rows, max_size=5)), draw(st.lists(rows, min_size=unit, max_size=unit))
    if adjacency is ADD_REMOVE:
        other = []
    elif adjacency is LABEL:
        other = [(i, draw(st.integers(BAD_LABEL, world.classes - 1))) for i, _ in mine]
    else:
        other = draw(st.lists(rows, min_size=unit, max_size=unit))
    pair = [*base, *mine], [*other, *base]
    return Case(build(world), world.pool, *(pair if draw(st.booleans()) else pair[::-1]))


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", BUILD)
def test_it_keeps_its_bound(name: str, adjacency: Adjacency) -> None:
    hunt(cases(BUILD[name], adjacency), adjacency, examples=60)


@pytest.mark.parametrize("adjacency", Adjacency)
@settings(max_examples=40)
@given(data=st.data())
def test_a_unit_of_rows_keeps_its_bound(adjacency: Adjacency, data: st.DataObject) -> None:
    build = data.draw(st.sampled_from(list(BUILD.values())))
    case = data.draw(cases(build, adjacency, unit=3))
    assert change(case) <= unit_sensitivity(case.query, adjacency, 3)


# --- planted faults: the same hunt must find them


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> Floats:
        return Latent(self.image, (2**60,) * len(self.radii), cells=self.cells).rows(batch, k)


class Rounded(Latent):
    """Clipped rows are rounded to the nearest whole number, which may be longer."""

    def rows(self, batch: Batch, k: int) -> Floats:
        z = self.image.rows(batch, batch.labels == k, k)
        return np.rint(z * np.minimum(1.0, np.sqrt(self.radii[k] / np.maximum(1.0, (z * z).sum(axis=0)))))


class NormsBeforeClipping(GroupSums):
    """Squared norms are those of the rows as they came."""

    def total(self, batch: Batch) -> Ints:
        total = super().total(batch).reshape(len(self.latent.radii), -1)
        wide = GroupSums(replace(self.latent, radii=(LARGEST_RADIUS - 1,) * len(total)), self.shares, "norm")
        total[:, -1] = wide.total(batch).reshape(total.shape)[:, -1]
        return total.ravel()


class EveryCell(GroupSums):
    """A row counts in every cell of its class."""

    def total(self, batch: Batch) -> Ints:
        total = super().total(batch).reshape(len(self.latent.radii), -1)
        assert self.latent.cells is not None
        classes = np.array(self.latent.cells.classes)
        return np.concatenate([total[classes == k].sum(axis=0) for k in classes])


def replaced_like(kind: type, adjacency: Adjacency, bound: Adjacency) -> type:
    """The query with one adjacency's bound taken for another's."""

    class Blanket(kind):
        def sensitivity(self, asked: Adjacency) -> float:
            return float(super().sensitivity(bound if asked is adjacency else asked))

    return Blanket


class LooksAtTheLabel(FeatureMoments):
    """Rows are seen from a point of their own class."""

    def total(self, batch: Batch) -> Ints:
        parts = []
        for k in range(self.classes):
            mine = batch.labels == k
            z = self.image.image.rows(batch, mine, k)
            seen = np.concatenate([np.full((1, z.shape[1]), 2.0**LATENT_BITS), z])
            query = FeatureMoments(_As(seen), self.radius, self.classes, self.shares)
            parts.append(query.total(batch.only(mine)))
        return sum(parts)


@dataclass(frozen=True)
class _As:
    """Rows that are given."""

    z: Floats
    unit = 1.0

    @property
    def dim(self) -> int:
        return len(self.z)

    def rows(self, batch: Batch, mine: Any, k: int) -> Floats:
        return self.z.copy()


class WideMoments(FeatureMoments):
    def total(self, batch: Batch) -> Ints:
        return FeatureMoments(self.image, 2**60, self.classes, self.shares).total(batch)


class OnesBesideTheRadius(FeatureMoments):
    """The one is added to the row after clipping."""

    def total(self, batch: Batch) -> Ints:
        dim = self.image.dim
        total = super().total(batch)
        counts = np.bincount(batch.labels, minlength=self.classes)
        total[0] = ONE**2 * len(batch)
        total[dim * (dim + 1) // 2 :][: self.classes] = ONE * counts
        return total


class SquaresBesideTheRadius(Latent):
    """Distances are clipped, their squares are not."""

    def rows(self, batch: Batch, k: int) -> Floats:
        half = self.image.dim // 2
        clipped = super().rows(batch, k)
        return np.concatenate([clipped[:half], self.image.rows(batch, batch.labels == k, k)[half:]])


class Uncapped(ClippedGradient):
    """Noise as if residuals were capped, which they are not."""

    def total(self, batch: Batch) -> Ints:
        return ClippedGradient(self.image, self.slopes, self.radius, 1.0).total(batch)


class LongFeatures(ClippedGradient):
    def total(self, batch: Batch) -> Ints:
        return ClippedGradient(self.image, self.slopes, LARGEST_RADIUS - 1, self.cap).total(batch)


class SignedLabels(ClippedGradient):
    """Labels of -1 and 1, and no cap that would hide it."""

    def _residuals(self, phi: Floats, labels: Ints) -> Floats:
        own = labels == np.arange(len(self.slopes))[:, None]
        return super()._residuals(phi, labels) - np.where(own, 0.0, float(SURE))


FAULTS: dict[str, tuple[Adjacency, Callable[[World], Query]]] = {
    "spreads of rows not clipped": (ADD_REMOVE, lambda w: spreads_of(w, latent=Unclipped)),
    "spreads of rounded rows": (ADD_REMOVE, lambda w: spreads_of(w, latent=Rounded)),
    "norms taken before clipping": (ADD_REMOVE, lambda w: spreads_of(w, NormsBeforeClipping)),
    "a row in every cell": (ADD_REMOVE, lambda w: cell_spreads_of(w, EveryCell)),
    "spreads, blanket replace-one": (
        REPLACE_ONE,
        lambda w: spreads_of(w, replaced_like(GroupSums, REPLACE_ONE, LABEL)),
    ),
    "spreads, label is one block": (LABEL, lambda w: spreads_of(w, replaced_like(GroupSums, LABEL, ADD_REMOVE))),
    "rows far from their cell": (ADD_REMOVE, lambda w: within_of(w, latent=Unclipped)),
    "within, blanket replace-one": (REPLACE_ONE, lambda w: within_of(w, replaced_like(GroupSums, REPLACE_ONE, LABEL))),
    "within, label is one block": (LABEL, lambda w: within_of(w, replaced_like(GroupSums, LABEL, ADD_REMOVE))),
    "features that look at the label": (LABEL, lambda w: second_moment_of(w, LooksAtTheLabel)),
    "second moment of long rows": (ADD_REMOVE, lambda w: second_moment_of(w, WideMoments)),
    "the one is not clipped": (ADD_REMOVE, lambda w: second_moment_of(w, OnesBesideTheRadius)),
    "gradient without its cap": (ADD_REMOVE, lambda w: gradient_of(w, Uncapped)),
    "gradient of long features": (ADD_REMOVE, lambda w: gradient_of(w, LongFeatures)),
    "gradient of signed labels": (LABEL, lambda w: gradient_of(w, SignedLabels)),
    "gradient, label is one block": (
        LABEL,
        lambda w: gradient_of(w, replaced_like(ClippedGradient, LABEL, ADD_REMOVE)),
    ),
    "gradient, replaced for free": (
        REPLACE_ONE,
        lambda w: gradient_of(w, replaced_like(ClippedGradient, REPLACE_ONE, ADD_REMOVE)),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, build = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cases(build, adjacency), adjacency, examples=1500)


@pytest.mark.parametrize(
    ("kind", "latent", "adjacency"),
    [
        (GroupSums, Unclipped, ADD_REMOVE),
        (GroupSums, SquaresBesideTheRadius, ADD_REMOVE),
        (replaced_like(GroupSums, REPLACE_ONE, LABEL), Latent, REPLACE_ONE),
        (replaced_like(GroupSums, LABEL, ADD_REMOVE), Latent, LABEL),
    ],
)
def test_the_hunt_finds_planted_faults_of_columns(kind: type, latent: type, adjacency: Adjacency) -> None:
    def build(world: World) -> Query:
        return columns_of(world, kind, latent)

    build.columns = True  # type: ignore[attr-defined]
    with pytest.raises(AssertionError):
        hunt(cases(build, adjacency), adjacency, examples=1500)


# --- tightness: the bounds cannot be loosened unseen


def on_grid(*vectors: Any) -> Ints:
    return np.rint(np.array(vectors) * ONE).astype(np.int64)


PLAIN = ProjectedImage(np.zeros((2, 3), np.int64))
FAR = on_grid([3.0, -9.0, 12.0], [-3.0, 9.0, -12.0], [0.0, 12.0, 9.0])


def check_tight(case: Case, adjacency: Adjacency) -> None:
    bound = case.query.sensitivity(adjacency)
    assert 0.99 * bound <= change(case) <= bound


@pytest.mark.parametrize("shares", SHARES)
def test_spreads_reach_their_bound(shares: tuple[float, float, float]) -> None:
    query = GroupSums(latent_space(PLAIN, [4.0, 4.0]), shares, "norm")
    check_tight(Case(query, FAR, [(1, 0)], [(1, 0), (0, 0)]), ADD_REMOVE)
    check_tight(Case(query, FAR, [(0, 0)], [(0, 1)]), LABEL)
    worst = (1, 0) if 4.0 * shares[1] > 2.0 else (2, 1)  # its opposite, or a row of another class
    check_tight(Case(query, FAR, [(0, 0)], [worst]), REPLACE_ONE)


@pytest.mark.parametrize("shares", [*SHARES, (0.01, 0.2, 0.79), (0.01, 0.49, 0.5), (0.001, 0.001, 0.998)])
def test_no_replacement_along_a_line_moves_spreads_further(shares: tuple[float, float, float]) -> None:
    """Opposite rows, one of them shorter: what the proof says is the worst, at every length."""
    s = np.linspace(0.0, 1.0, 10_001)
    along = shares[1] * (1.0 + s) ** 2 + shares[2] * (1.0 - s**2) ** 2
    assert along.max() <= GroupSums(latent_space(PLAIN, [4.0, 4.0]), shares, "norm").sensitivity(REPLACE_ONE) ** 2


def sure(slope: float, cap: float) -> ClippedGradient:
    """A model that is sure of class 0 where the first coordinate is positive, and of class 1 where it is negative."""
    return clipped_gradient(PLAIN, np.array([[slope, 0.0, 0.0], [-slope, 0.0, 0.0]]), 4.0, cap)


@pytest.mark.parametrize("cap", [0.2, 1.0])
def test_a_gradient_reaches_its_bound(cap: float) -> None:
    check_tight(Case(sure(15.0, cap), FAR, [], [(0, 1)]), ADD_REMOVE)
    one = replace(sure(0.0, cap), cap=min(cap, 0.7))  # unsure of both classes: residuals are opposite
    check_tight(Case(one, FAR, [(0, 0)], [(0, 1)]), LABEL)
    check_tight(Case(one, FAR, [(0, 0)], [(1, 0)]), REPLACE_ONE)


@pytest.mark.parametrize("share", [0.05, 0.6, 0.95])
def test_the_second_moment_reaches_its_bound(share: float) -> None:
    query = feature_moments(WithOne(PLAIN), 4.0, 2, (share, 1.0 - share))
    check_tight(Case(query, FAR, [(0, 1)], [(0, 1), (1, 1)]), ADD_REMOVE)
    after = [(0, 1)] if 2.0 * (1.0 - share) > 1.0 else [(0, BAD_LABEL)]
    check_tight(Case(query, FAR, [(0, 0)], after), LABEL)
    x = min((1.0 - share) / (2.0 * share), 14.0 / 16.0)  # opposite rows still have the one in common
    for cosine, label in ((0.0, 1), (-x, 0)):
        length, angle = math.sqrt(15.0), math.acos((16.0 * cosine - 1.0) / 15.0)
        pool = on_grid([length, 0.0, 0.0], [length * math.cos(angle), length * math.sin(angle), 0.0])
        moved = change(Case(query, pool, [(0, 0)], [(1, label)]))
        worst = 2.0 if label else 2.0 * (1.0 - share) * (1.0 - cosine) + 2.0 * share * (1.0 - cosine**2)
        assert moved == pytest.approx(math.sqrt(worst), rel=1e-2)
        assert moved <= query.sensitivity(REPLACE_ONE)


@pytest.mark.parametrize("shares", SHARES)
def test_moments_within_cells_reach_their_bound(shares: tuple[float, float, float]) -> None:
    """Two rows at the worst angle, each around the centre of a cell of its own."""
    x = min(1.0, shares[1] / (2.0 * shares[2]))
    centres = np.array([[5.0, 0.0, 0.0], [-5.0, 0.0, 0.0]])
    ways = np.array([[0.0, 1.0, 0.0], [0.0, -x, math.sqrt(1.0 - x * x)]])
    query = GroupSums(latent_space(Within(cells_at(PLAIN, [centres, centres])), [2.0, 2.0]), shares, "outer")
    pool = on_grid(*(centres + 2.0 * ways))
    check_tight(Case(query, pool, [], [(0, 1)]), ADD_REMOVE)
    check_tight(Case(query, pool, [(0, 0)], [(0, 1)]), LABEL)
    worst = 2.0 * shares[1] * (1.0 + x) + 2.0 * shares[2] * (1.0 - x * x)
    check_tight(Case(query, pool, [(0, 0)], [(1, 0 if worst > 2.0 else 1)]), REPLACE_ONE)


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_columns_reach_their_bound(share: float) -> None:
    step = 41 << (FIXED_BITS - LATENT_BITS)  # so small that its square is lost
    pool = TOP // 2 + np.array([[step, step, -step], [-step, -step, step]])
    query = GroupSums(Latent(ColumnImage(np.full((2, 3), TOP // 2)), (3 * 41**2,) * 2), (share, 1.0 - share))
    check_tight(Case(query, pool, [], [(0, 1)]), ADD_REMOVE)
    check_tight(Case(query, pool, [(0, 0)], [(0, 1)]), LABEL)
    check_tight(Case(query, pool, [(0, 0)], [(1, 0 if share < 0.5 else 1)]), REPLACE_ONE)


# --- a row's contribution is a function of that row alone


def many(dim: int, count: int, classes: int = 3, seed: int = 0) -> tuple[ProjectedImage, Cells, Batch]:
    rng = np.random.default_rng(seed)
    image = projected_image(rng.normal(size=(classes, dim)), rng.normal(size=(dim, dim)) / math.sqrt(dim))
    cells = cells_at(image, [rng.normal(size=(size + 1, dim)) for size in range(classes)])
    projected = np.rint(rng.normal(size=(dim, count)) * ONE).astype(np.int32)
    projected[:, :3] = [[LATENT_LIMIT, -LATENT_LIMIT, 0]] * dim
    fixed = rng.integers(0, TOP + 1, (dim, count)).astype(np.int32)
    fixed[rng.random(fixed.shape) < 0.1] = MISSING
    codes = np.empty((0, count), np.int16)
    return image, cells, Batch(codes, rng.integers(0, classes, count), fixed, projected)


def queries(image: ProjectedImage, cells: Cells) -> dict[str, Query]:
    rng = np.random.default_rng(1)
    classes, dim = image.centres.shape
    reach = 0.9 * math.sqrt(dim)
    columns = ColumnImage(rng.integers(0, TOP + 1, (classes, dim)))
    quadratic = QuadraticImage(image)
    slopes = rng.normal(size=(classes, quadratic.dim))
    return {
        "spreads": GroupSums(latent_space(image, [reach] * classes), (0.1, 0.6, 0.3), "norm"),
        "points": GroupSums(
            latent_space(around(cells), [reach] * len(cells.classes), cells=cells), (0.1, 0.6, 0.3), "norm"
        ),
        "shapes": GroupSums(latent_space(Within(cells), [reach] * classes), (0.1, 0.1, 0.8), "outer"),
        "shape": feature_moments(WithOne(image), reach, classes, (0.95, 0.05)),
        "columns": GroupSums(latent_space(columns, [0.3 * math.sqrt(dim)] * classes), (0.05, 0.95)),
        "labels": clipped_gradient(quadratic, slopes, min(reach, 15.0), 0.2),
    }


def layouts(rows: Batch) -> dict[str, Batch]:
    def strided(array: Any) -> Any:
        padded = np.full((2 * array.shape[0], 3 * array.shape[1]), 7, array.dtype)
        padded[::2, ::3] = array
        return padded[::2, ::3]

    def both(way: Callable[[Any], Any]) -> Batch:
        return replace(rows, fixed=way(rows.fixed), projected=way(rows.projected))

    return {
        "Fortran": both(np.asfortranarray),
        "strided": both(strided),
        "backwards": both(lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1]),
        "int64": both(lambda a: a.astype(np.int64)),
    }


@pytest.mark.parametrize("dim", [1, 13, 48])
def test_a_total_is_the_sum_of_what_rows_add_alone(dim: int) -> None:
    image, cells, rows = many(dim, 120)
    rng = np.random.default_rng(2)
    for name, query in queries(image, cells).items():
        alone = np.array([query.total(rows.only(slice(i, i + 1))) for i in range(120)])
        assert alone.dtype == np.int64
        assert alone.any(axis=1).all() or name == "labels"  # every row says something
        for keep in (np.arange(120), rng.permutation(120), np.flatnonzero(rng.random(120) < 0.5), np.arange(119)):
            assert query.total(rows.only(keep)).tolist() == alone[keep].sum(axis=0).tolist(), name
        parts = [query.total(rows.only(part)) for part in np.array_split(np.arange(120), 7)]
        assert np.array_equal(sum(parts), alone.sum(axis=0)), name
        for layout, other in layouts(rows).items():
            assert np.array_equal(query.total(other), alone.sum(axis=0)), (name, layout)
        assert not query.total(rows.only(slice(0, 0))).any()
        assert query.size == len(query.weights) == alone.shape[1]
        assert (query.weights > 0).all()


def images(image: ProjectedImage, cells: Cells) -> dict[str, Image]:
    return {
        "projected": image,
        "within": Within(cells),
        "with one": WithOne(image),
        "quadratic": QuadraticImage(image),
        "columns": ColumnImage(np.random.default_rng(3).integers(0, TOP + 1, image.centres.shape)),
    }


def rows_that_depend_on_others(image: Image, rows: Batch) -> int:
    """How many rows have another image, by a bit, when the rows around them change."""
    rng = np.random.default_rng(0)
    count = len(rows)
    everyone = np.arange(count)
    whole = image.rows(rows, np.ones(count, dtype=bool), 1)
    changed = np.zeros(count, dtype=bool)
    parts = [rng.permutation(count), np.flatnonzero(rng.random(count) < 0.5), everyone[::3], *everyone[:40, None]]
    parts += [*np.array_split(everyone, 7), np.delete(everyone, rng.integers(count))]
    for part in parts:
        seen = image.rows(rows.only(part), np.ones(len(part), dtype=bool), 1)
        changed[part] |= (seen != whole[:, part]).any(axis=0)
    return int(changed.sum())


@pytest.mark.parametrize("dim", [2, 13, 48])
def test_no_image_changes_with_the_rows_around_it(dim: int) -> None:
    image, cells, rows = many(dim, 1500)
    for name, each in images(image, cells).items():
        assert rows_that_depend_on_others(each, rows) == 0, name


class OffGrid(ProjectedImage):
    """The same product with a matrix of real numbers."""

    def rows(self, batch: Batch, mine: Any, k: int) -> Floats:
        assert self.matrix is not None
        assert batch.projected is not None
        return (self.matrix * 1.000001) @ batch.projected[:, mine] - self.centres[k][:, None]


def test_off_the_grid_images_do_change_with_the_rows_around_them() -> None:
    found = []
    for dim in (13, 48):
        image, _, rows = many(dim, 1500)
        found.append(rows_that_depend_on_others(OffGrid(image.centres, image.matrix), rows))
    assert max(found) > 0


def test_images_are_what_integers_say() -> None:
    image, cells, rows = many(5, 60)
    everyone = np.ones(60, dtype=bool)
    scale = QuadraticImage(image).scale * 2.0**-LATENT_BITS
    assert image.matrix is not None
    assert rows.projected is not None
    assert rows.fixed is not None
    for k in range(3):
        found = {name: each.rows(rows, everyone, k).T.tolist() for name, each in images(image, cells).items()}
        for i in range(60):
            z = [
                _held(m, rows.projected[:, i].tolist(), c) for m, c in zip(image.matrix, image.centres[k], strict=True)
            ]
            assert found["projected"][i] == z
            apart = [[x - c for x, c in zip(z, centre, strict=True)] for centre in cells.centres[k].tolist()]
            assert found["within"][i] == [_cut(x) for x in min(apart, key=lambda a: sum(x * x for x in a))]
            blind = [
                _held(m, rows.projected[:, i].tolist(), c) for m, c in zip(image.matrix, image.centres[0], strict=True)
            ]
            assert found["with one"][i] == [ONE, *blind]
            products = [_cut(int(float(a * b) * scale)) for j, a in enumerate(blind) for b in blind[j:]]
            assert found["quadratic"][i] == [ONE, *blind, *products]


def _cut(x: int) -> int:
    return max(-LATENT_LIMIT, min(LATENT_LIMIT, x))


def _held(line: Ints, z: list[int], centre: int) -> int:
    total = sum(int(m) * x for m, x in zip(line, z, strict=True))
    return _cut(int(math.copysign(abs(total) >> MAP_BITS, total)) - int(centre))


def test_columns_are_what_integers_say_and_missing_ones_are_at_the_centre() -> None:
    centres = np.array([[0, TOP // 2, TOP], [TOP, 12345, 0]])
    fixed = np.array([[0, TOP, MISSING], [1, 4095, 4096], [TOP // 2 + 3, TOP // 3, 99]], dtype=np.int32).T
    rows = Batch(np.empty((0, 3), np.int16), np.zeros(3, np.int64), fixed)
    for factor in (1, 2, 8):
        for k in range(2):
            found = ColumnImage(centres, factor).rows(rows, np.ones(3, dtype=bool), k)
            for i, row in enumerate(fixed.T.tolist()):
                apart = [0 if x < 0 else _towards_zero(x - int(c), 12) for x, c in zip(row, centres[k], strict=True)]
                assert found[:, i].tolist() == [*apart, *((a * a * factor) >> LATENT_BITS for a in apart)]
    assert np.abs(found).max() <= 8 * ONE  # far below the limit


def _towards_zero(x: int, bits: int) -> int:
    return int(math.copysign(abs(x) >> bits, x))


# --- the label has no say where it must not


def test_images_that_ignore_the_label_do() -> None:
    image, _, rows = many(7, 50)
    everyone = np.ones(50, dtype=bool)
    for blind in (WithOne(image), QuadraticImage(image)):
        assert np.array_equal(blind.rows(rows, everyone, 0), blind.rows(rows, everyone, 2))
    assert not np.array_equal(image.rows(rows, everyone, 0), image.rows(rows, everyone, 2))


def test_a_gradient_sees_all_rows_as_if_of_one_class() -> None:
    image, cells, rows = many(7, 50)
    query = queries(image, cells)["labels"]
    assert isinstance(query, ClippedGradient)
    first = ProjectedImage(np.tile(image.centres[0], (3, 1)), image.matrix)  # the same from every class
    assert np.array_equal(query.total(rows), replace(query, image=QuadraticImage(first)).total(rows))
    flipped = replace(rows, labels=(rows.labels + 1) % 3)
    assert not np.array_equal(query.total(rows), query.total(flipped))


# --- exactness and capacity


def test_the_caps_keep_every_sum_exact() -> None:
    assert BATCH_CAP * (LARGEST_RADIUS - 1) < 2**53  # squared norms of a batch
    assert source.ROW_CAP * (LARGEST_RADIUS - 1) < 2**62  # and of a table
    assert math.isqrt(LARGEST_RADIUS - 1) * SURE * BATCH_CAP < 2**53  # a feature times a residual
    assert math.isqrt(LARGEST_RADIUS - 1) * SURE * source.ROW_CAP < 2**62
    assert LATENT_LIMIT * MAP_LIMIT * 2**20 < 2**53  # a matrix before a million coordinates


def extreme_batch() -> tuple[Batch, list[tuple[tuple[int, int], int]]]:
    """As many rows as a batch may hold, of odd numbers as large as may be, and how many there are of each."""
    values = np.array([[46340, 46341], [46341, -46339], [-46337, 46340]])  # norms just below 2^16
    which = np.where(np.arange(BATCH_CAP) % 5 == 0, 1, 0)
    which[-7:] = 2
    projected = values[which].T.astype(np.int32)
    counts = np.bincount(which).tolist()
    batch = Batch(np.empty((0, BATCH_CAP), np.int16), np.zeros(BATCH_CAP, np.int64), None, projected)
    return batch, [((int(a), int(b)), n) for (a, b), n in zip(values, counts, strict=True)]


def test_a_full_batch_of_extreme_rows_is_exact() -> None:
    rows, counted = extreme_batch()
    latent = Latent(ProjectedImage(np.zeros((1, 2), np.int64)), (LARGEST_RADIUS - 1,))
    assert all(a * a + b * b < LARGEST_RADIUS for (a, b), _ in counted)
    total = GroupSums(latent, (0.1, 0.6, 0.3), "norm").total(rows)
    sums = [sum(row[i] * n for row, n in counted) for i in range(2)]
    assert total.tolist() == [BATCH_CAP, *sums, sum((a * a + b * b) * n for (a, b), n in counted)]


@pytest.mark.parametrize(
    ("radius", "step"), [(LARGEST_RADIUS - 1, 1), (LARGEST_RADIUS, 2), (2 * LARGEST_RADIUS, 4), (2**38 - 1, 64)]
)
def test_squared_norms_far_out_are_counted_in_steps(radius: int, step: int) -> None:
    """A table of 2^30 rows still adds up, and nobody is counted with more than their radius."""
    image = ProjectedImage(np.zeros((1, 300), np.int64))
    query = GroupSums(Latent(image, (radius,)), (1e-9, 1e-9, 1.0 - 2e-9), "norm")
    assert radius // step * source.ROW_CAP < 2**62
    assert step <= max(1, radius * 2**-31)
    pool = np.random.default_rng(6).integers(-LATENT_LIMIT, LATENT_LIMIT + 1, (20, 300))
    for i in range(20):
        rows = batch(pool, [(i, 0)])
        z = [int(x) for x in query.latent.rows(rows, 0)[:, 0]]
        norm = sum(x * x for x in z)
        assert query.total(rows).tolist() == [1, *z, norm // step]
        found = unpack(query, query.total(rows).astype(float))[2][0]
        assert found == pytest.approx(norm / ONE**2, rel=2**-30)
        check_tight(Case(query, pool, [], [(i, 0)]), ADD_REMOVE)


def test_a_full_batch_of_extreme_residuals_is_exact() -> None:
    """The model is sure of the other class, so that every residual is as large as it may be."""
    rows, counted = extreme_batch()
    image = ProjectedImage(np.zeros((1, 2), np.int64))
    slopes = np.array([[-LATENT_LIMIT, -LATENT_LIMIT], [LATENT_LIMIT, LATENT_LIMIT]])
    query = ClippedGradient(image, slopes, LARGEST_RADIUS - 1, 1.0)
    alone = [_gradient(query, row, 0) for row, _ in counted]
    exact = [sum(a[j] * n for a, (_, n) in zip(alone, counted, strict=True)) for j in range(4)]
    assert query.total(rows).tolist() == exact
    assert max(map(abs, exact)) > 2**50


def _gradient(query: ClippedGradient, z: tuple[int, ...], label: int) -> list[int]:
    """What a row that needs no clipping adds, in whole numbers; the residual alone is clipped as the query does it."""
    logits = [round(sum(int(w) * x for w, x in zip(line, z, strict=True)) / ONE) for line in query.slopes]
    risen = [int(exponentials()[min(max(logits) - logit, EXP_STEPS)]) for logit in logits]
    residual = [(SURE if k == label else 0) - (e << PROBABILITY_BITS) // sum(risen) for k, e in enumerate(risen)]
    norm, most = sum(e * e for e in residual), math.floor(query.cap**2 * SURE**2)
    if norm > most:
        residual = [int(e * (math.sqrt(most / norm) * (1.0 - 2.0**-40))) for e in residual]
    assert sum(e * e for e in residual) <= most
    return [e * x for e in residual for x in z]


@pytest.mark.parametrize("cap", [1.0, 0.2])
def test_a_gradient_is_what_integers_say(cap: float) -> None:
    image, _, rows = many(4, 40)
    query = clipped_gradient(image, np.random.default_rng(5).normal(size=(3, 4)), 15.9, cap)
    z = image.rows(rows, np.ones(40, dtype=bool), 0).astype(int)
    for i in range(40):
        if (z[:, i] ** 2).sum() <= query.radius:
            expected = _gradient(query, tuple(z[:, i].tolist()), int(rows.labels[i]))
            assert query.total(rows.only(slice(i, i + 1))).tolist() == expected


# --- packing, and what is refused


def test_spreads_unpack_to_counts_sums_and_squared_norms() -> None:
    image, cells, rows = many(5, 100)
    query = queries(image, cells)["points"]
    assert isinstance(query, GroupSums)
    counts, sums, norms = unpack(query, query.total(rows).astype(float))
    grouped = query.latent.grouped(rows)
    for g in range(len(cells.classes)):
        z = query.latent.rows(grouped, g) / ONE
        assert counts[g] == z.shape[1]
        assert np.array_equal(sums[g], z.sum(axis=1))
        assert norms[g] == (z**2).sum()


def test_a_gradient_unpacks_to_a_row_for_each_class() -> None:
    query = sure(1.0, 1.0)
    pool = on_grid([1.0, 2.0, 0.5])
    found = unpack(query, query.total(batch(pool, [(0, 0)])).astype(float))
    missed = 1.0 / (1.0 + math.exp(2.0))
    assert found == pytest.approx(np.outer([missed, -missed], pool[0] / ONE), abs=1e-3)


def test_what_is_no_query_is_refused() -> None:
    image = ProjectedImage(np.zeros((1, 1), np.int64))
    latent = Latent(image, (4,))
    slopes = np.zeros((2, 1), np.int64)
    bad: list[tuple[str, Callable[[], Any]]] = [
        ("shares", lambda: GroupSums(latent, (0.5, 0.6, 0.1), "norm")),
        ("shares", lambda: GroupSums(latent, (0.0, 0.5, 0.5), "norm")),
        ("shares", lambda: GroupSums(latent, (0.5, math.nan, 0.5), "norm")),
        ("entries", lambda: ProjectedImage(np.zeros((1, 1), np.int64), np.array([[MAP_LIMIT + 1]]))),
        ("a row for each", lambda: ProjectedImage(np.zeros((1, 1), np.int64), np.ones((2, 1), np.int64))),
        ("numbers", lambda: projected_image(np.array([[math.nan]]))),
        ("slope", lambda: ClippedGradient(image, slopes[:, :0], 4, 1.0)),
        ("slope", lambda: ClippedGradient(image, slopes + LATENT_LIMIT + 1, 4, 1.0)),
        ("radius", lambda: ClippedGradient(image, slopes, 0, 1.0)),
        ("radius", lambda: ClippedGradient(image, slopes, LARGEST_RADIUS, 1.0)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, 0.0)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, 1.5)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, math.nan)),
        ("centres", lambda: ColumnImage(np.array([[-1]]))),
        ("centres", lambda: ColumnImage(np.array([[TOP + 1]]))),
        ("factor", lambda: ColumnImage(np.array([[5]]), 3)),
        ("factor", lambda: ColumnImage(np.array([[5]]), 16)),
    ]
    for match, build in bad:
        with pytest.raises(ValueError, match=match), np.errstate(invalid="ignore"):
            build()


def test_a_batch_above_the_cap_is_refused() -> None:
    rows = Batch(
        np.empty((0, BATCH_CAP + 1), np.int16),
        np.zeros(BATCH_CAP + 1, np.int64),
        None,
        np.zeros((1, BATCH_CAP + 1), np.int32),
    )
    image = ProjectedImage(np.zeros((1, 1), np.int64))
    for query in (
        GroupSums(Latent(image, (4,)), (0.2, 0.3, 0.5), "norm"),
        ClippedGradient(image, np.zeros((2, 1), np.int64), 4, 1.0),
    ):
        with pytest.raises(ValueError, match="at most"):
            query.total(rows)


def test_a_source_without_groups_or_values_is_named() -> None:
    rows = Batch(np.zeros((1, 2), np.int16), np.zeros(2, np.int64))
    image = ProjectedImage(np.zeros((1, 1), np.int64))
    with pytest.raises(ValueError, match="not in groups"):
        image.rows(rows, np.ones(2, dtype=bool), 0)
    with pytest.raises(ValueError, match="values"):
        ColumnImage(np.array([[5]])).rows(rows, np.ones(2, dtype=bool), 0)
