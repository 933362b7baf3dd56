"""Commands that run beside the server."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio import jobs
from sfumato.studio.folder import Folder
from sfumato.studio.jobs import Job

TELL = "import sys; print('asking for x', file=sys.stderr, flush=True); print('{\"found\": 1}')"
FAIL = (
    "import sys; print('cell 47 is odd', file=sys.stderr); print('error: no such file', file=sys.stderr); sys.exit(2)"
)
CRASH = "raise ValueError('cell 47')"
WAIT = """
import sys, time
try:
    print('ready', file=sys.stderr, flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print('interrupted: nothing was written', file=sys.stderr)
    sys.exit(130)
"""


def run(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch, found: list[object]) -> Job:
    monkeypatch.setattr(jobs, "RUN", code)
    return Job(["sfumato", "fit"], folder, found.append)


def test_what_it_finds_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    job = run(TELL, tmp_path, monkeypatch, found)
    job.wait()
    job.settle()
    job.settle()
    assert found == [{"found": 1}]
    assert job.lines == ["asking for x"]
    assert not job.problem
    assert not job.running
    assert os.listdir(tmp_path) == []  # what it printed had no name


@pytest.mark.parametrize(("code", "told"), [(FAIL, "no such file"), (CRASH, "sfumato fit stopped")])
def test_only_the_line_that_is_meant_to_be_read_is_told(
    code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []
    job = run(code, tmp_path, monkeypatch, found)
    job.wait()
    job.settle()
    assert job.problem.startswith(told)
    assert "47" not in job.problem
    assert not found


def test_it_is_stopped_as_by_ctrl_c_and_has_a_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = run(WAIT, tmp_path, monkeypatch, [])
    assert os.getsid(job.process) != os.getsid(0)
    while "ready" not in job.lines:
        time.sleep(0.01)
    assert job.running
    assert job.interrupt() == "interrupted: nothing was written"
    assert not job.running


def test_a_command_keeps_what_it_was_given_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the studio that started it lets go of it, or is gone."""
    monkeypatch.setattr(jobs, "RUN", WAIT)
    folder = Folder.of(tmp_path)
    with folder.alone() as right:
        job = Job(["sfumato", "fit"], tmp_path, keeps=[right])
    try:
        with pytest.raises(ArgumentError, match="another studio"), folder.alone():
            pass
    finally:
        job.interrupt()
    with folder.alone():
        pass
