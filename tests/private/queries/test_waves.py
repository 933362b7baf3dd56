"""Sums of cosines and sines: exact, of each row alone, and within their sensitivity, which is reached."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.questions import score_image
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import waves as waves_module
from sfumato.private.queries.base import LATENT_LIMIT, SHRINK, Batch
from sfumato.private.queries.images import ScoreImage
from sfumato.private.queries.waves import PHASE_BITS, TURN_BITS, WAVE_BITS, Waves, wave_table

RNG = np.random.default_rng(6)
SIZES = (7, 4, 9)
IMAGE = score_image([[RNG.normal(scale=3.0, size=size) for size in SIZES] for _ in range(2)])
FREQUENCIES = RNG.normal(size=(5, 3))
QUERY = Waves.of(IMAGE, 2, FREQUENCIES, (0.2, 0.8))

row = st.tuples(st.integers(0, 1), *(st.integers(-1, size - 1) for size in SIZES))
rows = st.lists(row, max_size=12)


def batch(cells: list[Any]) -> Batch:
    codes = np.array([each[1:] for each in cells], dtype=np.int16).reshape(-1, 3).T
    return Batch(np.ascontiguousarray(codes), np.array([each[0] for each in cells], dtype=np.int64))


def total(cells: list[Any], query: Waves = QUERY) -> Any:
    return query.total(batch(cells))


def by_hand(cells: list[Any]) -> list[int]:
    """In Python's own integers, row by row."""
    cosines, sines = (table.tolist() for table in wave_table())
    found = []
    for k in range(2):
        mine = [each for each in cells if each[0] == k]
        sums = [[0] * len(FREQUENCIES) for _ in range(2)]
        for _, *codes in mine:
            z = [int(IMAGE.tables[k][c][code]) for c, code in enumerate(codes)]
            for f, w in enumerate(QUERY.frequencies.tolist()):
                phase = sum(a * b for a, b in zip(w, z, strict=True)) % 2**PHASE_BITS
                place = phase // 2 ** (PHASE_BITS - TURN_BITS)
                sums[0][f] += cosines[place]
                sums[1][f] += sines[place]
        found += [len(mine), *sums[0], *sums[1]]
    return found


@settings(deadline=None, max_examples=50)
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
    monkeypatch.setattr(waves_module, "BLOCK", 17)
    assert np.array_equal(total(cells), whole)


def test_a_layout_in_memory_does_not_matter() -> None:
    made = batch([(i % 2, i % 7, i % 4, i % 9) for i in range(50)])
    other = Batch(np.asfortranarray(made.codes), made.labels)
    assert np.array_equal(QUERY.total(other), QUERY.total(made))


def test_the_sums_are_those_of_cos_and_sin() -> None:
    cells = [(i % 2, (3 * i) % 7, i % 4, i % 9) for i in range(60)]
    counts, cosines, sines = QUERY.unpack(total(cells).astype(np.float64))
    for k in range(2):
        mine = batch([each for each in cells if each[0] == k])
        z = IMAGE.rows(mine, mine.labels == k, k) / 2.0**12
        phases = QUERY.radians @ z
        assert counts[k] == z.shape[1] == 30
        assert cosines[k] == pytest.approx(np.cos(phases).sum(axis=1), abs=30 * 3e-4)
        assert sines[k] == pytest.approx(np.sin(phases).sum(axis=1), abs=30 * 3e-4)
    assert QUERY.radians == pytest.approx(FREQUENCIES, abs=1e-4)


# Sensitivity


def norms(table: tuple[Any, Any]) -> Any:
    return table[0].astype(object) ** 2 + table[1].astype(object) ** 2


def test_no_pair_is_longer_than_one() -> None:
    squares = norms(wave_table())
    assert max(squares) <= 4**WAVE_BITS
    assert min(squares) >= 4**WAVE_BITS * (1 - 1e-4)


def test_every_machine_has_the_same_table() -> None:
    angles = (np.arange(1 << TURN_BITS) + 0.5) * (2.0 * math.pi / (1 << TURN_BITS))
    values = np.concatenate([np.cos(angles), np.sin(angles)]) * 2.0**WAVE_BITS * SHRINK
    assert abs(values - np.rint(values)).min() > 1e-8


def test_a_table_rounded_to_the_nearest_would_be_seen() -> None:
    angles = (np.arange(1 << TURN_BITS) + 0.5) * (2.0 * math.pi / (1 << TURN_BITS))
    nearest = tuple(np.rint(f(angles) * 2.0**WAVE_BITS).astype(np.int64) for f in (np.cos, np.sin))
    assert max(norms(nearest)) > 4**WAVE_BITS


def moved(query: Waves, before: list[Any], after: list[Any]) -> float:
    change = query.total(batch(after)) - query.total(batch(before))
    return float(np.linalg.norm(query.weights * change))


@settings(deadline=None, max_examples=80)
@given(rows, row, row, st.floats(0.01, 0.99))
def test_neighbours_stay_within_the_bounds(cells: list[Any], first: Any, second: Any, share: float) -> None:
    query = Waves.of(IMAGE, 2, FREQUENCIES, (share, 1.0 - share))
    flipped = (1 - first[0], *first[1:])
    assert moved(query, cells, [*cells, first]) <= query.sensitivity(Adjacency.ADD_REMOVE)
    assert moved(query, [*cells, first], [*cells, second]) <= query.sensitivity(Adjacency.REPLACE_ONE)
    assert moved(query, [*cells, first], [*cells, flipped]) <= query.sensitivity(Adjacency.LABEL)


HALF_A_TURN = score_image([[np.array([-1.0, 1.0])]] * 2)
OPPOSITE = Waves.of(HALF_A_TURN, 2, np.array([[math.pi / 2], [5 * math.pi / 2]]), (0.1, 0.9))


def line(label: int, code: int) -> Batch:
    return Batch(np.array([[code]], dtype=np.int16), np.array([label], dtype=np.int64))


def apart(query: Waves, first: Batch | None, second: Batch) -> float:
    change = query.total(second) - (0 if first is None else query.total(first))
    return float(np.linalg.norm(query.weights * change))


def test_the_bounds_are_reached() -> None:
    reached = {
        Adjacency.ADD_REMOVE: apart(OPPOSITE, None, line(0, 0)),
        Adjacency.LABEL: apart(OPPOSITE, line(0, 0), line(1, 0)),
        Adjacency.REPLACE_ONE: apart(OPPOSITE, line(0, 0), line(0, 1)),  # the opposite phase
    }
    for adjacency, distance in reached.items():
        assert distance == pytest.approx(OPPOSITE.sensitivity(adjacency), rel=1e-3)
        assert distance <= OPPOSITE.sensitivity(adjacency)


@dataclass(frozen=True)
class Forgetful(Waves):
    """A replacement taken for a change of two blocks."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        return super().sensitivity(Adjacency.LABEL)


def test_a_bound_that_forgets_opposite_phases_would_be_seen() -> None:
    query = Forgetful(HALF_A_TURN, 2, OPPOSITE.frequencies, OPPOSITE.shares)
    assert apart(query, line(0, 0), line(0, 1)) > query.sensitivity(Adjacency.REPLACE_ONE)


@pytest.mark.parametrize(
    ("frequencies", "shares", "message"),
    [
        (FREQUENCIES, (0.0, 1.0), "shares must be positive"),
        (FREQUENCIES, (0.6, 0.6), "shares must be positive and add up to one"),
        (np.ones((2, 2)), (0.5, 0.5), "one number for each latent coordinate"),
        (np.ones((0, 3)), (0.5, 0.5), "one number for each latent coordinate"),
        (np.full((1, 3), np.nan), (0.5, 0.5), "frequencies must be numbers"),
        (np.full((1, 3), 2.0**24), (0.5, 0.5), "too high for exact phases"),
    ],
)
def test_what_is_no_query(frequencies: Any, shares: tuple[float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Waves.of(IMAGE, 2, frequencies, shares)


def test_phases_stay_exact_at_the_limits() -> None:
    image = ScoreImage(tuple(tuple(np.array([LATENT_LIMIT, -LATENT_LIMIT, 0]) for _ in range(3)) for _ in range(1)))
    high = (1 << 53) // LATENT_LIMIT // 3
    query = Waves(image, 1, np.array([[high, -high, high]]), (0.5, 0.5))
    z = np.array([[LATENT_LIMIT], [-LATENT_LIMIT], [LATENT_LIMIT]], dtype=np.float64)
    exact = (3 * high * LATENT_LIMIT) % 2**PHASE_BITS >> (PHASE_BITS - TURN_BITS)
    assert query.places(z).tolist() == [[exact]]
