"""`sfumato sample`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.calls import Call
from tests.cli.lines import document

import sfumato as sf
from sfumato.tables import numbers


@pytest.mark.every(2)
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
    call(*arguments, "--seed", 1, "--replace")
    assert Path("rows.csv").read_bytes() == once
    call(*arguments, "--replace")
    assert Path("rows.csv").read_bytes() != once


def test_sample_of_no_rows(folder: Path, call: Call) -> None:
    assert call("sample", "r.sfumato", "-n", 0, "-o", "none.csv").code == 0
    assert pd.read_csv("none.csv").shape == (0, 3)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["tsv", "csv.gz", "arrow", "xlsx", "sqlite", "duckdb"])
def test_sample_in_every_format_that_can_be_read(kind: str, folder: Path, call: Call) -> None:
    assert call("sample", "r.sfumato", "-n", 50, "-o", f"rows.{kind}", "--seed", 3).code == 0
    table = sf.open_table(f"rows.{kind}")
    assert table.names == ("age", "town", "ill")
    ages = [age for batch in table.batches(["age"]) for age in numbers(batch["age"])]
    assert ages == sf.load("r.sfumato").sample(50, seed=3)["age"].tolist()


def test_sample_to_stdout(folder: Path, call: Call) -> None:
    call("sample", "r.sfumato", "-n", 50, "-o", "rows.csv", "--seed", 3)
    result = call("sample", "r.sfumato", "-n", 50, "-o", "-", "--seed", 3)
    assert (result.code, result.err) == (0, "")
    assert result.out == Path("rows.csv").read_text()
    assert call("sample", "r.sfumato", "-n", 5, "-o", "-", "--format", "tsv").out.startswith('"age"\t"town"')
    assert "give one of them" in call("sample", "r.sfumato", "-n", 5, "-o", "-", "--json").err
    assert not Path("-").exists()


def test_sample_draws(folder: Path, call: Call) -> None:
    result = call("sample", "r.sfumato", "-n", 30, "-o", "rows.csv.gz", "--draws", 3, "--seed", 3)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[2] == "wrote rows-3.csv.gz: 30 synthetic rows of 3 columns"
    expected = sf.load("r.sfumato").sample(30, seed=3, draws=3)
    for number, frame in enumerate(expected, start=1):
        assert pd.read_csv(f"rows-{number}.csv.gz")["age"].tolist() == frame["age"].tolist()
    found = document(call("sample", "r.sfumato", "-n", 30, "-o", "rows.csv", "--draws", 2, "--json"))
    assert [each["output"] for each in found["draws"]] == ["rows-1.csv", "rows-2.csv"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "rows.csv"), "give -n"),
        (("-o", "-", "--draws", 2), "give -o a name"),
        (("-o", "rows.csv", "--draws", 2, "--given", "age=40"), "use --where"),
        (("-o", "rows.csv", "--draws", 1), "2 or more"),
    ],
)
def test_sample_draws_refused(options: tuple[object, ...], said: str, folder: Path, call: Call) -> None:
    result = call("sample", "r.sfumato", *options)
    assert result.code != 0
    assert said in result.err


@pytest.mark.parametrize("options", [("-n", 5), ("--draws", 2)])
def test_rows_are_written_over_nothing_that_is_there(options: tuple[object, ...], folder: Path, call: Call) -> None:
    """The private table may have the name that somebody gives to synthetic rows."""
    mine = folder / ("rows.csv" if options[0] == "-n" else "rows-2.csv")
    mine.write_text("private")
    refused = call("sample", folder / "r.sfumato", *options, "-o", folder / "rows.csv")
    assert refused.code == 2
    assert f"{mine.name} is there already; give another name, or --replace" in refused.err
    assert mine.read_text() == "private"
    assert not (folder / "rows-1.csv").exists()
