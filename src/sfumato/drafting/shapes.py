"""The shape of a column of numbers: plain bounds, a step, special values, a long tail."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.drafting.looks import Look, on_step
from sfumato.schema.layout import DEFAULT_BINS, FloatArray

SENTINELS = frozenset([-1.0, *(sign * float("9" * n) for n in range(1, 10) for sign in (1, -1))]) - {9.0}
APART = 0.5  # a sentinel is this much of the range of all others away from them
FAR_TIMES = 3.0  # one so many times as large as all others means missing; a nearer one may be a ceiling
SPIKE_SHARE = 0.01  # of the cells: a value that is so common may be special
SPIKE_HEIGHT = 10.0  # times as common as the values around it
NEIGHBOURS = 10
MOST_ATOMS = 8
LONG_TAIL = 15.0  # how much longer the upper tail is than what lies between the median and the ninth decile
MANY_VALUES = 20  # different ones, before a step above 1 is more than chance
SOME_VALUES = 5  # different ones, before a fraction is a step


@dataclass(frozen=True)
class Shape:
    """What describes numbers, sentinels apart."""

    low: float
    high: float
    step: float | None
    is_log: bool = False
    atoms: list[float] = field(default_factory=list)
    sentinels: list[float] = field(default_factory=list)


def shape_of(look: Look) -> Shape:
    """The shape of the numbers of a column."""
    values, weights = look.weighted()
    far, near = find_sentinels(look.lows, look.highs)
    inside = ~np.isin(values, far)
    step = _step(look, values, weights, inside)
    low, high = (float(ends[~np.isin(ends, far)][place]) for ends, place in ((look.lows, 0), (look.highs, -1)))
    bounds = plain_bounds(low, high, step)
    atoms = _atoms(values[inside], weights[inside], bounds, step)
    kept = inside & ~np.isin(values, [*near, *atoms])
    return Shape(
        *bounds,
        step,
        _is_long_tailed(values[kept], weights[kept]),
        sorted({*atoms, *near})[:MOST_ATOMS],
        sorted(far),
    )


def find_sentinels(lows: FloatArray, highs: FloatArray) -> tuple[list[float], list[float]]:
    """Numbers such as -1 and 999 that lie apart from all others.

    Args:
        lows: The lowest values, in their order.
        highs: The highest ones.

    Returns:
        Those that mean missing, and those that may be a ceiling.

    Example:
        >>> find_sentinels(np.array([-1.0, 0.0, 3.0]), np.array([80.0, 95.0, 999.0]))
        ([-1.0, 999.0], [])
    """
    below = lows[lows < 0].tolist()
    far: list[float] = below if len(below) < len(lows) - 1 and set(below) <= SENTINELS else []
    near: list[float] = []
    low = lows[len(far)]
    while len(highs) > 1 and highs[-1] in SENTINELS and highs[-1] > 0:
        rest = highs[-2] - low
        if highs[-1] - highs[-2] < APART * rest or rest <= 0:
            break
        (far if highs[-1] >= FAR_TIMES * highs[-2] else near).append(float(highs[-1]))
        highs = highs[:-1]
    return far, near


def plain_bounds(low: float, high: float, step: float | None) -> tuple[float, float]:
    """Bounds rounded outwards to plain numbers, on the step's grid.

    Example:
        >>> plain_bounds(17, 93, 1), plain_bounds(1.71, 1.98, 0.01), plain_bounds(3, 3, 1)
        ((10.0, 100.0), (1.7, 2.0), (3.0, 4.0))
    """
    if low == high:
        high = low + (step or max(1.0, abs(low) * 1e-9))
    if not math.isfinite(high - low):
        return low, high
    unit = Decimal(1).scaleb(math.floor(math.log10(high - low)))
    unit = unit / 2 if high - low < 5 * unit else unit
    grid = Decimal(repr(step)) if step else unit
    return _rounded(low, unit, grid, math.floor), _rounded(high, unit, grid, math.ceil)


def _rounded(value: float, unit: Decimal, grid: Decimal, outwards: Any) -> float:
    """A value rounded to the unit, then to the grid."""
    for each in (unit, grid):
        value = float(outwards(Decimal(repr(value)) / each) * each)
    return value


def _step(look: Look, values: FloatArray, weights: FloatArray, inside: Any) -> float | None:
    """The largest step that all numbers but sentinels are on."""
    largest = np.abs(values[inside]).max()
    for step, off in zip(look.steps.tolist(), look.off.tolist(), strict=True):
        excused = weights[~inside & ~on_step(values, step)].sum()
        needed = 1 if step == 1 else SOME_VALUES if step < 1 else MANY_VALUES
        if inside.sum() >= needed and off <= excused and largest < 2**50 * step:
            return float(step)
    return None


def _atoms(values: FloatArray, weights: FloatArray, bounds: tuple[float, float], step: float | None) -> list[float]:
    """Values far more common than those around them; none where every value has a bin of its own."""
    low, high = bounds
    if step is not None and (high - low) / step < DEFAULT_BINS:
        return []
    total, found = weights.sum(), []
    for place in np.argsort(-weights, kind="stable")[:MOST_ATOMS]:
        start = max(0, place - NEIGHBOURS // 2)
        around = np.delete(weights[start : place + NEIGHBOURS // 2 + 1], place - start)
        if len(around) and weights[place] >= max(SPIKE_SHARE * total, SPIKE_HEIGHT * np.median(around)):
            found.append(float(values[place]))
    return found


def _is_long_tailed(values: FloatArray, weights: FloatArray) -> bool:
    """Whether a log scale suits: almost all lies near the low end."""
    if len(values) < MANY_VALUES or values[0] < 0:
        return False
    ranks = np.cumsum(weights) / weights.sum()
    median, ninth = values[np.searchsorted(ranks, [0.5, 0.9])]
    return bool(values[-1] - median >= LONG_TAIL * max(ninth - median, median - values[0]))
