"""Random images, cells, radii and slopes for hunts over projected rows and places between the bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.private.queries.helpers import BAD_LABEL, MISSING, ONE, TOP, Case, Ints, neighbours, pool_case, pooled

from sfumato.mechanisms.questions import cells_at, projected_image
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import LARGEST_RADIUS, LATENT_LIMIT, MAP_BITS, MAP_LIMIT, Batch, Image, Query
from sfumato.private.queries.images import Cells, ProjectedImage

SHARES = [
    (1 / 3, 1 / 3, 1 / 3),
    (0.05, 0.9, 0.05),  # a row replaced by its opposite: twice the square root of 0.9
    (0.1, 0.5, 0.4),
    (0.01, 0.3, 0.69),  # squared norms weigh most
    (1e-9, 1 - 2e-9, 1e-9),
    (1e-9, 1e-9, 1 - 2e-9),
    (1 - 2e-9, 1e-9, 1e-9),
]


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
    def drawn(cls, draw: st.DrawFn, places: bool) -> World:
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
        return cls(draw, rng, classes, places_of(dim, rng) if places else pool, ProjectedImage(centres, matrix))

    def radius(self, image: Image, largest: int = LARGEST_RADIUS - 1) -> int:
        everyone = pooled(self.pool, [(i, 0) for i in range(len(self.pool))])
        z = image.rows(everyone, np.ones(len(everyone), dtype=bool), 0)
        near = int((z[:, self.draw(st.integers(0, z.shape[1] - 1))] ** 2).sum()) + self.draw(st.integers(-2, 2))
        fixed = st.sampled_from([1, 2, 50, ONE**2 - 1, ONE**2 + 1, 5 * ONE**2, 200 * ONE**2])
        return min(max(1, self.draw(st.one_of(st.just(near), fixed))), largest)

    def cells(self) -> Cells:
        sizes = self.draw(st.sampled_from([[1] * self.classes, self.rng.integers(1, 5, self.classes).tolist()]))
        return Cells(self.image, tuple(self.pool[self.rng.integers(0, len(self.pool), size)] for size in sizes))

    def shares(self) -> tuple[float, float, float]:
        return self.draw(st.sampled_from(SHARES))


Build = Callable[[World], Query]


@st.composite
def world_cases(draw: st.DrawFn, build: Build, adjacency: Adjacency, unit: int = 1, places: bool = False) -> Case:
    """A query over a world's rows, or over places between the bounds, and two neighbouring tables of them."""
    world = World.drawn(draw, places)
    rows = st.tuples(st.integers(0, len(world.pool) - 1), st.integers(BAD_LABEL, world.classes - 1))
    before, after = neighbours(draw, rows, world.classes, adjacency, most=5, unit=unit)
    return pool_case(build(world), world.pool, before, after)


def many(dim: int, count: int, classes: int = 3, seed: int = 0) -> tuple[ProjectedImage, Cells, Batch]:
    """An image, cells of it, and rows of which some are extreme and some lack values."""
    rng = np.random.default_rng(seed)
    image = projected_image(rng.normal(size=(classes, dim)), rng.normal(size=(dim, dim)) / math.sqrt(dim))
    cells = cells_at(image, [rng.normal(size=(size + 1, dim)) for size in range(classes)])
    projected = np.rint(rng.normal(size=(dim, count)) * ONE).astype(np.int32)
    projected[:, :3] = [[LATENT_LIMIT, -LATENT_LIMIT, 0]] * dim
    fixed = rng.integers(0, TOP + 1, (dim, count)).astype(np.int32)
    fixed[rng.random(fixed.shape) < 0.1] = MISSING
    codes = np.empty((0, count), np.int16)
    return image, cells, Batch(codes, rng.integers(0, classes, count), fixed, projected)


def extreme_batch(count: int) -> tuple[Batch, list[tuple[tuple[int, int], int]]]:
    """So many rows of odd numbers as large as may be, and how many there are of each."""
    values = np.array([[46340, 46341], [46341, -46339], [-46337, 46340]])  # norms just below 2^16
    which = np.where(np.arange(count) % 5 == 0, 1, 0)
    which[-7:] = 2
    projected: Any = values[which].T.astype(np.int32)
    counts = np.bincount(which).tolist()
    batch = Batch(np.empty((0, count), np.int16), np.zeros(count, np.int64), None, projected)
    return batch, [((int(a), int(b)), n) for (a, b), n in zip(values, counts, strict=True)]
