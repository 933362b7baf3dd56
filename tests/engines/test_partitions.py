"""What tasks give, however rows are spread over them, is what one machine gives; and whatever fails, no row is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clusters import ROWS_ONLY, SCHEMA, people
from tests.private.queries.helpers import told_by

from sfumato.engines import partitions
from sfumato.engines.partitions import (
    FAILED,
    Partial,
    Task,
    added,
    chosen,
    coded,
    needed,
    settled,
    summed,
    summed_units,
)
from sfumato.errors import TableError
from sfumato.mechanisms.questions import latent_space, score_image
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import IntArray, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source
from sfumato.private.units import TagArray, Units
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.whole_numbers import joined

UNITS = Units(2, b"0123456789abcdef0123456789abcdef")
PLAIN, LAYOUT = Layout.of(Schema.of(ROWS_ONLY)), Layout.of(Schema.of(SCHEMA))
QUERY = Histograms(LAYOUT.cells, 2, (0.5, 0.5))
SCORES = score_image([[np.linspace(-3.0, 3.0, size) for size in LAYOUT.cells]] * 2)
MOMENTS = GroupSums(latent_space(SCORES, [4.0, 4.0]), (0.2, 0.3, 0.5), "outer")
PEOPLE = people(600)


def parts(layout: Layout, cuts: list[int]) -> list[list[pa.RecordBatch]]:
    """The rows in partitions, some of them empty, each in several batches."""
    ends = [0, *sorted(cuts), PEOPLE.num_rows]
    rows = PEOPLE.select(list(needed(layout)))
    return [rows.slice(a, b - a).to_batches(max_chunksize=70) for a, b in pairwise(ends)]


def local(layout: Layout, units: Units | None, values: bool, query: Query = QUERY) -> IntArray:
    return told_by(LocalEngine(Source(open_table(PEOPLE), layout, units, values)), query)


def shuffled(told: bytes, given: list[list[pa.RecordBatch]], into: int) -> list[list[pa.RecordBatch]]:
    """What a cluster does between both steps: all rows of a unit to one place, sorted."""
    rows = pa.Table.from_batches([batch for part in given for batch in coded(told, part)], partitions.SHUFFLED)
    rows = rows.sort_by([("unit", "ascending"), ("content", "ascending")])
    places = np.array([0 if unit is None else unit[0] % into for unit in rows["unit"].to_pylist()])
    return [rows.filter(pa.array(places == place)).to_batches(max_chunksize=9) for place in range(into)]


@pytest.mark.parametrize("query", [QUERY, MOMENTS], ids=["counts", "moments"])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("cuts", [[], [200, 400], [0, 0, 1, 1, 7, 300, 600]], ids=["1", "3", "8"])
def test_totals_do_not_depend_on_partitions(cuts: list[int], values: bool, query: Query) -> None:
    told = Task(PLAIN, None, values, needed(PLAIN)).about(query)
    found = settled([summed(told, part) for part in parts(PLAIN, cuts)], query.size, "it")
    np.testing.assert_array_equal(joined(query.answer(found)), local(PLAIN, None, values, query))


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("cuts", [[], [200, 400], [0, 0, 1, 1, 7, 300, 600]], ids=["1", "3", "8"])
def test_nor_do_they_with_a_unit(cuts: list[int], values: bool) -> None:
    task = Task(LAYOUT, UNITS, values, needed(LAYOUT))
    together = shuffled(task.bare(), parts(LAYOUT, cuts), into=5)
    found = settled([summed_units(task.about(QUERY), part) for part in together], QUERY.size, "it")
    np.testing.assert_array_equal(found, local(LAYOUT, UNITS, values))
    assert 0 < found.sum() < local(PLAIN, None, values).sum()


def tagged(contents: list[tuple[int, int]]) -> tuple[TagArray, np.ndarray]:
    """Rows of (unit, content), sorted as a cluster sorts them."""
    rng = np.random.default_rng(1)
    units = rng.integers(0, 1 << 62, (4, 2), dtype=np.uint64)
    inside = rng.integers(0, 1 << 62, (4, 3, 2), dtype=np.uint64)
    rows = np.array(contents, dtype=np.int32).reshape(-1, 2)
    tags = np.hstack([units[rows[:, 0]], inside[rows[:, 0], rows[:, 1]]])
    order = sorted(range(len(rows)), key=lambda place: tags[place].tobytes())
    return tags[order], rows[order]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=40), st.data(), st.integers(1, 4))
def test_rows_chosen_in_one_sorted_pass_are_those_chosen_from_all(
    contents: list[tuple[int, int]], data: st.DataObject, most: int
) -> None:
    units, (tags, rows) = replace(UNITS, rows=most), tagged(contents)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    blocks = zip(np.split(tags, cuts), np.split(rows, cuts), strict=True)
    found = [tuple(row) for block in chosen(units, blocks) for row in block]
    assert sorted(found) == sorted(map(tuple, rows[units.choose(tags)]))


def test_of_a_unit_no_more_rows_are_held_than_count(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    choose = Units.choose

    def seen(self: Units, tags: TagArray) -> np.ndarray:
        sizes.append(len(tags))
        return choose(self, tags)

    monkeypatch.setattr(Units, "choose", seen)
    tags, rows = tagged([(0, place % 3) for place in range(500)])
    blocks = ((tags[start : start + 10], rows[start : start + 10]) for start in range(0, 500, 10))
    assert sum(map(len, chosen(UNITS, blocks))) == 2
    assert max(sizes) == 10 + UNITS.rows


def test_rows_out_of_order_are_not_counted() -> None:
    tags, rows = tagged([(place % 4, 0) for place in range(8)])
    with pytest.raises(TableError, match="not sorted"):
        list(chosen(UNITS, [(tags[4:], rows[4:]), (tags[:4], rows[:4])]))
    with pytest.raises(TableError, match="not sorted"):
        list(chosen(UNITS, [(tags[::-1], rows[::-1])]))


def bad_batch() -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: [["a secret"]] for name in needed(LAYOUT)})


def test_a_task_that_fails_gives_a_mark() -> None:
    task = Task(PLAIN, None, False, needed(PLAIN))
    assert summed(task.about(QUERY), [bad_batch()]) == Partial(FAILED)
    assert summed(b"no task", []) == Partial(FAILED)
    assert summed(replace(task, version="0.0").about(QUERY), []) == Partial(FAILED)


def test_an_empty_partition_gives_nothing() -> None:
    assert summed(Task(PLAIN, None, False, needed(PLAIN)).about(QUERY), []) == Partial(0)
    task = Task(LAYOUT, UNITS, False, needed(LAYOUT))
    assert list(coded(task.bare(), [])) == []
    assert summed_units(task.about(QUERY), []) == Partial(0)
    assert summed_units(task.about(QUERY), partitions.SHUFFLED.empty_table().to_batches()) == Partial(0)


def test_a_mark_of_the_first_step_reaches_the_second() -> None:
    task = Task(LAYOUT, UNITS, False, needed(LAYOUT))
    together = shuffled(task.bare(), [[bad_batch()], *parts(LAYOUT, [300])], into=3)
    found = [summed_units(task.about(QUERY), part) for part in together]
    assert [partial.rows for partial in found].count(FAILED) == 1
    assert added(found, QUERY.size) == Partial(FAILED)
    with pytest.raises(TableError, match=r"^it did not read the table to its end; its own log, which may hold rows"):
        settled(found, QUERY.size, "it")


def test_what_a_cluster_raises_is_not_told() -> None:
    def failing() -> Iterator[Partial]:
        yield Partial(1)
        raise ValueError("a secret")

    with pytest.raises(TableError) as caught:
        settled(failing(), 3, "it")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("total", [[0, 0, 0, 7, 0, 0, -2], [1, 2, 3], [0, 0]])
def test_a_total_comes_back_from_its_shorter_form(total: list[int]) -> None:
    whole = np.array(total, dtype=np.int64)
    one = Partial.of(4, whole)
    assert len(one.places) + len(one.sums) <= whole.nbytes
    np.testing.assert_array_equal(
        settled([one, Partial(0), added([one, one], len(total))], len(total), "it"), 3 * whole
    )


def test_all_partitions_together_have_no_more_rows_than_a_table_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "ROW_CAP", 10)
    one = Partial.of(5, np.array([5]))
    assert settled([one, one], 1, "it").tolist() == [10]
    with pytest.raises(TableError, match="a table may have at most 10 rows"):
        settled([one, added([one, one], 1)], 1, "it")
