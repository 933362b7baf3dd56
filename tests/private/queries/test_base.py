"""How far one row can move a query, and that it does so alone: bounds, tightness, exactness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.private.hunting import look_for

from sfumato.mechanisms.questions import latent_space, score_image, unpack
from sfumato.private import source
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import BATCH_CAP, LATENT_BITS, LATENT_LIMIT, MAP_BITS, MAP_LIMIT, Batch, Query
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.images import ScoreImage

ADD_REMOVE, LABEL, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.LABEL, Adjacency.REPLACE_ONE
ONE = 1 << LATENT_BITS
NOWHERE = -1
BAD_LABEL = -1

Ints = NDArray[np.int64]
Row = tuple[tuple[int, ...], int]  # codes and label; a bad label counts nowhere


@dataclass(frozen=True)
class Case:
    """A query and two neighbouring tables."""

    query: Query
    before: list[Row]
    after: list[Row]


def batch(rows: list[Row], columns: int) -> Batch:
    counted = [row for row in rows if row[1] != BAD_LABEL]
    codes = np.array([codes for codes, _ in counted], dtype=np.int16).reshape(-1, columns).T
    return Batch(codes, np.array([label for _, label in counted], dtype=np.int64))


def columns_of(query: Any) -> int:
    return len(query.sizes) if isinstance(query, Histograms) else query.latent.dim


def change(case: Case) -> float:
    width = columns_of(case.query)
    moved = case.query.total(batch(case.after, width)) - case.query.total(batch(case.before, width))
    return float(np.linalg.norm(case.query.weights * moved))


def check_bound(case: Case, adjacency: Adjacency) -> None:
    assert change(case) <= case.query.sensitivity(adjacency)


def check_tight(case: Case, adjacency: Adjacency) -> None:
    assert change(case) >= 0.99 * case.query.sensitivity(adjacency)


def hunt(cases: st.SearchStrategy[Case], adjacency: Adjacency, examples: int = 150) -> None:
    """Let Hypothesis look for neighbours that break the bound."""

    def holds(case: Case) -> None:
        check_bound(case, adjacency)

    look_for(cases, holds, examples)


# Neighbours


@st.composite
def neighbours(
    draw: st.DrawFn,
    rows: st.SearchStrategy[Row],
    classes: int,
    adjacency: Adjacency,
    replaced: Callable[[Row], Row] = lambda row: row,
) -> tuple[list[Row], list[Row]]:
    base = draw(st.lists(rows, max_size=20))
    at = draw(st.integers(0, len(base)))
    row = draw(rows)
    if adjacency is ADD_REMOVE:
        other = []
    elif adjacency is LABEL:
        other = [(row[0], draw(st.integers(BAD_LABEL, classes - 1)))]
    else:
        other = [draw(st.one_of(rows, st.just(replaced(row))))]
    pair = [*base[:at], row, *base[at:]], [*base[:at], *other, *base[at:]]
    return pair if draw(st.booleans()) else pair[::-1]


@st.composite
def histogram_cases(draw: st.DrawFn, adjacency: Adjacency, kind: type[Histograms] = Histograms) -> Case:
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=40)))
    classes = draw(st.integers(1, 3))
    raw = draw(st.lists(st.sampled_from([1e-9, 0.01, 1.0, 1e6]), min_size=len(sizes), max_size=len(sizes)))
    query = kind(sizes, classes, tuple(float(share) for share in np.array(raw) / sum(raw)))
    rows = st.tuples(
        st.tuples(*(st.integers(NOWHERE, size - 1) for size in sizes)), st.integers(BAD_LABEL, classes - 1)
    )
    return Case(query, *draw(neighbours(rows, classes, adjacency)))


SHARES = [
    (1 / 3, 1 / 3, 1 / 3),
    (0.05, 0.9, 0.05),  # replacing z by -z: twice the square root of 0.9
    (0.1, 0.5, 0.4),  # the worst replacement is at an angle
    (0.2, 0.1, 0.7),
    (1e-9, 1 - 2e-9, 1e-9),
    (1e-9, 1e-9, 1 - 2e-9),
    (1 - 2e-9, 1e-9, 1e-9),
]


def vectors_of(dim: int, seed: int) -> Ints:
    """Latent vectors that a proof might overlook, one a row; row j is what the codes (j, j, ...) stand for."""
    rng = np.random.default_rng(seed)
    wild = rng.integers(-LATENT_LIMIT, LATENT_LIMIT + 1, dim)
    small = rng.integers(-3, 4, dim)
    spike = np.where(np.arange(dim) == seed % dim, LATENT_LIMIT, 0)
    other_spike = np.roll(spike, 1)  # of the same norm, and orthogonal where there is room
    corner = np.full(dim, LATENT_LIMIT)
    signs = rng.choice([-1, 1], dim) * LATENT_LIMIT
    one = np.eye(1, dim, dtype=np.int64)[0]
    tilted = rng.permutation(wild)
    halves = [np.zeros(dim, dtype=np.int64), wild, small, spike, other_spike, corner, signs, one, tilted]
    return np.stack([half * sign for half in halves for sign in (1, -1)])


def opposite(row: Row) -> Row:
    """The row of the negative vector in the same class: signs alternate in `vectors_of`."""
    codes, label = row
    return tuple(code ^ 1 if code != NOWHERE else code for code in codes), label


@st.composite
def latents(draw: st.DrawFn, kind: type[Latent] = Latent) -> Latent:
    dim, classes = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    per_class = [vectors_of(dim, draw(st.integers(0, 2**32 - 1))) for _ in range(classes)]
    tables = tuple(tuple(np.append(vectors[:, c], 0) for c in range(dim)) for vectors in per_class)
    radii = []
    for vectors in per_class:
        norm = int((vectors[draw(st.integers(2, len(vectors) - 1))] ** 2).sum())
        near = norm + draw(st.integers(-2, 2))  # rows exactly on the radius, and just beyond it
        fixed = st.sampled_from([1, 2, 3, 50, ONE**2, dim * ONE**2, dim * LATENT_LIMIT**2, 2**60, 2**90])
        radii.append(max(1, draw(st.one_of(st.just(near), fixed))))
    maps = None
    if draw(st.booleans()):
        maps = tuple(_map_of(draw, dim) for _ in range(classes))
    return kind(ScoreImage(tables), tuple(radii), maps)


def _map_of(draw: st.DrawFn, dim: int) -> Ints:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    limit = draw(st.sampled_from([1, 1 << MAP_BITS, MAP_LIMIT]))
    return np.asarray(
        draw(
            st.sampled_from(
                [
                    rng.integers(-limit, limit + 1, (dim, dim)),
                    np.full((dim, dim), limit),  # saturates
                    np.eye(dim, dtype=np.int64) * limit,
                    rng.permutation(np.eye(dim, dtype=np.int64)) * -limit,
                ]
            )
        )
    )


@st.composite
def moment_cases(
    draw: st.DrawFn, adjacency: Adjacency, kind: type[GroupSums] = GroupSums, latent: type[Latent] = Latent
) -> Case:
    image = draw(latents(latent))
    top, classes = len(image.image.tables[0][0]) - 2, len(image.radii)
    whole = st.integers(NOWHERE, top).map(lambda code: (code,) * image.dim)
    mixed = st.integers(0, 2**32 - 1).map(
        lambda seed: tuple(np.random.default_rng(seed).integers(NOWHERE, top + 1, image.dim).tolist())
    )
    rows = st.tuples(st.one_of(whole, whole, mixed), st.integers(BAD_LABEL, classes - 1))
    query = kind(image, draw(st.sampled_from(SHARES)))
    return Case(query, *draw(neighbours(rows, classes, adjacency, opposite)))


@pytest.mark.parametrize("adjacency", Adjacency)
def test_histograms_keep_their_bound(adjacency: Adjacency) -> None:
    hunt(histogram_cases(adjacency), adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_moments_keep_their_bound(adjacency: Adjacency) -> None:
    hunt(moment_cases(adjacency), adjacency, examples=250)


@settings(deadline=None)
@given(latents(), st.integers(0, 2**32 - 1))
def test_clipped_rows_are_whole_numbers_within_the_radius(latent: Latent, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(NOWHERE, len(latent.image.tables[0][0]) - 1, (latent.dim, 30))
    for k, radius in enumerate(latent.radii):
        z = latent.rows(Batch(codes.astype(np.int16), np.full(30, k)), k)
        assert np.array_equal(z, np.trunc(z))
        assert all(sum(int(x) ** 2 for x in row) <= radius for row in z.T)


# Planted faults: the same hunt must find them


class CountsTwice(Histograms):
    """The first column enters twice."""

    def total(self, batch: Batch) -> Ints:
        total = super().total(batch).reshape(self.classes, -1)
        total[:, : self.sizes[0]] *= 2
        return total.ravel()


class UnevenTotals(Histograms):
    """Weights of 1 for every column, as if the shares did not have to be taken from one budget."""

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        return np.ones(self.size)


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        return Latent(self.image, (2**90,) * len(self.radii), self.maps).rows(batch, k)


class Rounded(Latent):
    """Clipped rows are rounded to the nearest whole number, which may be longer."""

    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        z = Latent(self.image, (2**90,) * len(self.radii), self.maps).rows(batch, k)
        norms = np.maximum(1.0, (z * z).sum(axis=0))
        return np.rint(z * np.minimum(1.0, np.sqrt(self.radii[k] / norms)))


class BothTriangles(GroupSums):
    """Off the diagonal the weight is 2, as for two equal coordinates whose noise is added."""

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        rows, columns = self._upper
        block = np.concatenate([np.ones(1 + self.latent.dim), np.where(rows == columns, 1.0, math.sqrt(2.0))])
        return super().weights * np.tile(block, len(self.latent.radii))


class BlanketBound(GroupSums):
    """The blanket rule: a replacement moves sqrt(2) times as far as an addition."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(LABEL if adjacency is REPLACE_ONE else adjacency)


class LabelIsOneBlock(GroupSums):
    """Lemma: only one class changes when a label does. It is wrong."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(ADD_REMOVE if adjacency is LABEL else adjacency)


FAULTS: dict[str, Callable[[], tuple[st.SearchStrategy[Case], Adjacency]]] = {
    "a cell counted twice": lambda: (histogram_cases(ADD_REMOVE, CountsTwice), ADD_REMOVE),
    "shares forgotten": lambda: (histogram_cases(LABEL, UnevenTotals), LABEL),
    "no clipping": lambda: (moment_cases(ADD_REMOVE, latent=Unclipped), ADD_REMOVE),
    "rounding after clipping": lambda: (moment_cases(ADD_REMOVE, latent=Rounded), ADD_REMOVE),
    "both triangles": lambda: (moment_cases(ADD_REMOVE, BothTriangles), ADD_REMOVE),
    "blanket replace-one": lambda: (moment_cases(REPLACE_ONE, BlanketBound), REPLACE_ONE),
    "label changes one block": lambda: (moment_cases(LABEL, LabelIsOneBlock), LABEL),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    cases, adjacency = FAULTS[fault]()
    with pytest.raises(AssertionError):
        hunt(cases, adjacency, examples=2000)


# Tightness: the bounds cannot be loosened unseen


def histograms(kind: type[Histograms] = Histograms) -> Histograms:
    return kind((3, 2, 4), 2, (0.5, 0.2, 0.3))


def moments(
    shares: tuple[float, float, float],
    vectors: list[tuple[float, ...]],
    radius: float = 4.0,
    kind: type[GroupSums] = GroupSums,
) -> GroupSums:
    table = [np.array(column) for column in zip(*vectors, strict=True)]
    return kind(latent_space(score_image([table, table]), [radius, radius]), shares)


def worst_pair(shares: tuple[float, float, float], radius: float, kind: type[GroupSums] = GroupSums) -> Case:
    """Two rows of one class whose exchange moves the moments furthest; no coordinate axis is special."""
    x = min(1.0, shares[1] / (2 * shares[2]))
    z = np.array([1.0, 1.0, 0.0]) / math.sqrt(2)
    across = np.array([1.0, -1.0, 2.0]) / math.sqrt(6)
    y = -x * z + math.sqrt(1 - x * x) * across
    query = moments(shares, [tuple(radius * z), tuple(radius * y)], radius, kind)
    return Case(query, [((0, 0, 0), 0)], [((1, 1, 1), 0)])


def row(code: int, label: int, width: int = 3) -> Row:
    return ((code,) * width, label)


FAR = (3.0, -9.0, 12.0)  # beyond the radius, so clipped to it

TIGHT: dict[str, tuple[Adjacency, Callable[[], Case]]] = {
    "histograms, a row added": (ADD_REMOVE, lambda: Case(histograms(), [], [row(1, 1)])),
    "histograms, a label changed": (LABEL, lambda: Case(histograms(), [row(1, 0)], [row(1, 1)])),
    "histograms, a row replaced": (REPLACE_ONE, lambda: Case(histograms(), [row(1, 0)], [row(0, 0)])),
    **{
        f"moments {shares}, a row added": (
            ADD_REMOVE,
            lambda shares=shares: Case(moments(shares, [FAR]), [row(0, 1)], [row(0, 1)] * 2),
        )
        for shares in SHARES
    },
    **{
        f"moments {shares}, a label changed": (
            LABEL,
            lambda shares=shares: Case(moments(shares, [FAR]), [row(0, 0)], [row(0, 1)]),
        )
        for shares in SHARES
    },
    "moments, a row replaced by one of another class": (
        REPLACE_ONE,
        lambda: Case(moments(SHARES[0], [FAR, (1.0, 1.0, 9.0)]), [row(0, 0)], [row(1, 1)]),
    ),
    "moments, a row replaced by its opposite": (REPLACE_ONE, lambda: worst_pair((0.05, 0.9, 0.05), 4.0)),
    "moments, a row replaced at an angle": (REPLACE_ONE, lambda: worst_pair((0.1, 0.5, 0.4), 4.0)),
    "moments, a row replaced at a wider angle": (REPLACE_ONE, lambda: worst_pair((0.02, 0.6, 0.38), 15.0)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_reaches_the_bound(name: str) -> None:
    adjacency, build = TIGHT[name]
    case = build()
    check_bound(case, adjacency)
    check_tight(case, adjacency)


@pytest.mark.parametrize("shares", [(0.1, 0.5, 0.4), (0.02, 0.6, 0.38), (0.05, 0.9, 0.05)])
def test_replacement_inside_a_class_costs_more_than_the_blanket_rule(
    shares: tuple[float, float, float],
) -> None:
    case = worst_pair(shares, 8.0)
    assert change(case) > math.sqrt(2.0) * 1.01
    with pytest.raises(AssertionError):
        check_bound(worst_pair(shares, 8.0, BlanketBound), REPLACE_ONE)


class ForgetsRootTwo(GroupSums):
    """Weight c off the diagonal: safe, but more noise than is paid for."""

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        rows, columns = self._upper
        block = np.concatenate([np.ones(1 + self.latent.dim), np.where(rows == columns, 1.0, math.sqrt(0.5))])
        return super().weights * np.tile(block, len(self.latent.radii))


class Loose(GroupSums):
    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(adjacency) * 1.02


@pytest.mark.parametrize("kind", [ForgetsRootTwo, Loose])
def test_the_check_of_tightness_has_teeth(kind: type[GroupSums]) -> None:
    case = Case(moments((0.1, 0.1, 0.8), [FAR], kind=kind), [], [row(0, 0)])
    with pytest.raises(AssertionError):
        check_tight(case, ADD_REMOVE)


# A row's contribution is a function of that row alone


@dataclass(frozen=True)
class Rows:
    """A latent image and many rows for it."""

    latent: Latent
    codes: NDArray[np.int16]
    labels: Ints

    def batch(self, keep: Any = slice(None)) -> Batch:
        return Batch(self.codes[:, keep], self.labels[keep])


def many_rows(
    dim: int, seed: int, count: int, mapped: bool, radius: float | None = None, kind: type[Latent] = Latent
) -> Rows:
    rng = np.random.default_rng(seed)
    bins, classes = 64, 2
    tables = [[rng.normal(size=bins) for _ in range(dim)] for _ in range(classes)]
    maps = [rng.normal(size=(dim, dim)) for _ in range(classes)] if mapped else None
    image = tables if kind is FloatLatent else score_image(tables)
    latent = kind.of(image, [radius or math.sqrt(dim) * (dim if mapped else 1) ** 0.5] * classes, maps)
    codes = rng.integers(NOWHERE, bins, (dim, count)).astype(np.int16)
    return Rows(latent, codes, rng.integers(0, classes, count))


def rows_that_depend_on_others(rows: Rows, seed: int = 0) -> int:
    """How many rows of class 0 have another image, by a bit, when the rows around them change."""
    rng = np.random.default_rng(seed)
    count = len(rows.labels)
    mine = np.flatnonzero(rows.labels == 0)
    whole = rows.latent.rows(rows.batch(), 0)
    changed = np.zeros(count, dtype=bool)
    shuffled = rng.permutation(count)
    parts = [shuffled, np.flatnonzero(rng.random(count) < 0.5), np.arange(count)[::3], *mine[:40, None]]
    parts += np.array_split(np.arange(count), 7)  # batches of other sizes
    parts.append(np.delete(np.arange(count), rng.integers(count)))
    for part in parts:
        kept = part[rows.labels[part] == 0]
        image = rows.latent.rows(rows.batch(part), 0)
        differs = (image.view(np.int64) != whole[:, np.searchsorted(mine, kept)].view(np.int64)).any(axis=0)
        changed[kept[differs]] = True
    return int(changed.sum())


class FloatLatent(Latent):
    """The same product and the same clipping in floating point, off the grid."""

    @classmethod
    def of(cls, tables: Any, radii: Any, maps: Any = None) -> FloatLatent:
        real = [[np.append(table, 0.0) for table in row] for row in tables]
        image = SimpleNamespace(tables=real, dim=len(real[0]))
        return cls(image, tuple(radii), None if maps is None else tuple(maps))  # type: ignore[arg-type]

    def rows(self, batch: Batch, k: int) -> NDArray[np.float64]:
        codes = batch.codes[:, batch.labels == k]
        z = np.stack([table[codes[c]] for c, table in enumerate(self.image.tables[k])])
        if self.maps is not None:
            z = self.maps[k] @ z
        norms = np.sqrt((z * z).sum(axis=0))
        return z * np.minimum(1.0, self.radii[k] / np.maximum(norms, 1e-300))


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(("dim", "seed"), [(1, 0), (3, 1), (14, 2), (27, 3), (50, 4)])
def test_no_row_changes_with_the_rows_around_it(dim: int, seed: int, mapped: bool) -> None:
    assert rows_that_depend_on_others(many_rows(dim, seed, 3000, mapped)) == 0


def test_in_floating_point_rows_do_change_with_the_rows_around_them() -> None:
    found = [rows_that_depend_on_others(many_rows(dim, dim, 3000, True, kind=FloatLatent)) for dim in (14, 27, 50)]
    assert max(found) > 0


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("dim", [1, 14, 50])
def test_contributions_add_up_bit_for_bit(dim: int, mapped: bool) -> None:
    rows = many_rows(dim, 5, 300, mapped)
    for query in (
        GroupSums(rows.latent, (0.2, 0.3, 0.5), "outer"),
        Histograms((64,) * dim, 2, (1 / dim,) * dim),
    ):
        alone = sum((query.total(rows.batch(slice(i, i + 1))) for i in range(300)), np.zeros(query.size, int))
        whole = query.total(rows.batch())
        assert whole.dtype == np.int64
        assert np.array_equal(alone, whole)
        assert np.array_equal(query.total(rows.batch(slice(0, 0))), np.zeros(query.size))


def layouts(codes: NDArray[np.int16]) -> dict[str, NDArray[Any]]:
    padded = np.full((2 * codes.shape[0], 3 * codes.shape[1]), 7, dtype=np.int16)
    padded[::2, ::3] = codes
    return {
        "Fortran": np.asfortranarray(codes),
        "int32": codes.astype(np.int32),
        "int64": codes.astype(np.int64),
        "strided": padded[::2, ::3],
        "backwards": np.ascontiguousarray(codes[:, ::-1])[:, ::-1],
        "transposed": np.ascontiguousarray(codes.T).T,
    }


@pytest.mark.parametrize("mapped", [False, True])
def test_layout_and_type_of_codes_do_not_matter(mapped: bool) -> None:
    rows = many_rows(23, 6, 3000, mapped)
    query, counts = GroupSums(rows.latent, (0.2, 0.3, 0.5), "outer"), Histograms((64,) * 23, 2, (1 / 23,) * 23)
    for name, codes in layouts(rows.codes).items():
        other = Batch(codes, rows.labels)
        for k in range(2):
            assert np.array_equal(rows.latent.rows(rows.batch(), k), rows.latent.rows(other, k)), name
        assert np.array_equal(query.total(rows.batch()), query.total(other)), name
        assert np.array_equal(counts.total(rows.batch()), counts.total(other)), name


def test_a_row_on_the_radius_stays_and_one_beyond_it_is_cut() -> None:
    table = (np.array([3 * ONE, 3 * ONE + 1, 0]), np.array([4 * ONE, 4 * ONE, 0]))
    latent = Latent(ScoreImage((table,)), ((5 * ONE) ** 2,))
    for others in (0, 1, 2999):  # whatever stands beside it
        codes = np.zeros((2, 2 + others), dtype=np.int16)
        codes[0, 1:] = 1
        z = latent.rows(Batch(codes, np.zeros(2 + others, dtype=np.int64)), 0)
        assert z[:, 0].tolist() == [3 * ONE, 4 * ONE]
        assert (z[:, 1] < [3 * ONE + 1, 4 * ONE]).all()
        assert (z[:, 1:] == z[:, 1:2]).all()


def test_rows_are_clipped_to_the_radius_and_not_further() -> None:
    rows = many_rows(9, 7, 500, False, radius=0.75)
    limit = rows.latent.radii[0]
    norms = np.sqrt((rows.latent.rows(rows.batch(), 0) ** 2).sum(axis=0))
    assert norms.max() <= math.sqrt(limit)
    assert norms[norms > 0].min() > math.sqrt(limit) - 3.1  # truncation takes less than one from each of nine


def test_the_code_for_nowhere_sits_at_zero() -> None:
    latent = latent_space(score_image([[np.array([1.0, 2.0]), np.array([3.0, 4.0])]]), [20.0])
    z = latent.rows(Batch(np.array([[-1, 1], [0, -1]], dtype=np.int16), np.zeros(2, dtype=np.int64)), 0)
    assert z.T.tolist() == [[0, 3 * ONE], [2 * ONE, 0]]


# Exactness and capacity


def test_the_caps_keep_every_sum_exact() -> None:
    assert BATCH_CAP * LATENT_LIMIT**2 < 2**53  # one product in float64
    assert LATENT_LIMIT * MAP_LIMIT * 2**20 < 2**53  # a map of a million columns
    assert source.ROW_CAP * LATENT_LIMIT**2 < 2**62  # what the noise takes


def test_a_full_batch_of_extreme_rows_is_exact() -> None:
    # Odd numbers near the limit, so that a sum that is rounded anywhere is wrong.
    values = [LATENT_LIMIT, LATENT_LIMIT - 2, -LATENT_LIMIT]
    table = np.array([*values, 0])
    latent = Latent(ScoreImage(((table, table),)), (2**40,))
    codes = np.empty((2, BATCH_CAP), dtype=np.int16)
    codes[0] = 0
    codes[0, ::5] = 1
    codes[1] = np.where(np.arange(BATCH_CAP) % 3 == 0, 1, 0)
    codes[1, -7:] = 2
    total = GroupSums(latent, (0.2, 0.3, 0.5), "outer").total(Batch(codes, np.zeros(BATCH_CAP, dtype=np.int64)))

    pairs, counts = np.unique(codes, axis=1, return_counts=True)
    rows = [((values[a], values[b]), int(n)) for (a, b), n in zip(pairs.T.tolist(), counts, strict=True)]
    exact = [sum(n for _, n in rows)]
    exact += [sum(row[i] * n for row, n in rows) for i in range(2)]
    exact += [sum(row[i] * row[j] * n for row, n in rows) for i, j in ((0, 0), (0, 1), (1, 1))]
    assert total.tolist() == exact


def test_a_batch_above_the_cap_is_refused() -> None:
    latent = latent_space(score_image([[np.array([1.0])]]), [2.0])
    rows = Batch(np.zeros((1, BATCH_CAP + 1), dtype=np.int16), np.zeros(BATCH_CAP + 1, dtype=np.int64))
    with pytest.raises(ValueError, match="at most"):
        GroupSums(latent, (0.2, 0.3, 0.5), "outer").total(rows)


@pytest.mark.parametrize("dim", [1, 2, 17])
def test_totals_equal_sums_of_python_integers(dim: int) -> None:
    rows = many_rows(dim, 8, 200, True)
    total = GroupSums(rows.latent, (0.2, 0.3, 0.5), "outer").total(rows.batch())
    expected: list[int] = []
    for k in range(2):
        z = [[int(x) for x in column] for column in rows.latent.rows(rows.batch(), k).T]
        expected.append(len(z))
        expected += [sum(row[i] for row in z) for i in range(dim)]
        expected += [sum(row[i] * row[j] for row in z) for i in range(dim) for j in range(i, dim)]
    assert total.tolist() == expected


def test_the_image_of_a_row_is_what_integers_say() -> None:
    rows = many_rows(11, 9, 50, True, radius=1000.0)  # nothing is clipped
    tables, matrix = rows.latent.image.tables[1], rows.latent.maps[1].tolist()  # type: ignore[index]
    mine = rows.batch().labels == 1
    for codes, image in zip(rows.codes[:, mine].T, rows.latent.rows(rows.batch(), 1).T, strict=True):
        z = [int(table[code]) for table, code in zip(tables, codes, strict=True)]
        sums = [sum(m * x for m, x in zip(line, z, strict=True)) for line in matrix]
        expected = [int(math.copysign(abs(s) >> MAP_BITS, s)) for s in sums]
        assert image.tolist() == [max(-LATENT_LIMIT, min(LATENT_LIMIT, x)) for x in expected]


def test_quantised_values_stay_inside_the_limits() -> None:
    wild = np.array([1e9, -1e9, np.inf, -np.inf, 15.99999, 0.3])
    latent = latent_space(score_image([[wild]]), [1e-30], [np.array([[-1e300]])])
    assert np.abs(latent.image.tables[0][0]).max() == LATENT_LIMIT
    assert latent.image.tables[0][0].tolist()[-2:] == [round(0.3 * ONE), 0]
    assert latent.maps is not None
    assert latent.maps[0].tolist() == [[-MAP_LIMIT]]
    assert latent.radii == (1,)


# Packing


def test_histograms_unpack_to_one_table_a_column() -> None:
    query = Histograms((3, 2), 2, (0.25, 0.75))
    rows: list[Row] = [((0, 1), 0), ((2, -1), 1), ((2, 0), 1)]
    first, second = unpack(query, query.total(batch(rows, 2)).astype(float))
    assert first.tolist() == [[1, 0, 0], [0, 0, 2]]
    assert second.tolist() == [[0, 1], [1, 0]]
    first, second = unpack(query, query.weights)
    assert np.allclose(first, 0.5)
    assert np.allclose(second, math.sqrt(0.75))


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_moments_unpack_to_counts_sums_and_symmetric_matrices(dim: int) -> None:
    rows = many_rows(dim, 10, 100, True)
    query = GroupSums(rows.latent, (0.2, 0.3, 0.5), "outer")
    counts, sums, second = unpack(query, query.total(rows.batch()).astype(float))
    assert counts.shape == (2,)
    assert sums.shape == (2, dim)
    assert second.shape == (2, dim, dim)
    for k in range(2):
        z = rows.latent.rows(rows.batch(), k) / ONE
        assert counts[k] == z.shape[1]
        assert np.array_equal(sums[k], z.sum(axis=1))
        assert np.array_equal(second[k], z @ z.T)
        assert np.array_equal(second[k], second[k].T)


@settings(deadline=None)
@given(moment_cases(ADD_REMOVE), histogram_cases(ADD_REMOVE))
def test_weights_are_positive_and_one_for_each_coordinate(moment: Case, histogram: Case) -> None:
    for query in (moment.query, histogram.query):
        assert query.weights.shape == (query.size,)
        assert (query.weights > 0).all()
        assert np.isfinite(query.weights).all()


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (0.5, 0.5 + 1e-9)], ids=str)
def test_shares_that_are_not_shares_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="shares"):
        Histograms((2, 2), 2, shares)
    if len(shares) == 2:
        with pytest.raises(ValueError, match="shares"):
            GroupSums(
                latent_space(score_image([[np.array([1.0])]]), [2.0]),
                (shares[0] / 2, shares[0] / 2, shares[1]),
                "outer",
            )


NAN = np.array([[math.nan]])


@pytest.mark.parametrize(
    "build",
    [
        lambda: latent_space(score_image([[NAN[0]]]), [2.0]),
        lambda: latent_space(score_image([[np.ones(1)]]), [2.0], [NAN]),
        lambda: Histograms((2,), 1, (math.nan,)),
    ],
    ids=["table", "map", "share"],
)
def test_a_query_made_of_nan_is_refused(build: Callable[[], object]) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(ValueError):
        build()


@pytest.mark.parametrize(
    ("table", "radius", "matrix"),
    [
        (np.array([LATENT_LIMIT + 1, 0]), 4, None),
        (np.array([1, 2]), 4, None),  # the code for nowhere must sit at zero
        (np.array([1, 0]), 0, None),
        (np.array([1, 0]), 4, np.array([[MAP_LIMIT + 1]])),
    ],
    ids=["table", "nowhere", "radius", "map"],
)
def test_a_latent_image_off_its_grid_is_refused(table: Ints, radius: int, matrix: Ints | None) -> None:
    with pytest.raises(ValueError):
        Latent(ScoreImage(((table,),)), (radius,), None if matrix is None else (matrix,))
