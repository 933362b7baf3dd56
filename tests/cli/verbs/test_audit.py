"""`sfumato audit`: its exit code is the verdict, so that a crash must not look like one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.calls import Call
from tests.cli.lines import document

from sfumato.audit import run as audits


@dataclass(frozen=True)
class Verdict:
    """What an audit found; how it is found is tested with the audits."""

    violation: bool

    def data(self) -> dict[str, Any]:
        return vars(self)

    def table(self) -> str:
        return "lower bounds"


def test_list(call: Call) -> None:
    shown = call("audit", "--list")
    assert shown.code == 0
    assert "gaussian-query      one number with noise, through the curator\n" in shown.out
    assert document(call("audit", "--list", "--json")).keys() == audits.AUDITS.keys()


@pytest.mark.parametrize("violation", [False, True])
def test_the_exit_code_is_the_verdict(violation: bool, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def run(name: str, **options: Any) -> Verdict:
        options.pop("advance")(1, 2)
        asked.append((name, options))
        return Verdict(violation)

    monkeypatch.setattr(audits, "run", run)
    assert call("audit", "mixture", "--trials", 100, "--adjacency", "label") == (int(violation), "lower bounds\n", "")
    result = call("audit", "mixture", "--epsilon", 2, "--json")
    assert (result.code, json.loads(result.out)) == (int(violation), {"violation": violation})
    base = {"epsilon": 1.0, "delta": 1e-5, "trials": 2000, "adjacency": None, "confidence": 0.95}
    assert asked == [
        ("mixture", base | {"trials": 100, "adjacency": "label"}),
        ("mixture", base | {"epsilon": 2.0}),
    ]


def test_a_crash_is_exit_code_3(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise RuntimeError("not a verdict")

    monkeypatch.setattr(audits, "run", crash)
    result = call("audit", "gaussian-query")
    assert result.code == 3
    assert result.out == ""
    assert result.err.endswith("RuntimeError: not a verdict\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which audit? sfumato audit --list shows them"),
        (("magic",), "magic"),
        (("gaussian-query", "--trials", 1), "trials"),
        (("gaussian-query", "--plot", "nowhere/x.png"), "cannot write nowhere/x.png"),
    ],
)
def test_refusals(arguments: tuple[Any, ...], said: str, call: Call, tmp_path: Path) -> None:
    result = call("audit", *arguments)
    assert result.code == 2
    assert result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith("error: ")
    assert said in line
