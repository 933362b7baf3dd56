"""What cells are to a schema: by hand, and the same as the source of a fit says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from sfumato.checking.cell_counts import EXAMPLES_KEPT, UNDECODABLE, Tally, tally_cells
from sfumato.private.source import Source
from sfumato.schema.layout import NOWHERE, Layout, bins_of
from sfumato.schema.schema import Category, Column, Date, Number, Schema
from sfumato.tables import open_table

AGE = Number(min=0, max=100, step=1)
TOWN = Category(values=("Ulm", "Bonn", 7))
BORN = Date(min="1900-01-01", max="2020-12-31")
ODD = [
    "",
    " ",
    "nan",
    "?",
    "1e3",
    "-3",
    "7",
    "7.0",
    "12 years",
    "inf",
    "Ulm",
    " Bonn",
    "2000-02-30",
    "2001-01-31",
    "1,5",
]


def tallied(cells: pa.Array, column: Column) -> Tally:
    return tally_cells(cells, bins_of(column))[0]


def test_numbers() -> None:
    cells = pa.array(["5", "", None, "?", "?", "x", "-1", "101", "inf", "nan", " "])
    found = tallied(cells, AGE)
    assert (found.cells, found.missing, found.unreadable, found.unlisted) == (11, 3, 4, 0)
    assert (found.low, found.high, found.lost) == (1, 2, 7)
    assert (found.smallest, found.largest) == (-1.0, 101.0)
    assert found.commonest == (("?", 2), ("nan", 1), ("x", 1))
    assert tally_cells(cells, bins_of(AGE))[1].nonzero()[0].tolist() == [1, 2, 10]


def test_stored_numbers() -> None:
    found = tallied(pa.array([1.0, np.nan, None, 200.0]), AGE)
    assert (found.missing, found.unreadable, found.high, found.lost) == (2, 0, 1, 2)


def test_with_missing_nothing_is_lost() -> None:
    cells = pa.array(["5", None, "?"])
    found = tallied(cells, AGE.model_copy(update={"missing": True}))
    assert (found.missing, found.unreadable, found.foreign, found.lost) == (1, 1, 1, 0)


def test_categories() -> None:
    found = tallied(pa.array(["Ulm", " Bonn ", "7.0", "ulm", None, "", "ulm"]), TOWN)
    assert (found.cells, found.missing, found.unlisted, found.unreadable, found.lost) == (7, 2, 2, 0, 4)
    assert found.commonest == (("ulm", 2),)
    assert tallied(pa.array(["Ulm"]).dictionary_encode(), TOWN).lost == 0


def test_dates() -> None:
    found = tallied(pa.array(["2000-01-01", "2000-02-30", "1850-01-01", "", "7"]), BORN)
    assert (found.missing, found.unreadable, found.low, found.high) == (1, 2, 1, 0)


@pytest.mark.parametrize("wrap", [lambda cells: cells, lambda cells: cells.dictionary_encode()])
def test_bytes_that_are_no_text_are_unreadable_and_not_missing(wrap: Any) -> None:
    cells = wrap(pa.array([b"Ulm", b"", b"\xe9t\xe9", b"\xff", b" ", None]))
    found = tallied(cells, TOWN)
    assert (found.missing, found.unlisted, found.lost) == (3, 2, 5)
    assert found.commonest == ((UNDECODABLE, 2),)


def test_tallies_add_up_whatever_the_batches() -> None:
    cells = pa.array(["?", "x", "3", "", "-5", "900", "?", None])
    whole = tallied(cells, AGE)
    parts = tallied(cells.slice(0, 3), AGE) + tallied(cells.slice(3), AGE)
    assert parts == whole
    assert Tally() + whole == whole


def test_examples_stay_few() -> None:
    total = Tally()
    for start in range(0, 5000, 100):
        total += Tally(examples=Counter([*(f"id {i}" for i in range(start, start + 100)), "?", "?"]))
    assert len(total.examples) <= EXAMPLES_KEPT
    assert total.commonest[0] == ("?", 100)


@settings(max_examples=some(60), deadline=None)
@given(
    st.lists(st.sampled_from(ODD) | st.none() | st.text(max_size=3), min_size=1, max_size=40),
    st.booleans(),
    st.sampled_from(["number", "plain number", "category", "date"]),
)
def test_lost_is_what_the_source_of_a_fit_puts_nowhere(cells: list[str | None], missing: bool, kind: str) -> None:
    columns = {
        "number": AGE,
        "plain number": Number(min=-2, max=8, atoms=(0.0,)),
        "category": TOWN,
        "date": BORN,
    }
    column = columns[kind].model_copy(update={"missing": missing})
    written = [None if cell is None else cell.encode("utf-8", "ignore") for cell in cells]
    stored = pa.array([*written, None], pa.binary())  # what is last is missing
    layout = Layout.of(Schema.of({"columns": {"x": column.model_dump(mode="json")}}))
    (job,) = Source(open_table(pa.table({"x": stored})), layout).jobs()
    codes = job().batch.codes[0]
    found = tallied(stored, column)
    assert found.cells == len(codes)
    assert found.lost == int((codes == NOWHERE).sum())
    assert found.missing + found.foreign == int((codes == codes[-1]).sum())
