"""Questions in a view: a row still moves them by no more than the question says, and alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    BAD_LABEL,
    LABEL,
    NOWHERE,
    Case,
    Ints,
    check_rows_add_up,
    coded,
    hunt,
    mistaken,
    neighbours,
)
from tests.private.queries.test_tables import drawn_distances, drawn_tables

from sfumato.errors import ArgumentError
from sfumato.mechanisms.asker import encode
from sfumato.mechanisms.questions import latent_space, row_question, score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import Batch, Public, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.viewed import Viewed
from sfumato.private.queries.wire import decode
from sfumato.schema.view import View


def drawn_view(draw: st.DrawFn, cells: tuple[int, ...]) -> View:
    """Some of the columns in any order, each in runs of its cells."""
    columns = draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, unique=True))
    cuts = [sorted(draw(st.sets(st.integers(1, cells[c] - 1)))) if cells[c] > 1 else [] for c in columns]
    return View(tuple(columns), tuple(cells[c] for c in columns), tuple(np.array([0, *each]) for each in cuts))


def question(draw: st.DrawFn, sizes: tuple[int, ...], classes: int) -> Query:
    """Histograms, tables, their distances, or moments of scores in such bins."""
    kind = draw(st.sampled_from(["histograms", "tables", "distances", "moments"]))
    if kind == "histograms":
        return Histograms(sizes, classes, (1.0 / len(sizes),) * len(sizes))
    if kind != "moments":
        tables = drawn_tables(draw, sizes, classes)
        return tables if kind == "tables" else drawn_distances(draw, tables)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    image = score_image([[rng.normal(scale=3.0, size=size) for size in sizes] for _ in range(classes)])
    return GroupSums(latent_space(image, [1.5] * classes), (0.1, 0.7, 0.2), "outer")


@st.composite
def cases(draw: st.DrawFn, adjacency: Adjacency, kind: Any = Viewed) -> Case:
    cells, classes = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))), draw(st.integers(1, 3))
    view = drawn_view(draw, cells)
    asked = kind(view, question(draw, view.sizes(cells), classes))
    asked.check(Public(cells, classes))
    rows = st.tuples(st.tuples(*(st.integers(NOWHERE, c - 1) for c in cells)), st.integers(BAD_LABEL, classes - 1))
    before, after = neighbours(draw, rows, classes, adjacency)
    return Case(asked, coded(before, len(cells)), coded(after, len(cells)))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_view_keeps_the_bound(adjacency: Adjacency) -> None:
    hunt(cases(adjacency), adjacency, examples=some(120))


def test_a_view_of_a_view_is_refused() -> None:
    """Each would hold another copy of a batch: how many fit into memory would tell of rows."""
    view = View((0,), (4,), (np.arange(4),))
    nested = Viewed(view, Viewed(view, Histograms((4,), 1, (1.0,))))
    with pytest.raises(ArgumentError, match="rows as they are"):
        nested.check(Public((4,), 1))


# Planted faults: the same hunt must find them


class SeesTwice(Viewed):
    """A row is counted in its cell's bin and in the first one."""

    def part(self, batch: Batch) -> Ints:
        first = replace(batch, codes=np.zeros_like(batch.codes))
        return super().part(batch) + super().part(first)


class SeesOthers(Viewed):
    """Bins are counted from the fullest cell of the batch: what is seen of a row depends on others."""

    def part(self, batch: Batch) -> Ints:
        top = int(batch.codes.max()) if len(batch) else 0
        return super().part(replace(batch, codes=np.where(batch.codes < 0, -1, top - batch.codes).astype(np.int16)))


FAULTS = {
    "a row in two bins": (ADD_REMOVE, SeesTwice),
    "a row seen beside others": (ADD_REMOVE, SeesOthers),
    "a reach that is smaller than the question's": (LABEL, mistaken(Viewed, one=lambda right: 0.7 * right.one)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, kind = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cases(adjacency, kind), adjacency, examples=1000)


# What is seen


CELLS = (40, 7, 64)
VIEW = View((2, 0), (64, 40), (np.array([0, 1, 30, 31]), np.arange(0, 40, 8)))
HISTOGRAMS = Histograms((4, 5), 2, (0.6, 0.4))


def many(count: int = 300) -> Batch:
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(NOWHERE, c, count) for c in CELLS]).astype(np.int16)
    fixed = rng.integers(0, 99, codes.shape).astype(np.int32)
    return Batch(codes, rng.integers(0, 2, count), fixed)


def test_contributions_add_up_bit_for_bit() -> None:
    assert check_rows_add_up(Viewed(VIEW, HISTOGRAMS), many()).max() == 1


def test_bins_hold_what_their_cells_hold() -> None:
    fine = Histograms(CELLS, 2, (1 / 3,) * 3)
    counts = unpack(fine, fine.total(many()).astype(float))
    seen = unpack(HISTOGRAMS, Viewed(VIEW, HISTOGRAMS).total(many()).astype(float))
    for column, starts, found in zip(VIEW.columns, VIEW.starts, seen, strict=True):
        cells = counts[column]
        assert found[:, 0].tolist() == cells[:, 0].tolist()  # nowhere stays nowhere
        assert found[:, 1:].tolist() == np.add.reduceat(cells[:, 1:], starts, axis=1).tolist()


def test_every_row_s_vector_is_that_of_its_bins() -> None:
    rng = np.random.default_rng(4)
    plain = row_question(score_image([[rng.normal(size=4), rng.normal(size=5)]] * 2), 2, 2.0, 0.5)
    viewed = replace(plain, view=VIEW)
    viewed.check(Public(CELLS, 2))
    bins = replace(many(), codes=VIEW.codes(many().codes))
    np.testing.assert_array_equal(viewed.find(many()), plain.find(bins))
    assert viewed.distance() == plain.distance()


# What is refused


@pytest.mark.parametrize(
    "public",
    [Public((40, 7), 2), Public((41, 7, 64), 2), Public(CELLS, 3), Public(CELLS, 2, coordinates=3, values=True)],
)
def test_a_view_of_another_table_is_refused(public: Public) -> None:
    vectors = replace(row_question(score_image([[np.zeros(4), np.zeros(5)]] * 2), 2, 2.0), view=VIEW)
    for asked in (Viewed(VIEW, HISTOGRAMS), vectors):
        asked.check(Public(CELLS, 2))
        with pytest.raises(ArgumentError, match="schema"):
            asked.check(public)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 5, 5), (5, 4), (4,)])
def test_a_question_about_other_bins_is_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match="schema"):
        Viewed(VIEW, Histograms(sizes, 2, (1 / len(sizes),) * len(sizes))).check(Public(CELLS, 2))


HOSTILE: dict[str, dict[str, Any]] = {
    "a column twice": {"columns": [2, 2]},
    "fewer columns than bins": {"columns": [2]},
    "a column that is no whole number": {"columns": [2, 0.0]},
    "a column that is a truth value": {"columns": [2, True]},
    "bins beyond the grid": {"cells": [31, 40]},
    "bins of floats": {"starts": [{"array": 0}, [0, 8, 16, 24, 32]]},
    "bins that do not begin": {"starts": [{"array": 0}, {"array": 0, "from": 1}]},
    "another field": {"rows": [0]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_view_is_not_read(name: str) -> None:
    request = encode(Viewed(VIEW, HISTOGRAMS))
    length = int.from_bytes(request[:8], "little")
    document = json.loads(request[8 : 8 + length])
    assert decode(request).view.columns == VIEW.columns
    document["question"]["view"] |= HOSTILE[name]
    text = json.dumps(document).encode()
    with pytest.raises(ArgumentError):
        decode(len(text).to_bytes(8, "little") + text + request[8 + length :])


@pytest.mark.parametrize("column", [-1, 3, 10**6])
def test_a_view_of_a_column_that_is_not_there_is_refused(column: int) -> None:
    made = decode(encode(Viewed(replace(VIEW, columns=(2, column)), HISTOGRAMS)))
    with pytest.raises(ArgumentError, match="columns of the schema"):
        made.check(Public(CELLS, 2))
