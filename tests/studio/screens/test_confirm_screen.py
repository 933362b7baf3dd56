"""Confirm facts one by one."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.errors import ArgumentError, SchemaError
from sfumato.schema.schema import Schema
from sfumato.studio.screens import confirm_screen
from sfumato.studio.work import Work

DATES = """\
unit: {column: person, rows: 3}
columns:
  born: {type: date, min: 1990-01-01, max: 2001-12-31}
  at: {type: time, min: "08:00", max: "17:30"}
  x1: {type: number, min: 0.5, max: 9.5}
  x2: {type: number, min: 0.5, max: 9.5}
unconfirmed: [unit.rows, columns.born.min, columns.at.min, columns.x1.min, columns.x2.min, columns.note (left out)]
"""


def reply(work: Work, action: str, **fields: str) -> None:
    question = confirm_screen.view(work)["question"]["id"]
    confirm_screen.act(work, {"question": [question], "action": [action]} | {k: [v] for k, v in fields.items()})


def columns(work: Work) -> dict[str, Any]:
    return work.read_schema().dump()["columns"]


def test_answers_are_kept_at_once_and_can_be_taken_back(drafted: Work) -> None:
    reply(drafted, "change", min="0", max="120,0", step="1")
    assert columns(drafted)["age"] == {"type": "number", "min": 0, "max": 120, "step": 1}
    reply(drafted, "change", values="Ulm\nBonn\nnumber: [1]\n")
    assert columns(drafted)["town"]["values"] == ["Ulm", "Bonn", "number: [1]"]
    reply(drafted, "yes")
    assert confirm_screen.STEP.is_done(drafted)
    for _ in range(3):
        confirm_screen.act(drafted, {"action": ["undo"]})
    assert columns(drafted)["age"]["max"] == 80
    assert len(drafted.read_schema().unconfirmed) == 4


def test_an_answer_is_to_the_question_that_was_asked(drafted: Work) -> None:
    first = confirm_screen.view(drafted)["question"]["id"]
    reply(drafted, "yes")
    with pytest.raises(ArgumentError, match="answered already"):
        confirm_screen.act(drafted, {"question": [first], "action": ["yes"]})
    with pytest.raises(ArgumentError, match="nothing was changed"):
        reply(drafted, "change", values="Ulm\nBonn")
    with pytest.raises(SchemaError):
        reply(drafted, "change", typed="type: nonsense")
    assert len(drafted.read_schema().unconfirmed) == 2


def test_codes_stay_codes(drafted: Work) -> None:
    drafted.path("known.yaml").write_text(
        "columns: {code: {type: category, values: [1, 2]}}\nunconfirmed: [columns.code.values]"
    )
    reply(drafted, "change", values="-9\r\n1\r\n2")
    assert columns(drafted)["code"]["values"] == [-9, 1, 2]


def test_later_comes_last_and_a_column_can_be_left_out(drafted: Work) -> None:
    reply(drafted, "later")
    assert confirm_screen.view(drafted)["question"]["names"] == ("town",)
    reply(drafted, "drop")
    assert list(columns(drafted)) == ["age", "ill"]
    assert not confirm_screen.view(drafted)["question"]["can_be_dropped"]  # the label
    reply(drafted, "yes")
    assert confirm_screen.view(drafted)["question"]["names"] == ("age",)


def test_every_kind_of_question_has_its_fields(drafted: Work) -> None:
    drafted.path("known.yaml").write_text(DATES)
    reply(drafted, "change", rows="12")
    assert drafted.read_schema().unit.rows == 12
    reply(drafted, "change", min="1900-01-01", max="2001-12-31")
    assert str(columns(drafted)["born"]["min"]) == "1900-01-01"
    reply(drafted, "change", min="06:00", max="17:30")
    assert str(columns(drafted)["at"]["min"]) == "06:00:00"
    assert confirm_screen.view(drafted)["question"]["names"] == ("x1", "x2")
    reply(drafted, "each")
    reply(drafted, "change", min="0,25", max="9.5")
    assert [columns(drafted)[name]["min"] for name in ("x1", "x2")] == [0.25, 0.5]
    reply(drafted, "yes")
    assert confirm_screen.view(drafted)["question"]["about"] == "left out"
    confirm_screen.act(drafted, {"action": ["accept"], "kind": ["left-out"]})
    assert Schema.load(drafted.path("known.yaml")).unconfirmed == ()
