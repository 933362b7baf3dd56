"""Trials are the same in one process and in many."""

from __future__ import annotations

import pytest

from sfumato.audit.run import run


@pytest.mark.slow
def test_many_processes_give_what_one_gives() -> None:
    options = {"epsilon": 1.0, "delta": 1e-5, "trials": 120, "insecure_seed": 5}
    one, two = (run("histogram-query", workers=workers, **options) for workers in (1, 2))
    assert one.data() == two.data()
