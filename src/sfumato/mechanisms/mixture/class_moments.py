"""Noisy looks at the moments of every class: asking for them, choosing where to look, putting looks together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.budget import moment_costs, radius
from sfumato.mechanisms.clipping import SPREAD_FLOOR, unclipped
from sfumato.mechanisms.questions import latent_space, unpack
from sfumato.mechanisms.shrinkage import inverse_root, shrink_class_means
from sfumato.private.queries.base import MAP_BITS, Image
from sfumato.private.queries.group_sums import GroupSums
from sfumato.schema.layout import FloatArray

WHITENING_FLOOR = 1.0 / 64.0  # smallest eigenvalue that whitening will stretch: the map stays below 8


@dataclass(frozen=True)
class Look:
    """One noisy look at the moments of every class, in a latent space reached by the maps.

    `counts`, `means` and `covariances` carry noise of standard deviation `count_sd` (one number for all
    classes), `mean_sd[k]` a coordinate, and `covariance_sd[k]` (over sqrt(2) off the diagonal).
    """

    maps: FloatArray
    counts: FloatArray
    count_sd: float
    means: FloatArray
    mean_sd: FloatArray
    covariances: FloatArray
    covariance_sd: FloatArray


@dataclass(frozen=True)
class Space:
    """Where to look: an image of the rows, a matrix for each class, and the mean square norm of a row there."""

    image: Image
    maps: FloatArray
    spreads: FloatArray

    @classmethod
    def plain(cls, image: Image, spreads: FloatArray) -> Space:
        """The image itself."""
        return cls(image, np.stack([np.eye(image.dim)] * len(spreads)), spreads)

    @classmethod
    def white(cls, image: Image, maps: FloatArray) -> Space:
        """A space where every class is about standard normal."""
        return cls(image, maps, np.full(len(maps), float(image.dim)))

    @property
    def is_plain(self) -> bool:
        """Whether rows are looked at as they are, without a map."""
        return bool((self.maps == np.eye(self.image.dim)).all())

    @property
    def radii(self) -> list[float]:
        """Where rows are clipped, for each class."""
        return [radius(max(spread, SPREAD_FLOOR)) for spread in self.spreads]


def look(curator: Asker, name: str, space: Space, expected: FloatArray, mu_squared: float, margin: float) -> Look:
    """Ask for count, sum and second moment per class; `expected[k]` is what is known of the counts, and `margin`
    that of shrinkage.
    """
    dim = space.image.dim
    latent = latent_space(space.image, space.radii, None if space.is_plain else list(space.maps))
    query = GroupSums(latent, moment_costs(expected, dim, radius(dim)).shares, "outer")
    answer = curator.total(name, query, mu_squared)
    counts, sums, seconds = unpack(query, answer.values)
    count_sd, sum_sd, second_sd = unpack(query, answer.sd)
    # As quantised, which is what was applied.
    maps = space.maps if latent.maps is None else np.stack(latent.maps) / 2.0**MAP_BITS
    size = np.maximum(counts, expected / 2.0)  # a rare class's second count may drown
    kept = np.array([unclipped(dim, r, s) for r, s in zip(space.radii, space.spreads, strict=True)])
    means = sums / size[:, None]
    mean_sd = sum_sd[:, 0] / size
    # The square of a noisy mean is mostly the square of its noise in a small class: shrink it first.
    known = shrink_class_means(means, np.broadcast_to(mean_sd[:, None] ** 2, means.shape), margin)
    return Look(
        maps=maps,
        counts=counts,
        count_sd=float(count_sd[0]),
        means=means,
        mean_sd=mean_sd,
        covariances=seconds / (size * kept)[:, None, None] - np.einsum("ki,kj->kij", known, known),
        covariance_sd=second_sd[:, 0, 0] / (size * kept),
    )


def entry_variance(sd: FloatArray | float, gram: FloatArray) -> FloatArray:
    """Variance of the entries of A W A^T with gram = A A^T, for symmetric noise W with standard deviation
    `sd` on the diagonal and sd / sqrt(2) off it; or for a stack of them.
    """
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    energy = diagonal[..., :, None] * diagonal[..., None, :] + gram**2
    return np.asarray(0.5 * np.asarray(sd)[..., None, None] ** 2 * energy)


def entry_noise(view: Look) -> FloatArray:
    """Entry variances of a look's covariances, taken back to the plain space."""
    back = np.linalg.inv(view.maps)
    grams = back @ np.swapaxes(back, 1, 2)
    return np.stack([entry_variance(sd, gram) for sd, gram in zip(view.covariance_sd, grams, strict=True)])


def choose_space(plain: Space, shapes: FloatArray, pilot: Look, ratio: float) -> Space:
    """Whiten each class by its shape, or leave the space alone: whichever predicts the lower KL.

    `ratio` is the budget of the look to come over the pilot's. The covariance's part of the expected KL is
    a quarter of the sum of its entry variances in whitened units. Where the space is left alone, both
    looks together are exactly one look at the whole budget, so nothing is lost by having asked twice.
    """
    white = Space.white(plain.image, np.stack([inverse_root(shape, WHITENING_FLOOR) for shape in shapes]))
    counts = pilot.counts.clip(1.0)
    leave = stretch = 0.0
    for k, a in enumerate(white.maps):
        first = entry_variance(pilot.covariance_sd[k], a @ a.T)
        again = first / ratio
        sd = pilot.covariance_sd[k] * (white.radii[k] / plain.radii[k]) ** 2 / np.sqrt(ratio)
        whitened = entry_variance(sd, np.eye(len(a)))
        leave += counts[k] * (first * again / (first + again)).sum()
        stretch += counts[k] * (first * whitened / (first + whitened)).sum()
    return white if stretch < leave else plain


def combine(pilot: Look, final: Look) -> tuple[FloatArray, FloatArray]:
    """Both looks' covariances in the final look's space, and the variance of their entries: averaged entry by
    entry with inverse variances.
    """
    covariances, noise = [], []
    for k, a in enumerate(final.maps):
        first = entry_variance(pilot.covariance_sd[k], a @ a.T)
        second = entry_variance(final.covariance_sd[k], np.eye(len(a)))
        variance = first * second / (first + second)
        covariances.append(variance * (a @ pilot.covariances[k] @ a.T / first + final.covariances[k] / second))
        noise.append(variance)
    return np.stack(covariances), np.stack(noise)


def to_plain(covariances: FloatArray, final: Look) -> FloatArray:
    """Covariances taken back from a look's space."""
    back = np.linalg.inv(final.maps)
    return np.asarray(back @ covariances @ np.swapaxes(back, 1, 2))


def combine_means(pilot: Look, final: Look, shift: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both looks' means in the plain space, and their variances; the final look was taken around `shift`."""
    back = np.linalg.inv(final.maps)
    again = shift + np.einsum("kij,kj->ki", back, final.means)
    first = np.broadcast_to(pilot.mean_sd[:, None] ** 2, again.shape)
    second = final.mean_sd[:, None] ** 2 * (back**2).sum(axis=2)
    variance = 1.0 / (1.0 / first + 1.0 / second)
    return variance * (pilot.means / first + again / second), variance
