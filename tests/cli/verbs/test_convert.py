"""`sfumato convert`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.calls import Call
from tests.cli.lines import document

CONTENT = b'id,note\n007,"two\nlines"\n8,x\n9\n10,\xff\n'


@pytest.fixture
def data(folder: Path) -> str:
    Path("notes.csv").write_bytes(CONTENT)
    return "notes.csv"


def test_convert(data: str, call: Call) -> None:
    result = call("convert", data, "notes.parquet")
    assert result.code == 0
    assert result.out == "wrote notes.parquet: 4 rows of 2 columns, as PRIVATE as notes.csv\n"
    assert result.err.splitlines() == [
        "not read: 1 rows, whose line has not as many fields as the header, or a stray quote",
        "not read: 1 cells, which are no text in the file's encoding; say it with --csv-encoding",
    ]
    frame = pd.read_parquet("notes.parquet")
    assert frame["id"].tolist()[:2] == ["007", "8"]
    assert frame["note"][0] == "two\nlines"
    assert call("fit", "notes.parquet", "--help").code == 0


def test_convert_as_json_with_the_options_of_the_table(data: str, call: Call) -> None:
    found = document(call("convert", data, "n.csv.gz", "--csv-encoding", "latin-1", "--json"))
    assert found == {"output": "n.csv.gz", "rows": 4, "columns": ["id", "note"], "lost_rows": 1, "lost_cells": 0}


def test_convert_to_stdout(data: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("convert", data, "-", "--format", "tsv", "--csv-encoding", "latin-1")
    assert result.out.splitlines()[0] == '"id"\t"note"'
    assert result.out.splitlines()[-1] == '"10"\t"ÿ"'
    assert "give one of them" in call("convert", data, "-", "--json").err


def test_a_query_of_a_database(data: str, call: Call) -> None:
    call("convert", data, "notes.sqlite")
    result = call(
        "convert", "sqlite:///notes.sqlite", "-", "--query", "SELECT id FROM notes WHERE id > '5' ORDER BY id"
    )
    assert result.out == '"id"\n"8"\n'


def test_a_table_is_fitted_from_a_database(folder: Path, call: Call) -> None:
    call("convert", "data.csv", "data.sqlite")
    budget = ("--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "-o", "new.sfumato", "--replace")
    assert call("fit", "data.sqlite", "--table", "data", *budget).code == 0
    assert call("fit", "sqlite:///data.sqlite", "--query", "SELECT * FROM data WHERE age > 9", *budget).code == 0
    assert b"SELECT" not in Path("new.sfumato").read_bytes()
