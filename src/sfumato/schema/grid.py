"""The finest public cells of an ordered column: every bin, of every release, is a run of them.

A grid follows from the schema alone, so that bins chosen later from noisy answers are nested in it, and releases can be
brought to their common bins. A cell of the table becomes the number of its grid cell by operations that are elementwise
and correctly rounded: a function of that cell, bit for bit.

>>> Steps(0.0, 3.0, 1.0).code(np.array([0.4, 2.0, 9.0, np.nan])).tolist()
[0, 2, 3, -1]
>>> marks = Marks(0.0, 1000.0)
>>> marks.unit, marks.code(np.array([0.0, 0.0005, 0.001])).tolist()
(0.001, [0, 1, 2])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

MOST_MARKS = 1 << 20
PLAIN_MARKS = 1 << 16  # where no decimal grid is exact in double precision
EXACT_POWER = 22  # powers of ten up to it are exact in float64
CHUNK_VALUES = 1 << 14  # values at a time: they stay in the processor's cache
NOWHERE = -1  # the code of a cell that has no bin

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Steps:
    """The values low, low + step and so on up to high, one a cell; several where they are too many."""

    low: float
    high: float
    step: float

    @cached_property
    def values(self) -> int:
        """How many values there are."""
        return int(np.floor((self.high - self.low) / self.step + 1e-9)) + 1

    @cached_property
    def stride(self) -> int:
        """Values in a cell."""
        return -(-self.values // (2 * MOST_MARKS))

    @property
    def size(self) -> int:
        """How many cells there are."""
        return -(-self.values // self.stride)

    def code(self, values: FloatArray) -> IntArray:
        """The cell of each value; outside values clamp, and NaN is nowhere."""
        absent = np.isnan(values)
        inside = np.clip(np.where(absent, self.low, values), self.low, self.high)
        steps = np.floor((inside - self.low) / self.step + 0.5).astype(np.int64)
        return np.where(absent, NOWHERE, np.minimum(steps, self.values - 1) // self.stride)

    def lows(self, cells: IntArray) -> FloatArray:
        """The first value of cells."""
        return np.asarray(self.low + cells * self.stride * self.step)

    def highs(self, cells: IntArray) -> FloatArray:
        """The last value of cells."""
        last = np.minimum((np.asarray(cells) + 1) * self.stride, self.values) - 1
        return np.asarray(self.low + last * self.step)

    def near(self, values: FloatArray) -> IntArray:
        """Cells at which bins may begin, nearest to some values."""
        return self.code(values)


@dataclass(frozen=True)
class Marks:
    """Marks on a line, each a cell of its own, so that a value that many share can be told apart; and the open
    intervals between them. Marks are the bounds, the multiples of a power of ten between them, and the declared atoms.

    Cell 2 p is mark p, cell 2 p + 1 the interval above it.
    """

    low: float
    high: float
    atoms: tuple[float, ...] = ()

    @cached_property
    def power(self) -> int | None:
        """Of ten, between marks; None where its multiples are not exact, and marks are equal parts of the range."""
        power = math.ceil(math.log10((self.high - self.low) / MOST_MARKS))
        exact = abs(power) <= EXACT_POWER and max(abs(self.low), abs(self.high)) / 10.0**power < 2**52
        return power if exact else None

    @cached_property
    def unit(self) -> float:
        """The distance of marks."""
        return (self.high - self.low) / PLAIN_MARKS if self.power is None else 10.0**self.power

    def _multiple(self, k: FloatArray) -> FloatArray:
        """The k-th mark, as the text of it would be read: one correctly rounded operation."""
        if self.power is None:
            return np.asarray(self.low + k * self.unit)
        return np.asarray(k * self.unit if self.power >= 0 else k / 10.0**-self.power)

    def _below(self, values: FloatArray) -> FloatArray:
        """The largest k whose mark is not above each value."""
        away = values - self.low if self.power is None else values
        k = np.floor(away / self.unit)
        k = k - (self._multiple(k) > values)
        return np.asarray(k + (self._multiple(k + 1.0) <= values))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The first and last k strictly between the bounds."""
        low, high = self._below(np.array([self.low, self.high]))
        return float(low) + 1.0, float(high) - float(self._multiple(np.array([high]))[0] >= self.high)

    @cached_property
    def _extra(self) -> FloatArray:
        """Atoms that are no mark otherwise."""
        atoms = np.array(sorted(self.atoms), dtype=np.float64)
        on_grid = self._multiple(self._below(atoms)) == atoms
        return atoms[~on_grid & (atoms > self.low) & (atoms < self.high)]

    @cached_property
    def _extra_marks(self) -> IntArray:
        return self.code(self._extra) // 2

    @cached_property
    def marks(self) -> int:
        """How many marks there are."""
        first, last = self._ends
        return max(int(last - first) + 1, 0) + len(self._extra) + 2

    @property
    def size(self) -> int:
        """How many cells there are."""
        return 2 * self.marks - 1

    def code(self, values: FloatArray) -> IntArray:
        """The cell of each value; outside values clamp, and NaN is nowhere."""
        parts = [self._code(values[start : start + CHUNK_VALUES]) for start in range(0, len(values), CHUNK_VALUES)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _code(self, values: FloatArray) -> IntArray:
        absent = np.isnan(values)
        x = np.clip(np.where(absent, self.low, values), self.low, self.high)
        first, last = self._ends
        k = np.clip(self._below(x), first - 1.0, last)
        on_mark = (self._multiple(k) == x) & (k >= first)
        mark = k - (first - 1.0)
        if len(self._extra):
            above = np.searchsorted(self._extra, x, "right")
            on_mark |= (above > 0) & (self._extra[above - 1] == x)
            mark += above
        cells = 2.0 * mark + ~(on_mark | (x == self.low))
        cells[x >= self.high] = self.size - 1
        cells[absent] = NOWHERE
        return cells.astype(np.int64)

    def at(self, marks: IntArray) -> FloatArray:
        """The values of marks."""
        below = np.searchsorted(self._extra_marks, marks, "right")
        values = self._multiple((self._ends[0] - 1.0 + marks - below).astype(np.float64))
        if len(self._extra):
            is_extra = (below > 0) & (self._extra_marks[below - 1] == marks)
            values = np.where(is_extra, self._extra[below - 1], values)
        return np.where(marks == 0, self.low, np.where(marks == self.marks - 1, self.high, values))

    def lows(self, cells: IntArray) -> FloatArray:
        """Where cells begin."""
        return self.at(np.asarray(cells) // 2)

    def highs(self, cells: IntArray) -> FloatArray:
        """Where cells end."""
        return self.at((np.asarray(cells) + 1) // 2)

    def near(self, values: FloatArray) -> IntArray:
        """Cells at which bins may begin, nearest to some values: marks."""
        mark = self.code(values) // 2
        upper = np.minimum(mark + 1, self.marks - 1)
        return 2 * np.where(values - self.at(mark) <= self.at(upper) - values, mark, upper)


Grid: TypeAlias = Steps | Marks
