"""Which groups of columns a database has to count by so that a question can be answered, and the total from them.

A question of tables (histograms are tables of one column and the label) is answered from the counts of the cells of
some groups of columns: a table inside a group is a sum over the group's other columns. Few small groups that hold many
tables cost a database less than one group for every table.

>>> groups_of([(0, 1), (1, 2), (0, 2)], (4, 4, 4, 2), most=100)
[(0, 1, 2)]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.private.queries.base import IntArray, Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.schema.layout import Layout
from sfumato.schema.view import View

GROUP_CELLS = 1 << 13  # up to which tables are put together: their counts stay in a processor's cache


class Key(NamedTuple):
    """A whole number for every cell of a group: an offset, and for each of its columns what a level counts."""

    offset: int
    strides: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Asked:
    """A question that counts answer.

    Attributes:
        columns: The places in the layout of the columns that it is about.
        levels: For each of them the level of every cell of its grid, and last that of what is in none.
        tables: Places among `columns`, the one behind the last being the label.
        by_class: Whether the total is laid out class by class, as that of histograms is.
    """

    columns: tuple[int, ...]
    levels: tuple[IntArray, ...]
    tables: tuple[tuple[int, ...], ...]
    by_class: bool

    def total(self, counts: Sequence[IntArray]) -> IntArray:
        """The total from the counts of every table."""
        if self.by_class:
            return np.concatenate([count.T for count in counts], axis=1).ravel()
        return np.concatenate([count.ravel() for count in counts])


def asked_of(query: Query, layout: Layout) -> Asked | None:
    """What a question wants counted; None where it wants more than counts of tables."""
    view, query = (query.view, query.query) if isinstance(query, Viewed) else (None, query)
    query = query.tables if isinstance(query, Distances) else query
    if isinstance(query, Histograms):
        levels = tuple(np.append(np.arange(1, size + 1), 0) for size in query.sizes)  # what is in no bin comes first
        tables: tuple[tuple[int, ...], ...] = tuple((place, len(levels)) for place in range(len(levels)))
    elif isinstance(query, Tables):
        levels, tables = query.levels, query.tables
    else:
        return None
    columns = tuple(range(len(levels))) if view is None else view.columns
    shown = levels if view is None else tuple(_shown(view, place, level) for place, level in enumerate(levels))
    return Asked(columns, shown, tables, isinstance(query, Histograms))


def groups_of(
    tables: Sequence[tuple[int, ...]], sizes: Sequence[int], most: int = GROUP_CELLS
) -> list[tuple[int, ...]]:
    """Groups of columns such that every table's are all in one of them, put together where that makes few cells.

    Args:
        tables: Of places.
        sizes: How many levels each place has.
        most: Cells of a group that is larger than its tables.

    Returns:
        Groups of places in rising order.
    """
    left = sorted({frozenset(table) for table in tables}, key=lambda table: (-len(table), sorted(table)))
    groups = []
    while left:
        group = _grown(left[0], left, sizes, most)
        groups.append(tuple(sorted(group)))
        left = [table for table in left if not table <= group]
    return groups


def _grown(group: frozenset[int], left: Sequence[frozenset[int]], sizes: Sequence[int], most: int) -> frozenset[int]:
    """A group with more columns, for as long as one more puts further tables into it and there is room."""
    while True:
        gains = Counter(place for table in left if len(table - group) == 1 for place in table - group)
        room = most // math.prod(sizes[place] for place in group)
        fitting = {place: gain for place, gain in gains.items() if sizes[place] <= room}
        if not fitting:
            return group
        group |= {max(fitting, key=lambda place: (fitting[place], -sizes[place], -place))}


def table_of(table: tuple[int, ...], group: tuple[int, ...], counts: IntArray) -> IntArray:
    """The counts of a table from those of a group that it is in, with its axes in the table's own order."""
    others = tuple(axis for axis, place in enumerate(group) if place not in table)
    left = [place for place in group if place in table]
    return counts.sum(axis=others).transpose([left.index(place) for place in table])


def _shown(view: View, place: int, level: IntArray) -> IntArray:
    """The level of every cell of the grid of a column that is seen in a view's bins."""
    bins = np.searchsorted(view.starts[place], np.arange(view.cells[place]), "right") - 1
    return np.asarray(level[np.append(bins, -1)])
