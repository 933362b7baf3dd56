"""Grids: every value has one cell, found from that value alone, and cells are what the schema alone says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from sfumato.schema.grid import MOST_MARKS, Marks, Steps


@st.composite
def marks(draw: st.DrawFn) -> Marks:
    low = draw(st.one_of(st.sampled_from([0.0, -1.0, 0.1, -4e5, 1e15]), st.floats(-1e9, 1e9)))
    width = draw(st.one_of(st.sampled_from([1.0, 120.0, 2.4e6]), st.floats(1e-3, 1e12))) * max(1.0, abs(low) * 1e-9)
    high = low + width
    places = draw(st.lists(st.floats(0.0, 1.0), max_size=4))
    return Marks(low, high, tuple({min(high, low + place * width) for place in places}))


def probes(grid: Marks, draws: list[float]) -> np.ndarray:
    inside = grid.low + np.array(draws) * (grid.high - grid.low)
    some = grid.at(np.linspace(0, grid.marks - 1, 40).astype(np.int64))
    near = [np.nextafter(some, to) for to in (-np.inf, np.inf)]
    return np.clip(np.concatenate([inside, some, *near, grid.atoms]), grid.low, grid.high)


@settings(deadline=None, max_examples=some(60))
@given(marks(), st.lists(st.floats(0.0, 1.0), max_size=20))
def test_a_value_is_a_mark_or_between_two(grid: Marks, draws: list[float]) -> None:
    values = np.sort(probes(grid, draws))
    cells = grid.code(values)
    low, high = grid.lows(cells), grid.highs(cells)
    on_mark = cells % 2 == 0
    assert (low[on_mark] == values[on_mark]).all()
    assert ((low < values) & (values < high))[~on_mark].all()
    assert (np.diff(cells) >= 0).all()
    assert 0 <= cells.min() <= cells.max() < grid.size


@settings(deadline=None, max_examples=some(60))
@given(marks())
def test_atoms_and_bounds_are_marks(grid: Marks) -> None:
    cells = grid.code(np.array([grid.low, grid.high, *grid.atoms]))
    assert (cells % 2 == 0).all()
    assert cells[0] == 0
    assert cells[1] == grid.size - 1


@pytest.mark.parametrize("text", ["0", "0.1", "12.3", "0.7", "99.9", "100"])
def test_a_decimal_is_the_mark_that_its_text_says(text: str) -> None:
    grid = Marks(0.0, 100.0)
    (cell,) = grid.code(np.array([float(text)]))
    assert cell % 2 == 0
    assert grid.lows(np.array([cell]))[0] == float(text)


def test_wide_bounds_have_no_more_marks_than_there_may_be() -> None:
    for low, high in [(-4e5, 2e6), (0.0, 1e300), (0.0, 1e-6), (1e15, 1e15 + 1.0)]:
        assert 1 < Marks(low, high).size <= 2 * MOST_MARKS + 5


def test_outside_values_clamp_and_no_value_is_nowhere() -> None:
    for grid in (Marks(0.0, 10.0), Steps(0.0, 10.0, 0.5)):
        values = np.array([-np.inf, -1.0, 11.0, np.inf, np.nan])
        assert grid.code(values).tolist() == [0, 0, grid.size - 1, grid.size - 1, -1]


def test_each_step_is_a_cell_of_its_own_until_there_are_too_many() -> None:
    few = Steps(0.0, 99.9, 0.1)
    assert few.code(np.round(np.arange(1000) * 0.1, 1)).tolist() == list(range(1000))
    many = Steps(0.0, 1e9, 1.0)
    assert many.size <= 2 * MOST_MARKS
    cells = np.array([0, 1, many.size - 1])
    assert many.code(many.lows(cells)).tolist() == cells.tolist() == many.code(many.highs(cells)).tolist()
    assert many.highs(cells)[-1] == 1e9


@settings(deadline=None, max_examples=some(40))
@given(marks(), st.randoms(use_true_random=False))
def test_a_cell_depends_on_its_value_alone(grid: Marks, random: object) -> None:
    values = probes(grid, [0.1, 0.5, 0.77, 0.999])
    alone = [int(grid.code(np.array([value]))[0]) for value in values]
    assert grid.code(values).tolist() == alone
    assert grid.code(values[::-1].copy())[::-1].tolist() == alone
