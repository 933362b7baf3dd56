"""The `scores` encoding: every column becomes about standard normal within its class, and back.

A bin's latent coordinate is the normal score of the middle of the bin in the class's noisy CDF. Categories
have no order of their own, so they are first put in the order of the classes they go with: the first axis
of correspondence analysis of the noisy level-by-class table, which for two classes is the order of the
log-odds. A category then needs one latent coordinate, not one per level. Decoding inverts the CDF.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp, ndtr, ndtri

from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.encoding.boxes import LOG_SQRT_2PI, Boxes
from sfumato.encoding.marginals import Marginals
from sfumato.encoding.thresholds import Thresholds
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray, Layout

if TYPE_CHECKING:
    from sfumato.models.gaussian_mixture import GaussianMixture

HERMITE_TERMS = 7
BISECTIONS = 40
QUANTILE_BISECTIONS = 60
FAR = 9.0  # standard deviations beyond which a component has no mass worth finding
LARGEST_CORRELATION = 0.999


@dataclass(frozen=True)
class Latent1D:
    """How one latent coordinate of a class is distributed: a mixture of normals."""

    weights: FloatArray
    means: FloatArray
    scales: FloatArray

    def cdf(self, z: FloatArray) -> FloatArray:
        """The distribution function."""
        return np.asarray(ndtr((z[..., None] - self.means) / self.scales) @ self.weights)

    def log_density(self, z: FloatArray) -> FloatArray:
        """The logarithm of the density."""
        apart = (z[..., None] - self.means) / self.scales
        return np.asarray(logsumexp(-(apart**2) / 2.0 - np.log(self.scales), axis=-1, b=self.weights) - LOG_SQRT_2PI)

    def quantile(self, u: FloatArray) -> FloatArray:
        """The inverse of the CDF, by bisection: from -inf at 0 to inf at 1."""
        low = np.full(np.shape(u), (self.means - FAR * self.scales).min())
        high = np.full(np.shape(u), (self.means + FAR * self.scales).max())
        for _ in range(QUANTILE_BISECTIONS):
            middle = (low + high) / 2.0
            below = self.cdf(middle) < u
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        inside = np.where(u <= 0.0, -np.inf, (low + high) / 2.0)
        return np.where(u >= 1.0, np.inf, inside)


@dataclass(frozen=True)
class Tabled:
    """How one latent coordinate of a class is distributed, by its quantiles at the middles of equal shares."""

    quantiles: FloatArray

    @cached_property
    def _shares(self) -> FloatArray:
        return (np.arange(len(self.quantiles)) + 0.5) / len(self.quantiles)

    def cdf(self, z: FloatArray) -> FloatArray:
        """The distribution function, linear between the quantiles."""
        return np.asarray(np.interp(z, self.quantiles, self._shares))

    def log_density(self, z: FloatArray) -> FloatArray:
        """Not known: a table of quantiles has no density."""
        raise NotImplementedError("a table of quantiles has no density")

    def quantile(self, u: FloatArray) -> FloatArray:
        """The inverse of the distribution function."""
        return np.asarray(np.interp(u, self._shares, self.quantiles))


class StandardNormal:
    """The latent coordinate of a class that is one Gaussian."""

    def cdf(self, z: FloatArray) -> FloatArray:
        """The distribution function."""
        return np.asarray(ndtr(z))

    def log_density(self, z: FloatArray) -> FloatArray:
        """The logarithm of the density."""
        return np.asarray(-(z**2) / 2.0 - LOG_SQRT_2PI)

    def quantile(self, u: FloatArray) -> FloatArray:
        """The inverse of the distribution function."""
        return np.asarray(ndtri(u))


STANDARD = StandardNormal()
Law = Latent1D | StandardNormal | Tabled


@dataclass(frozen=True)
class ColumnScores:
    """One column's map: `order` lists its bins from the lowest latent value to the highest, `masses[k]`
    the probability of every bin (by bin number) in class k.

    A class that is one Gaussian has a standard normal coordinate. `latent[k]` says how else it is distributed in a
    class of several, so that a column's marginal stays what the masses say whatever the components are.
    """

    order: IntArray
    masses: FloatArray
    latent: tuple[Law, ...] | None = None

    def law(self, k: int) -> Law:
        """The latent law of a class."""
        return STANDARD if self.latent is None else self.latent[k]

    @cached_property
    def rank(self) -> IntArray:
        """The place of each bin in the latent order."""
        return np.argsort(self.order)

    @cached_property
    def cdf(self) -> FloatArray:
        """cdf[k, i]: the mass of class k in the first i bins of the latent order; from 0 to 1."""
        sums = np.cumsum(self.masses[:, self.order], axis=1)
        return np.pad(sums / sums[:, -1:], ((0, 0), (1, 0)))

    @cached_property
    def edges(self) -> FloatArray:
        """The latent thresholds between the bins, from -inf to inf."""
        return np.stack([self.law(k).quantile(row) for k, row in enumerate(self.cdf)])

    @cached_property
    def _shares(self) -> tuple[Thresholds, ...]:
        """By class, the masses of the bins before each but the first."""
        return tuple(Thresholds(row[1:]) for row in self.cdf)

    @cached_property
    def _inner_edges(self) -> tuple[Thresholds, ...]:
        return tuple(Thresholds(row[1:-1]) for row in self.edges)

    @cached_property
    def _short_edges(self) -> tuple[Thresholds, ...]:
        """The same for numbers of single precision: each edge rounded up to one of them, which changes no answer."""
        found = []
        for row in self.edges:
            near = row[1:-1].astype(np.float32)
            found.append(Thresholds(np.where(near < row[1:-1], np.nextafter(near, np.float32(np.inf)), near)))
        return tuple(found)

    @cached_property
    def _short_order(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        return self.order.astype(np.int32)

    @cached_property
    def in_order(self) -> FloatArray:
        """The score of each bin, in the latent order."""
        return ndtri((self.cdf[:, :-1] + self.cdf[:, 1:]) / 2.0)

    @cached_property
    def scores(self) -> FloatArray:
        """The score of each bin, by bin number."""
        return self.in_order[:, self.rank]

    def pooled(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The score of each bin if the classes, so weighted, are taken for one: by bin number, and in latent order."""
        everyone = ColumnScores(self.order, (weights / weights.sum() @ self.masses)[None])
        return everyone.scores[0], everyone.in_order[0]

    @property
    def means(self) -> FloatArray:
        """The mean score of each class."""
        return (self.masses * self.scores).sum(axis=1)

    @property
    def variances(self) -> FloatArray:
        """The variance of each class's scores."""
        return (self.masses * self.scores**2).sum(axis=1) - self.means**2

    @cached_property
    def hermite(self) -> FloatArray:
        """Coefficients E[s(Z) He_m(Z)], m = 1.., of the staircase s from a latent normal Z to its score.

        The integral of He_m phi from a to b is He_{m-1}(a) phi(a) - He_{m-1}(b) phi(b).
        """
        finite = np.where(np.isfinite(self.edges), self.edges, 0.0)
        density = np.where(np.isfinite(self.edges), np.exp(-(finite**2) / 2) / math.sqrt(2 * math.pi), 0.0)
        before, polynomial = np.zeros_like(finite), np.ones_like(finite)
        coefficients = []
        for m in range(1, HERMITE_TERMS + 1):
            primitive = polynomial * density
            coefficients.append((self.in_order * (primitive[:, :-1] - primitive[:, 1:])).sum(axis=1))
            before, polynomial = polynomial, finite * polynomial - (m - 1) * before
        return np.stack(coefficients, axis=1)

    def bins_at(self, latent: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        """The bin that each latent value of class k falls in, and how far into it (0 to 1)."""
        u = self.law(k).cdf(latent)
        place = np.minimum(self._shares[k].not_above(u), len(self.order) - 1)
        return self.order[place], self._position(u, place, k)

    def codes_at(self, latent: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The bin that each latent value of class k, in single or double precision, falls in: `bins_at` by thresholds,
        which is faster.
        """
        edges = self._short_edges[k] if latent.dtype == np.float32 else self._inner_edges[k]
        return self._short_order.take(edges.not_above(latent))

    def position_in(self, latent: FloatArray, codes: IntArray, k: int) -> FloatArray:
        """How far into its bin, which is known, each latent value of class k is (0 to 1)."""
        return self._position(self.law(k).cdf(latent), self.rank[codes], k)

    def _position(self, u: FloatArray, place: IntArray, k: int) -> FloatArray:
        low, high = self.cdf[k][place], self.cdf[k][place + 1]
        return np.clip((u - low) / np.maximum(high - low, 1e-300), 0.0, np.nextafter(1.0, 0.0))

    def latent_at(self, codes: IntArray, position: FloatArray, k: int) -> FloatArray:
        """The latent value of a place inside a bin: the inverse of `bins_at`."""
        place = self.rank[codes]
        low, high = self.cdf[k][place], self.cdf[k][place + 1]
        return self.law(k).quantile(np.clip(low + position * (high - low), 1e-300, np.nextafter(1.0, 0.0)))

    def box(self, codes: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
        """The latent interval of each bin; the whole line for the code -1."""
        place = self.rank[codes]
        low = np.where(codes >= 0, self.edges[k][place], -np.inf)
        return low, np.where(codes >= 0, self.edges[k][place + 1], np.inf)


@dataclass(frozen=True)
class Scores:
    """The encoding of a whole table, and the encoder of a model in its latent space.

    Attributes:
        columns: The scores of every feature, in order.
    """

    columns: tuple[ColumnScores, ...]

    name = "scores"

    @classmethod
    def of(cls, marginals: Marginals, bins: tuple[Bins, ...]) -> Scores:
        """The scores of cleaned marginals."""
        return cls(
            tuple(
                ColumnScores(latent_order(masses, marginals.counts, sd, b), masses)
                for masses, sd, b in zip(marginals.masses, marginals.sd, bins, strict=True)
            )
        )

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.columns[0].masses)

    def to_arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """What a file keeps: each column's order of bins and their masses; latent laws follow from the model."""
        found: dict[str, np.ndarray[Any, Any]] = {}
        for c, column in enumerate(self.columns):
            found |= {f"order.{c}": column.order.astype(np.int64), f"masses.{c}": column.masses}
        return found

    @classmethod
    def shapes(cls, layout: Layout, insist: Insist) -> Specs:
        """The arrays that a file of this layout has."""
        insist(not layout.groups, "its encoding does not fit its schema")
        found: Specs = {}
        for c, size in enumerate(layout.sizes):
            found |= {f"order.{c}": ArraySpec((size,), np.int64), f"masses.{c}": ArraySpec((layout.classes, size))}
        return found

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: NamedArrays, insist: Insist) -> Scores:
        """The encoder, checked, over latent coordinates that are standard normal."""
        columns = []
        for c, size in enumerate(layout.sizes):
            order, masses = arrays[f"order.{c}"], arrays[f"masses.{c}"]
            insist(np.array_equal(np.sort(order), np.arange(size)), f"order.{c} is not an order of the bins")
            insist((masses > 0).all(), f"masses.{c} are not probabilities")
            insist(np.allclose(masses.sum(axis=1), 1.0, atol=1e-6), f"masses.{c} do not add up to one")
            columns.append(ColumnScores(order, masses))
        return cls(tuple(columns))

    @property
    def is_matched(self) -> bool:
        """Whether latent coordinates are a model's own, and not standard normal."""
        return self.columns[0].latent is not None

    def matched(self, mixture: GaussianMixture) -> Scores:
        """The same marginals over the latent space of a mixture with several components a class."""
        sds = np.sqrt([np.diagonal(mixture.covariance(c)) for c in range(mixture.components)])
        weights = mixture.weights / mixture.class_weights[mixture.component_class]
        members = [mixture.members(k) for k in range(self.classes)]
        return Scores(
            tuple(
                replace(column, latent=tuple(Latent1D(weights[m], mixture.means[m, c], sds[m, c]) for m in members))
                for c, column in enumerate(self.columns)
            )
        )

    def tabled(self, rows: Sequence[FloatArray]) -> Scores:
        """The same marginals over the latent space of a model that is known by rows drawn from it, class by class."""
        ordered = [np.sort(drawn, axis=0) for drawn in rows]
        return Scores(
            tuple(
                replace(column, latent=tuple(Tabled(drawn[:, c]) for drawn in ordered))
                for c, column in enumerate(self.columns)
            )
        )

    def decode(self, latent: FloatArray, labels: IntArray, bins: Sequence[Bins]) -> list[pd.Series[Any]]:
        """The columns of latent rows of the given classes, in the schema's types."""
        return [b.decode(*place) for b, place in zip(bins, self._places(latent, labels), strict=True)]

    def codes(self, latent: FloatArray, labels: IntArray) -> list[IntArray]:
        """The bins of latent rows of the given classes, column by column."""
        return [codes for codes, _ in self._places(latent, labels)]

    def _places(self, latent: FloatArray, labels: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """The bins of every column, and how far into them rows are; rows of a class are looked at together."""
        order = np.argsort(labels, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        ends = np.searchsorted(labels[order], np.arange(self.classes + 1))
        runs = [slice(*each) for each in itertools.pairwise(ends)]
        by_class = np.ascontiguousarray(latent[order].T)
        for column, coordinate in zip(self.columns, by_class, strict=True):
            found = [column.bins_at(coordinate[run], k) for k, run in enumerate(runs)]
            codes, position = (np.concatenate(part) for part in zip(*found, strict=True))
            yield codes.take(back), position.take(back)

    def boxes(
        self, codes: Sequence[IntArray], values: Sequence[FloatArray | None], bins: Sequence[Bins], k: int
    ) -> Boxes:
        """The latent intervals of cells' bins in class k, or points where a bin spreads its mass over an interval."""
        shape = (len(codes[0]), len(codes))
        low, high = np.empty(shape, order="F"), np.empty(shape, order="F")
        is_point = np.zeros(shape, dtype=bool)
        change = np.zeros(shape[0])
        for c, (code, value, b) in enumerate(zip(codes, values, bins, strict=True)):
            column = self.columns[c]
            low[:, c], high[:, c] = column.box(code, k)
            if value is None or isinstance(b, CategoryBins):
                continue
            point = (code >= 0) & b.continuous[code]
            inside = np.clip(value, b.low[0], b.high[-1])  # as their bins have it
            z = column.latent_at(code, b.position(inside, code), k)
            # dz/dx = (mass / width) / density of z
            density = np.log(column.masses[k][code]) - column.law(k).log_density(z)
            low[:, c] = np.where(point, z, low[:, c])
            is_point[:, c] = point
            change += np.where(point, density, 0.0) - b.log_width(code)
        return Boxes(low, high, is_point, change, self._narrow_first)

    @cached_property
    def _narrow_first(self) -> IntArray:
        """The columns by how likely two rows of a class share a bin: in one order, lest classes differ by it."""
        return np.argsort([(column.masses**2).sum() for column in self.columns], kind="stable")

    def tables(self) -> list[list[FloatArray]]:
        """For each class and column, the latent coordinate of every bin."""
        return [[column.scores[k] for column in self.columns] for k in range(self.classes)]

    def means(self) -> FloatArray:
        """(classes, columns): the mean score that the marginals imply."""
        return np.stack([column.means for column in self.columns], axis=1)

    def variances(self) -> FloatArray:
        """(classes, columns): the variance of the scores that the marginals imply."""
        return np.stack([column.variances for column in self.columns], axis=1)

    def hermite(self, k: int) -> FloatArray:
        """(columns, terms): the staircases' Hermite coefficients in class k."""
        return np.stack([column.hermite[k] for column in self.columns])

    def latent_correlation(self, covariance: FloatArray, k: int) -> FloatArray:
        """The correlation of the latent normals whose scores have the given covariance in class k.

        Cov(s_i(Z_i), s_j(Z_j)) = sum over m of rho^m h_im h_jm / m! (Mehler), which grows with rho because
        the staircases do; solved by bisection for all pairs at once. Scores of coarse columns are less
        correlated than what lies behind them, and this takes it back.
        """
        coefficients = self.hermite(k)
        terms = [np.outer(h, h) / math.factorial(m + 1) for m, h in enumerate(coefficients.T)]
        low = np.full_like(covariance, -LARGEST_CORRELATION)
        high = -low
        for _ in range(BISECTIONS):
            middle = (low + high) / 2.0
            value = np.zeros_like(middle)
            for term in reversed(terms):  # Horner
                value = (value + term) * middle
            below = value < covariance
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        rho = (low + high) / 2.0
        np.fill_diagonal(rho, 1.0)
        return rho


def latent_order(masses: FloatArray, counts: FloatArray, sd: float, bins: Bins) -> IntArray:
    """The order in which a column's bins lie in latent space.

    Ordered bins keep their order; a missing bin goes to the end whose classes it resembles.
    """
    axis = correspondence_axis(masses, counts, sd)
    if not bins.ordered:
        return np.argsort(axis, kind="stable")
    inside = np.arange(bins.size - (bins.missing >= 0))
    if bins.missing < 0:
        return inside
    mass = counts @ masses[:, inside]
    trend = ((inside - np.average(inside, weights=mass)) * axis[inside] * mass).sum()
    at_top = trend * axis[bins.missing] > 0
    return np.append(inside, bins.missing) if at_top else np.append(bins.missing, inside)


def correspondence_axis(masses: FloatArray, counts: FloatArray, sd: float) -> FloatArray:
    """Each bin's place on the first axis of correspondence analysis of the bin-by-class table.

    A rare bin is shrunk to the middle by as many pseudo-rows as its noise is worth. With one class there is
    no axis, and all bins stay where the schema has them.
    """
    share = counts / counts.sum()
    table = counts[:, None] * masses + sd * share[:, None]
    table = table / table.sum()
    row, column = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(row, column)
    if len(counts) == 1:
        return np.zeros(masses.shape[1])
    _, _, right = np.linalg.svd((table - expected) / np.sqrt(expected), full_matrices=False)
    axis = right[0] / np.sqrt(column)
    # Fix the sign, which is arbitrary: the last class lies above.
    lean = (table[-1] / column - row[-1]) @ (axis * column)
    return np.asarray(axis if lean >= 0 else -axis)
