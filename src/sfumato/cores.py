"""Public work over the cores of this machine: pieces of it on threads, and matrix libraries kept to one each.

Threads suffice, because numpy, scipy and pyarrow release the interpreter for the work that counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.in_flight import in_flight, threads

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")

_lock = Lock()
_users = 0
_limit: Any = None


def core_count() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def over_cores(jobs: Iterable[Callable[[], T]], at_most: int) -> Iterator[T]:
    """Run jobs on a thread a core, a few ahead of whoever asks for their results.

    Args:
        jobs: What to run; they may not depend on each other.
        at_most: How many threads are worth starting; 1 runs jobs one after the other.

    Returns:
        Their results, in order.

    Example:
        >>> list(over_cores([lambda: 1, lambda: 2], at_most=2))
        [1, 2]
    """
    workers = min(core_count(), at_most)
    with one_blas_thread(), threads(workers) as pool:
        yield from in_flight(pool, jobs, workers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products to the thread that asks for them; from the first who wants it to the last.

    Many small products take longer on several threads, which wait for each other, and threads of our own fill the
    cores already.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _libraries().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    """The matrix libraries of this process: finding them takes longer than a small batch."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
