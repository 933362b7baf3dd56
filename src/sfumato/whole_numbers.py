"""Functions of whole numbers by public tables: the same on every machine, number by number.

The private side works on whole numbers alone, so that what a row adds to a sum is a function of that row, bit for bit.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from sfumato.errors import insist

LATENT_BITS = 12  # fractional bits of a latent coordinate, and of a logit
PROBABILITY_BITS = 16  # fractional bits of a class's probability
EXP_BITS = 30  # fractional bits of an exponential: below 2^-30 it is 0
EXP_STEP_BITS = 62
EXP_STEP = 4_610_560_255_948_314_623  # floor(2^62 exp(-2^-12))
EXP_STEPS = 21 << LATENT_BITS  # exp(-21) < 2^-30
TURN_BITS = 14  # phases in the table of waves
WAVE_BITS = 15  # fractional bits of a cosine or sine
LIMB = 1 << 24  # of a number in two: how many times LIMB it is, and the rest
SHRINK = 1.0 - 2.0**-40  # outweighs a few roundings

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def softmax(logits: IntArray) -> IntArray:
    """(classes, rows): probabilities with PROBABILITY_BITS fractional bits, rounded down, of logits with LATENT_BITS.

    Differences of whole numbers, then a table, then a division of whole numbers.
    """
    below = np.minimum(logits.max(axis=0) - logits, EXP_STEPS)
    risen = exponentials()[below]
    return np.asarray((risen << PROBABILITY_BITS) // risen.sum(axis=0), dtype=np.int64)


@cache
def exponentials() -> IntArray:
    """floor(2^EXP_BITS exp(-d 2^-LATENT_BITS)) for d from 0, to a unit in the last place, and 0 at the end.

    Products of whole numbers, so that the table is the same on every machine.
    """
    values, value = [], 1 << EXP_STEP_BITS
    for _ in range(EXP_STEPS):
        values.append(value >> (EXP_STEP_BITS - EXP_BITS))
        value = value * EXP_STEP >> EXP_STEP_BITS
    return np.array([*values, 0], dtype=np.int64)


@cache
def wave_table() -> tuple[FloatArray, FloatArray]:
    """Cosines and sines of the middles of 2^TURN_BITS intervals of a turn, rounded towards zero: whole numbers.

    The factor outweighs the rounding of cos and sin, so that no pair is longer than 2^WAVE_BITS, which is checked here
    for every phase. No value is so near a whole number that another machine's cos would round it to another one.
    """
    angles = (np.arange(1 << TURN_BITS) + 0.5) * (2.0 * math.pi / (1 << TURN_BITS))
    height = 2.0**WAVE_BITS * SHRINK
    cosines, sines = np.trunc(np.cos(angles) * height), np.trunc(np.sin(angles) * height)
    insist((cosines**2 + sines**2 <= 4.0**WAVE_BITS).all(), "a wave is higher than one")
    cosines.flags.writeable = sines.flags.writeable = False  # no row's length is looked at after this
    return cosines, sines


def joined(told: IntArray) -> IntArray:
    """The numbers that two limbs along a first axis stand for, as integers of Python; or those that have no limbs."""
    return told if told.ndim == 1 else np.asarray(told[0].astype(object) * LIMB + told[1])
