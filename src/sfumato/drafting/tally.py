"""How often each text occurs in a column, in bounded memory.

Up to MOST_TEXTS different texts are counted exactly. Where there are more, two things are kept: the counts of a random
share of the texts, those whose hash is small enough (Gibbons, Distinct sampling, VLDB 2001), by which the number of
different texts and the rows of each are known; and the counts of common texts, by which spikes are.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

MOST_TEXTS = 2**13
COMMON_OF_BATCH = 128  # every text with 1 % of the cells of a batch is among them
MOST_COMMON = 2**11
HASH_BITS = 64


class Tally:
    """Counts of texts.

    Example:
        >>> tally = Tally()
        >>> tally.add(pa.array(["a", "b"]), np.array([3, 1]))
        >>> tally.is_exact, tally.distinct, tally.weights()
        (True, 2, {'a': 3.0, 'b': 1.0})
    """

    def __init__(self) -> None:
        self.cells = 0
        self.sampled: Counter[str] = Counter()
        self._common: Counter[str] = Counter()
        self._halvings = 0

    def add(self, values: pa.Array, counts: np.ndarray[Any, Any]) -> None:
        """Count different texts, each as often as it occurs."""
        self.cells += int(counts.sum())
        texts = values.to_numpy(zero_copy_only=False)
        if not self.is_exact:
            self._add_common(texts, counts)
        kept = self._kept(texts)
        self.sampled.update(dict(zip(texts[kept].tolist(), counts[kept].tolist(), strict=True)))
        while len(self.sampled) > MOST_TEXTS:
            self._halve()

    @property
    def is_exact(self) -> bool:
        """Whether every text is counted."""
        return self._halvings == 0

    @property
    def distinct(self) -> int:
        """About how many different texts there are."""
        return len(self.sampled) << self._halvings

    @property
    def all_differ(self) -> bool:
        """Whether no text occurs twice (among those that are counted)."""
        return bool(self.sampled) and max(self.sampled.values()) == 1

    def weights(self) -> dict[str, float]:
        """Texts with counts, which add up to about the number of cells."""
        share = float(1 << self._halvings)
        found = {text: count * share for text, count in self.sampled.items() if text not in self._common}
        return found | {text: float(count) for text, count in self._common.items()}

    def _kept(self, texts: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if self.is_exact:
            return np.ones(len(texts), dtype=bool)
        hashes = pd.util.hash_array(np.asarray(texts, dtype=object), categorize=False)
        return np.asarray(hashes >> np.uint64(HASH_BITS - self._halvings) == 0, dtype=bool)

    def _halve(self) -> None:
        if self.is_exact:
            self._common = Counter(dict(self.sampled.most_common(COMMON_OF_BATCH)))
        self._halvings += 1
        texts = np.array(list(self.sampled), dtype=object)
        self.sampled = Counter({text: self.sampled[text] for text in texts[self._kept(texts)].tolist()})

    def _add_common(self, texts: Any, counts: np.ndarray[Any, Any]) -> None:
        top = np.argsort(-counts, kind="stable")[:COMMON_OF_BATCH]
        top = top[counts[top] > 1]
        self._common.update(dict(zip(texts[top].tolist(), counts[top].tolist(), strict=True)))
        if len(self._common) > 2 * MOST_COMMON:
            self._common = Counter(dict(self._common.most_common(MOST_COMMON)))
