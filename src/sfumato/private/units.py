"""The unit of privacy as a column: at most m rows of a unit count, chosen by that unit's rows alone.

Which rows count is decided by a keyed hash of the unit's id and what a row would contribute, together: of each unit,
the m rows with the smallest hash. The key is secret and fresh for every fit. So the choice for one unit depends on
nothing but that unit's id, its rows and the key, not on partitions, order or other units. Over the key it is a fair
draw of m of the unit's rows, independent of that of other units: were contents hashed alone, the same ones would win in
every unit. Rows of a unit that are the same contribute the same, so it does not matter which of them is which: they
are numbered, and the hash of all but the first is one of the row's hash and that number.

Sensitivity. Whatever happens to one unit changes at most m rows' contributions: adding or removing it moves a sum by
at most m times the query's add-remove bound; replacing its rows pairs at most m old with at most m new ones, m times
the replace-one bound (a row without a partner costs no more). Where every row is answered for itself (`rows`), the
squares of m moves add up instead: sqrt(m) times the distance of one. Under label adjacency changed labels change the
hashes, and with them which rows count, so it is charged as a replacement. Rows without an id count nowhere: taken
together as one unit, each of the people behind them could push another one out, which the bound for a whole unit does
not cover.

A hash that two ids or two rows share (128-bit BLAKE2b, taken for random) does harm with probability below COLLISION in
a table of 2^36 rows: docs/proofs/mixture.md, section 5. COLLISIONS of delta is set aside: as much as MOST_RELEASES of
one table need.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import insist
from sfumato.private.accounting import MOST_RELEASES
from sfumato.private.queries.base import Batch

KEY_BYTES = 32
HASH_BYTES = 16
COLLISION = 2.0**-67
COLLISIONS = MOST_RELEASES * COLLISION
"""What every release sets aside: as much as a ledger does at the opening, so that a fit at a cap fits under it."""

TagArray: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


@dataclass(frozen=True)
class Units:
    """A unit column's rule: `rows` rows of each unit count, those first in the order that `key` gives."""

    rows: int
    key: bytes

    def tags(self, ids: pa.Array, batch: Batch) -> TagArray:
        """(rows, 4) words: the hash of each row's unit, then the hash of that unit and the row's content together."""
        units = self.names(ids)
        parts = [units.T, batch.codes, batch.labels[None, :]] + ([] if batch.fixed is None else [batch.fixed])
        content = np.ascontiguousarray(np.vstack([part.astype(np.int64) for part in parts]).T)
        return np.hstack([units, self._hashes(content, b"row")])

    def names(self, ids: pa.Array) -> TagArray:
        """(rows, 2) words: the hash of each row's unit."""
        distinct = pc.dictionary_encode(ids)
        hashed = self._hashes([text.encode() for text in distinct.dictionary.to_pylist()], b"unit")
        return np.asarray(hashed[distinct.indices.to_numpy()])

    def choose(self, tags: TagArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of all the table's rows count."""
        order = np.lexsort(tags.T[::-1])
        tags, place = tags[order], np.arange(len(tags))
        # Rows of a unit that are the same are numbered, and each gets a hash of its own: 9 of 10 rows, 9 of 10 chances.
        copy = place - np.maximum.accumulate(place * (tags != np.roll(tags, 1, axis=0)).any(axis=1))
        again = copy > 0
        tags[again, 2:] = self._hashes(np.column_stack([tags[again], copy[again].astype(np.uint64)]), b"copy")
        order = order[np.lexsort(tags.T[::-1])]  # within units: which unit stands where is as before
        counted = np.ones(len(tags), dtype=bool)
        # In this order a row comes too late if the one `rows` places before it is of the same unit.
        counted[order[self.rows :]] = (tags[self.rows :, :2] != tags[: -self.rows, :2]).any(axis=1)
        return counted

    def _hashes(self, rows: list[bytes] | np.ndarray[Any, Any], purpose: bytes) -> TagArray:
        digests = (blake2b(bytes(row), digest_size=HASH_BYTES, key=self.key, person=purpose).digest() for row in rows)
        return np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, HASH_BYTES // 8)


def unit_delta(delta: float) -> float:
    """What is left of delta once the chance of a collision of hashes is set aside."""
    insist(COLLISIONS < delta < 1, f"delta must lie between {COLLISIONS:.1g} and 1 if there is a unit, not {delta!r}")
    return delta - COLLISIONS
