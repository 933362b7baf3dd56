"""Where rows are added up: a config that is checked before a table is opened."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError

SCHEMA = {"columns": {"x0": {"type": "number", "min": 0, "max": 1}}}


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_workers_that_are_none_are_refused(workers: Any) -> None:
    with pytest.raises(ArgumentError, match="workers must be a whole number above 0"):
        sf.Local(workers=workers)


def test_an_engine_is_a_config() -> None:
    with pytest.raises(ArgumentError, match=r"engine must be sf.Local\(workers=...\) or None, not 4"):
        sf.fit(np.zeros((3, 1)), SCHEMA, epsilon=1, delta=1e-6, engine=4)  # type: ignore[arg-type]


def test_any_number_of_workers_makes_the_same_release() -> None:
    rows = np.random.default_rng(0).random((500, 1))
    one, two = (
        sf.fit(rows, SCHEMA, epsilon=1, delta=1e-6, engine=sf.Local(workers=n), insecure_seed=1) for n in (1, 2)
    )
    assert one.sample(20, seed=0).equals(two.sample(20, seed=0))


def test_as_many_threads_as_said() -> None:
    assert sf.Local(workers=3).threads == 3


@pytest.mark.parametrize(("allowed", "present", "threads"), [({0, 2, 5}, 8, 3), (None, 8, 8), (None, None, 1)])
def test_by_default_as_many_threads_as_there_are_cores(
    allowed: set[int] | None, present: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the cores that this process may use, where the system tells."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    if allowed is not None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: allowed, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: present)
    assert sf.Local().threads == threads
