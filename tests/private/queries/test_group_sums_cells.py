"""Sums and moments of the cells of a class: no row moves their totals further than it may, and each does so alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    LABEL,
    NOWHERE,
    ONE,
    REPLACE_ONE,
    UNCLIPPED,
    Case,
    Floats,
    Row,
    blanket,
    check_rows_add_up,
    check_tight,
    code_rows,
    coded,
    cut,
    hunt,
    neighbours,
    one_block,
    told,
)

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import around, cells_at, latent_space, score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import LATENT_LIMIT, Batch, Public
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import Cells, ScoreImage, Shifted

BINS = 64


def some_cells(dim: int, seed: int, sizes: tuple[int, ...], extreme: bool = False) -> Cells:
    """Cells around some of the rows' own places."""
    rng = np.random.default_rng(seed)
    if extreme:
        tables = [[rng.choice([-LATENT_LIMIT, LATENT_LIMIT], BINS) for _ in range(dim)] for _ in sizes]
    else:
        tables = [[np.rint(rng.normal(size=BINS) * ONE).astype(np.int64) for _ in range(dim)] for _ in sizes]
    image = ScoreImage(tuple(tuple(np.append(t, 0) for t in row) for row in tables))
    centres = [
        np.stack([[t[rng.integers(BINS)] for t in row] for _ in range(size)])
        for row, size in zip(tables, sizes, strict=True)
    ]
    return Cells(image, tuple(centres))


def some_rows(cells: Cells, count: int, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    codes = rng.integers(NOWHERE, BINS, (cells.image.dim, count)).astype(np.int16)
    return Batch(codes, rng.integers(0, len(cells.centres), count))


def queries_of(cells: Cells, radius: float) -> list[GroupSums]:
    latent = latent_space(around(cells), [radius] * len(cells.classes), cells=cells)
    return [
        GroupSums(latent, (0.3, 0.7)),
        GroupSums(latent, (0.2, 0.3, 0.5), "outer"),
        GroupSums(latent, (0.2, 0.3, 0.5), "norm"),
    ]


# A row alone, and exactness


@pytest.mark.parametrize("extreme", [False, True])
def test_three_hundred_columns_stay_exact(extreme: bool) -> None:
    cells = some_cells(300, 1, (6, 5), extreme)
    rows = some_rows(cells, 40, 2)
    places = cells.find(rows).tolist()
    wide = Latent(around(cells), (UNCLIPPED,) * 11, cells=cells)
    sums, moments = (
        told(query, rows) for query in (GroupSums(wide, (0.5, 0.5)), GroupSums(wide, (0.2, 0.3, 0.5), "outer"))
    )
    block = 1 + 300 + 300 * 301 // 2
    for g, centre in enumerate(np.concatenate(cells.centres).tolist()):
        mine = [i for i, cell in enumerate(places) if cell == g]
        z = [_latent_row(cells, rows.codes[:, i], cells.classes[g]) for i in mine]
        exact = np.array([[cut(x - c) for x, c in zip(r, centre, strict=True)] for r in z], dtype=object)
        exact = exact.reshape(-1, 300)
        first = [len(mine), *(exact.sum(axis=0) if mine else [0] * 300)]
        assert sums[g * 301 : (g + 1) * 301].tolist() == first
        second = (exact.T @ exact)[np.triu_indices(300)] if mine else np.zeros(300 * 301 // 2, dtype=int)
        assert moments[g * block : (g + 1) * block].tolist() == [*first, *second.tolist()]


def _latent_row(cells: Cells, codes: Any, label: int) -> list[int]:
    """A row's image in Python integers."""
    assert isinstance(cells.image, ScoreImage)
    return [int(table[code]) for table, code in zip(cells.image.tables[label], codes, strict=True)]


@pytest.mark.parametrize("dim", [1, 14, 50])
def test_contributions_add_up_bit_for_bit(dim: int) -> None:
    cells = some_cells(dim, 5, (3, 1, 4))
    rows = some_rows(cells, 100, 6)
    for query in queries_of(cells, math.sqrt(dim)):
        assert check_rows_add_up(query, rows).any(axis=1).all()


class Unshifted(Shifted):
    """As if every centre were zero, once a row has its cell."""

    def rows(self, batch: Batch, mine: Any, k: int) -> Any:
        return self.cells.image.rows(batch, mine, self.cells.classes[k])


@pytest.mark.parametrize("dim", [1, 9])
def test_merged_cells_have_the_totals_of_their_class(dim: int) -> None:
    cells = some_cells(dim, 9, (3, 1, 4))
    rows = some_rows(cells, 500, 10)
    still = Unshifted(cells)
    radius = 0.8 * math.sqrt(dim)
    parted, whole = latent_space(still, [radius] * 8, cells=cells), latent_space(cells.image, [radius] * 3)
    pairs = [
        (GroupSums(parted, (0.3, 0.7)), GroupSums(whole, (0.3, 0.7))),
        (GroupSums(parted, (0.2, 0.3, 0.5), "outer"), GroupSums(whole, (0.2, 0.3, 0.5), "outer")),
    ]
    for by_cell, by_class in pairs:
        merged = np.add.reduceat(told(by_cell, rows).reshape(8, -1), [0, 3, 4], axis=0)
        assert np.array_equal(merged.ravel(), told(by_class, rows))
        assert merged[:, 0].tolist() == np.bincount(rows.labels, minlength=3).tolist()


def test_rows_are_clipped_around_their_own_centre() -> None:
    cells = some_cells(6, 11, (3, 2))
    rows = some_rows(cells, 300, 12)
    latent = latent_space(around(cells), [0.5, 1.0, 2.0, 0.1, 99.0], cells=cells)
    grouped = latent.grouped(rows)
    for g, radius in enumerate(latent.radii):
        z = latent.rows(grouped, g)
        assert np.array_equal(z, np.trunc(z))
        assert all(sum(int(x) ** 2 for x in row) <= radius for row in z.T)
    assert sum(latent.rows(grouped, g).shape[1] for g in range(5)) == 300


# How far one row can move the totals

SHARES = [(0.4, 0.3, 0.3), (0.05, 0.9, 0.05), (0.1, 0.5, 0.4), (1e-9, 1 - 2e-9, 1e-9), (1 - 2e-9, 1e-9, 1e-9)]
SECONDS = ("none", "outer", "norm")


@st.composite
def cases(draw: st.DrawFn, adjacency: Adjacency, second: str, kind: type = GroupSums, latent: type = Latent) -> Case:
    """Rows on, beside and opposite the centres, out to the corners of the latent space, and radii that just miss."""
    dim, classes = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [draw(st.integers(1, 4)) for _ in range(classes)]
    centres = tuple(rng.integers(-4 * ONE, 4 * ONE, (size, dim)) for size in sizes)
    tables = []
    for own in centres:
        step = rng.integers(-ONE, ONE + 1, dim)
        corner = rng.choice([-1, 1], dim) * LATENT_LIMIT
        places = np.stack([*own, own[0] + step, own[0] - step, own[-1] + step, corner, -corner, np.zeros_like(step)])
        tables.append(tuple(np.append(places[:, c], 0) for c in range(dim)))
    cells = Cells(ScoreImage(tuple(tables)), centres)
    radii = [draw(st.sampled_from([1, 2, 50, ONE**2, dim * ONE**2, UNCLIPPED])) for _ in cells.classes]
    near = (step**2).sum() + draw(st.integers(-2, 2))
    radii = [max(1, int(near)) if draw(st.booleans()) else r for r in radii]

    rows = code_rows(dim, min(len(row[0]) for row in tables) - 2, classes)
    before, after = neighbours(draw, rows, classes, adjacency)
    shares = draw(st.sampled_from(SHARES))
    parts = (shares[0], 1.0 - shares[0]) if second == "none" else shares
    query = kind(latent(around(cells), tuple(radii), cells=cells), parts, second)
    return Case(query, coded(before, dim), coded(after, dim))


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("second", SECONDS)
def test_cells_keep_the_bound(second: str, adjacency: Adjacency) -> None:
    hunt(cases(adjacency, second), adjacency, examples=some(80))


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> Floats:
        return Latent(self.image, (UNCLIPPED,) * len(self.radii), cells=self.cells).rows(batch, k)


class ClippedThenMoved(Latent):
    """Rows are clipped around zero and then seen from the centre."""

    def rows(self, batch: Batch, k: int) -> Floats:
        assert self.cells is not None
        away = np.concatenate(self.cells.centres)[k][:, None]
        z = self.image.rows(batch, batch.labels == k, k) + away
        norms = np.maximum(1.0, (z * z).sum(axis=0))
        return np.trunc(z * np.minimum(1.0, np.sqrt(self.radii[k] / norms))) - away


class InTwoCells(Latent):
    """A row also counts in the cell after its own."""

    def rows(self, batch: Batch, k: int) -> Floats:
        either = (batch.labels == k) | (batch.labels == k - 1)
        return super().rows(Batch(batch.codes, np.where(either, k, -1)), k)


FAULTS: dict[str, tuple[Adjacency, str, type, type]] = {
    "sums of rows not clipped": (ADD_REMOVE, "none", GroupSums, Unclipped),
    "moments of rows not clipped": (ADD_REMOVE, "outer", GroupSums, Unclipped),
    "clipped before they are moved": (ADD_REMOVE, "none", GroupSums, ClippedThenMoved),
    "a row in two cells' sums": (ADD_REMOVE, "none", GroupSums, InTwoCells),
    "a row in two cells' moments": (REPLACE_ONE, "outer", GroupSums, InTwoCells),
    "blanket replace-one": (REPLACE_ONE, "none", blanket(GroupSums), Latent),
    "label changes one block": (LABEL, "none", one_block(GroupSums), Latent),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, second, kind, latent = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cases(adjacency, second, kind, latent), adjacency, examples=1000)


# The bounds are reached

RADIUS = 0.5
# Codes: on the first centre's rim and on the opposite rim, at an angle to it, then on the second centre's rim.
SPOTS = np.array([[3.0, 0.5], [3.0, -0.5], [3.5, 0.0], [-3.0, -0.5], [3.0, 9.0]])


def two_cells(shares: tuple[float, ...]) -> GroupSums:
    image = score_image([list(SPOTS.T)] * 2)
    cells = cells_at(image, [np.array([[3.0, 0.0], [-3.0, 0.0]])] * 2)
    latent = latent_space(around(cells), [RADIUS] * 4, cells=cells)
    return GroupSums(latent, shares, "none" if len(shares) == 2 else "outer")


def at(spot: int, label: int = 0) -> Row:
    return (spot, spot), label


def case(query: GroupSums, before: list[Row], after: list[Row]) -> Case:
    return Case(query, coded(before, 2), coded(after, 2))


PAIRS: dict[str, tuple[Adjacency, list[Row], list[Row]]] = {
    "a row added": (ADD_REMOVE, [], [at(0)]),
    "a far row added": (ADD_REMOVE, [at(1)], [at(1), at(4)]),
    "a row replaced across cells": (REPLACE_ONE, [at(0)], [at(3)]),
    "a row replaced across classes": (REPLACE_ONE, [at(0)], [at(2, 1)]),
    "a label changed": (LABEL, [at(0)], [at(0, 1)]),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("shares", [(0.6, 0.4), (0.4, 0.2, 0.4)])
def test_a_pair_reaches_the_bound(name: str, shares: tuple[float, ...]) -> None:
    adjacency, before, after = PAIRS[name]
    check_tight(case(two_cells(shares), before, after), adjacency)


@pytest.mark.parametrize("shares", [(0.1, 0.9), (1e-6, 1 - 1e-6), (0.05, 0.9, 0.05)])
def test_a_replacement_inside_a_cell_reaches_the_bound(shares: tuple[float, ...]) -> None:
    query = two_cells(shares)
    check_tight(case(query, [at(0)], [at(1)]), REPLACE_ONE)
    assert query.reach.sensitivity(REPLACE_ONE) > 1.01 * math.sqrt(2.0)


def test_a_replacement_at_the_worst_angle_reaches_the_bound() -> None:
    """x = shares[1] / (2 shares[2]) is minus the cosine of the angle at which moments move furthest."""
    shares = (0.1, 0.5, 0.4)
    x = shares[1] / (2 * shares[2])
    up, aside = np.array([1.0, 0.0]), np.array([-x, math.sqrt(1 - x * x)])
    image = score_image([list(np.stack([np.array([3.0, 0.0]) + RADIUS * way for way in (up, aside)]).T)])
    cells = cells_at(image, [np.array([[3.0, 0.0], [-3.0, 0.0]])])
    query = GroupSums(latent_space(around(cells), [RADIUS] * 2, cells=cells), shares, "outer")
    check_tight(case(query, [at(0)], [at(1)]), REPLACE_ONE)
    assert query.reach.sensitivity(REPLACE_ONE) > math.sqrt(2.0) * 1.01


# Packing, and what is refused


def test_sums_unpack_to_counts_and_sums() -> None:
    cells = some_cells(5, 13, (2, 3))
    rows = some_rows(cells, 100, 14)
    query = queries_of(cells, 2.0)[0]
    counts, sums, nothing = unpack(query, told(query, rows).astype(float))
    grouped = query.latent.grouped(rows)
    assert query.size // 2 == len(query.weights) == 5 * 6
    assert nothing.size == 0
    for g in range(5):
        z = query.latent.rows(grouped, g) / ONE
        assert counts[g] == z.shape[1]
        assert np.array_equal(sums[g], z.sum(axis=1))
    weights, others, _ = unpack(query, query.weights)
    assert np.allclose(weights, math.sqrt(0.3))
    assert np.allclose(others * ONE, math.sqrt(0.7) / (2.0 * ONE))


def test_cells_and_radii_that_are_not_the_schema_s_are_refused() -> None:
    cells = some_cells(2, 3, (2, 1))
    public = Public((BINS, BINS), 2)
    good = Latent(around(cells), (4,) * 3, cells=cells)
    GroupSums(good, (0.5, 0.5)).check(public)
    bad = [
        lambda: Latent(around(cells), (4,) * 2, cells=cells),  # a radius too few
        lambda: Latent(around(cells), (4,) * 4, cells=cells),
        lambda: Latent(around(cells), (4,) * 3),  # as if cells were classes
        lambda: Latent(around(some_cells(2, 3, (1, 1))), (4,) * 3, cells=cells),  # around other cells
        lambda: Latent(around(cells), (4,) * 3, cells=some_cells(2, 3, (1, 1, 1))),  # of other classes
    ]
    for latent in bad:
        with pytest.raises(ArgumentError):
            GroupSums(latent(), (0.5, 0.5)).check(public)
