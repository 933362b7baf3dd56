"""Cells of a class: which one a row is in is that row's affair, and no row moves their totals further than it may."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.private.hunting import look_for

from sfumato.mechanisms.questions import around, cells_at, latent_space, score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import BATCH_CAP, LATENT_BITS, LATENT_LIMIT, Batch
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import AffineImage, Cells, ScoreImage

ADD_REMOVE, LABEL, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.LABEL, Adjacency.REPLACE_ONE
ONE = 1 << LATENT_BITS
NOWHERE = -1
BINS = 64

Ints = NDArray[np.int64]
Row = tuple[tuple[int, ...], int]  # codes and label
Query = GroupSums | GroupSums


def batch(rows: list[Row], dim: int) -> Batch:
    codes = np.array([codes for codes, _ in rows], dtype=np.int16).reshape(-1, dim).T
    return Batch(codes, np.array([label for _, label in rows], dtype=np.int64))


def latent_row(cells: Cells, codes: Any, label: int) -> list[int]:
    """A row's image in Python integers."""
    tables = cells.image.tables[label]  # type: ignore[attr-defined]
    return [int(table[code]) for table, code in zip(tables, codes, strict=True)]


def nearest(cells: Cells, z: list[int], label: int) -> int:
    """The cell of a row in Python integers; of centres equally near, the first."""
    apart = [sum((x - c) ** 2 for x, c in zip(z, centre, strict=True)) for centre in cells.centres[label].tolist()]
    return sum(map(len, cells.centres[:label])) + apart.index(min(apart))


# --- which cell


def cut(dim: int, seed: int, sizes: tuple[int, ...], extreme: bool = False) -> Cells:
    """Cells around some of the rows' own places, around places one step from another, and around none of them."""
    rng = np.random.default_rng(seed)
    if extreme:
        tables = [[rng.choice([-LATENT_LIMIT, LATENT_LIMIT], BINS) for _ in range(dim)] for _ in sizes]
    else:
        tables = [[np.rint(rng.normal(size=BINS) * ONE).astype(np.int64) for _ in range(dim)] for _ in sizes]
    image = ScoreImage(tuple(tuple(np.append(t, 0) for t in row) for row in tables))
    centres = []
    for row, size in zip(tables, sizes, strict=True):
        own = np.stack([[t[rng.integers(BINS)] for t in row] for _ in range(size)])
        for g in range(1, size, 2):  # hardly another place than the one before
            own[g] = own[g - 1]
            own[g, rng.integers(dim)] -= np.sign(own[g].sum()) or 1
        centres.append(own.clip(-LATENT_LIMIT, LATENT_LIMIT))
    return Cells(image, tuple(centres))


def some_rows(cells: Cells, count: int, seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    codes = rng.integers(NOWHERE, BINS, (cells.image.dim, count)).astype(np.int16)
    return Batch(codes, rng.integers(0, len(cells.centres), count))


@settings(max_examples=40)
@given(
    st.integers(1, 30), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.booleans()
)
def test_a_row_is_in_the_cell_that_integers_say(dim: int, seed: int, sizes: list[int], extreme: bool) -> None:
    cells = cut(dim, seed, tuple(sizes), extreme)
    rows = some_rows(cells, 30, seed)
    found = cells.find(rows)
    for codes, label, cell in zip(rows.codes.T, rows.labels.tolist(), found.tolist(), strict=True):
        assert cell == nearest(cells, latent_row(cells, codes, label), label)
        assert cells.classes[cell] == label


@pytest.mark.parametrize("extreme", [False, True])
def test_three_hundred_columns_stay_exact(extreme: bool) -> None:
    cells = cut(300, 1, (6, 5), extreme)
    rows = some_rows(cells, 40, 2)
    expected = [nearest(cells, latent_row(cells, c, k), k) for c, k in zip(rows.codes.T, rows.labels, strict=True)]
    assert cells.find(rows).tolist() == expected
    wide = Latent(around(cells), (2**60,) * 11, cells=cells)  # nothing is clipped
    sums, moments = GroupSums(wide, (0.5, 0.5)).total(rows), GroupSums(wide, (0.2, 0.3, 0.5), "outer").total(rows)
    centres = np.concatenate(cells.centres)
    block = 1 + 300 + 300 * 301 // 2
    for g, centre in enumerate(centres.tolist()):
        mine = [i for i, cell in enumerate(expected) if cell == g]
        z = [latent_row(cells, rows.codes[:, i], cells.classes[g]) for i in mine]
        seen = [[max(-LATENT_LIMIT, min(LATENT_LIMIT, x - c)) for x, c in zip(r, centre, strict=True)] for r in z]
        exact = np.array(seen, dtype=object).reshape(-1, 300)
        first = [len(mine), *(exact.sum(axis=0) if len(mine) else [0] * 300)]
        assert sums[g * 301 : (g + 1) * 301].tolist() == first
        second = (exact.T @ exact)[np.triu_indices(300)] if len(mine) else np.zeros(300 * 301 // 2, dtype=int)
        assert moments[g * block : (g + 1) * block].tolist() == [*first, *second.tolist()]


def test_of_centres_equally_near_the_first_has_the_row() -> None:
    table = np.array([0, 5, -5, 7, 0])
    image = ScoreImage(((table, table),))
    for centres in ([[5, 0], [-5, 0], [0, 5], [0, -5]], [[0, 5], [5, 0], [0, 5]], [[1, 1], [1, 1]]):
        cells = Cells(image, (np.array(centres),))
        rows = batch([((0, 0), 0), ((1, 1), 0), ((-1, -1), 0)], 2)
        z = [[0, 0], [5, 5], [0, 0]]
        assert cells.find(rows).tolist() == [nearest(cells, place, 0) for place in z]
        assert cells.find(rows)[0] == 0
    for centres in ([[10, 10], [0, 0]], [[0, 0], [10, 10]], [[12, 4], [4, 12], [5, 3]]):  # of other lengths
        cells = Cells(image, (np.array(centres),))
        assert cells.find(batch([((1, 1), 0)], 2)).tolist() == [nearest(cells, [5, 5], 0)]
    assert Cells(image, (np.array([[10, 10], [0, 0]]),)).find(batch([((1, 1), 0)], 2)).tolist() == [0]


def test_cells_are_counted_through_the_classes() -> None:
    image = ScoreImage(((np.array([-ONE, ONE, 0]),),) * 3)
    cells = cells_at(image, [np.array([[-1.0], [1.0]]), np.array([[0.3]]), np.array([[1.0], [-1.0]])])
    assert cells.classes == (0, 0, 1, 2, 2)
    rows = batch([((code,), label) for label in range(3) for code in (0, 1)], 1)
    assert cells.find(rows).tolist() == [0, 1, 2, 2, 4, 3]
    assert cells.find(batch([], 1)).tolist() == []


def test_values_in_data_units_have_cells_too() -> None:
    rng = np.random.default_rng(0)
    image = AffineImage(np.full((1, 4), 2.0**23), np.full((1, 4), 16.0 * ONE / 2.0**23))
    cells = cells_at(image, [rng.normal(scale=6.0, size=(5, 4))])
    fixed = rng.integers(0, 2**24 + 1, (4, 200)).astype(np.int32)
    fixed[rng.random((4, 200)) < 0.1] = -1
    rows = Batch(np.zeros((4, 200), dtype=np.int16), np.zeros(200, dtype=np.int64), fixed)
    z = image.rows(rows, rows.labels == 0, 0).T.astype(int).tolist()
    assert cells.find(rows).tolist() == [nearest(cells, place, 0) for place in z]


# --- a row's cell and contribution are a function of that row alone


@dataclass(frozen=True)
class Rows:
    """Rows that lie exactly between two centres: their halves are alike, and the centres are each other's swapped."""

    image: Any
    centres: tuple[Any, ...]
    codes: NDArray[np.int16]

    @classmethod
    def between(cls, half: int, count: int, seed: int, rounded: bool) -> Rows:
        rng = np.random.default_rng(seed)
        tables = [rng.normal(size=BINS) for _ in range(half)] * 2
        p, q = rng.normal(size=(2, half))
        swapped = np.stack([np.append(p, q), np.append(q, p)])
        codes = np.tile(rng.integers(0, BINS, (half, count)), (2, 1)).astype(np.int16)
        if rounded:
            cells = cells_at(score_image([tables]), [swapped])
            return cls(cells.image, cells.centres, codes)
        return cls(Real(tables), (swapped,), codes)

    def batch(self, keep: Any = slice(None)) -> Batch:
        return Batch(self.codes[:, keep], np.zeros(self.codes[:, keep].shape[1], dtype=np.int64))


@dataclass(frozen=True)
class Real:
    """Tables of real numbers, off the grid."""

    tables: list[NDArray[np.float64]]

    @property
    def dim(self) -> int:
        return len(self.tables)

    def rows(self, batch: Batch, mine: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
        return np.stack([table[codes] for table, codes in zip(self.tables, batch.codes[:, mine], strict=True)])


def rows_that_change_cell(rows: Rows) -> int:
    """How many rows are in another cell when the rows around them change."""
    rng = np.random.default_rng(0)
    cells = Cells(rows.image, rows.centres)
    count = rows.codes.shape[1]
    whole = cells.find(rows.batch())
    changed = np.zeros(count, dtype=bool)
    everyone = np.arange(count)
    parts = [rng.permutation(count), np.flatnonzero(rng.random(count) < 0.5), everyone[::3], *everyone[:60, None]]
    parts += [*np.array_split(everyone, 7), np.delete(everyone, rng.integers(count))]
    for part in parts:
        changed[part] |= cells.find(rows.batch(part)) != whole[part]
    return int(changed.sum())


@pytest.mark.parametrize("half", [1, 7, 25, 100])
def test_no_row_changes_cell_with_the_rows_around_it(half: int) -> None:
    rows = Rows.between(half, 2000, half, rounded=True)
    assert rows_that_change_cell(rows) == 0
    assert not Cells(rows.image, rows.centres).find(rows.batch()).any()  # all of them ties


def test_with_real_centres_rows_do_change_cell() -> None:
    assert max(rows_that_change_cell(Rows.between(half, 2000, half, rounded=False)) for half in (7, 25, 100)) > 0


def queries_of(cells: Cells, radius: float) -> list[Query]:
    latent = latent_space(around(cells), [radius] * len(cells.classes), cells=cells)
    return [GroupSums(latent, (0.3, 0.7)), GroupSums(latent, (0.2, 0.3, 0.5), "outer")]


@pytest.mark.parametrize("dim", [1, 14, 50])
def test_contributions_add_up_bit_for_bit(dim: int) -> None:
    cells = cut(dim, 5, (3, 1, 4))
    rows = some_rows(cells, 200, 6)
    for query in queries_of(cells, math.sqrt(dim)):
        whole = query.total(rows)
        assert whole.dtype == np.int64
        alone = [query.total(Batch(rows.codes[:, i : i + 1], rows.labels[i : i + 1])) for i in range(200)]
        assert np.array_equal(sum(alone), whole)
        for order in (np.random.default_rng(0).permutation(200), np.arange(200)[::-1]):
            assert np.array_equal(query.total(Batch(rows.codes[:, order], rows.labels[order])), whole)
        parts = np.array_split(np.arange(200), 7)
        assert np.array_equal(sum(query.total(Batch(rows.codes[:, p], rows.labels[p])) for p in parts), whole)
        assert not query.total(batch([], dim)).any()


def test_layout_and_type_of_codes_do_not_matter() -> None:
    cells = cut(23, 7, (4, 3))
    rows = some_rows(cells, 1000, 8)
    padded = np.full((46, 3000), 7, dtype=np.int16)
    padded[::2, ::3] = rows.codes
    others = [
        np.asfortranarray(rows.codes),
        rows.codes.astype(np.int32),
        padded[::2, ::3],
        np.ascontiguousarray(rows.codes[:, ::-1])[:, ::-1],
    ]
    for codes in others:
        other = Batch(codes, rows.labels)
        assert np.array_equal(cells.find(other), cells.find(rows))
        for query in queries_of(cells, 4.0):
            assert np.array_equal(query.total(other), query.total(rows))


@pytest.mark.parametrize("dim", [1, 9])
def test_merged_cells_have_the_totals_of_their_class(dim: int) -> None:
    cells = cut(dim, 9, (3, 1, 4))
    rows = some_rows(cells, 500, 10)
    still = type(around(cells))(cells.image, cells.classes, np.zeros((8, dim), dtype=np.int64))
    radius = 0.8 * math.sqrt(dim)
    parted, whole = latent_space(still, [radius] * 8, cells=cells), latent_space(cells.image, [radius] * 3)
    pairs: list[tuple[Query, Query]] = [
        (GroupSums(parted, (0.3, 0.7)), GroupSums(whole, (0.3, 0.7))),
        (GroupSums(parted, (0.2, 0.3, 0.5), "outer"), GroupSums(whole, (0.2, 0.3, 0.5), "outer")),
    ]
    for by_cell, by_class in pairs:
        merged = np.add.reduceat(by_cell.total(rows).reshape(8, -1), [0, 3, 4], axis=0)
        assert np.array_equal(merged.ravel(), by_class.total(rows))
        assert merged[:, 0].tolist() == np.bincount(rows.labels, minlength=3).tolist()


def test_rows_are_clipped_around_their_own_centre() -> None:
    cells = cut(6, 11, (3, 2))
    rows = some_rows(cells, 300, 12)
    latent = latent_space(around(cells), [0.5, 1.0, 2.0, 0.1, 99.0], cells=cells)
    grouped = latent.grouped(rows)
    for g, radius in enumerate(latent.radii):
        z = latent.rows(grouped, g)
        assert np.array_equal(z, np.trunc(z))
        assert all(sum(int(x) ** 2 for x in row) <= radius for row in z.T)
    assert sum(latent.rows(grouped, g).shape[1] for g in range(5)) == 300


# --- how far one row can move the totals


@dataclass(frozen=True)
class Case:
    """A query and two neighbouring tables."""

    query: Query
    before: list[Row]
    after: list[Row]


def change(case: Case) -> float:
    dim = case.query.latent.dim
    moved = case.query.total(batch(case.after, dim)) - case.query.total(batch(case.before, dim))
    return float(np.linalg.norm(case.query.weights * moved))


def hunt(cases: st.SearchStrategy[Case], adjacency: Adjacency, examples: int) -> None:
    """Let Hypothesis look for neighbours that break the bound."""

    def holds(case: Case) -> None:
        assert change(case) <= case.query.sensitivity(adjacency)

    look_for(cases, holds, examples)


SHARES = [(0.4, 0.3, 0.3), (0.05, 0.9, 0.05), (0.1, 0.5, 0.4), (1e-9, 1 - 2e-9, 1e-9), (1 - 2e-9, 1e-9, 1e-9)]


@st.composite
def cell_cases(draw: st.DrawFn, adjacency: Adjacency, kind: type[Query], latent: type[Latent] = Latent) -> Case:
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
    radii = [draw(st.sampled_from([1, 2, 50, ONE**2, dim * ONE**2, 2**60])) for _ in cells.classes]
    near = (step**2).sum() + draw(st.integers(-2, 2))
    radii = [max(1, int(near)) if draw(st.booleans()) else r for r in radii]

    top = min(len(row[0]) for row in tables) - 2
    whole = st.integers(NOWHERE, top).map(lambda code: (code,) * dim)
    mixed = st.integers(0, 2**32 - 1).map(
        lambda seed: tuple(np.random.default_rng(seed).integers(NOWHERE, top + 1, dim).tolist())
    )
    rows = st.tuples(st.one_of(whole, whole, mixed), st.integers(0, classes - 1))
    base, row = draw(st.lists(rows, max_size=6)), draw(rows)
    other = {ADD_REMOVE: st.just([]), LABEL: st.integers(0, classes - 1).map(lambda k: [(row[0], k)])}
    put = draw(other.get(adjacency, rows.map(lambda r: [r])))
    shares = draw(st.sampled_from(SHARES))
    parts = (shares[0], 1.0 - shares[0]) if issubclass(kind, GroupSums) else shares
    query = kind(latent(around(cells), tuple(radii), cells=cells), parts)  # type: ignore[arg-type]
    return Case(query, [row, *base], [*put, *base])


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("kind", [GroupSums, GroupSums])
def test_cells_keep_the_bound(kind: type[Query], adjacency: Adjacency) -> None:
    hunt(cell_cases(adjacency, kind), adjacency, examples=120)


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        return Latent(self.image, (2**90,) * len(self.radii), cells=self.cells).rows(batch, k)


class ClippedThenMoved(Latent):
    """Rows are clipped around zero and then seen from the centre."""

    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        away = self.image.centres[k][:, None]  # type: ignore[attr-defined]
        z = self.image.rows(batch, batch.labels == k, k) + away
        norms = np.maximum(1.0, (z * z).sum(axis=0))
        return np.trunc(z * np.minimum(1.0, np.sqrt(self.radii[k] / norms))) - away


class InTwoCells(Latent):
    """A row also counts in the cell after its own."""

    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        either = (batch.labels == k) | (batch.labels == k - 1)
        return super().rows(Batch(batch.codes, np.where(either, k, -1)), k)


class BlanketSums(GroupSums):
    """The blanket rule: a replacement moves sqrt(2) times as far as an addition."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(LABEL if adjacency is REPLACE_ONE else adjacency)


class OneBlock(GroupSums):
    """A changed label moves one cell alone. It does not."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(ADD_REMOVE if adjacency is LABEL else adjacency)


FAULTS: dict[str, tuple[Adjacency, type[Query], type[Latent]]] = {
    "sums of rows not clipped": (ADD_REMOVE, GroupSums, Unclipped),
    "moments of rows not clipped": (ADD_REMOVE, GroupSums, Unclipped),
    "clipped before they are moved": (ADD_REMOVE, GroupSums, ClippedThenMoved),
    "a row in two cells' sums": (ADD_REMOVE, GroupSums, InTwoCells),
    "a row in two cells' moments": (REPLACE_ONE, GroupSums, InTwoCells),
    "blanket replace-one": (REPLACE_ONE, BlanketSums, Latent),
    "label changes one block": (LABEL, OneBlock, Latent),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, kind, latent = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cell_cases(adjacency, kind, latent), adjacency, examples=1000)


# --- the bounds are reached


RADIUS = 0.5
# Codes: on the first centre's rim and on the opposite rim, at an angle to it, then on the second centre's rim.
SPOTS = np.array([[3.0, 0.5], [3.0, -0.5], [3.5, 0.0], [-3.0, -0.5], [3.0, 9.0]])


def two_cells(kind: type[Query], shares: tuple[float, ...]) -> Query:
    image = score_image([list(SPOTS.T)] * 2)
    cells = cells_at(image, [np.array([[3.0, 0.0], [-3.0, 0.0]])] * 2)
    return kind(latent_space(around(cells), [RADIUS] * 4, cells=cells), shares)  # type: ignore[arg-type]


def at(spot: int, label: int = 0) -> Row:
    return ((spot, spot), label)


PAIRS: dict[str, tuple[Adjacency, list[Row], list[Row]]] = {
    "a row added": (ADD_REMOVE, [], [at(0)]),
    "a far row added": (ADD_REMOVE, [at(1)], [at(1), at(4)]),
    "a row replaced across cells": (REPLACE_ONE, [at(0)], [at(3)]),
    "a row replaced across classes": (REPLACE_ONE, [at(0)], [at(2, 1)]),
    "a label changed": (LABEL, [at(0)], [at(0, 1)]),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("kind", "shares"), [(GroupSums, (0.6, 0.4)), (GroupSums, (0.4, 0.2, 0.4))])
def test_a_pair_reaches_the_bound(name: str, kind: type[Query], shares: tuple[float, ...]) -> None:
    adjacency, before, after = PAIRS[name]
    query = two_cells(kind, shares)
    bound = query.sensitivity(adjacency)
    assert 0.99 * bound <= change(Case(query, before, after)) <= bound


@pytest.mark.parametrize(
    ("kind", "shares"), [(GroupSums, (0.1, 0.9)), (GroupSums, (1e-6, 1 - 1e-6)), (GroupSums, (0.05, 0.9, 0.05))]
)
def test_a_replacement_inside_a_cell_reaches_the_bound(kind: type[Query], shares: tuple[float, ...]) -> None:
    query = two_cells(kind, shares)
    bound = query.sensitivity(REPLACE_ONE)
    assert 0.99 * bound <= change(Case(query, [at(0)], [at(1)])) <= bound
    assert bound > 1.01 * math.sqrt(2.0)


def test_a_replacement_at_the_worst_angle_reaches_the_bound() -> None:
    """x = shares[1] / (2 shares[2]) is minus the cosine of the angle at which moments move furthest."""
    shares = (0.1, 0.5, 0.4)
    x = shares[1] / (2 * shares[2])
    up, aside = np.array([1.0, 0.0]), np.array([-x, math.sqrt(1 - x * x)])
    image = score_image([list(np.stack([np.array([3.0, 0.0]) + RADIUS * way for way in (up, aside)]).T)])
    cells = cells_at(image, [np.array([[3.0, 0.0], [-3.0, 0.0]])])
    query = GroupSums(latent_space(around(cells), [RADIUS] * 2, cells=cells), shares, "outer")
    bound = query.sensitivity(REPLACE_ONE)
    assert 0.99 * bound <= change(Case(query, [at(0)], [at(1)])) <= bound
    assert bound > math.sqrt(2.0) * 1.01


# --- packing, and what is refused


def test_sums_unpack_to_counts_and_sums() -> None:
    cells = cut(5, 13, (2, 3))
    rows = some_rows(cells, 100, 14)
    query = queries_of(cells, 2.0)[0]
    counts, sums = unpack(query, query.total(rows).astype(float))
    grouped = query.latent.grouped(rows)
    assert query.size == len(query.weights) == 5 * 6
    for g in range(5):
        z = query.latent.rows(grouped, g) / ONE
        assert counts[g] == z.shape[1]
        assert np.array_equal(sums[g], z.sum(axis=1))
    weights, others = unpack(query, query.weights)
    assert np.allclose(weights, math.sqrt(0.3))
    assert np.allclose(others * ONE, math.sqrt(0.7) / (2.0 * ONE))


def test_what_is_no_query_is_refused() -> None:
    image = score_image([[np.array([1.0])]])
    latent = latent_space(image, [2.0])
    for shares in ((0.5, 0.6), (0.0, 1.0), (-0.5, 0.5)):
        with pytest.raises(ValueError, match="shares must be positive and add up to one"):
            GroupSums(latent, shares)
    many = Batch(np.zeros((1, BATCH_CAP + 1), dtype=np.int16), np.zeros(BATCH_CAP + 1, dtype=np.int64))
    with pytest.raises(ValueError, match="at most"):
        GroupSums(latent, (0.5, 0.5)).total(many)
    bad: list[Callable[[], Cells]] = [
        lambda: Cells(image, (np.zeros((0, 1), dtype=np.int64),)),
        lambda: Cells(image, (np.array([[LATENT_LIMIT + 1]]),)),
        lambda: cells_at(image, [np.array([[np.nan]])]),
    ]
    for build in bad:
        with pytest.raises(ValueError):
            build()
    assert cells_at(image, [np.array([[1e9]])]).centres[0].tolist() == [[LATENT_LIMIT]]
