"""Counts, sums and second moments by classes: how far one row can move them, that it does so alone, exactness."""

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
    Ints,
    Row,
    blanket,
    check_bound,
    check_rows_add_up,
    check_tight,
    code_rows,
    coded,
    cut,
    hunt,
    layouts,
    mistaken,
    neighbours,
    one_block,
    parts_of,
    told,
)

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import latent_space, score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base
from sfumato.private.queries.base import BATCH_CAP, LATENT_LIMIT, MAP_BITS, MAP_LIMIT, Batch, Image, Public
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import ScoreImage

SHARES = [
    (1 / 3, 1 / 3, 1 / 3),
    (0.05, 0.9, 0.05),  # replacing z by -z: twice the square root of 0.9
    (0.1, 0.5, 0.4),  # the worst replacement is at an angle
    (0.2, 0.1, 0.7),
    (1e-9, 1 - 2e-9, 1e-9),
    (1e-9, 1e-9, 1 - 2e-9),
    (1 - 2e-9, 1e-9, 1e-9),
]
SECONDS = ("none", "outer", "norm")


def parts(shares: tuple[float, float, float], second: str) -> tuple[float, ...]:
    """As many shares as there are parts."""
    return shares if second != "none" else (shares[0], shares[1] + shares[2])


# Neighbours that a proof might overlook


def vectors_of(dim: int, seed: int) -> Ints:
    """Latent vectors, one a row; row j is what the codes (j, j, ...) stand for."""
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


@st.composite
def latents(draw: st.DrawFn, kind: type = Latent, widest: int = 40) -> Any:
    dim, classes = draw(st.integers(1, widest)), draw(st.integers(1, 3))
    per_class = [vectors_of(dim, draw(st.integers(0, 2**32 - 1))) for _ in range(classes)]
    tables = tuple(tuple(np.append(vectors[:, c], 0) for c in range(dim)) for vectors in per_class)
    radii = []
    for vectors in per_class:
        norm = int((vectors[draw(st.integers(2, len(vectors) - 1))] ** 2).sum())
        near = norm + draw(st.integers(-2, 2))  # rows exactly on the radius, and just beyond it
        fixed = st.sampled_from([1, 2, 3, 50, ONE**2, dim * ONE**2, dim * LATENT_LIMIT**2, UNCLIPPED])
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
def cases(
    draw: st.DrawFn,
    adjacency: Adjacency,
    second: str = "outer",
    kind: type = GroupSums,
    latent: type = Latent,
    widest: int = 40,
    shares: list[tuple[float, float, float]] = SHARES,
) -> Case:
    space = draw(latents(latent, widest))
    rows = code_rows(space.image.dim, len(space.image.tables[0][0]) - 2, len(space.radii))
    query = kind(space, parts(draw(st.sampled_from(shares)), second), second)
    before, after = neighbours(draw, rows, len(space.radii), adjacency, most=12)
    return Case(query, coded(before, space.image.dim), coded(after, space.image.dim))


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("second", SECONDS)
def test_they_keep_their_bound(second: str, adjacency: Adjacency) -> None:
    hunt(cases(adjacency, second), adjacency, examples=some(150 if second == "outer" else 80))


@settings(deadline=None)
@given(latents(), st.integers(0, 2**32 - 1))
def test_clipped_rows_are_whole_numbers_within_the_radius(latent: Latent, seed: int) -> None:
    assert isinstance(latent.image, ScoreImage)
    codes = np.random.default_rng(seed).integers(NOWHERE, len(latent.image.tables[0][0]) - 1, (latent.image.dim, 30))
    for k, radius in enumerate(latent.radii):
        z = latent.rows(Batch(codes.astype(np.int16), np.full(30, k)), k)
        assert np.array_equal(z, np.trunc(z))
        assert z.shape[1] == 30
        assert all(sum(int(x) ** 2 for x in row) <= radius for row in z.T)


# Planted faults: the same hunt must find them


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> Floats:
        return Latent(self.image, (UNCLIPPED,) * len(self.radii), self.maps).rows(batch, k)


class Rounded(Latent):
    """Clipped rows are rounded to the nearest whole number, which may be longer."""

    def rows(self, batch: Batch, k: int) -> Floats:
        z = Latent(self.image, (UNCLIPPED,) * len(self.radii), self.maps).rows(batch, k)
        norms = np.maximum(1.0, (z * z).sum(axis=0))
        return np.rint(z * np.minimum(1.0, np.sqrt(self.radii[k] / norms)))


def lifted(query: GroupSums, weights: Floats, lift: float) -> Floats:
    """The weights with those off the diagonal times `lift`."""
    rows, columns = np.triu_indices(query.latent.image.dim)
    block = np.concatenate([np.ones(1 + query.latent.image.dim), np.where(rows == columns, 1.0, lift)])
    return weights * np.tile(block, len(query.latent.radii))


class BothTriangles(GroupSums):
    """Off the diagonal the weight is 2, as for two equal coordinates whose noise is added."""

    @cached_property
    def weights(self) -> Floats:
        return lifted(self, super().weights, math.sqrt(2.0))


FAULTS: dict[str, Callable[[], tuple[st.SearchStrategy[Case], Adjacency]]] = {
    "no clipping": lambda: (cases(ADD_REMOVE, latent=Unclipped), ADD_REMOVE),
    "no clipping, sums": lambda: (cases(ADD_REMOVE, "none", latent=Unclipped), ADD_REMOVE),
    "no clipping, squared norms": lambda: (cases(ADD_REMOVE, "norm", latent=Unclipped), ADD_REMOVE),
    "rounding after clipping": lambda: (cases(ADD_REMOVE, latent=Rounded), ADD_REMOVE),
    "both triangles": lambda: (cases(ADD_REMOVE, kind=BothTriangles), ADD_REMOVE),
    "blanket replace-one": lambda: (
        cases(REPLACE_ONE, kind=blanket(GroupSums), widest=6, shares=SHARES[1:2]),
        REPLACE_ONE,
    ),
    "label changes one block": lambda: (cases(LABEL, kind=one_block(GroupSums)), LABEL),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    found, adjacency = FAULTS[fault]()
    with pytest.raises(AssertionError):
        hunt(found, adjacency, examples=2000)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_without_clipping_rows_that_are_too_long_count_nowhere(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line: the bound rests on no clipping, because every row's length is looked at."""
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: z)
    hunt(cases(adjacency), adjacency, examples=some(60))


# Tightness: the bounds cannot be loosened unseen


def moments(
    shares: tuple[float, float, float], vectors: list[tuple[float, ...]], radius: float = 4.0, kind: type = GroupSums
) -> GroupSums:
    table = [np.array(column) for column in zip(*vectors, strict=True)]
    return kind(latent_space(score_image([table, table]), [radius, radius]), shares, "outer")


def case(query: GroupSums, before: list[Row], after: list[Row]) -> Case:
    return Case(query, coded(before, 3), coded(after, 3))


def worst_pair(shares: tuple[float, float, float], radius: float, kind: type = GroupSums) -> Case:
    """Two rows of one class whose exchange moves the moments furthest; no coordinate axis is special."""
    x = min(1.0, shares[1] / (2 * shares[2]))
    z = np.array([1.0, 1.0, 0.0]) / math.sqrt(2)
    across = np.array([1.0, -1.0, 2.0]) / math.sqrt(6)
    y = -x * z + math.sqrt(1 - x * x) * across
    query = moments(shares, [tuple(radius * z), tuple(radius * y)], radius, kind)
    return case(query, [((0, 0, 0), 0)], [((1, 1, 1), 0)])


def row(code: int, label: int) -> Row:
    return (code,) * 3, label


FAR = (3.0, -9.0, 12.0)  # beyond the radius, so clipped to it

TIGHT: dict[str, tuple[Adjacency, Callable[[], Case]]] = {
    **{
        f"{shares}, a row added": (
            ADD_REMOVE,
            lambda shares=shares: case(moments(shares, [FAR]), [row(0, 1)], [row(0, 1)] * 2),
        )
        for shares in SHARES
    },
    **{
        f"{shares}, a label changed": (
            LABEL,
            lambda shares=shares: case(moments(shares, [FAR]), [row(0, 0)], [row(0, 1)]),
        )
        for shares in SHARES
    },
    "a row replaced by one of another class": (
        REPLACE_ONE,
        lambda: case(moments(SHARES[0], [FAR, (1.0, 1.0, 9.0)]), [row(0, 0)], [row(1, 1)]),
    ),
    "a row replaced by its opposite": (REPLACE_ONE, lambda: worst_pair((0.05, 0.9, 0.05), 4.0)),
    "a row replaced at an angle": (REPLACE_ONE, lambda: worst_pair((0.1, 0.5, 0.4), 4.0)),
    "a row replaced at a wider angle": (REPLACE_ONE, lambda: worst_pair((0.02, 0.6, 0.38), 15.0)),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_reaches_the_bound(name: str) -> None:
    adjacency, build = TIGHT[name]
    check_tight(build(), adjacency)


@pytest.mark.parametrize("shares", [(0.1, 0.5, 0.4), (0.02, 0.6, 0.38), (0.05, 0.9, 0.05)])
def test_replacement_inside_a_class_costs_more_than_the_blanket_rule(shares: tuple[float, float, float]) -> None:
    assert worst_pair(shares, 8.0).change > math.sqrt(2.0) * 1.01
    with pytest.raises(AssertionError):
        check_bound(worst_pair(shares, 8.0, blanket(GroupSums)), REPLACE_ONE)


def test_one_group_has_no_other_to_go_to() -> None:
    """Without classes a replacement costs what two rows of the group are apart: here less than sqrt(2)."""
    table = [np.array([9.0, -9.0])]
    query = GroupSums(latent_space(score_image([table]), [4.0]), (0.7, 0.3))
    opposite = Case(query, coded([((0,), 0)], 1), coded([((1,), 0)], 1))
    check_tight(opposite, REPLACE_ONE)
    assert query.reach.sensitivity(REPLACE_ONE) < 1.1


class ForgetsRootTwo(GroupSums):
    """Weight c off the diagonal: safe, but more noise than is paid for."""

    @cached_property
    def weights(self) -> Floats:
        return lifted(self, super().weights, math.sqrt(0.5))


@pytest.mark.parametrize("kind", [ForgetsRootTwo, mistaken(GroupSums, one=lambda right: 1.02 * right.one)])
def test_the_check_of_tightness_has_teeth(kind: type) -> None:
    loose = case(moments((0.1, 0.1, 0.8), [FAR], kind=kind), [], [row(0, 0)])
    with pytest.raises(AssertionError):
        check_tight(loose, ADD_REMOVE)


# A row that is too long counts nowhere, whatever was done to it before


@dataclass(frozen=True)
class Lies(Image):
    """An image that grows after it was clipped is not possible; one beyond its own limit is cut by the radius."""

    by: float = 1.0

    @property
    def dim(self) -> int:
        return 2

    def check(self, public: Public, classes: int) -> None:
        pass

    def rows(self, batch: Batch, mine: Any, k: int) -> Floats:
        return np.full((2, int(mine.sum())), self.by)


@pytest.mark.parametrize("by", [math.nan, math.inf])
@pytest.mark.parametrize("second", SECONDS)
def test_rows_that_are_no_numbers_count_nowhere(by: float, second: str) -> None:
    query = GroupSums(Latent(Lies(by), (4,)), parts((0.2, 0.3, 0.5), second), second)
    with np.errstate(invalid="ignore"):
        assert not told(query, coded([((0,), 0)] * 3, 1)).any()


# A row's contribution is a function of that row alone


@dataclass(frozen=True)
class Rows:
    """A latent image and many rows for it."""

    latent: Any
    codes: NDArray[np.int16]
    labels: Ints

    def batch(self, keep: Any = slice(None)) -> Batch:
        return Batch(self.codes[:, keep], self.labels[keep])


def many_rows(dim: int, seed: int, count: int, mapped: bool, radius: float | None = None, kind: Any = Latent) -> Rows:
    rng = np.random.default_rng(seed)
    bins, classes = 64, 2
    tables = [[rng.normal(size=bins) for _ in range(dim)] for _ in range(classes)]
    maps = [rng.normal(size=(dim, dim)) for _ in range(classes)] if mapped else None
    radii = [radius or math.sqrt(dim) * (dim if mapped else 1) ** 0.5] * classes
    latent = kind.of(tables, radii, maps) if kind is FloatLatent else latent_space(score_image(tables), radii, maps)
    codes = rng.integers(NOWHERE, bins, (dim, count)).astype(np.int16)
    return Rows(latent, codes, rng.integers(0, classes, count))


def rows_that_depend_on_others(rows: Rows) -> int:
    """How many rows of class 0 have another image, by a bit, when the rows around them change."""
    count = len(rows.labels)
    mine = np.flatnonzero(rows.labels == 0)
    whole = rows.latent.rows(rows.batch(), 0)
    changed = np.zeros(count, dtype=bool)
    for part in parts_of(count):
        kept = part[rows.labels[part] == 0]
        image = rows.latent.rows(rows.batch(part), 0)
        differs = (image.view(np.int64) != whole[:, np.searchsorted(mine, kept)].view(np.int64)).any(axis=0)
        changed[kept[differs]] = True
    return int(changed.sum())


class FloatLatent(Latent):
    """The same product and the same clipping in floating point, off the grid."""

    @classmethod
    def of(cls, tables: Any, radii: Any, maps: Any = None, cells: Any = None) -> FloatLatent:
        real = [[np.append(table, 0.0) for table in row] for row in tables]
        image = SimpleNamespace(tables=real, dim=len(real[0]), limit=LATENT_LIMIT)
        return cls(image, tuple(radii), None if maps is None else tuple(maps))  # type: ignore[arg-type]

    def rows(self, batch: Batch, k: int) -> Floats:
        codes = batch.codes[:, batch.labels == k]
        z = np.stack([table[codes[c]] for c, table in enumerate(self.image.tables[k])])  # type: ignore[attr-defined]
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
@pytest.mark.parametrize(("dim", "second"), [(1, "outer"), (14, "norm"), (23, "outer"), (50, "none")])
def test_contributions_add_up_bit_for_bit(dim: int, second: str, mapped: bool) -> None:
    rows = many_rows(dim, 5, 300, mapped)
    query = GroupSums(rows.latent, parts((0.2, 0.3, 0.5), second), second)
    assert check_rows_add_up(query, rows.batch()).any(axis=1).all()  # every row says something


@pytest.mark.parametrize("mapped", [False, True])
def test_layout_and_type_of_codes_do_not_matter(mapped: bool) -> None:
    rows = many_rows(23, 6, 3000, mapped)
    for name, other in layouts(rows.batch()).items():
        for k in range(2):
            assert np.array_equal(rows.latent.rows(rows.batch(), k), rows.latent.rows(other, k)), name


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


# Exactness and capacity


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
    total = told(GroupSums(latent, (0.2, 0.3, 0.5), "outer"), Batch(codes, np.zeros(BATCH_CAP, dtype=np.int64)))

    pairs, counts = np.unique(codes, axis=1, return_counts=True)
    rows = [((values[a], values[b]), int(n)) for (a, b), n in zip(pairs.T.tolist(), counts, strict=True)]
    exact = [sum(n for _, n in rows)]
    exact += [sum(row[i] * n for row, n in rows) for i in range(2)]
    exact += [sum(row[i] * row[j] * n for row, n in rows) for i, j in ((0, 0), (0, 1), (1, 1))]
    assert total.tolist() == exact


def test_a_batch_above_the_cap_is_taken_in_parts() -> None:
    """One product over all of these rows would not be exact in float64."""
    table = np.array([LATENT_LIMIT, 0])
    query = GroupSums(Latent(ScoreImage(((table,),)), (2**40,)), (0.2, 0.3, 0.5), "outer")
    count = 3 * BATCH_CAP + 1
    total = told(query, Batch(np.zeros((1, count), dtype=np.int16), np.zeros(count, dtype=np.int64)))
    assert total.tolist() == [count, count * LATENT_LIMIT, count * LATENT_LIMIT**2]
    assert total[2] > 2**53


@pytest.mark.parametrize("second", SECONDS)
def test_chunks_change_nothing(second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many_rows(5, 11, 200, True)
    query = GroupSums(rows.latent, parts((0.2, 0.3, 0.5), second), second)
    whole = told(query, rows.batch())
    monkeypatch.setattr(base, "CHUNK_CELLS", 7 * 5)
    assert np.array_equal(told(query, rows.batch()), whole)
    monkeypatch.setattr(base, "BATCH_CAP", 3)
    assert np.array_equal(told(query, rows.batch()), whole)


@pytest.mark.parametrize("dim", [1, 2, 17])
def test_totals_equal_sums_of_python_integers(dim: int) -> None:
    rows = many_rows(dim, 8, 200, True)
    found = {
        second: told(GroupSums(rows.latent, parts((0.2, 0.3, 0.5), second), second), rows.batch()).tolist()
        for second in SECONDS
    }
    expected: dict[str, list[int]] = {second: [] for second in SECONDS}
    for k in range(2):
        z = [[int(x) for x in column] for column in rows.latent.rows(rows.batch(), k).T]
        sums = [len(z), *(sum(row[i] for row in z) for i in range(dim))]
        expected["none"] += sums
        step = 1 << (rows.latent.radii[k] >> 32).bit_length()
        expected["norm"] += [*sums, sum(sum(x * x for x in row) // step for row in z)]
        expected["outer"] += sums + [sum(row[i] * row[j] for row in z) for i in range(dim) for j in range(i, dim)]
    assert found == expected


def test_the_image_of_a_row_is_what_integers_say() -> None:
    rows = many_rows(11, 9, 50, True, radius=1000.0)  # nothing is clipped
    tables, matrix = rows.latent.image.tables[1], rows.latent.maps[1].tolist()
    mine = rows.batch().labels == 1
    for codes, image in zip(rows.codes[:, mine].T, rows.latent.rows(rows.batch(), 1).T, strict=True):
        z = [int(table[code]) for table, code in zip(tables, codes, strict=True)]
        sums = [sum(m * x for m, x in zip(line, z, strict=True)) for line in matrix]
        assert image.tolist() == [cut(int(math.copysign(abs(s) >> MAP_BITS, s))) for s in sums]


def test_quantised_radii_and_maps_stay_inside_the_limits() -> None:
    latent = latent_space(score_image([[np.ones(2)]]), [1e-30], [np.array([[-1e300]])])
    assert latent.maps is not None
    assert latent.maps[0].tolist() == [[-MAP_LIMIT]]
    assert latent.radii == (1,)


# Packing


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_they_unpack_to_counts_sums_and_second_moments(dim: int) -> None:
    rows = many_rows(dim, 10, 100, True)
    for second in SECONDS:
        query = GroupSums(rows.latent, parts((0.2, 0.3, 0.5), second), second)
        counts, sums, rest = unpack(query, told(query, rows.batch()).astype(float))
        assert counts.shape == (2,)
        assert sums.shape == (2, dim)
        assert rest.shape == {"none": (0,), "norm": (2,), "outer": (2, dim, dim)}[second]
        for k in range(2):
            z = rows.latent.rows(rows.batch(), k) / ONE
            assert counts[k] == z.shape[1]
            assert np.array_equal(sums[k], z.sum(axis=1))
            assert second != "norm" or rest[k] == (z * z).sum()
            assert second != "outer" or np.array_equal(rest[k], z @ z.T)
            assert second != "outer" or np.array_equal(rest[k], rest[k].T)


def test_weights_are_those_of_the_shares() -> None:
    query = GroupSums(latent_space(score_image([[np.ones(1)] * 2]), [2.0]), (0.3, 0.7))
    counts, sums, _ = unpack(query, query.weights)
    assert counts == pytest.approx([math.sqrt(0.3)])
    assert sums * ONE == pytest.approx(np.full((1, 2), math.sqrt(0.7) / (2.0 * ONE)))


# What is refused

ONE_COLUMN = latent_space(score_image([[np.array([1.0])]]), [2.0])


@pytest.mark.parametrize(
    ("shares", "second"),
    [
        ((0.5, 0.6), "none"),
        ((0.0, 1.0), "none"),
        ((-0.5, 0.5), "none"),
        ((0.5,), "none"),
        ((0.25, 0.25, 0.5), "none"),
        ((0.5, 0.5), "outer"),
        ((0.5, 0.6, 0.1), "norm"),
        ((0.5, math.nan, 0.5), "norm"),
        ((0.25, 0.25, 0.5 + 1e-9), "outer"),
    ],
)
def test_shares_that_are_not_shares_are_refused(shares: tuple[float, ...], second: str) -> None:
    with pytest.raises(ArgumentError, match="share"):
        GroupSums(ONE_COLUMN, shares, second)


def test_a_second_moment_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ArgumentError, match="second must be one of"):
        GroupSums(ONE_COLUMN, (0.2, 0.3, 0.5), "both")


NAN = np.array([[math.nan]])


@pytest.mark.parametrize(
    "build",
    [
        lambda: latent_space(score_image([[NAN[0]]]), [2.0]),
        lambda: latent_space(score_image([[np.ones(1)]]), [2.0], [NAN]),
    ],
    ids=["table", "map"],
)
def test_a_latent_space_made_of_nan_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        build()


@pytest.mark.parametrize(
    ("radii", "maps"),
    [
        ((), None),
        ((0,), None),
        ((4, 2**53), None),
        ((4,), (np.array([[MAP_LIMIT + 1]]),)),
        ((4,), (np.ones((1, 2), np.int64),)),
        ((4,), ()),
        ((4, 4), (np.ones((1, 1), np.int64),)),
    ],
    ids=["none", "zero", "too large", "entry", "shape", "no map", "a map too few"],
)
def test_a_latent_space_off_its_grid_is_refused(radii: tuple[int, ...], maps: tuple[Ints, ...] | None) -> None:
    with pytest.raises(ArgumentError):
        Latent(score_image([[np.ones(1)]]), radii, maps)


def test_groups_that_are_not_the_schema_s_are_refused() -> None:
    image = score_image([[np.ones(3)]] * 2)
    query = GroupSums(Latent(image, (4, 4)), (0.5, 0.5))
    query.check(Public((3,), 2))
    for public in (Public((3,), 1), Public((3,), 3), Public((4,), 2), Public((3, 3), 2)):
        with pytest.raises(ArgumentError):
            query.check(public)
