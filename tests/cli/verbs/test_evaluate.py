"""`sfumato evaluate`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.calls import Call
from tests.cli.lines import document

EVALUATE = ("evaluate", "r.sfumato", "--train", "data.csv", "--samples", "1")


@pytest.fixture
def tables(folder: Path, frame: pd.DataFrame) -> Path:
    frame[::2].to_csv("test.csv", index=False)
    return folder


def test_on_the_screen_and_as_a_page(tables: Path, call: Call) -> None:
    result = call(*EVALUATE, "--test", "test.csv", "--html", "r.html")
    assert result.code == 0, result.err
    first, *_, last = result.out.splitlines()
    assert first.startswith("PRIVATE: computed from the rows")
    assert last == "wrote r.html: PRIVATE, like what is above"
    assert "(target: ill)" in result.out
    assert result.err == ""
    assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
    assert Path("r.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_as_json_with_a_number_as_target(tables: Path, call: Call) -> None:
    found = document(call(*EVALUATE, "--test", "test.csv", "--target", "age", "--rule", "age < 50", "--json"))
    assert found["private"].startswith("PRIVATE")
    assert found["target"] == "age"
    assert "linear_r2" in found["measures"]
    assert [rule["rule"] for rule in found["rules"]] == ["age < 50"]
    assert found["output"] is None


def test_an_interrupt_leaves_nothing(tables: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.evaluation.evaluating.read_rows", stop)
    result = call(*EVALUATE, "--html", "r.html")
    assert (result.code, result.out, result.err) == (130, "", "interrupted: nothing was written\n")
    assert not Path("r.html").exists()


@pytest.mark.slow
def test_without_test_rows_it_says_so(tables: Path, call: Call) -> None:
    assert "Note: No test rows" in call(*EVALUATE).out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("evaluate", "r.sfumato"), "Missing option '--train'"),
        (("evaluate", "none.sfumato", "--train", "data.csv"), "none.sfumato does not exist"),
        (("evaluate", "r.sfumato", "--train", "none.csv"), "none.csv does not exist"),
        ((*EVALUATE, "--test", "narrow.csv"), "narrow.csv has no column 'age'"),
        ((*EVALUATE, "--test", "./data.csv"), "--test is the table of --train; give rows that were not in the fit"),
        ((*EVALUATE, "--html", "data.csv"), "--html data.csv is one of the files that are read"),
        ((*EVALUATE, "--html", "no/such/r.html"), "the folder no/such does not exist"),
        ((*EVALUATE, "--target", "zip"), "target 'zip' is no column of the release; it has age, town, ill"),
        ((*EVALUATE, "--samples", "0"), "--samples"),
    ],
)
def test_bad_input_is_one_line(tables: Path, call: Call, arguments: tuple[str, ...], told: str) -> None:
    Path("narrow.csv").write_text("town,ill\nUlm,no\n")
    before = {path.name: path.read_bytes() for path in tables.iterdir()}
    result = call(*arguments)
    assert (result.code, result.out) == (2, "")
    assert told in result.err
    assert result.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tables.iterdir()} == before
