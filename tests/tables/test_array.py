"""NumPy arrays, plain, masked and structured, and the schema that an array gives."""

import math
from typing import Any

import numpy as np
import pytest
from tests.tables.helpers import cell_texts

from sfumato.errors import SchemaError, TableError
from sfumato.schema.schema import Schema
from sfumato.tables import open_table


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([[0, 1.5], [0, np.nan]]), ["1.5", ""]),
        (np.array([[0, 1], [0, 2]], dtype=">i2"), ["1", "2"]),
        (np.array([[0, 1], [0, 1]], dtype=bool), ["true", "true"]),
        (np.array([[0, 0.5]], dtype=np.float16), ["0.5"]),
        (np.array([[0, 1], [0, "a"], [0, None], [0, [1]]], dtype=object), ["1", "a", "", ""]),
        (np.array([["x", "a"], ["y", "\ud800"]]), ["a", ""]),
        (np.array([[b"x", b"\xff"]]), [""]),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), ["2020-01-02"]),
        (np.array([["2020-01-01", "2020-02-01"], ["2020-01", "NaT"]], dtype="datetime64[M]"), ["2020-02-01", ""]),
        (np.array([["2020-01-01", "2020-01-03"]], dtype="datetime64[2D]"), ["2020-01-03"]),
        (np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]]), ["2", ""]),
        (np.ma.masked_array(np.array([[1, "a"], [3, "b"]], dtype=object), mask=[[0, 0], [0, 1]]), ["a", ""]),
        (np.array([[1, 2], [3, 4]], dtype="m8[m]"), ["00:02:00", "00:04:00"]),
        (np.array([[1, 2], [3, 4]], dtype="m8[s]"), ["00:00:02", "00:00:04"]),
        (np.arange(8)[::-1].reshape(2, 4)[:, ::2], ["5", "1"]),
        (np.zeros((0, 2)), []),
        (np.array([(1, "a"), (2, "b")], dtype=[("x0", int), ("x1", "U3")]), ["a", "b"]),
        (np.rec.array([(1, 2.5)], dtype=[("x0", int), ("x1", float)]), ["2.5"]),
    ],
)
def test_arrays(array: Any, expected: list[str]) -> None:
    table = open_table(array)
    assert table.names == ("x0", "x1")
    assert cell_texts(table, "x1") == expected


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2, 2)), np.array(1), np.zeros((2, 2), dtype=[("a", int)])])
def test_arrays_that_are_no_tables(array: Any) -> None:
    with pytest.raises(TableError, match=r"^an array of \d dimensions is no table; give a 2-D array"):
        open_table(array)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((1, 1), dtype=complex),
        np.zeros((1, 1), dtype="V3"),
        np.zeros(1, dtype=[("x0", float, (2,))]),
        np.zeros(1, dtype=[("x0", [("y", float)])]),
    ],
)
def test_array_types_that_have_no_reading(array: Any) -> None:
    with pytest.raises(TableError, match="column 'x0' of the array has type"):
        open_table(array).batches(["x0"])


@pytest.mark.parametrize(
    ("shape", "bounds", "names", "message"),
    [
        ((1, 2), (0, 0), None, "columns.x0: min .* must be below max"),
        ((1, 2), ([0, 1, 2], 3), None, "each a number or 2 of them"),
        ((1, 2), 5, None, "bounds must be"),
        ((1, 2), (0, math.inf), None, "finite"),
        ((1, 2), (0, 1), ["a"], "2 different names"),
        ((1, 2), (0, 1), ["a", "b", "b"], "2 different names"),
        ((2,), (0, 1), None, "2-D array"),
    ],
)
def test_bad_schemas_of_arrays(shape: tuple[int, ...], bounds: Any, names: list[str] | None, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_array(np.zeros(shape), bounds, names=names)


def test_the_schema_of_an_array_takes_no_value_from_it() -> None:
    bounds = (np.array([0.0, -1.0]), 10)
    assert Schema.from_array(np.zeros((3, 2)), bounds) == Schema.from_array(np.full((9, 2), np.nan), bounds)
    assert Schema.from_array(np.zeros((3, 2)), bounds).features == open_table(np.zeros((3, 2))).names
    assert Schema.from_array(np.zeros((3, 2)), bounds, names=["a", "b"]).columns["b"].min == -1.0
