"""Groups of columns that hold every table, and tables made of their counts."""

from __future__ import annotations

import itertools

import numpy as np
from tests.engines.questions import distances, histograms, tables

from sfumato.engines.grouped_counts import asked_of, groups_of, table_of
from sfumato.private.queries.group_sums import GroupSums
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

LAYOUT = Layout.of(
    Schema.parse("""
label: c
columns:
  a: {type: number, min: 0, max: 9, step: 1}
  b: {type: category, values: [x, y]}
  c: {type: category, values: [u, v, w]}
""")
)


def test_every_table_is_in_a_group_and_groups_are_few() -> None:
    pairs = [(*pair, 13) for pair in itertools.combinations(range(13), 2)]
    groups = groups_of(pairs, [13] * 13 + [3])
    assert all(any(set(pair) <= set(group) for group in groups) for pair in pairs)
    assert all(13 ** (len(group) - 1) * 3 <= 1 << 13 for group in groups)
    assert len(groups) < 30  # 26 is the least that triples can do for 78 pairs


def test_a_large_table_is_a_group_of_its_own() -> None:
    assert groups_of([(0, 1), (2,)], [1 << 10, 1 << 10, 4]) == [(0, 1), (2,)]


def test_a_table_comes_from_a_wider_group_in_its_own_order() -> None:
    counts = np.random.default_rng(0).integers(0, 9, (2, 3, 4))
    np.testing.assert_array_equal(table_of((7, 1), (1, 3, 7), counts), counts.sum(axis=1).T)


def test_what_is_counted_of_a_question() -> None:
    asked = asked_of(histograms(LAYOUT), LAYOUT)
    assert asked is not None
    assert asked.tables == ((0, 2), (1, 2))
    assert asked.levels[1].tolist() == [1, 2, 0]
    pairs, apart = asked_of(tables(LAYOUT), LAYOUT), asked_of(distances(LAYOUT), LAYOUT)
    assert pairs is not None
    assert apart is not None
    assert pairs.tables == apart.tables == ((1, 0, 2), (2,))


def test_sums_are_no_counts() -> None:
    assert asked_of(GroupSums.__new__(GroupSums), LAYOUT) is None
