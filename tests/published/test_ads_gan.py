"""ADS-GAN: rows of the table's kind, a penalty that keeps them away from private rows, and its measure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.published import ads_gan
from sfumato.published.ads_gan import Settings
from sfumato.published.row_generator import LabelledRows

SMALL = Settings(width=16, noise=4, batch=64, steps=150, rate=2e-3)


def table(rows: int = 1000):
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(int)
    return rng.normal(0.3 + 0.4 * y[:, None], 0.1, (rows, 2)), np.zeros((rows, 0), dtype=int), y


def made(settings: Settings, rows: int = 1000):
    private = LabelledRows(*table(), 2, (0.0, 1.0), ())
    return ads_gan.ads_gan(private, rows=rows, rng=np.random.default_rng(0), settings=settings)


def test_the_penalty_keeps_rows_apart_from_the_rows_they_are_made_of() -> None:
    numbers, _, _ = table()
    apart = [
        np.abs(made(replace(SMALL, identifiability=weight))[0] - numbers).sum(axis=1).mean() for weight in (0.0, 5.0)
    ]
    assert apart[1] > apart[0] + 0.05


def test_it_learns_and_repeats_itself() -> None:
    first, second = (made(replace(SMALL, steps=300)) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    numbers, codes, y = first
    assert numbers.shape == (1000, 2)
    assert codes.shape == (1000, 0)
    real, _, labels = table()
    assert np.abs(numbers.mean(axis=0) - real.mean(axis=0)).max() < 0.1
    assert abs(y.mean() - labels.mean()) < 0.2


def test_more_rows_than_there_are() -> None:
    assert len(made(replace(SMALL, steps=1), rows=1500)[0]) == 1500


def test_a_copy_of_the_rows_is_all_identifiable() -> None:
    real = np.random.default_rng(0).normal(size=(200, 3))
    assert ads_gan.identifiability(real, real) == 1.0
    assert ads_gan.identifiability(real, real + 100.0) == 0.0
