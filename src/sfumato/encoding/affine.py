"""The `affine` encoding: columns are centred and scaled, nothing else, so a Gaussian stays a Gaussian.

For numeric data that is to be released as a Gaussian mixture in its own units, the setting of Liu et al. (2025). Centre
and scale of each class and column come from the noisy histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from sfumato.bins import Bins, FloatArray, IntArray, OrderedBins
from sfumato.encoding.boxes import Boxes
from sfumato.encoding.marginals import Marginals
from sfumato.errors import ArgumentError

WITHIN_ONE_SD = float(ndtr(1.0) - ndtr(-1.0))  # the mass of a normal within one standard deviation
STARTS = 201  # windows tried for each column


@dataclass(frozen=True)
class Affine:
    """The encoder of a model in data units: the latent space is the space of the values themselves."""

    name = "affine"

    def decode(self, latent: FloatArray, labels: IntArray, bins: Sequence[Bins]) -> list[pd.Series[Any]]:
        """Values in each column's type: clamped to its bounds and put on its grid."""
        return [_ordered(b).of_values(latent[:, c]) for c, b in enumerate(bins)]

    def boxes(
        self, codes: Sequence[IntArray], values: Sequence[FloatArray | None], bins: Sequence[Bins], k: int
    ) -> Boxes:
        """A value is a point; on a grid it is the interval that rounds to it, and a missing one the whole line."""
        shape = (len(codes[0]), len(codes))
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        is_point = np.zeros(shape, dtype=bool)
        for c, (code, value, b) in enumerate(zip(codes, values, bins, strict=True)):
            known = code >= 0
            half = (_ordered(b).step or 0.0) / 2.0
            x = np.nan_to_num(np.zeros(shape[0]) if value is None else value)
            low[known, c], high[known, c] = x[known] - half, x[known] + half
            is_point[:, c] = known & (half == 0.0)
            if half > 0.0:  # what lies beyond the first and last grid value is clamped to it
                first, last = _ordered(b).low[0], _ordered(b).high[-1]
                low[known & (x < first + half), c] = -np.inf
                high[known & (x > last - half), c] = np.inf
        return Boxes(low, high, is_point, np.zeros(shape[0]))


def check_affine(bins: Sequence[Bins], names: Sequence[str]) -> None:
    """Refuse what has no centre and scale."""
    for name, b in zip(names, bins, strict=True):
        if not isinstance(b, OrderedBins) or b.column.missing:
            raise ArgumentError(f"encoding 'affine' takes number columns without missing; {name!r} is not one")


def centre_and_scale(marginals: Marginals, bins: Sequence[Bins]) -> tuple[FloatArray, FloatArray]:
    """(classes, columns) centres and scales: middle and half-width of the shortest window with 68 % of the mass."""
    found = [_windows(masses, _ordered(b)) for masses, b in zip(marginals.masses, bins, strict=True)]
    centres, scales = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    return centres, scales


def _windows(masses: FloatArray, bins: OrderedBins) -> tuple[FloatArray, FloatArray]:
    half = (bins.step or 0.0) / 2.0
    edges = np.append(bins.low - half, bins.high[-1] + half)
    starts = np.linspace(0.0, 1.0 - WITHIN_ONE_SD, STARTS)
    centres, scales = [], []
    for row in masses:
        cdf = np.append(0.0, np.cumsum(row))
        left, right = (np.interp(u, cdf / cdf[-1], edges) for u in (starts, starts + WITHIN_ONE_SD))
        best = int(np.argmin(right - left))
        centres.append((left[best] + right[best]) / 2.0)
        scales.append((right[best] - left[best]) / 2.0)
    narrowest = (edges[-1] - edges[0]) / (len(edges) - 1) / np.sqrt(12.0)
    return np.array(centres), np.maximum(scales, narrowest)


def _ordered(bins: Bins) -> OrderedBins:
    assert isinstance(bins, OrderedBins)  # check_affine has seen to it
    return bins
