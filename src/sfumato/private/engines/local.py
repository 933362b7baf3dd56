"""The engine of one machine: batches mapped over its cores, exact integer totals added up."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from sfumato.private.queries import Batch, IntArray, Query
from sfumato.private.source import Source

AHEAD = 2  # batches in flight per worker

T = TypeVar("T")


class LocalEngine:
    """Adds up a query over all rows.

    The first pass reads and codes the table; the codes (two bytes a cell) are kept for later passes.
    Threads suffice, because numpy and pyarrow release the interpreter for the work that counts.
    """

    def __init__(self, source: Source, workers: int | None = None) -> None:
        self._source = source
        self._workers = workers or _cores()
        self._batches: list[Batch] | None = None

    def total(self, query: Query) -> IntArray:
        """The exact total of a query, whatever the batches and their order."""
        total = np.zeros(query.size, dtype=np.int64)
        # The engine's threads fill the cores; a matrix product that spreads out too would only get in their way.
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(self._workers) as pool:
            if self._batches is None:
                self._batches = self._read(pool)
            for part in _in_flight(pool, (_task(query, batch) for batch in self._batches), self._workers):
                total += part
        return total

    def _read(self, pool: ThreadPoolExecutor) -> list[Batch]:
        return self._source.choose(list(_in_flight(pool, self._source.jobs(), self._workers)))


def _task(query: Query, batch: Batch) -> Callable[[], IntArray]:
    return lambda: query.total(batch)


def _in_flight(pool: ThreadPoolExecutor, jobs: Iterable[Callable[[], T]], workers: int) -> Iterator[T]:
    """Run jobs on the pool, in order, never more than a few ahead: a large table is not read at once."""
    waiting: deque[Future[T]] = deque()
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
