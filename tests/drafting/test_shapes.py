"""Bounds, steps, sentinels, spikes and tails of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.drafting.looks import Look
from sfumato.drafting.shapes import Shape, find_sentinels, plain_bounds, shape_of

rng = np.random.default_rng(7)


def shape(cells: Any) -> Shape:
    look = Look()
    look.add(pa.array(cells))
    return shape_of(look)


@pytest.mark.parametrize(
    ("low", "high", "step", "expected"),
    [
        (17, 93, 1, (10, 100)),
        (0, 131, 1, (0, 150)),
        (0, 3, 1, (0, 3)),
        (-3, 9.5, None, (-5, 10)),
        (0.25, 1.0, 0.25, (0, 1)),
        (1.71, 1.98, 0.01, (1.7, 2)),
        (137, 48_213, 1, (0, 50_000)),
        (5, 5, None, (5, 6)),
        (12, 37, 5, (10, 40)),
    ],
)
def test_bounds_are_rounded_outwards(low: float, high: float, step: float | None, expected: Any) -> None:
    assert plain_bounds(low, high, step) == expected


@pytest.mark.parametrize(
    ("values", "far", "near"),
    [
        ([-1, 0, 5, 80], [-1], []),
        ([-9, -1, 0, 5, 80], [-9, -1], []),
        ([-3, -1, 0, 5], [], []),
        ([-9, -8, 5], [], []),
        ([0, 50, 120, 999], [999], []),
        ([0, 50, 300, 9999, 99_999], [99_999, 9999], []),
        ([0, 50, 41_310, 99_999], [], [99_999]),
        ([0, 50, 98, 99], [], []),
        ([-1, -1 / 2], [], []),
        ([-1, 0], [], []),
    ],
)
def test_sentinels_lie_apart(values: list[float], far: list[float], near: list[float]) -> None:
    ends = np.array(values, dtype=float)
    assert find_sentinels(ends, ends) == (far, near)


@pytest.mark.parametrize("step", [1000, 100, 10, 5, 1, 0.5, 0.1, 0.01, 0.001])
def test_steps(step: float) -> None:
    cells = np.round(rng.integers(0, 400, 900) * step, 3)
    assert shape(cells).step == step
    assert shape(np.append(cells, cells[0] + step / 3)).step != step


def test_tiny_numbers_are_on_no_step() -> None:
    assert shape(rng.normal(5e-8, 1e-8, 900)).step is None


def test_sentinels_do_not_hide_the_step_and_the_bounds() -> None:
    found = shape([*(10 * rng.integers(0, 40, 900)), -1, -1, 9999])
    assert (found.low, found.high, found.step, found.sentinels) == (0, 400, 10, [-1, 9999])


def test_spikes_are_atoms() -> None:
    cells = np.where(rng.random(5000) < 0.4, 0.0, rng.normal(500, 100, 5000))
    assert shape(cells).atoms == [0]
    assert shape(rng.normal(500, 100, 5000)).atoms == []
    whole = np.where(rng.random(5000) < 0.1, 1000, rng.integers(0, 3000, 5000))
    assert shape(whole).atoms == [1000]
    assert shape(rng.integers(0, 100, 5000)).atoms == []  # each has a bin of its own
    assert shape([*rng.integers(0, 40_000, 900), 99_999]).atoms == [99_999]


def test_long_tails() -> None:
    assert shape(rng.lognormal(8, 1.5, 20_000)).is_log
    assert not shape(rng.normal(500, 100, 20_000)).is_log
    assert not shape(rng.exponential(1, 20_000)).is_log
    assert not shape(-rng.lognormal(8, 1.5, 20_000)).is_log
