"""Differences that are modelled in place of columns: their ranges, steps and what they can stand for."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sfumato.schema.conditions import parse
from sfumato.schema.differences import Bound, bounds, linear, read
from sfumato.schema.schema import Column, Date, Number


def number(low: float = 0, high: float = 100, step: float | None = 1, **rest: Any) -> Number:
    return Number(min=low, max=high, step=step, **rest)


COLUMNS: dict[str, Column] = {
    "a": number(),
    "b": number(10, 60),
    "tens": number(0, 100, 10),
    "half": number(0.5, 9.5, 1),
    "real": number(step=None),
    "tenth": number(0, 1, 0.1),
    "tenths": number(0.3, 2, 0.1),
    "came": Date(min="2020-01-01", max="2020-12-31"),
    "left": Date(min="2020-06-01", max="2021-12-31"),
}


def bound_of(text: str) -> Any:
    return bounds([parse(part, COLUMNS) for part in text.split(" and ")])


@pytest.mark.parametrize(
    ("text", "pair", "bound"),
    [
        ("a >= b", ("a", "b"), Bound(least=0)),
        ("a > b", ("a", "b"), Bound(least=0, above=True)),
        ("a <= b", ("b", "a"), Bound(least=0)),
        ("a + 3 < b", ("b", "a"), Bound(least=3, above=True)),
        ("a - b <= 5", ("b", "a"), Bound(least=-5)),
        ("a >= b and a <= b + 7", ("a", "b"), Bound(least=0, most=7)),
        ("a >= b and b >= a - 7 and a - b < 5", ("a", "b"), Bound(least=0, most=5, below=True)),
        ("left >= came and left <= came + 60", ("left", "came"), Bound(least=0, most=60)),
        ("-a < -b", ("a", "b"), Bound(least=0, above=True)),
        ("a + b - b > b", ("a", "b"), Bound(least=0, above=True)),
        ("a > 3", ("a", ""), Bound(least=3, above=True)),
        ("3 > a", ("a", ""), Bound(most=3, below=True)),
    ],
)
def test_what_a_rule_says_of_a_difference(text: str, pair: tuple[str, str], bound: Bound) -> None:
    assert bound_of(text) == {pair: bound}


@pytest.mark.parametrize("text", ["a != b", "2 * a >= b", "a * b > 3", "a + b > 3", "a + a >= b", "a > b or a < 3"])
def test_what_says_nothing_of_a_difference(text: str) -> None:
    assert bound_of(text) == {}


def test_the_factors_of_a_sum() -> None:
    left = parse("a - (b - 3) + a > 0", COLUMNS)
    assert linear(left.left) == ({"a": 2.0, "b": -1.0}, 3.0)  # type: ignore[attr-defined]
    assert linear(parse("a * 2 > 0", COLUMNS).left) is None  # type: ignore[attr-defined]


def found(name: str, base: str, under: bool = False, **bound: Any) -> tuple[float, float, float | None] | None:
    made = read(name, (base,), under, Bound(**bound), COLUMNS)
    return None if made is None else (made.column.min, made.column.max, made.column.step)


def test_the_range_is_what_both_bounds_leave() -> None:
    assert found("b", "a", least=0) == (0, 60, 1)
    assert found("a", "b", least=0, above=True) == (1, 90, 1)
    assert found("a", "b", under=True, least=0) == (0, 60, 1)  # b - a
    assert found("left", "came", least=0) == (0, 730, 1)
    assert found("left", "came", least=0, most=60, below=True) == (0, 59, 1)
    assert found("b", "a", least=-math.inf, most=3) == (-90, 3, 1)


def test_the_step_is_the_columns_own_and_must_fit_the_other_one() -> None:
    assert found("a", "tens", least=0) == (0, 100, 1)
    assert found("tens", "a", least=0) is None
    assert found("a", "half", least=0) is None
    assert found("a", "real", least=0) is None
    assert found("real", "a", least=0) == (0, 100, None)
    assert found("tenths", "tenth", least=0, above=True) == (0.1, 2, 0.1)
    assert found("a", "b", least=0, most=0) is None  # nothing is left to be modelled
