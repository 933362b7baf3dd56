"""Principal components of MNIST found under differential privacy, with half of the squared budget.

The images are asked for in 7 x 7 coarse pixels, a public map, because noise on a second moment grows with the
dimension and the first components are smooth. One Gaussian query gives count, sum and second moment of the coarse
images, clipped to a public radius; the components are the first eigenvectors of the noisy covariance. The mixture is
then fitted to the projections with the other half: both together are mu-GDP.

Sensitivity: that of `sfumato.private.queries.group_sums.GroupSums` over one group, 1 for a row added or removed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from experiments.liu2025.setups import MNIST_DIM, Setup
from sfumato.accounting import calibrate, epsilon_of
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Asker, Client
from sfumato.mechanisms.questions import latent_space, unpack
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.queries.base import FIXED_BITS, LATENT_BITS, Batch, IntArray, Public, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import AffineImage
from sfumato.private.slicing.rows import RowVectors
from sfumato.schema.layout import FloatArray

RADIUS = 10.0  # public: the norm of an image with an eighth of its pixels white
BRIGHTEST = 4.0  # a coarse pixel: 16 white ones divided by 4
SHARES = (0.02, 0.1, 0.88)  # of count, sum and second moment: the last is where the noise matters


@dataclass(frozen=True)
class _Images:
    """An engine over one array of coarse images."""

    blocks: FloatArray

    @property
    def public(self) -> Public:
        """Coarse pixels without classes; they have no bins, so that one is as good as any."""
        return Public((1,) * self.blocks.shape[1], 1, values=True)

    def total(self, query: Query) -> IntArray:
        fixed = np.rint(self.blocks.T / BRIGHTEST * 2.0**FIXED_BITS).clip(0, 2**FIXED_BITS).astype(np.int32)
        labels = np.zeros(len(self.blocks), dtype=np.int64)
        return query.total(Batch(np.zeros(fixed.shape, dtype=np.int16), labels, fixed))

    def rows(self, vectors: RowVectors) -> FloatArray:
        raise ValueError("images are asked for in sum")


def found_privately(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> tuple[Setup, float]:
    """The images on components found with half of mu^2, and the epsilon that the rest is worth at the same delta."""
    assert setup.blocks is not None
    images, test = setup.blocks
    mu = calibrate(epsilon, delta)
    curator = Curator(_Images(images), Budget(mu), Adjacency.ADD_REMOVE, insecure_bits(int(rng.integers(2**63))))
    vectors = _components(Client(curator), images.shape[1], mu**2 / 2)
    bounds = np.full(MNIST_DIM, -RADIUS), np.full(MNIST_DIM, RADIUS)
    left = epsilon_of(math.sqrt(curator.remaining), delta)
    return replace(setup, x=images @ vectors, test_x=test @ vectors, bounds=bounds), left


def _components(curator: Asker, dim: int, mu_squared: float) -> FloatArray:
    image = AffineImage(np.zeros((1, dim)), np.full((1, dim), BRIGHTEST * 2.0 ** (LATENT_BITS - FIXED_BITS)))
    query = GroupSums(latent_space(image, [RADIUS]), SHARES, "outer")
    counts, sums, seconds = unpack(query, curator.total("components", query, mu_squared).values)
    mean = sums[0] / counts[0]
    return np.linalg.eigh(seconds[0] / counts[0] - np.outer(mean, mean))[1][:, ::-1][:, :MNIST_DIM]
