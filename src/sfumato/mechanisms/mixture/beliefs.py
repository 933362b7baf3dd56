"""What is believed of every class's count, mean and covariance, and how a look at the moments changes it.

Everything here is post-processing of noisy answers whose noise is known: Bayes' rule for Gaussians, class by class.
docs/proofs/mixture.md, section 6, derives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.clipping import Clip, unclip
from sfumato.mechanisms.mixture.class_moments import entry_variance
from sfumato.schema.layout import FloatArray

NARROWEST = 0.01  # of an eigenvalue, in units of the shape that was looked at
NODES = 256  # of the integral over an eigenvalue
COVERED = 6.0  # standard deviations that the integral covers
FEWEST = 1.0  # rows in a class


@dataclass(frozen=True)
class Beliefs:
    """For each class k: a count with a variance, a mean with a covariance, and a covariance of the rows.

    `shapes[k]` is the last as it was measured: unbiased, and not always positive. In the space of `maps[k]` its noise
    is symmetric with variance about `noise[k]` on the diagonal and half of that off it.
    """

    counts: FloatArray
    count_variances: FloatArray
    means: FloatArray
    mean_covariances: FloatArray
    shapes: FloatArray
    maps: FloatArray
    noise: FloatArray

    @property
    def dim(self) -> int:
        """How many columns there are."""
        return int(self.means.shape[1])

    @property
    def sizes(self) -> FloatArray:
        """Counts to divide by."""
        return divisors(self.counts, self.count_variances)

    @cached_property
    def covariances(self) -> FloatArray:
        """The covariances of a class's rows: what a look has to cover, and what is released."""
        values, vectors = np.linalg.eigh(_carry(self.maps, self.shapes))
        back = np.linalg.inv(self.maps) @ vectors
        made = (back * settle_eigenvalues(values, self.noise[:, None])[:, None, :]) @ _t(back)
        return np.asarray((made + _t(made)) / 2.0)

    def precisions(self, maps: FloatArray) -> FloatArray:
        """Inverse covariances of the rows in the space of the maps."""
        return np.asarray(np.linalg.inv(_carry(maps, self.covariances)))

    @property
    def spans(self) -> FloatArray:
        """The covariance to expect of a row around the mean believed: the class's own, and that of its mean."""
        return self.covariances + self.mean_covariances


@dataclass(frozen=True)
class Glance:
    """A noisy look at the clipped moments of every class in the space of `maps`, around the means believed."""

    maps: FloatArray
    radii: FloatArray
    counts: FloatArray
    sums: FloatArray
    seconds: FloatArray
    count_sd: FloatArray
    sum_sd: FloatArray
    second_sd: FloatArray  # of a diagonal entry


def divisors(counts: FloatArray, variances: FloatArray) -> FloatArray:
    """Counts that may be divided by: not below half of what noise may hide."""
    return np.maximum(counts, np.maximum(np.sqrt(variances) / 2.0, FEWEST))


def settle_eigenvalues(values: FloatArray, noise: FloatArray) -> FloatArray:
    """sqrt(E[x] / E[1 / x]) of eigenvalues x that were measured as `values` with noise of such variance: what makes the
    sum of both KL divergences between released and fitted least on average.

    x is taken for normal around its value, cut off at NARROWEST; what was believed before is in the values already.
    """
    sd = np.sqrt(noise)
    low = np.log(np.maximum(values - COVERED * sd, NARROWEST))
    high = np.log(np.maximum(values, NARROWEST) + COVERED * sd)
    x = np.exp(low[..., None] + (high - low)[..., None] * np.linspace(0.0, 1.0, NODES))
    log_density = -0.5 * ((x - values[..., None]) / sd[..., None]) ** 2
    density = x * np.exp(log_density - log_density.max(axis=-1, keepdims=True))  # nodes are even in log x
    return np.asarray(np.sqrt((density * x).sum(axis=-1) / (density / x).sum(axis=-1)))


def costs(beliefs: Beliefs, maps: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected KL of each class from the noise on its count, mean and covariance: of a look at mu = 1, and as things
    stand.
    """
    dim, size = beliefs.dim, beliefs.sizes
    clip = Clip(dim, radii)
    precision = beliefs.precisions(maps)
    own = beliefs.precisions(beliefs.maps)
    per_count = (0.25 * dim + 0.5) / size**2
    mean = 0.5 * (radii / clip.mean / size) ** 2 * np.trace(precision, axis1=1, axis2=2)
    covariance = 0.25 * (radii**2 / size) ** 2 * clip.amplified * _energy(precision)
    located = 0.5 * np.einsum("kij,kji->k", np.linalg.inv(beliefs.covariances), beliefs.mean_covariances)
    look = np.stack([per_count, mean, covariance], axis=1)
    now = np.stack([per_count * beliefs.count_variances, located, 0.25 * beliefs.noise * _energy(own)], axis=1)
    share = (size / size.sum())[:, None]
    return share * look, share * now


def learn(before: Beliefs, seen: Glance) -> Beliefs:
    """The beliefs after a look: counts, then where the class lies, then its shape around there."""
    dim = before.dim
    precision = 1.0 / before.count_variances + 1.0 / seen.count_sd**2
    counts = (before.counts / before.count_variances + seen.counts / seen.count_sd**2) / precision
    clip, size = Clip(dim, seen.radii), divisors(counts, 1.0 / precision)
    back = np.asarray(np.linalg.inv(seen.maps))

    # Where the class lies: a Kalman update. Before the look the mean is at 0 in the space looked at.
    spread = _carry(seen.maps, before.mean_covariances)
    mean_noise = (seen.sum_sd / (size * clip.mean)) ** 2
    gain = spread @ np.linalg.inv(spread + mean_noise[:, None, None] * np.eye(dim))
    moved = np.einsum("kij,kj->ki", gain, seen.sums / (size * clip.mean)[:, None])
    left = spread - gain @ spread

    # How it is shaped.
    seconds, put_back, clipped = unclip(seen.radii, seen.seconds / size[:, None, None])
    measured = seconds - np.einsum("ki,kj->kij", moved, moved) - left
    noise = (seen.second_sd / size) ** 2 * clipped.amplified + put_back
    return Beliefs(
        counts,
        1.0 / precision,
        before.means + np.einsum("kij,kj->ki", back, moved),
        _carry(back, left),
        *average_shapes(before, seen.maps, measured, noise),
    )


def average_shapes(
    before: Beliefs, maps: FloatArray, measured: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shapes as believed before and as measured in the space of `maps`, weighed by their precision; and the space in
    which what is left of their noise is alike in all directions, with its variance.

    Noise that was alike in all directions of one space is not in another, and where classes are narrow there is far
    more of it. Along the axes of the map between both spaces its entries are independent, so they are averaged there.
    """
    dim = before.dim
    between = maps @ np.linalg.inv(before.maps)
    stretched, axes = np.linalg.eigh(between @ _t(between))
    turned = _t(axes) @ maps
    unit = np.broadcast_to(np.eye(dim), turned.shape)
    first = entry_variance(np.sqrt(before.noise), stretched[:, :, None] * unit)
    second = entry_variance(np.sqrt(noise), unit)
    prior = _carry(turned, before.shapes)
    combined = prior + first / (first + second) * (_carry(_t(axes), measured) - prior)
    variance = first * second / (first + second)
    typical = variance.sum(axis=(1, 2)) / (dim * (dim + 1) / 2)
    even = (typical[:, None] / np.diagonal(variance, axis1=1, axis2=2)) ** 0.25
    return _carry(np.asarray(np.linalg.inv(turned)), combined), even[:, :, None] * turned, typical


def _t(matrices: FloatArray) -> FloatArray:
    return np.swapaxes(matrices, -1, -2)


def _carry(maps: FloatArray, matrices: FloatArray) -> FloatArray:
    """A M A^T, made exactly symmetric."""
    carried = maps @ matrices @ _t(maps)
    return np.asarray((carried + _t(carried)) / 2.0)


def _energy(precision: FloatArray) -> FloatArray:
    """Sum of the entry variances of unit noise in the space where a class has such a precision, in whitened units."""
    return np.asarray(0.5 * (np.trace(precision, axis1=1, axis2=2) ** 2 + (precision**2).sum(axis=(1, 2))))
