"""From noisy class-conditional histograms to marginals: class counts and cleaned bin probabilities.

Everything here is post-processing of noisy answers whose noise level is known. Three things are done to a
histogram before its negative cells are taken away: a class that noise hides from the rest takes the
distribution of all classes together, neighbouring bins of an ordered column are smoothed as far as
their differences are noise (translation-invariant Haar shrinkage; Coifman and Donoho 1995), and the
result is projected on the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.encoding.cleaning import Cleaning
from sfumato.schema.layout import Bins, FloatArray


@dataclass(frozen=True)
class Marginals:
    """What the first round tells.

    Attributes:
        counts: Rows of each class.
        masses: For each column the probabilities of its bins, (classes, bins).
        sd: The noise that each cell of a column had.
    """

    counts: FloatArray
    masses: tuple[FloatArray, ...]
    sd: FloatArray

    @property
    def weights(self) -> FloatArray:
        """The share of each class."""
        return self.counts / self.counts.sum()


def clean(
    histograms: Sequence[FloatArray], sd: FloatArray, columns: Sequence[Bins], cleaning: Cleaning = Cleaning()
) -> Marginals:
    """Marginals from noisy histograms: one (classes, bins) array per column, noise `sd[c]` a cell."""
    counts = class_counts(histograms, sd)
    masses = []
    for noisy, cell_sd, bins in zip(histograms, sd, columns, strict=True):
        cells, cell_sds = pool_alike(noisy, counts, cell_sd, cleaning.pool_within)
        if bins.ordered:
            inside = bins.size - (bins.missing >= 0)
            cells[:, :inside] = smooth(cells[:, :inside], cell_sds, cleaning.smooth_below)
        masses.append(np.stack([_mass(row, count, cell_sd) for row, count in zip(cells, counts, strict=True)]))
    return Marginals(counts, tuple(masses), sd)


def class_counts(histograms: Sequence[FloatArray], sd: FloatArray) -> FloatArray:
    """Every column's cells add up to the class counts; weigh the columns by the inverse variance."""
    sums = np.stack([cells.sum(axis=1) for cells in histograms])
    precision = 1.0 / (sd**2 * np.array([cells.shape[1] for cells in histograms]))
    return np.maximum(precision @ sums / precision.sum(), 1.0)


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


def _mass(cells: FloatArray, count: float, sd: float) -> FloatArray:
    """Probabilities of the bins.

    As many pseudo-rows as one cell's noise is worth, spread evenly, say that no bin is impossible: noise may hide that
    many rows anywhere.
    """
    filled = onto_simplex(cells, count) + sd / len(cells)
    return filled / filled.sum()
