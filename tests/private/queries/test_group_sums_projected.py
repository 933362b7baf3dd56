"""Sums over projected rows, cells of them and columns' values: bounds, tightness, exactness, a row alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    LABEL,
    ONE,
    REPLACE_ONE,
    TOP,
    UNCLIPPED,
    Floats,
    Ints,
    blanket,
    check_rows_add_up,
    check_tight,
    hunt,
    on_grid,
    one_block,
    pool_case,
    pooled,
    told,
)
from tests.private.queries.worlds import SHARES, Build, World, extreme_batch, many, world_cases

from sfumato.mechanisms.questions import around, cells_at, latent_space, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    BATCH_CAP,
    EXACT,
    FIXED_BITS,
    LARGEST_RADIUS,
    LATENT_BITS,
    LATENT_LIMIT,
    Batch,
    Query,
    in_limbs,
)
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import Cells, ColumnImage, ProjectedImage, Within
from sfumato.whole_numbers import joined


def spreads_of(world: World, kind: Any = GroupSums, latent: Any = Latent, largest: int = LARGEST_RADIUS - 1) -> Query:
    radii = tuple(world.radius(world.image, largest) for _ in range(world.classes))
    return kind(latent(world.image, radii), world.shares(), "norm")


def cell_spreads_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    cells = world.cells()
    shifted = around(cells)
    radii = tuple(world.radius(shifted) for _ in cells.classes)
    return kind(latent(shifted, radii, cells=cells), world.shares(), "norm")


def within_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    within = Within(world.cells())
    radii = tuple(world.radius(within) for _ in range(world.classes))
    return kind(latent(within, radii), world.shares(), "outer")


def columns_of(world: World, kind: Any = GroupSums, latent: Any = Latent) -> Query:
    centres = world.rng.choice([0, TOP, TOP // 2, TOP // 2, 1234567], (world.classes, world.pool.shape[1]))
    image = ColumnImage(centres)
    radii = tuple(world.radius(image, UNCLIPPED) for _ in range(world.classes))
    share = world.shares()[0]
    return kind(latent(image, radii), (share, 1.0 - share), "none")


BUILD: dict[str, Build] = {
    "spreads": spreads_of,
    "spreads far out": lambda w: spreads_of(w, largest=UNCLIPPED),
    "spreads of cells": cell_spreads_of,
    "moments within cells": within_of,
    "columns": columns_of,
}


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", BUILD)
def test_they_keep_their_bound(name: str, adjacency: Adjacency) -> None:
    hunt(world_cases(BUILD[name], adjacency, places=name == "columns"), adjacency, examples=some(60))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("name", BUILD)
def test_a_unit_of_rows_keeps_its_bound(name: str, adjacency: Adjacency) -> None:
    cases = world_cases(BUILD[name], adjacency, unit=3, places=name == "columns")
    hunt(cases, adjacency, examples=some(20), unit_rows=3)


# Planted faults: the same hunt must find them


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> Floats:
        return Latent(self.image, (UNCLIPPED,) * len(self.radii), cells=self.cells).rows(batch, k)


class Rounded(Latent):
    """Clipped rows are rounded to the nearest whole number, which may be longer."""

    def rows(self, batch: Batch, k: int) -> Floats:
        z = self.image.rows(batch, batch.labels == k, k)
        return np.rint(z * np.minimum(1.0, np.sqrt(self.radii[k] / np.maximum(1.0, (z * z).sum(axis=0)))))


class NormsBeforeClipping(GroupSums):
    """Squared norms are those of the rows as they came."""

    def part(self, batch: Batch) -> Ints:
        total = joined(self.answer(super().part(batch))).reshape(len(self.latent.radii), -1)
        wide = GroupSums(replace(self.latent, radii=(LARGEST_RADIUS - 1,) * len(total)), self.shares, "norm")
        total[:, -1] = told(wide, batch).reshape(total.shape)[:, -1]
        return in_limbs(total.ravel())


class EveryCell(GroupSums):
    """A row counts in every cell of its class."""

    def part(self, batch: Batch) -> Ints:
        total = joined(self.answer(super().part(batch))).reshape(len(self.latent.radii), -1)
        assert self.latent.cells is not None
        classes = np.array(self.latent.cells.classes)
        return in_limbs(np.concatenate([total[classes == k].sum(axis=0) for k in classes]))


class SquaresBesideTheRadius(Latent):
    """Distances are clipped, their squares are not."""

    def rows(self, batch: Batch, k: int) -> Floats:
        half = self.image.dim // 2
        clipped = super().rows(batch, k)
        return np.concatenate([clipped[:half], self.image.rows(batch, batch.labels == k, k)[half:]])


FAULTS: dict[str, tuple[Adjacency, Build]] = {
    "spreads of rows not clipped": (ADD_REMOVE, lambda w: spreads_of(w, latent=Unclipped)),
    "spreads of rounded rows": (ADD_REMOVE, lambda w: spreads_of(w, latent=Rounded)),
    "norms taken before clipping": (ADD_REMOVE, lambda w: spreads_of(w, NormsBeforeClipping)),
    "a row in every cell": (ADD_REMOVE, lambda w: cell_spreads_of(w, EveryCell)),
    "spreads, blanket replace-one": (REPLACE_ONE, lambda w: spreads_of(w, blanket(GroupSums))),
    "spreads, label is one block": (LABEL, lambda w: spreads_of(w, one_block(GroupSums))),
    "rows far from their cell": (ADD_REMOVE, lambda w: within_of(w, latent=Unclipped)),
    "within, blanket replace-one": (REPLACE_ONE, lambda w: within_of(w, blanket(GroupSums))),
    "within, label is one block": (LABEL, lambda w: within_of(w, one_block(GroupSums))),
    "columns not clipped": (ADD_REMOVE, lambda w: columns_of(w, latent=Unclipped)),
    "columns whose squares are not clipped": (ADD_REMOVE, lambda w: columns_of(w, latent=SquaresBesideTheRadius)),
    "columns, blanket replace-one": (REPLACE_ONE, lambda w: columns_of(w, blanket(GroupSums))),
    "columns, label is one block": (LABEL, lambda w: columns_of(w, one_block(GroupSums))),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, build = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(world_cases(build, adjacency, places=fault.startswith("columns")), adjacency, examples=1500)


def test_a_unit_charged_like_one_row_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        hunt(world_cases(spreads_of, ADD_REMOVE, unit=3), ADD_REMOVE, examples=500, unit_rows=1)


# Tightness: the bounds cannot be loosened unseen

PLAIN = ProjectedImage(np.zeros((2, 3), np.int64))
FAR = on_grid([3.0, -9.0, 12.0], [-3.0, 9.0, -12.0], [0.0, 12.0, 9.0])


@pytest.mark.parametrize("shares", SHARES)
def test_spreads_reach_their_bound(shares: tuple[float, float, float]) -> None:
    query = GroupSums(latent_space(PLAIN, [4.0, 4.0]), shares, "norm")
    check_tight(pool_case(query, FAR, [(1, 0)], [(1, 0), (0, 0)]), ADD_REMOVE)
    check_tight(pool_case(query, FAR, [(0, 0)], [(0, 1)]), LABEL)
    worst = (1, 0) if 4.0 * shares[1] > 2.0 else (2, 1)  # its opposite, or a row of another class
    check_tight(pool_case(query, FAR, [(0, 0)], [worst]), REPLACE_ONE)


@pytest.mark.parametrize("shares", [*SHARES, (0.01, 0.2, 0.79), (0.01, 0.49, 0.5), (0.001, 0.001, 0.998)])
def test_no_replacement_along_a_line_moves_spreads_further(shares: tuple[float, float, float]) -> None:
    """Opposite rows, one of them shorter: what the proof says is the worst, at every length."""
    s = np.linspace(0.0, 1.0, 10_001)
    along = shares[1] * (1.0 + s) ** 2 + shares[2] * (1.0 - s**2) ** 2
    for radii in ([4.0], [4.0, 4.0]):
        query = GroupSums(latent_space(PLAIN, radii), shares, "norm")
        assert along.max() <= query.reach.sensitivity(REPLACE_ONE) ** 2


@pytest.mark.parametrize("shares", SHARES)
def test_moments_within_cells_reach_their_bound(shares: tuple[float, float, float]) -> None:
    """Two rows at the worst angle, each around the centre of a cell of its own."""
    x = min(1.0, shares[1] / (2.0 * shares[2]))
    centres = np.array([[5.0, 0.0, 0.0], [-5.0, 0.0, 0.0]])
    ways = np.array([[0.0, 1.0, 0.0], [0.0, -x, math.sqrt(1.0 - x * x)]])
    query = GroupSums(latent_space(Within(cells_at(PLAIN, [centres, centres])), [2.0, 2.0]), shares, "outer")
    pool = on_grid(*(centres + 2.0 * ways))
    check_tight(pool_case(query, pool, [], [(0, 1)]), ADD_REMOVE)
    check_tight(pool_case(query, pool, [(0, 0)], [(0, 1)]), LABEL)
    worst = 2.0 * shares[1] * (1.0 + x) + 2.0 * shares[2] * (1.0 - x * x)
    check_tight(pool_case(query, pool, [(0, 0)], [(1, 0 if worst > 2.0 else 1)]), REPLACE_ONE)


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_columns_reach_their_bound(share: float) -> None:
    step = 41 << (FIXED_BITS - LATENT_BITS)  # so small that its square is lost
    pool = TOP // 2 + np.array([[step, step, -step], [-step, -step, step]])
    query = GroupSums(Latent(ColumnImage(np.full((2, 3), TOP // 2)), (3 * 41**2,) * 2), (share, 1.0 - share))
    check_tight(pool_case(query, pool, [], [(0, 1)]), ADD_REMOVE)
    check_tight(pool_case(query, pool, [(0, 0)], [(0, 1)]), LABEL)
    check_tight(pool_case(query, pool, [(0, 0)], [(1, 0 if share < 0.5 else 1)]), REPLACE_ONE)


# A row's contribution is a function of that row alone


def queries(image: ProjectedImage, cells: Cells) -> dict[str, GroupSums]:
    classes, dim = image.centres.shape
    reach = 0.9 * math.sqrt(dim)
    columns = ColumnImage(np.random.default_rng(1).integers(0, TOP + 1, (classes, dim)))
    points = latent_space(around(cells), [reach] * len(cells.classes), cells=cells)
    return {
        "spreads": GroupSums(latent_space(image, [reach] * classes), (0.1, 0.6, 0.3), "norm"),
        "points": GroupSums(points, (0.1, 0.6, 0.3), "norm"),
        "shapes": GroupSums(latent_space(Within(cells), [reach] * classes), (0.1, 0.1, 0.8), "outer"),
        "columns": GroupSums(latent_space(columns, [0.3 * math.sqrt(dim)] * classes), (0.05, 0.95)),
    }


@pytest.mark.parametrize("dim", [1, 13, 48])
def test_a_total_is_the_sum_of_what_rows_add_alone(dim: int) -> None:
    image, cells, rows = many(dim, 120)
    for query in queries(image, cells).values():
        assert check_rows_add_up(query, rows).any(axis=1).all()  # every row says something


# Exactness, packing


def test_the_caps_keep_every_sum_exact() -> None:
    assert BATCH_CAP * (LARGEST_RADIUS - 1) < EXACT  # squared norms of a batch


def test_a_full_batch_of_extreme_rows_is_exact() -> None:
    rows, counted = extreme_batch(BATCH_CAP)
    latent = Latent(ProjectedImage(np.zeros((1, 2), np.int64)), (LARGEST_RADIUS - 1,))
    assert all(a * a + b * b < LARGEST_RADIUS for (a, b), _ in counted)
    total = told(GroupSums(latent, (0.1, 0.6, 0.3), "norm"), rows)
    sums = [sum(row[i] * n for row, n in counted) for i in range(2)]
    assert total.tolist() == [BATCH_CAP, *sums, sum((a * a + b * b) * n for (a, b), n in counted)]


@pytest.mark.parametrize(
    ("radius", "step"), [(LARGEST_RADIUS - 1, 1), (LARGEST_RADIUS, 2), (2 * LARGEST_RADIUS, 4), (2**38 - 1, 64)]
)
def test_squared_norms_far_out_are_counted_in_steps(radius: int, step: int) -> None:
    """So that a batch is exact, and nobody is counted with more than their radius."""
    image = ProjectedImage(np.zeros((1, 300), np.int64))
    query = GroupSums(Latent(image, (radius,)), (1e-9, 1e-9, 1.0 - 2e-9), "norm")
    assert radius // step < LARGEST_RADIUS
    assert step <= max(1, radius * 2**-31)
    pool = np.random.default_rng(6).integers(-LATENT_LIMIT, LATENT_LIMIT + 1, (20, 300))
    for i in range(20):
        rows = pooled(pool, [(i, 0)])
        z = [int(x) for x in query.latent.rows(rows, 0)[:, 0]]
        norm = sum(x * x for x in z)
        assert told(query, rows).tolist() == [1, *z, norm // step]
        found = unpack(query, told(query, rows).astype(float))[2][0]
        assert found == pytest.approx(norm / ONE**2, rel=2**-30)
        check_tight(pool_case(query, pool, [], [(i, 0)]), ADD_REMOVE)


def test_they_unpack_to_counts_sums_and_squared_norms_of_cells() -> None:
    image, cells, rows = many(5, 100)
    query = queries(image, cells)["points"]
    counts, sums, norms = unpack(query, told(query, rows).astype(float))
    grouped = query.latent.grouped(rows)
    for g in range(len(cells.classes)):
        z = query.latent.rows(grouped, g) / ONE
        assert counts[g] == z.shape[1]
        assert np.array_equal(sums[g], z.sum(axis=1))
        assert norms[g] == (z**2).sum()
