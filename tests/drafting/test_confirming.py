"""Questions cover every unconfirmed fact, and answers change what they should and nothing else."""

from __future__ import annotations

import pytest

from sfumato.drafting.confirming import (
    BULK_FACTS,
    Question,
    accepted,
    answered,
    answers_to,
    questions,
    separate,
    slip_in,
    taken,
)
from sfumato.errors import ArgumentError, SchemaError
from sfumato.schema.schema import Schema

DRAFT = Schema.parse("""\
label: ill
unit: {column: person, rows: 3}
columns:
  age: {type: number, min: 10, max: 90, step: 1, missing: [999]}
  drug: {type: category, values: [Down, Up]}
  other.drug: {type: category, values: [Down, Up]}
  seen: {type: date, min: 2020-01-01, max: 2020-12-31}
  sex: {type: category, values: [1, 2]}
  ill: {type: category, values: [Down, Up]}
unconfirmed:
  - unit.column
  - unit.rows
  - columns.age.type
  - columns.age.min
  - columns.age.max
  - columns.age.step
  - columns.age.missing
  - columns.drug.type
  - columns.drug.values
  - columns.other.drug.type
  - columns.other.drug.values
  - columns.seen.min
  - columns.seen.max
  - columns.sex.values
  - columns.ill.type
  - columns.ill.values
  - columns.id (left out)
  - columns.zip (left out)
  - whatever else
""")


def about(name: str) -> Question:
    return next(question for question in questions(DRAFT) if name in (*question.names, question.about))


def test_every_fact_is_asked_once() -> None:
    found = questions(DRAFT)
    assert sorted(fact for question in found for fact in question.facts) == sorted(DRAFT.unconfirmed)
    assert [question.about for question in found] == ["unit", *["column"] * 5, "left out", "fact"]
    assert about("drug").names == ("drug", "other.drug")  # the label is asked by itself
    assert about("age").text == "age: number from 10 to 90; missing where empty or 999; step 1"
    assert about("age").keys == ("type", "min", "max", "step", "missing")
    assert about("left out").text == "left out: id, zip"
    assert "2 columns alike" in about("drug").text


def test_yes_to_everything_confirms_and_changes_nothing() -> None:
    schema = DRAFT
    for question in questions(DRAFT):
        schema = answered(schema, question, "")
    assert schema.dump() == {key: said for key, said in DRAFT.dump().items() if key != "unconfirmed"}


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("age", "0..120", {"type": "number", "min": 0, "max": 120, "step": 1, "missing": [999]}),
        ("age", "-5 .. 90.5", {"type": "number", "min": -5, "max": 90.5, "step": 1, "missing": [999]}),
        ("age", "max: 120, missing: [998, 999]", {"type": "number", "min": 10, "max": 120, "step": 1}
         | {"missing": [998, 999]}),
        ("age", "step: null", {"type": "number", "min": 10, "max": 90, "missing": [999]}),
        ("seen", "2019-01-01..2024-12-31", {"type": "date", "min": "2019-01-01", "max": "2024-12-31"}),
        ("sex", "1, 2, 9", {"type": "category", "values": [1, 2, 9]}),
        ("sex", "01, 02", {"type": "category", "values": ["01", "02"]}),
        ("sex", 'a, "b, c"', {"type": "category", "values": ["a", "b, c"]}),
        ("sex", "1..8", {"type": "number", "min": 1, "max": 8, "step": 1}),
        ("sex", "number 0 .. 8", {"type": "number", "min": 0, "max": 8, "step": 1}),
        ("sex", "type: number, min: 1, max: 9", {"type": "number", "min": 1, "max": 9, "step": 1}),
    ],
)  # fmt: skip
def test_a_new_value(name: str, answer: str, expected: dict[str, object]) -> None:
    schema = answered(DRAFT, about(name), answer)
    assert schema.dump()["columns"][name] == expected
    assert not [fact for fact in schema.unconfirmed if fact.startswith(f"columns.{name}.")]
    assert {k: v for k, v in schema.dump()["columns"].items() if k != name} == {
        k: v for k, v in DRAFT.dump()["columns"].items() if k != name
    }


def test_columns_that_are_alike() -> None:
    schema = answered(DRAFT, about("drug"), "Down, Up, Steady")
    assert schema.dump()["columns"]["other.drug"]["values"] == ["Down", "Up", "Steady"]
    apart = separate(DRAFT, about("drug"))
    assert [question.names for question in apart] == [("drug",), ("other.drug",)]
    assert apart[1].facts == ("columns.other.drug.type", "columns.other.drug.values")


def test_dropping() -> None:
    schema = answered(DRAFT, about("drug"), "d")
    assert not {"drug", "other.drug"} & set(schema.columns)
    assert answered(DRAFT, about("unit"), "d").unit is None
    changed = answered(DRAFT, about("unit"), "5").unit
    assert changed is not None
    assert (changed.column, changed.rows) == ("person", 5)


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("ill", "d", "the label cannot be dropped"),
        ("age", "90..10", "min .90. must be below max"),
        ("age", "perhaps", "answer y, s, d or q"),
        ("age", "step: [", "cannot be read"),
        ("age", "min: low", "columns.age"),
        ("sex", "number", "give its bounds too, as they are known without the rows, such as number 1..8"),
        ("sex", "type: number, max: 9", "give its bounds too"),  # the other bound would be that of the rows
        ("drug", "number", "give its bounds too"),
        ("drug", "1..8", "all values with commas"),
        ("ill", "number 1..8", "label"),
        ("unit", "many", "number of rows"),
        ("unit", "0", "unit.rows"),
        ("left out", "d", "nothing to change"),
    ],
)
def test_answers_that_make_no_sense(name: str, answer: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        answered(DRAFT, about(name), answer)


@pytest.mark.parametrize(
    ("kind", "answer", "low", "high"),
    [
        ("date", "2020..2026", "2020-01-01", "2026-12-31"),
        ("date", "2020-02..2024-02", "2020-02-01", "2024-02-29"),
        ("date", "2020-2-3 .. 2026", "2020-02-03", "2026-12-31"),
        ("datetime", "2020..2026", "2020-01-01", "2027-01-01"),
        ("datetime", "2020-01-01T06:00..2020-02", "2020-01-01T06:00", "2020-03-01"),
    ],
)
def test_whole_months_and_years_are_bounds_of_dates(kind: str, answer: str, low: str, high: str) -> None:
    step = ", step: 1h" if kind == "datetime" else ""
    text = f"{{type: {kind}, min: 2019-01-01, max: 2020-12-31{step}}}"
    draft = Schema.parse(f"columns: {{seen: {text}}}\nunconfirmed: [columns.seen.min, columns.seen.max]\n")
    wanted = text.replace("2019-01-01", f"'{low}'").replace("2020-12-31", f"'{high}'")
    found = answered(draft, questions(draft)[0], answer)
    assert found.dump() == Schema.parse(f"columns: {{seen: {wanted}}}").dump()


@pytest.mark.parametrize("answer", ["01.02.2020..2026", "2020..26", "2020-13..2026", "2020-02-30..2026", "a..b"])
def test_what_is_no_date_is_told_the_form(answer: str) -> None:
    with pytest.raises(SchemaError, match="is no date; write bounds such as 2020-01-01"):
        answered(DRAFT, about("seen"), answer)


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        ("age", "0..120", "public: age: number from 0 to 120; missing where empty or 999; step 1"),
        ("sex", "", "public: sex: one of 1, 2; never missing"),
        ("ill", "", "public: ill: one of Down, Up"),
        ("drug", "", "public: drug, other.drug (2 columns alike): one of Down, Up; never missing"),
        ("drug", "d", "dropped: drug, other.drug"),
        ("unit", "5", "rows with the same person are one person's; 5 of them count"),
        ("unit", "d", "every row is another person's"),
        ("left out", "", "stays out: id, zip"),
        ("fact", "", "public as it stands: whatever else"),
    ],
)
def test_what_was_taken_is_said(name: str, answer: str, told: str) -> None:
    assert taken(answered(DRAFT, about(name), answer), about(name)) == told


def test_every_kind_of_question_says_what_may_be_answered() -> None:
    found = dict(answers_to(DRAFT, question) for question in questions(DRAFT))
    assert [*found] == ["unit", "number", "category", "date", "codes", "left out", "fact"]
    assert found["codes"].startswith("where they are amounts: number 1..8, or 1..8 alone")
    assert "2020..2026" in found["date"]
    assert "the bound that you would print on a form" in found["number"]
    assert "with --unit: at one row each the noise stays the same" in found["left out"]
    assert found["fact"] == ""


def test_a_slip_is_told_of_columns_with_values_alone() -> None:
    assert {slip_in(DRAFT, question) for question in questions(DRAFT)} == {""}
    draft = Schema.parse("columns: {a: {type: category, values: [East, Easst]}}\nunconfirmed: [columns.a.values]\n")
    assert slip_in(draft, questions(draft)[0]).startswith("'East' beside 'Easst': a slip?")


def test_facts_of_a_kind_at_once() -> None:
    schema = accepted(DRAFT, ["type", "step", "missing", "left-out"])
    left = {fact.rpartition(".")[2] for fact in schema.unconfirmed}
    assert left == {"column", "rows", "min", "max", "values", "whatever else"}
    assert accepted(DRAFT, BULK_FACTS).dump()["columns"] == DRAFT.dump()["columns"]
    for kind in ("min", "values", "unit", "all"):
        with pytest.raises(ArgumentError, match="cannot be accepted at once"):
            accepted(DRAFT, [kind])


def test_facts_that_can_be_accepted_at_once_share_a_question() -> None:
    facts = [fact for fact in DRAFT.unconfirmed if fact.endswith((".type", ".step", ".missing"))]
    draft = Schema.of(DRAFT.dump() | {"unconfirmed": facts})
    (question,) = questions(draft)
    assert question.names == ("age", "drug", "other.drug", "ill")
    lines = question.text.splitlines()
    assert lines[0] == "type, step, missing of 4 columns"
    assert lines[1].strip() == "age: type number; step 1; missing where empty or 999"
    assert answered(draft, question, "y").unconfirmed == ()
    for answer in ("d", "0..5"):
        with pytest.raises(SchemaError, match="answer y, s, each or q"):
            answered(draft, question, answer)
    assert [each.names for each in separate(draft, question)] == [(name,) for name in question.names]


@pytest.mark.parametrize("word", ["n", "no", "ok", "help", "back", "drop f", "Down Up", "0..1"])
def test_one_word_is_no_list_of_values(word: str) -> None:
    """Whoever means something else must not have all values replaced by it."""
    with pytest.raises(SchemaError, match="all values with commas"):
        answered(DRAFT, about("drug"), word)
    assert answered(DRAFT, about("sex"), "values: [1]").dump()["columns"]["sex"]["values"] == [1]
