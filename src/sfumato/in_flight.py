"""Pieces of work on several threads, their results in order, and never more than a few of them ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

AHEAD = 2  # pieces of work in flight per worker

T = TypeVar("T")


def threads(workers: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    """A pool, or none for a single worker: starting a thread takes longer than a small pass."""
    return ThreadPoolExecutor(workers) if workers > 1 else nullcontext()


def in_flight(pool: ThreadPoolExecutor | None, jobs: Iterable[Callable[[], T]], workers: int) -> Iterator[T]:
    """Run jobs on the pool, in order, never more than a few ahead: a large table is not read at once."""
    if pool is None:
        yield from (job() for job in jobs)
        return
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
