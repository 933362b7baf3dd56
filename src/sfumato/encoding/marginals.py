"""From noisy class-conditional histograms to marginals: class counts and cleaned bin probabilities.

Everything here is post-processing of noisy answers whose noise level is known. Three things are done to histograms: a
class that noise hides from the rest takes the distribution of all classes together; neighbouring bins of an ordered
column are smoothed as far as their differences are noise (translation-invariant Haar shrinkage; Coifman and Donoho
1995), and projected on the simplex; categories, which have no neighbours, get the counts that are expected of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.encoding.cleaning import Cleaning
from sfumato.encoding.expected_counts import expected_counts
from sfumato.encoding.refining import Look, settle
from sfumato.schema.layout import Bins, FloatArray, IntArray, OrderedBins

FLOOR_ROWS = 0.1  # spread over the bins of a column that follow its mass: none is impossible
NOWHERE_ABOVE = 4.0  # sd of a noisy count, from which on cells that fit no bin are believed in


@dataclass(frozen=True)
class Counted:
    """Noisy counts of one column in every class.

    Attributes:
        cells: Of its bins, (classes, bins), each with the same noise.
        sd: Of that noise.
        nowhere: Of rows whose cell fits no bin, (classes).
        nowhere_sd: Of the noise on those.
        finer: What later looks, into those of its bins that hold more than noise, found.
    """

    cells: FloatArray
    sd: float
    nowhere: FloatArray
    nowhere_sd: float
    finer: tuple[Look, ...] = ()

    @classmethod
    def of(cls, noisy: FloatArray, sd: float) -> Counted:
        """One look: (classes, 1 + bins), first those that fit no bin."""
        return cls(noisy[:, 1:], sd, noisy[:, 0], sd)


@dataclass(frozen=True)
class Marginals:
    """What the first rounds tell.

    Attributes:
        counts: Rows of each class.
        count_sd: Of the noise on them.
        masses: For each column the probabilities of its bins, (classes, bins), among the cells that fit one.
        sd: The noise that each cell of a column had.
        readable: The share of each column's cells that fit a bin.
        starts: For each column where its bins begin on its grid; None where they are the layout's.
    """

    counts: FloatArray
    count_sd: float
    masses: tuple[FloatArray, ...]
    sd: FloatArray
    readable: FloatArray
    starts: tuple[IntArray | None, ...]

    @property
    def weights(self) -> FloatArray:
        """The share of each class."""
        return self.counts / self.counts.sum()


def clean(counted: Sequence[Counted], columns: Sequence[Bins], cleaning: Cleaning = Cleaning()) -> Marginals:
    """Marginals from noisy counts. Each column is taken over its own total: the rows whose cell fits a bin."""
    counts, count_sd = class_counts(counted)
    inside = [readable(column, counts, bins.missing >= 0) for column, bins in zip(counted, columns, strict=True)]
    settled = [
        _refined(column, held, count_sd, bins, cleaning)
        if column.finer
        else (_plain(column, held, bins, cleaning), None)
        for column, held, bins in zip(counted, inside, columns, strict=True)
    ]
    return Marginals(
        counts,
        count_sd,
        tuple(masses for masses, _ in settled),
        np.array([column.finer[-1].sd if column.finer else column.sd for column in counted]),
        np.array([held.sum() / counts.sum() for held in inside]),
        tuple(starts for _, starts in settled),
    )


def class_counts(counted: Sequence[Counted]) -> tuple[FloatArray, float]:
    """Every column's numbers add up to the class counts; weigh the columns by the inverse variance. And their noise."""
    sums = np.stack([column.cells.sum(axis=1) + column.nowhere for column in counted])
    precision = np.array([1.0 / (c.sd**2 * c.cells.shape[1] + c.nowhere_sd**2) for c in counted])
    return np.maximum(precision @ sums / precision.sum(), 1.0), float(precision.sum() ** -0.5)


def readable(column: Counted, counts: FloatArray, has_missing: bool) -> FloatArray:
    """How many rows of each class have a cell that fits a bin: all of them, where noise may be all that says otherwise,
    or where what fits no other bin is counted as missing.
    """
    bar = NOWHERE_ABOVE * column.nowhere_sd * math.sqrt(len(counts))
    if has_missing or column.nowhere.sum() < bar:
        return counts
    return np.maximum(counts - column.nowhere.clip(0.0), 1.0)


def _plain(column: Counted, held: FloatArray, bins: Bins, cleaning: Cleaning) -> FloatArray:
    """The probabilities of the bins of one look."""
    cells, sds = pool_alike(column.cells, held, column.sd, cleaning.pool_within)
    if not bins.ordered:
        rows = zip(cells, held, sds, strict=True)
        return np.stack([expected_counts(row, count, sd) / count for row, count, sd in rows])
    inside = bins.size - (bins.missing >= 0)
    cells[:, :inside] = smooth(cells[:, :inside], sds, cleaning.smooth_below)
    return np.stack([_mass(onto_simplex(row, count), column.sd) for row, count in zip(cells, held, strict=True)])


def _refined(
    column: Counted, held: FloatArray, held_sd: float, bins: Bins, cleaning: Cleaning
) -> tuple[FloatArray, IntArray]:
    """The probabilities of bins that follow the mass, and where they begin."""
    assert isinstance(bins, OrderedBins)
    size = len(bins.starts)
    missing = column.cells[:, size:].clip(0.0, held[:, None] - 1.0)
    looks = (Look(bins.starts, column.cells[:, :size], column.sd), *column.finer)
    starts, counts = settle(looks, bins.grid, held - missing.sum(axis=1), held_sd, cleaning)
    cells = np.hstack([counts, missing])
    # A class may have as many rows as noise hides where other classes have some; a tail that holds nothing stays so.
    everyone = cells.sum(axis=0) / cells.sum()
    filled = cells + looks[-1].sd * everyone + FLOOR_ROWS / cells.shape[1]
    return filled / filled.sum(axis=1, keepdims=True), starts


def pool_alike(
    noisy: FloatArray, counts: FloatArray, sd: float, within: float = Cleaning.pool_within
) -> tuple[FloatArray, FloatArray]:
    """Give a class its share of all classes' cells where its own differ from that by no more than noise: `within` so
    many standard deviations of the squared distance that noise alone makes.

    All or nothing: a class in between would have rows in bins that only another class fills.
    Returns the cells and the noise that each class's cells then have.
    """
    classes, bins = noisy.shape
    share = counts / counts.sum()
    target = share[:, None] * noisy.sum(axis=0)
    distance = ((noisy - target) ** 2).sum(axis=1)
    # Where classes do not differ, the distance over this variance is chi-square with `bins` degrees.
    variance = sd**2 * (1.0 - 2.0 * share + classes * share**2)
    chance = variance * (bins + within * math.sqrt(2.0 * bins))
    alike = distance < chance
    pooled_sd = sd * share * math.sqrt(classes)
    return np.where(alike[:, None], target, noisy), np.where(alike, pooled_sd, sd)


def smooth(cells: FloatArray, sd: FloatArray, below: float = Cleaning.smooth_below) -> FloatArray:
    """Drop the Haar details of each row that its noise explains, those `below` so many standard deviations of it,
    averaged over all shifts.

    >>> flat = smooth(np.array([[9.0, 11.0, 10.0, 10.0, 90.0, 10.0, 9.0, 11.0]]), np.array([2.0]))
    >>> bool(flat[0, 4] > 80), bool(abs(flat[0, 0] - flat[0, 1]) < 2)
    (True, True)
    """
    size = cells.shape[1]
    ring = np.concatenate([cells, cells[:, ::-1]], axis=1)  # reflected, so the ends do not meet in a jump
    details = []
    for level in range(max(size - 1, 0).bit_length()):
        partner = np.roll(ring, -(1 << level), axis=1)
        half = (ring - partner) / 2.0
        # Averaging halves the variance at every level, and so does taking half a difference.
        bar = below * sd[:, None] * 2.0 ** (-(level + 1) / 2)
        details.append(np.where(np.abs(half) > bar, half, 0.0))
        ring = (ring + partner) / 2.0
    for level in reversed(range(len(details))):
        ring = (ring + details[level] + np.roll(ring - details[level], 1 << level, axis=1)) / 2.0
    return ring[:, :size]


def onto_simplex(cells: FloatArray, total: float) -> FloatArray:
    """The nearest vector of non-negative cells that add up to `total`.

    >>> onto_simplex(np.array([5.0, 3.0, -2.0]), 6.0).tolist()
    [4.0, 2.0, 0.0]
    """
    falling = np.sort(cells)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(cells) + 1)
    kept = np.flatnonzero(falling > excess)[-1]
    return np.maximum(cells - excess[kept], 0.0)


def _mass(filled: FloatArray, sd: float) -> FloatArray:
    """Probabilities of the bins.

    As many pseudo-rows as one cell's noise is worth, spread evenly, say that no bin is impossible: noise may hide that
    many rows anywhere.
    """
    filled = filled + sd / len(filled)
    return filled / filled.sum()
