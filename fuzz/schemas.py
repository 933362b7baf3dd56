"""Schemas: any text, and schemas that are nearly right."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st

import sfumato as sf
from fuzz.harness import FaultFound, Target, edited, scratch
from sfumato.schema.conditions import Once, written_name
from sfumato.schema.layout import bins_of
from sfumato.schema.rules import broken

GOOD = """\
label: income
unit: {column: person_id, rows: 2}
columns:
  age:          {type: number, min: 16, max: 100, step: 1}
  gain:         {type: number, min: 0, max: 1000, bins: 8, scale: log, atoms: [0]}
  workclass:    {type: category, values: [Private, State-gov, "?"], missing: true}
  admitted:     {type: date, min: 2020-01-01, max: 2026-12-31, bins: 12}
  income:       {type: category, values: ["<=50K", ">50K"]}
"""
GROUPS = """\
label: kind
columns:
  kind: {type: category, values: [a, b]}
groups:
  pixels: {columns: "px_*", min: 0, max: 255, step: 1, shape: [2, 3], projection: dct2, keep: 2}
  tones: {columns: "tone{1..4}", min: -1, max: 1}
  marks: {columns: [left, right], min: 0, max: 1, projection: random, keep: 1}
"""
OTHERS = [
    GROUPS,
    "columns: {a: {type: number, min: -1e9, max: 1.5e9}}",
    "columns:\n  ? a\n  : {type: category, values: [1, 2.5, x]}\n",
    "base: &b {type: number, min: 0, max: 1}\ncolumns: {x: *b, y: *b}\n",
    "columns: {x: {<<: {type: number}, min: 0, max: 1}}",
    "columns: {x: {type: category, values: [!!binary aGk=, !!str 3, 0x1F, 1:30, .inf, ~, 2020-01-01T00:00:00+23:59]}}",
    "columns: {a: {type: date, min: 2020-01-01, max: 2026-12-31}, b: {type: date, min: 2020-01-01, max: 2026-12-31}}\n"
    "constraints: [a <= b <= a + 60, if a > '2021-01-01' then b < '2022-01-01']",
    "columns: {a: {type: category, values: [x, y]}, b: {type: number, min: 0, max: 9, step: 1}, "
    "c: {type: number, min: 0, max: 9, derived: b / 2}, d: {type: number, min: 0, max: 9, derived: {from: a, "
    "map: {x: 1, y: 2}}}}\nconstraints: [b >= d, b != 3 or a == 'x']",
    "unconfirmed: [columns.a.min]\ncolumns: {a: {type: number, min: 0, max: 1}}",
]


def run(data: bytes) -> None:
    """Parse a schema from bytes; where it holds, it survives being written, and can be planned with."""
    text = data.decode("utf-8", "surrogateescape")
    if data[:1] == b"\0":  # by way of a file, as whoever types a path does
        path = scratch("schemas") / "schema.yaml"
        path.write_bytes(data[1:])
        schema = sf.Schema.load(path)
    else:
        schema = sf.Schema.parse(text)
    if sf.Schema.parse(schema.to_yaml()) != schema or sf.Schema.of(schema.dump()) != schema:
        raise FaultFound("a schema does not survive being written")
    plan = sf.plan(schema, epsilon=1, delta=1e-6)
    if not 0 < plan.mu < 1:
        raise FaultFound("a plan has another mu than its epsilon and delta")
    if not schema.modelling.is_plain:
        _keep(schema)


def _keep(schema: sf.Schema) -> None:
    """Rows drawn at random keep the rules, or are known not to."""
    rng = np.random.default_rng(0)
    bins = {name: bins_of(column) for name, column in schema.modelling.modelled.items()}
    drawn = {name: each.decode(rng.integers(0, each.size, 50), rng.random(50)) for name, each in bins.items()}
    frame, kept = schema.modelling.complete(Once(drawn))
    if list(frame) != list(schema.columns):
        raise FaultFound("rows have other columns than their schema")
    if any((mask & kept).any() for mask in broken(schema, frame).values()):
        raise FaultFound("a row is kept that breaks a rule")


def seeds() -> list[bytes]:
    texts = [GOOD, *OTHERS, json.dumps(yaml.safe_load(GOOD), default=str)]
    return [text.encode() for text in texts] + [b"\0" + GOOD.encode()]


ODD_NUMBERS: list[Any] = [0, -0.0, 1, -1, 0.1, 1e-303, 5e-324, 1e308, -1e308, 2**53, 2**63, 10**400, 1e400, 1e200]
ODD_WORDS = [
    "",
    " ",
    "a\nb",
    "\x1b[31m",
    "\ud800",
    "1.0",
    "true",
    "=",
    "<<",
    "type",
    "columns",
    "2020-02-30",
    "x" * 600,
]
numbers = st.one_of(st.sampled_from([*ODD_NUMBERS, float("nan")]), st.integers(-1000, 1000), st.floats())
words = st.one_of(st.text(max_size=6), st.sampled_from(ODD_WORDS))
leaves = st.one_of(st.none(), st.booleans(), numbers, words, st.dates().map(str))
anything = st.one_of(
    leaves, leaves, st.lists(leaves, max_size=3), st.dictionaries(words, leaves | st.just([{}]), max_size=3)
)
columns = st.sampled_from(
    [
        {"type": "number", "min": 0, "max": 9, "step": 1},
        {"type": "number", "min": -1.5, "max": 1e9, "scale": "log", "atoms": [0], "missing": True},
        {"type": "number", "min": 0, "max": 1, "bins": 5, "step": 0.1, "atoms": [0.3, 0.7]},
        {"type": "date", "min": "2020-01-01", "max": "2026-12-31", "bins": 30},
        {"type": "category", "values": ["a", "b", 3, 2.5], "missing": True},
        {"type": "category", "values": [1, 2]},
    ]
)
groups = st.sampled_from(
    [
        {"columns": "px_*", "min": 0, "max": 255, "step": 1, "shape": [2, 3], "projection": "dct2", "keep": 2},
        {"columns": "tone{1..4}", "min": -1, "max": 1},
        {"columns": ["left", "right"], "min": 0, "max": 1, "projection": "random", "keep": 1},
    ]
)


def rules(names: list[str]) -> Any:
    """Constraints, mostly of columns that are there."""
    column = st.sampled_from(names).map(written_name)
    constant = st.sampled_from(["3", "0.5", "'a'", "1", "'2021-02-03'"])
    value = st.one_of(
        column, st.builds("{} {} {}".format, column, st.sampled_from("+-*/"), column | constant), constant
    )
    holding = st.one_of(
        st.builds("{} {} {}".format, value, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), value),
        st.builds("{} is missing".format, column),
    )
    return st.one_of(holding, holding, st.builds("if {} then {}".format, holding, holding), words)


def paths(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in plain data anything stands."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place, *(path for key, value in inner for path in paths(value, (*place, key)))]


def change(draw: Any, data: dict[str, Any]) -> None:
    """Take out, add or replace something somewhere."""
    *way, last = draw(st.sampled_from(paths(data)[1:] or [("columns",)]))
    parent: Any = data
    for key in way:
        parent = parent[key]
    kind = draw(st.integers(0, 5))
    if kind == 0 and isinstance(parent, dict):
        parent.pop(last, None)
    elif kind == 1 and isinstance(parent, dict):
        parent[draw(words)] = draw(anything)
    else:
        old = parent[last] if isinstance(parent, list) else parent.get(last)
        alike = numbers if isinstance(old, int | float) else columns if isinstance(old, dict) else leaves
        parent[last] = copy.deepcopy(draw(alike if kind < 5 else anything))


@st.composite
def cases(draw: Any) -> bytes:
    """A schema as JSON or YAML: right, nearly right, or damaged after it was written."""
    names = st.sampled_from(["age", "gain", "sex", "income"]) | words
    data: Any = {"columns": copy.deepcopy(draw(st.dictionaries(names, columns, min_size=1, max_size=4)))}
    if draw(st.booleans()):
        data["label"] = draw(st.sampled_from(sorted(data["columns"])))
    if draw(st.integers(0, 3)) == 0:
        data["columns"] = {name: data["columns"][name] for name in [data.get("label")] if name is not None}
        data["groups"] = copy.deepcopy(draw(st.dictionaries(words, groups, min_size=1, max_size=2)))
    if draw(st.integers(0, 3)) == 0:
        data["unit"] = {"column": draw(words), "rows": draw(st.integers(0, 5))}
    if data["columns"] and draw(st.integers(0, 2)) == 0:
        data["constraints"] = draw(st.lists(rules(sorted(data["columns"])), max_size=3))
        if draw(st.booleans()):
            data["columns"]["sum"] = {
                "type": "number",
                "min": 0,
                "max": 9,
                "derived": draw(rules(sorted(data["columns"]))),
            }
    for _ in range(draw(st.integers(0, 2))):
        change(draw, data)
    text = json.dumps(data) if draw(st.integers(0, 2)) else yaml.safe_dump(data, allow_unicode=draw(st.booleans()))
    written = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        written = edited(draw, written)
    return b"\0" + written if draw(st.integers(0, 3)) == 0 else written


WORDS = """
type number category date min max step bins scale log linear atoms values missing true false null columns label unit
constraints derived from map if then and or not is <= >= == +
rows column unconfirmed groups shape projection pca dct2 random keep {1..9} px_*
: , [ ] { } " & * << ? | > - !!binary 2020-01-01 1e308 -1 0.5 .nan
"""
TARGET = Target("schemas", run, seeds, cases, longest=640, words=tuple(WORDS.split()))
