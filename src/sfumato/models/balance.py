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
from sfumato.models.quick_numbers import Float32Array
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


def balanced(
    places: Places, wanted: FloatArray, n: int, rng: np.random.Generator, ahead: FloatArray | None = None
) -> IntArray:
    """Choose n rows whose counts are near to those wanted.

    The distance is the sum over cells of (count + ahead - wanted)^2 / (wanted + 1): the variances of counts, about.

    Args:
        places: The cell that each candidate row is in, (rows, tables).
        wanted: For every cell how many of the n rows are wanted there.
        n: How many rows to choose.
        rng: Where random numbers come from.
        ahead: By how many rows each cell has too many already, from rows that were chosen before; None for 0.

    Returns:
        Which rows, in random order.

    Raises:
        ArgumentError: There are fewer candidates than rows wanted.
    """
    if n > len(places):
        raise ArgumentError(f"{n} rows cannot be chosen from {len(places)}")
    order = rng.permutation(len(places))
    choice = _Choice(places, wanted, order[:n], order[n:], ahead)
    distance = choice.distance
    for _ in range(EXCHANGING.passes):
        choice.exchange(rng)
        before, distance = distance, choice.distance
        if distance >= (1.0 - EXCHANGING.gain) * before:
            break
    return rng.permutation(choice.chosen)


class _Choice:
    """Chosen rows and the others, with the counts of the chosen ones."""

    def __init__(
        self, places: Places, wanted: FloatArray, chosen: IntArray, others: IntArray, ahead: FloatArray | None
    ) -> None:
        self.places, self.chosen, self.others = places, chosen, others
        excess = np.bincount(places.take(chosen, axis=0).ravel(), minlength=len(wanted)) - wanted
        self.excess = (excess if ahead is None else excess + ahead).astype(np.float32)
        self.scale = (1.0 / (wanted + 1.0)).astype(np.float32)
        self.own = self._added(self.scale, places)  # what a row changes by itself where it leaves or joins

    @staticmethod
    def _added(numbers: Float32Array, places: Places) -> Float32Array:
        """For every row the sum of the numbers of its cells."""
        return np.asarray(numbers.take(places) @ np.ones(places.shape[1], np.float32))

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

        Leaving a cell of excess e changes the distance by (1 - 2 e) scale, joining it by (1 + 2 e) scale; both together
        by nothing, which is left out, as it is next to nothing but in cells where few are wanted.
        """
        slope = self.excess * self.scale
        slope *= np.float32(2.0)
        mine, theirs = self.chosen[part], self.others[part]
        leave, join = self.places.take(mine, axis=0), self.places.take(theirs, axis=0)
        leaving = self.own.take(mine) - self._added(slope, leave)
        joining = self.own.take(theirs) + self._added(slope, join)
        out, into = np.argsort(leaving), np.argsort(joining)  # those that should leave most meet those that should join
        change = leaving[out] + joining[into]  # which rises
        count, moved = self._together(change[: np.count_nonzero(change < 0.0)], leave, join, out, into)
        out, into = part.start + out[:count], part.start + into[:count]
        self.chosen[out], self.others[into] = self.others[into], self.chosen[out]
        self.excess += moved

    def _together(
        self, change: Float32Array, leave: Places, join: Places, out: IntArray, into: IntArray
    ) -> tuple[int, Float32Array]:
        """As many exchanges, the best first, as change the distance by at least half of their sum one by one."""
        cells, count = len(self.scale), len(change)
        while count:
            joined = np.bincount(join.take(into[:count], axis=0).ravel(), minlength=cells)
            joined -= np.bincount(leave.take(out[:count], axis=0).ravel(), minlength=cells)
            moved = joined.astype(np.float32)
            by = (np.float32(2.0) * self.excess + moved) * self.scale
            if by @ moved <= change[:count].sum() / 2.0:
                return count, moved
            count //= 2
        return 0, np.zeros(cells, np.float32)
