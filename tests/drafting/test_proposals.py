"""What is proposed for a column, and why nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.drafting.looks import Look
from sfumato.drafting.proposals import Proposal, propose

rng = np.random.default_rng(11)
DATES = [f"2020-{month:02}-{day:02}" for month in range(1, 13) for day in (3, 9, 27)]


def proposal(cells: Any, name: str = "c", is_label: bool = False) -> Proposal:
    look = Look()
    look.add(pa.array(cells))
    return propose(name, look, is_label)


def column(cells: Any, name: str = "c") -> dict[str, Any]:
    found = proposal(cells, name).column
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "cells", "values"),
    [
        ("sex", rng.choice([1, 2], 200), [1, 2]),
        ("flag", rng.choice([0, 1], 200), [0, 1]),
        ("answer", rng.integers(1, 6, 200), [1, 2, 3, 4, 5]),
        ("area_code", rng.integers(0, 30, 900), [*range(30)]),
        ("state", [f"{i % 12:02}" for i in range(200)], [f"{i:02}" for i in range(12)]),
    ],
)
def test_numbers_that_are_codes(name: str, cells: Any, values: list[Any]) -> None:
    found = proposal(cells, name)
    assert found.column == {"type": "category", "values": values}
    assert "code" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "cells"), [("children", rng.integers(0, 6, 200)), ("hours", rng.integers(1, 90, 200)), ("x", [1, 2, 2, 1])]
)
def test_numbers_that_are_none(name: str, cells: Any) -> None:
    assert column(cells, name)["type"] == "number"


def test_codes_with_a_sentinel() -> None:
    assert column(rng.choice([1, 2, 99], 200), "sex") == {"type": "category", "values": [1, 2], "missing": [99]}
    assert column(["01", "02", "-1"] * 30, "sex") == {"type": "category", "values": ["01", "02"], "missing": [-1]}


def test_texts_among_numbers() -> None:
    many = [*map(str, rng.integers(0, 90, 500))]
    assert column([*many, *["N"] * 5, "?"])["missing"] == ["?", "N"]
    assert column([*many, *(f"{i} years" for i in range(5))])["missing"] is True
    assert proposal([*many, *(f"{i} years" for i in range(50))]).column is None


def test_a_text_that_few_cells_hold_is_not_named() -> None:
    """A schema is published: a name that slipped into a column of numbers must not be proposed for it."""
    many = [*map(str, rng.integers(0, 90, 500)), "Anna Meier"]
    assert column([*many, "?"])["missing"] == ["?"]
    assert column(many)["missing"] is True
    assert column([*DATES, "31.12.2024"])["missing"] is True
    assert not any("Anna" in note for note in proposal([*many, "?"]).notes)


def test_days_that_mean_missing() -> None:
    found = column([*DATES, "9999-12-31", "?", "1900-01-01"])
    assert (str(found["min"]), str(found["max"])) == ("2020-01-01", "2020-12-31")
    assert found["missing"] == ["?", "1900-01-01", "9999-12-31"]
    german = [".".join(reversed(day.split("-"))) for day in [*DATES, "9999-12-31"]]
    assert column(german)["missing"] == ["31.12.9999"]
    assert column(DATES).keys() == {"type", "min", "max"}


def test_a_time_of_day_is_kept() -> None:
    found = column([f"{day} 08:15" for day in DATES])
    assert found["type"] == "datetime"
    assert (str(found["min"]), str(found["max"]), found["step"]) == ("2020-01-01", "2021-01-01", "15 min")


def test_booleans() -> None:
    assert column([True, False, None]) == {"type": "boolean", "missing": True}
    assert column(["TRUE", "false", "?"]) == {"type": "boolean", "missing": ["?"]}
    assert proposal([True, False], is_label=True).column == {"type": "boolean"}
    assert column(["yes", "no"])["type"] == "category"


@pytest.mark.parametrize(
    ("name", "oldest", "high"),
    [("age", 101, 120), ("age_at_visit", 119, 120), ("age", 97, 100), ("age", 130, 150), ("wage", 101, 150)],
)
def test_an_age_ends_where_all_do(name: str, oldest: int, high: int) -> None:
    assert column([*range(oldest + 1)] * 2, name)["max"] == high
    assert column([*range(oldest + 1), *[9999] * 9], name)["max"] == high


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([None, None], "no cell holds anything"),
        (["?", ""], "no cell holds anything"),
        ([f"name {i}" for i in range(90)], "every cell differs"),
        (
            [f"name {i % 150}" for i in range(900)],
            "150 different texts, more than 100: list the public ones in a code book",
        ),
        ([f"{i % 150:04}" for i in range(900)], "150 different texts"),
    ],
)
def test_why_a_column_is_left_out(cells: list[Any], reason: str) -> None:
    found = proposal(cells)
    assert found.column is None
    assert found.reason.startswith(reason)


def test_a_label_without_its_sentinels() -> None:
    found = proposal(["b", "?", "a"], is_label=True)
    assert found.column == {"type": "category", "values": ["a", "b"]}
    assert found.facts == ("type", "values")
    assert found.notes == ("rows whose label is '?' do not count",)
