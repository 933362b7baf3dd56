"""Tables of several columns and their distances from public ones: how far one row can move them, and that it does so
alone.
"""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
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
    layouts,
    mistaken,
    neighbours,
    parts_of,
)

from sfumato.errors import ArgumentError
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client, Seen, encode
from sfumato.mechanisms.questions import unpack
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import noisy
from sfumato.private.queries import base
from sfumato.private.queries.base import ROW_CAP, Answer, Batch, Public, Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import CELLS_OF_ALL, CELLS_OF_ONE, MOST_STEPS, TARGET_BITS, Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.private.queries.wire import decode
from sfumato.private.source import Source
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.schema.view import View
from sfumato.tables import open_table

ROW = 1 << TARGET_BITS


def drawn_tables(draw: st.DrawFn, sizes: tuple[int, ...], classes: int, kind: Any = Tables) -> Tables:
    """Any tables of the columns and the label, the same ones twice too, with shares of any size."""
    levels = tuple(np.array(draw(st.lists(st.integers(0, 3), min_size=s + 1, max_size=s + 1))) for s in sizes)
    table = st.lists(st.integers(0, len(sizes)), min_size=1, max_size=3, unique=True).map(tuple)
    tables = tuple(draw(st.lists(table, min_size=1, max_size=5)))
    raw = np.array(draw(st.lists(st.sampled_from([1e-9, 0.01, 1.0]), min_size=len(tables), max_size=len(tables))))
    return kind(levels, classes, tables, tuple(float(share) for share in raw / raw.sum()))


def drawn_distances(draw: st.DrawFn, tables: Tables, kind: Any = Distances) -> Distances:
    """Targets far below, around and far above the counts, whole rows and parts of them."""
    steps = st.sampled_from([0, 1, ROW // 2, ROW, ROW + 7, 3 * ROW, 100 * ROW, ROW_CAP * ROW])
    few = draw(st.lists(steps, min_size=1, max_size=12))
    return kind(tables, np.resize(np.array(few), tables.size))


@st.composite
def cases(draw: st.DrawFn, adjacency: Adjacency, kind: Any = Tables, unit: int = 1) -> Case:
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    classes = draw(st.integers(1, 3))
    query: Query
    if issubclass(kind, Distances):
        query = drawn_distances(draw, drawn_tables(draw, sizes, classes), kind)
    else:
        query = drawn_tables(draw, sizes, classes, kind)
    query.check(Public(sizes, classes))
    rows = st.tuples(
        st.tuples(*(st.integers(NOWHERE, size - 1) for size in sizes)), st.integers(BAD_LABEL, classes - 1)
    )
    before, after = neighbours(draw, rows, classes, adjacency, most=8, unit=unit)
    return Case(query, coded(before, len(sizes)), coded(after, len(sizes)))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [Tables, Distances])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_they_keep_their_bound(adjacency: Adjacency, kind: type) -> None:
    hunt(cases(adjacency, kind), adjacency, examples=some(80))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [Tables, Distances])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_units_of_three_rows_keep_their_bound(adjacency: Adjacency, kind: type) -> None:
    hunt(cases(adjacency, kind, unit=3), adjacency, examples=some(30), unit_rows=3)


# Planted faults: the same hunt must find them


class CountsTwice(Tables):
    """The first table's counts enter twice."""

    def part(self, batch: Batch) -> Ints:
        total = super().part(batch)
        total[: self.cells[0]] *= 2
        return total


class UnevenTotals(Tables):
    """Weights of 1 for every table, as if the shares did not have to be taken from one budget."""

    @cached_property
    def weights(self) -> Floats:
        return np.ones_like(super().weights)


class LeansOnOthers(Tables):
    """Levels are counted from the fullest code of the batch: where a row falls depends on other rows."""

    def part(self, batch: Batch) -> Ints:
        top = int(batch.codes.max()) if batch.codes.size else 0
        shifted = np.where(batch.codes < 0, -1, top - batch.codes).astype(np.int16)
        return super().part(replace(batch, codes=shifted))


class Squares(Distances):
    """Squared distances, which a row moves the further the more rows there are."""

    def answer(self, total: Ints) -> Ints:
        return super().answer(total) ** 2 >> TARGET_BITS


class Normalised(Distances):
    """Counts as shares of their number: a row moves every cell."""

    def answer(self, total: Ints) -> Ints:
        return super().answer(total * 1000 // max(1, int(total[: self.tables.cells[0]].sum())))


class StepsForRows(Distances):
    """Weights as if answers were in rows."""

    @cached_property
    def weights(self) -> Floats:
        return super().weights * 2.0**TARGET_BITS


FAULTS: dict[str, tuple[Adjacency, type]] = {
    "a table counted twice": (ADD_REMOVE, CountsTwice),
    "shares forgotten": (ADD_REMOVE, UnevenTotals),
    "a row seen beside others": (ADD_REMOVE, LeansOnOthers),
    "a label that moves nothing": (LABEL, mistaken(Tables, relabelled=lambda right: 0.0)),
    "a row replaced in one cell": (REPLACE_ONE, mistaken(Tables, apart=lambda right: right.one)),
    "squared distances": (ADD_REMOVE, Squares),
    "distances of shares": (ADD_REMOVE, Normalised),
    "steps taken for rows": (ADD_REMOVE, StepsForRows),
    "distances as far apart as counts": (REPLACE_ONE, mistaken(Distances, apart=lambda right: math.sqrt(2.0))),
    "a label that moves a distance by one": (LABEL, mistaken(Distances, relabelled=lambda right: right.relabelled / 2)),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, kind = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(cases(adjacency, kind), adjacency, examples=2000)


def test_a_unit_charged_as_a_row_is_found() -> None:
    with pytest.raises(AssertionError):
        hunt(cases(ADD_REMOVE, Distances, unit=3), ADD_REMOVE, examples=2000, unit_rows=2)


# Tightness: the bounds cannot be loosened unseen, and are those of the design


def two() -> Tables:
    """A pair by label, a pair alone: 0.7 of the budget on the first."""
    return Tables((np.array([0, 1, 2]), np.array([0, 1, 1, 2])), 2, ((0, 1, 2), (0, 1)), (0.7, 0.3))


def far(empty: Row, full: Row) -> Distances:
    """Targets of nothing in the cells of one row, and of much in those of another."""
    query = two()
    steps = query.total(coded([full] * 9, 2)) - 9 * query.total(coded([empty], 2))
    return Distances(query, np.maximum(steps, 0) * ROW)


NONE, THERE, FLIPPED, OTHER = ((0, 0), BAD_LABEL), ((1, 2), 0), ((1, 2), 1), ((0, -1), 0)
TIGHT: dict[str, tuple[Adjacency, list[Row], list[Row], float]] = {
    "a row added": (ADD_REMOVE, [], [THERE], 1.0),
    "a label changed": (LABEL, [THERE], [FLIPPED], 0.7),
    "a row replaced": (REPLACE_ONE, [THERE], [OTHER], 1.0),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_pair_reaches_the_bound(name: str) -> None:
    adjacency, before, after, moved = TIGHT[name]
    batches = coded(before, 2), coded(after, 2)
    cells, rows = (1.0, 1.0) if not before else (math.sqrt(2.0 * moved), 2.0 * math.sqrt(moved))
    for query, bound in ((two(), cells), (far(THERE, after[0] if before else NONE), rows)):
        check_tight(Case(query, *batches), adjacency)
        assert query.reach.sensitivity(adjacency) == pytest.approx(bound)


def test_a_label_is_never_free() -> None:
    """A bad label takes the row out, also where no table has the label."""
    query = Tables((np.array([0, 1, 2]),), 2, ((0,),), (1.0,))
    assert query.reach.sensitivity(LABEL) == pytest.approx(1.0)
    check_tight(Case(query, coded([((1,), 0)], 1), coded([((1,), BAD_LABEL)], 1)), LABEL)


# What is counted, and that it is a row's alone


def many(sizes: tuple[int, ...], classes: int, count: int = 300) -> Batch:
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(NOWHERE, size, count) for size in sizes]).astype(np.int16)
    return Batch(codes, rng.integers(0, classes, count))


def every_pair(sizes: tuple[int, ...], classes: int, most: int = 6) -> Tables:
    """Each pair of columns by label, at levels that put bins together at random."""
    rng = np.random.default_rng(6)
    levels = tuple(rng.integers(0, min(size, most), size + 1) for size in sizes)
    tables = tuple((*pair, len(sizes)) for pair in itertools.combinations(range(len(sizes)), 2))
    return Tables(levels, classes, tables, (1.0 / len(tables),) * len(tables))


def test_contributions_add_up_bit_for_bit() -> None:
    sizes = (64, 3, 17, 1, 40)
    alone = check_rows_add_up(every_pair(sizes, 3), many(sizes, 3))
    assert alone.max() == 1
    assert (alone.sum(axis=1) == 10).all(), "a row is in one cell of every table"


def test_counts_are_those_of_a_slow_count() -> None:
    sizes, rows = (5, 3, 9), many((5, 3, 9), 2)
    query = replace(every_pair(sizes, 2), tables=((2, 0), (3, 1), (1,), (3,), (0, 1, 2)), shares=(0.2,) * 5)
    found = unpack(query, query.total(rows).astype(float))
    places = [level[codes] for level, codes in zip(query.levels, rows.codes, strict=True)]  # -1 is the last entry
    for table, counts in zip(query.tables, found, strict=True):
        slow = np.zeros(counts.shape)
        for place in zip(*([*places, rows.labels][c] for c in table), strict=True):
            slow[place] += 1
        assert np.array_equal(counts, slow)


@pytest.mark.parametrize("cells", [1, 200, 1 << 14])
def test_tables_that_are_counted_together_are_those_counted_alone(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs with and without the label, in either order, one twice, and larger ones: some as margins of others."""
    monkeypatch.setattr("sfumato.private.queries.tables.CELLS_OF_JOINT", cells)
    sizes = (4, 3, 5, 2, 6, 3, 2)
    rows, pairs = many(sizes, 2), list(itertools.combinations(range(7), 2))
    tables = [*pairs, *((b, a, 7) for a, b in pairs), (1, 4), (6,), (7,), (0, 6, 1), (2, 7, 3, 4, 5)]
    query = replace(every_pair(sizes, 2), tables=tuple(tables), shares=(1 / len(tables),) * len(tables))
    alone = [replace(query, tables=(table,), shares=(1.0,)).total(rows) for table in tables]
    assert np.array_equal(query.total(rows), np.concatenate(alone))
    assert len(query._joints) < len(tables) / (1 if cells == 1 else 2)


def test_of_one_column_by_label_they_are_histograms() -> None:
    sizes, rows = (5, 3), many((5, 3), 2)
    histograms = Histograms(sizes, 2, (0.5, 0.5))
    levels = tuple(np.append(np.arange(1, size + 1), 0) for size in sizes)
    tables = Tables(levels, 2, ((2, 0), (2, 1)), (0.5, 0.5))
    for one, other in zip(*(unpack(q, q.total(rows).astype(float)) for q in (histograms, tables)), strict=True):
        assert np.array_equal(one, other)
    for adjacency in Adjacency:
        assert tables.reach.sensitivity(adjacency) == histograms.reach.sensitivity(adjacency)


def test_the_size_of_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    query, rows = every_pair((64, 3, 17), 3), many((64, 3, 17), 3)
    whole = query.total(rows)
    for cells in (1, 7, 64):
        monkeypatch.setattr(base, "CHUNK_CELLS", cells)
        assert np.array_equal(query.total(rows), whole)


def test_distances_are_the_same_in_any_order_and_layout() -> None:
    sizes = (64, 3, 17)
    rows, tables = many(sizes, 3), every_pair(sizes, 3)
    query = Distances(tables, np.random.default_rng(2).integers(0, 9 * ROW, tables.size))
    right = query.answer(query.total(rows))
    apart = np.abs(ROW * tables.total(rows) - query.targets)
    assert right.tolist() == [int(part.sum()) for part in np.split(apart, np.cumsum(tables.cells)[:-1])]
    for other in (rows.only(np.random.default_rng(1).permutation(len(rows))), *layouts(rows).values()):
        assert np.array_equal(query.answer(query.total(other)), right)
    batches = np.array_split(np.arange(len(rows)), 7)
    assert np.array_equal(query.answer(sum(query.total(rows.only(part)) for part in batches)), right)
    assert all(query.answer(query.total(rows.only(part))).min() >= 0 for part in parts_of(len(rows), alone=5))


@pytest.mark.parametrize("kind", [Tables, Distances])
def test_bins_hold_what_their_cells_hold(kind: type) -> None:
    """In a view: the same answer as of rows that were coded to its bins."""
    view = View((2, 0), (64, 40), (np.array([0, 1, 30, 31]), np.arange(0, 40, 8)))
    rows, tables = many((40, 7, 64), 2), every_pair((4, 5), 2)
    query = tables if kind is Tables else Distances(tables, np.full(tables.size, 3 * ROW))
    viewed, bins = Viewed(view, query), replace(rows, codes=view.codes(rows.codes))
    viewed.check(Public((40, 7, 64), 2))
    assert np.array_equal(viewed.total(rows), query.total(bins))
    assert np.array_equal(viewed.answer(viewed.total(rows)), query.answer(query.total(bins)))
    assert viewed.size == query.size
    assert viewed.reach == query.reach


def test_no_distance_leaves_an_int64() -> None:
    """The largest table, targets that add up to the most, and all rows that may be in one cell: against integers."""
    most = MOST_STEPS // CELLS_OF_ONE
    tables = Tables((np.array([CELLS_OF_ONE - 1, 0]),), 1, ((0,),), (1.0,))
    counts = np.zeros(CELLS_OF_ONE, dtype=np.int64)
    counts[0] = ROW_CAP
    for targets, right in (
        (np.full(CELLS_OF_ONE, most), (CELLS_OF_ONE - 1) * most + ROW_CAP * ROW - most),
        (np.append(0, np.full(CELLS_OF_ONE - 1, most)), (CELLS_OF_ONE - 1) * most + ROW_CAP * ROW),
        (np.append(np.zeros(CELLS_OF_ONE - 1, dtype=np.int64), MOST_STEPS), MOST_STEPS + ROW_CAP * ROW),
    ):
        found = Distances(tables, targets).answer(counts)
        assert found.tolist() == [right]
        assert right < 2**62  # what noise may be added to


# Through the curator


SCHEMA = Schema.of(
    {
        "label": "group",
        "columns": {
            **{f"x{i}": {"type": "number", "min": 0, "max": 8, "bins": 8, "missing": True} for i in range(6)},
            "group": {"type": "category", "values": ["a", "b"]},
        },
    }
)
LAYOUT = Layout.of(SCHEMA)


class HalfTheNoise(Curator):
    """The twin: noise of half the standard deviation that is stated."""

    def _noisy(self, query: Query, sd: Floats) -> Floats:
        return noisy(query.answer(self._engine.total(query)), sd / 2.0, self._bits)


def spread(kind: type, curator: type, seed: int = 3) -> tuple[Floats, Answer, Distances | Tables]:
    """What noise there is in an answer, in units of the standard deviation that is stated."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(0.0, 8.0, (200, 6)), columns=list(LAYOUT.names))
    frame["group"] = rng.choice(["a", "b"], 200)
    engine = LocalEngine(Source(open_table(frame), LAYOUT))
    asker = Seen(Client(curator(engine, Budget(1.0), ADD_REMOVE, insecure_bits(seed))), LAYOUT)
    tables = every_pair(LAYOUT.sizes, 2)
    tables = replace(tables, tables=tables.tables * 40, shares=(1.0 / 600,) * 600)  # so that distances are many too
    query = tables if kind is Tables else Distances(tables, rng.integers(0, 9 * ROW, tables.size))
    answer = asker.total("asked", query, 0.25)
    codes = [np.minimum(frame[name].to_numpy().astype(int), 7) for name in LAYOUT.names]
    exact = query.answer(query.total(Batch(np.stack(codes).astype(np.int16), (frame["group"] == "b").to_numpy(int))))
    return (answer.values - exact) / answer.sd, answer, query


@pytest.mark.parametrize("kind", [Tables, Distances])
def test_noise_has_the_sd_that_is_stated(kind: type) -> None:
    for curator, right in ((Curator, True), (HalfTheNoise, False)):
        noise, answer, query = spread(kind, curator)
        error = 5.0 / math.sqrt(2.0 * noise.size)  # of the standard deviation: 5 sd, below 1e-6
        assert (abs(noise.std() - 1.0) < error) == right
        assert abs(noise.mean()) < 5.0 / math.sqrt(noise.size)
    in_rows = np.concatenate([np.ravel(part) for part in unpack(query, answer.sd)])
    assert np.allclose(in_rows, math.sqrt(600) / 0.5)  # 1 / sqrt(share) rows, over mu


def test_a_table_without_rows_is_answered() -> None:
    frame = pd.DataFrame({name: [] for name in (*LAYOUT.names, "group")})
    asker = Seen(
        Client(Curator(LocalEngine(Source(open_table(frame), LAYOUT)), Budget(1.0), LABEL, insecure_bits(1))), LAYOUT
    )
    tables = every_pair(LAYOUT.sizes, 2)
    for query in (tables, Distances(tables, np.full(tables.size, ROW))):
        assert asker.total("nobody", query, 0.1).values.shape == query.weights.shape


# What is refused


def made(**other: Any) -> Tables:
    fields = {"levels": two().levels, "classes": 2, "tables": two().tables, "shares": two().shares}
    return Tables(**{**fields, **other})


WRONG: dict[str, dict[str, Any]] = {
    "a column twice in a table": {"tables": ((0, 0), (0, 1))},
    "the label twice in a table": {"tables": ((2, 2), (0, 1))},
    "a table of nothing": {"tables": ((), (0, 1))},
    "no tables": {"tables": (), "shares": ()},
    "a column that is not there": {"tables": ((0, 3), (0, 1))},
    "a column before the first": {"tables": ((-1, 0), (0, 1))},
    "no classes": {"classes": 0},
    "classes without end": {"classes": 2**62},
    "a level below 0": {"levels": (np.array([0, -1, 2]), np.arange(4))},
    "a level far beyond": {"levels": (np.array([0, 2**62, 2]), np.arange(4))},
    "the smallest level": {"levels": (np.array([0, -(2**63), 2]), np.arange(4))},
    "levels in a matrix": {"levels": (np.zeros((3, 3), np.int64), np.arange(4))},
    "no bins": {"levels": (np.zeros(1, np.int64), np.arange(4))},
    "no levels": {"levels": (np.zeros(0, np.int64), np.arange(4))},
    "a table too large": {"levels": (np.array([0, 4000]), np.array([0, 3000])), "tables": ((0, 1), (0,))},
    "too many cells": {
        "levels": (np.array([0, 2047]), np.array([0, 2047])),
        "tables": ((0, 1),) * 5,
        "shares": (0.2,) * 5,
    },
    "too few shares": {"shares": (0.7,)},
    "shares above one": {"shares": (0.7, 0.4)},
    "a share of nothing": {"shares": (1.0, 0.0)},
    "a share below nothing": {"shares": (1.5, -0.5)},
    "a share that is no number": {"shares": (0.5, math.nan)},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_table_is_refused_at_no_cost(name: str) -> None:
    made()
    tracemalloc.start()
    with pytest.raises(ArgumentError):
        made(**WRONG[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20, "nothing is made before it is refused"


def test_the_largest_tables_are_let_in() -> None:
    levels = (np.array([0, 2047]), np.array([0, 2047]))
    assert made(levels=levels, tables=((0, 1),) * 4, shares=(0.25,) * 4).size == CELLS_OF_ALL


@pytest.mark.parametrize(
    "targets",
    [
        lambda size: np.zeros(size - 1, np.int64),
        lambda size: np.zeros(size + 1, np.int64),
        lambda size: np.zeros((size, 1), np.int64),
        lambda size: np.full(size, -1),
        lambda size: np.append(np.zeros(size - 1, np.int64), MOST_STEPS + ROW),
        lambda size: np.full(size, 2**63 - 1),
        lambda size: np.append(np.zeros(size - 1, np.int64), -(2**63)),
    ],
)
def test_targets_that_are_no_counts_are_refused(targets: Callable[[int], Ints]) -> None:
    with pytest.raises(ArgumentError, match="public count"):
        Distances(two(), targets(two().size))


@pytest.mark.parametrize(
    "public", [Public((2,), 2), Public((2, 3), 1), Public((2, 4), 2), Public((2, 3), 2, coordinates=3, values=True)]
)
def test_those_of_another_schema_are_refused(public: Public) -> None:
    for query in (two(), Distances(two(), np.zeros(two().size, np.int64))):
        query.check(Public((2, 3), 2))
        with pytest.raises(ArgumentError, match="schema"):
            query.check(public)


HOSTILE: dict[str, dict[str, Any]] = {
    "places that overlap": {"tables": [[0, 0], [0, 1]]},
    "a place that is a truth value": {"tables": [[0, True], [0, 1]]},
    "a place that is no whole number": {"tables": [[0, 1.0], [0, 1]]},
    "a place that is a list": {"tables": [[0, [1]], [0, 1]]},
    "levels that are no array": {"levels": [[0, 1, 2], [0, 1, 1, 2]]},
    "one column's levels too few": {"levels": [{"array": 0}]},
    "an array that is not there": {"levels": [{"array": 0}, {"array": 9}]},
    "floats for levels": {"levels": [{"array": 0}, {"array": 2}]},
    "a share that is no number": {"shares": [0.5, math.nan]},
    "a share without end": {"shares": [0.5, math.inf]},
    "a share that is a truth value": {"shares": [True, 0.0]},
    "classes that are no whole number": {"classes": 2.0},
    "classes beyond an int64": {"classes": 2**64},
    "another field": {"rows": [0]},
    "targets of its own": {"targets": {"array": 0}},
}


def edited(question: Any, change: Callable[[Any], None]) -> bytes:
    """A question's bytes with something else in their text, and an array of floats more."""
    request = encode(question)
    length = int.from_bytes(request[:8], "little")
    document = json.loads(request[8 : 8 + length])
    document["arrays"].append(["float64", 4])
    change(document["question"])
    text = json.dumps(document).encode()
    return len(text).to_bytes(8, "little") + text + request[8 + length :] + bytes(32)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_are_not_read(name: str) -> None:
    assert decode(edited(two(), lambda asked: None)).tables == two().tables
    with pytest.raises(ArgumentError):
        decode(edited(two(), lambda asked: asked.update(HOSTILE[name])))


@pytest.mark.parametrize("inside", ["tables", "targets"])
def test_distances_are_of_tables_and_of_nothing_else(inside: str) -> None:
    distances = Distances(two(), np.zeros(two().size, np.int64))
    histograms = {"kind": "Histograms", "sizes": [2, 3], "classes": 2, "shares": [0.5, 0.5]}
    wrong = histograms if inside == "tables" else {"array": 3}
    assert decode(edited(distances, lambda asked: None)).targets.shape == (two().size,)
    with pytest.raises(ArgumentError, match=f"{inside} of Distances"):
        decode(edited(distances, lambda asked: asked.update({inside: wrong})))


def test_the_same_table_twice_is_let_in_and_paid_for_twice() -> None:
    query = made(tables=((0, 1), (0, 1)), shares=(0.5, 0.5))
    check_tight(Case(query, coded([], 2), coded([THERE], 2)), ADD_REMOVE)
