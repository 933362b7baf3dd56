from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from sfumato.encoding.nearest_rows import SOLVED_AT_ONCE, nearest_rows
from sfumato.schema.projections import ENTRY_BITS, Projection
from sfumato.schema.schema import Group

SIDE, KEEP = 8, 4


@pytest.fixture(scope="module")
def waves() -> tuple[np.ndarray, np.ndarray]:
    """The lowest frequencies of small images, and the way back."""
    group = Group(columns="p*", min=0, max=1, shape=(SIDE, SIDE), projection="dct2", keep=KEEP)
    projection = Projection.of([group])
    assert projection.images == ((0, SIDE * SIDE),)
    return (projection.matrix * 2.0**-ENTRY_BITS).astype(np.float32), projection.back.astype(np.float32)


def drawings(n: int) -> np.ndarray:
    """Dark bars of several widths on light paper."""
    rng = np.random.default_rng(3)
    at, left, width = np.arange(SIDE), rng.integers(0, SIDE - 2, n), rng.integers(1, 4, n)
    bars = (at >= left[:, None]) & (at < (left + width)[:, None])
    return np.repeat(bars[:, None, :], SIDE, axis=1).reshape(n, -1).astype(np.float32)


def test_it_solves_what_it_says(waves: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, back = waves
    real, middle = 0.05 + 0.9 * drawings(5), np.full(SIDE * SIDE, 0.3, np.float32)  # of black on white u has no end
    wanted = (real - 0.5) @ matrix.T
    found = nearest_rows(wanted, matrix, back, middle)
    free = middle + (wanted - (middle - 0.5) @ matrix.T) @ back.T
    assert free.min() < -0.1  # bounds do bind
    for row, coordinates in zip(found, wanted, strict=True):
        x = cp.Variable(SIDE * SIDE)
        conditions = [matrix @ (x - 0.5) == coordinates, x >= 0, x <= 1]
        cp.Problem(cp.Minimize(cp.sum_squares(x - middle)), conditions).solve()
        assert np.abs(row - x.value).max() < 0.05


def test_rows_have_their_coordinates_within_the_bounds(waves: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, back = waves
    real = drawings(SOLVED_AT_ONCE + 100)
    wanted = (real - 0.5) @ matrix.T
    found = nearest_rows(wanted, matrix, back, real.mean(axis=0))
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    off = np.linalg.norm((found - 0.5) @ matrix.T - wanted, axis=1)
    assert np.sqrt((off**2).mean()) < 0.03 * np.linalg.norm(wanted.std(axis=0))
    # Without bounds the same coordinates make a blur: ink that is not black, paper that is not blank.
    blurred = np.clip(real.mean(axis=0) + (wanted - (real.mean(axis=0) - 0.5) @ matrix.T) @ back.T, 0, 1)
    assert np.abs(found - real).mean() < 0.8 * np.abs(blurred - real).mean()


def test_a_row_does_not_depend_on_others(waves: tuple[np.ndarray, np.ndarray]) -> None:
    matrix, back = waves
    real = drawings(50)
    wanted, middle = (real - 0.5) @ matrix.T, real.mean(axis=0)
    alone = np.concatenate([nearest_rows(each[None], matrix, back, middle) for each in wanted])
    assert np.allclose(alone, nearest_rows(wanted, matrix, back, middle), atol=1e-4)
    assert nearest_rows(wanted[:0], matrix, back, middle).shape == (0, SIDE * SIDE)
