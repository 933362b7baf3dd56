"""Images of a row: what integers say, each row's own, the same whatever rows are around it; and cells of a class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    LABEL,
    MISSING,
    NOWHERE,
    ONE,
    REPLACE_ONE,
    TOP,
    Case,
    Floats,
    Ints,
    check_bound,
    coded,
    cut,
    parts_of,
    told,
    told_by,
)
from tests.private.queries.worlds import many

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import around, cells_at, latent_space, projected_image, score_image
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import (
    FIXED_BITS,
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    Batch,
    Image,
    Public,
)
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import AffineImage, Cells, ColumnImage, ProjectedImage, ScoreImage, Shifted, Within
from sfumato.private.source import Source
from sfumato.schema.layout import Layout, OrderedBins, bins_of
from sfumato.schema.schema import Number, Schema
from sfumato.tables import open_table

BINS = 64


# Scores: bins looked up in tables


def test_the_code_for_nowhere_sits_at_zero() -> None:
    image = score_image([[np.array([1.0, 2.0]), np.array([3.0, 4.0])]])
    z = image.rows(Batch(np.array([[-1, 1], [0, -1]], dtype=np.int16), np.zeros(2, np.int64)), np.ones(2, bool), 0)
    assert z.T.tolist() == [[0, 3 * ONE], [2 * ONE, 0]]


def test_quantised_tables_stay_inside_the_limits() -> None:
    (table,) = score_image([[np.array([1e9, -1e9, np.inf, -np.inf, 15.99999, 0.3])]]).tables[0]
    assert np.abs(table).max() == LATENT_LIMIT
    assert table.tolist()[-2:] == [round(0.3 * ONE), 0]


@pytest.mark.parametrize(
    "tables",
    [
        (),
        ((),),
        ((np.array([LATENT_LIMIT + 1, 0]),),),
        ((np.array([-(2**63), 0]),),),
        ((np.array([1, 2]),),),  # the code for nowhere must sit at zero
        ((np.array([0]),),),
        ((np.zeros((2, 2), np.int64),),),
    ],
    ids=["none", "no columns", "too large", "too small", "nowhere", "no bins", "two axes"],
)
def test_scores_off_their_grid_are_refused(tables: Any) -> None:
    with pytest.raises(ArgumentError):
        ScoreImage(tables)


# Values in their own units

SHARES = [(0.05, 0.15, 0.8), (0.05, 0.9, 0.05), (0.3, 0.4, 0.3)]


def valued(rows: list[tuple[list[int], int]], dim: int) -> Batch:
    fixed = np.array([values for values, _ in rows], dtype=np.int32).reshape(-1, dim).T
    return Batch(np.zeros(fixed.shape, dtype=np.int16), np.array([k for _, k in rows], dtype=np.int64), fixed)


@st.composite
def affine_cases(draw: st.DrawFn) -> tuple[GroupSums, list[tuple[list[int], int]], int]:
    dim = draw(st.integers(1, 8))
    place = st.one_of(st.sampled_from([-1, 0, 1, TOP // 2, TOP - 1, TOP]), st.integers(0, TOP))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    factor = 10.0 ** rng.uniform(-6, 3, (2, dim))  # from flat to saturating
    image = AffineImage(np.rint(rng.uniform(-0.5, 1.5, (2, dim)) * TOP), factor)
    maps = [rng.normal(size=(dim, dim)) * 3 for _ in range(2)] if draw(st.booleans()) else None
    radii = draw(st.lists(st.sampled_from([0.01, 1.0, 3.0, 40.0]), min_size=2, max_size=2))
    query = GroupSums(latent_space(image, radii, maps), draw(st.sampled_from(SHARES)), "outer")
    row = st.tuples(st.lists(place, min_size=dim, max_size=dim), st.integers(0, 1))
    return query, draw(st.lists(row, min_size=2, max_size=10)), dim


@settings(deadline=None, max_examples=some(100))
@given(affine_cases())
def test_no_neighbour_moves_the_moments_beyond_their_bound(
    case: tuple[GroupSums, list[tuple[list[int], int]], int],
) -> None:
    query, (mine, other, *rest), dim = case
    base = valued([mine, *rest], dim)
    relabelled = (mine[0], 1 - mine[1])
    check_bound(Case(query, valued(rest, dim), base), ADD_REMOVE)
    check_bound(Case(query, base, valued([other, *rest], dim)), REPLACE_ONE)
    check_bound(Case(query, base, valued([relabelled, *rest], dim)), LABEL)


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> Floats:
        return self.image.rows(batch, batch.labels == k, k)


def test_rows_that_are_not_clipped_are_caught() -> None:
    image = AffineImage(np.zeros((1, 2)), np.ones((1, 2)))
    query = GroupSums(Unclipped(image, (1,)), SHARES[0], "outer")
    with pytest.raises(AssertionError):
        check_bound(Case(query, valued([], 2), valued([([TOP, TOP], 0)], 2)), ADD_REMOVE)


@settings(deadline=None, max_examples=some(50))
@given(affine_cases())
def test_a_batch_is_the_sum_of_its_rows(case: tuple[GroupSums, list[tuple[list[int], int]], int]) -> None:
    query, rows, dim = case
    alone = sum(told(query, valued([row], dim)) for row in rows)
    assert np.array_equal(told(query, valued(rows, dim)), alone)
    assert np.array_equal(told(query, valued(rows[::-1], dim)), alone)


def test_images_are_whole_saturate_and_put_missing_at_zero() -> None:
    image = AffineImage(np.array([[float(TOP // 2)]]), np.array([[1000.0]]))
    z = image.rows(valued([([0], 0), ([TOP], 0), ([-1], 0), ([TOP // 2 + 1], 0)], 1), np.ones(4, dtype=bool), 0)
    assert z.tolist() == [[-LATENT_LIMIT, LATENT_LIMIT, 0.0, 1000.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_centres_and_factors_must_be_finite(bad: float) -> None:
    with pytest.raises(ArgumentError, match="finite"):
        AffineImage(np.array([[bad]]), np.ones((1, 1)))


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20))
def test_a_value_s_place_between_its_bounds_is_its_own(values: list[float]) -> None:
    bins = bins_of(Number(min=-3, max=5))
    assert isinstance(bins, OrderedBins)
    together = bins.fixed(np.array(values), FIXED_BITS)
    assert together.tolist() == [bins.fixed(np.array([value]), FIXED_BITS)[0] for value in values]
    assert ((together >= -1) & (together <= TOP)).all()
    assert [place == -1 for place in together] == [math.isnan(value) for value in values]


@pytest.mark.parametrize("workers", [1, 3])
def test_totals_do_not_depend_on_source_order_or_workers(workers: int) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500), "y": rng.choice(["n", "p"], 500)})
    frame.loc[3, "a"], frame.loc[4, "b"] = np.nan, np.inf
    number = {"type": "number", "min": -4, "max": 4, "bins": 20}
    layout = Layout.of(
        Schema.of(
            {"label": "y", "columns": {"a": number, "b": number, "y": {"type": "category", "values": ["n", "p"]}}}
        )
    )
    query = GroupSums(
        latent_space(AffineImage(np.full((2, 2), TOP / 2), np.full((2, 2), 0.002)), [3.0, 3.0]), SHARES[0], "outer"
    )

    def total(table: object, workers: int) -> np.ndarray:
        return told_by(LocalEngine(Source(open_table(table), layout, values=True), workers), query)

    expected = total(frame, 1)
    assert np.array_equal(total(frame.sample(frac=1.0, random_state=0), workers), expected)
    assert np.array_equal(total(pa.Table.from_pandas(frame).slice(0), workers), expected)


# Projected rows, columns' values, and images of images


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
    whole = image.rows(rows, np.ones(len(rows), dtype=bool), 1)
    changed = np.zeros(len(rows), dtype=bool)
    for part in parts_of(len(rows)):
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
    scale = math.sqrt(2.0 / image.dim) * 2.0**-LATENT_BITS
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
            assert found["within"][i] == [cut(x) for x in min(apart, key=lambda a: sum(x * x for x in a))]
            blind = [
                _held(m, rows.projected[:, i].tolist(), c) for m, c in zip(image.matrix, image.centres[0], strict=True)
            ]
            assert found["with one"][i] == [ONE, *blind]
            products = [cut(int(float(a * b) * scale)) for j, a in enumerate(blind) for b in blind[j:]]
            assert found["quadratic"][i] == [ONE, *blind, *products]


def _held(line: Ints, z: list[int], centre: int) -> int:
    total = sum(int(m) * x for m, x in zip(line, z, strict=True))
    return cut(int(math.copysign(abs(total) >> MAP_BITS, total)) - int(centre))


def test_columns_are_what_integers_say_and_missing_ones_are_at_the_centre() -> None:
    centres = np.array([[0, TOP // 2, TOP], [TOP, 12345, 0]])
    fixed = np.array([[0, TOP, MISSING], [1, 4095, 4096], [TOP // 2 + 3, TOP // 3, 99]], dtype=np.int32).T
    rows = Batch(np.empty((0, 3), np.int16), np.zeros(3, np.int64), fixed)
    for k in range(2):
        found = ColumnImage(centres).rows(rows, np.ones(3, dtype=bool), k)
        for i, row in enumerate(fixed.T.tolist()):
            apart = [0 if x < 0 else _towards_zero(x - int(c), 12) for x, c in zip(row, centres[k], strict=True)]
            assert found[:, i].tolist() == [*apart, *((a * a) >> LATENT_BITS for a in apart)]
        assert np.abs(found).max() <= ONE  # far below the limit


def _towards_zero(x: int, bits: int) -> int:
    return int(math.copysign(abs(x) >> bits, x))


# Cells of a class


def latent_row(cells: Cells, codes: Any, label: int) -> list[int]:
    """A row's image in Python integers."""
    tables = cells.image.tables[label]  # type: ignore[attr-defined]
    return [int(table[code]) for table, code in zip(tables, codes, strict=True)]


def nearest(cells: Cells, z: list[int], label: int) -> int:
    """The cell of a row in Python integers; of centres equally near, the first."""
    apart = [sum((x - c) ** 2 for x, c in zip(z, centre, strict=True)) for centre in cells.centres[label].tolist()]
    return sum(map(len, cells.centres[:label])) + apart.index(min(apart))


def divided(dim: int, seed: int, sizes: tuple[int, ...], extreme: bool = False) -> Cells:
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


@settings(max_examples=some(40))
@given(
    st.integers(1, 30), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 6), min_size=1, max_size=3), st.booleans()
)
def test_a_row_is_in_the_cell_that_integers_say(dim: int, seed: int, sizes: list[int], extreme: bool) -> None:
    cells = divided(dim, seed, tuple(sizes), extreme)
    rows = some_rows(cells, 30, seed)
    found = cells.find(rows)
    for codes, label, cell in zip(rows.codes.T, rows.labels.tolist(), found.tolist(), strict=True):
        assert cell == nearest(cells, latent_row(cells, codes, label), label)
        assert cells.classes[cell] == label


@pytest.mark.parametrize("extreme", [False, True])
def test_three_hundred_columns_stay_exact(extreme: bool) -> None:
    cells = divided(300, 1, (6, 5), extreme)
    rows = some_rows(cells, 40, 2)
    expected = [nearest(cells, latent_row(cells, c, k), k) for c, k in zip(rows.codes.T, rows.labels, strict=True)]
    assert cells.find(rows).tolist() == expected


def test_of_centres_equally_near_the_first_has_the_row() -> None:
    table = np.array([0, 5, -5, 7, 0])
    image = ScoreImage(((table, table),))
    for centres in ([[5, 0], [-5, 0], [0, 5], [0, -5]], [[0, 5], [5, 0], [0, 5]], [[1, 1], [1, 1]]):
        cells = Cells(image, (np.array(centres),))
        rows = coded([((0, 0), 0), ((1, 1), 0), ((-1, -1), 0)], 2)
        z = [[0, 0], [5, 5], [0, 0]]
        assert cells.find(rows).tolist() == [nearest(cells, place, 0) for place in z]
        assert cells.find(rows)[0] == 0
    for centres in ([[10, 10], [0, 0]], [[0, 0], [10, 10]], [[12, 4], [4, 12], [5, 3]]):  # of other lengths
        cells = Cells(image, (np.array(centres),))
        assert cells.find(coded([((1, 1), 0)], 2)).tolist() == [nearest(cells, [5, 5], 0)]
    assert Cells(image, (np.array([[10, 10], [0, 0]]),)).find(coded([((1, 1), 0)], 2)).tolist() == [0]


def test_cells_are_counted_through_the_classes() -> None:
    image = ScoreImage(((np.array([-ONE, ONE, 0]),),) * 3)
    cells = cells_at(image, [np.array([[-1.0], [1.0]]), np.array([[0.3]]), np.array([[1.0], [-1.0]])])
    assert cells.classes == (0, 0, 1, 2, 2)
    rows = coded([((code,), label) for label in range(3) for code in (0, 1)], 1)
    assert cells.find(rows).tolist() == [0, 1, 2, 2, 4, 3]
    assert cells.find(coded([], 1)).tolist() == []


def test_values_in_data_units_have_cells_too() -> None:
    rng = np.random.default_rng(0)
    image = AffineImage(np.full((1, 4), 2.0**23), np.full((1, 4), 16.0 * ONE / 2.0**23))
    cells = cells_at(image, [rng.normal(scale=6.0, size=(5, 4))])
    fixed = rng.integers(0, 2**24 + 1, (4, 200)).astype(np.int32)
    fixed[rng.random((4, 200)) < 0.1] = -1
    rows = Batch(np.zeros((4, 200), dtype=np.int16), np.zeros(200, dtype=np.int64), fixed)
    z = image.rows(rows, rows.labels == 0, 0).T.astype(int).tolist()
    assert cells.find(rows).tolist() == [nearest(cells, place, 0) for place in z]


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
    limit = LATENT_LIMIT

    @property
    def dim(self) -> int:
        return len(self.tables)

    def rows(self, batch: Batch, mine: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
        return np.stack([table[codes] for table, codes in zip(self.tables, batch.codes[:, mine], strict=True)])


def rows_that_change_cell(rows: Rows) -> int:
    """How many rows are in another cell when the rows around them change."""
    cells = Cells(rows.image, rows.centres)
    count = rows.codes.shape[1]
    whole = cells.find(rows.batch())
    changed = np.zeros(count, dtype=bool)
    for part in parts_of(count, alone=60):
        changed[part] |= cells.find(rows.batch(part)) != whole[part]
    return int(changed.sum())


@pytest.mark.parametrize("half", [1, 7, 25, 100])
def test_no_row_changes_cell_with_the_rows_around_it(half: int) -> None:
    rows = Rows.between(half, 2000, half, rounded=True)
    assert rows_that_change_cell(rows) == 0
    assert not Cells(rows.image, rows.centres).find(rows.batch()).any()  # all of them ties


def test_with_real_centres_rows_do_change_cell() -> None:
    assert max(rows_that_change_cell(Rows.between(half, 2000, half, rounded=False)) for half in (7, 25, 100)) > 0


# What is refused


def test_what_is_no_image_is_refused() -> None:
    image = score_image([[np.array([1.0])]])
    one = np.zeros((1, 1), np.int64)
    bad: list[tuple[str, Callable[[], Any]]] = [
        ("entries", lambda: ProjectedImage(one, np.array([[MAP_LIMIT + 1]]))),
        ("a row for each", lambda: ProjectedImage(one, np.ones((2, 1), np.int64))),
        ("numbers", lambda: projected_image(np.array([[math.nan]]))),
        ("below 2", lambda: ProjectedImage(one + (1 << 30))),
        ("centres", lambda: ProjectedImage(np.zeros(3, np.int64))),
        ("centres", lambda: ProjectedImage(np.zeros((2, 0), np.int64))),
        ("centres", lambda: ProjectedImage(np.zeros((2, 0), np.int64), np.zeros((0, 4), np.int64))),
        ("together", lambda: AffineImage(np.zeros((1, 2)), np.zeros((1, 3)))),
        ("together", lambda: AffineImage(np.zeros((1, 0)), np.zeros((1, 0)))),
        ("centres", lambda: ColumnImage(np.array([[-1]]))),
        ("centres", lambda: ColumnImage(np.array([[TOP + 1]]))),
        ("centres", lambda: ColumnImage(np.zeros((1, 0), np.int64))),
        ("at least one cell", lambda: Cells(image, (np.zeros((0, 1), dtype=np.int64),))),
        ("at least one cell", lambda: Cells(image, (np.array([[LATENT_LIMIT + 1]]),))),
        ("coordinates", lambda: Cells(image, (np.zeros((1, 2), np.int64),))),
        ("coordinates", lambda: Cells(image, ())),
        ("numbers", lambda: cells_at(image, [np.array([[np.nan]])])),
        ("below 16", lambda: Shifted(Cells(image, (one + LATENT_LIMIT + 1,)))),
    ]
    for match, build in bad:
        with pytest.raises(ArgumentError, match=match):
            build()
    assert cells_at(image, [np.array([[1e9]])]).centres[0].tolist() == [[LATENT_LIMIT]]


BINNED, VALUED, GROUPED = Public((3, 2), 2), Public((3, 2), 2, values=True), Public((3, 2), 2, 4, values=True)
SCORES = score_image([[np.ones(3), np.ones(2)]] * 2)
CELLS = cells_at(SCORES, [np.zeros((2, 2)), np.zeros((1, 2))])
FITTING: dict[str, tuple[Image, int, Public]] = {
    "scores": (SCORES, 2, BINNED),
    "values": (AffineImage(np.zeros((2, 2)), np.ones((2, 2))), 2, VALUED),
    "columns": (ColumnImage(np.zeros((2, 2), np.int64)), 2, VALUED),
    "projected": (projected_image(np.zeros((2, 4))), 2, GROUPED),
    "mapped": (projected_image(np.zeros((2, 3)), np.zeros((3, 4))), 2, GROUPED),
    "around cells": (around(CELLS), 3, BINNED),
    "within cells": (Within(CELLS), 2, BINNED),
}
MISFITS: dict[str, tuple[Image, int, Public]] = {
    "scores of too few classes": (SCORES, 3, BINNED),
    "scores of other bins": (SCORES, 2, Public((3, 3), 2)),
    "scores of other columns": (SCORES, 2, Public((3, 2, 2), 2)),
    "scores of columns in groups": (SCORES, 2, GROUPED),
    "scores that differ by class": (score_image([[np.ones(3), np.ones(2)], [np.ones(2), np.ones(3)]]), 2, BINNED),
    "values that nobody asked for": (FITTING["values"][0], 2, BINNED),
    "values of other columns": (FITTING["values"][0], 2, Public((3,), 2, values=True)),
    "values of too few classes": (FITTING["values"][0], 3, VALUED),
    "columns that nobody asked for": (FITTING["columns"][0], 2, BINNED),
    "columns of too few classes": (FITTING["columns"][0], 3, VALUED),
    "other columns": (FITTING["columns"][0], 2, Public((3,), 2, values=True)),
    "projected without groups": (FITTING["projected"][0], 2, VALUED),
    "projected to other coordinates": (FITTING["projected"][0], 2, Public((3, 2), 2, 5, values=True)),
    "projected for too few classes": (FITTING["projected"][0], 3, GROUPED),
    "mapped from other coordinates": (FITTING["mapped"][0], 2, Public((3, 2), 2, 3, values=True)),
    "more cells than there are": (around(CELLS), 4, BINNED),
    "cells of a class that is none": (around(cells_at(SCORES, [np.zeros((1, 2))] * 3)), 3, BINNED),
}


def asking(image: Image, groups: int) -> GroupSums:
    cells = CELLS if isinstance(image, Shifted) and groups == len(CELLS.classes) else None
    return GroupSums(latent_space(image, [1.0] * groups, cells=cells), (0.5, 0.5))


@pytest.mark.parametrize("name", FITTING)
def test_an_image_that_fits_the_batches_passes(name: str) -> None:
    image, classes, public = FITTING[name]
    asking(image, classes).check(public)


@pytest.mark.parametrize("name", MISFITS)
def test_an_image_that_does_not_fit_the_batches_is_refused(name: str) -> None:
    image, classes, public = MISFITS[name]
    with pytest.raises(ArgumentError):
        asking(image, classes).check(public)
