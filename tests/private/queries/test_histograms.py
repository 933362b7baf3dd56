"""Histograms: how far one row can move them, and that it does so alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    BAD_LABEL,
    LABEL,
    NOWHERE,
    REPLACE_ONE,
    Case,
    Floats,
    Ints,
    Row,
    check_rows_add_up,
    check_tight,
    coded,
    hunt,
    mistaken,
    neighbours,
    one_block,
)

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import Batch, Public
from sfumato.private.queries.histograms import Histograms


@st.composite
def cases(draw: st.DrawFn, adjacency: Adjacency, kind: type = Histograms) -> Case:
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=40)))
    classes = draw(st.integers(1, 3))
    raw = draw(st.lists(st.sampled_from([1e-9, 0.01, 1.0, 1e6]), min_size=len(sizes), max_size=len(sizes)))
    query = kind(sizes, classes, tuple(float(share) for share in np.array(raw) / sum(raw)))
    rows = st.tuples(
        st.tuples(*(st.integers(NOWHERE, size - 1) for size in sizes)), st.integers(BAD_LABEL, classes - 1)
    )
    before, after = neighbours(draw, rows, classes, adjacency, most=12)
    return Case(query, coded(before, len(sizes)), coded(after, len(sizes)))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_they_keep_their_bound(adjacency: Adjacency) -> None:
    hunt(cases(adjacency), adjacency, examples=some(150))


# Planted faults: the same hunt must find them


class CountsTwice(Histograms):
    """The first column enters twice."""

    def part(self, batch: Batch) -> Ints:
        total = super().part(batch).reshape(self.classes, -1)
        total[:, : 1 + self.sizes[0]] *= 2
        return total.ravel()


class UnevenTotals(Histograms):
    """Weights of 1 for every column, as if the shares did not have to be taken from one budget."""

    @cached_property
    def weights(self) -> Floats:
        return np.ones_like(super().weights)


class NextClassToo(Histograms):
    """A row counts for the class after its own too."""

    def part(self, batch: Batch) -> Ints:
        total = super().part(batch).reshape(self.classes, -1)
        return (total + np.roll(total, 1, axis=0)).ravel()


FAULTS: dict[str, tuple[Adjacency, type]] = {
    "a cell counted twice": (ADD_REMOVE, CountsTwice),
    "shares forgotten": (LABEL, UnevenTotals),
    "a row in two classes": (ADD_REMOVE, NextClassToo),
    "label changes one block": (LABEL, one_block(Histograms)),
    "replaced within one block": (
        REPLACE_ONE,
        mistaken(Histograms, apart=lambda right: right.one, groups=lambda right: 1),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, kind = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cases(adjacency, kind), adjacency, examples=2000)


# Tightness: the bounds cannot be loosened unseen


def three() -> Histograms:
    return Histograms((3, 2, 4), 2, (0.5, 0.2, 0.3))


def case(before: list[Row], after: list[Row]) -> Case:
    return Case(three(), coded(before, 3), coded(after, 3))


def row(code: int, label: int) -> Row:
    return (code,) * 3, label


TIGHT: dict[str, tuple[Adjacency, Case]] = {
    "a row added": (ADD_REMOVE, case([], [row(1, 1)])),
    "a label changed": (LABEL, case([row(1, 0)], [row(1, 1)])),
    "a row replaced": (REPLACE_ONE, case([row(1, 0)], [row(0, 0)])),
    "a row replaced by one of another class": (REPLACE_ONE, case([row(1, 0)], [row(1, 1)])),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_reaches_the_bound(name: str) -> None:
    check_tight(TIGHT[name][1], TIGHT[name][0])


# A row alone, packing


@pytest.mark.parametrize("columns", [1, 14, 50])
def test_contributions_add_up_bit_for_bit(columns: int) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(NOWHERE, 64, (columns, 300)).astype(np.int16)
    query = Histograms((64,) * columns, 2, (1 / columns,) * columns)
    assert check_rows_add_up(query, Batch(codes, rng.integers(0, 2, 300))).max() == 1


def test_they_unpack_to_one_table_a_column() -> None:
    query = Histograms((3, 2), 2, (0.25, 0.75))
    rows: list[Row] = [((0, 1), 0), ((2, -1), 1), ((2, 0), 1)]
    first, second = unpack(query, query.total(coded(rows, 2)).astype(float))
    assert first.tolist() == [[0, 1, 0, 0], [0, 0, 0, 2]]
    assert second.tolist() == [[0, 0, 1], [1, 1, 0]]  # first those in no bin
    first, second = unpack(query, query.weights)
    assert np.allclose(first, 0.5)
    assert np.allclose(second, math.sqrt(0.75))


@pytest.mark.parametrize("columns", [1, 14])
def test_all_columns_of_a_class_add_up_to_its_rows(columns: int) -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(NOWHERE, 9, (columns, 400)).astype(np.int16)
    query, batch = Histograms((9,) * columns, 3, (1 / columns,) * columns), Batch(codes, rng.integers(0, 3, 400))
    for table in unpack(query, query.total(batch).astype(float)):
        assert table.sum(axis=1).tolist() == np.bincount(batch.labels).tolist()
    nowhere = np.stack([table[:, 0] for table in unpack(query, query.total(batch).astype(float))])
    assert nowhere.sum(axis=1).tolist() == (codes == NOWHERE).sum(axis=1).tolist()


# What is refused


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6), (1.0, 0.0), (1.5, -0.5), (0.5, 0.5 + 1e-9), (0.5, math.nan)])
def test_shares_that_are_not_shares_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match="shares"):
        Histograms((2, 2), 2, shares)


@pytest.mark.parametrize(
    "build",
    [lambda: Histograms((), 1, ()), lambda: Histograms((0,), 1, (1.0,)), lambda: Histograms((2,), 0, (1.0,))],
    ids=["no columns", "no bins", "no classes"],
)
def test_what_has_no_cells_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError):
        build()


@pytest.mark.parametrize(
    "public", [Public((3, 2), 2), Public((3, 2, 4), 1), Public((3, 2, 5), 2), Public((3, 2, 4), 2, coordinates=3)]
)
def test_those_of_another_schema_are_refused(public: Public) -> None:
    three().check(Public((3, 2, 4), 2))
    with pytest.raises(ArgumentError, match="histograms"):
        three().check(public)
