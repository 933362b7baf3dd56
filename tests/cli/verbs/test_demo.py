"""`sfumato demo`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf


def test_demo_as_json(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato import demo

    made = demo.Demo(folder, sf.load("r.sfumato").guarantee, 0.9, 0.92, 0.01, 1.0, 2.0)

    def run(where: Path, say: Callable[[str], None]) -> demo.Demo:
        say(f"working in {where}")
        return made

    monkeypatch.setattr(demo, "run_demo", run)
    result = call("demo", "there", "--json")
    assert document(result)["auc_synthetic"] == 0.9
    assert result.err == "working in there\n"
    assert "AUC, trained on synthetic rows  0.900" in call("demo").out
