import time

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.models.balance import balanced
from sfumato.schema.layout import FloatArray, IntArray

SIZES = (4, 7, 5)


def pairs(rows: int, seed: int = 0) -> IntArray:
    """The places of rows in the tables of all pairs of three columns."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(size, rows, p=rng.dirichlet(np.full(size, 3.0))) for size in SIZES]
    places, start = [], 0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        places.append(start + columns[i] * SIZES[j] + columns[j])
        start += SIZES[i] * SIZES[j]
    return np.stack(places, axis=1)


def distance(places: IntArray, wanted: FloatArray) -> float:
    counts = np.bincount(places.ravel(), minlength=len(wanted))
    return float(((counts - wanted) ** 2 / (wanted + 1)).sum())


def test_counts_come_near_to_those_wanted() -> None:
    places = pairs(20_000)
    wanted = np.bincount(places.ravel(), minlength=83) / 2
    chosen = balanced(places, wanted, 10_000, np.random.default_rng(1))
    assert len(set(chosen.tolist())) == 10_000
    by_chance = distance(places[:10_000], wanted)
    assert distance(places[chosen], wanted) < by_chance / 5
    assert np.abs(np.bincount(places[chosen].ravel(), minlength=83) - wanted).max() < 10


def test_they_follow_what_is_wanted_where_the_candidates_differ() -> None:
    places = pairs(20_000)
    share = np.bincount(places.ravel(), minlength=83) / 20_000
    wanted = 4000 * np.where(np.arange(83) % 2, 1.1, 0.9) * share  # no rows can have all of these
    before = np.mean([distance(places[i : i + 4000], wanted) for i in range(0, 20_000, 4000)])
    assert distance(places[balanced(places, wanted, 4000, np.random.default_rng(1))], wanted) < before / 2


@pytest.mark.parametrize("n", [0, 1, 3, 999, 1000])
def test_any_number_of_rows_can_be_chosen(n: int) -> None:
    places = pairs(1000)
    chosen = balanced(places, n / 1000 * np.bincount(places.ravel(), minlength=83), n, np.random.default_rng(1))
    assert len(set(chosen.tolist())) == n


def test_more_rows_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(ArgumentError, match="11 rows cannot be chosen from 10"):
        balanced(pairs(10), np.zeros(83), 11, np.random.default_rng(1))


def test_without_tables_it_is_a_random_choice() -> None:
    chosen = balanced(np.zeros((50, 0), np.int64), np.zeros(0), 20, np.random.default_rng(1))
    assert len(set(chosen.tolist())) == 20


@pytest.mark.slow
def test_it_takes_many_rows_a_second() -> None:
    rng = np.random.default_rng(0)
    columns = rng.choice(16, (14, 100_000), p=rng.dirichlet(np.ones(16)))
    tables = [(i, j) for i in range(14) for j in range(i)]
    places = np.stack([256 * t + 16 * columns[i] + columns[j] for t, (i, j) in enumerate(tables)], axis=1)
    start = time.process_time()
    balanced(places, np.bincount(places.ravel(), minlength=256 * len(tables)) / 2, 50_000, rng)
    assert 50_000 / (time.process_time() - start) > 10_000  # an idle machine does 100,000


def test_what_cells_have_too_many_of_is_taken_back() -> None:
    places = pairs(4000)
    wanted = np.bincount(places.ravel(), minlength=83) / 2
    ahead = np.where(np.arange(83) % 2, 10.0, -10.0)
    rows = {
        name: balanced(places, wanted, 2000, np.random.default_rng(1), each)
        for name, each in (("ahead", ahead), ("alone", None))
    }
    off = {name: np.bincount(places[which].ravel(), minlength=83) - wanted for name, which in rows.items()}
    assert np.abs(off["alone"]).mean() < 3
    assert (off["ahead"] * ahead)[wanted > 50].mean() < -50
