"""Periods: what people pay, against sums by hand; and trees, against their definition."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.accounting import calibrate, delta_of
from sfumato.errors import ArgumentError
from sfumato.planning.periods import Periods, mean_cover

DELTA = 1e-6
SCHEMA = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}


def periods(count: int, stays: int, epsilon: float = 1.0) -> Periods:
    return Periods(epsilon, DELTA, calibrate(epsilon, DELTA), count, stays)


def test_squares_add_up_over_periods() -> None:
    yearly = periods(10, 4)
    assert yearly.total_mu == pytest.approx(2 * calibrate(1.0, DELTA))
    assert delta_of(yearly.total_epsilon, yearly.total_mu) <= DELTA
    assert 1.0 < yearly.total_epsilon < 4.0
    each = calibrate(yearly.epsilon_each, DELTA)
    assert 2 * each == pytest.approx(calibrate(1.0, DELTA), rel=1e-6)


def blocks_of(start: int, end: int) -> int:
    """How few dyadic blocks cover a run, by always taking the largest that begins there."""
    found = 0
    while start < end:
        size = 1
        while start % (2 * size) == 0 and start + 2 * size <= end:
            size *= 2
        start, found = start + size, found + 1
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 31, 64, 100])
def test_a_run_is_covered_by_few_blocks(count: int) -> None:
    runs = [(start, end) for start in range(count) for end in range(start + 1, count + 1)]
    assert mean_cover(count) == pytest.approx(sum(blocks_of(*run) for run in runs) / len(runs))
    assert periods(count, 1).plain_total == pytest.approx(sum(end - start for start, end in runs) / len(runs))


@pytest.mark.parametrize("stays", [1, 2, 3, 8])
def test_a_tree_costs_what_its_levels_cost(stays: int) -> None:
    """The worst person: rows in `stays` of 8 periods, next to each other, squared over the nodes of every level."""
    worst = 0
    for first in range(8 - stays + 1):
        held = [first <= period < first + stays for period in range(8)]
        nodes = (sum(held[i : i + size]) ** 2 for size in (1, 2, 4, 8) for i in range(0, 8, size))
        worst = max(worst, sum(nodes))
    bound = stays * periods(8, stays).tree_variance
    assert worst <= bound
    if stays in (1, 2, 8):  # as many as fill a block
        assert worst == bound


def test_a_tree_pays_from_about_a_hundred_periods_and_never_for_those_who_stay() -> None:
    assert not periods(64, 1).tree_is_better
    assert periods(128, 1).tree_is_better
    assert periods(10, 1).better_from == 128
    assert periods(10, 2).better_from == 512
    assert not periods(1 << 14, 1 << 14).tree_is_better
    assert periods(10, 10).better_from is None


def test_a_plan_over_periods_in_words_and_numbers() -> None:
    made = sf.plan(SCHEMA, epsilon=1, delta=DELTA)
    yearly = Periods.of(made, 10)
    assert yearly.stays == 10
    said = yearly.lines()
    assert said[0].startswith("10 periods, a release at epsilon 1 each: a person in 10 of them pays epsilon 3.53 at")
    assert "a period may have epsilon 0.291; intervals are then about 3.16 times as wide" in said[1]
    assert "Rows do not tell who is new: that nobody is in more than 10 periods is what you enforce" in said[3]
    assert "release a tree of them" in Periods.of(made, 256, 1).lines()[1]
    data = yearly.data()
    assert data["all_periods"]["mu"] == pytest.approx(math.sqrt(10) * made.mu)
    assert data["tree"]["is_better"] is False


@pytest.mark.parametrize(
    ("count", "stays", "match"),
    [
        (0, None, "periods must be a whole number from 1 to 16384, not 0"),
        (1.5, None, "periods must be"),
        (10, 11, "stays must be a whole number from 1 to 10, not 11"),
        (10, 0, "stays must be"),
    ],
)
def test_what_is_no_number_of_periods(count: int, stays: int | None, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        Periods.of(sf.plan(SCHEMA, epsilon=1, delta=DELTA), count, stays)


def test_projections_of_every_row_have_no_mu_to_add_up() -> None:
    schema = {"columns": {name: {"type": "number", "min": 0, "max": 99, "step": 1} for name in "abcd"}}
    rows = sf.Slicing(form="rows", slices=1, training=None)
    made = sf.plan(schema, epsilon=1, delta=DELTA, mechanism=rows, adjacency="replace-one")
    with pytest.raises(ArgumentError, match="periods are planned for Gaussian queries"):
        Periods.of(made, 3)
