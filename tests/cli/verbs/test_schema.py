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
    commands = [line.split() for line in result.out.splitlines() if line.startswith("  sfumato ")]
    assert [words[1] for words in commands] == ["confirm", "check", "plan", "fit"]
    assert commands[-1][-2:] == ["-o", "draft.sfumato"]
    assert "ROWS is a public guess" in result.out
    drafted = sf.Schema.load("draft.yaml")
    assert drafted.label == "ill"
    assert "columns.age.min" in drafted.unconfirmed


def test_a_schema_that_is_there_is_not_replaced_unasked(folder: Path, call: Call) -> None:
    before = Path("s.yaml").read_text()
    result = call("schema", "data.csv", "-o", "s.yaml")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "s.yaml is there already; give another name, or --replace" in result.err
    assert Path("s.yaml").read_text() == before
    assert call("schema", "data.csv", "-o", "s.yaml", "--replace").code == 0
    assert Path("s.yaml").read_text() != before


def test_schema_as_json(folder: Path, call: Call) -> None:
    (folder / "odd.csv").write_text("a,b,c\n" + "\n".join(f"{i},text {i},{i % 7}" for i in range(200)))
    found = document(call("schema", "odd.csv", "-o", "draft.json", "--json"))
    assert [*found["left_out"]] == ["a", "b"]
    assert found["schema"] == json.loads(Path("draft.json").read_text())
    assert found["output"] == "draft.json"
    assert found["private"].startswith("PRIVATE")
    told = call("schema", "odd.csv", "-o", "draft.json", "--replace")
    assert "left out b" in told.out


def test_a_file_that_is_written_in_another_way(folder: Path, call: Call) -> None:
    (folder / "odd.csv").write_bytes(b"ort;alter\n" + "Köln;31\nUlm;52\n".encode("latin-1") * 20)
    told = call("schema", "odd.csv", "-o", "draft.yaml")
    assert "sfumato confirm draft.yaml" in told.out
    assert "fit odd.csv --schema draft.yaml --csv-encoding latin-1 --delimiter ';' " in told.out.replace("sfumato ", "")
    assert sf.Schema.load("draft.yaml").dump()["columns"]["ort"]["values"] == ["Köln", "Ulm"]
    assert document(call("schema", "odd.csv", "-o", "draft.json", "--json"))["options"]["delimiter"] == ";"


def test_unit_drop_missing_and_code_book(folder: Path, call: Call) -> None:
    (folder / "codes.csv").write_text("column,min,max\nage,0,120\n")
    said = ("--unit", "town", "--drop", "ill", "--missing", "50", "--missing", "51", "--codebook", "codes.csv")
    assert call("schema", "data.csv", "-o", "draft.yaml", *said).code == 0
    drafted = sf.Schema.load("draft.yaml")
    assert [*drafted.columns] == ["age"]
    assert drafted.unit is not None
    assert drafted.unit.column == "town"
    assert drafted.dump()["columns"]["age"]["missing"] == ["50", "51"]
    assert "columns.age.max" not in drafted.unconfirmed
