import tracemalloc

import numpy as np
import pytest
from tests.models.small_mixtures import cells, tilt

from sfumato.errors import ArgumentError
from sfumato.models import Tilt
from sfumato.models import tilt as module

LEVELS = (np.array([0, 1]), np.array([0, 1, 1, 2]))


def test_places_are_those_of_the_tables_laid_end_to_end() -> None:
    made = tilt(3)
    *codes, labels = cells(3)
    levels = made.levels_of(codes, labels)
    for t, (table, places) in enumerate(zip(made.tables, made.places(levels), strict=True)):
        expected = np.ravel_multi_index([levels[j] for j in table], made.shapes[t]) + made.starts[t]
        np.testing.assert_array_equal(places, expected)
    assert made.places(levels).dtype == np.int32


def test_weights_are_looked_up_and_added() -> None:
    made = tilt(3)
    *codes, labels = cells(3)
    levels = made.levels_of(codes, labels)
    tables = [
        made.weights[a:b].reshape(shape) for a, b, shape in zip(made.starts, made.starts[1:], made.shapes, strict=False)
    ]
    brute = [
        sum(table[tuple(int(levels[j][i]) for j in t)] for t, table in zip(made.tables, tables, strict=True))
        for i in range(len(labels))
    ]
    np.testing.assert_allclose(made.log_weights(levels), brute, atol=1e-12)
    some = [1, 4]
    np.testing.assert_allclose(made.log_weights(levels, some), made.weights[made.places(levels, some)].sum(axis=0))


def test_many_tables_are_looked_up_for_fewer_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tables a file names, looking rows up in them takes no more memory than a few."""
    monkeypatch.setattr(module, "MOST_PLACES", 1 << 16)
    few, many = (Tilt((np.zeros(2, np.int64),), 1, ((0,),) * count, np.ones(count)) for count in (2, 256))
    assert few.at_once(100) == 100
    levels = [np.zeros(10_000, np.int32)] * 2
    tracemalloc.start()
    assert (many.log_weights(levels) == 256.0).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 16, "a place takes 20 bytes"


def test_a_column_knows_its_tables_and_how_far_a_level_moves_a_row() -> None:
    made = tilt(3)
    assert made.having(3).tolist() == [3, 4, 5]
    assert made.having(0).tolist() == [0, 2, 4]
    assert made.strides(0).tolist() == [3, 3, 9]  # (a, b), (c, a, b), (a, y, c)


def test_tables_are_added_with_their_weights() -> None:
    made = Tilt(LEVELS, 2, ((0,),), np.array([1.0, 2.0]))
    more = made.with_tables([(1, 2)]).with_tables([(2,)], np.array([3.0, -np.inf]))
    assert more.tables == ((0,), (1, 2), (2,))
    assert more.weights.tolist() == [1.0, 2.0, *[0.0] * 6, 3.0, -np.inf]
    assert more.starts == (0, 2, 8, 10)


@pytest.mark.parametrize("tables", [((0, 0),), ((3,),), ((-1,),), ((),)])
def test_tables_of_no_columns_are_refused(tables: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ArgumentError, match="each of them once"):
        Tilt(LEVELS, 2, tables, np.zeros(4))


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="each of its 6 cells"):
        Tilt(LEVELS, 2, ((0, 1),), np.zeros(5))


def test_tables_of_zeros_are_told_from_those_that_weigh() -> None:
    made = Tilt(LEVELS, 2, ((0,), (2,), (1,)), np.array([0.0, -np.inf, 1.0, -np.inf, 0.0, 0.0, -np.inf]))
    weighing, zeros = made.with_tables([(0, 1)]).split()
    assert (weighing.tables, weighing.weights.tolist()) == (((2,), (0, 1)), [1.0, -np.inf, *[0.0] * 6])
    assert (zeros.tables, zeros.weights.tolist()) == (((0,), (1,)), [0.0, -np.inf, 0.0, 0.0, -np.inf])


@pytest.mark.parametrize("most", [1, 8, 1 << 12])
def test_merged_tables_give_rows_the_same_weights(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.models.tilt.MERGED_CELLS", most)
    made = tilt(2)
    made = made.reweighted(np.where(np.arange(made.cells) % 11 == 3, -np.inf, made.weights), ceiling=2.0)
    merged = made.merged()
    *codes, labels = cells(2)
    levels = made.levels_of(codes, labels)
    np.testing.assert_allclose(merged.log_weights(levels), made.log_weights(levels), rtol=0, atol=1e-12)
    assert merged.ceiling == made.ceiling
    assert len(merged.tables) < len(made.tables)  # some are of columns that others have too
    assert len(merged.tables) == 1 or most < 1 << 12


def test_no_tables_are_merged_to_none() -> None:
    made = Tilt((np.arange(2),), 2, (), np.zeros(0))
    assert made.merged().tables == ()


def test_places_by_row_are_the_same() -> None:
    rng = np.random.default_rng(0)
    levels = tuple(np.arange(size) for size in (5, 3, 7))
    made = Tilt(levels, 2, (), np.zeros(0)).with_tables([(0, 1), (2, 0, 3), (1,), (3, 2)])
    codes = [rng.integers(0, len(level), 10_000) for level in levels]
    found = made.levels_of(codes, rng.integers(0, 2, 10_000))
    np.testing.assert_array_equal(made.places_by_row(found, [2, 0, 1]), made.places(found, [2, 0, 1]).T)
