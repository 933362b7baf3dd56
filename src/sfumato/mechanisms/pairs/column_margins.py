"""Tables whose columns are, one by one, as the histograms told them.

A tilt of many tables follows each of them only as far as its pool of rows can tell it from chance, and single columns
with them; histograms know a column to a few rows. What samples are balanced to is held to that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sfumato.schema.layout import FloatArray

MOST_TURNS = 50  # of the fitting
NEAR = 1e-6  # rows of all, by which a column may still be off


def within_noise(shares: FloatArray, told: FloatArray, most: FloatArray) -> FloatArray:
    """The shares of a column's levels, each moved as little as need be to be off by so much at the most of what was
    told.

    >>> within_noise(np.array([0.50, 0.30, 0.20]), np.array([0.50, 0.20, 0.30]), np.array([0.01, 0.02, 0.02])).round(3)
    array([0.5 , 0.22, 0.28])
    """
    moved = np.clip(shares, np.maximum(told - most, 0.0), np.maximum(told + most, 0.0))
    return np.asarray(moved / moved.sum())


def raked(table: FloatArray, margins: Mapping[int, FloatArray]) -> FloatArray:
    """The nearest table in KL divergence with the given margins, by axis: iterative proportional fitting (Deming and
    Stephan 1940). Cells of no share keep none, and so do levels that have none but such cells.

    >>> raked(np.array([[0.25, 0.25], [0.25, 0.25]]), {0: np.array([0.9, 0.1]), 1: np.array([0.5, 0.5])})
    array([[0.45, 0.45],
           [0.05, 0.05]])
    """
    found = table
    for _ in range(MOST_TURNS):
        off = 0.0
        for axis, margin in margins.items():
            others = tuple(each for each in range(found.ndim) if each != axis)
            now = found.sum(axis=others)
            wanted = np.where(now > 0.0, margin, 0.0)
            wanted = wanted * (now.sum() / wanted.sum())
            off = max(off, float(np.abs(wanted - now).sum()))
            times = np.divide(wanted, now, out=np.ones_like(now), where=now > 0.0)
            found = found * times.reshape([-1 if each == axis else 1 for each in range(found.ndim)])
        if off < NEAR:
            break
    return found
