"""Numbers by a declared format: one fixed map of each cell, and what is stored as a number is not asked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tables import numbers, open_table
from sfumato.tables.formats import formatted_numbers

NAN = float("nan")


def read(cells: list[Any], example: str) -> list[float]:
    return formatted_numbers(pa.array(cells), example).tolist()


@pytest.mark.parametrize(
    ("example", "cell", "expected"),
    [
        ("$1,234.5", "$1,200", 1200.0),
        ("$1,234.5", " $1,200.75 ", 1200.75),
        ("$1,234.5", "1200", 1200.0),
        ("$1,234.5", "-$5", -5.0),
        ("$1,234.5", "$-5", -5.0),
        ("$1,234.5", "$ −5.", -5.0),
        ("$1,234.5", "-$-5", NAN),
        ("$1,234.5", "1,20", NAN),
        ("$1,234.5", "12,00,000", NAN),
        ("$1,234.5", "1234,500", NAN),
        ("$1,234.5", "$", NAN),
        ("$1,234.5", "€5", NAN),
        ("$1,234.5", "(5)", NAN),
        ("$1,234.5", "1e3", NAN),
        ("$1,234.5", ".5", NAN),
        ("1.234,5", "1.234", 1234.0),
        ("1.234,5", "1.000", 1000.0),  # which is the text 1 to a category
        ("1.234,5", "1234,25", 1234.25),
        ("1.234,5", "1.5", NAN),
        ("1234,5", "1.234", NAN),
        ("1234.5%", "37.2%", 37.2),
        ("1234.5%", "37.2 %", 37.2),
        ("1234.5%", "37.2", 37.2),
        ("1234.5%", "37.2%%", NAN),
        ("1 234,5 €", "12\u00a0345,5\u00a0€", 12345.5),
        ("1 234,5 €", "12\u202f345 €", 12345.0),
        ("1'234.5", "1’234.5", 1234.5),
        ("1,234", "1,234", 1234.0),
        ("1,234", "1.5", NAN),
        ("(1,234.5)", "(1,200)", -1200.0),
        ("(1,234.5)", "1,200", 1200.0),
        ("(1,234.5)", "(1,200", NAN),
        ("(1,234.5)", "(-1,200)", NAN),
        ("($1,234.5)", "($1,200.5)", -1200.5),
        ("Fr. 1'234.5", "Fr. 5.5", 5.5),
        ("1234.5", "", NAN),
        ("1234.5", "1234.5\n6", NAN),
    ],
)
def test_cells_are_read_as_the_example_is_written(example: str, cell: str, expected: float) -> None:
    np.testing.assert_equal(read([cell, None], example), [expected, NAN])


def test_stored_numbers_are_read_as_they_are() -> None:
    assert read([1.234, 5.0], "1.234,5") == [1.234, 5.0]
    assert formatted_numbers(pa.array([1234, None]), "1.234,5")[0] == 1234
    assert formatted_numbers(pa.array([Decimal("1.234")]), "1.234,5").tolist() == [1.234]
    assert formatted_numbers(pa.array([True]), "1.234,5").tolist() == [1.0]


def test_objects_that_are_no_texts_are_read_as_they_are() -> None:
    frame = pd.DataFrame({"c": pd.Series([1.234, "1.234", 1234, Decimal("1.234"), True, None, "x"], dtype=object)})
    (batch,) = open_table(frame).batches(["c"])
    expected = [1.234, 1234.0, 1234.0, 1.234, 1.0, NAN, NAN]
    np.testing.assert_equal(formatted_numbers(batch.column(0), "1.234,5").tolist(), expected)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(-1e12, 1e12).map(lambda x: round(x, 2)), min_size=1, max_size=10))
def test_formatted_numbers_are_the_plain_ones(column: list[float]) -> None:
    plain = numbers(pa.array(column))
    dollars = [f"{'-' if x < 0 else ''}${abs(x):,.2f}" for x in column]
    assert read(dollars, "$1,234.5") == plain.tolist()
    swapped = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in column]
    assert read(swapped, "1.234,5") == plain.tolist()


@settings(deadline=None, max_examples=25)
@given(st.lists(st.none() | st.text() | st.from_regex(r"[$(]?-?[0-9.,]{0,9}[)%]?", fullmatch=True), max_size=20))
def test_each_cell_is_read_alone(column: list[str | None]) -> None:
    together = formatted_numbers(pa.array(column, pa.string()), "($1,234.5)")
    alone = [formatted_numbers(pa.array([cell], pa.string()), "($1,234.5)")[0] for cell in column]
    np.testing.assert_equal(together.tolist(), alone)


def test_what_is_no_text_is_unreadable_alone() -> None:
    cells = pa.array([b"\xff", b"$1,200"], pa.binary())
    np.testing.assert_equal(formatted_numbers(cells, "$1,234.5").tolist(), [NAN, 1200.0])
