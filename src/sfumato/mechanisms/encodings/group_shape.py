"""Columns in groups: where classes lie, the covariance that they share, and its main directions (private PCA)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.encodings.column_looks import averaged
from sfumato.mechanisms.questions import feature_moments, latent_space, projected_image, unpack
from sfumato.mechanisms.shrinkage import shrink_to_class, shrinkage_weight
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.private.queries.features import WithOne
from sfumato.private.queries.group_sums import GroupSums
from sfumato.schema.layout import FloatArray
from sfumato.schema.projections import Projection

VARIANCE_FLOOR = 2.0**-20  # of a coordinate of the projection


@dataclass(frozen=True)
class Shape:
    """What is known of all classes together: counts, means and the covariance within them, in projected coordinates;
    `widths` is the spread of each class, in units of that of all, `edge` the largest eigenvalue that noise alone gives
    the covariance, and `mean_variances` what noise a coordinate of each mean has.
    """

    counts: FloatArray
    means: FloatArray
    within: FloatArray
    widths: FloatArray
    edge: float
    mean_variances: FloatArray

    @property
    def weights(self) -> FloatArray:
        """The share of each class."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def between(self) -> FloatArray:
        """The covariance between classes."""
        apart = self.means - self.weights @ self.means
        return np.asarray(np.einsum("k,ki,kj->ij", self.weights, apart, apart))


@dataclass(frozen=True)
class Directions:
    """The main directions: `matrix` maps coordinates to them, half whitened within classes (so that noise, which is
    the same in all of them, drowns neither the wide nor the narrow ones); `back` leads back, `spread` is the mean
    square norm within classes, and `rest` the covariance of what lies outside.
    """

    matrix: FloatArray
    back: FloatArray
    spread: float
    rest: FloatArray


@dataclass(frozen=True)
class Centres:
    """Count, sum and squared norms of each class's coordinates, and the noise on the first two."""

    counts: FloatArray
    sums: FloatArray
    norms: FloatArray
    count_sd: FloatArray
    sum_sd: FloatArray


def ask_centres(curator: Asker, plan: Plan, projection: Projection, tuning: GroupTuning) -> Centres:
    """Where the classes lie, and how far rows are from the origin."""
    everywhere = projected_image(np.zeros((plan.classes, projection.dim)))
    query = GroupSums(latent_space(everywhere, [projection.radius] * plan.classes), tuning.centre_shares, "norm")
    answer = curator.total("centres", query, plan.budget("centres", curator.remaining))
    counts, sums, norms = unpack(query, answer.values)
    count_sd, sum_sd, _ = unpack(query, answer.sd)
    return Centres(np.maximum(counts, tuning.noise.fewest_rows * count_sd), sums, norms, count_sd, sum_sd[:, 0])


def ask_shape(curator: Asker, plan: Plan, projection: Projection, tuning: GroupTuning) -> Shape:
    """Where the classes lie, then the second moment of all rows around their common mean."""
    first = ask_centres(curator, plan, projection, tuning)
    total = first.counts.sum()
    middle = first.sums.sum(axis=0) / total
    noise = plan.classes * first.sum_sd[0] ** 2 / total**2
    spread = first.norms.sum() / total - (middle**2).sum() + projection.dim * noise
    spread = float(np.clip(spread, VARIANCE_FLOOR * projection.dim, projection.radius**2))

    around = WithOne(projected_image(np.tile(middle, (plan.classes, 1))))
    query = feature_moments(around, math.sqrt(1.0 + tuning.clip * spread), plan.classes, tuning.shape_shares)
    answer = curator.total("shape", query, plan.budget("shape"))
    gram, cross = unpack(query, answer.values)
    gram_sd, cross_sd = (float(part[0, 0]) for part in unpack(query, answer.sd))

    # Both questions tell counts and means: counts are averaged, means weighted by how well each knows them.
    counts = (first.counts + np.maximum(cross[0], tuning.noise.fewest_rows * cross_sd)) / 2.0
    counts = np.maximum(counts, tuning.noise.fewest_rows * first.count_sd)
    weight = (first.sum_sd**-2 / (first.sum_sd**-2 + cross_sd**-2))[:, None]
    both = weight * (first.sums / counts[:, None]) + (1.0 - weight) * (middle + cross[1:].T / counts[:, None])
    variance = np.asarray((first.sum_sd**-2 + cross_sd**-2) ** -1 / counts**2)
    edge = gram_sd / counts.sum() * math.sqrt(2.0 * projection.dim)
    means = shrink_means(both, variance, counts, gram[1:, 1:] / counts.sum(), tuning.noise_edge * edge)

    own = np.maximum(first.norms / counts - (means**2).sum(axis=1), VARIANCE_FLOOR)
    widths = np.clip(own / (counts / counts.sum() @ own), *tuning.class_widths)
    known = Shape(counts, means, gram[1:, 1:] / counts.sum(), widths, edge, variance)
    return replace(known, within=known.within - known.between)


def ask_means(curator: Asker, shape: Shape, mu_squared: float, tuning: GroupTuning) -> Shape:
    """The means of classes once more, around those that are known: rows are nearer to these than to the middle of all,
    and are clipped nearer. Both are averaged by their precision, and shrunk to each other as far as noise moved them.

    Rows are so few that noise hides the widths of classes, which are taken to be one, and moves counts: those of this
    answer, to which more is given, replace the first ones.
    """
    dim = len(shape.within)
    spreads = max(float(np.trace(shape.within)), VARIANCE_FLOOR * dim) + dim * shape.mean_variances
    query = GroupSums(
        latent_space(projected_image(shape.means), list(np.sqrt(tuning.clip * spreads))), tuning.mean_shares
    )
    answer = curator.total("centres again", query, mu_squared)
    (counts, sums, _), (count_sd, sd, _) = unpack(query, answer.values), unpack(query, answer.sd)
    counts = np.maximum(counts, tuning.noise.fewest_rows * count_sd)
    known, asked = np.sqrt(shape.mean_variances)[:, None], sd[:, :1] / counts[:, None]
    means, left = averaged(shape.means, known, shape.means + sums / counts[:, None], asked)
    variances = left[:, 0] ** 2
    everywhere = (shape.within + shape.between) * (shape.counts.sum() / counts.sum())
    means = shrink_means(means, variances, counts, everywhere, tuning.noise_edge * shape.edge)
    nearer = replace(shape, counts=counts, means=means, widths=np.ones(len(means)), mean_variances=variances)
    return replace(nearer, within=everywhere - nearer.between)


def shrink_means(
    means: FloatArray, variances: FloatArray, counts: FloatArray, everywhere: FloatArray, least: float
) -> FloatArray:
    """Noisy means of classes, shrunk to each other as far as noise moved them. Classes differ where rows do: a
    direction in which the covariance `everywhere` is above `least` is taken by itself, all others together.
    """
    values, vectors = np.linalg.eigh(everywhere)
    clear, turned, weights = values > least, means @ vectors, counts / counts.sum()
    turned[:, clear] = shrink_to_class(turned[:, clear], variances, counts, np.zeros(len(means), dtype=np.int64))
    middle = weights @ turned[:, ~clear]
    apart = turned[:, ~clear] - middle
    energy = (apart**2).sum(axis=1) / max(apart.shape[1], 1)
    signal = max(float(weights @ (energy - variances)), VARIANCE_FLOOR)
    turned[:, ~clear] = middle + apart * (signal / (signal + variances))[:, None]
    return np.asarray(turned @ vectors.T)


def find_directions(shape: Shape, tuning: GroupTuning) -> Directions:
    """Where class means lie, and the eigenvectors of the covariance of all rows that stand out of the noise."""
    apart, _, _ = np.linalg.svd((shape.means - shape.weights @ shape.means).T, full_matrices=False)
    values, vectors = np.linalg.eigh(shape.within + shape.between)
    clear = int((values > tuning.noise_edge * shape.edge).sum())
    kept = min(max(clear, tuning.fewest_directions), tuning.most_directions, len(values))
    main, _ = np.linalg.qr(np.concatenate([apart[:, : len(shape.means) - 1], vectors[:, ::-1][:, :kept]], axis=1))
    inner, rotation = np.linalg.eigh(main.T @ shape.within @ main)
    scale = np.maximum(inner, tuning.steepest**-4) ** 0.25
    matrix = (rotation / scale).T @ main.T
    outside = np.eye(len(main)) - main @ main.T
    variances = np.diagonal(shape.within) - np.diagonal(main @ main.T @ shape.within @ main @ main.T)
    rest = outside @ np.diag(_evened(variances, shape.edge)) @ outside
    spread = float((scale**2).sum())
    return Directions(matrix, main @ (rotation * scale), spread, rest + VARIANCE_FLOOR * np.eye(len(main)))


def _evened(variances: FloatArray, edge: float) -> FloatArray:
    """Noisy variances of coordinates, shrunk to their mean by the James-Stein weight: cutting off those below zero
    alone would leave rows wider than they are.
    """
    apart = variances - variances.mean()
    weight = shrinkage_weight(edge**2 / 2.0, float(apart @ apart), 1.0)
    return np.asarray(np.maximum(variances - weight * apart, VARIANCE_FLOOR))
