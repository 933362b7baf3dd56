"""`sfumato ledger`, and `sfumato fit` with one."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.calls import Call, Result, caller
from tests.cli.lines import document

import sfumato as sf
from sfumato.accounting import Adjacency, Slices, calibrate
from sfumato.cli.verbs.ledger import _bar
from sfumato.ledger.account import Ask

SCHEMA = "columns: {age: {type: number, min: 0, max: 100, bins: 16}}\n"
FIT = ("fit", "data.csv", "--schema", "s.yaml", "--delta", "1e-6", "--ledger", "l.db", "--dataset", "patients")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run a command line in a folder with a table, a schema and a ledger."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [float(i % 90) for i in range(300)]}).to_csv("data.csv", index=False)
    Path("s.yaml").write_text(SCHEMA)

    run = caller(monkeypatch, capsys)
    assert run("ledger", "l.db", "--open", "patients", "--epsilon", 1, "--delta", "1e-6").code == 0
    return run


def crashed(epsilon: float) -> str:
    """An entry whose process died before it drew."""
    asked = Ask("mixture", Adjacency.ADD_REMOVE, "row", epsilon, 1e-6, calibrate(epsilon, 1e-6))
    return sf.Ledger("l.db").reserve("patients", asked).__enter__().id


def test_open_says_what_it_opened(call: Call) -> None:
    said = call("ledger", "l.db", "--open", "people", "--epsilon", 2, "--delta", "1e-9", "--adjacency", "label")
    assert said.out.startswith("opened people in l.db: epsilon 2, delta 1e-09, adjacency label, unit row, since 20")
    more = ("--epsilon", 2, "--delta", "1e-9", "--unit", "person", "--json")
    found = document(call("ledger", "l.db", "--open", "homes", *more))
    assert found["ledger"] == "l.db"
    assert found["opened"].items() >= {"name": "homes", "epsilon": 2.0, "unit": "person"}.items()
    names = [each["name"] for each in document(call("ledger", "l.db", "--json"))["datasets"]]
    assert sorted(names) == ["homes", "patients", "people"]


def test_fits_are_counted_and_shown_over_time(call: Call) -> None:
    for epsilon in (0.5, 0.6):
        said = call(*FIT, "--epsilon", epsilon, "-o", f"{epsilon}.sfumato")
        assert said.code == 0, said.err
        assert "counted in a ledger as " in said.out
    entries = [sf.load(f"{epsilon}.sfumato").guarantee.entry for epsilon in (0.5, 0.6)]
    lines = call("ledger", "l.db").out.splitlines()
    assert lines[0].startswith("patients: epsilon 1, delta 1e-06, adjacency add-remove, unit row")
    assert lines[1].split() == ["cap", "mu", "0.23671", "epsilon", "1", "at", "delta", "1e-06"]
    assert [line.split()[1] for line in lines[5:]] == entries
    assert lines[5].endswith("#####..... 0.5")
    spent = re.search(r"epsilon ([0-9.]+)", lines[2])
    assert spent is not None
    assert 0.6 < float(spent[1]) < 1.1  # squares add up: less than 1.1
    assert lines[6].endswith(f" {spent[1]}")


def test_who_and_why_are_shown(call: Call) -> None:
    notes = ("--who", "M. Curie", "--why", "yearly report")
    assert call(*FIT, "--epsilon", 0.5, "-o", "a.sfumato", *notes).code == 0
    assert call(*FIT, "--epsilon", 0.5, "-o", "b.sfumato").code == 0
    lines = call("ledger", "l.db").out.splitlines()
    assert [line.strip() for line in lines[6:8]] == ["who: M. Curie", "why: yearly report"]
    assert len(lines) == 9
    first, second = document(call("ledger", "l.db", "--json"))["datasets"][0]["entries"]
    assert (first["who"], first["why"]) == ("M. Curie", "yearly report")
    assert (second["who"], second["why"]) == (None, None)
    refused = call(*FIT, "--epsilon", 0.1, "-o", "c.sfumato", "--who", "two\nlines")
    assert refused.code == 2
    assert refused.err == "error: --who must be one line of 1 to 200 characters, not 'two\\nlines'\n"


def test_what_is_shown_as_left_can_be_asked_for(call: Call) -> None:
    call(*FIT, "--epsilon", 0.7, "-o", "a.sfumato")
    left = document(call("ledger", "l.db", "--json"))["datasets"][0]["left"]["epsilon"]
    refused = call(*FIT, "--epsilon", 0.9, "-o", "b.sfumato")
    assert refused.code == 2
    assert f"epsilon {left:g} at delta 1e-06" in refused.err
    assert not Path("b.sfumato").exists()
    assert call(*FIT, "--epsilon", left, "-o", "b.sfumato").code == 0
    again = document(call("ledger", "l.db", "--json", "--dataset", "patients"))["datasets"][0]
    assert again["spent"]["epsilon"] <= 1.0
    assert [entry["state"] for entry in again["entries"]] == ["released", "released"]
    assert again["entries"][1]["descriptor"]["law"] == "gaussian"
    assert again["entries"][1]["total_epsilon"] == again["spent"]["epsilon"]


def test_bounds_on_slices_are_shown_and_an_older_account_over_its_cap_says_so(call: Call) -> None:
    """Written by hand, as before slices were charged a bound."""
    asked = Ask("slicing", Adjacency.REPLACE_ONE, "row", 0.5, 1e-6, 0.01, (Slices(20, 8, 2.0, 40.0),))
    ledger = sf.Ledger("l.db")
    ledger.open("pupils", 1.0, 1e-6, "replace-one")
    with ledger.reserve("pupils", asked) as entry:
        entry.draw()
    shown = call("ledger", "l.db", "--dataset", "pupils").out
    assert "with bounds on noisy projections of every row, which fail with chance 5e-08" in shown
    assert "over its cap" not in shown
    found = document(call("ledger", "l.db", "--dataset", "pupils", "--json"))["datasets"][0]
    assert (found["over"], found["spent"]["chance"]) == (False, pytest.approx(5e-8))
    old = {"law": "gaussian and slices", "mu": 0.01, "slices": [vars(Slices(20, 8, 2.0, 4.0))]}
    with closing(sqlite3.connect("l.db")) as connection, connection:
        connection.execute("DROP TRIGGER sfumato_entry_update")
        connection.execute("UPDATE sfumato_entry SET descriptor = ?", (json.dumps(old),))
    shown = call("ledger", "l.db", "--dataset", "pupils").out
    assert re.search(r"^  'pupils' is over its cap: its releases count as mu 0.7\d+ together", shown, re.MULTILINE)
    assert document(call("ledger", "l.db", "--dataset", "pupils", "--json"))["datasets"][0]["over"] is True


def test_giving_back(call: Call) -> None:
    entry = crashed(1.0)
    assert "left   mu 0" in call("ledger", "l.db").out
    said = call("ledger", "l.db", "--give-back", entry)
    assert said.out == f"returned {entry}: it no longer counts\n"
    shown = call("ledger", "l.db").out
    assert re.search(r"left +mu 0.2367 +epsilon 1$", shown, re.MULTILINE)
    assert re.search(rf"{entry} +mixture +returned +1 +1e-06 +- +\.{{10}} 0$", shown, re.MULTILINE)
    other = crashed(0.5)
    found = document(call("ledger", "l.db", "--give-back", other, "--json"))
    assert found == {"ledger": "l.db", "returned": other}


def test_a_table_that_cannot_be_read_costs_nothing(call: Call) -> None:
    Path("bad.parquet").write_bytes(Path("data.csv").read_bytes())
    arguments = ["bad.parquet" if part == "data.csv" else part for part in FIT]
    assert call(*arguments, "--epsilon", 1, "-o", "a.sfumato").code == 2
    assert call(*FIT, "--epsilon", 1, "-o", "a.sfumato").code == 0


def test_the_ledger_is_not_overwritten_by_a_release(call: Call) -> None:
    before = Path("l.db").read_bytes()
    refused = call(*FIT, "--epsilon", 1, "-o", Path("l.db").absolute())
    assert refused.code == 2
    assert "is the ledger" in refused.err
    assert Path("l.db").read_bytes() == before


@pytest.mark.every(4)
@pytest.mark.parametrize("output", ["sub/../l.db", "link.db", "linked/l.db", "l.db-wal", "l.db-shm", "l.db-journal"])
@pytest.mark.parametrize("place", ["l.db", "sqlite:///l.db", "link.db", None])
def test_the_ledger_is_not_overwritten_by_any_name(output: str, place: str | None, call: Call) -> None:
    Path("sub").mkdir()
    Path("linked").symlink_to(".")
    Path("link.db").symlink_to("l.db")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    counted = [] if place is None else ["--ledger", place, "--dataset", "patients"]
    refused = call(*FIT[:-4], *counted, "--epsilon", 1, "-o", output)
    assert refused.code == 2
    assert ("SQLite database" if place is None else "is the ledger") in refused.err
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
    assert document(call("ledger", "l.db", "--json"))["datasets"][0]["entries"] == []


def test_an_interrupt_says_that_the_ledger_may_have_counted(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    shown = "sfumato ledger l.db shows\n"
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.private.curator.noisy", interrupt)
        said = call(*FIT, "--epsilon", 0.5, "-o", "a.sfumato")
    *_, last = said.err.splitlines(keepends=True)
    assert last == f"interrupted: nothing was written, but the ledger may have counted the release; {shown}"
    assert (said.code, said.out, Path("a.sfumato").exists()) == (130, "", False)
    assert document(call("ledger", "l.db", "--json"))["datasets"][0]["entries"][0]["state"] == "drawing"
    with monkeypatch.context() as patch:
        patch.setattr("sfumato.ledger.ledger._now", interrupt)
        said = call("ledger", "l.db", "--open", "staff", "--epsilon", 1, "--delta", "1e-6")
    assert said == Result(130, "", f"interrupted: the ledger may have been changed; {shown}")


def test_inspect_says_whether_it_is_counted(call: Call) -> None:
    call(*FIT, "--epsilon", 1, "-o", "a.sfumato")
    entry = sf.load("a.sfumato").guarantee.entry
    assert f"It is counted in a ledger as {entry}." in " ".join(call("inspect", "a.sfumato").out.split())
    assert document(call("inspect", "a.sfumato", "--json"))["guarantee"]["entry"] == entry


def test_a_bar_is_full_at_the_cap_and_empty_at_nothing() -> None:
    assert [_bar(share) for share in (0.0, 0.01, 0.5, 1.0, float("inf"))] == [
        "..........",
        "#.........",
        "#####.....",
        "##########",
        "##########",
    ]
