"""Noisy histograms become valid, smooth probabilities, and what noise cannot explain stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.encoding.marginals import (
    Counted,
    Marginals,
    class_counts,
    clean,
    onto_simplex,
    pool_alike,
    readable,
    smooth,
)
from sfumato.schema.layout import FloatArray, bins_of
from sfumato.schema.schema import Category, Number

CELLS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).map(np.array)
TOTALS = st.floats(1e-3, 1e6)


def noise(*shape: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape)


def counted(cells: FloatArray, sd: float, nowhere: float = 0.0) -> Counted:
    """A look whose noise put so many rows of each class into no bin."""
    return Counted.of(np.hstack([np.full((len(cells), 1), nowhere), cells]), sd)


# --- the simplex


@given(CELLS, TOTALS)
def test_projection_is_on_the_simplex(cells: FloatArray, total: float) -> None:
    found = onto_simplex(cells, total)
    assert found.shape == cells.shape
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-8 * np.abs(cells).max())


@given(CELLS, TOTALS)
def test_projection_meets_the_optimality_conditions(cells: FloatArray, total: float) -> None:
    """Nearest: every kept cell moved by the same shift, and no dropped cell would be kept by it."""
    found = onto_simplex(cells, total)
    shifts = (cells - found)[found > 0]
    slack = 1e-8 * max(np.abs(cells).max(), total)
    assert np.ptp(shifts) <= slack
    assert (cells[found == 0] <= shifts.max() + slack).all()


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array))
def test_projection_is_the_nearest_by_brute_force(cells: FloatArray) -> None:
    steps = np.linspace(0.0, 2.0, 41)
    a, b = np.meshgrid(steps, steps)
    grid = np.stack([a, b, 2.0 - a - b], axis=-1).reshape(-1, 3)
    grid = grid[grid[:, 2] >= 0]
    best = ((grid - cells) ** 2).sum(axis=1).min()
    assert ((onto_simplex(cells, 2.0) - cells) ** 2).sum() <= best + 1e-9


@given(CELLS)
def test_projection_leaves_a_point_of_the_simplex_alone(cells: FloatArray) -> None:
    inside = np.abs(cells) + 1.0
    np.testing.assert_allclose(onto_simplex(inside, inside.sum()), inside, rtol=1e-9)


# --- smoothing


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 17, 100, 256])
def test_smoothing_leaves_a_constant_alone(size: int) -> None:
    flat = np.full((3, size), 7.5)
    np.testing.assert_allclose(smooth(flat, np.full(3, 2.0)), flat, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 17, 100, 256])
def test_smoothing_without_noise_changes_nothing(size: int) -> None:
    cells = 10.0 * noise(2, size)
    np.testing.assert_allclose(smooth(cells, np.zeros(2)), cells, atol=1e-9)


def test_one_cell_is_never_touched() -> None:
    np.testing.assert_array_equal(smooth(np.array([[42.0]]), np.array([1e9])), [[42.0]])


def test_two_cells_within_noise_move_together() -> None:
    near, far = smooth(np.array([[10.0, 12.0], [10.0, 90.0]]), np.array([5.0, 5.0]))
    assert abs(near[1] - near[0]) < 2.0
    assert far[1] - far[0] > 70.0


@pytest.mark.parametrize("size", [64, 100, 255, 256])
def test_smoothing_removes_noise_from_a_flat_histogram(size: int) -> None:
    raw = 50.0 + 3.0 * noise(200, size)
    error = ((smooth(raw, np.full(200, 3.0)) - 50.0) ** 2).mean()
    assert error < 0.35 * ((raw - 50.0) ** 2).mean()


def test_smoothing_follows_a_slope_better_than_the_raw_counts() -> None:
    truth = np.exp(-0.5 * np.linspace(-3, 3, 128) ** 2) * 40.0
    raw = truth + 4.0 * noise(200, 128, seed=1)
    error = ((smooth(raw, np.full(200, 4.0)) - truth) ** 2).mean()
    assert error < 0.5 * 16.0


@pytest.mark.parametrize("place", [0, 1, 63, 126, 127])
def test_smoothing_keeps_a_spike_wherever_it_stands(place: int) -> None:
    truth = np.full((50, 128), 20.0)
    truth[:, place] = 500.0
    smoothed = smooth(truth + 3.0 * noise(50, 128, seed=2), np.full(50, 3.0))
    assert np.abs(smoothed[:, place] - 500.0).max() < 6.0 * 3.0
    assert (np.delete(smoothed, place, axis=1) < 60.0).all()


@pytest.mark.parametrize("size", [2, 5, 64, 100])
def test_smoothing_keeps_the_total_about(size: int) -> None:
    raw = 30.0 + 3.0 * noise(100, size, seed=3)
    drift = smooth(raw, np.full(100, 3.0)).sum(axis=1) - raw.sum(axis=1)
    assert np.abs(drift).max() < 6.0 * 3.0 * np.sqrt(size)


def test_each_row_is_smoothed_by_its_own_noise() -> None:
    raw = np.tile(20.0 + 3.0 * noise(64, seed=4), (2, 1))
    quiet, loud = smooth(raw, np.array([1e-9, 3.0]))
    np.testing.assert_allclose(quiet, raw[0], atol=1e-6)
    assert quiet.std() > 2.0 * loud.std()


# --- class counts


def test_class_counts_weigh_columns_by_their_precision() -> None:
    sharp = np.array([[60.0, 40.0], [20.0, 30.0]])
    blurred = np.array([[300.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 150.0]])
    even, sd = class_counts([counted(sharp, 1.0), counted(blurred, 1.0)])
    # Variances 3 and 5, of the bins and of what is in none: weights 5/8 and 3/8.
    np.testing.assert_allclose(even, [175.0, 87.5])
    assert sd == pytest.approx((15.0 / 8.0) ** 0.5)
    np.testing.assert_allclose(class_counts([counted(sharp, 1.0), counted(blurred, 1e6)])[0], [100.0, 50.0], rtol=1e-9)


def test_rows_in_no_bin_are_rows() -> None:
    counts, _ = class_counts([counted(np.array([[60.0, 40.0]]), 1.0, nowhere=25.0), counted(np.array([[125.0]]), 1.0)])
    np.testing.assert_allclose(counts, [125.0])


def test_class_counts_have_the_least_variance_among_weighted_means() -> None:
    sizes, sds = (4, 50), np.array([10.0, 1.0])
    histograms = [sd * noise(4000, 1 + size, seed=i) for i, (size, sd) in enumerate(zip(sizes, sds, strict=True))]
    shifted = [Counted.of(c + 1e6 / c.shape[1], sd) for c, sd in zip(histograms, sds, strict=True)]
    counts, told = class_counts(shifted)
    spread = np.var(counts)
    expected = 1.0 / sum(1.0 / (sd**2 * (1 + size)) for size, sd in zip(sizes, sds, strict=True))
    assert spread == pytest.approx(expected, rel=0.15)
    assert told**2 == pytest.approx(expected)
    plain = np.var(np.mean([cells.sum(axis=1) for cells in histograms], axis=0))
    assert spread < 0.6 * plain


def test_a_drowned_class_counts_as_one_row() -> None:
    assert class_counts([counted(np.array([[-50.0, -10.0], [5.0, 5.0]]), 1.0)])[0].tolist() == [1.0, 10.0]


# --- cells that fit no bin


def test_what_noise_may_have_made_is_not_believed() -> None:
    """Four standard deviations of the sum over classes: below them all rows are readable."""
    counts = np.array([1000.0, 500.0])
    bar = 4.0 * 5.0 * 2.0**0.5
    for nowhere, believed in ((0.0, False), (-30.0, False), (0.49 * bar, False), (0.51 * bar, True)):
        found = readable(counted(np.zeros((2, 3)), 5.0, nowhere), counts, has_missing=False)
        assert found.tolist() == (counts - nowhere if believed else counts).tolist()


def test_a_column_with_a_missing_bin_has_none_that_cannot_be_read() -> None:
    counts = np.array([1000.0, 500.0])
    assert readable(counted(np.zeros((2, 3)), 5.0, 400.0), counts, has_missing=True).tolist() == counts.tolist()


def test_a_class_of_which_nothing_can_be_read_keeps_a_row() -> None:
    found = readable(counted(np.zeros((2, 3)), 5.0, 700.0), np.array([1000.0, 500.0]), has_missing=False)
    assert found.tolist() == [300.0, 1.0]


def test_what_cannot_be_read_does_not_move_what_can() -> None:
    """A third of the colours is none: the others keep their proportions, and nobody else's column moves."""
    colours = counted(np.array([[500.0, 300.0, 200.0]]), 1.0, nowhere=500.0)
    ages = counted(np.full((1, 101), 1500.0 / 101), 1.0)
    found = clean([ages, colours], (AGE, COLOUR))
    assert found.counts == pytest.approx([1500.0])
    np.testing.assert_allclose(found.masses[1][0], [0.5, 0.3, 0.2], atol=1e-3)
    np.testing.assert_allclose(found.readable, [1.0, 2.0 / 3.0])
    alone = clean([ages], (AGE,))
    np.testing.assert_allclose(found.masses[0], alone.masses[0], rtol=1e-9)


# --- pooling


def test_a_class_like_the_others_takes_the_pool() -> None:
    shape = np.array([400.0, 300.0, 200.0, 100.0])
    counts = np.array([1000.0, 100.0])
    noisy = np.stack([shape, shape / 10.0]) + noise(2, 4)
    cells, sds = pool_alike(noisy, counts, 1.0)
    pool = noisy.sum(axis=0)
    np.testing.assert_allclose(cells, np.outer(counts / 1100.0, pool))
    np.testing.assert_allclose(sds, np.sqrt(2.0) * counts / 1100.0)


def test_a_class_that_differs_keeps_its_own() -> None:
    noisy = np.array([[400.0, 300.0, 200.0, 100.0], [0.0, 0.0, 0.0, 100.0]])
    cells, sds = pool_alike(noisy, np.array([1000.0, 100.0]), 1.0)
    np.testing.assert_array_equal(cells, noisy)
    np.testing.assert_array_equal(sds, [1.0, 1.0])


def test_pooling_is_decided_class_by_class() -> None:
    shape = np.array([400.0, 300.0, 200.0, 100.0])
    other = np.array([0.0, 0.0, 0.0, 40.0])
    noisy = np.stack([shape, shape, other])
    cells, _ = pool_alike(noisy, np.array([1000.0, 1000.0, 40.0]), 10.0)
    np.testing.assert_array_equal(cells[2], other)
    assert not np.array_equal(cells[0], noisy[0])


def test_equal_classes_seldom_go_their_own_way() -> None:
    """The bar is two standard deviations of a chi-square: about one class in forty crosses it by chance."""
    truth, counts = np.full((2, 64), 50.0), np.array([3200.0, 3200.0])
    own = sum(bool((pool_alike(truth + 5.0 * noise(2, 64, seed=s), counts, 5.0)[1] == 5.0).any()) for s in range(400))
    assert own < 48  # 400 trials at about 3.5 % (both classes cross together)


def test_a_single_class_is_its_own_pool() -> None:
    noisy = 10.0 + noise(1, 8)
    cells, sds = pool_alike(noisy, np.array([80.0]), 1.0)
    np.testing.assert_allclose(cells, noisy)
    assert sds.tolist() == [1.0]


# --- all together

AGE = bins_of(Number(min=0, max=99, step=1, missing=True))
COLOUR = bins_of(Category(values=("red", "green", "blue")))


def check(marginals: Marginals, classes: int) -> None:
    assert (marginals.counts >= 1.0).all()
    assert marginals.weights.sum() == pytest.approx(1.0)
    for masses, bins in zip(marginals.masses, (AGE, COLOUR), strict=True):
        assert masses.shape == (classes, bins.size)
        assert (masses > 0).all()
        np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 25.0, 5000.0])
def test_smoothing_does_not_touch_the_missing_bin(missing: float) -> None:
    """Neither taken for a neighbour of the top age (25 rows beside 10, within noise) nor spilled over it."""
    cells = np.full((1, 101), 10.0)
    cells[0, AGE.missing] = missing
    total = 1000.0 + missing
    colours = np.array([[total / 2, total / 4, total / 4]])
    masses = clean([counted(cells, 8.0), counted(colours, 8.0)], (AGE, COLOUR)).masses[0][0]
    pseudo = 8.0 / 101
    assert masses[AGE.missing] == pytest.approx((missing + pseudo) / (total + 8.0), rel=1e-6)
    np.testing.assert_allclose(masses[:100], (10.0 + pseudo) / (total + 8.0), rtol=1e-6)


def test_unordered_bins_are_not_smoothed() -> None:
    colours = np.array([[1000.0, 1003.0, 997.0]])
    ages = np.full((1, 101), 3000.0 / 101)
    masses = clean([counted(ages, 3.0), counted(colours, 3.0)], (AGE, COLOUR)).masses[1]
    np.testing.assert_allclose(masses[0] * 3000.0, colours[0], rtol=2e-3)
    assert masses[0, 1] > masses[0, 0] > masses[0, 2]


@pytest.mark.parametrize("classes", [1, 2, 7])
@pytest.mark.parametrize("level", [0.0, -100.0, 1.0])
def test_anything_gives_valid_probabilities(classes: int, level: float) -> None:
    for seed in range(20):
        ages, colours = level + 30.0 * noise(classes, 102, seed=seed), level + 30.0 * noise(classes, 4, seed=seed)
        check(clean([Counted.of(ages, 30.0), Counted.of(colours, 30.0)], (AGE, COLOUR)), classes)
    zero = [Counted.of(np.zeros((classes, 102)), 1e-3), Counted.of(np.zeros((classes, 4)), 1e3)]
    check(clean(zero, (AGE, COLOUR)), classes)


@given(st.lists(st.floats(-1e4, 1e4), min_size=8, max_size=8), st.floats(1e-3, 1e4))
def test_any_cells_give_valid_probabilities(cells: list[float], sd: float) -> None:
    found = clean([Counted.of(np.array(cells).reshape(2, 4), sd)], (COLOUR,))
    assert (found.masses[0] > 0).all()
    np.testing.assert_allclose(found.masses[0].sum(axis=1), 1.0, rtol=1e-9)
    assert (found.counts >= 1.0).all()


def test_clean_does_not_change_its_input() -> None:
    cells = [noise(2, 102), noise(2, 4)]
    before = [c.copy() for c in cells]
    clean([Counted.of(each, 1.0) for each in cells], (AGE, COLOUR))
    for now, then in zip(cells, before, strict=True):
        np.testing.assert_array_equal(now, then)
