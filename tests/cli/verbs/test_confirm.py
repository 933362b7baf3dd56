"""`sfumato confirm`, and the way from a messy file to a fit without an editor."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.calls import Call, Result
from tests.cli.lines import document
from tests.hospital import codebook, stays

import sfumato as sf

DRAFT = """\
columns:
  age: {type: number, min: 10, max: 90}
  town: {type: category, values: [Bonn, Ulm]}
unconfirmed: [columns.age.min, columns.age.max, columns.age.step, columns.town.values]
"""


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.yaml"
    path.write_text(DRAFT)
    return path


@pytest.fixture
def confirm(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    def run(answers: str, *arguments: str) -> Result:
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        return call("confirm", *arguments)

    return run


def test_answers(draft: Path, confirm: Call) -> None:
    told = confirm("0..120\ny\n", "s.yaml")
    assert told.code == 0
    assert "PRIVATE" in told.out
    assert "public knowledge" in told.out
    assert "1 of 2  age: number from 10 to 90  [min max step]" in told.out
    assert "2 of 2  town: one of Bonn, Ulm" in told.out
    assert "2 questions answered; nothing is left" in told.out
    assert "  (or bounds such as 0..120" in told.out
    assert "\n  public: age: number from 0 to 120; never missing\n" in told.out
    assert "\n  public: town: one of Bonn, Ulm; never missing\n" in told.out
    found = sf.Schema.load(draft)
    assert found.unconfirmed == ()
    assert found.dump()["columns"]["age"]["max"] == 120


def test_later_and_the_end_of_the_answers(draft: Path, confirm: Call) -> None:
    assert "1 questions answered; 3 facts are left" in confirm("s\n\n", "s.yaml").out
    assert sf.Schema.load(draft).unconfirmed == ("columns.age.min", "columns.age.max", "columns.age.step")
    assert "0 questions answered; 3 facts are left" in confirm("q\n", "s.yaml").out
    assert "0 questions answered" in confirm("", "s.yaml").out
    assert "nothing is left" in confirm("d\n", "s.yaml").out
    assert [*sf.Schema.load(draft).columns] == ["town"]
    assert "0 questions answered; nothing is left" in confirm("", "s.yaml").out


def test_a_senseless_answer_is_asked_again(draft: Path, confirm: Call) -> None:
    told = confirm("many\n0..99\n\n", "s.yaml")
    assert told.out.count("1 of 2") == 2
    assert "answer y, s, d or q" in told.out
    assert "2 questions answered" in told.out


def test_codes_that_are_amounts_need_bounds_that_are_public(draft: Path, confirm: Call) -> None:
    draft.write_text("columns: {people: {type: category, values: [1, 2, 6]}}\nunconfirmed: [columns.people.values]\n")
    told = confirm("number\n1..8\n", "s.yaml").out
    assert "\n  (or where they are amounts: number 1..8, or 1..8 alone" in told
    assert "\n  give its bounds too" in told
    assert "\n  public: people: number from 1 to 8; step 1; never missing\n" in told
    assert sf.Schema.load(draft).dump()["columns"]["people"] == {"type": "number", "min": 1, "max": 8, "step": 1}


def test_a_slip_is_told_where_it_is_asked(draft: Path, confirm: Call) -> None:
    draft.write_text("columns: {a: {type: category, values: [Noth, North, West]}}\nunconfirmed: [columns.a.values]\n")
    told = confirm("North, West\n", "s.yaml").out
    assert (
        "\n  ('Noth' beside 'North': a slip? mend it in the table, or leave it out of the list)\n  (or all its" in told
    )
    assert "a slip?" not in told.partition("> ")[2]


def test_the_next_command_names_the_table_beside_the_draft(draft: Path, confirm: Call) -> None:
    assert "\nnext: sfumato check DATA --schema s.yaml\n" in confirm("\n\n", "s.yaml").out
    draft.with_suffix(".csv").touch()
    assert "\nnext: sfumato check s.csv --schema s.yaml\n" in confirm("", "s.yaml").out
    draft.with_suffix(".parquet").touch()  # which of both is not known
    assert "\nnext: sfumato check DATA --schema s.yaml\n" in confirm("", "s.yaml").out


def test_alike_columns_one_by_one(draft: Path, confirm: Call) -> None:
    same = "{type: category, values: [Up]}"
    draft.write_text(f"columns: {{a: {same}, b: {same}}}\nunconfirmed: [columns.a.values, columns.b.values]\n")
    told = confirm("each\n\nd\n", "s.yaml")
    assert "1 of 1  a, b (2 columns alike)" in told.out
    assert "2 of 2  b" in told.out
    assert [*sf.Schema.load(draft).columns] == ["a"]


def test_accepting_kinds_of_facts(draft: Path, confirm: Call) -> None:
    told = confirm("", "s.yaml", "--accept", "step,type").out
    assert "1 facts taken as public at once: step,type\n" in told
    assert "1 of 2  age: number from 10 to 90  [min max]" in told
    assert "columns.age.step" not in sf.Schema.load(draft).unconfirmed
    refused = confirm("", "s.yaml", "--accept", "values")
    assert refused.code == 2
    assert "'values' cannot be accepted at once" in refused.err


def test_as_json_questions_are_asked_beside_the_result(draft: Path, confirm: Call) -> None:
    result = confirm("0..120\nq\n", str(draft), "--json")
    told = document(result)
    assert told["private"].startswith("PRIVATE")
    assert (told["answered"], told["left"], told["output"]) == (1, len(sf.Schema.load(draft).unconfirmed), str(draft))
    assert "age" in result.err


def test_no_draft(draft: Path, confirm: Call) -> None:
    assert confirm("", "none.yaml").code == 2


def test_every_answer_is_kept_when_interrupted(draft: Path) -> None:
    run = [sys.executable, "-c", "from sfumato.cli import main; main()", "confirm", "s.yaml"]
    pipe = subprocess.PIPE
    with subprocess.Popen(run, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=draft.parent) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("0..120\n")
        process.stdin.flush()
        while "2 of 2" not in process.stdout.readline():
            pass
        time.sleep(0.2)  # it waits for the second answer
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "s.yaml holds every answer so far; sfumato confirm s.yaml goes on" in err
    found = sf.Schema.load(draft)
    assert found.dump()["columns"]["age"]["max"] == 120
    assert found.unconfirmed == ("columns.town.values",)


ACCEPTED = "type,step,scale,atoms,missing,format,left-out"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("options", "most"),
    [
        ((), 33),
        (("--codebook", "codes.csv", "--unit", "patient_nbr", "--drop", "encounter_id", "--drop", "zip"), 4),
    ],
)
def test_from_a_hospital_s_file_to_a_fit(
    options: tuple[str, ...], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, confirm: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    stays(2000).to_csv("stays.csv", index=False)
    codebook().to_csv("codes.csv", index=False)
    assert call("schema", "stays.csv", "--label", "readmitted", *options, "-o", "s.yaml").code == 0
    told = confirm("\n" * 60, "s.yaml", "--accept", ACCEPTED)
    asked = int(told.out.rpartition(" questions answered")[0].rpartition("\n")[2])
    assert 1 <= asked <= most
    assert "nothing is left: fit accepts it" in told.out
    fitted = call("fit", "stays.csv", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "-o", "r.sfumato")
    assert fitted.code == 0
    made = sf.load("r.sfumato").sample(200)
    assert made["age_years"].dropna().between(0, 120).all()  # 999 is a missing age
    assert made["discharged"].dtype.kind == "M"
