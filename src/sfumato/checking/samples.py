"""Samples of a stream of unknown length, in memory that does not grow: of rows, and of units with all their rows.

Both keep what has a small enough key, and halve what is small enough when they are full: so a sample is even whatever
the order of the table. Keys of rows are drawn with a fixed seed, so that a check can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

KEYS = 2.0**64  # how many hashes there are
KEY_SEED = 0x6D1B3A94C27F05E8  # which no made-up table shares: rows must not be drawn by what is in them

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]


def filterable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same cells in types of which Arrow can take some.

    Args:
        batch: Rows of a table.

    Returns:
        The batch; views and runs, which Arrow's `filter` does not know, written out.
    """
    columns = [_written_out(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _written_out(cells: pa.Array) -> pa.Array:
    if pa.types.is_run_end_encoded(cells.type):
        return _written_out(pc.run_end_decode(cells))
    if pa.types.is_string_view(cells.type):
        return cells.cast(pa.large_string())
    return cells.cast(pa.large_binary()) if pa.types.is_binary_view(cells.type) else cells


@dataclass
class RowSample:
    """Rows drawn evenly from batches that come one after the other; all of them where they are few.

    Args:
        most: How many rows to keep, at most.
    """

    most: int
    rate: float = 1.0
    _parts: list[tuple[FloatArray, pa.RecordBatch]] = field(default_factory=list)
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(KEY_SEED))

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._parts)

    def add(self, batch: pa.RecordBatch) -> None:
        """Draw from one more batch."""
        self._parts.append(self._thinned(self._rng.random(batch.num_rows), batch))
        while len(self) > self.most:
            self.rate /= 2
            self._parts = [self._thinned(*part) for part in self._parts]

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows drawn, as they were read."""
        return [batch for _, batch in self._parts]

    def column(self, name: str) -> list[pa.Array]:
        """The cells of one column in the rows drawn, as they were read."""
        return [batch.column(name) for batch in self.batches]

    def _thinned(self, keys: FloatArray, batch: pa.RecordBatch) -> tuple[FloatArray, pa.RecordBatch]:
        kept = keys < self.rate
        return (keys, batch) if kept.all() else (keys[kept], batch.filter(pa.array(kept)))


@dataclass
class UnitSample:
    """Units drawn evenly by the hash of their names, each with the exact number of its rows; all where they are few.

    Args:
        most: How many units to keep, at most.
    """

    most: int
    rate: float = 1.0
    _hashes: np.ndarray[Any, np.dtype[np.uint64]] = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    _counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def add(self, ids: pa.LargeStringArray) -> None:
        """Count some rows, given by the names of their units."""
        distinct = ids.dictionary_encode()
        names = distinct.dictionary.to_numpy(zero_copy_only=False)
        counts = np.bincount(distinct.indices.to_numpy(), minlength=len(names))
        hashes = pd.util.hash_array(names, categorize=False)
        kept = hashes < self.rate * KEYS
        self._hashes = np.concatenate([self._hashes, hashes[kept]])
        self._counts = np.concatenate([self._counts, counts[kept]])
        if len(self._hashes) > 2 * self.most:
            self._compact()

    def rows(self) -> IntArray:
        """How many rows each unit drawn has, in ascending order."""
        self._compact()
        return np.sort(self._counts)

    def _compact(self) -> None:
        """One entry a unit, and no more of them than are kept."""
        self._hashes, places = np.unique(self._hashes, return_inverse=True)
        self._counts = np.bincount(places, weights=self._counts, minlength=len(self._hashes)).astype(np.int64)
        while len(self._hashes) > self.most:
            self.rate /= 2
            kept = self._hashes < self.rate * KEYS
            self._hashes, self._counts = self._hashes[kept], self._counts[kept]
