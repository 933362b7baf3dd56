"""What the tests of queries share: neighbouring tables, how far they are apart, and the hunt for a broken bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.private.hunting import look_for

from sfumato.mechanisms.asker import view_of
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    EXACT,
    FIXED_BITS,
    LARGEST_RADIUS,
    LATENT_BITS,
    LATENT_LIMIT,
    Batch,
    Query,
    Reach,
)
from sfumato.private.queries.viewed import Viewed
from sfumato.private.slicing.rows import RowVectors
from sfumato.schema.layout import Layout
from sfumato.whole_numbers import joined

ADD_REMOVE, LABEL, REPLACE_ONE = Adjacency.ADD_REMOVE, Adjacency.LABEL, Adjacency.REPLACE_ONE
ONE = 1 << LATENT_BITS
TOP = 1 << FIXED_BITS
NOWHERE = MISSING = BAD_LABEL = -1
UNCLIPPED = EXACT - 1  # no row that these tests make is longer

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Row = tuple[tuple[int, ...], int]  # codes and label; a bad label counts nowhere


@dataclass(frozen=True)
class Case:
    """A query and two neighbouring tables."""

    query: Query
    before: Batch
    after: Batch

    @property
    def change(self) -> float:
        """How far the tables are apart, as the query's reach counts it."""
        moved = told(self.query, self.after) - told(self.query, self.before)
        return float(np.linalg.norm(self.query.weights * moved))


def told(query: Query, batch: Batch) -> Ints:
    """What is told of some rows, but for the noise."""
    return joined(query.answer(query.total(batch))).astype(np.int64)


def told_by(engine: Any, query: Query) -> Ints:
    """What is told of an engine's rows, but for the noise."""
    return joined(query.answer(engine.total(query))).astype(np.int64)


def seen_in(layout: Layout, query: Query) -> Query:
    """A question about a layout's bins, as it is asked about rows that are coded to the grid's cells."""
    view = view_of(layout)
    return query if view is None else Viewed(view, query)


def vectors_in(layout: Layout, vectors: RowVectors) -> RowVectors:
    """Vectors of a layout's bins, likewise."""
    return replace(vectors, view=view_of(layout))


def check_bound(case: Case, adjacency: Adjacency, unit_rows: int | None = None) -> None:
    assert case.change <= case.query.reach.sensitivity(adjacency, unit_rows)


def check_tight(case: Case, adjacency: Adjacency) -> None:
    """The bound holds, and could hardly be smaller."""
    bound = case.query.reach.sensitivity(adjacency)
    assert 0.99 * bound <= case.change <= bound


def hunt(cases: st.SearchStrategy[Case], adjacency: Adjacency, examples: int, unit_rows: int | None = None) -> None:
    """Let Hypothesis look for neighbours that break the bound."""
    look_for(cases, lambda case: check_bound(case, adjacency, unit_rows), examples)


def coded(rows: Sequence[Row], columns: int) -> Batch:
    """Rows as bin numbers; the source drops those whose label is none."""
    counted = [row for row in rows if row[1] != BAD_LABEL]
    codes = np.array([codes for codes, _ in counted], dtype=np.int16).reshape(-1, columns).T
    return Batch(codes, np.array([label for _, label in counted], dtype=np.int64))


def neighbours(
    draw: st.DrawFn,
    rows: st.SearchStrategy[Any],
    classes: int,
    adjacency: Adjacency,
    most: int = 6,
    unit: int = 1,
) -> tuple[list[Any], list[Any]]:
    """A table, and its neighbour in which `unit` rows are gone, have other labels, or are others."""
    base, mine = draw(st.lists(rows, max_size=most)), draw(st.lists(rows, min_size=unit, max_size=unit))
    at = draw(st.integers(0, len(base)))
    if adjacency is ADD_REMOVE:
        other = []
    elif adjacency is LABEL:
        other = [(what, draw(st.integers(BAD_LABEL, classes - 1))) for what, _ in mine]
    else:
        other = draw(st.lists(rows, min_size=unit, max_size=unit))
    pair = [*base[:at], *mine, *base[at:]], [*base[:at], *other, *base[at:]]
    return pair if draw(st.booleans()) else pair[::-1]


def code_rows(dim: int, top: int, classes: int) -> st.SearchStrategy[Row]:
    """Rows that have one code everywhere, and rows that mix them; codes from nowhere to `top`."""
    whole = st.integers(NOWHERE, top).map(lambda code: (code,) * dim)
    mixed = st.integers(0, 2**32 - 1).map(
        lambda seed: tuple(np.random.default_rng(seed).integers(NOWHERE, top + 1, dim).tolist())
    )
    return st.tuples(st.one_of(whole, whole, mixed), st.integers(BAD_LABEL, classes - 1))


# Planted faults of the bound


def mistaken(kind: type, **wrong: Callable[[Reach], Any]) -> type:
    """The query with something wrong in its reach, by what is right."""

    class Mistaken(kind):
        @property
        def reach(self) -> Reach:
            right = super().reach
            return replace(right, **{name: make(right) for name, make in wrong.items()})

    return Mistaken


def blanket(kind: type) -> type:
    """The blanket rule: a replacement moves sqrt(2) times as far as an addition."""
    return mistaken(kind, apart=lambda right: min(right.apart, np.sqrt(2.0) * right.one))


def one_block(kind: type) -> type:
    """As if a changed label moved a row within one group, and no further than it reaches."""
    return mistaken(kind, moves=lambda right: False, relabelled=lambda right: 0.0)


# Projected rows and places between the bounds, by their number in a pool


def pooled(pool: Ints, rows: Sequence[tuple[int, int]]) -> Batch:
    """The same vectors as projection and as places between the bounds: an image reads one of them."""
    counted = [row for row in rows if row[1] != BAD_LABEL]
    vectors = pool[[i for i, _ in counted]].T.astype(np.int32) if counted else np.zeros((pool.shape[1], 0), np.int32)
    labels = np.array([label for _, label in counted], dtype=np.int64)
    return Batch(np.empty((0, len(counted)), np.int16), labels, vectors, vectors)


def pool_case(query: Query, pool: Ints, before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> Case:
    return Case(query, pooled(pool, before), pooled(pool, after))


def on_grid(*vectors: Any) -> Ints:
    return np.rint(np.array(vectors) * ONE).astype(np.int64)


def cut(x: int) -> int:
    return max(-LATENT_LIMIT, min(LATENT_LIMIT, x))


# A row alone


def parts_of(count: int, alone: int = 40) -> list[Any]:
    """Other company for the same rows: shuffled, thinned out, each by itself, in batches, one row less."""
    rng = np.random.default_rng(0)
    everyone = np.arange(count)
    parts = [rng.permutation(count), np.flatnonzero(rng.random(count) < 0.5), everyone[::3], *everyone[:alone, None]]
    return [*parts, *np.array_split(everyone, 7), np.delete(everyone, rng.integers(count))]


def layouts(rows: Batch) -> dict[str, Batch]:
    """The same rows, laid out otherwise in memory."""

    def strided(array: Any) -> Any:
        padded = np.full((2 * array.shape[0], 3 * array.shape[1]), 7, array.dtype)
        padded[::2, ::3] = array
        return padded[::2, ::3]

    def all_parts(way: Callable[[Any], Any]) -> Batch:
        fixed = None if rows.fixed is None else way(rows.fixed)
        return Batch(way(rows.codes), rows.labels, fixed, None if rows.projected is None else way(rows.projected))

    return {
        "Fortran": all_parts(np.asfortranarray),
        "strided": all_parts(strided),
        "backwards": all_parts(lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1]),
        "transposed": all_parts(lambda a: np.ascontiguousarray(a.T).T),
        "int32": all_parts(lambda a: a.astype(np.int32)),
        "int64": all_parts(lambda a: a.astype(np.int64)),
    }


def check_rows_add_up(query: Query, rows: Batch) -> Ints:
    """A total is the sum of what rows add alone, in any company, order and layout; gives what each row adds."""
    count = len(rows)
    alone = np.array([told(query, rows.only(slice(i, i + 1))) for i in range(count)])
    assert query.total(rows).dtype == np.int64
    assert query.total(rows).shape == (query.size,)
    rng = np.random.default_rng(2)
    for keep in (np.arange(count), rng.permutation(count), np.flatnonzero(rng.random(count) < 0.5), np.arange(1)):
        assert told(query, rows.only(keep)).tolist() == alone[keep].sum(axis=0).tolist()
    parts = [told(query, rows.only(part)) for part in np.array_split(np.arange(count), 7)]
    assert np.array_equal(sum(parts), alone.sum(axis=0))
    for name, other in layouts(rows).items():
        assert np.array_equal(told(query, other), alone.sum(axis=0)), name
    assert not told(query, rows.only(slice(0, 0))).any()
    assert query.weights.shape == alone.shape[1:]
    assert (query.weights > 0).all()
    assert np.isfinite(query.weights).all()
    assert np.abs(alone).max(initial=0) <= LARGEST_RADIUS  # what there is room for, over all rows that there may be
    return alone
