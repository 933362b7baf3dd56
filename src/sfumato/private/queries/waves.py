"""cos(w.z) and sin(w.z) at public frequencies w, as an image: their class sums are the central form of slicing.

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

from dataclasses import dataclass

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import Batch, BoolArray, FloatArray, Image, IntArray
from sfumato.whole_numbers import TURN_BITS, WAVE_BITS, wave_table

FREQUENCY_BITS = 16  # fractional bits of a frequency, in turns a latent unit
PHASE_BITS = FREQUENCY_BITS + base.LATENT_BITS


@dataclass(frozen=True)
class WaveImage(Image):
    """The cosines and then the sines of another image's rows at every frequency.

    A pair is never longer than 2^WAVE_BITS (see `wave_table`), so the squared norm of F pairs is at most
    F 2^(2 WAVE_BITS), whatever the row: nothing has to be clipped.
    """

    image: Image
    frequencies: IntArray  # (F, dim), in 2^-FREQUENCY_BITS turns a latent unit

    unit = 2.0**-WAVE_BITS
    limit = 1 << WAVE_BITS

    def __post_init__(self) -> None:
        fits = self.frequencies.ndim == 2 and len(self.frequencies) and self.frequencies.shape[1] == self.image.dim
        insist(fits, "every frequency must have one number for each latent coordinate")
        phases = np.abs(self.frequencies.astype(np.float64)).sum(axis=1).max() * base.LATENT_LIMIT
        exact = phases < base.EXACT // 2 and self.image.limit == base.LATENT_LIMIT
        insist(exact, "frequencies are too high for exact phases")

    @property
    def dim(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def longest(self) -> int:  # type: ignore[override]
        """The largest squared norm that a row can have."""
        return len(self.frequencies) << (2 * WAVE_BITS)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        places = self.places(self.image.rows(batch, mine, k))
        found = np.empty((2, *places.shape))
        for table, out in zip(wave_table(), found, strict=True):
            np.take(table, places, out=out, mode="clip")  # every place is in the table; other modes would copy
        return found.reshape(self.dim, -1)

    def places(self, z: FloatArray) -> IntArray:
        """Where each row, a column of z, stands in the table at each frequency.

        The product is exact: every sum of its terms, in any order, is below 2^53.
        """
        phases = (self.frequencies.astype(np.float64) @ z).astype(np.int64)
        return np.asarray((phases & ((1 << PHASE_BITS) - 1)) >> (PHASE_BITS - TURN_BITS))


KINDS = (WaveImage,)  # that a question may be made of
