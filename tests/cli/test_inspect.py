"""`sfumato inspect`."""

from __future__ import annotations

from pathlib import Path

from tests.calls import Call
from tests.cli.lines import document


def test_inspect(folder: Path, call: Call) -> None:
    result = call("inspect", "r.sfumato")
    assert result.code == 0
    for words in ("(1, 1e-06)-differentially private", "moments", "Classes of ill", "town", "this release only"):
        assert words in result.out
    found = document(call("inspect", "r.sfumato", "--json"))
    assert found["mechanism"] == "mixture"
    assert found["guarantee"]["delta"] == 1e-6
    assert found["schema"]["label"] == "ill"
