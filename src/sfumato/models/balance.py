"""Choosing rows whose counts in the cells of tables are as near as can be to what is wanted.

Rows drawn independently have the noise of sampling in every table. Of more rows than are wanted one may choose those
whose tables come out right: balanced sampling (Deville and Tille 2004, "Efficient balanced sampling: the cube method",
Biometrika 91, 893-912). Here the rows begin as a random choice, and chosen rows are exchanged for others wherever the
weighted squared distance of the counts falls, as many at a time as do not get into each other's way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.tilt import Int32Array
from sfumato.schema.layout import FloatArray, IntArray

Places: TypeAlias = IntArray | Int32Array


@dataclass(frozen=True)
class Exchanging:
    """How long rows are exchanged, and how many at a time."""

    batches: int = 100  # of a pass, exchanged at once
    least: int = 4  # rows of a batch
    passes: int = 12  # at most
    gain: float = 0.03  # it stops after a pass that takes less than this share off the distance


EXCHANGING = Exchanging()


def balanced(places: Places, wanted: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Choose n rows whose counts are near to those wanted.

    The distance is the sum over cells of (count - wanted)^2 / (wanted + 1): the variances of counts, about.

    Args:
        places: The cell that each candidate row is in, (rows, tables).
        wanted: For every cell how many of the n rows are wanted there.
        n: How many rows to choose.
        rng: Where random numbers come from.

    Returns:
        Which rows, in random order.

    Raises:
        ArgumentError: There are fewer candidates than rows wanted.
    """
    if n > len(places):
        raise ArgumentError(f"{n} rows cannot be chosen from {len(places)}")
    order = rng.permutation(len(places))
    choice = _Choice(places, wanted, order[:n], order[n:])
    distance = choice.distance
    for _ in range(EXCHANGING.passes):
        choice.exchange(rng)
        before, distance = distance, choice.distance
        if distance >= (1.0 - EXCHANGING.gain) * before:
            break
    return rng.permutation(choice.chosen)


class _Choice:
    """Chosen rows and the others, with the counts of the chosen ones."""

    def __init__(self, places: Places, wanted: FloatArray, chosen: IntArray, others: IntArray) -> None:
        self.places, self.chosen, self.others = places, chosen, others
        self.excess = np.bincount(places[chosen].ravel(), minlength=len(wanted)) - wanted
        self.scale = 1.0 / (wanted + 1.0)

    @property
    def distance(self) -> float:
        return float((self.excess**2 * self.scale).sum())

    def exchange(self, rng: np.random.Generator) -> None:
        """One pass: each chosen row meets one of the others, as far as there are any."""
        rng.shuffle(self.chosen)
        rng.shuffle(self.others)
        pairs = min(len(self.chosen), len(self.others))
        size = max(EXCHANGING.least, -(-pairs // EXCHANGING.batches))
        for start in range(0, pairs, size):
            self._exchange(slice(start, min(start + size, pairs)))

    def _exchange(self, part: slice) -> None:
        """Exchange some chosen rows for as many others where it pays.

        Leaving a cell of excess e changes the distance by (1 - 2 e) scale, joining it by (1 + 2 e) scale, and both
        together by nothing.
        """
        slope = 2.0 * self.excess * self.scale
        leave, join = self.places[self.chosen[part]], self.places[self.others[part]]
        leaving = (self.scale - slope).take(leave).sum(axis=1)
        joining = (self.scale + slope).take(join).sum(axis=1)
        out, into = np.argsort(leaving), np.argsort(joining)  # those that should leave most meet those that should join
        leave, join = leave[out], join[into]
        both = np.where(leave == join, 2.0 * self.scale.take(leave), 0.0).sum(axis=1)
        change = leaving[out] + joining[into] - both
        best = np.argsort(change)[: np.count_nonzero(change < 0.0)]
        best, moved = self._together(best, change, leave, join)
        out, into = part.start + out[best], part.start + into[best]
        self.chosen[out], self.others[into] = self.others[into], self.chosen[out]
        self.excess += moved

    def _together(self, best: IntArray, change: FloatArray, leave: Places, join: Places) -> tuple[IntArray, FloatArray]:
        """As many exchanges, the best first, as change the distance by at least half of their sum one by one."""
        cells = len(self.scale)
        while len(best):
            moved = np.bincount(join[best].ravel(), minlength=cells) - np.bincount(leave[best].ravel(), minlength=cells)
            if (moved * (2.0 * self.excess + moved) * self.scale).sum() <= change[best].sum() / 2.0:
                return best, moved.astype(np.float64)
            best = best[: len(best) // 2]
        return best, np.zeros(cells)
