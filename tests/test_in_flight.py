"""Work on several threads: results in order, only a few ahead, nothing left running after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from sfumato.in_flight import AHEAD, in_flight, threads

JOBS = 200


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order_and_work_stays_only_a_few_ahead(workers: int) -> None:
    started = done = ahead = 0

    def jobs() -> Iterator[Callable[[], int]]:
        nonlocal started, ahead
        for i in range(JOBS):
            started += 1
            ahead = max(ahead, started - done)
            yield partial(int, i)

    with threads(workers) as pool:
        for i, found in enumerate(in_flight(pool, jobs(), workers)):
            done += 1
            assert found == i
    assert started == done == JOBS
    assert ahead <= AHEAD * workers


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_stops_it(workers: int) -> None:
    ran = []

    def work(i: int) -> None:
        ran.append(i)
        if i == 5:
            raise ValueError("planted")

    with threads(workers) as pool, pytest.raises(ValueError, match="planted"):
        list(in_flight(pool, (partial(work, i) for i in range(JOBS)), workers))
    assert max(ran) <= 5 + AHEAD * workers
