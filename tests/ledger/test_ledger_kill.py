"""Fits killed with SIGKILL at any moment: the ledger knows every release on disk. The long run is a benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks are no part of the package

from benchmarks.ledger_kill import STEPS, Seen, check, kill_often, left_overs, planted_fault_is_seen, prepare

from benchmarks import ledger_kill

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes to fork here")

KILLS = 12


@pytest.mark.slow
def test_nothing_is_forgotten_by_killed_fits(tmp_path: Path) -> None:
    found = kill_often(tmp_path, KILLS)
    assert found["kills"] == KILLS == sum(found["killed_while"].values())
    assert found["checks"] == KILLS + 1
    assert set(found["killed_while"]) <= set(STEPS)
    assert found["entries"] >= found["releases_on_disk"]
    assert "returned" not in found["entries_by_state"]


@pytest.mark.slow
def test_a_worker_that_saves_before_it_reserves_is_caught(tmp_path: Path) -> None:
    assert planted_fault_is_seen(tmp_path, kills=30)


def test_a_half_written_file_is_never_taken_for_a_release(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / ".1-2.sfumato.abc.sfumato").write_bytes(b"PK\x03\x04 half of it")
    seen = Seen()
    check(tmp_path, seen)
    assert seen.files == {}
    assert left_overs(tmp_path) == {"unfinished": 1, "whole": 0}


def test_a_total_that_falls_would_be_seen(tmp_path: Path) -> None:
    prepare(tmp_path)
    with pytest.raises(AssertionError, match="fell"):
        check(tmp_path, Seen(totals={"large": 0.1}))
    with pytest.raises(AssertionError, match="gone"):
        check(tmp_path, Seen(entries={"a" * 32}))


def test_the_caps_are_such_that_one_is_reached() -> None:
    assert ledger_kill.CAPS["small"] < 1 < ledger_kill.CAPS["large"]
