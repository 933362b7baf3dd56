"""The one rule of sensitivity, and the small parts that every query is made of."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.private.hunting import look_for
from tests.private.queries.helpers import ADD_REMOVE, LABEL, REPLACE_ONE, Ints

from sfumato import whole_numbers
from sfumato.errors import ArgumentError, insist
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base
from sfumato.private.queries.base import (
    BATCH_CAP,
    EXACT,
    LARGEST_RADIUS,
    LATENT_LIMIT,
    MAP_LIMIT,
    ROW_CAP,
    SLACK,
    Batch,
    BoolArray,
    IntArray,
    Products,
    Public,
    Query,
    Reach,
    check_shares,
    clip_rows,
    in_limbs,
    largest,
    squared_norms,
    within,
)
from sfumato.private.queries.features import FeatureImage
from sfumato.private.queries.group_sums import FeatureMoments, GroupSums, Latent
from sfumato.private.queries.images import Cells, ColumnImage, ProjectedImage, ScoreImage
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.whole_numbers import joined

ROOT = math.sqrt(2.0)

# The rule: what a query states of its rows, and what neighbouring tables can then do

RULE: list[tuple[str, Reach, dict[Adjacency, float]]] = [
    (
        "several groups: a row may go from one to another",
        Reach(one=1.0, apart=1.2, relabelled=0.0, moves=True, groups=3),
        {ADD_REMOVE: 1.0, REPLACE_ONE: ROOT, LABEL: ROOT},
    ),
    (
        "several groups, opposite rows",
        Reach(one=1.0, apart=1.9, relabelled=0.0, moves=True, groups=2),
        {ADD_REMOVE: 1.0, REPLACE_ONE: 1.9, LABEL: ROOT},
    ),
    (
        "one group: nowhere to go",
        Reach(one=1.0, apart=1.2, relabelled=0.7, moves=False, groups=1),
        {ADD_REMOVE: 1.0, REPLACE_ONE: 1.2, LABEL: 1.0},
    ),
    (
        "one group, rows that are all alike: a replaced one may still stop counting",
        Reach(one=1.0, apart=0.0, relabelled=0.0, moves=False, groups=1),
        {ADD_REMOVE: 1.0, REPLACE_ONE: 1.0, LABEL: 1.0},
    ),
    (
        "one group, labels that turn what a row adds around",
        Reach(one=1.0, apart=2.0, relabelled=2.0, moves=False, groups=1),
        {ADD_REMOVE: 1.0, REPLACE_ONE: 2.0, LABEL: 2.0},
    ),
    (
        "several groups that do not depend on the label",
        Reach(one=1.0, apart=1.2, relabelled=0.3, moves=False, groups=4),
        {ADD_REMOVE: 1.0, REPLACE_ONE: ROOT, LABEL: 1.0},
    ),
    (
        "in other units",
        Reach(one=5.0, apart=9.0, relabelled=1.0, moves=True, groups=2),
        {ADD_REMOVE: 5.0, REPLACE_ONE: 9.0, LABEL: 5.0 * ROOT},
    ),
]


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("reach", "right"), [case[1:] for case in RULE], ids=[case[0] for case in RULE])
def test_the_rule_for_rows(reach: Reach, right: dict[Adjacency, float], adjacency: Adjacency) -> None:
    assert reach.sensitivity(adjacency) == right[adjacency] * SLACK


@pytest.mark.parametrize("rows", [1, 3, 50])
@pytest.mark.parametrize(("reach", "right"), [case[1:] for case in RULE], ids=[case[0] for case in RULE])
def test_the_rule_for_units(reach: Reach, right: dict[Adjacency, float], rows: int) -> None:
    """m rows join or leave, or m replace m; other labels choose other rows, which is a replacement of up to m."""
    assert reach.sensitivity(ADD_REMOVE, rows) == pytest.approx(rows * reach.one, rel=1e-11)
    assert reach.sensitivity(REPLACE_ONE, rows) == pytest.approx(rows * right[REPLACE_ONE], rel=1e-11)
    worse = max(right[LABEL], right[REPLACE_ONE])
    assert reach.sensitivity(LABEL, rows) == pytest.approx(rows * worse, rel=1e-11)


reaches = st.builds(
    Reach,
    one=st.floats(1e-6, 1e6),
    apart=st.floats(0.0, 1e6),
    relabelled=st.floats(0.0, 1e6),
    moves=st.booleans(),
    groups=st.integers(1, 5),
)


@settings(deadline=None)
@given(reaches, st.sampled_from(Adjacency), st.one_of(st.none(), st.integers(1, 100)))
def test_no_neighbour_is_free_and_units_cost_no_less_than_rows(
    reach: Reach, adjacency: Adjacency, rows: int | None
) -> None:
    found = reach.sensitivity(adjacency, rows)
    assert found >= reach.one  # a row can always stop counting, also by its label
    assert found >= reach.sensitivity(adjacency)
    assert found == pytest.approx((rows or 1) * reach.sensitivity(adjacency, rows and 1))
    assert reach.sensitivity(REPLACE_ONE, rows) >= (rows or 1) * reach.apart
    assert reach.sensitivity(LABEL, rows) >= (rows or 1) * reach.relabelled


@settings(deadline=None)
@given(st.floats(-1.0, 1.0), st.floats(0.0, 1.0), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3))
def test_the_rule_covers_rows_on_a_line(first: float, second: float, old: int, new: int, groups: int) -> None:
    """Rows that add a number up to 1 to their group, one by one: D = 1, E = 2, and a group that is none takes them."""
    reach = Reach(one=1.0, apart=2.0, relabelled=0.0, moves=True, groups=groups)
    before, after = np.zeros(3), np.zeros(3)
    before[old], after[new] = first, -second
    moved = np.linalg.norm((after - before)[:groups])  # what is beyond counts nowhere
    assert moved <= reach.sensitivity(REPLACE_ONE)


# Batches


def batch(count: int) -> Batch:
    codes = np.arange(2 * count, dtype=np.int16).reshape(2, count)
    return Batch(codes, np.arange(count), codes.astype(np.int32) + 1, codes.astype(np.int32) + 2)


@pytest.mark.parametrize(("count", "rows", "lengths"), [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 9, [2]), (0, 4, [])])
def test_chunks_are_all_the_rows_in_order(
    monkeypatch: pytest.MonkeyPatch, count: int, rows: int, lengths: list[int]
) -> None:
    whole, image = batch(count), ColumnImage(np.zeros((1, 3), np.int64))
    monkeypatch.setattr(base, "CHUNK_CELLS", image.dim * rows + 1)
    chunks = list(whole.chunks(image))
    assert [len(chunk) for chunk in chunks] == lengths
    for name in ("codes", "labels", "fixed", "projected"):
        parts = [getattr(chunk, name) for chunk in chunks]
        assert not chunks or np.array_equal(np.concatenate(parts, axis=-1), getattr(whole, name))


def many_cells() -> GroupSums:
    """One column, and more cells than coordinates."""
    image, count = ScoreImage(((np.array([1, 2, 0]),),)), 1 << 9
    cells = Cells(image, (np.arange(count, dtype=np.int64)[:, None],))
    return GroupSums(Latent(ScoreImage(image.tables * count), (9,) * count, cells=cells), (0.5, 0.5))


def narrow_features() -> FeatureMoments:
    """Two features of many coordinates."""
    image = ProjectedImage(np.zeros((1, 1 << 9), np.int64), np.ones((1 << 9, 1), np.int64))
    gates = np.ones((1, image.dim + 1), np.int64)
    return FeatureMoments(FeatureImage(image, gates, gates), 9, 1, (0.5, 0.5))


@pytest.mark.parametrize("question", [many_cells, narrow_features])
def test_what_is_held_of_a_chunk_does_not_grow_with_the_table(
    monkeypatch: pytest.MonkeyPatch, question: Callable[[], Query]
) -> None:
    """Or a question could be made whose memory runs out from some number of rows on: an error that counts them."""
    seen: list[int] = []
    only = Batch.only

    def watched(self: Batch, rows: BoolArray | slice) -> Batch:
        found = only(self, rows)
        seen.append(len(found))
        return found

    monkeypatch.setattr(Batch, "only", watched)
    monkeypatch.setattr(base, "CHUNK_CELLS", 1 << 12)
    for count in (8, 9, 64):
        seen.clear()
        rows = Batch(np.zeros((1, count), np.int16), np.zeros(count, np.int64), None, np.ones((1, count), np.int32))
        question().total(rows)
        assert max(seen) == 8


@pytest.mark.parametrize("question", [many_cells, narrow_features])
def test_a_question_too_wide_for_one_row_is_refused(
    monkeypatch: pytest.MonkeyPatch, question: Callable[[], Query]
) -> None:
    public = Public((2,), 1) if question is many_cells else Public((2,), 1, 1, True)
    question().check(public)
    monkeypatch.setattr(base, "CHUNK_CELLS", (1 << 9) - 1)
    with pytest.raises(ArgumentError, match="question"):
        question().check(public)


def test_a_batch_without_values_stays_without() -> None:
    plain = Batch(np.zeros((2, 4), np.int16), np.arange(4))
    kept = plain.only(np.array([True, False, True, False]))
    assert (kept.fixed, kept.projected, kept.labels.tolist()) == (None, None, [0, 2])
    assert [part.tolist() for part in Batch(*kept.arrays).arrays] == [part.tolist() for part in kept.arrays]


def test_what_is_public_of_a_layout() -> None:
    column = {"x": {"type": "number", "min": 0, "max": 1, "bins": 5}, "y": {"type": "category", "values": ["a", "b"]}}
    plain = Layout.of(Schema.of({"label": "y", "columns": column}))
    assert Public.of(plain) == Public(plain.cells, 2, 0, False)  # rows are coded to the finest cells, not to bins
    assert plain.cells > plain.sizes
    assert Public.of(plain, values=True).values
    grouped = Layout.of(Schema.parse("groups: {g: {columns: 'x{1..9}', min: 0, max: 1, projection: random, keep: 4}}"))
    assert (Public.of(grouped).coordinates, Public.of(grouped).values) == (4, True)


# Grids, clipping, exactness


def test_the_caps_keep_every_sum_exact() -> None:
    assert BATCH_CAP * LATENT_LIMIT**2 < EXACT  # one product in float64
    assert LATENT_LIMIT * MAP_LIMIT * 2**20 < EXACT  # a map of a million columns
    assert (LATENT_LIMIT + 1) ** 2 == LARGEST_RADIUS  # no product is larger
    assert ROW_CAP * LATENT_LIMIT < 2**62  # sums of coordinates, and counts


class Sum(Products):
    """A sum of products that is one number."""

    weights = np.ones(1)  # type: ignore[assignment]
    reach = Reach(1.0, 1.0, 1.0, False, 1)  # type: ignore[assignment]

    def part(self, batch: Batch) -> IntArray:
        raise AssertionError("nobody asks")


@st.composite
def tables_in_parts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Parts of a table, as the sum of each and how often there is such a one: up to ROW_CAP rows, far out."""
    left, found = ROW_CAP, []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.sampled_from([1, 2, 1000, BATCH_CAP]))
        product = draw(st.sampled_from([LARGEST_RADIUS, -LARGEST_RADIUS, LARGEST_RADIUS - 1, -1, 1, 0]))
        often = draw(st.integers(0, left // rows)) if draw(st.booleans()) else left // rows
        left -= often * rows
        found.append((rows * product, often))
    return found


def check_room(parts: list[tuple[int, int]]) -> None:
    """Limbs stay within what an int64 takes, and tell the sum."""
    limbs = [[int(limb) * often for limb in in_limbs(np.array([float(part)]))] for part, often in parts]
    held = [sum(column) for column in zip(*limbs, strict=True)]
    assert max(map(abs, held)) < 2**62
    assert all(abs(limb) < 2**62 for row in limbs for limb in row)
    assert joined(Sum().answer(np.array(held))).tolist() == [sum(part * often for part, often in parts)]


def test_the_most_rows_that_there_may_be_do_not_leave_an_int64() -> None:
    look_for(tables_in_parts(), check_room, some(150))


@pytest.mark.parametrize("limb", [1, 1 << 4, 1 << 27, 1 << 53])
def test_limbs_of_another_size_would(limb: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One limb alone, as 1 and 2^53 stand for, held what 2^30 rows add up to."""
    monkeypatch.setattr(base, "LIMB", limb)
    monkeypatch.setattr(whole_numbers, "LIMB", limb)
    with pytest.raises(AssertionError):
        look_for(tables_in_parts(), check_room, 300)


def test_a_total_in_limbs_is_the_same_whatever_the_parts() -> None:
    values = np.random.default_rng(1).integers(-(2**45), 2**45, (50, 1)).astype(np.float64)
    apart, together = sum(map(in_limbs, values)), in_limbs(values.sum(axis=0))
    assert apart.tolist() != together.tolist()
    assert (
        joined(Sum().answer(apart)).tolist() == joined(Sum().answer(together)).tolist() == [sum(map(int, values[:, 0]))]
    )


@pytest.mark.parametrize("values", [[3, -5], [-(2**63), 1], [2**63 - 1], [0]])
def test_the_largest_is_exact(values: list[int]) -> None:
    assert largest(np.array(values)) == max(map(abs, values))
    assert largest(np.zeros((0, 3), np.int64)) == 0


def norm(column: Ints) -> int:
    return sum(int(x) ** 2 for x in column)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(-2, 2))
def test_clipped_rows_are_whole_numbers_within_the_radius(dim: int, seed: int, power: int, beside: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.integers(-LATENT_LIMIT, LATENT_LIMIT + 1, (dim, 20)) >> rng.integers(0, 16, 20)
    radius = max(1, (norm(z[:, 0]) if power == 40 else 1 << power) + beside)
    clipped = clip_rows(z.astype(np.float64), radius)
    assert np.array_equal(clipped, np.trunc(clipped))
    for before, after in zip(z.T, clipped.T, strict=True):
        assert norm(after) <= radius
        assert norm(before) > radius or after.tolist() == before.tolist()
        assert norm(before) <= radius or math.sqrt(norm(after)) >= math.sqrt(radius) - math.sqrt(dim) - 1e-6
    assert within(clipped, radius) is clipped


def test_a_row_that_is_too_long_adds_nothing() -> None:
    z = np.array([[3.0, 4.0, 0.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    assert squared_norms(z).tolist() == [25, 32, 0, 25]
    assert within(z, 25).tolist() == [[3.0, 0.0, 0.0, 5.0], [4.0, 0.0, 0.0, 0.0]]
    assert within(z, 32) is z
    assert not within(z, 24).any()
    assert not within(np.array([[np.nan, np.inf, -np.inf]]), 24).any()


# What is refused


def test_what_does_not_hold_is_refused_as_an_argument() -> None:
    insist(True, "never said")
    with pytest.raises(ArgumentError, match=r"^said$"):
        insist(False, "said")


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2,), (1e-300, 1.0), (1.0 / 3.0,) * 3])
def test_shares_add_up_to_at_most_one(shares: tuple[float, ...]) -> None:
    check_shares(shares, len(shares))
    with pytest.raises(ArgumentError, match="one for each part"):
        check_shares(shares, len(shares) + 1)


@pytest.mark.parametrize(
    "shares", [(), (0.5, 0.5 + 1e-9), (-0.1, 0.5), (0.0, 1.0), (math.nan, 0.5), (0.5, math.nan), (math.inf,)]
)
def test_shares_that_are_not_shares_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match="shares"):
        check_shares(shares, len(shares))


def test_frozen_parts_cannot_be_changed() -> None:
    changes: list[Callable[[], None]] = [
        lambda: setattr(Reach(1.0, 1.0, 1.0, True, 2), "one", 0.1),
        lambda: setattr(Public((2,), 1), "classes", 3),
        lambda: setattr(batch(1), "labels", np.zeros(1)),
    ]
    for change in changes:
        with pytest.raises(AttributeError):
            change()
