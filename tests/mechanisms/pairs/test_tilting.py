"""The dual, against the problem that it is the dual of, and steps towards it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

import sfumato as sf
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.mechanisms.pairs.tilting import Pool, PoolSize, Told, Total, doubt_for, fitted, reach, solve
from sfumato.models.chains import Chains
from sfumato.models.mixture_model import MixtureModel
from sfumato.schema.layout import FloatArray

STATES = np.array(list(itertools.product(range(2), range(3), range(2))))


def all_cells() -> FloatArray:
    """(states, cells) of the tables of the first column, of the first two, and of the last two."""
    places = [STATES[:, 0], STATES[:, 0] * 3 + STATES[:, 1], STATES[:, 1] * 2 + STATES[:, 2]]
    return np.concatenate([np.eye(p.max() + 1)[p] for p in places], axis=1)


def primal(cells: FloatArray, y: FloatArray, sd: FloatArray, total: Total) -> tuple[FloatArray, float]:
    """min over p and N of N KL(p || uniform) + squares, by brute force."""

    def cost(free: FloatArray) -> float:
        p = np.exp(free[1:] - free[1:].max())
        p, n = p / p.sum(), total.rows * np.exp(free[0])
        kl = float((p * np.log(p * len(p))).sum())
        return n * kl + (((n * p @ cells - y) / sd) ** 2).sum() / 2 + ((n - total.rows) / total.sd) ** 2 / 2

    found = minimize(cost, np.zeros(1 + len(cells)), method="BFGS", options={"gtol": 1e-7})
    p = np.exp(found.x[1:] - found.x[1:].max())
    return p / p.sum(), total.rows * float(np.exp(found.x[0]))


@pytest.mark.parametrize("noise", [2.0, 30.0])
@pytest.mark.parametrize("spread", [5.0, 60.0])
def test_the_dual_solves_the_primal(noise: float, spread: float) -> None:
    rng, cells, total = np.random.default_rng(3), all_cells(), Total(1000.0, spread)
    y = 1000.0 * rng.dirichlet(np.full(len(STATES), 2.0)) @ cells + rng.normal(0.0, noise, cells.shape[1])
    sd = np.full(cells.shape[1], noise)
    theta = solve(csr_array(cells), np.zeros(len(y)), y, sd, total, 1000)
    weighed = np.exp(cells @ theta)
    p, log_mean = weighed / weighed.sum(), np.log(weighed.mean())
    n = total.rows + total.sd**2 * log_mean
    slope = n * (p @ cells) - y + sd**2 * theta
    assert np.abs(slope).max() < 0.02  # of a row
    wanted, rows = primal(cells, y, sd, total)
    np.testing.assert_allclose(p, wanted, atol=2e-4)
    assert n == pytest.approx(rows, rel=1e-3)


def test_a_start_on_the_way_leads_to_the_same_place() -> None:
    """Rows that follow some weights already stand for the mixture: uniform states, drawn by those weights."""
    cells, total = all_cells(), Total(1000.0, 1.0)
    y = 1000.0 * np.random.default_rng(4).dirichlet(np.full(len(STATES), 2.0)) @ cells
    sd = np.full(len(y), 5.0)
    whole = solve(csr_array(cells), np.zeros(len(y)), y, sd, total, 1000)
    now = whole / 2.0
    copies = np.rint(1e5 * np.exp(cells @ now) / np.exp(cells @ now).sum()).astype(int)
    half = solve(csr_array(np.repeat(cells, copies, axis=0)), now, y, sd, total, 1000)
    np.testing.assert_allclose(half, whole, atol=0.01)


def test_cells_that_no_row_is_in_keep_their_weight() -> None:
    cells = all_cells()[STATES[:, 0] == 0]
    now = np.linspace(-1.0, 1.0, cells.shape[1])
    found = solve(csr_array(cells), now, np.full(len(now), 50.0), np.full(len(now), 5.0), Total(100.0, 5.0), 100)
    empty = cells.sum(axis=0) == 0
    assert np.array_equal(found[empty], now[empty])
    assert (np.abs(found - now)[~empty] > 1e-3).any()


def test_a_step_goes_as_far_as_rows_reach() -> None:
    even = np.zeros(1000)
    assert reach(even, 0.5) == (1.0, 1.0)
    gain = np.random.default_rng(0).normal(0.0, 3.0, 1000)
    step, share = reach(gain, 0.5)
    assert 0.0 < step < 1.0
    assert share < 0.5
    weighed = np.exp(step * gain)
    assert weighed.sum() ** 2 / (weighed**2).sum() / 1000 == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("rows", [0.0, 1.0, 50.0, 5e4, 1e9])
@pytest.mark.parametrize("columns", [2, 40, 4000])
def test_pools_stay_within_limits(rows: float, columns: int) -> None:
    tuning = PairTuning()
    size = PoolSize.of(rows, 500.0, columns, tuning)
    assert 1000 <= size.rows <= tuning.pools[1]
    assert tuning.doubts[0] <= size.doubt <= tuning.doubts[2]


def test_a_tilt_that_rows_do_not_follow_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a solution is, fresh rows of its tilt must be nearer to what was told than the mixture's are."""
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (500, 3)), columns=["a", "b", "c"])
    schema = {"columns": {name: {"type": "number", "min": 0, "max": 3, "step": 1} for name in table}}
    base = sf.fit(table, schema, epsilon=5, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=1).model
    assert isinstance(base, MixtureModel)
    pool = Pool(Chains(base), (np.arange(4),) * 3, PoolSize(2000, 0.1), PairTuning(settlings=2))
    tables = [(0,), (0, 1), (1, 2)]
    counts = [500.0 * shares for shares in pool.expected(tables)]
    told = [Told(t, y, np.ones(y.size), np.ones(y.size)) for t, y in zip(tables, counts, strict=True)]
    pool.tilt = pool.tilt.with_tables(tables)
    rng = np.random.default_rng(1)

    def astray(pool: Pool, *_: object) -> tuple[float, bool]:
        pool.tilt = pool.tilt.reweighted(rng.normal(0.0, 3.0, pool.tilt.cells))
        return 0.1, False

    monkeypatch.setattr(Pool, "_step", astray)
    pool.settle(told, Total(500.0, 1.0))
    assert not pool.tilt.weights.any()


@pytest.mark.parametrize("most", [1.0, 40.0, 400.0])
def test_no_more_weights_are_fitted_than_rows_can_tell(most: float) -> None:
    rng = np.random.default_rng(0)
    expected = rng.exponential(20.0, 500) * (rng.random(500) < 0.9)
    variance, counted = rng.exponential(30.0, 500), expected / 3.0
    free = fitted(expected, variance)
    doubt = doubt_for(expected, variance, counted, most)
    left = fitted(expected, variance + doubt * counted)
    assert left == pytest.approx(min(free, most), rel=1e-2)
    assert (doubt > 0.0) == (free > most)


def test_many_tables_over_few_rows_do_not_carry_rows_away() -> None:
    """Tables of noise alone, more cells than rows: what is fitted to a pool must hold for other rows of the tilt."""
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 8, (500, 8)), columns=[f"x{j}" for j in range(8)])
    schema = {"columns": {name: {"type": "number", "min": 0, "max": 7, "step": 1} for name in table}}
    base = sf.fit(table, schema, epsilon=5, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=1).model
    assert isinstance(base, MixtureModel)
    tables = list(itertools.combinations(range(8), 2))

    def missed(weights_a_row: float) -> float:
        rng = np.random.default_rng(1)
        pool = Pool(Chains(base), (np.arange(8),) * 8, PoolSize(1000, 0.03), PairTuning())
        counts = [1e5 * shares for shares in pool.expected(tables)]
        told = [
            Told(t, y + rng.normal(0.0, 30.0, 64), np.full(64, 30.0), np.ones(64))
            for t, y in zip(tables, counts, strict=True)
        ]
        pool.tilt = pool.tilt.with_tables(tables)
        pool._refresh()
        pool.go_to(pool.tilt)
        pool._step(told, Total(1e5, 1.0), weights_a_row)
        before = pool.log_total
        pool.go_to(pool.tilt)
        return pool.log_total - before

    assert abs(missed(0.06)) < 0.15
    assert missed(10.0) > 0.5
