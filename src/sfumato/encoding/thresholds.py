"""Between which thresholds numbers lie: as a binary search says, by a table of equal buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.schema.layout import IntArray

MOST_BUCKETS = 1 << 16
FEW_IN_BUCKET = 1  # threshold in a bucket: buckets are halved until none has more
MANY_IN_BUCKET = 6  # where one still has more, a binary search takes less time


class Thresholds:
    """Finds how many of some thresholds are not above a number: `np.searchsorted(thresholds, x, "right")`.

    Numbers and thresholds are put into buckets by one monotonic formula. So a threshold in a lower bucket is not above
    a number, one in a higher bucket is, and those of the same bucket are compared.

    Args:
        thresholds: In order; they may be infinite.
    """

    def __init__(self, thresholds: np.ndarray[Any, Any]) -> None:
        self.thresholds = thresholds
        finite = thresholds[np.isfinite(thresholds)]
        self._low, self._high = (float(finite[0]), float(finite[-1])) if len(finite) else (0.0, 0.0)
        self._buckets, self._in_one = 1, len(thresholds)
        while self._in_one > FEW_IN_BUCKET and self._buckets < MOST_BUCKETS and self._low < self._high:
            self._buckets *= 2
            self._in_one = int(np.bincount(self._bucket(thresholds)).max())
        counts = np.bincount(self._bucket(thresholds), minlength=self._buckets + 1)
        self._before = (np.cumsum(counts) - counts).astype(np.int32)
        self._next = np.append(thresholds, np.nan)  # nothing is above what comes after the last one

    def _bucket(self, x: np.ndarray[Any, Any]) -> IntArray:
        scale = self._buckets / (self._high - self._low) if self._low < self._high else 0.0
        away = np.clip(x, self._low, self._high)
        away -= self._low
        away *= scale
        return away.astype(np.intp)

    def not_above(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """How many thresholds are not above each number, none of which is NaN."""
        if self._in_one > MANY_IN_BUCKET:
            return np.searchsorted(self.thresholds, x, "right")
        found = self._before.take(self._bucket(x), mode="clip")
        for _ in range(self._in_one):
            found += x >= self._next.take(found, mode="clip")
        return found
