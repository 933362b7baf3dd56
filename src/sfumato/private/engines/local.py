"""The engine of one machine: batches mapped over its cores, exact integer totals added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from sfumato.errors import TableError
from sfumato.in_flight import in_flight, threads
from sfumato.private.queries.base import Batch, FloatArray, IntArray, Query
from sfumato.private.slicing.rows import RowVectors
from sfumato.private.source import Source
from sfumato.spilling import Arrays, Spill, joined

KEPT_BYTES = 2 << 30  # of a coded table that is kept in memory between passes
TOGETHER = 4  # batches as they are read make one of those that are kept

T = TypeVar("T")


class LocalEngine:
    """Adds up a query over all rows.

    The first pass reads and codes the table; the codes (two or four bytes a cell, and four more where values are
    needed) are kept for later passes: KEPT_BYTES of them in memory, and what is more in a temporary file, so that
    memory does not grow with rows.
    Threads suffice, because numpy and pyarrow release the interpreter for the work that counts.
    """

    def __init__(self, source: Source, workers: int = 1) -> None:
        self.public = source.public
        self._source = source
        self._workers = workers
        self._kept: list[Callable[[], Arrays]] | None = None

    def total(self, query: Query) -> IntArray:
        """The exact total of a query, whatever the batches and their order."""
        return np.asarray(sum(self._map(query.total), np.zeros(query.size, dtype=np.int64)))

    def rows(self, vectors: RowVectors) -> FloatArray:
        """One vector a column: those of all rows that count, and a zero for every one that is wanting."""
        parts = list(self._map(vectors.find))
        # Vectors have 8 bytes a number, and may take 4 times what codes may. Of all that are answered, as many as there
        # are rows, or as units may have: whether they are too many must not depend on which of them count.
        if 2 * vectors.dim * (sum(part.shape[1] for part in parts) + self._source.missing) > KEPT_BYTES:
            raise TableError("the table is too large for noisy rows: its rows have to fit into memory")
        return np.hstack([*parts, np.zeros((vectors.dim, self._source.missing))])

    def _map(self, work: Callable[[Batch], T]) -> Iterator[T]:
        # The engine's threads fill the cores; a matrix product that spreads out too would only get in their way.
        with _libraries().limit(limits=1, user_api="blas"), threads(self._workers) as pool:
            if self._kept is None:
                self._kept = self._read(pool)
            tasks = (partial(lambda kept: work(Batch(*kept())), kept) for kept in self._kept)
            yield from in_flight(pool, tasks, self._workers)

    def _read(self, pool: ThreadPoolExecutor | None) -> list[Callable[[], Arrays]]:
        """The coded rows that count, put aside in fewer batches: what is done once a batch is done less often."""
        spill, kept = Spill(KEPT_BYTES), []
        chosen = self._source.choose(in_flight(pool, self._source.jobs(), self._workers))
        while together := [batch.arrays for batch in islice(chosen, TOGETHER)]:
            kept.append(spill.put(joined(together)))
        return kept


@cache
def _libraries() -> ThreadpoolController:
    """The matrix libraries of this process: numpy's is loaded by now, and finding it takes longer than a small pass."""
    return ThreadpoolController()
