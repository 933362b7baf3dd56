"""Rules between columns: what is modelled and computed for them, what is refused, and which rows break them."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato.errors import SchemaError
from sfumato.schema.conditions import Once
from sfumato.schema.layout import Layout
from sfumato.schema.rules import Calculated, Mapped, Moved, broken
from sfumato.schema.schema import LIMITS, Schema

WHOLE: dict[str, Any] = {"type": "number", "min": 0, "max": 100, "step": 1}
TENTH: dict[str, Any] = {"type": "number", "min": 0, "max": 1, "step": 0.1}
DAY: dict[str, Any] = {"type": "date", "min": "2020-01-01", "max": "2020-12-31"}
TOWN: dict[str, Any] = {"type": "category", "values": ["Ulm", "Bonn", 7]}
STATE: dict[str, Any] = {"type": "category", "values": ["south", "west"]}


def schema(columns: dict[str, Any], *constraints: str, **rest: Any) -> Schema:
    return Schema.of({"columns": columns, "constraints": list(constraints)} | rest)


def abc(*constraints: str, **changes: Any) -> Schema:
    return schema({name: WHOLE | changes.get(name, {}) for name in "abc"}, *constraints)


def test_a_schema_without_rules_models_its_columns() -> None:
    modelling = abc().modelling
    assert modelling.is_plain
    assert dict(modelling.modelled) == abc().columns
    assert Layout.of(abc()).reads == ("a", "b", "c")


# --- sums and derived columns


@pytest.mark.parametrize("rule", ["c == a + b", "a + b == c"])
def test_the_sum_is_computed(rule: str) -> None:
    modelling = abc(rule, c={"max": 200}).modelling
    assert list(modelling.modelled) == ["a", "b"]
    drawn = {"a": pd.Series([1, 100]), "b": pd.Series([2, 100])}
    frame, kept = modelling.complete(Once(drawn))
    assert frame["c"].tolist() == [3, 200]
    assert frame["c"].dtype == np.int64
    assert list(frame) == ["a", "b", "c"]
    assert kept.all()


def test_a_sum_beyond_its_own_bounds_is_not_kept() -> None:
    _, kept = abc("c == a + b").modelling.complete(Once({"a": pd.Series([1, 60]), "b": pd.Series([2, 41])}))
    assert kept.tolist() == [True, False]


def test_a_sum_of_decimals_is_exact_on_its_grid() -> None:
    modelling = schema({"a": TENTH, "b": TENTH, "t": TENTH | {"max": 2}}, "t == a + b").modelling
    frame, kept = modelling.complete(Once({"a": pd.Series([0.1, 0.7]), "b": pd.Series([0.2, 0.1])}))
    assert frame["t"].tolist() == [0.3, 0.8]
    assert kept.all()


def test_a_derived_column_of_a_derived_column() -> None:
    made = abc(c={"max": 300, "derived": "b + a"}, b={"max": 200, "derived": "a + 1"})
    assert [step.name for step in made.modelling.steps] == ["b", "c"]
    frame, _ = made.modelling.complete(Once({"a": pd.Series([4])}))
    assert frame.iloc[0].tolist() == [4, 5, 9]
    assert Layout.of(made).reads == ("a",)


def test_a_derived_quotient_is_rounded_to_its_grid_and_missing_where_there_is_none() -> None:
    made = abc(c={"derived": "a / b", "missing": True})
    frame, kept = made.modelling.complete(Once({"a": pd.Series([7, 7]), "b": pd.Series([2, 0])}))
    assert frame["c"].dtype == "Int64"
    assert frame["c"][0] == 4
    assert pd.isna(frame["c"][1])
    assert kept.all()
    assert not broken(made, frame)["c == a / b"].any()


def test_a_derived_date() -> None:
    made = schema({"came": DAY, "checked": DAY | {"derived": "came + 14", "max": "2021-02-01"}})
    frame, kept = made.modelling.complete(
        Once({"came": pd.Series(pd.to_datetime(["2020-02-20"]).astype("datetime64[s]"))})
    )
    assert frame["checked"].tolist() == [pd.Timestamp("2020-03-05")]
    assert kept.all()


def mapped(**changes: Any) -> Schema:
    state = STATE | {"derived": {"from": "town", "map": {"Ulm": "south", "Bonn": "west", 7: "west"}}} | changes
    return schema({"town": TOWN, "state": state})


def test_a_column_by_a_map() -> None:
    made = mapped()
    assert isinstance(made.modelling.steps[0], Mapped)
    frame, _ = made.modelling.complete(Once({"town": pd.Series(["Ulm", 7, "Bonn"], dtype=object)}))
    assert frame["state"].tolist() == ["south", "west", "west"]
    again = pd.DataFrame({"town": ["Ulm", "7.0", "Bonn", None], "state": ["south", "south", None, "west"]})
    assert broken(made, again)["state by town"].tolist() == [False, True, False, False]


def test_what_a_map_leaves_out_is_missing() -> None:
    made = mapped(missing=True, derived={"from": "town", "map": {"Ulm": "south"}})
    frame, kept = made.modelling.complete(Once({"town": pd.Series(["Ulm", "Bonn"], dtype=object)}))
    assert frame["state"][0] == "south"
    assert pd.isna(frame["state"][1])
    assert kept.all()


def test_a_number_by_a_map() -> None:
    made = schema({"town": TOWN, "n": WHOLE | {"derived": {"from": "town", "map": {"Ulm": 3, "Bonn": 4, 7: 100}}}})
    frame, _ = made.modelling.complete(Once({"town": pd.Series([7, "Ulm"], dtype=object)}))
    assert frame["n"].tolist() == [100, 3]


# --- orders


def drawn(made: Schema, **columns: Any) -> tuple[pd.DataFrame, list[bool]]:
    frame, kept = made.modelling.complete(Once({name: pd.Series(cells) for name, cells in columns.items()}))
    return frame, kept.tolist()


def test_an_order_is_modelled_by_its_difference() -> None:
    made = schema({"came": DAY, "left": DAY}, "left >= came")
    assert isinstance(made.modelling.steps[0], Moved)
    layout = Layout.of(made)
    assert layout.names == ("came", "left - came")
    assert layout.reads == ("came", "left")
    came = pd.Series(pd.to_datetime(["2020-12-01", "2020-12-31"]).astype("datetime64[s]"))
    frame, kept = drawn(made, came=came, **{"left - came": [3, 1]})
    assert frame["left"][0] == pd.Timestamp("2020-12-04")
    assert kept == [True, False]  # the year is over


def test_chains_and_the_largest_of_several() -> None:
    frame, _ = drawn(abc("a < b < c"), **{"a": [1], "b - a": [2], "c - b": [3]})
    assert frame.iloc[0].tolist() == [1, 3, 6]
    frame, _ = drawn(abc("c >= a", "c >= b"), **{"a": [5, 1], "b": [2, 9], "c - max(a, b)": [1, 0]})
    assert frame["c"].tolist() == [6, 9]
    frame, _ = drawn(
        abc("a <= b", "a <= c", b={"missing": True}, c={"missing": True}), **{"a": [3], "b - a": [1], "c - a": [2]}
    )
    assert frame.iloc[0].tolist() == [3, 4, 5]


@pytest.mark.parametrize("optional", ["a", "b"])
def test_the_column_that_may_be_missing_is_the_one_replaced(optional: str) -> None:
    made = schema({name: WHOLE | {"missing": name == optional} for name in "ab"}, "b >= a")
    base = "b" if optional == "a" else "a"
    assert list(made.modelling.modelled) == (["b - a", "b"] if optional == "a" else ["a", "b - a"])
    frame, kept = drawn(made, **{base: [50, 50], "b - a": pd.Series([7, None], dtype="Int64")})
    assert frame[optional].tolist() == [43 if optional == "a" else 57, pd.NA]
    assert kept == [True, True]


def test_where_both_may_be_missing_one_is_missing_with_the_other() -> None:
    made = schema({name: WHOLE | {"missing": True} for name in "ab"}, "b >= a")
    frame, kept = drawn(made, **{"a": pd.Series([5, None, None], dtype="Int64"), "b - a": pd.Series([None, 3, None])})
    assert frame["b"].isna().all()
    assert kept == [True] * 3


# --- which rows break a rule


def test_a_row_breaks_a_rule_where_it_is_known_to_be_wrong() -> None:
    made = schema(
        {"age": WHOLE | {"missing": True}, "income": WHOLE | {"missing": True}, "town": TOWN | {"missing": True}},
        "if age < 15 then income is missing",
        "if town == 'Ulm' then income > age",
    )
    frame = pd.DataFrame(
        {"age": [10, 10, 20, None], "income": [None, 5, 5, 5], "town": ["Ulm", "Ulm", "Ulm", "Bonn"]}, dtype=object
    )
    masks = broken(made, frame)
    assert masks["if age < 15 then income is missing"].tolist() == [False, True, False, False]
    assert masks["if town == 'Ulm' then income > age"].tolist() == [False, True, True, False]


def test_rules_of_columns_that_a_frame_has_not_are_left_out() -> None:
    assert list(broken(abc("a <= b", "c == a + b"), pd.DataFrame({"a": [1], "b": [0]}))) == ["a <= b"]


# --- what is refused


@pytest.mark.parametrize(
    ("columns", "rules", "problem"),
    [
        ({}, ["a <= x"], "constraints: condition 'a <= x': there is no column 'x'"),
        ({}, ["a + b"], "a + b is neither true nor false"),
        ({}, ["a == 'Ulm'"], "cannot be compared"),
        ({}, ["a < b", "b < a"], "no row can keep those of a, b: they contradict each other, or min and max"),
        ({}, ["a < b < c < a + 1"], "no row can keep those of a, b, c"),
        ({}, ["a > 100"], "no row can keep those of a"),
        ({}, ["a >= b + 100.5"], "no row can keep those of a, b"),
        ({}, ["c == a * b"], "'c' goes in steps of 1, which a * b does not; take step away, or derive it"),
        ({}, ["c == a + 0.5"], "'c' goes in steps of 1, which a + 0.5 does not"),
        ({"a": {"missing": True}}, ["c == a + b"], "'a' may be missing, and so may what is computed from it"),
        ({}, ["a + b == c + c"], "'a + b == c + c' cannot be kept: write it as COLUMN == ..."),
        ({}, ["a == b", "b == c", "c == a"], "'c == a' cannot be kept"),
        ({"a": {"derived": "b"}, "b": {"derived": "a"}}, [], "columns.a: derived: it is computed from itself"),
        ({"a": {"derived": "a + 1"}}, [], "columns.a: derived: it is computed from itself"),
        ({"a": {"derived": "b"}, "b": {"derived": "c"}, "c": {"derived": "a"}}, [], "it is computed from itself"),
        ({"a": {"derived": "b > 3"}}, [], "columns.a: derived: condition 'b > 3': b > 3 is true or false"),
        ({"a": {"derived": "3"}}, [], "columns.a: derived: 3 speaks of no column"),
        ({"a": {"derived": "x"}}, [], "there is no column 'x'"),
        ({"a": {"derived": "b"}, "b": {"missing": True}}, [], "'b' may be missing"),
        ({"a": {"derived": {"from": "b", "map": {1: 2}}}}, [], "columns.a: derived: from: 'b' is no category"),
        ({"a": {"derived": "b"}, "b": {"derived": "c + c"}, "c": {"derived": "b - b"}}, [], "computed from itself"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_a_fit(columns: Any, rules: list[str], problem: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(problem)) as refused:
        abc(*rules, **columns)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"derived": "town"}, "a category follows from a category"),
        ({"derived": {"from": "town", "map": {"Ulm": "south"}}}, "map: it says nothing of 'Bonn'"),
        ({"derived": {"from": "town", "map": {"Ulm": "south", "Bonn": "west", 7: "east"}}}, "'east' is none of the"),
        ({"derived": {"from": "town", "map": {"Kiel": "west"}}}, "'town' is never 'Kiel'"),
        ({"derived": {"from": "town", "map": {"7": "west", 7.0: "west"}}}, "it maps a value twice"),
        ({"derived": {"from": "town", "map": {True: "west"}}}, "quote it"),
        ({"derived": {"from": "town", "map": {}}}, "map"),
        ({"derived": {"from": "town"}}, "map"),
        ({"derived": {"of": "town", "map": {"Ulm": "south"}}}, "derived"),
        ({"derived": 3}, "derived"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(change: Any, problem: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(problem)) as refused:
        mapped(**change)
    assert "\n" not in str(refused.value)


def test_the_label_is_neither_computed_nor_moved() -> None:
    columns = {"a": WHOLE, "b": WHOLE | {"bins": 4}}
    modelling = schema(columns, "a <= b", label="b").modelling
    assert modelling.steps == ()
    assert len(modelling.rules) == 1
    with pytest.raises(SchemaError, match="cannot be kept"):
        schema(columns | {"c": WHOLE}, "b == a + c", label="b")
    with pytest.raises(SchemaError, match="it is the label"):
        schema({"a": WHOLE, "b": WHOLE | {"bins": 4, "derived": "a"}}, label="b")
    with pytest.raises(SchemaError, match="every column is computed"):
        schema({"a": WHOLE | {"derived": "b"}, "b": WHOLE | {"bins": 4}}, label="b")


def test_a_rule_about_what_is_computed_is_kept_by_drawing() -> None:
    modelling = abc("c == a + b", "c >= a", c={"max": 200}).modelling
    assert [type(step) for step in modelling.steps] == [Calculated]
    assert len(modelling.rules) == 2


def test_a_column_with_the_name_of_a_difference_leaves_the_order_to_drawing() -> None:
    assert schema({"a": WHOLE, "b": WHOLE, "b - a": WHOLE}, "b >= a").modelling.steps == ()


def test_rules_come_back_from_files(tmp_path: Path) -> None:
    made = schema(
        {"came": DAY, "left": DAY, "town": TOWN, "state": mapped().dump()["columns"]["state"]},
        "left >= came",
        "if town == 'Ulm' then came > '2020-02-01'",
    )
    assert Schema.parse(made.to_yaml()) == made
    assert Schema.of(made.dump()) == made
    for name in ("s.yaml", "s.json"):
        made.save(tmp_path / name)
        assert Schema.load(tmp_path / name) == made
    assert "derived: {from: town, map: {Ulm: south, Bonn: west, '7': west}}" in made.to_yaml()


@pytest.mark.parametrize(
    "rules",
    [
        ["a < b"] * (LIMITS.rules + 1),
        ["a < b" + " " * 100] * 1000,
        ["(" * 200 + "a < b" + ")" * 200],
        ["not " * 200 + "a < b"],
        ["if a < b then " * 200 + "a < b"],
        ["a < b or " * 1000 + "a < b"],
        ["__import__('os').getcwd() == 'a'"],
        ["a.max() > 3"],
        ["a < b\x00"],
        ["a < \ud800"],
        [""],
    ],
    ids=lambda rules: repr(rules[0][:12]),
)
def test_hostile_rules_are_refused_in_one_line(rules: list[str]) -> None:
    with pytest.raises(SchemaError) as refused:
        abc(*rules)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_as_many_rules_as_may_be_are_read_and_held_in_time() -> None:
    names = [f"x{i}" for i in range(150)]
    rules = [f"{low} <= {high}" for low, high in itertools.pairwise(names)] * 2
    modelling = schema(dict.fromkeys(names, WHOLE), *rules).modelling
    assert len(modelling.steps) == 149
    frame, kept = modelling.complete(Once(dict.fromkeys(modelling.modelled, pd.Series([0, 0, 0]))))
    assert kept.all()
    assert not math.isnan(frame.to_numpy().sum())


def test_a_long_chain_of_derived_columns() -> None:
    number = {"type": "number", "min": 0, "max": 10}
    chain = {f"c{i}": number | {"derived": f"c{i - 1}"} for i in range(1100, 0, -1)}
    steps = Schema.of({"columns": {**chain, "c0": number}}).modelling.steps
    assert [step.name for step in steps] == [f"c{i}" for i in range(1, 1101)]
