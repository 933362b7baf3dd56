"""Work over cores: in order, and matrix libraries as they were found."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from threadpoolctl import threadpool_info

from sfumato.cores import core_count, one_blas_thread, over_cores


def blas_threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@pytest.mark.parametrize("at_most", [1, 2, 100])
def test_results_come_in_order(at_most: int) -> None:
    assert core_count() >= 1
    assert list(over_cores((partial(int, i) for i in range(50)), at_most)) == list(range(50))


def test_a_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.cores.core_count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        list(over_cores([lambda: 1 // 0, lambda: 1], 2))


def test_products_stay_on_one_thread_until_the_last_has_done() -> None:
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # not the order in which they came
    assert set(blas_threads()) <= {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_whoever_stops_listening_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.cores.core_count", lambda: 3)
    running = threading.active_count()
    stream = over_cores((partial(int, i) for i in range(1000)), 3)
    assert next(stream) == 0
    stream.close()
    assert threading.active_count() == running
