"""Which tables are bought."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.mechanisms.pairs.table_choice import Candidate, choose, gain, joint_of, pairs_of, scatter

TUNING = PairTuning()
ROWS = 10_000.0
EVEN = np.full(64, ROWS / 64)


def candidates(distances: list[float], bought_sd: float = np.inf) -> list[Candidate]:
    return [Candidate((0, i + 1), EVEN, distance, bought_sd) for i, distance in enumerate(distances)]


@pytest.mark.parametrize("expected", [0.01, 0.2, 1.0, 7.0, 300.0])
def test_scatter_is_what_rows_scatter_by(expected: float) -> None:
    counts = np.arange(2000)
    truth = float(poisson.pmf(counts, expected) @ np.abs(counts - expected))
    assert scatter(np.full(10, expected), 1.0) == pytest.approx(10 * truth, rel=0.12)
    assert scatter(np.full(10, 300.0), 4.0) == pytest.approx(2.0 * scatter(np.full(10, 300.0), 1.0))


def test_a_table_gains_more_the_further_off_it_is_and_less_with_noise() -> None:
    near, far = candidates([500.0, 3000.0])
    assert 0 < gain(near, 1.0, ROWS) < gain(far, 1.0, ROWS) < 3000.0
    assert gain(far, 1.0, ROWS) > gain(far, 20.0, ROWS)
    assert gain(candidates([-200.0])[0], 1.0, ROWS) == 0.0


@pytest.mark.parametrize("place", [0, 17, 39])
def test_the_planted_table_is_chosen_alone(place: int) -> None:
    distances = [-30.0] * 40
    distances[place] = 4000.0
    assert choose(candidates(distances), 0.02, 1.0, ROWS, TUNING) == [place]


def test_as_many_as_pay() -> None:
    """The cheaper noise is, the more tables; the best of them first."""
    distances = np.linspace(200.0, 4000.0, 40).tolist()
    numbers = [len(choose(candidates(distances), mu**2, 1.0, ROWS, TUNING)) for mu in (0.01, 0.1, 1.0)]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]
    assert choose(candidates(distances), 0.01, 1.0, ROWS, TUNING)[0] == 39


def test_there_is_always_one_to_buy() -> None:
    assert choose(candidates([-5.0, -3.0, -9.0]), 1e-9, 1.0, ROWS, TUNING) == [1]
    assert choose(candidates([0.0]), 1.0, 1.0, ROWS, TUNING) == [0]


def test_a_table_is_bought_again_only_where_that_tells_more() -> None:
    known = Candidate((0, 1), EVEN, 3000.0, bought_sd=1.0)
    other = Candidate((0, 2), EVEN, 1000.0)
    assert choose([known, other], 1.0, 1.0, ROWS, TUNING) == [1]
    assert 0 in choose([known, other], 100.0, 1.0, ROWS, TUNING)


def test_pairs_are_all_or_those_that_the_mixture_ties_most() -> None:
    ties = np.zeros((4, 4))
    ties[0, 3] = ties[1, 2] = 0.5
    assert len(pairs_of(4, 6, ties)) == 6
    assert pairs_of(4, 2, ties) == [(0, 3), (1, 2)]


def test_the_joint_table_is_of_small_columns_and_has_rows_for_its_cells() -> None:
    binary = (2,) * 10
    assert joint_of((*binary, 2), 40_000, TUNING, labelled=True) == tuple(range(11))
    few = joint_of((*binary, 2), 300, TUNING, labelled=True)
    assert few is not None
    assert 2 ** len(few) * TUNING.joint_rows <= 300
    assert joint_of((1, 2, 16, 1, 2, 2, 1), 2000, TUNING, labelled=False) == (1, 2, 4, 5)  # not of constants
    assert joint_of((16, 16, 16, 1), 2000, TUNING, labelled=False) is None  # a pair is asked for anyway
