"""Intervals for sums and quotients, of cells that may be cut and hold more than one value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.asking.evidence import Axis, Cells, Round, Table
from sfumato.asking.ratios import Piece, highest, is_clear, ratio, total
from sfumato.schema.layout import bins_of
from sfumato.schema.schema import Category

Z = 1.959964


def cells(counts: list[float], sd: float = 1.0) -> Cells:
    """One column of categories, all of which can be read, with these noisy counts."""
    bins = bins_of(Category(values=tuple(map(str, range(len(counts))))))
    axis = Axis("a", bins, np.arange(len(counts)), None)
    return Round("histograms", "histograms", {"a": axis}, (Table(("a",), np.array(counts), sd),)).cells(("a",))


def piece(
    counts: list[float], low: list[float], high: list[float] | None = None, cut: tuple[int, ...] = (), sd: float = 1.0
) -> Piece:
    sure = np.array([i not in cut for i in range(len(counts))])
    ends = np.array(low), np.array(low if high is None else high)
    return Piece(cells(counts, sd), sure, np.ones(len(counts), dtype=bool), *ends)


def test_a_sum_is_its_estimate_and_z_standard_errors() -> None:
    found = total(piece([10.0, 20.0, 30.0], [1.0, 0.0, 2.0], sd=2.0), Z)
    assert found.estimate == pytest.approx(70.0)
    assert found.se == pytest.approx(2.0 * math.sqrt(5.0))
    assert found.interval == pytest.approx((70.0 - Z * found.se, 70.0 + Z * found.se))


def test_what_is_cut_counts_from_none_to_all() -> None:
    found = total(piece([10.0, 20.0], [1.0, 1.0], cut=(1,), sd=2.0), Z)
    assert found.estimate == pytest.approx(20.0)
    assert found.interval == pytest.approx((10.0 - Z * 2.0, 30.0 + Z * 2.0 * math.sqrt(2.0)))


def test_a_ratio_has_fieller_s_interval() -> None:
    """Its closed form, with both variances and the covariance."""
    one = piece([100.0, 300.0, 50.0], [1.0, 0.0, 2.0], sd=7.0)
    found = ratio(one, Z)
    top, bottom = np.array([1.0, 0.0, 2.0]), np.ones(3)
    a, b = 200.0, 450.0
    vaa, vab, vbb = 49.0 * (top @ top), 49.0 * (top @ bottom), 49.0 * (bottom @ bottom)
    lead = b**2 - Z**2 * vbb
    middle = (a * b - Z**2 * vab) / lead
    reach = math.sqrt(middle**2 - (a**2 - Z**2 * vaa) / lead)
    assert found.estimate == pytest.approx(a / b)
    assert found.interval == pytest.approx((middle - reach, middle + reach), rel=1e-6)
    assert found.se == pytest.approx(math.sqrt(vaa - 2 * a / b * vab + (a / b) ** 2 * vbb) / b)


def test_bins_have_room_for_their_widths() -> None:
    exact = piece([1000.0, 500.0], [0.0, 10.0], [4.0, 10.0], sd=1e-9)
    low, high = ratio(exact, Z).interval or (0.0, 0.0)
    assert low == pytest.approx(5000.0 / 1500.0, rel=1e-6)
    assert high == pytest.approx(9000.0 / 1500.0, rel=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_cut_cells_may_hold_what_makes_a_mean_largest_or_smallest(share: float) -> None:
    """Without noise the ends are the extreme means over all numbers of rows that a cut cell may count."""
    counts, values, cut = [100.0, 80.0, 60.0, 40.0], [5.0, 1.0, 9.0, 30.0], (1, 3)
    low, high = ratio(piece(counts, values, cut=cut, sd=1e-9), Z).interval or (0.0, 0.0)
    means = []
    for first in np.linspace(0.0, 80.0, 41):
        for last in np.linspace(0.0, 40.0, 41):
            weights = np.array([100.0, first, 60.0, last])
            means.append(weights @ values / weights.sum())
    assert low == pytest.approx(min(means), rel=1e-6)
    assert high == pytest.approx(max(means), rel=1e-6)
    inside = np.array([100.0, 80.0 * share, 60.0, 40.0 * share])
    assert low - 1e-9 <= inside @ values / inside.sum() <= high + 1e-9


def test_too_few_rows_for_a_bounded_interval() -> None:
    few = piece([3.0, 2.0], [0.0, 1.0], sd=2.0)
    assert not is_clear(few, Z)
    assert ratio(few, Z).interval is None
    assert math.isnan(ratio(piece([-3.0, 2.0], [0.0, 1.0]), Z).estimate)
    all_cut = piece([500.0, 500.0], [0.0, 1.0], cut=(0, 1))
    assert ratio(all_cut, Z).interval is None  # there may be no row at all


def test_sampling_widens_the_interval() -> None:
    """A share of independent rows, without noise: Wilson's interval."""
    one = piece([300.0, 700.0], [1.0, 0.0], sd=1e-6)
    found = ratio(one, Z, sampled=True)
    n, p = 1000.0, 0.3
    middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    reach = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    assert found.interval == pytest.approx((middle - reach, middle + reach), rel=1e-4)
    assert found.se == pytest.approx(math.sqrt(p * (1 - p) / n), rel=1e-4)


def test_the_highest_sum() -> None:
    assert highest(piece([10.0, 20.0], [1.0, -1.0], cut=(1,), sd=3.0), 1.0) == pytest.approx(10.0 + 3.0)
    assert highest(piece([10.0, 20.0], [1.0, 1.0], cut=(1,), sd=3.0), 1.0) == pytest.approx(30.0 + math.sqrt(18.0))


def covered(wrong: float, runs: int = 400) -> float:
    """How often a mean's interval holds it, where the noise is told `wrong` times what it is."""
    rng = np.random.default_rng(3)
    counts, values = np.array([200.0, 500.0, 300.0]), [3.0, 7.0, 20.0]
    truth = counts @ values / counts.sum()
    held = 0
    for _ in range(runs):
        noisy = (counts + rng.normal(0.0, 60.0, 3)).tolist()
        found = ratio(piece(noisy, values, sd=60.0 * wrong), Z)
        held += found.interval is not None and found.interval[0] <= truth <= found.interval[1]
    return held / runs


def test_a_noisy_ratio_is_covered() -> None:
    assert abs(covered(1.0) - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 400)


def test_noise_told_too_small_would_be_seen() -> None:
    assert covered(0.7) < 0.95 - 5 * math.sqrt(0.95 * 0.05 / 400)
