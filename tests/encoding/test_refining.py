"""Bins that follow the mass: what is cut, how looks are put together, and what is left in the end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sfumato.encoding import refining
from sfumato.encoding.cleaning import Cleaning
from sfumato.encoding.refining import Look, finer, looks_needed, settle, share_out, together
from sfumato.schema.grid import Grid, Marks, Steps
from sfumato.schema.layout import OrderedBins, bins_of
from sfumato.schema.schema import Number

CLEANING = Cleaning()


def bins(column: Number) -> OrderedBins:
    found = bins_of(column)
    assert isinstance(found, OrderedBins)
    return found


def look_into(values: np.ndarray, labels: np.ndarray, column: Number, sd: float, seed: int) -> list[Look]:
    """All the looks that a column needs, with noise."""
    rng, own = np.random.default_rng(seed), bins(column)
    cells, starts, classes = own.grid.code(values), own.starts, int(labels.max()) + 1
    looks: list[Look] = []
    for left in reversed(range(looks_needed(own.grid, own.starts))):
        places = np.searchsorted(starts, cells, "right") - 1
        exact = np.stack([np.bincount(places[labels == k], minlength=len(starts)) for k in range(classes)])
        looks.append(Look(starts, exact + rng.normal(0.0, sd, exact.shape), sd))
        cut = finer(looks, own.grid, left, CLEANING) if left else None
        if cut is None:
            break
        starts = cut
    return looks


def median(starts: np.ndarray, counts: np.ndarray, grid: Grid) -> float:
    edges = np.append(grid.lows(starts), grid.high)
    return float(np.interp(counts.sum() / 2.0, np.append(0.0, np.cumsum(counts)), edges))


def test_a_column_of_few_values_needs_one_look() -> None:
    assert looks_needed(Steps(0.0, 99.0, 1.0), bins(Number(min=0, max=99, step=1)).starts) == 1
    assert looks_needed(Steps(0.0, 5000.0, 1.0), bins(Number(min=0, max=5000, step=1)).starts) == 2
    assert looks_needed(Marks(0.0, 1e6), bins(Number(min=0, max=1e6)).starts) == 3


def test_looks_are_nested_and_come_down_to_single_values() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.3, 0.0, rng.gamma(2.0, 5_000.0, 20_000))
    column = Number(min=-400_000, max=2_000_000)
    looks = look_into(values, np.zeros(20_000, dtype=int), column, 20.0, 1)
    for before, after in pairwise(looks):
        assert np.isin(before.starts, after.starts).all()
    zero = int(bins(column).grid.code(np.zeros(1))[0])
    assert {zero, zero + 1} <= set(looks[-1].starts.tolist())


def test_a_spike_is_a_bin_of_its_own_and_keeps_its_rows() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random(20_000) < 0.3, 0.0, rng.gamma(2.0, 5_000.0, 20_000))
    column = Number(min=-400_000, max=2_000_000)
    looks = look_into(values, np.zeros(20_000, dtype=int), column, 20.0, 3)
    starts, counts = settle(looks, bins(column).grid, np.array([20_000.0]), 5.0, CLEANING)
    zero = int(bins(column).grid.code(np.zeros(1))[0])
    assert counts[0, starts == zero][0] == pytest.approx((values == 0).sum(), abs=200)
    assert abs(median(starts, counts[0], bins(column).grid) / np.median(values) - 1.0) < 0.05


def test_counts_are_not_negative_and_add_up() -> None:
    rng = np.random.default_rng(4)
    labels = (rng.random(5_000) < 0.2).astype(int)
    looks = look_into(rng.normal(448, 100, 5_000), labels, Number(min=-1e6, max=1e6), 15.0, 5)
    totals = np.bincount(labels).astype(float)
    starts, counts = settle(looks, Marks(-1e6, 1e6), totals, 3.0, CLEANING)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert (counts >= 0).all()
    assert counts.sum(axis=1) == pytest.approx(totals)


def test_a_tail_that_noise_hides_is_no_fat_one() -> None:
    """A few rows of noise far out would make the spread several times what it is."""
    rng = np.random.default_rng(6)
    values = rng.normal(75, 15, 20_000)
    grid = Marks(0.0, 1000.0)
    for seed in range(5):
        looks = look_into(values, np.zeros(20_000, dtype=int), Number(min=0, max=1000), 17.0, seed)
        starts, counts = settle(looks, grid, np.array([20_000.0]), 3.0, CLEANING)
        middle = (grid.lows(starts) + grid.highs(np.append(starts[1:], grid.size) - 1)) / 2.0
        shares = counts[0] / counts.sum()
        spread = np.sqrt(shares @ middle**2 - (shares @ middle) ** 2)
        assert spread == pytest.approx(15.0, rel=0.05)


def beyond(bar: float, starts: np.ndarray, counts: np.ndarray, grid: Grid) -> float:
    """The share of rows above a value."""
    edges = np.append(grid.lows(starts), grid.high)
    return 1.0 - float(np.interp(bar, edges, np.append(0.0, np.cumsum(counts)))) / float(counts.sum())


def far_shares() -> np.ndarray:
    """The shares above 15,000, where one row of a thousand is, of a slope that fades into noise far below the bound."""
    rng = np.random.default_rng(12)
    values = np.exp(rng.normal(8.15, 0.5, 6_000)).round()
    labels = (rng.random(6_000) < 0.12).astype(int)
    column, totals = Number(min=0, max=30_000, step=1), np.bincount(labels).astype(float)
    found = []
    for seed in range(12):
        looks = look_into(values, labels, column, 13.0, seed)
        starts, counts = settle(looks, bins(column).grid, totals, 30.0, CLEANING)
        found.append(beyond(15_000, starts, counts.sum(axis=0), bins(column).grid))
    return np.array(found)


def test_a_slope_that_fades_into_noise_is_not_spread_to_the_bound() -> None:
    assert far_shares().max() < 0.02


def test_spread_evenly_the_slope_would_reach_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test before would not pass: every run of bins as one."""
    monkeypatch.setattr(refining, "lay_out", lambda _level, run, counts, i, _bar: (run.starts[[i]], counts[:, [i]]))
    assert far_shares().max() > 0.03


def test_a_plateau_beside_a_peak_stays_one() -> None:
    """Each of its bins is hidden by noise, all of them together are not: they are spread as they are."""
    rng = np.random.default_rng(13)
    values = np.append(rng.normal(2_000, 300, 8_000), rng.uniform(4_000, 30_000, 2_000)).clip(0).round()
    column = Number(min=0, max=30_000, step=1)
    for seed in range(5):
        looks = look_into(values, np.zeros(10_000, dtype=int), column, 13.0, seed)
        starts, counts = settle(looks, bins(column).grid, np.array([10_000.0]), 30.0, CLEANING)
        for bar in (10_000, 17_000, 24_000):
            assert beyond(bar, starts, counts[0], bins(column).grid) == pytest.approx((values > bar).mean(), abs=0.03)


def test_an_even_column_stays_even() -> None:
    rng = np.random.default_rng(14)
    column = Number(min=0, max=30_000, step=1)
    looks = look_into(rng.integers(0, 30_001, 5_000), np.zeros(5_000, dtype=int), column, 13.0, 15)
    starts, counts = settle(looks, bins(column).grid, np.array([5_000.0]), 30.0, CLEANING)
    for bar in (7_500, 15_000, 22_500):
        assert beyond(bar, starts, counts[0], bins(column).grid) == pytest.approx(1.0 - bar / 30_000, abs=0.04)


def test_without_noise_all_looks_say_the_same() -> None:
    rng = np.random.default_rng(7)
    values = rng.gamma(2.0, 50.0, 3_000)
    looks = look_into(values, np.zeros(3_000, dtype=int), Number(min=0, max=5000, step=1), 1e-6, 8)
    for look, (counts, _, _) in zip(looks, together(looks), strict=True):
        np.testing.assert_allclose(counts, look.counts, atol=1e-4)


def test_looks_together_are_better_than_each() -> None:
    """Least squares: a bin's count has less noise than its own look, and its parts add up to it."""
    rng, sd = np.random.default_rng(9), 10.0
    first, second = np.array([0, 8]), np.arange(16)
    errors = []
    for _ in range(400):
        exact = np.full(16, 50.0)
        coarse = Look(first, np.add.reduceat(exact, first)[None] + rng.normal(0, sd, (1, 2)), sd)
        fine = Look(second, exact[None] + rng.normal(0, sd, (1, 16)), sd)
        (bins_counts, _, _), (parts, _, given) = together([coarse, fine])
        np.testing.assert_allclose(np.add.reduceat(parts, first, axis=1), bins_counts)
        errors.append(parts[0] - exact)
    measured = np.var(errors)
    assert measured < 0.95 * sd**2
    assert measured == pytest.approx(given.mean(), rel=0.1)


def test_share_out_is_the_nearest_point() -> None:
    """The conditions of Karush, Kuhn and Tucker: what is left has one price, and nothing pays to come back."""
    rng = np.random.default_rng(10)
    counts, variances = rng.normal(0, 20, (2, 12)), rng.uniform(1, 400, (2, 12))
    parents = np.repeat([0, 3], 6)
    held = np.array([[30.0, 0, 0, 50.0], [10.0, 0, 0, 80.0]])
    found = share_out(counts, variances, parents, held)
    assert (found >= 0).all()
    for k in range(2):
        for parent in (0, 3):
            mine = parents == parent
            assert found[k, mine].sum() == pytest.approx(held[k, parent])
            price = (counts - found)[k, mine] / variances[k, mine]
            kept = found[k, mine] > 1e-9
            assert np.ptp(price[kept]) < 1e-6 * (1.0 + np.abs(price[kept]).max())
            assert (price[~kept] <= price[kept].max() + 1e-6).all()


def test_bins_that_hold_little_are_not_looked_into() -> None:
    """A smooth column is known well enough by its first bins, however far above the noise they are."""
    own = bins(Number(min=0, max=1000))
    assert finer([Look(own.starts, np.full((1, len(own.starts)), 1e6), 1.0)], own.grid, 2, CLEANING) is None


def test_noise_alone_is_not_looked_into() -> None:
    rng = np.random.default_rng(11)
    own = bins(Number(min=0, max=1e6))
    cut = 0
    for _ in range(50):
        look = Look(own.starts, rng.normal(0, 10.0, (1, len(own.starts))), 10.0)
        found = finer([look], own.grid, 2, CLEANING)
        cut += 0 if found is None else int((np.diff(np.searchsorted(found, own.starts)) > 1).sum())
    assert cut < 0.003 * 50 * len(own.starts)


def test_no_more_parts_than_may_be_and_those_of_the_fullest_bins() -> None:
    own = bins(Number(min=0, max=1000))
    counts = np.zeros((2, len(own.starts)))
    counts[:, 90:120] = 1e4
    counts[:, 100] = 2e4
    look = Look(own.starts, counts, 1.0)
    every = finer([look], own.grid, 2, CLEANING)
    few = finer([look], own.grid, 2, CLEANING, most=200)
    assert every is not None
    assert few is not None
    assert len(every) > 200 + len(own.starts) >= len(few)
    new = np.setdiff1d(few, own.starts)
    assert ((new > own.starts[100]) & (new < own.starts[101])).sum() > len(new) / 3
    assert finer([look], own.grid, 2, CLEANING, most=1) is None
