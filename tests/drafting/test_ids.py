"""Ids, of records and of people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.drafting.ids import best_unit, names_people, names_records, rows_of_unit
from sfumato.drafting.looks import Look

rng = np.random.default_rng(3)


def look(cells: Any) -> Look:
    made = Look()
    made.add(pa.array(cells))
    return made


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("row", np.arange(100), True),  # counted through
        ("order_id", rng.permutation(10**6)[:500], True),
        ("orderId", rng.permutation(10**6)[:500], True),
        ("income", rng.permutation(10**6)[:500], False),  # a measurement whose values differ by chance
        ("order_id", np.arange(100) / 7, False),
        ("order_id", np.arange(20), False),
        ("name", [f"Ms {i}" for i in range(100)], True),
        ("name", [f"Ms {i}" for i in range(99)] + ["Ms 0"], False),
    ],
)
def test_ids_of_records(name: str, cells: Any, expected: bool) -> None:
    assert names_records(name, look(cells)) == expected


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("patient_nbr", 17 * rng.integers(0, 500, 1000), True),
        ("customer", [f"c{i % 300}" for i in range(900)], True),
        ("amount", 17 * rng.integers(0, 500, 1000), False),
        ("patient_nbr", np.arange(1000), False),
        ("patient_weight", np.round(rng.normal(70, 10, 1000), 1), False),
        ("status_id", rng.integers(0, 9, 1000), False),
    ],
)
def test_ids_of_people(name: str, cells: Any, expected: bool) -> None:
    assert names_people(name, look(cells)) == expected


def test_a_person_is_preferred() -> None:
    assert best_unit(["order_id", "person_id"]) == "person_id"
    assert best_unit(["order_id", "item_id"]) == "order_id"
    assert best_unit([]) is None


def test_the_proposed_rows_keep_most_of_the_table() -> None:
    assert rows_of_unit(look([*range(1000), *range(50)])) == 1
    assert rows_of_unit(look([i // 4 for i in range(1000)])) == 4
    assert rows_of_unit(look([i % 2 for i in range(1000)])) == 100
