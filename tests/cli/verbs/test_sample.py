"""`sfumato sample`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf


@pytest.mark.parametrize("suffix", ["csv", "parquet", "pq"])
def test_sample(suffix: str, folder: Path, call: Call) -> None:
    result = call("sample", "r.sfumato", "-n", 70_000, "-o", f"rows.{suffix}", "--seed", 3)
    assert result.code == 0
    assert result.out == f"wrote rows.{suffix}: 70000 synthetic rows of 3 columns\n"
    assert result.err == ""
    rows = pd.read_csv("rows.csv") if suffix == "csv" else pq.read_table(f"rows.{suffix}").to_pandas()
    assert list(rows) == ["age", "town", "ill"]
    assert len(rows) == 70_000
    expected = sf.load("r.sfumato").sample(70_000, seed=3)
    assert (rows["age"] == expected["age"]).all()
    assert (rows["town"].fillna("") == expected["town"].fillna("")).all()


def test_sample_as_json_and_by_the_same_seed(folder: Path, call: Call) -> None:
    arguments = ("sample", "r.sfumato", "-n", 50, "-o", "rows.csv")
    found = document(call(*arguments, "--seed", 1, "--json"))
    assert found == {"output": "rows.csv", "rows": 50, "columns": ["age", "town", "ill"]}
    once = Path("rows.csv").read_bytes()
    call(*arguments, "--seed", 1)
    assert Path("rows.csv").read_bytes() == once
    call(*arguments)
    assert Path("rows.csv").read_bytes() != once


def test_sample_of_no_rows(folder: Path, call: Call) -> None:
    assert call("sample", "r.sfumato", "-n", 0, "-o", "none.csv").code == 0
    assert pd.read_csv("none.csv").shape == (0, 3)
