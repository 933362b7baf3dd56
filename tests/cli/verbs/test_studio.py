"""`sfumato studio`."""

from __future__ import annotations

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.calls import Call


def test_it_says_what_it_cannot_serve(call: Call, tmp_path: Path) -> None:
    result = call("studio", tmp_path / "none")
    assert (result.code, result.out) == (2, "")
    assert "there is no folder" in result.err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = call("studio", tmp_path, "--port", taken.getsockname()[1])
    assert (result.code, result.out) == (2, "")
    assert "--port" in result.err


def test_it_names_the_extra_that_it_needs(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "sfumato.studio.server":
            raise ModuleNotFoundError("No module named 'starlette'", name="starlette")
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = call("studio", tmp_path)
    assert result.code == 2
    assert "sfumato[studio]" in result.err
