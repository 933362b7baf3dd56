"""The studio as a process of its own, as `sfumato studio` starts it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.studio.jobs import RUN


@dataclass
class Served:
    """A studio that runs.

    Attributes:
        address: What it printed, token and all.
        process: The server.
    """

    address: str
    process: subprocess.Popen[str]

    @property
    def origin(self) -> str:
        """What a browser calls its origin."""
        return self.address.rpartition("/")[0].rpartition("/")[0]

    @property
    def place(self) -> str:
        """Where its pages lie: its address without the token."""
        return self.address.partition("/?")[0]

    def interrupt(self) -> str:
        """Ctrl-C; what it said beside its address."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=120)[1]


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Start one, and stop it."""
    command = [sys.executable, "-P", "-c", RUN, "studio", str(folder), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = next(match[0] for line in process.stdout if (match := re.search(r"http://[^\s\"]+", line)))
        try:
            yield Served(found, process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=120)
