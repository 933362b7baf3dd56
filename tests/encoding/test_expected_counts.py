"""What noisy counts of categories are expected to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from sfumato.encoding.expected_counts import _Likely, expected_counts
from sfumato.encoding.marginals import Counted, clean, onto_simplex
from sfumato.schema.layout import FloatArray, bins_of
from sfumato.schema.schema import Category

NOISY = st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=30).map(np.array)


@given(NOISY, st.floats(1.0, 1e6), st.floats(1e-2, 1e4))
def test_counts_are_above_zero_and_add_up(noisy: FloatArray, total: float, sd: float) -> None:
    found = expected_counts(noisy, total, sd)
    assert (found > 0.0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9)


@given(NOISY, st.floats(1.0, 1e6), st.floats(1e-2, 1e4))
def test_who_was_seen_more_often_is_expected_more_often(noisy: FloatArray, total: float, sd: float) -> None:
    found = expected_counts(noisy, total, sd)[np.argsort(noisy)]
    assert (np.diff(found) >= -1e-6 * found[1:]).all()


@pytest.mark.parametrize("steepness", [0.0, 0.7, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("noisy", [-40.0, 0.0, 15.0, 90.0, 4000.0])
def test_means_are_those_of_the_integral(noisy: float, steepness: float) -> None:
    def density(n: float) -> float:
        return float(np.exp(-0.5 * ((noisy - n) / 10.0) ** 2 - steepness * np.log1p(n)))

    low, high = max(noisy - 80.0, 0.0), max(noisy, 0.0) + 80.0
    mass, first = (quad(lambda n, k=k: n**k * density(n), low, high, epsabs=0.0, limit=500)[0] for k in (0, 1))
    found = _Likely(np.array([noisy]), 10.0).means(steepness)[0]
    assert found == pytest.approx(first / mass, rel=0.005, abs=0.02)


def test_large_counts_are_what_was_seen() -> None:
    noisy = np.array([5000.0, 3000.0, 2000.0])
    np.testing.assert_allclose(expected_counts(noisy, 10_000.0, 5.0), noisy, atol=0.1)


def test_what_all_differ_from_the_total_is_taken_off_all_alike() -> None:
    np.testing.assert_allclose(expected_counts(np.array([5030.0, 2030.0]), 7000.0, 20.0), [5000.0, 2000.0], atol=0.5)


def test_a_list_of_which_hardly_a_code_is_used_stays_nearly_empty() -> None:
    """A prior that cannot be as steep leaves a third of the rows with codes that nobody has."""
    rng = np.random.default_rng(0)
    counts = np.zeros(2000)
    counts[:3] = 4000.0, 1500.0, 500.0
    found = expected_counts(counts + 20.0 * rng.standard_normal(2000), 6000.0, 20.0)
    assert found[3:].sum() < 0.05 * 6000.0
    likely = _Likely(counts + 20.0 * rng.standard_normal(2000), 20.0)
    assert likely.means(1.0)[3:].sum() > 6000.0 / 3.0


def errors(counts: FloatArray, sd: float, runs: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """The mean distance from the counts of those that are expected, and of the projection on the simplex."""
    rng = np.random.default_rng(seed)
    total = counts.sum()
    noisy = [counts + sd * rng.standard_normal(len(counts)) for _ in range(runs)]
    ours = np.array([np.abs(expected_counts(each, total, sd) - counts).sum() for each in noisy])
    projected = np.array([np.abs(onto_simplex(each, total) - counts).sum() for each in noisy])
    return ours / total / 2.0, projected / total / 2.0


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("values", [5, 20, 300])
def test_nearer_to_the_counts_than_the_projection_or_as_near(values: int, power: float) -> None:
    """From counts that are all alike to those that fall as the fourth power; by 6 standard errors."""
    counts = np.arange(1, values + 1) ** -power
    ours, projected = errors(np.round(counts / counts.sum() * 6000.0), 28.0, 40, seed=values)
    difference = ours - projected
    assert difference.mean() < 6.0 * difference.std() / np.sqrt(40) + 1e-3
    if values == 300:
        assert ours.mean() < 0.9 * projected.mean()


def test_rare_values_are_not_lost() -> None:
    """Of values of 10 rows under noise of 28 each has rows; the projection empties about half of them."""
    colour = bins_of(Category(type="category", values=[f"c{i}" for i in range(23)]))
    counts = np.concatenate([[3000.0, 1500.0, 1000.0], np.full(20, 10.0)])
    noisy = (counts + 28.0 * np.random.default_rng(3).standard_normal(23))[None]
    found = clean([Counted.of(np.hstack([np.zeros((1, 1)), noisy]), 28.0)], (colour,)).masses[0][0]
    assert (found[3:] * counts.sum() > 2.0).all()
    assert found[3:].sum() * counts.sum() < 2.0 * 200.0
    assert (onto_simplex(noisy[0], counts.sum())[3:] == 0.0).sum() > 5
