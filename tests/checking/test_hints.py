"""What values suggest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.checking.hints import GRIDS, Hints, is_on_grid, number_hints, text_hints


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("step", GRIDS)
def test_a_grid_is_found(step: float, rng: np.random.Generator) -> None:
    values = rng.integers(1, 500, 2000) * 1.0
    assert number_hints(np.round(values * step, 6)).grid == step


def test_no_grid_where_one_value_is_off(rng: np.random.Generator) -> None:
    values = rng.integers(0, 50, 1000) * 1.0
    assert number_hints(np.append(values, 3.14159)).grid is None
    assert number_hints(np.full(1000, 7.0)).grid is None  # one value is no grid


def test_spikes_are_found(rng: np.random.Generator) -> None:
    pay = np.where(rng.random(20_000) < 0.3, 0.0, rng.lognormal(8, 1, 20_000))
    pay[rng.random(20_000) < 0.05] = 99_999.0
    values = [value for value, _ in number_hints(pay).spikes]
    assert values == [0.0, 99_999.0]
    shares = [share for _, share in number_hints(pay).spikes]
    assert shares[0] == pytest.approx(0.285, abs=0.03)


def test_what_is_cut_off_piles_up_at_the_top(rng: np.random.Generator) -> None:
    ages = rng.normal(60, 15, 20_000).round()
    hints = number_hints(np.minimum(ages, 85.0))
    assert hints.ceiling == (85.0, float((ages >= 85).mean()))
    assert hints.ceiling in hints.spikes
    assert number_hints(ages).ceiling is None
    assert number_hints(np.minimum(ages, 80.0)[:50]).ceiling is None  # few
    assert number_hints(np.minimum(rng.poisson(3, 20_000), 5) * 1.0).ceiling is None  # few levels


def test_a_smooth_or_coarse_column_has_no_spikes(rng: np.random.Generator) -> None:
    assert number_hints(rng.normal(0, 1, 20_000)).spikes == ()
    assert number_hints(rng.poisson(30, 20_000) * 1.0).spikes == ()
    assert number_hints(rng.choice([0.0, 1.0], 20_000, p=[0.999, 0.001])).spikes == ()


def test_ids_are_told_from_amounts(rng: np.random.Generator) -> None:
    assert number_hints(np.arange(1000.0)).is_name
    assert number_hints(rng.permutation(1000) + 100_000.0).is_name
    assert number_hints(rng.choice(100_000, 2000, replace=False) * 1.0).is_name  # a sample of ids
    assert not number_hints(rng.choice(900_000, 150, replace=False) * 1.0).is_name  # salaries, by chance all different
    assert not number_hints(np.round(rng.lognormal(10, 1, 1000))).is_name
    assert not number_hints(rng.normal(75, 15, 1000)).is_name
    assert not number_hints(rng.integers(0, 90, 1000) * 1.0).is_name


def test_texts_that_differ_are_names() -> None:
    assert text_hints(pa.array([f"p{i}" for i in range(200)])).is_name
    assert not text_hints(pa.array(["Ulm", "Bonn", ""] * 100)).is_name
    assert not text_hints(pa.array([f"p{i}" for i in range(20)])).is_name


def test_slips_are_found_among_texts() -> None:
    assert list(text_hints(pa.array(["Cardiology"] * 60 + ["Cardiolgy"] * 2 + [""] * 9)).slips) == ["Cardiolgy"]
    assert not text_hints(pa.array(["Ulm", "Bonn", ""] * 100)).slips


def test_little_suggests_nothing() -> None:
    assert number_hints(np.arange(50.0)) == Hints()
    assert number_hints(np.full(500, np.nan)) == Hints()


def test_the_middle() -> None:
    low, high = number_hints(np.append(np.arange(1000.0), 1e9)).middle or (0, 0)
    assert (low, high) == pytest.approx((5, 995), abs=1)


def test_on_a_grid_up_to_rounding() -> None:
    assert is_on_grid(np.array([0.3, 0.1 + 0.2, -0.7]), 0.0, 0.1).all()
    assert not is_on_grid(np.array([0.35]), 0.0, 0.1).any()
    assert is_on_grid(np.array([0.35]), 0.05, 0.1).all()
