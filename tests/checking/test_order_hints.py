"""Dates in one order in every row."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.checking.order_hints import MOST_DATES, MOST_ORDERS, order_remarks
from sfumato.schema.schema import Schema

RNG = np.random.default_rng(0)
CAME = RNG.integers(0, 1000, 300) * 1.0
LEFT = CAME + RNG.integers(0, 20, 300)
DATES = {"came": CAME, "left at": LEFT}


def test_an_order_is_told_as_a_rule() -> None:
    (told,) = order_remarks(DATES, ())
    assert (
        str(told)
        == "came is never after left at; if that is a rule, add to the schema: constraints: ['came <= `left at`']"
    )
    assert (told.kind, told.changes) == ("rule", {})


def test_a_rule_that_is_told_already_is_not_told_again() -> None:
    days = {"type": "date", "min": "2020-01-01", "max": "2026-12-31"}
    schema = Schema.of({"columns": {"came": days, "left at": days}, "constraints": ["`left at` >= came"]})
    assert order_remarks(DATES, schema.modelling.rules) == []


@pytest.mark.parametrize(
    "left",
    [
        np.where(np.arange(300) == 7, CAME - 1.0, LEFT),  # once the other way round
        CAME,  # the same day in every row
        CAME + 5000.0,  # far apart: no rule is needed
        np.where(np.arange(300) < 60, LEFT, np.nan),  # few rows have both
    ],
)
def test_what_is_no_order(left: np.ndarray) -> None:
    assert order_remarks({"came": CAME, "left at": left}, ()) == []


def test_a_missing_date_breaks_no_order() -> None:
    assert len(order_remarks(DATES | {"left at": np.where(np.arange(300) < 200, LEFT, np.nan)}, ())) == 1


def test_many_dates_are_told_in_a_few_lines() -> None:
    many = {f"d{i}": CAME + i for i in range(MOST_DATES + 1)}
    assert order_remarks(many, ()) == []
    del many["d0"]
    assert len(order_remarks(many, ())) == MOST_ORDERS
