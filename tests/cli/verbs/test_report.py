"""`sfumato report` writes a page beside the release, and refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.calls import Call

from sfumato.reporting import document


@pytest.fixture(autouse=True)
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script of charts takes seconds to make; tests/browser has it."""
    monkeypatch.setattr(document, "vega_bundle", lambda: "")
    monkeypatch.setattr(document, "specifications", dict)


def test_report(call: Call, folder: Path) -> None:
    made = call("report", "r.sfumato", "-o", "r.html", "--title", "Towns", "--publisher", "Office", "--json")
    assert made.code == 0
    told = json.loads(made.out)
    assert told == {"output": "r.html", "bytes": (folder / "r.html").stat().st_size, "private": False, "secure": True}
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "<h1>Towns</h1>" in page
    assert "sf.load(&#x27;r.sfumato&#x27;)" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.sfumato", "-o", "r.html"), "none.sfumato does not exist"),
        (("r.sfumato", "-o", "no/such/r.html"), "does not exist"),
        (("r.sfumato", "-o", "r.html", "--title", ""), "title"),
    ],
)
def test_refusals(call: Call, folder: Path, arguments: tuple[str, ...], told: str) -> None:
    refused = call("report", *arguments)
    assert refused.code == 2
    assert told in refused.err
    assert refused.err.count("\n") == 1
    assert not (folder / "r.html").exists()
