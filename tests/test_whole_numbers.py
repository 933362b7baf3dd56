"""Functions of whole numbers by tables: right to the last place, and the same on every machine."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from sfumato.whole_numbers import (
    EXP_BITS,
    EXP_STEP,
    EXP_STEP_BITS,
    EXP_STEPS,
    LATENT_BITS,
    PROBABILITY_BITS,
    SHRINK,
    TURN_BITS,
    WAVE_BITS,
    exponentials,
    softmax,
    wave_table,
)

ONE = 1 << LATENT_BITS


# Probabilities


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_a_softmax_is_one_to_its_last_bits(classes: int) -> None:
    logits = np.random.default_rng(0).integers(-20 * ONE, 20 * ONE, (classes, 500))
    right = np.exp((logits - logits.max(axis=0)) / ONE)
    right /= right.sum(axis=0)
    found = softmax(logits)
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert (found.sum(axis=0) <= 1 << PROBABILITY_BITS).all()  # rounded down
    assert np.abs(found / 2**PROBABILITY_BITS - right).max() < 2.0**-15
    for i in (0, 7, 499):
        assert softmax(logits[:, i : i + 1])[:, 0].tolist() == found[:, i].tolist()  # each row alone


def test_a_logit_far_below_has_no_probability() -> None:
    far = np.array([[0, 0], [-EXP_STEPS, -(2**40)]])
    assert softmax(far).tolist() == [[1 << PROBABILITY_BITS] * 2, [0, 0]]


def test_the_table_of_exponentials() -> None:
    with mpmath.workprec(200):
        assert int(mpmath.floor(mpmath.exp(-(mpmath.mpf(2) ** -LATENT_BITS)) * 2**EXP_STEP_BITS)) == EXP_STEP
        table = exponentials()
        assert len(table) == EXP_STEPS + 1
        assert table[-1] == 0
        for d in [0, 1, 2, 1000, ONE, 5 * ONE + 3, 20 * ONE, EXP_STEPS - 1]:
            right = mpmath.exp(-mpmath.mpf(d) / ONE) * 2**EXP_BITS
            assert abs(int(table[d]) - right) <= 1
    assert (np.diff(table) <= 0).all()


# Waves


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


def test_nobody_can_change_the_table() -> None:
    for table in wave_table():
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1e9
