"""One pass over a column, batch by batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.drafting.looks import EXTREMES, MOST_UNREAD, Look, on_step


def test_batches_add_up() -> None:
    cells = ["3", "", "?", "12 years", *map(str, range(100))]
    one, many = Look(), Look()
    one.add(pa.array(cells))
    for start in range(0, len(cells), 7):
        many.add(pa.array(cells[start : start + 7]))
    for look in (one, many):
        assert (look.rows, look.empty, look.filled, look.read_cells) == (104, 1, 103, 101)
        assert dict(look.unread) == {"?": 1, "12 years": 1}
        assert look.lows.tolist() == [*range(EXTREMES)]
        assert look.highs.tolist() == [*range(100 - EXTREMES, 100)]
        values, weights = look.weighted()
        assert values.tolist() == [*range(100)]
        assert weights[3] == 2
    assert one.off.tolist() == many.off.tolist()


def test_what_means_missing_is_no_number() -> None:
    look = Look(frozenset(["77"]))
    look.add(pa.array([1, 2, 77, 77]))
    assert look.highs.tolist() == [1, 2]
    assert dict(look.unread) == {"77": 2}


def test_the_first_cell_that_says_something_decides() -> None:
    look = Look()
    look.add(pa.array(["?", None], pa.string()))
    assert look.reading is None
    look.add(pa.array(["2020-01-01"]))
    assert look.reading is not None
    assert look.reading.kind == "date"


def test_texts_that_are_not_read_are_bounded() -> None:
    look = Look()
    look.add(pa.array([*map(str, range(2000)), *(f"x{i}" for i in range(1000))]))
    assert len(look.unread) <= 2 * MOST_UNREAD


def test_what_is_too_large_for_a_step_is_not_on_it() -> None:
    assert on_step(np.array([1e308, 0.2]), 0.1).tolist() == [False, True]
