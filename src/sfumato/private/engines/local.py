"""The engine of one machine: batches mapped over its cores, exact integer totals added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from sfumato.errors import TableError
from sfumato.in_flight import in_flight, threads
from sfumato.private.queries.base import Batch, FloatArray, IntArray, Query
from sfumato.private.slicing.rows import RowVectors
from sfumato.private.source import Source

KEPT_BYTES = 2 << 30  # of a coded table that is kept between passes

T = TypeVar("T")


class LocalEngine:
    """Adds up a query over all rows.

    The first pass reads and codes the table; the codes (two bytes a cell, and four where values are needed) are kept
    for later passes up to KEPT_BYTES. A larger table is read anew at every pass, unless it can be read only once, or
    units of privacy have to be chosen.
    Threads suffice, because numpy and pyarrow release the interpreter for the work that counts.
    """

    def __init__(self, source: Source, workers: int = 1) -> None:
        self.public = source.public
        self._source = source
        self._workers = workers
        self._kept: list[Batch] | None = None
        self._missing = 0
        self._too_large = False

    def total(self, query: Query) -> IntArray:
        """The exact total of a query, whatever the batches and their order."""
        return np.asarray(sum(self._map(query.total), np.zeros(query.size, dtype=np.int64)))

    def rows(self, vectors: RowVectors) -> FloatArray:
        """One vector a column: those of all rows that count, and a zero for every one that is wanting."""
        parts = list(self._map(vectors.find))
        if self._kept is None:
            raise TableError("the table is too large for noisy rows: its rows have to fit into memory")
        return np.hstack([*parts, np.zeros((vectors.dim, self._missing))])

    def _map(self, work: Callable[[Batch], T]) -> Iterator[T]:
        # The engine's threads fill the cores; a matrix product that spreads out too would only get in their way.
        with _libraries().limit(limits=1, user_api="blas"), threads(self._workers) as pool:
            if self._kept is None and not self._too_large:
                self._kept = self._read(pool)
                self._too_large = self._kept is None
            yield from in_flight(pool, self._tasks(work), self._workers)

    def _read(self, pool: ThreadPoolExecutor | None) -> list[Batch] | None:
        """The coded rows that count, or None where they are too many to keep."""
        tagged, size = [], 0
        for each in in_flight(pool, self._source.jobs(), self._workers):
            tagged.append(each)
            size += each.nbytes  # of all rows: whether they are kept must not depend on how many of them count
            if size > KEPT_BYTES and self._source.rereadable:
                return None
        chosen = self._source.choose(tagged)
        self._missing = self._source.missing(tagged, sum(map(len, chosen)))
        return chosen

    def _tasks(self, work: Callable[[Batch], T]) -> Iterator[Callable[[], T]]:
        if self._kept is not None:
            return (partial(work, batch) for batch in self._kept)
        return (partial(lambda job: work(job().batch), job) for job in self._source.jobs())


@cache
def _libraries() -> ThreadpoolController:
    """The matrix libraries of this process: numpy's is loaded by now, and finding it takes longer than a small pass."""
    return ThreadpoolController()
