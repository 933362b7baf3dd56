"""Choosing rows whose counts in the cells of tables are as near as can be to what is wanted.

Rows drawn independently have the noise of sampling in every table. Of more rows than are wanted one may choose those
whose tables come out right: balanced sampling (Deville and Tille 2004, "Efficient balanced sampling: the cube method",
Biometrika 91, 893-912). Here the rows begin as a random choice, and chosen rows are exchanged for others wherever the
weighted squared distance of the counts falls, many at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.tilt import Int32Array
from sfumato.schema.layout import FloatArray, IntArray


@dataclass(frozen=True)
class Exchanging:
    """How long rows are exchanged, and how many at a time."""

    batches: int = 200  # of a pass: exchanges of one batch do not see each other
    least: int = 4  # exchanges in a batch
    passes: int = 12
    gain: float = 0.03  # it stops after a pass that takes less than this share off the distance


EXCHANGING = Exchanging()


def balanced(places: IntArray | Int32Array, wanted: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
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
    chosen, others = order[:n], order[n:]
    counts = np.bincount(places[chosen].ravel(), minlength=len(wanted)).astype(np.float64)
    scale = 1.0 / (wanted + 1.0)
    distance = float(((counts - wanted) ** 2 * scale).sum())
    for _ in range(EXCHANGING.passes if min(len(chosen), len(others)) else 0):
        _exchange(places, wanted, scale, counts, chosen, others, rng)
        before, distance = distance, float(((counts - wanted) ** 2 * scale).sum())
        if distance > (1.0 - EXCHANGING.gain) * before:
            break
    return rng.permutation(chosen)


def _exchange(
    places: IntArray | Int32Array,
    wanted: FloatArray,
    scale: FloatArray,
    counts: FloatArray,
    chosen: IntArray,
    others: IntArray,
    rng: np.random.Generator,
) -> None:
    """One pass: every chosen row is paired with one of the others, as far as there are any, and exchanged if it pays.

    Leaving a cell of excess e changes the distance by (1 - 2 e) / (wanted + 1), joining it by (1 + 2 e) / (wanted + 1),
    and both together by nothing.
    """
    rng.shuffle(chosen)
    rng.shuffle(others)
    pairs = min(len(chosen), len(others))
    size = max(EXCHANGING.least, -(-pairs // EXCHANGING.batches))
    for start in range(0, pairs, size):
        part = slice(start, min(start + size, pairs))
        leave, join = places[chosen[part]], places[others[part]]
        slope = 2.0 * (counts - wanted) * scale
        leaving = (scale - slope)[leave].sum(axis=1)
        joining = (scale + slope)[join].sum(axis=1)
        # The rows that should leave most are paired with those that should join most.
        out, into = np.argsort(leaving), np.argsort(joining)
        leave, join = leave[out], join[into]
        change = leaving[out] + joining[into] - 2.0 * np.where(leave == join, scale[leave], 0.0).sum(axis=1)
        pays = np.flatnonzero(change < 0.0)
        out, into = start + out[pays], start + into[pays]
        chosen[out], others[into] = others[into], chosen[out]
        np.subtract.at(counts, leave[pays].ravel(), 1.0)
        np.add.at(counts, join[pays].ravel(), 1.0)
