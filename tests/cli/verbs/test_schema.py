"""`sfumato schema`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf


def test_schema(folder: Path, call: Call) -> None:
    result = call("schema", "data.csv", "--label", "ill", "-o", "draft.yaml")
    assert result.code == 0
    assert "wrote draft.yaml: 3 columns" in result.out
    assert "PRIVATE DRAFT" in result.out
    drafted = sf.Schema.load("draft.yaml")
    assert drafted.label == "ill"
    assert "columns.age.min" in drafted.unconfirmed


def test_schema_as_json(folder: Path, call: Call) -> None:
    (folder / "odd.csv").write_text("a,b\n" + "\n".join(f"{i},text {i}" for i in range(200)))
    found = document(call("schema", "odd.csv", "-o", "draft.json", "--json"))
    assert found["left_out"] == ["b"]
    assert found["schema"] == json.loads(Path("draft.json").read_text())
    assert found["output"] == "draft.json"
    told = call("schema", "odd.csv", "-o", "draft.json")
    assert "left out b" in told.out
