"""Schemas: what is valid survives a file, and what is not gets one line that names the place."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sfumato.errors import OutputError, SchemaError
from sfumato.schema.schema import LIMITS, Category, Date, Number, Schema

EXAMPLE = """
label: income
unit: {column: person, rows: 2}
columns:
  age:          {type: number, min: 16, max: 100, step: 1}
  capital_gain: {type: number, min: 0, max: 100000, atoms: [0, 99999], scale: log, bins: 64}
  rate:         {type: number, min: -0.5, max: 0.5, step: 0.01, missing: true}
  workclass:    {type: category, values: [Private, State-gov, "?", 7, 1.5, "yes", "null", "2020-01-01"], missing: true}
  admitted:     {type: date, min: 2020-01-01, max: 2026-12-31, bins: 12}
  income:       {type: category, values: ["<=50K", ">50K"]}
unconfirmed: [columns.age.min, columns.age.max]
"""


def test_an_example_is_read_as_written() -> None:
    schema = Schema.parse(EXAMPLE)
    assert schema.features == ("age", "capital_gain", "rate", "workclass", "admitted")
    age, rate, admitted = (schema.columns[name] for name in ("age", "rate", "admitted"))
    assert isinstance(age, Number)
    assert (age.integral, age.decimals, age.bins, age.missing) == (True, 0, None, False)
    assert isinstance(rate, Number)
    assert (rate.integral, rate.decimals, rate.missing) == (False, 2, True)
    assert isinstance(admitted, Date)
    assert admitted.max == datetime.date(2026, 12, 31)
    assert schema.unit is not None
    assert schema.unit.rows == 2


@pytest.mark.parametrize(
    ("step", "low", "decimals"),
    [(1.0, 0.0, 0), (0.1, 0.0, 1), (0.5, 0.25, 2), (100.0, 5.0, 0), (1e-6, 0.0, 6), (2.5e-7, 0.0, 8), (1e20, 0.0, 0)],
)
def test_decimals_are_those_of_the_grid(step: float, low: float, decimals: int) -> None:
    assert Number(min=low, max=low + 3 * step, step=step).decimals == decimals


# Round trips


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_schema_survives_a_file(suffix: str, tmp_path: Path) -> None:
    schema = Schema.parse(EXAMPLE)
    path = tmp_path / f"s.{suffix}"
    schema.save(path)
    assert Schema.load(path) == schema


def test_a_draft_is_for_its_owner_alone(tmp_path: Path) -> None:
    path, data = tmp_path / "s.yaml", Schema.parse(with_columns(AGE)).dump()
    Schema.of(data | {"unconfirmed": ["columns.age.min"]}).save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    Schema.of(data | {"unconfirmed": []}).save(path)
    (tmp_path / "usual").touch()
    assert path.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_unit_of_privacy_is_not_lost_on_the_way_to_yaml() -> None:
    assert Schema.parse(Schema.parse(EXAMPLE).to_yaml()).unit == Schema.parse(EXAMPLE).unit


@pytest.mark.parametrize("value", ["\U0001f600", 1e-9, 1e300])
def test_what_json_spells_otherwise_than_yaml_survives_a_json_file(value: str | float, tmp_path: Path) -> None:
    schema = Schema.of({"columns": {"mood": {"type": "category", "values": [value, "b"]}}})
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema


def test_a_schema_is_what_its_own_data_says() -> None:
    schema = Schema.parse(EXAMPLE)
    assert Schema.of(schema) is schema
    assert Schema.of(schema.dump()) == schema
    assert Schema.parse(json.dumps(schema.dump())) == schema
    assert Schema.of(schema.dump()).dump() == schema.dump()


ODD_NAMES = [
    "yes",
    "no",
    "null",
    "~",
    "1",
    "1.0",
    "2020-01-01",
    "<<",
    "=",
    "a: b",
    "# c",
    "- d",
    "{e}",
    "'",
    '"',
    "ñ",
    "*",
    "&a",
]
names = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=12),
)


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    low = draw(st.one_of(st.integers(-1000, 1000), st.floats(-1e300, 1e300)))
    high = draw(st.one_of(st.integers(1001, 10**9), st.floats(-1e300, 1e300)))
    assume(low < high)
    column: dict[str, Any] = {"type": "number", "min": low, "max": high}
    if draw(st.booleans()):
        column["bins"] = draw(st.integers(1, LIMITS.bins))
    if draw(st.booleans()):
        column["scale"] = draw(st.sampled_from(["linear", "log"]))
    if draw(st.booleans()):
        column["atoms"] = [low, high][: draw(st.integers(0, 2))]
    return column


@st.composite
def date_columns(draw: st.DrawFn) -> dict[str, Any]:
    low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
    return {"type": "date", "min": low, "max": high}


values = st.one_of(names, st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
categories = st.fixed_dictionaries(
    {
        "type": st.just("category"),
        "values": st.lists(values, min_size=1, max_size=6, unique_by=lambda value: Category(values=(value,)).texts),
    }
)
plain_columns = st.one_of(numbers(), date_columns(), categories)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    columns: dict[str, Any] = draw(st.dictionaries(names, plain_columns, min_size=1, max_size=5))
    data: dict[str, Any] = {"columns": columns}
    if draw(st.booleans()):
        label = draw(names)
        assume(label not in columns)
        data |= {"label": label, "columns": columns | {label: draw(categories)}}
    for column in columns.values():
        if draw(st.booleans()):
            column["missing"] = True
    data["unconfirmed"] = draw(st.lists(names, max_size=2))
    return Schema.of(data)


@pytest.mark.slow
@settings(deadline=None)
@given(schemas())
@example(Schema.of({"columns": {"<<": {"type": "category", "values": ["<<", "=", "1e3", "0o7", "1_0", "12:30:00"]}}}))
def test_any_schema_survives_yaml_and_json(schema: Schema) -> None:
    assert Schema.parse(schema.to_yaml()) == schema
    assert Schema.of(json.loads(json.dumps(schema.dump()))) == schema
    assert list(Schema.parse(schema.to_yaml()).columns) == list(schema.columns)  # in the same order
    lines = schema.to_yaml().splitlines()
    assert len(lines) == 1 + len(schema.columns) + (schema.label is not None) + (
        2 + len(schema.unconfirmed) if schema.unconfirmed else 0
    )


@settings(deadline=None)
@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), st.lists, max_leaves=6))
def test_data_of_any_kind_is_a_schema_or_an_error_of_one_line(data: Any) -> None:
    for nested in (
        data,
        {"columns": data},
        {"columns": {"a": data}},
        {"columns": {"a": {"type": "number", "min": data, "max": 1}}},
        {"columns": {"a": {"type": "category", "values": data}}},
        {"columns": {"a": {"type": "date", "min": data, "max": "2020-01-01"}}},
        {"label": data, "columns": {"a": {"type": "number", "min": 0, "max": 1}}},
    ):
        try:
            Schema.of(nested)
        except SchemaError as error:
            check_one_line(error)


def check_one_line(error: SchemaError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert "pydantic" not in text
    assert "Value error" not in text


# Errors

AGE = "age: {type: number, min: 0, max: 9}"


def with_columns(*columns: str, label: str | None = None) -> str:
    head = f"label: {label}\n" if label else ""
    return head + "columns:\n" + "".join(f"  {column}\n" for column in columns)


def number(rest: str) -> str:
    return with_columns(f"x: {{type: number, {rest}}}")


def category(values: str) -> str:
    return with_columns(f"x: {{type: category, values: {values}}}")


ERRORS: dict[str, tuple[str, list[str]]] = {
    "min above max": (number("min: 3, max: 2"), ["columns.x", "min (3) must be below max (2)"]),
    "min equal to max": (number("min: 2, max: 2"), ["columns.x", "must be below"]),
    "dates out of order": (
        with_columns("x: {type: date, min: 2021-01-01, max: 2020-01-01}"),
        ["columns.x", "2021-01-01", "must be before"],
    ),
    "no max": (number("min: 3"), ["columns.x.max"]),
    "nan bound": (number("min: .nan, max: 2"), ["columns.x.min", "finite"]),
    "infinite bound": (number("min: 0, max: .inf"), ["columns.x.max", "finite"]),
    "nan atom": (number("min: 0, max: 1, atoms: [.nan]"), ["columns.x.atoms.0", "finite"]),
    "text bound": (number("min: low, max: 2"), ["columns.x.min"]),
    "zero step": (number("min: 0, max: 2, step: 0"), ["columns.x.step"]),
    "negative step": (number("min: 0, max: 2, step: -1"), ["columns.x.step"]),
    "wide step": (number("min: 0, max: 2, step: 3"), ["columns.x", "step (3)"]),
    "fine step": (number("min: 0, max: 2, step: 1.0e-20"), ["columns.x", "too fine"]),
    "no bins": (number("min: 0, max: 2, bins: 0"), ["columns.x.bins"]),
    "too many bins": (number("min: 0, max: 2, bins: 65537"), ["columns.x.bins"]),
    "unknown scale": (number("min: 0, max: 2, scale: cubic"), ["columns.x.scale", "log"]),
    "atom outside": (number("min: 0, max: 2, atoms: [3]"), ["columns.x", "atom 3", "outside"]),
    "atom off the grid": (number("min: 0, max: 2, step: 0.5, atoms: [0.7]"), ["columns.x", "atom 0.7", "steps"]),
    "atom twice": (number("min: 0, max: 2, atoms: [1, 1.0]"), ["columns.x", "twice"]),
    "category twice": (category("[a, a]"), ["columns.x", "'a'", "twice"]),
    "category twice but for blanks": (category('[a, " a "]'), ["columns.x", "'a'", "twice"]),
    "category twice but for a point": (category('[1, "1.0"]'), ["columns.x", "'1'", "twice"]),
    "category twice but for a sign": (category('["0", "-0.0"]'), ["columns.x", "'0'", "twice"]),
    "category twice but for case": (category('["true", "TRUE"]'), ["columns.x", "'true'", "twice"]),
    "no categories": (category("[]"), ["columns.x.values"]),
    "one word": (category("abc"), ["columns.x.values"]),
    "unquoted yes": (category("[yes, no]"), ["columns.x", "quote"]),
    "unquoted true": (category("[true, 1]"), ["columns.x", "quote"]),
    "unquoted date": (category("[2020-01-01]"), ["columns.x", "quote"]),
    "unquoted null": (category("[null, a]"), ["columns.x", "quote"]),
    "empty value": (category("[a, ]").replace("[a, ]", "[a, ~]"), ["columns.x", "quote"]),
    "nan category": (category("[.nan]"), ["columns.x.values"]),
    "unknown key": (number("min: 0, max: 2, mean: 1"), ["columns.x.mean"]),
    "unknown key at the top": (with_columns(AGE) + "rows: 7\n", ["rows"]),
    "unknown type": (
        with_columns("x: {type: text}"),
        ["columns.x", "number, category, boolean, date, datetime, time or duration"],
    ),
    "no type": (
        with_columns("x: {min: 0, max: 1}"),
        ["columns.x", "number, category, boolean, date, datetime, time or duration"],
    ),
    "a word for a column": (with_columns("x: number"), ["columns.x"]),
    "bad date": (with_columns("x: {type: date, min: soon, max: 2020-01-01}"), ["columns.x.min"]),
    "no columns": ("columns: {}", ["columns"]),
    "columns missing": ("label: x", ["columns"]),
    "columns as a list": ("columns: [a, b]", ["columns"]),
    "number as a name": (with_columns("2020: {type: number, min: 0, max: 1}"), ["columns.2020"]),
    "label not a column": (with_columns(AGE, label="y"), ["label 'y'", "columns"]),
    "label perhaps meant": (with_columns(AGE, label="agee"), ["label 'agee'", "did you mean 'age'?"]),
    "label alone": (with_columns("y: {type: category, values: [a]}", label="y"), ["label", "only column"]),
    "label may be missing": (
        with_columns(AGE, "y: {type: category, values: [a], missing: true}", label="y"),
        ["columns.y", "missing"],
    ),
    "label without bins": (with_columns(AGE, "y: {type: number, min: 0, max: 1}", label="y"), ["columns.y", "bins"]),
    "label a date": (
        with_columns(AGE, "y: {type: date, min: 2020-01-01, max: 2021-01-01}", label="y"),
        ["columns.y", "date"],
    ),
    "unit among the columns": (with_columns(AGE) + "unit: {column: age, rows: 1}\n", ["unit", "'age'"]),
    "unit of no rows": (with_columns(AGE) + "unit: {column: who, rows: 0}\n", ["unit.rows"]),
    "unit without rows": (with_columns(AGE) + "unit: {column: who}\n", ["unit.rows"]),
    "a column twice": (with_columns(AGE, AGE), ["'age'", "twice"]),
    "a key twice": (number("min: 0, max: 1, min: 2"), ["'min'", "twice"]),
    "not YAML": ("columns: {a: [", ["not valid YAML"]),
    "a list": ("- a\n- b\n", ["mapping", "columns"]),
    "a word": ("hello", ["mapping", "columns"]),
    "nothing": ("", ["mapping", "columns"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_one_line_and_names_the_place(name: str) -> None:
    text, parts = ERRORS[name]
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text)
    check_one_line(caught.value)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["2020-02-30", "an unhashable key", "thousands of digits", "a tag", "too deep"])
def test_text_that_yaml_cannot_build_is_a_schema_error(name: str) -> None:
    text = {
        "2020-02-30": with_columns("x: {type: date, min: 2020-02-30, max: 2021-01-01}"),
        "an unhashable key": "? [a, b]\n: 1\n",
        "thousands of digits": number(f"min: 0, max: {'9' * 5000}"),
        "a tag": "columns: !!int x",
        "too deep": "[" * 20_000,
    }[name]
    with pytest.raises(SchemaError) as caught:
        Schema.parse(text)
    check_one_line(caught.value)


@pytest.mark.parametrize("name", ["date", "number", "category"])
def test_a_column_named_like_a_type_is_named(name: str) -> None:
    with pytest.raises(SchemaError, match=rf"^columns\.{name}\b"):
        Schema.parse(with_columns(f"{name}: {{type: number, min: 3, max: 2}}"))


@pytest.mark.parametrize("rest", ["min: no, max: yes", "min: 0, max: 9, step: yes", "min: 0, max: 9, bins: true"])
def test_booleans_are_no_numbers(rest: str) -> None:
    with pytest.raises(SchemaError, match=r"columns\.x"):
        Schema.parse(number(rest))


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "a\x85b"])
def test_a_name_with_a_line_break_survives_yaml(name: str) -> None:
    schema = Schema.of({"columns": {name: {"type": "category", "values": [name, "b"]}}})
    assert Schema.parse(schema.to_yaml()) == schema


def test_the_twin_of_the_check_for_keys_given_twice() -> None:
    text = with_columns(AGE, AGE.replace("9", "99"))
    assert yaml.safe_load(text)["columns"]["age"]["max"] == 99  # plain YAML drops the first in silence


# Files


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, content in (("absent.yaml", None), ("latin.yaml", b"label: \xff"), ("broken.yaml", b"columns: {a: [")):
        if content is not None:
            (tmp_path / path).write_bytes(content)
        with pytest.raises(SchemaError, match=path) as caught:
            Schema.load(tmp_path / path)
        check_one_line(caught.value)
    with pytest.raises(SchemaError, match="cannot read"):
        Schema.load(tmp_path)


def test_an_error_in_a_file_names_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(number("min: 3, max: 2"))
    with pytest.raises(SchemaError, match=r"s\.yaml: columns\.x"):
        Schema.load(path)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        Schema.parse(with_columns(AGE)).save(tmp_path / "absent" / "s.yaml")


# Drafts


def test_a_draft_is_refused_until_it_is_confirmed() -> None:
    draft = Schema.parse(EXAMPLE)
    with pytest.raises(SchemaError, match=r"check columns\.age\.min and 1 more") as caught:
        draft.require_confirmed()
    check_one_line(caught.value)
    Schema.of(draft.dump() | {"unconfirmed": []}).require_confirmed()
    with pytest.raises(SchemaError, match=r"check columns\.age\.min against"):
        Schema.of(draft.dump() | {"unconfirmed": ["columns.age.min"]}).require_confirmed()


def test_schemas_cannot_be_changed() -> None:
    schema = Schema.parse(EXAMPLE)
    for thing, name in ((schema, "label"), (schema.columns["age"], "max")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(thing, name, None)


# Groups

PIXELS = """
label: kind
columns:
  kind: {type: category, values: [a, b]}
groups:
  pixels: {columns: "px_*", min: 0, max: 255, step: 1, shape: [2, 3], projection: dct2, keep: 2}
  tones: {columns: "tone{1..4}", min: -1, max: 1}
  marks: {columns: [left, right], min: 0, max: 1, projection: random}
"""


def test_the_columns_of_groups_stand_behind_the_others() -> None:
    schema = Schema.parse(PIXELS)
    tones, pixels = [f"tone{i}" for i in range(1, 5)], [f"px_{i}" for i in range(6)]
    assert list(schema.columns) == ["kind", *pixels, *tones, "left", "right"]
    assert schema.grouped == set(schema.features)
    assert schema.columns["px_3"] == Number(min=0, max=255, step=1)
    assert schema.columns["tone2"] == Number(min=-1, max=1)
    assert [group.directions for group in schema.groups.values()] == [4, 4, 2]


@pytest.mark.parametrize("labelled", [True, False])
def test_groups_survive_being_written(labelled: bool, tmp_path: Path) -> None:
    data = yaml.safe_load(PIXELS)
    schema = Schema.of(data if labelled else {"groups": data["groups"]})
    assert Schema.of(schema.dump()) == schema == Schema.parse(schema.to_yaml())
    assert schema.to_yaml().count("\n") == len(schema.groups) + 1 + 3 * labelled, "one line a group, not a column"
    for suffix in ("json", "yaml"):
        schema.save(tmp_path / f"s.{suffix}")
        assert Schema.load(tmp_path / f"s.{suffix}") == schema


@pytest.mark.parametrize(
    ("projection", "shape", "keep", "directions"),
    [("pca", None, None, 100), ("random", None, None, 64), ("random", None, 7, 7), ("dct2", [10, 10], None, 64)],
)
def test_how_many_directions_a_group_has(projection: str, shape: list[int], keep: int, directions: int) -> None:
    group = {"columns": "x{1..100}", "min": 0, "max": 1, "projection": projection, "shape": shape, "keep": keep}
    assert Schema.of({"groups": {"g": group}}).groups["g"].directions == directions


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": "px"}, "groups.g: columns must be names, a pattern with {1..9}, or one with * where there is a"),
        ({"columns": "p*", "shape": None}, "groups.g: columns must be names"),
        ({"columns": 3}, "groups.g.columns: Input should be a valid string"),
        ({"columns": ["a", 3], "shape": None}, "groups.g.columns: Input should be a valid string"),
        ({"columns": ["a"], "shape": None}, "groups.g: a group has from 2 to 16384 columns, not 1"),
        ({"columns": "p{9..1}", "shape": None}, "groups.g: a group has from 2 to 16384 columns, not 0"),
        ({"columns": "p{1..99999}", "shape": None}, "groups.g: a group has at most 16384 columns"),
        ({"columns": "p{1..1025}", "shape": None}, "groups.g: projection pca takes at most 1024 columns"),
        ({"columns": ["a", "a"], "shape": None}, "groups.g: column 'a' is described twice"),
        ({"columns": ["a", "\ud800"], "shape": None}, "is not text that a file can hold"),
        ({"columns": ["a", "kind"], "shape": None}, "groups.g: column 'kind' is described twice"),
        ({"columns": ["a", "b"]}, "groups.g: shape [2, 3] does not fit 2 columns"),
        ({"shape": [0, 3]}, "groups.g: shape must be two whole numbers whose product is from 1 to 16384"),
        ({"shape": [10**30, 3]}, "groups.g: shape must be two whole numbers"),
        ({"shape": [2, 3, 4]}, "groups.g.shape: Tuple should have at most 2 items"),
        ({"shape": [2, True]}, "groups.g.shape: YAML reads an unquoted yes, no, true or false as a boolean"),
        ({"projection": "wavelet"}, "groups.g.projection: Input should be 'pca', 'dct2' or 'random'"),
        ({"projection": "dct2", "keep": 3}, "groups.g: keep must be at most 2, the shorter side of shape"),
        (
            {"projection": "dct2", "columns": ["a", "b"], "shape": None},
            "groups.g: projection dct2 needs the shape of the image",
        ),
        ({"projection": "random", "keep": 7}, "groups.g: 7 directions are too many: keep at most 6"),
        ({"keep": 2}, "groups.g: keep is for the projections dct2 and random"),
        ({"keep": 0}, "groups.g.keep: Input should be greater than or equal to 1"),
        ({"min": 9, "max": 1}, "groups.g: min (9) must be below max (1)"),
        ({"step": 900}, "groups.g: step (900) is wider than the range from min to max"),
        ({"bins": 7}, "groups.g.bins: is not something a schema can say here"),
    ],
)
def test_a_faulty_group_gets_one_line_with_its_place(change: dict[str, Any], message: str) -> None:
    group = {"columns": "px_*", "min": 0, "max": 255, "shape": [2, 3]} | change
    columns = {"kind": {"type": "category", "values": ["a", "b"]}}
    with pytest.raises(SchemaError) as caught:
        Schema.of({"label": "kind", "columns": columns, "groups": {"g": group}})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {}, "label": None, "groups": {}}, "columns: there are none; name the columns to be modelled"),
        ({"columns": {"z": {"type": "number", "min": 0, "max": 1}}, "label": None}, "has no other features yet"),
        ({"label": "tone1"}, "label 'tone1' belongs to a group; describe it under columns"),
        ({"unit": {"column": "left", "rows": 1}}, "unit: 'left' names people"),
        ({"groups": []}, "groups: Input should be a valid dictionary"),
        ({"groups": {"g": 3}}, "groups.g: Input should be a valid dictionary"),
        ({"groups": {"\ud800": {"columns": ["a", "b"], "min": 0, "max": 1}}}, "is not text that a file can hold"),
        (
            {"groups": {g: {"columns": f"{g}{{1..1000}}", "min": 0, "max": 1} for g in "gh"}},
            "groups: keep at most 1024 directions of them together",
        ),
        (
            {"groups": {g: {"columns": f"{g}{{1..9000}}", "min": 0, "max": 1, "projection": "random"} for g in "gh"}},
            "groups: they have more than 16384 columns together",
        ),
    ],
)
def test_groups_that_do_not_go_together_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.of(yaml.safe_load(PIXELS) | change)
    assert message in str(caught.value)


def test_what_means_missing_may_be_listed() -> None:
    schema = Schema.parse(
        "columns: {a: {type: number, min: 0, max: 9, missing: ['?', 999, -9.5]}, "
        "b: {type: category, values: [x], missing: [N/A]}, c: {type: category, values: [x], missing: true}}"
    )
    age = schema.columns["a"]
    assert age.missing is True
    assert age.sentinels == ("?", 999, -9.5)
    assert age.sentinel_texts == ("?", "999", "-9.5")
    assert schema.columns["c"].sentinels == ()
    assert [each["missing"] for each in schema.dump()["columns"].values()] == [["?", 999, -9.5], ["N/A"], True]
    for written in (schema.to_yaml(), json.dumps(schema.dump())):
        assert Schema.parse(written) == schema


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("missing: []", "list at least one text"),
        ("missing: [no]", "quote it in the list"),
        ("missing: [null]", "quote it in the list"),
        ("missing: [2020-01-01]", "quote it in the list"),
        ("missing: ['1', 1.0]", "twice"),
        ("missing: '?'", "true, false or a list"),
        ("missing: [5], atoms: [5]", "5 cannot be an atom and mean missing"),
        ("sentinels: [5]", "under `missing`"),
    ],
)
def test_what_cannot_mean_missing(said: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.parse(f"columns: {{a: {{type: number, min: 0, max: 9, {said}}}}}")


def test_a_value_cannot_mean_missing() -> None:
    with pytest.raises(SchemaError, match="'1' cannot be a value and mean missing"):
        Schema.parse("columns: {a: {type: category, values: [1, 2], missing: ['1']}}")
