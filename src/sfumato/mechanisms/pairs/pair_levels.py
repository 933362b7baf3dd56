"""How a column's bins are put together into levels, by its noisy distribution: tables of fewer cells say more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.encoding.marginals import Marginals
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray


def levels_of(
    marginals: Marginals, bins: Sequence[Bins], most: int, frequent: float, most_frequent: int
) -> tuple[IntArray, ...]:
    """For each feature the level of every bin, at most about so many levels.

    Categories that a larger share of the rows has than `frequent` have a level each, up to `most_frequent` levels of a
    column: what is said in detail in one column and in groups in another goes together only where both can tell.
    """
    shares = [marginals.weights @ masses for masses in marginals.masses]
    found = []
    for p, b in zip(shares, bins, strict=True):
        if isinstance(b, CategoryBins):
            alone = min(int(np.count_nonzero(p > frequent)) + 1, most_frequent)
            found.append(_rare_together(p, max(most, alone)))
        else:
            found.append(_runs(p, b.missing, most))
    return tuple(found)


def _rare_together(shares: FloatArray, most: int) -> IntArray:
    """Every category has a level; of too many, the rarest share one.

    >>> _rare_together(np.array([0.5, 0.05, 0.05, 0.4]), 3).tolist()
    [0, 2, 2, 1]
    """
    if len(shares) <= most:
        return np.arange(len(shares))
    kept = np.sort(np.argsort(-shares, kind="stable")[: most - 1])
    found = np.full(len(shares), most - 1)
    found[kept] = np.arange(most - 1)
    return found


def _runs(shares: FloatArray, missing: int, most: int) -> IntArray:
    """Levels are runs of about equally many rows; a bin that holds as many as a run has a level of its own, and so has
    what is missing.

    >>> _runs(np.array([0.1, 0.1, 0.6, 0.1, 0.1]), -1, 3).tolist()
    [0, 0, 1, 2, 2]
    """
    inside = shares if missing < 0 else shares[:missing]
    if len(inside) <= most:
        return np.arange(len(shares))
    total = inside.sum()
    run = np.floor((np.cumsum(inside) - inside / 2.0) / total * most)
    alone = inside >= total / most
    begins = np.append(True, (np.diff(run) > 0) | alone[1:] | alone[:-1])
    found = np.cumsum(begins) - 1
    return found if missing < 0 else np.append(found, found[-1] + 1)
