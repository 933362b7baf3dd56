"""The schema that remarks propose."""

from __future__ import annotations

import pytest

from sfumato.checking.proposal import Remark, proposed
from sfumato.errors import SchemaError
from sfumato.schema.schema import Schema

SCHEMA = Schema.parse("""
label: ill
unit: {column: person, rows: 1}
columns:
  age: {type: number, min: 0, max: 20, step: 2}
  town: {type: category, values: [Ulm]}
  ill: {type: category, values: ["no", "yes"]}
""")


def test_changes_are_made_and_listed() -> None:
    found = proposed(
        SCHEMA,
        [
            Remark("age", "clamped", "", {"max": 95}),
            Remark("age", "step", "", {"step": None}),
            Remark("town", "missing", "", {"missing": True}),
            Remark(None, "unit", "", {"rows": 10}),
        ],
    )
    assert found.columns["age"].max == 95
    assert found.columns["age"].step is None
    assert found.columns["town"].missing
    assert found.unit is not None
    assert found.unit.rows == 10
    assert found.unconfirmed == ("columns.age.max", "columns.age.step", "columns.town.missing", "unit.rows")
    with pytest.raises(SchemaError, match="draft"):
        found.require_confirmed()


def test_nothing_proposed_is_nothing_changed() -> None:
    assert proposed(SCHEMA, [Remark("age", "wide", "far apart")]) == SCHEMA


def test_a_column_is_left_out_with_what_was_proposed_for_it() -> None:
    remarks = [Remark("town", "unlisted", "", {"missing": True}), Remark("town", "id", "", drops=True)]
    found = proposed(SCHEMA, [*remarks, Remark("town", "unlisted", "", {"missing": True})])
    assert set(found.columns) == {"age", "ill"}
    assert found.unconfirmed == ("columns.town (left out)",)


def test_label_and_last_column_stay() -> None:
    drops = [Remark(name, "id", "", drops=True) for name in SCHEMA.columns]
    assert set(proposed(SCHEMA, drops).columns) == {"town", "ill"}


def test_a_change_that_makes_no_schema_is_not_made() -> None:
    found = proposed(SCHEMA, [Remark("age", "atoms", "", {"atoms": [99]}), Remark("age", "clamped", "", {"max": 30})])
    assert found.columns["age"].atoms == ()
    assert found.unconfirmed == ("columns.age.max",)


def test_what_was_unconfirmed_stays_so() -> None:
    draft = Schema.of(SCHEMA.dump() | {"unconfirmed": ["columns.age.max"]})
    found = proposed(draft, [Remark("age", "clamped", "", {"max": 30, "min": -2})])
    assert found.unconfirmed == ("columns.age.max", "columns.age.min")


def test_a_remark_is_one_line_and_plain_data() -> None:
    remark = Remark("a\nb", "wide", "far apart", {"max": 3})
    assert str(remark) == "a b: far apart"
    assert str(Remark(None, "rows", "empty")) == "empty"
    assert remark.data() == {"column": "a\nb", "kind": "wide", "text": "far apart"}
