"""The encoding of columns in groups: the public projection, and the way back to the columns.

Coordinates become columns by the projection's pseudo-inverse, and each column is then bent to a beta distribution
between its bounds with its class's noisy mean and variance: close to a normal where the variance is small, heaped at
both ends where it is as large as that of ink on paper. What the projection loses comes back by that stretching, and
hardly as noise: independent noise in every column is not what rows look like.

Of images whose lowest frequencies alone are kept, bending moves these frequencies, and with them what a digit is. A
mixture's rows of them are the nearest to the mean image that have the frequencies that were drawn
(`encoding.nearest_rows`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv, ndtr

from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.config import UNRECORDED, option
from sfumato.encoding.nearest_rows import nearest_rows
from sfumato.schema.layout import Bins, FloatArray, IntArray, Layout, OrderedBins
from sfumato.schema.projections import ENTRY_BITS, Projection

if TYPE_CHECKING:
    from sfumato.models.gaussian_mixture import GaussianMixture

Places = np.ndarray[Any, Any]  # single precision: there are many


@dataclass(frozen=True)
class Bending:
    """How columns are bent to beta distributions. A release file does not say it: it is what a file means."""

    jitter: float = option(
        0.3,
        help="Independent noise in a column: columns are not exact functions of each other.",
        unit="sd of the column",
        source=UNRECORDED,
    )
    levels: int = option(
        65, help="Places at which a beta distribution is inverted; between them it is linear.", source=UNRECORDED
    )
    farthest: float = option(4.0, help="The last of these places.", unit="sd of a normal", source=UNRECORDED)
    least_shape: float = option(1e-4, help="Of a beta distribution's two parameters.", source=UNRECORDED)
    spreads: tuple[float, float] = option(
        (1e-4, 0.98), help="Variances that are believed.", unit="of the largest at the mean", source=UNRECORDED
    )
    least_mean: float = option(1e-3, help="How near to a bound a mean may be.", unit="of the range", source=UNRECORDED)


BENDING = Bending()
PLACED_AT_ONCE = 1 << 13  # rows


@dataclass(frozen=True)
class Projected:
    """Class by class, each column's noisy mean and variance in units of its range, beside what the mixture explains.

    Attributes:
        projection: The public projection of the groups.
        means: (classes, columns).
        variances: (classes, columns).
        centres: (classes, coordinates) of the mixture.
        explained: (classes, columns), the variance that the mixture's coordinates give each column.
    """

    projection: Projection
    means: FloatArray
    variances: FloatArray
    centres: FloatArray
    explained: FloatArray

    name = "projected"

    @classmethod
    def of(
        cls, projection: Projection, means: FloatArray, variances: FloatArray, mixture: GaussianMixture | None
    ) -> Projected:
        """Without a mixture the coordinates that a model fills are still to be told (`around`)."""
        inside = np.clip(means, BENDING.least_mean, 1.0 - BENDING.least_mean)
        most = inside * (1.0 - inside)
        kept = np.clip(variances, BENDING.spreads[0] * most, BENDING.spreads[1] * most)
        if mixture is None:
            return cls(projection, inside, kept, np.zeros((len(means), projection.dim)), np.ones_like(means))
        return cls(projection, inside, kept, mixture.class_means, column_variances(projection, mixture))

    def matched(self, mixture: GaussianMixture) -> Projected:
        """The same columns over the coordinates of a mixture."""
        return Projected.of(self.projection, self.means, self.variances, mixture)

    def to_arrays(self) -> dict[str, FloatArray]:
        """What a file keeps: the columns' distributions; the rest follows from the schema and the model."""
        return {"column_means": self.means, "column_variances": self.variances}

    @classmethod
    def shapes(cls, layout: Layout, insist: Insist) -> Specs:
        """The arrays that a file of this layout has."""
        insist(layout.groups, "its encoding does not fit its schema")
        shape = layout.classes, len(layout.names)
        return {"column_means": ArraySpec(shape), "column_variances": ArraySpec(shape)}

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: NamedArrays, insist: Insist) -> Projected:
        """The encoder, checked; the coordinates that a model fills are still to be told."""
        means, variances = arrays["column_means"], arrays["column_variances"]
        insist((np.abs(means - 0.5) <= 0.5).all(), "column_means are not between 0 and 1")
        insist((variances > 0).all(), "column_variances are not positive")
        return cls.of(Projection.of(layout.groups), means, variances, None)

    def around(self, rows: Sequence[FloatArray]) -> Projected:
        """The same columns over the coordinates of a model that is known by rows drawn from it, class by class."""
        explained = np.stack([(drawn @ self.projection.back.T).var(axis=0) for drawn in rows])
        return replace(self, centres=np.stack([drawn.mean(axis=0) for drawn in rows]), explained=explained)

    @cached_property
    def quantiles(self) -> FloatArray:
        """(classes, columns, levels): each column's beta distribution, inverted where a normal is at equal steps."""
        both = self.means * (1.0 - self.means) / self.variances - 1.0
        least = BENDING.least_shape
        near, far = (np.maximum(both * share, least)[..., None] for share in (self.means, 1.0 - self.means))
        places = np.linspace(-BENDING.farthest, BENDING.farthest, BENDING.levels)
        return np.asarray(betaincinv(near, far, ndtr(places)), dtype=np.float64)

    def places(self, latent: FloatArray, labels: IntArray, rng: np.random.Generator) -> Places:
        """Where the columns of projected rows of the given classes lie between their bounds, from 0 to 1."""
        places = np.empty((len(latent), self.means.shape[1]), dtype=np.float32)
        for start in range(0, len(latent), PLACED_AT_ONCE):
            part = slice(start, start + PLACED_AT_ONCE)
            places[part] = self._places(latent[part], labels[part], rng)
        return places

    def drawn(self, latent: FloatArray, labels: IntArray, rng: np.random.Generator, weights: FloatArray) -> Places:
        """The same, with images that have the coordinates; `weights` are those of the classes, for the mean image."""
        covered = sum(b - a for a, b in self.projection.images)
        places = (
            np.empty((len(latent), covered), np.float32)
            if covered == self.means.shape[1]
            else self.places(latent, labels, rng)
        )
        middle, wanted = (weights @ self.means).astype(np.float32), latent.astype(np.float32)
        for a, b in self.projection.images:
            mine = self.projection.matrix[:, a:b].any(axis=1)
            back = self.projection.back[a:b, mine].astype(np.float32)
            places[:, a:b] = nearest_rows(wanted[:, mine], self._matrix[mine, a:b], back, middle[a:b])
        return places

    def seen(self, places: Places) -> FloatArray:
        """The projection of rows given by their places: what a label model, which has seen projections of real rows,
        is to be asked about. Bending columns moves it a good way from the coordinates that were drawn.
        """
        return np.asarray((places - np.float32(0.5)) @ self._matrix.T, dtype=np.float64)

    @cached_property
    def _matrix(self) -> Places:
        scale = 2.0 ** -(ENTRY_BITS + self.projection.halvings)
        return np.asarray(self.projection.matrix * scale, dtype=np.float32)

    def _places(self, latent: FloatArray, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        apart = (latent - self.centres[labels]) @ self.projection.back.T
        apart /= np.sqrt(np.maximum(self.explained, 1e-12))[labels]
        apart += BENDING.jitter * rng.standard_normal(apart.shape)
        farthest, levels = BENDING.farthest, BENDING.levels
        inside = np.clip(apart / math.hypot(1.0, BENDING.jitter), -farthest, farthest)
        level = (inside / farthest + 1.0) * (levels - 1) / 2.0
        below = np.minimum(level.astype(np.int64), levels - 2)
        flat = self.quantiles.reshape(-1)
        below_at = (labels[:, None] * self.means.shape[1] + np.arange(self.means.shape[1])) * levels + below
        low, high = flat[below_at], flat[below_at + 1]
        return np.asarray(low + (high - low) * (level - below))


def column_variances(projection: Projection, mixture: GaussianMixture) -> FloatArray:
    """(classes, columns): the variance that a mixture's coordinates give each column."""
    back = projection.back
    found = []
    for k in range(mixture.classes):
        mine = mixture.members(k)
        weights = mixture.weights[mine] / mixture.weights[mine].sum()
        apart = (mixture.means[mine] - weights @ mixture.means[mine]) @ back.T
        covariance = np.einsum("m,mij->ij", weights, [mixture.covariance(c) for c in mine])
        found.append(weights @ apart**2 + ((back @ covariance) * back).sum(axis=1))
    return np.stack(found)


def columns(places: Places, bins: Sequence[Bins]) -> list[pd.Series[Any]]:
    """Columns in the schema's types, from their places between their bounds."""
    return [_column(places[:, c], b) for c, b in enumerate(bins)]


def _column(places: np.ndarray[Any, Any], bins: Bins) -> pd.Series[Any]:
    assert isinstance(bins, OrderedBins)  # groups are of numbers
    low, high = bins.bounds
    return bins.of_values(low + (high - low) * places.astype(np.float64))
