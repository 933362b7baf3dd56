"""PATE-GAN: what votes cost, by brute force, where it stops, and rows of the table's kind."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from sfumato.published import pate_gan
from sfumato.published.pate_gan import MOMENTS, Settings
from sfumato.published.row_generator import Encoding, LabelledRows

SMALL = Settings(teacher_rows=100, batch=16, votes_scale=0.3, most_steps=20)


def wins(ones: int, votes: int, scale: float) -> float:
    """The probability that label 1 wins, by integrating over the noise."""
    gap = 2 * ones - votes

    def density(t: float) -> float:  # of the difference of two Laplace variables
        return scale / 4 * (1 + scale * abs(t)) * math.exp(-scale * abs(t))

    return (
        quad(density, -gap, math.inf, points=[0.0] if gap > 0 else None, limit=200)[0]
        if gap <= 0
        else 1 - wins(votes - ones, votes, scale)
    )


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("ones", [0, 4, 10, 18, 20])
def test_no_pair_of_neighbours_costs_more_than_is_charged(scale: float, ones: int) -> None:
    """The exact log moments of the label that is given, for one vote moved either way."""
    votes = 20
    charged = pate_gan.charged(np.array([2 * ones - votes]), scale)
    p = wins(ones, votes, scale)
    for other in {max(ones - 1, 0), min(ones + 1, votes)} - {ones}:
        q = wins(other, votes, scale)
        exact = [math.log(p * (p / q) ** k + (1 - p) * ((1 - p) / (1 - q)) ** k) for k in MOMENTS]
        assert (charged >= np.array(exact) - 1e-9).all()


def test_labels_add_up_and_the_bound_for_all_votes_is_the_largest() -> None:
    one, tie = pate_gan.charged(np.array([30]), 0.5), pate_gan.charged(np.array([0]), 0.5)
    assert pate_gan.charged(np.array([30, 30, 0]), 0.5) == pytest.approx(2 * one + tie)
    assert tie == pytest.approx(pate_gan.most_charged(0.5))
    assert (one < tie).all()


def test_epsilon_of_labels_that_anybody_can_work_out() -> None:
    """Nothing spent: log(1 / delta) / 20. Moments 2 lambda^2 l (l + 1): the best l of 2 lambda^2 n (l + 1) + c / l."""
    assert pate_gan.spent(np.zeros(20), 1e-5) == pytest.approx(math.log(1e5) / 20)
    by_hand = min(2 * 0.01 * 10 * (k + 1) + math.log(1e5) / k for k in range(1, 21))
    assert pate_gan.spent(10 * pate_gan.most_charged(0.1), 1e-5) == pytest.approx(by_hand)


def table(rows: int = 1000):
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(int)
    return rng.normal(0.3 + 0.4 * y[:, None], 0.1, (rows, 2)), rng.integers(2, size=(rows, 1)), y


def made(epsilon: float, settings: Settings = SMALL, rows: int = 300):
    known = {"epsilon": epsilon, "delta": 1e-5, "rows": rows, "rng": np.random.default_rng(0)}
    return pate_gan.pate_gan(LabelledRows(*table(), 2, (0.0, 1.0), (2,)), settings=settings, **known)


def test_it_stops_before_epsilon_is_spent() -> None:
    numbers, codes, y = table()
    encoding = Encoding(np.zeros(2), np.ones(2), (2, 2))
    x = encoding.encode(numbers, np.column_stack([codes, y])).astype(np.float32)
    labels = [
        pate_gan.train(encoding, x, epsilon, 1e-5, SMALL, np.random.default_rng(0))[1] for epsilon in (0.5, 3.0, 1e6)
    ]
    assert labels[0] == 0, "the conversion alone costs more"
    assert labels[0] < labels[2] == SMALL.most_steps * SMALL.batch


def test_rows_are_of_the_table_s_kind_and_repeat() -> None:
    first, second = (made(1e6, replace(SMALL, most_steps=5, teacher_width=3)) for _ in range(2))
    numbers, codes, y = first
    assert numbers.shape == (300, 2)
    assert ((numbers >= 0) & (numbers <= 1)).all()
    assert set(np.unique(codes)) <= {0, 1}
    assert set(np.unique(y)) <= {0, 1}
    np.testing.assert_array_equal(numbers, second[0])
