"""Where rows are added up: how many threads that is."""

from __future__ import annotations

import os

import pytest

import sfumato as sf


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
