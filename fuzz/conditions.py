"""Conditions of a sample: what is given, and which rows to keep.

A case is JSON, {"given": {column: value}, "where": text}; a value may be {"as": kind, "of": value} for what JSON has
no word for. What is no JSON is a condition for `where`.
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import sfumato as sf
from fuzz.harness import FaultFound, Target, edited
from fuzz.releases import SCHEMA
from fuzz.schemas import anything, leaves, words
from sfumato.schema.conditions import parse

ROWS = 3
MAKERS: dict[str, Any] = {
    "date": datetime.date.fromisoformat,
    "stamp": pd.Timestamp,
    "day": lambda text: np.datetime64(text, "D"),
    "decimal": Decimal,
    "bytes": str.encode,
    "int64": np.int64,
    "float32": np.float32,
    "big": lambda text: 10 ** len(str(text)) ** 3,
    "complex": complex,
    "tuple": tuple,
    "array": np.array,
    "frame": lambda value: pd.DataFrame({"x": [value]}),
    "nat": lambda value: pd.NaT,
    "na": lambda value: pd.NA,
    "class": type,
}


def run(data: bytes) -> None:
    """Sample under the conditions of a case; what was given is what comes out."""
    given, where = _conditions(data)
    release = _release()
    rows = release.sample(ROWS, seed=1, given=given, where=where)
    if len(rows) != ROWS or rows.shape[1] != len(SCHEMA["columns"]):
        raise FaultFound("a sample has another shape than was asked for")
    if isinstance(where, str):
        condition = parse(where, release.schema.columns)
        if parse(str(condition), release.schema.columns) != condition:
            raise FaultFound("a condition does not read back as itself")
        if not condition.holds(rows).all():
            raise FaultFound("a row was kept for which the condition does not hold")


def _conditions(data: bytes) -> tuple[Any, Any]:
    text = data.decode("utf-8", "replace")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None, text
    if not isinstance(said, dict):
        return None, text
    given = said.get("given")
    if isinstance(given, dict):
        given = {name: _made(value) for name, value in given.items()}
    return given, said.get("where")


def _made(value: Any) -> Any:
    if isinstance(value, dict) and value.get("as") in MAKERS:
        try:
            return MAKERS[value["as"]](value.get("of"))
        except Exception:  # not a value of that kind: give it as it stands
            return value.get("of")
    return value


@cache
def _release() -> sf.Release:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 200), "c": rng.choice(list("abc"), 200), "y": "no"})
    frame["d"], frame["who"] = "2020-05-05", range(200)
    frame.loc[::3, "y"] = "yes"
    return sf.fit(frame, SCHEMA, epsilon=5, delta=1e-6, insecure_seed=0)


WHERES = [  # in the grammar, and then outside of it
    "x > 3",
    "x > 3 and c == 'a'",
    "c is missing",
    "d > '2020-06-01'",
    "y in ['yes', 'no'] or not (x == 1)",
    "`x` > 1 & ~(c != 'a') | d is not missing",
    "0 <= x < 5 and x not in [1, 2.5, -3]",
    "-(-(x)) * 2 / (x - 1) + 1 >= .5e1",
    "x < 5 < 9 != 2",
    "c.isna()",
    "x ** 2 > 9",
    "9**9**9",
    "x.to_csv('planted') == None",
    "__import__('os')",
    "x > @nothing",
    "x = 3",
    "x; c",
    "1",
    "x.sum() > 3",
    "x // 0 > 1",
    "c > 3",
    "index > 2",
    "'a' * 3 == c",
    "True",
    "[True, False]",
    "",
    "lambda: 1",
    "(x := 3) > 1",
    "f'{x}' == c",
    "(((((((((((((((((((((x > 1",
]
GIVENS: list[dict[str, Any]] = [
    {"x": 3},
    {"c": "a", "y": "yes"},
    {"d": {"as": "date", "of": "2020-02-02"}},
    {"c": None},
    {"x": {"as": "decimal", "of": "3.0"}},
    {"x": {"as": "big", "of": "999"}},
    {"nothing": 1},
    {"x": [1, 2]},
]


def seeds() -> list[bytes]:
    wheres = [text.encode() for text in WHERES]
    return wheres + [json.dumps({"given": given, "where": "x >= 0"}).encode() for given in GIVENS]


odd = st.builds(lambda kind, value: {"as": kind, "of": value}, st.sampled_from(sorted(MAKERS)), leaves)
names = st.sampled_from(list(SCHEMA["columns"])) | words
right = {
    "x": st.integers(-1, 9),
    "c": st.sampled_from(["a", "b", "c", None]),
    "d": st.dates(datetime.date(2019, 12, 1), datetime.date(2021, 1, 31)).map(str),
    "y": st.sampled_from(["yes", "no", True]),
}
givens = st.one_of(
    st.fixed_dictionaries({}, optional=right),
    st.fixed_dictionaries({}, optional=right),
    st.dictionaries(names, leaves | odd | anything, max_size=4),
    anything,
)
plain_numbers = st.one_of(st.integers(-2, 12), st.floats(-2, 12)).map(repr)
sums = st.recursive(
    st.just("x"),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner | plain_numbers),
    max_leaves=4,
)
days = right["d"].map("'{}'".format)
comparisons = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
holding = st.recursive(  # conditions in the grammar
    st.one_of(
        st.builds("{} {} {}".format, sums, comparisons, plain_numbers | sums),
        st.builds("{} {} x {} {}".format, plain_numbers, comparisons, comparisons, plain_numbers),
        st.builds("d {} {}".format, comparisons, days),
        st.builds("d + {} {} {}".format, plain_numbers, comparisons, days),
        st.builds("c {} '{}'".format, st.sampled_from(["==", "!="]), st.sampled_from("abc")),
        st.lists(plain_numbers, min_size=1, max_size=3).map(lambda numbers: f"x not in [{', '.join(numbers)}]"),
        st.builds("{} is {}".format, st.sampled_from("xcdy"), st.sampled_from(["missing", "not missing"])),
    ),
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or", "&", "|"]), inner),
        st.builds("{} ({})".format, st.sampled_from(["not", "~", ""]), inner),
        st.builds("if {} then {}".format, inner, inner),
    ),
    max_leaves=5,
)
atoms = st.one_of(names, st.sampled_from(["1", "0.5", "'a'", "'2020-02-02'", "@x", "None", "`x y`", "[1, 2]", "y.str"]))
OPERATORS = "< <= > >= == != + - * ** / // % & | and or in is not . [ ( , = := ; @"
operators = st.sampled_from(OPERATORS.split())
expressions = st.recursive(  # mostly outside of it
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, o, b: f"{a} {o} {b}", inner, operators, inner),
        inner.map(lambda text: f"({text})"),
        st.builds(
            lambda f, a: f"{f}({a})", st.sampled_from(["not ", "-", "~", "sin", "abs", "x.max", "c.isin"]), inner
        ),
    ),
    max_leaves=6,
)


@st.composite
def cases(draw: Any) -> bytes:
    """Conditions that may hold, nonsense, and expressions with a byte out of place."""
    where = draw(st.one_of(st.none(), st.none(), st.sampled_from(WHERES), holding, holding, expressions, leaves))
    text = json.dumps({"given": draw(st.one_of(st.none(), st.none(), givens, givens)), "where": where}).encode(
        "utf-8", "surrogatepass"
    )
    return edited(draw, text) if draw(st.integers(0, 4)) == 0 else text


WORDS = """
given where as of x c d y > < == != and or not in ( ) [ ] . , ' " @ ` + - * / % & | ~ : { } null NaN a b yes no
2020-02-02 date decimal big is missing isna str index 3
"""
TARGET = Target("conditions", run, seeds, cases, longest=512, words=tuple(WORDS.split()))
