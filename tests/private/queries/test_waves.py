"""Sums of cosines and sines: exact, of each row alone, and within their sensitivity, which is reached."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import ADD_REMOVE, LABEL, REPLACE_ONE, Case, blanket, check_bound, coded, told

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import score_image, unpack, wave_image, wave_radians
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_LIMIT, Batch, Public
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import ScoreImage
from sfumato.private.queries.waves import PHASE_BITS, WaveImage
from sfumato.whole_numbers import TURN_BITS, wave_table

RNG = np.random.default_rng(6)
SIZES = (7, 4, 9)
IMAGE = score_image([[RNG.normal(scale=3.0, size=size) for size in SIZES] for _ in range(2)])
FREQUENCIES = RNG.normal(size=(5, 3))
WAVES = wave_image(IMAGE, FREQUENCIES)


def sums_of(waves: WaveImage, shares: tuple[float, float], classes: int = 2, kind: type = GroupSums) -> GroupSums:
    return kind(Latent(waves, (waves.longest,) * classes), shares)


QUERY = sums_of(WAVES, (0.2, 0.8))

row = st.tuples(st.integers(0, 1), *(st.integers(-1, size - 1) for size in SIZES))
rows = st.lists(row, max_size=12)


def batch(cells: list[Any]) -> Batch:
    codes = np.array([each[1:] for each in cells], dtype=np.int16).reshape(-1, 3).T
    return Batch(np.ascontiguousarray(codes), np.array([each[0] for each in cells], dtype=np.int64))


def total(cells: list[Any]) -> Any:
    return told(QUERY, batch(cells))


def by_hand(cells: list[Any]) -> list[int]:
    """In Python's own integers, row by row."""
    cosines, sines = (table.tolist() for table in wave_table())
    found = []
    for k in range(2):
        mine = [each for each in cells if each[0] == k]
        sums = [[0] * len(FREQUENCIES) for _ in range(2)]
        for _, *codes in mine:
            z = [int(IMAGE.tables[k][c][code]) for c, code in enumerate(codes)]
            for f, w in enumerate(WAVES.frequencies.tolist()):
                phase = sum(a * b for a, b in zip(w, z, strict=True)) % 2**PHASE_BITS
                place = phase // 2 ** (PHASE_BITS - TURN_BITS)
                sums[0][f] += cosines[place]
                sums[1][f] += sines[place]
        found += [len(mine), *sums[0], *sums[1]]
    return found


@settings(deadline=None, max_examples=some(50))
@given(rows, st.integers(0, 2**32 - 1))
def test_totals_are_exact_and_each_row_s_own(cells: list[Any], seed: int) -> None:
    found = total(cells)
    assert found.dtype == np.int64
    assert found.tolist() == by_hand(cells)
    shuffled = [cells[i] for i in np.random.default_rng(seed).permutation(len(cells))]
    assert np.array_equal(total(shuffled), found)
    assert np.array_equal(sum((total([each]) for each in cells), np.zeros_like(found)), found)
    assert np.array_equal(total(cells[:3]) + total(cells[3:]), found)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [(i % 2, i % 7, i % 4, i % 9) for i in range(200)]
    whole = total(cells)
    monkeypatch.setattr(base, "CHUNK_CELLS", 17 * WAVES.dim)
    assert np.array_equal(total(cells), whole)


def test_a_layout_in_memory_does_not_matter() -> None:
    made = batch([(i % 2, i % 7, i % 4, i % 9) for i in range(50)])
    other = Batch(np.asfortranarray(made.codes), made.labels)
    assert np.array_equal(told(QUERY, other), told(QUERY, made))


def test_the_sums_are_those_of_cos_and_sin() -> None:
    cells = [(i % 2, (3 * i) % 7, i % 4, i % 9) for i in range(60)]
    counts, sums, _ = unpack(QUERY, total(cells).astype(np.float64))
    cosines, sines = sums[:, :5], sums[:, 5:]
    for k in range(2):
        mine = batch([each for each in cells if each[0] == k])
        z = IMAGE.rows(mine, mine.labels == k, k) / 2.0**12
        phases = wave_radians(WAVES) @ z
        assert counts[k] == z.shape[1] == 30
        assert cosines[k] == pytest.approx(np.cos(phases).sum(axis=1), abs=30 * 3e-4)
        assert sines[k] == pytest.approx(np.sin(phases).sum(axis=1), abs=30 * 3e-4)
    assert wave_radians(WAVES) == pytest.approx(FREQUENCIES, abs=1e-4)


# Sensitivity


@settings(deadline=None, max_examples=some(80))
@given(rows, row, row, st.floats(0.01, 0.99))
def test_neighbours_stay_within_the_bounds(cells: list[Any], first: Any, second: Any, share: float) -> None:
    query = sums_of(WAVES, (share, 1.0 - share))
    base = batch([*cells, first])
    check_bound(Case(query, batch(cells), base), ADD_REMOVE)
    check_bound(Case(query, base, batch([*cells, second])), REPLACE_ONE)
    check_bound(Case(query, base, batch([*cells, (1 - first[0], *first[1:])])), LABEL)


HALF_A_TURN = wave_image(score_image([[np.array([-1.0, 1.0])]] * 2), np.array([[math.pi / 2], [5 * math.pi / 2]]))


def opposite(kind: type = GroupSums) -> dict[Adjacency, Case]:
    """One row, and its neighbours that are furthest away."""
    query = sums_of(HALF_A_TURN, (0.1, 0.9), kind=kind)
    mine = coded([((0,), 0)], 1)
    return {
        ADD_REMOVE: Case(query, coded([], 1), mine),
        LABEL: Case(query, mine, coded([((0,), 1)], 1)),
        REPLACE_ONE: Case(query, mine, coded([((1,), 0)], 1)),  # the opposite phase
    }


def test_the_bounds_are_reached() -> None:
    for adjacency, case in opposite().items():
        assert case.change == pytest.approx(case.query.reach.sensitivity(adjacency), rel=1e-3)
        check_bound(case, adjacency)


def test_a_bound_that_forgets_opposite_phases_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        check_bound(opposite(blanket(GroupSums))[REPLACE_ONE], REPLACE_ONE)


def test_waves_need_no_clipping_and_shorter_radii_get_it() -> None:
    """No row is longer than what follows from the number of frequencies; a smaller radius is kept all the same."""
    cells = batch([(i % 2, i % 7, i % 4, i % 9) for i in range(50)])
    z = WAVES.rows(cells, cells.labels == 0, 0)
    assert (z**2).sum(axis=0).max() <= WAVES.longest
    for radius in (1, WAVES.longest // 3):
        short = Latent(WAVES, (radius,) * 2).rows(cells, 0)
        assert (short**2).sum(axis=0).max() <= radius
        assert short.shape == z.shape


@pytest.mark.parametrize(
    ("frequencies", "message"),
    [
        (np.ones((2, 2)), "one number for each latent coordinate"),
        (np.ones((0, 3)), "one number for each latent coordinate"),
        (np.ones(3), "one number for each latent coordinate"),
        (np.full((1, 3), np.nan), "frequencies must be numbers"),
        (np.full((1, 3), 2.0**24), "too high for exact phases"),
    ],
)
def test_what_is_no_image(frequencies: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        wave_image(IMAGE, frequencies)


def test_waves_of_waves_are_refused() -> None:
    with pytest.raises(ArgumentError, match="exact phases"):
        wave_image(WAVES, np.ones((1, 10)))


@pytest.mark.parametrize("second", ["outer", "norm"])
def test_second_moments_of_waves_are_refused(second: str) -> None:
    with pytest.raises(ArgumentError, match="second moments"):
        GroupSums(Latent(WAVES, (WAVES.longest,) * 2), (0.2, 0.3, 0.5), second)


def test_matrices_before_waves_are_refused() -> None:
    with pytest.raises(ArgumentError, match="matrix"):
        Latent(WAVES, (WAVES.longest,) * 2, (np.eye(10, dtype=np.int64),) * 2)


def test_waves_of_another_schema_are_refused() -> None:
    QUERY.check(Public(SIZES, 2))
    for public in (Public(SIZES, 3), Public(SIZES[:2], 2), Public((7, 4, 8), 2)):
        with pytest.raises(ArgumentError):
            QUERY.check(public)


def test_phases_stay_exact_at_the_limits() -> None:
    image = ScoreImage(tuple(tuple(np.array([LATENT_LIMIT, -LATENT_LIMIT, 0]) for _ in range(3)) for _ in range(1)))
    high = (1 << 52) // LATENT_LIMIT // 3 - 1
    waves = WaveImage(image, np.array([[high, -high, high]]))
    z = np.array([[LATENT_LIMIT], [-LATENT_LIMIT], [LATENT_LIMIT]], dtype=np.float64)
    exact = (3 * high * LATENT_LIMIT) % 2**PHASE_BITS >> (PHASE_BITS - TURN_BITS)
    assert waves.places(z).tolist() == [[exact]]
