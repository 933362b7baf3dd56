"""The `affine` encoding: columns are centred and scaled, nothing else, so a Gaussian stays a Gaussian.

For numeric data that is to be released as a Gaussian mixture in its own units, the setting of Liu et al. (2025). Centre
and scale of each class and column come from the noisy histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from sfumato.arrays import Insist, NamedArrays, Specs
from sfumato.encoding.boxes import Boxes
from sfumato.errors import ArgumentError
from sfumato.schema.layout import Bins, FloatArray, IntArray, Layout, OrderedBins

SCALES = 12  # tried for each class and column
PRIOR_ROUNDS = 20  # of EM, for what all classes have in common
MOST_CELLS = 256  # of a histogram that only has to find centre and scale; finer ones are merged


@dataclass(frozen=True)
class Affine:
    """The encoder of a model in data units: the latent space is the space of the values themselves."""

    name = "affine"

    def to_arrays(self) -> dict[str, FloatArray]:
        """What a file keeps: nothing, because the model is in data units."""
        return {}

    @classmethod
    def shapes(cls, layout: Layout, insist: Insist) -> Specs:
        """The arrays that a file of this layout has."""
        fits = not layout.groups and all(isinstance(b, OrderedBins) and not b.column.missing for b in layout.bins)
        insist(fits, "its encoding does not fit its schema")
        return {}

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: NamedArrays, insist: Insist) -> Affine:
        """The encoder."""
        return cls()

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
        return Boxes(low, high, is_point, np.zeros(shape[0]), np.arange(shape[1]))


def check_affine(bins: Sequence[Bins], names: Sequence[str]) -> None:
    """Refuse what has no centre and scale."""
    for name, b in zip(names, bins, strict=True):
        if not isinstance(b, OrderedBins) or b.column.missing:
            raise ArgumentError(f"encoding 'affine' takes number columns without missing; {name!r} is not one")


@dataclass(frozen=True)
class Places:
    """What histograms tell of each class: its count, and in every column a centre and a scale.

    `centres` and `squared_scales` are (classes, columns), and so is `centre_variances`: how far off centres may be.
    """

    counts: FloatArray
    count_variances: FloatArray
    centres: FloatArray
    centre_variances: FloatArray
    squared_scales: FloatArray


def locate(histograms: Sequence[FloatArray], sd: FloatArray, bins: Sequence[Bins]) -> Places:
    """The place of every class in every column, from noisy histograms: one (classes, bins) array a column.

    A normal of each centre and scale on a grid is held against the cells, after a prior that all classes share.
    Nothing says whether a window of cells is the class or noise but the count, so counts are found first, from all
    columns together.
    """
    columns = [Templates.of(_ordered(b), noisy) for b, noisy in zip(bins, histograms, strict=True)]
    precision = np.array([1.0 / (s**2 * c.cells.shape[1]) for c, s in zip(columns, sd, strict=True)])
    rows = precision @ np.array([c.cells.sum() for c in columns]) / precision.sum()
    classes = len(histograms[0])
    share = np.full(classes, max(rows / classes, 1.0))  # give or take as much
    before = 1.0 / share**2
    counts, variances = share, share**2
    for _ in range(2):  # the prior needs counts, and counts need the prior
        columns = with_common_prior(columns, counts, variances, sd)
        gained, evidence = count_evidence(columns, share, sd)
        variances = 1.0 / (before + gained.sum(axis=0))
        counts = np.maximum((1.0 / share + evidence.sum(axis=0)) * variances, 1.0)
    placed = []
    for c, column in enumerate(columns):  # a column's count comes from the others, lest its noise be counted twice
        others = before + gained.sum(axis=0) - gained[c]
        count = (1.0 / share + evidence.sum(axis=0) - evidence[c]) / others
        placed.append(column.places(np.maximum(count, 1.0), 1.0 / others, float(sd[c])))
    return Places(counts, variances, *(np.stack(part, axis=1) for part in zip(*placed, strict=True)))


def count_evidence(columns: list[Templates], share: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What each column adds to the precision of each class's count, and to precision times count, beyond the share give
    or take as much that goes in.
    """
    found = [column.counts(share, share**2, float(s)) for column, s in zip(columns, sd, strict=True)]
    gained = np.stack([np.maximum(1.0 / variance - 1.0 / share**2, 0.0) for _, variance in found])
    return gained, np.stack([count / variance - 1.0 / share for count, variance in found])


@dataclass(frozen=True)
class Normal:
    """A normal distribution, by its mean and variance."""

    mean: float
    variance: float

    def log_density(self, values: FloatArray) -> FloatArray:
        """Up to a constant."""
        return np.asarray(-0.5 * (values - self.mean) ** 2 / self.variance)

    @classmethod
    def pooled(cls, weights: Sequence[FloatArray], values: Sequence[FloatArray]) -> Normal:
        """The distribution of values that are known by weights, one row of weights for each; one more value with mean 0
        and variance 1 stands for what is believed before.
        """
        number = 1 + sum(len(each) for each in weights)
        first = sum(float((each @ value).sum()) for each, value in zip(weights, values, strict=True))
        second = sum(float((each @ value**2).sum()) for each, value in zip(weights, values, strict=True))
        mean = first / number
        return cls(mean, (1.0 + second) / number - mean**2)


def with_common_prior(
    columns: list[Templates], counts: FloatArray, variances: FloatArray, sd: FloatArray
) -> list[Templates]:
    """The templates with a prior that is learnt from all histograms together, by EM.

    A histogram that noise hides says little of its class, and all together say much: logarithms of scales, in units of
    the bounds, are taken for normal over all classes and columns, and centres over the classes of a column. Without
    that a hidden class would get the scale in the middle of those tried, too narrow or too wide by what bounds happen
    to be, and lie anywhere in them.
    """
    for _ in range(PRIOR_ROUNDS):
        weights = [column.weights(counts, variances, float(s)) for column, s in zip(columns, sd, strict=True)]
        scale = Normal.pooled(weights, [column.z_scales for column in columns])
        columns = [c.given(Normal.pooled([w], [c.z_centres]), scale) for c, w in zip(columns, weights, strict=True)]
    return columns


@dataclass(frozen=True)
class Templates:
    """The cells of a column beside those of one row from each normal on a grid.

    `z_centres` and `z_scales` are centres and logarithms of scales in units of what is tried: mean 0 and variance 1.
    """

    cells: FloatArray  # (classes, bins)
    centres: FloatArray
    scales: FloatArray
    masses: FloatArray  # (templates, bins)
    resolution: float  # variance of a value within a bin
    z_centres: FloatArray
    z_scales: FloatArray
    log_prior: FloatArray

    @classmethod
    def of(cls, bins: OrderedBins, noisy: FloatArray) -> Templates:
        """Scales from what a bin resolves to the whole range; centres half a scale apart."""
        half = (bins.step or 0.0) / 2.0
        edges = np.append(bins.low - half, bins.high[-1] + half)
        first = np.unique(np.linspace(0, len(bins.low), min(len(bins.low), MOST_CELLS) + 1).astype(int)[:-1])
        cells, edges = np.add.reduceat(noisy, first, axis=1), np.append(edges[first], edges[-1])
        span = edges[-1] - edges[0]
        finest = span / len(first) / np.sqrt(12.0)
        scales = np.geomspace(finest, span / np.sqrt(12.0), SCALES)
        grids = [np.linspace(edges[0], edges[-1], int(2.0 * span / scale) + 1) for scale in scales]
        centres = np.concatenate(grids)
        widths = np.repeat(scales, [len(grid) for grid in grids])
        cdf = ndtr((edges - centres[:, None]) / widths[:, None])
        cdf[:, 0], cdf[:, -1] = 0.0, 1.0  # what lies outside is clamped
        number = np.arange(SCALES)
        z_scales = np.repeat((number - number.mean()) / number.std(), [len(grid) for grid in grids])
        z_centres = (centres - (edges[0] + edges[-1]) / 2.0) / (span / np.sqrt(12.0))
        # Centres lie closer for small scales: each scale counts the same.
        return cls(cells, centres, widths, np.diff(cdf, axis=1), finest**2, z_centres, z_scales, np.log(widths))

    def given(self, centre: Normal, scale: Normal) -> Templates:
        """The same templates once centres and scales are known to be distributed like this."""
        log_prior = np.log(self.scales) + centre.log_density(self.z_centres) + scale.log_density(self.z_scales)
        return replace(self, log_prior=log_prior)

    def weights(self, counts: FloatArray, variances: FloatArray, sd: float) -> FloatArray:
        """How likely each template is for each class, given what is believed of its count."""
        return self._weigh(counts, variances, sd)[0]

    def counts(self, counts: FloatArray, variances: FloatArray, sd: float) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each class's count, given what was believed of it."""
        weights, heights, height_variances = self._weigh(counts, variances, sd)
        mean = (weights * heights).sum(axis=1)
        return mean, (weights * (heights**2 + height_variances)).sum(axis=1) - mean**2

    def places(self, counts: FloatArray, variances: FloatArray, sd: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and variance of each class's centre, and its squared scale."""
        weights, _, _ = self._weigh(counts, variances, sd)
        centres = weights @ self.centres
        spread = weights @ self.centres**2 - centres**2
        return centres, spread.clip(0.0) + self.resolution, np.exp(2.0 * (weights @ np.log(self.scales)))

    def _weigh(self, counts: FloatArray, variances: FloatArray, sd: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How likely each template is for each class, and the height (the count) it then has.

        With cells y, template p and a count known as n +- v, the height has precision p.p / s^2 + 1 / v^2, and the
        likelihood left after it is integrated out is that of a normal.
        """
        energy = (self.masses**2).sum(axis=1)
        cell = (sd**2 + counts * energy.mean())[:, None]  # noise, and the rows' own scatter
        precision = energy / cell + 1.0 / variances[:, None]
        heights = (self.cells @ self.masses.T / cell + (counts / variances)[:, None]) / precision
        fit = 0.5 * (heights.clip(0.0) ** 2 * precision - np.log(precision))
        fit += self.log_prior
        weights = np.exp(fit - fit.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True), heights, 1.0 / precision


def _ordered(bins: Bins) -> OrderedBins:
    assert isinstance(bins, OrderedBins)  # check_affine has seen to it
    return bins
