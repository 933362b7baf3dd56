"""Cells that nobody need wait for: the method ran out of time on no larger a table, at no larger an epsilon."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.scoreboard.cells import Cell
from benchmarks.scoreboard.measuring import OUT_OF_TIME
from benchmarks.scoreboard.methods import METHODS

# Train rows, columns that peers are given, and the values or public bins of all these columns together.
SIZES = {
    "adult": (32_561, 15, 280),
    "credit": (24_028, 24, 535),
    "census": (100_072, 41, 704),
    "acs": (6_093, 24, 597),
    "nist21": (7_634, 21, 266),
    "nist24": (7_634, 24, 597),
    "nist21-derived": (7_634, 20, 234),
    "nist24-derived": (7_634, 23, 565),
    "fraud": (13_290, 30, 929),
    "digits": (1_458, 65, 1_098),
    "xor5of10": (40_000, 11, 22),
    "xor3of8": (40_000, 9, 18),
}


def out_of_time(cells: Mapping[tuple[str, str, float], Cell], data: str, method: str, epsilon: float) -> Cell | None:
    """The cell of a peer that ran out of time where this one would, if there is one.

    What any of them does grows with rows, columns and values; AIM and PATE take more rounds the more budget they have.
    """
    if METHODS[method].ours:
        return None
    tried = (cell for cell in cells.values() if cell.method == method and cell.failure == OUT_OF_TIME)
    harder = (cell for cell in tried if cell.epsilon <= epsilon and _is_within(cell.data, data))
    return next((cell for cell in harder if (cell.data, cell.epsilon) != (data, epsilon)), None)


def _is_within(data: str, other: str) -> bool:
    """Whether a table is no larger than another in any way."""
    sizes = SIZES.get(data), SIZES.get(other)
    return None not in sizes and all(own <= theirs for own, theirs in zip(*sizes, strict=True))
