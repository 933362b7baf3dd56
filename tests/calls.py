"""The command line as a function, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sfumato import cli


class Result(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Result]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """What runs `sfumato` with some arguments, and tells its exit code and what it printed."""

    def run(*arguments: Any) -> Result:
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        return Result(code, *capsys.readouterr())

    return run
