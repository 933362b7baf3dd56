"""Subgroups with their uncertainty: means in each class of the label, and how often a class comes in each group.

Everything is a quotient of noisy counts of one table, with Fieller's interval. A group that noise does not tell from
none has no interval, and what no table speaks of is not told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.asking.estimate import Estimate, Estimates
from sfumato.asking.evidence import Columns
from sfumato.asking.ratios import Ratio, ratio
from sfumato.asking.regions import Region, spread
from sfumato.asking.ways import common, ways_of
from sfumato.reporting.classes import MISSING_NAME, OrderedClasses
from sfumato.reporting.column_figures import Bar
from sfumato.reporting.pair_tables import bought_pairs
from sfumato.reporting.seen_release import SeenRelease
from sfumato.schema.columns import Listed, Number
from sfumato.schema.conditions import Condition, Mask
from sfumato.text import one_line

MOST_MEANS = 40  # columns whose means are told
MOST_GROUPED = 8  # columns whose groups are told
FEW_GROUPS = 24  # of a column, so that its groups can be listed


@dataclass(frozen=True)
class GroupMeans:
    """The means of a column in the groups of another."""

    column: str
    by: str
    groups: tuple[str, ...]
    means: tuple[Estimate, ...]


@dataclass(frozen=True)
class GroupShares:
    """How often a class of the label comes in each group of a column."""

    column: str
    bars: tuple[Bar, ...]


def group_means(seen: SeenRelease) -> list[GroupMeans]:
    """The means of columns of numbers, by the label; by the categories that tables were bought with, where there is
    none.
    """
    found = []
    for column, by in _pairs_for_means(seen):
        told = seen.asked.mean(column, by, None, seen.manner)
        if isinstance(told, Estimates) and len(told) <= FEW_GROUPS and not seen.why_not(column, by):
            groups = tuple(one_line(str(key[0])) for key in told.keys)
            found.append(GroupMeans(column, by, groups, tuple(told)))
    return found[:MOST_MEANS]


def told_class(seen: SeenRelease) -> int | None:
    """The class of the label whose shares are told: the second of two, the first of more; None without a label."""
    classes = seen.release.layout.classes
    return None if seen.release.schema.label is None or classes < 2 else int(classes == 2)


def group_shares(seen: SeenRelease, columns: list[str]) -> list[GroupShares]:
    """How often the told class comes in each group of some columns, with intervals.

    Args:
        seen: The release.
        columns: The columns to try, the most telling first.

    Returns:
        Of those that a table with the label speaks of.
    """
    label, told = seen.release.schema.label, told_class(seen)
    if label is None or told is None:
        return []
    usable = [name for name in columns if name != label and not seen.why_not(label, name)]
    return [GroupShares(name, tuple(_bars(seen, label, told, name))) for name in usable[:MOST_GROUPED]]


def _pairs_for_means(seen: SeenRelease) -> Iterator[tuple[str, str]]:
    label = seen.release.schema.label
    numbers = [name for name, column in seen.columns.items() if isinstance(column, Number) and name != label]
    if label is not None:
        yield from ((name, label) for name in numbers[:MOST_MEANS] if not seen.why_not(name, label))
        return
    pairs = [pair for one, other in bought_pairs(seen) for pair in ((one, other), (other, one))]
    listed = {name for name, column in seen.columns.items() if isinstance(column, Listed)}
    yield from [(column, by) for column, by in pairs if column in set(numbers) and by in listed][:MOST_GROUPED]


def _bars(seen: SeenRelease, label: str, told: int, name: str) -> Iterator[Bar]:
    columns = tuple(sorted((label, name)))
    is_told = spread(np.arange(seen.first(label, name).axes[label].size) == told, (label,), columns)
    for title, condition, levels in _groups(seen, label, name):
        found = _share(seen, columns, is_told, condition, levels)
        yield Bar(title, found.estimate if found.interval is not None else math.nan, found.interval)


def _share(
    seen: SeenRelease, columns: Columns, is_told: Mask, condition: Condition | None, levels: Region | None
) -> Ratio:
    """The share of the told class in a group."""
    ways = ways_of(seen.asked.rounds, columns, condition, lambda region: (levels or region, is_told, is_told))
    return common([ratio(each, seen.manner.z(1.0 / len(ways))) for each in ways])


def _groups(seen: SeenRelease, label: str, name: str) -> Iterator[tuple[str, Condition | None, Region | None]]:
    """The groups of a column, each by a condition, which may cut bins, or by levels."""
    classes = seen.classes[name]
    if isinstance(classes, OrderedClasses):
        yield from ((title, each, None) for title, each in zip(classes.labels, classes.conditions, strict=False))
        return
    axis = seen.first(label, name).axes[name]
    for title, levels in zip(classes.labels, classes.members, strict=False):
        if title != MISSING_NAME:
            inside = np.isin(np.arange(axis.size), axis.level[list(levels)])
            yield title, None, Region((name,), inside, inside)
