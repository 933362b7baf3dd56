"""A command that runs beside the server: the one that the page shows, in a process of its own.

What it prints goes to files without a name, in the folder of the table, and it has a session of its own: whatever
becomes of the page or of the server, a fit that has begun to spend ends by writing its release.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

RUN = "from sfumato.cli import main; main()"
TOLD = ("error: ", "interrupted: ")  # lines that are meant to be read; a traceback may hold a cell


class Job:
    """One command, from its start.

    Args:
        words: The command, `sfumato` first.
        folder: Where it runs.
        then: What is done with its result once it has ended without an error.
        good: The exit codes that are no error.
        keeps: Open files that it keeps open until it ends.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        then: Callable[[Any], None] = lambda found: None,
        good: Sequence[int] = (0,),
        keeps: Sequence[int] = (),
    ) -> None:
        self.words = tuple(words)
        self._then, self._good = then, tuple(good)
        self._out, self._err = _nameless(folder), _nameless(folder)
        self._began = time.monotonic()
        self._ended: float | None = None
        self._settled = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", RUN, *self.words[1:], "--json"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
            pass_fds=keeps,
        )

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        if self._process.poll() is None:
            return True
        self._ended = self._ended or time.monotonic()
        return False

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def lines(self) -> list[str]:
        """What it has said so far beside its result."""
        return _text(self._err).splitlines()

    @property
    def problem(self) -> str:
        """Why it failed, in one line; nothing where it did not."""
        if self.running or self._process.returncode in self._good:
            return ""
        told = [line for line in self.lines if line.startswith(TOLD)]
        verb = f"sfumato {self.words[1]}"
        return told[-1].removeprefix(TOLD[0]) if told else f"{verb} stopped; run the command below to see why"

    def settle(self) -> None:
        """Once, after its end: do with its result what is to be done."""
        if self.running or self._settled:
            return
        self._settled = True
        if not self.problem:
            self._then(json.loads(_text(self._out) or "null"))

    def interrupt(self) -> str:
        """Stop it as Ctrl-C would, and wait; what it says of how things stand."""
        if self.running:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
        return next((line for line in reversed(self.lines) if line.startswith(TOLD)), "")

    def wait(self) -> None:
        """Until it has ended."""
        self._process.wait()


def _nameless(folder: Path) -> IO[bytes]:
    """A file that nobody else can open; it is gone once both processes have closed it."""
    return tempfile.TemporaryFile(dir=folder)


def _text(file: IO[bytes]) -> str:
    """All of a file that another process may be writing to, and whose place in it is left alone."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode(errors="replace")
