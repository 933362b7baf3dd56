"""Rows of an image from its lowest frequencies: of all that have them within the bounds, the one nearest to the mean.

    min |x - m|^2  over x with  P x = z  and  0 <= x <= 1

has the solution x = clip(m + P^T u, 0, 1), and the multipliers u maximise a concave dual whose gradient is z - P x.
Bounds that bind make edges sharp: ink is as dark as it may be, and paper is blank.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Float32Array: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
DUAL_STEPS = 40  # of the dual: 1 % of the coordinates' spread is left of real digits, whose bound is reached
SOLVED_AT_ONCE = 1 << 11  # so that they stay in the processor's cache


def nearest_rows(wanted: Float32Array, matrix: Float32Array, back: Float32Array, middle: Float32Array) -> Float32Array:
    """Rows within the bounds 0 and 1 that have the wanted coordinates, or nearly so where there are none.

    The dual is climbed by accelerated gradients (Nesterov 1983); a step of 1 is right, as `matrix @ back` is the
    identity. Each row is solved by itself.

    Args:
        wanted: (rows, coordinates), those of places from -1/2 to 1/2.
        matrix: (coordinates, columns), what makes them.
        back: (columns, coordinates), its pseudo-inverse.
        middle: The row to be near to.

    Returns:
        The rows, (rows, columns).

    Example:
        >>> mean = np.full((1, 2), np.sqrt(0.5), np.float32)  # one coordinate: both columns added up
        >>> found = nearest_rows(np.float32([[0.0]]), mean, mean.T, np.float32([0.9, 0.5]))
        >>> found.astype(float).round(3).tolist()
        [[0.7, 0.3]]
    """
    found = np.empty((len(wanted), matrix.shape[1]), np.float32)
    for start in range(0, len(wanted), SOLVED_AT_ONCE):
        part = slice(start, start + SOLVED_AT_ONCE)
        found[part] = _nearest(wanted[part], matrix, back, middle)
    return found


def _nearest(wanted: Float32Array, matrix: Float32Array, back: Float32Array, middle: Float32Array) -> Float32Array:
    ahead = multipliers = np.zeros_like(wanted)
    pace = 1.0
    for _ in range(DUAL_STEPS):
        before, multipliers = multipliers, ahead + wanted
        multipliers -= (_rows(ahead, back, middle) - np.float32(0.5)) @ matrix.T
        next_pace = (1.0 + math.sqrt(1.0 + 4.0 * pace**2)) / 2.0
        ahead = multipliers - before
        ahead *= np.float32((pace - 1.0) / next_pace)
        ahead += multipliers
        pace = next_pace
    return _rows(multipliers, back, middle)


def _rows(multipliers: Float32Array, back: Float32Array, middle: Float32Array) -> Float32Array:
    found = multipliers @ back.T
    found += middle
    return np.clip(found, 0.0, 1.0, out=found)
