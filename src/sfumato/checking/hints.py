"""What a sample of a column's values suggests about it: special values, a grid, bounds far apart, names of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.drafting.misspelt import slips

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

GRIDS = (1000.0, 100.0, 10.0, 5.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001)


@dataclass(frozen=True)
class Rules:
    """When a hint is given. Rules of thumb: a hint is a question to whoever knows the table."""

    fewest: int = 100  # values, below which nothing is suggested
    spike_share: float = 0.005  # of the values that a special one is at least
    spike_height: float = 10.0  # times what its neighbours have
    neighbours: int = 4  # on either side
    ceiling_height: float = 4.0  # times what those below it have, of the largest value: what is cut off piles up there
    most_spikes: int = 10
    levels: int = 16  # with so few different values each has a bin anyhow
    steps: float = 2.0**50  # up to the largest value: beyond them every float is a multiple
    filled: float = 0.01  # of the range, by nearly all values: bounds are wide
    nearly_all: float = 0.99
    distinct: float = 0.95  # of texts that look like names
    most_texts: int = 10_000  # different ones, among which slips are looked for
    pairs: float = 5.0  # of equal values that chance would make at least, where whole numbers that all differ are names


RULES = Rules()


@dataclass(frozen=True)
class Hints:
    """What a sample of values suggests.

    Attributes:
        ceiling: The largest value with its share, where it is far more frequent than those below it.
        spikes: Values far more frequent than their neighbours, with their shares, the commonest first.
        grid: The widest of a few decimal steps on which all values lie.
        is_name: Whether nearly all values are different, as those of an id are.
        middle: Between which values nearly all lie.
        slips: Texts that look like slips beside common ones, each with the question in words.
    """

    ceiling: tuple[float, float] | None = None
    spikes: tuple[tuple[float, float], ...] = ()
    grid: float | None = None
    is_name: bool = False
    middle: tuple[float, float] | None = None
    slips: Mapping[str, str] = field(default_factory=dict)


def number_hints(values: FloatArray) -> Hints:
    """What numbers suggest.

    Args:
        values: A sample of a column's values; NaN and infinities are left aside.

    Returns:
        The hints; none where values are few.

    Example:
        >>> ages = np.arange(1000.0) % 70
        >>> number_hints(ages).grid
        1.0
    """
    values = values[np.isfinite(values)]
    if len(values) < RULES.fewest:
        return Hints()
    with np.errstate(all="ignore"):  # differences of the largest floats
        return _hints(values)


def _hints(values: FloatArray) -> Hints:
    levels, counts = np.unique(values, return_counts=True)
    grid, ceiling, spikes = _grid(levels), _ceiling(levels, counts), _spikes(levels, counts)
    tail = (1.0 - RULES.nearly_all) / 2.0
    return Hints(
        ceiling=ceiling,
        spikes=spikes if ceiling is None or ceiling in spikes else (*spikes, ceiling),
        grid=grid,
        is_name=grid == 1.0 and len(levels) == len(values) and _are_names(levels),
        middle=(float(np.quantile(values, tail)), float(np.quantile(values, 1.0 - tail))),
    )


def text_hints(written: pa.LargeStringArray) -> Hints:
    """What texts suggest.

    Args:
        written: A sample of a column's texts; those of missing cells are left aside.

    Returns:
        The hints; none where texts are few.
    """
    found = written.value_counts()
    counts = dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))
    counts.pop("", None)
    total = sum(counts.values())
    if total >= RULES.fewest and len(counts) >= RULES.distinct * total:
        return Hints(is_name=True)
    if len(counts) > RULES.most_texts:
        return Hints()
    return Hints(slips=slips(counts))


def is_on_grid(values: FloatArray, origin: float, step: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which values are the origin plus a whole number of steps, up to rounding."""
    steps = (values - origin) / step
    return np.abs(steps - np.rint(steps)) <= np.maximum(1e-9, np.abs(steps) * 2.0**-50)


def _grid(levels: FloatArray) -> float | None:
    if len(levels) < 2:
        return None
    largest = max(abs(levels[0]), abs(levels[-1]))
    fine = [step for step in GRIDS if largest < RULES.steps * step]
    return next((step for step in fine if is_on_grid(levels, 0.0, step).all()), None)


def _are_names(levels: FloatArray) -> bool:
    """Whether whole numbers that all differ are ids: amounts that fall anywhere between the least and the most would
    not all differ.
    """
    return bool(len(levels) ** 2 / 2.0 >= RULES.pairs * (levels[-1] - levels[0]))


def _ceiling(levels: FloatArray, counts: Any) -> tuple[float, float] | None:
    """The largest value, where values beyond it seem to be written as it."""
    if len(levels) <= RULES.levels or counts[-1] < max(RULES.spike_share * counts.sum(), RULES.spike_height):
        return None
    below = float(np.median(counts[-1 - RULES.neighbours : -1]))
    if counts[-1] < RULES.ceiling_height * below:
        return None
    return float(levels[-1]), float(counts[-1] / counts.sum())


def _spikes(levels: FloatArray, counts: Any) -> tuple[tuple[float, float], ...]:
    if len(levels) <= RULES.levels:
        return ()
    total = counts.sum()
    frequent = np.flatnonzero(counts >= max(RULES.spike_share * total, RULES.spike_height))
    found = []
    for place in frequent[np.argsort(-counts[frequent], kind="stable")]:
        near = [i for i in range(place - RULES.neighbours, place + RULES.neighbours + 1) if i != place]
        around = np.median([counts[i] for i in near if 0 <= i < len(counts)])
        if counts[place] >= RULES.spike_height * around:
            found.append((float(levels[place]), float(counts[place] / total)))
    return tuple(found[: RULES.most_spikes])
