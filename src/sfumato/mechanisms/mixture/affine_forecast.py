"""What an affine mixture will lose, from public facts alone, and the histograms' share that makes it least.

The beliefs of a class of n rows are followed through the rounds with two numbers: the variance v of its mean, and the
variance u of an entry of its covariance, both in units where the class is standard normal. docs/proofs/mixture.md,
section 6, derives the steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from sfumato.mechanisms.budget import fill
from sfumato.mechanisms.clipping import Clip, best_radii
from sfumato.schema.layout import FloatArray

SHARES_TRIED = np.linspace(0.3, 0.9, 13)  # shares of the histograms


@dataclass(frozen=True)
class Forecast:
    """Shares of the squared budget, and the expected KL of each part under them."""

    histogram_share: float
    moment_shares: tuple[float, float, float]
    expected_kl: dict[str, float]

    @property
    def total(self) -> float:
        """The loss to expect of all parts together."""
        return sum(self.expected_kl.values())


def best_forecast(counts: FloatArray, sizes: Sequence[int], mu: float, looks: int) -> Forecast:
    """The forecast whose histograms have the best share, for classes of so many rows and columns of so many bins."""
    return min(
        (forecast(counts, sizes, mu, float(share), looks) for share in SHARES_TRIED), key=lambda found: found.total
    )


def broken_stick(classes: int) -> FloatArray:
    """Expected shares, smallest first, of classes whose shares are uniform on the simplex.

    >>> broken_stick(2).tolist()
    [0.25, 0.75]
    """
    return np.asarray(np.cumsum(1.0 / np.arange(classes, 0, -1)) / classes)


def forecast(counts: FloatArray, sizes: Sequence[int], mu: float, histogram_share: float, looks: int) -> Forecast:
    """Follow count, mean and covariance of every class through all rounds."""
    dim, bins, weight = len(sizes), float(np.mean(sizes)), counts / counts.sum()
    look_mu = mu * math.sqrt((1.0 - histogram_share) / looks)
    v = place_variance(counts, dim, bins, mu * math.sqrt(histogram_share))
    # Over all correlation matrices alike, a coordinate given the others has a variance that is exponential around
    # 2 / (d + 1); the geometric mean of its inverse is this.
    narrow = math.exp(np.euler_gamma) * (dim + 1) / 2.0
    u = np.full(len(counts), narrow)
    c = np.ones(len(counts))  # variance of the count, in units of its square
    losses = np.array([0.25 * dim + 0.5, 0.5 * dim, 0.125 * dim * (dim + 1)])
    for _ in range(looks):
        # Rows are looked at in a space as wide as they may lie, and as long as their shape is unknown, in a wrong one.
        clip = Clip(dim, best_radii(dim, counts, look_mu, np.minimum(u, 1.0)))
        stretch = (1.0 + v) * np.minimum(1.0 + u, narrow)
        mean_noise = (clip.radius / clip.mean) ** 2 * stretch
        shape_noise = (clip.radius**2 * stretch) ** 2 * clip.amplified
        noise = np.stack([np.ones(len(counts)), mean_noise, shape_noise]) / (counts * look_mu) ** 2
        noise[2] += clip.undone**2 * np.minimum(u, 1.0)
        now = np.stack([c, v, u])
        shares = fill(weight[:, None] * losses * noise.T, weight[:, None] * losses * now.T)
        c, v, u = 1.0 / (1.0 / now + shares[:, None] / noise)
    u = u + clip.lost / counts  # the same rows at every look
    parts = losses * (np.stack([c, v, np.log1p(u)]) @ weight)
    named = dict(zip(("class weights", "means", "covariances"), (float(part) for part in parts), strict=True))
    return Forecast(histogram_share, (float(shares[0]), float(shares[1]), float(shares[2])), named)


def place_variance(counts: FloatArray, dim: int, bins: float, mu: float) -> FloatArray:
    """Variance of a centre found in histograms, in units of a class whose scale is in the middle of those tried.

    That scale is range / sqrt(12 bins), so the range itself has variance `bins` and a bin 1 / bins. A normal of scale
    s has slope energy 1 / (4 sqrt(pi) s^3), so cells of width h and noise sqrt(dim) / mu find its centre with
    variance 4 sqrt(pi) (s / h) dim / (n mu)^2. Above noise of one it stands n mu sqrt(h / (2 sqrt(pi) s dim)) high, and
    is missed where one of range / s windows without it stands higher.
    """
    noise = 4.0 * math.sqrt(math.pi) * math.sqrt(bins / 12.0) * dim / (counts * mu) ** 2
    found = 1.0 / (1.0 / noise + 1.0 / bins)
    height = counts * mu * math.sqrt(math.sqrt(12.0 / bins) / (2.0 * math.sqrt(math.pi) * dim))
    missed = np.minimum(math.sqrt(12.0 * bins) * ndtr(-height / math.sqrt(2.0)), 1.0)
    return np.asarray(missed * bins + (1.0 - missed) * found + 1.0 / bins)
