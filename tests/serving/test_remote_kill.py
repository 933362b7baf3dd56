"""A server killed at any moment, and requests that are none: nothing is given away. The long runs are benchmarks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks are no part of the package

from benchmarks.remote_fuzz import Requests, fuzz
from benchmarks.remote_kill import PLACES, kill_often, planted_fault_is_seen

from sfumato.serving.frames import Frame

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to fork here")

KILLS = 30


@pytest.mark.slow
def test_nothing_is_given_away_by_killed_servers(tmp_path: Path) -> None:
    found = kill_often(tmp_path, KILLS)
    assert found["checks"] == KILLS + 1
    assert sum(found["killed_while"].values()) == KILLS
    assert set(found["killed_while"]) <= set(PLACES)
    assert found["largest_share_of_a_cap"] <= 1.0


@pytest.mark.slow
def test_a_server_that_writes_nothing_down_is_caught(tmp_path: Path) -> None:
    assert planted_fault_is_seen(tmp_path, 30)


@pytest.mark.slow
def test_requests_that_are_none(tmp_path: Path) -> None:
    found = fuzz(tmp_path, 3000, seed=1)
    assert sum(found["told"].values()) == 3000
    assert min(found["told"].values()) > 100
    assert set(found["told"]) == {"answered", "refused in one line", "hung up"}


def test_some_of_the_requests_are_right() -> None:
    made = Requests(0)
    assert {made.right().head["verb"] for _ in range(20_000)} == {"open", "total", "rows", "close", "facts"}
    assert any(made.altered()[8:] == made.right().packed() or _is_frame(made.altered()[8:]) for _ in range(50))


def _is_frame(content: bytes) -> bool:
    try:
        return bool(Frame.unpacked(content).head)
    except ValueError:
        return False
