"""`sfumato check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import SCHEMA, document

import sfumato as sf

CHECK = ("check", "data.csv", "--schema", "s.yaml")


def test_a_schema_that_is_ready(folder: Path, call: Call) -> None:
    result = call(*CHECK)
    assert result.code == 0
    assert result.out.startswith("PRIVATE")
    assert "\nverdict: ready\n" in result.out


def test_what_so_many_rows_are_worth(folder: Path, call: Call) -> None:
    assert "\na release of so many rows at epsilon 1, delta 1e-06: fit for nothing: noise is" in call(*CHECK).out
    head, *rows = Path("data.csv").read_text().splitlines(keepends=True)
    Path("data.csv").write_text(head + "".join(rows) * 10)
    assert document(call(*CHECK, "--json"))["forecast"]["fit_for"] == "training"


def test_a_schema_that_is_not(folder: Path, call: Call) -> None:
    Path("s.yaml").write_text(SCHEMA.replace("[Ulm, Bonn], missing: true", "[Ulm]"))
    result = call(*CHECK, "-o", "patch.yaml")
    assert result.code == 1
    assert "town: " in result.out
    assert "verdict: not ready: " in result.out
    assert "wrote patch.yaml: PRIVATE until" in result.out
    patch = sf.Schema.load("patch.yaml")
    assert patch.columns["town"].values == ("Ulm", "Bonn")
    assert patch.unconfirmed == ("columns.town.values",)
    refused = call("fit", "data.csv", "--schema", "patch.yaml", "--epsilon", 1, "--delta", 1e-6, "-o", "x.sfumato")
    assert refused.code == 2
    assert call("check", "data.csv", "--schema", "patch.yaml").code == 0


def test_check_as_json(folder: Path, call: Call) -> None:
    found = document(call(*CHECK, "--json"))
    assert found["private"].startswith("PRIVATE")
    assert (found["ready"], found["verdict"], found["rows"], found["output"]) == (True, "ready", 400, None)
    Path("s.yaml").write_text(SCHEMA.replace("Bonn", "Rome").replace(", missing: true", ""))
    result = call(*CHECK, "--json", "-o", "patch.json")
    assert result.code == 1
    told = json.loads(result.out)
    assert told["patch"] == json.loads(Path("patch.json").read_text())
    assert told["columns"]["town"]["examples"].keys() == {"Bonn"}


def test_check_takes_the_options_of_a_csv_file(folder: Path, call: Call) -> None:
    Path("semi.csv").write_text(Path("data.csv").read_text().replace(",", ";"))
    assert call("check", "semi.csv", "--schema", "s.yaml", "--delimiter", ";").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("check", "none.csv", "--schema", "s.yaml"), "none.csv does not exist"),
        (("check", "data.csv", "--schema", "none.yaml"), "cannot read the schema none.yaml"),
        (("check", "data.csv"), "Missing option '--schema'"),
        ((*CHECK, "-o", "./data.csv"), "data.csv is the table; write the proposed schema somewhere else"),
        ((*CHECK, "-o", "s.yaml"), "s.yaml is there already; give another name, or --replace to write over it"),
        ((*CHECK, "-o", "no/such/patch.yaml"), "the folder no/such does not exist"),
        (("check", "data.parquet", "--schema", "s.yaml", "--delimiter", ";"), "delimiter is for CSV files only"),
    ],
)
def test_bad_input_is_one_line(folder: Path, call: Call, arguments: tuple[str, ...], told: str) -> None:
    result = call(*arguments)
    assert (result.code, result.out) == (2, "")
    assert told in result.err
    assert result.err.count("\n") == 1


def test_a_column_that_is_not_there(folder: Path, call: Call) -> None:
    Path("s.yaml").write_text(SCHEMA.replace("town", "city"))
    result = call(*CHECK, "-o", "patch.yaml")
    assert result.code == 2
    assert "has no column 'city'" in result.err
    assert not Path("patch.yaml").exists()
