"""Class sums of cos(w.z) and sin(w.z) at public frequencies w, and counts: the central form of slicing.

Slicing asks for every row with noise of its own, which does not shrink with the number of rows. The same slices can be
asked for in sum: the characteristic function of a class on random slices, at error 1/n, after which a generator may be
trained on it for as long as one likes. Frequencies without slices make this the random features of DP-MERF
(Harder et al. 2021).

In integers. A frequency is a whole number W of 2^-FREQUENCY_BITS turns a latent unit, a coordinate z a whole number of
2^-LATENT_BITS units; so W.z is an exact whole number, and its lowest FREQUENCY_BITS + LATENT_BITS bits are the phase.
The first TURN_BITS of these look up the cosine and the sine of the middle of their interval, as whole numbers of
2^-WAVE_BITS that are rounded towards zero: no pair is longer than 1.

Two staircases lie between a row and its wave: the bins on whose middles latent scores sit, and the table here, of 2^14
phases, which is far below any noise. Nothing random is done about the first, because what a row adds must be a function
of that row alone: whoever compares with synthetic rows passes these through the same bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import LATENT_BITS, LATENT_LIMIT, SHRINK, SLACK, Batch, FloatArray, Image, IntArray

FREQUENCY_BITS = 16  # fractional bits of a frequency, in turns a latent unit
TURN_BITS = 14  # phases in the table
WAVE_BITS = 15  # fractional bits of a cosine or sine
PHASE_BITS = FREQUENCY_BITS + LATENT_BITS
EXACT = 1 << 53
BLOCK = 1 << 20  # waves worked out at a time


@dataclass(frozen=True)
class Waves:
    """Count, and sums of cosines and sines at every frequency, of the rows of each class, jointly.

    `shares` divides the squared sensitivity between counts and waves, and adds up to one: with F frequencies the
    weights are a = sqrt(shares[0]) and b = sqrt(shares[1] / F).

    Sensitivity. A cosine and a sine of one phase have a norm of at most 1, so a row's contribution has squared norm at
    most a^2 + b^2 F = 1 (add-remove). A row writes to its own class's block alone: a changed label, or a replacement by
    a row of another class, changes two blocks by at most 1 each, sqrt(2). A replacement inside a class leaves the count
    and moves each pair by at most 2: 2 sqrt(shares[1]). (In units of one pair: sqrt F, sqrt(2 F), 2 sqrt F.)
    """

    image: Image
    classes: int
    frequencies: IntArray  # (F, dim), in 2^-FREQUENCY_BITS turns a latent unit
    shares: tuple[float, float]

    def __post_init__(self) -> None:
        if not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive and add up to one")
        if self.frequencies.shape[1:] != (self.image.dim,) or not len(self.frequencies):
            raise ValueError("every frequency must have one number for each latent coordinate")
        if int(np.abs(self.frequencies).sum(axis=1).max()) * LATENT_LIMIT >= EXACT:
            raise ValueError("frequencies are too high for exact phases")

    @classmethod
    def of(cls, image: Image, classes: int, frequencies: FloatArray, shares: tuple[float, float]) -> Waves:
        """Quantise frequencies given as real numbers, in radians a latent unit."""
        turns = np.asarray(frequencies) / (2.0 * math.pi) * 2.0**FREQUENCY_BITS
        if not (np.abs(turns) < EXACT).all():
            raise ValueError("frequencies must be numbers, and not too high")
        return cls(image, classes, np.rint(turns).astype(np.int64), shares)

    @property
    def size(self) -> int:
        return self.classes * (1 + 2 * len(self.frequencies))

    @property
    def radians(self) -> FloatArray:
        """The frequencies as they are asked for, in radians a latent unit."""
        return self.frequencies.astype(np.float64) * (2.0 * math.pi * 2.0**-FREQUENCY_BITS)

    @cached_property
    def weights(self) -> FloatArray:
        count, wave = (math.sqrt(share) for share in self.shares)
        height = wave / math.sqrt(len(self.frequencies)) * 2.0**-WAVE_BITS
        return np.tile(np.append(count, np.full(2 * len(self.frequencies), height)), self.classes)

    def total(self, batch: Batch) -> IntArray:
        blocks = []
        for k in range(self.classes):
            z = self.image.rows(batch, batch.labels == k, k)
            blocks.append(np.concatenate([[z.shape[1]], self._sums(z)]))
        return np.concatenate(blocks).astype(np.int64)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency is Adjacency.ADD_REMOVE:
            return SLACK
        if adjacency is Adjacency.LABEL:
            return SLACK * math.sqrt(2.0)
        return SLACK * math.sqrt(max(2.0, 4.0 * self.shares[1]))

    def unpack(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Counts (classes), and sums of cosines and of sines (classes, F)."""
        blocks = flat.reshape(self.classes, -1)
        counts, waves = blocks[:, 0], blocks[:, 1:] * 2.0**-WAVE_BITS
        return counts, waves[:, : len(self.frequencies)], waves[:, len(self.frequencies) :]

    def _sums(self, z: FloatArray) -> IntArray:
        """Sums over the columns of z, a block at a time: whole numbers, in whatever order."""
        cosines, sines = wave_table()
        found = np.zeros((2, len(self.frequencies)), dtype=np.int64)
        width = max(1, BLOCK // len(self.frequencies))
        for start in range(0, z.shape[1], width):
            places = self.places(z[:, start : start + width])
            found += cosines[places].sum(axis=1), sines[places].sum(axis=1)
        return found.ravel()

    def places(self, z: FloatArray) -> IntArray:
        """Where each row, a column of z, stands in the table at each frequency. The product is exact: every sum of its
        terms, in any order, is below 2^53."""
        phases = (self.frequencies.astype(np.float64) @ z).astype(np.int64)
        return np.asarray((phases & ((1 << PHASE_BITS) - 1)) >> (PHASE_BITS - TURN_BITS))


@cache
def wave_table() -> tuple[IntArray, IntArray]:
    """Cosines and sines of the middles of 2^TURN_BITS intervals of a turn, rounded towards zero.

    The factor outweighs the rounding of cos and sin, so that no pair is longer than 2^WAVE_BITS. No value is so near a
    whole number that another machine's cos would round it to another one.
    """
    angles = (np.arange(1 << TURN_BITS) + 0.5) * (2.0 * math.pi / (1 << TURN_BITS))
    height = 2.0**WAVE_BITS * SHRINK
    return np.trunc(np.cos(angles) * height).astype(np.int64), np.trunc(np.sin(angles) * height).astype(np.int64)
