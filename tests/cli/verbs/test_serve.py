"""`sfumato serve`: one line when it is ready, a clean end, and a fit from another process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import FIT, altered

import sfumato as sf

SERVE = ("serve", "data.csv", "--schema", "s.yaml")
SEEDED = (*SERVE, "--socket", "s.sock", "--insecure-seed", "3")
COUNTED = (*SERVE, "--ledger", "l.db", "--dataset", "people", "--socket", "s.sock")


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The verb as a process, and the line that it prints."""
    code = "from sfumato.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(sf.__file__).parents[1])},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            if process.poll() is None:
                process.kill()


REFUSED: list[tuple[tuple[str, ...], str]] = [
    ((*SERVE, "--socket", "s.sock"), "--ledger and --dataset belong to a server, or else"),
    ((*COUNTED, "--insecure-seed", "3"), "or else"),
    ((*SERVE, "--ledger", "l.db", "--socket", "s.sock"), "--ledger and --dataset belong together"),
    ((*COUNTED[:-2],), "give one of --socket PATH and --listen HOST:PORT"),
    ((*COUNTED, "--listen", "localhost:0"), "give one of --socket"),
    ((*COUNTED, "--certificate", "c.pem"), "are for --listen"),
    ((*COUNTED[:-2], "--listen", "localhost:0"), "TLS with a token"),
    ((*COUNTED[:-2], "--listen", "localhost:0", "--certificate", "c.pem"), "TLS with a token"),
    ((*SERVE, "--insecure-seed", "3", "--listen", "localhost:0"), "--answers must be given"),
    ((*COUNTED, "--dataset", "nobody"), "has no data set 'nobody'"),
    ((*COUNTED, "--adjacency", "label"), "adjacency"),
    ((*COUNTED, "--answers", "l.db"), "is no journal"),
    ((*SERVE, "--socket", "taken", "--insecure-seed", "3"), "is no socket"),
    ((*SERVE, "--socket", "x" * 101, "--insecure-seed", "3", "--answers", "a"), "1 to 100 bytes"),
]


def test_what_is_refused(folder: Path, call: Call) -> None:
    (folder / "taken").write_text("a letter")
    sf.Ledger("l.db").open("people", 1, 1e-6)
    for arguments, words in REFUSED:
        result = call(*arguments)
        assert (result.code, result.out) == (2, "")
        assert words in result.err
        assert len(result.err.splitlines()) == 1


def test_it_serves_until_it_is_told_to_stop(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: what is announced, and that Ctrl-C is a clean end."""

    def interrupted(self: socket.socket) -> None:
        assert Path("s.sock").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(socket.socket, "accept", interrupted)
    sf.Ledger("l.db").open("people", 1, 1e-6)
    assert call(*COUNTED) == (0, "serving people on unix:s.sock; Ctrl-C ends it\n", "")
    assert not Path("s.sock").exists()
    assert Path("l.db.people.answers").exists()
    told = json.loads(call(*SEEDED, "--json").out)
    assert told == {"address": "unix:s.sock", "dataset": None, "answers": "s.sock.answers"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_fit_through_a_server_in_another_process(number: int, folder: Path, call: Call) -> None:
    sf.Ledger("l.db").open("people", 1, 1e-6)
    with serving(*COUNTED) as (process, line):
        assert line == "serving people on unix:s.sock; Ctrl-C ends it\n"
        other = call(*COUNTED)
        assert (other.code, "is held by another server" in other.err) == (2, True)
        again = call(*SERVE, "--socket", "s.sock", "--insecure-seed", "3")
        assert "listens on s.sock already" in again.err
        done = call("fit", "unix:s.sock", *FIT[4:], "--who", "A. Lovelace")
        assert done.code == 0, done.err
        assert "(1, 1e-06)-differentially private" in done.out
        assert "counted in a ledger as" in done.out
        refused = call("fit", "unix:s.sock", *altered(output="more.sfumato")[4:])
        assert (refused.code, "too little left" in refused.err) == (2, True)
        seeded = call("fit", "unix:s.sock", *altered(output="more.sfumato")[4:], "--insecure-seed", 1)
        assert "--insecure-seed must be left out" in seeded.err
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert not Path("s.sock").exists()
    (entry,) = sf.Ledger("l.db").accounts("people")[0].entries
    assert (entry.who, str(entry.state)) == ("A. Lovelace", "released")


@pytest.mark.slow
def test_a_server_that_was_killed_leaves_a_socket_that_the_next_one_removes(folder: Path) -> None:
    with serving(*SEEDED) as (process, _):
        process.kill()
    assert Path("s.sock").exists()
    with serving(*SEEDED) as (_, line):
        assert "NOT PRIVATE" in line
        assert not sf.fit(sf.remote("unix:s.sock"), epsilon=1, delta=1e-6).guarantee.secure
