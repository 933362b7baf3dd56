"""Views: bins looked up number by number, and nothing else let through."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.schema.view import View


def test_codes_are_looked_up_and_nowhere_stays_nowhere() -> None:
    view = View((2, 0), (6, 3), (np.array([0, 2, 5]), np.array([0, 1, 2])))
    cells = np.array([[0, 1, 2, -1], [9, 9, 9, 9], [0, 4, 5, -1]], dtype=np.int16)
    assert view.codes(cells).tolist() == [[0, 1, 2, -1], [0, 1, 2, -1]]
    assert view.sizes((3, 10, 6)) == (3, 3)


@pytest.mark.parametrize(
    ("columns", "cells", "starts"),
    [
        ((), (), ()),
        ((0,), (5, 5), ([0],)),
        ((0,), (5,), ([],)),
        ((0,), (5,), ([1, 2],)),
        ((0,), (5,), ([0, 2, 2],)),
        ((0,), (5,), ([0, 3, 2],)),
        ((0,), (5,), ([0, 5],)),
        ((0,), (5,), ([[0, 1]],)),
        ((0,), (5,), ([0, 2**62, 2**63 - 1, -(2**63), -(2**62), -1, 3],)),  # whose differences wrap around
        ((0, 0), (5, 5), ([0], [0])),  # or memory would run out from some number of rows on
    ],
)
def test_bins_that_are_no_runs_are_refused(columns: tuple, cells: tuple, starts: tuple) -> None:
    with pytest.raises(ArgumentError):
        View(columns, cells, tuple(np.array(each, dtype=np.int64) for each in starts))


@pytest.mark.parametrize("cells", [(5,), (4, 6), (), (6, 4, 4)])
def test_a_view_of_other_columns_is_refused(cells: tuple[int, ...]) -> None:
    view = View((0, 1), (6, 4), (np.array([0]), np.array([0, 2])))
    if cells == (6, 4, 4):
        assert view.sizes(cells) == (1, 2)
    else:
        with pytest.raises(ArgumentError):
            view.sizes(cells)


def test_a_negative_column_is_no_column() -> None:
    with pytest.raises(ArgumentError):
        View((-1,), (6,), (np.array([0]),)).sizes((6,))


def test_large_tables_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    starts = tuple(np.unique(np.append(0, rng.integers(0, size, 20))) for size in (300, 40_000))
    cells = rng.integers(-1, [[300], [40_000]], (2, 5000)).astype(np.int32)
    by_table = View((0, 1), (300, 40_000), starts).codes(cells)
    monkeypatch.setattr("sfumato.schema.view.MOST_TABLE_CELLS", 1000)
    view = View((0, 1), (300, 40_000), starts)
    np.testing.assert_array_equal(view.codes(cells), by_table)
    assert "_tables" not in vars(view)
