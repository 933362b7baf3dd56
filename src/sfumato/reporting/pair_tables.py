"""Pairs of columns for a reader to choose: noisy tables where they were bought, and coded rows of the model else.

A noisy table is what the first answer that speaks of a pair says of its cells, unbiased and with the noise of a cell,
in the levels in which it was asked. Of every other pair the page counts rows that the model drew, in the classes of the
columns' figures.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.asking.ratios import Ratio, total
from sfumato.asking.ways import common, ways_of
from sfumato.reporting.classes import ListedClasses, OrderedClasses, told_apart
from sfumato.reporting.seen_release import SIZES, SeenRelease
from sfumato.schema.columns import Number
from sfumato.schema.conditions import Condition, Joined
from sfumato.text import one_line

SHOWN_LEVELS = 40  # of a column, that a table on a page can have

Pair = tuple[str, str]


def bought_pairs(seen: SeenRelease) -> Iterator[Pair]:
    """The pairs of which a noisy table was bought, in the order of asking, each once."""
    found: set[frozenset[str]] = set()
    for each in seen.asked.rounds:
        for table in each.tables:
            for one, other in combinations(table.columns, 2):
                if frozenset((one, other)) not in found and one in seen.columns and other in seen.columns:
                    found.add(frozenset((one, other)))
                    yield one, other


def pair_data(seen: SeenRelease) -> tuple[list[dict[str, Any]], int]:
    """The noisy tables of pairs, as many as there is room for.

    Args:
        seen: The release.

    Returns:
        For each the places of its columns, its levels, counts and noise; and how many there was no room for.
    """
    tables: list[dict[str, Any]] = []
    left, out = SIZES.pair_cells, 0
    for pair in bought_pairs(seen):
        sizes = {name: seen.first(*pair).axes[name].size for name in pair}
        one, other = sorted(pair, key=lambda name: -sizes[name])
        is_fine = sizes[one] > SHOWN_LEVELS
        if left < 0 or (is_fine and not _has_classes(seen, one, other)):
            out += 1
            continue
        found = _in_classes(seen, one, other) if is_fine else _table(seen, one, other)
        left -= len(found["counts"])
        tables.append({"of": [seen.places[one], seen.places[other]], **found})
    return tables, out


def coded_rows(seen: SeenRelease) -> dict[str, Any]:
    """The rows of the model: one byte a cell, column by column.

    Args:
        seen: The release.

    Returns:
        How many there are, the classes of each column, and the bytes.
    """
    codes = np.stack([seen.codes[name] for name in seen.release.schema.columns])
    return {
        "rows": len(seen.rows),
        "labels": [list(seen.classes[name].labels) for name in seen.release.schema.columns],
        "bytes": base64.b64encode(codes.astype(np.uint8).tobytes()).decode("ascii"),
    }


def points(seen: SeenRelease) -> dict[str, list[float | None]]:
    """Some rows of the model as numbers, by the places of their columns: dots of scatter plots."""
    schema = seen.release.schema
    numeric = [name for name, column in schema.columns.items() if isinstance(column, Number)]
    rows = min(SIZES.points, SIZES.sample_cells // max(len(numeric), 1), len(seen.rows))
    found = {}
    for name in numeric:
        cells = seen.rows[name].iloc[:rows].to_numpy(dtype=np.float64, na_value=np.nan)
        found[str(seen.places[name])] = [None if math.isnan(cell) else float(f"{cell:.5g}") for cell in cells.tolist()]
    return found


def _has_classes(seen: SeenRelease, one: str, other: str) -> bool:
    """Whether cells can be put together to classes of the first column: the other is then listed."""
    return isinstance(seen.classes[one], OrderedClasses) and isinstance(seen.classes[other], ListedClasses)


def _table(seen: SeenRelease, one: str, other: str) -> dict[str, Any]:
    """Levels, counts without what cannot be read, and the noise of a cell."""
    first = seen.first(one, other)
    cells = first.cells((one, other))
    axes = [first.axes[name] for name in (one, other)]
    counts = cells.counts if cells.columns == (one, other) else cells.counts.T
    kept = [[i for i in range(axis.size) if i != axis.nowhere] for axis in axes]
    names = [axis.names() for axis in axes]
    unit = np.zeros(cells.shape)
    unit[(0,) * unit.ndim] = 1.0  # all cells have the same noise
    return {
        "levels": [told_apart([one_line(str(names[k][i])) for i in kept[k]]) for k in range(2)],
        "counts": np.rint(counts[np.ix_(*kept)]).astype(int).ravel().tolist(),
        "wide": round(seen.manner.z() * math.sqrt(cells.variance(unit)), 1),
        "source": one_line(first.name),
    }


def _in_classes(seen: SeenRelease, one: str, other: str) -> dict[str, Any]:
    """The same in the classes of an ordered column, with an interval of each cell, where a table has very many levels:
    that of the label and a histogram.
    """
    ordered, listed = seen.classes[one], seen.classes[other]
    assert isinstance(ordered, OrderedClasses)
    assert isinstance(listed, ListedClasses)
    groups = ordered.conditions
    found = [_cell(seen, (one, other), Joined.of("and", group, each)) for group in groups for each in listed.conditions]
    return {
        "levels": [ordered.labels[: len(groups)], listed.labels[: len(listed.members)]],
        "counts": [round(each.estimate) for each in found],
        "ends": [[round(end) for end in each.interval or ()] for each in found],
        "source": one_line(seen.first(one, other).name),
    }


def _cell(seen: SeenRelease, columns: Pair, condition: Condition) -> Ratio:
    ways = ways_of(seen.asked.rounds, tuple(sorted(columns)), condition, lambda region: (region, 1.0, 1.0))
    return common([total(each, seen.manner.z(1.0 / len(ways))) for each in ways])
