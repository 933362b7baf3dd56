"""Images that do not look at the label: a row's features stay what they are when its label changes.

They ask another image for class 0, whatever the row's class is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_LIMIT, Batch, BoolArray, FloatArray, Image, IntArray, largest

MOST_INPUTS = 1 << 20  # sums of so many products of whole numbers below 2^16 are exact in float64


@dataclass(frozen=True)
class FeatureImage(Image):
    """Random features of the neural tangent kernel of a ReLU network with one hidden layer, whose inner products
    approximate the kernel: relu(u) and step(u) v, with u = gates (z, 1) and v = values (z, 1).

    Both matrices have MAP_BITS fractional bits. Every product is a sum of at most 2^20 products of whole numbers
    below 2^16, hence exact in whatever order it is evaluated, and so is the comparison with zero; the rest is
    elementwise.
    """

    image: Image
    gates: IntArray  # (width, dim + 1)
    values: IntArray

    def __post_init__(self) -> None:
        shape = (len(self.gates), self.image.dim + 1)
        fits = self.gates.shape == self.values.shape == shape and len(self.gates) > 0
        insist(fits, "gates and values must have a row for each feature and a column more than the image")
        small = max(largest(self.gates), largest(self.values)) <= base.MAP_LIMIT and self.image.limit == LATENT_LIMIT
        insist(small, "gates and values must have entries below 16")
        insist(self.image.dim <= MOST_INPUTS, "features are of an image with at most 2^20 coordinates")

    @property
    def dim(self) -> int:
        return 2 * len(self.gates)

    @property
    def unit(self) -> float:  # type: ignore[override]
        """What one step of the integer grid is worth: features of `width` gates are scaled by sqrt(2 / width)."""
        return math.sqrt(2.0 / len(self.gates)) * 2.0**-base.LATENT_BITS

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, 0)
        width, dim = len(self.gates), self.image.dim
        features = np.empty((2 * width, z.shape[1]))
        gated, valued = features[:width], features[width:]
        for matrix, out in ((self.gates, gated), (self.values, valued)):
            np.matmul(matrix[:, :dim].astype(np.float64), z, out=out)
            out += matrix[:, dim:] * 2.0**base.LATENT_BITS
        valued *= gated > 0.0
        np.maximum(gated, 0.0, out=gated)
        features *= 2.0**-base.MAP_BITS
        np.trunc(features, out=features)
        return np.clip(features, -LATENT_LIMIT, LATENT_LIMIT, out=features)


@dataclass(frozen=True)
class WithOne(Image):
    """A one, and another image's rows."""

    image: Image

    def __post_init__(self) -> None:
        insist(self.image.limit == LATENT_LIMIT, "the image's numbers must be below 16")

    @property
    def dim(self) -> int:
        return self.image.dim + 1

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, 0)
        return np.concatenate([np.full((1, z.shape[1]), 2.0**base.LATENT_BITS), z])


@dataclass(frozen=True)
class QuadraticImage(WithOne):
    """A one, another image's rows, and the products of their coordinates over sqrt(dim / 2).

    Products of whole numbers below 2^16 are exact; scaling by a float and truncating are elementwise.
    """

    @property
    def dim(self) -> int:
        return 1 + self.image.dim * (self.image.dim + 3) // 2

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        with_one = super().rows(batch, mine, k)
        left, right = np.triu_indices(self.image.dim)
        products = with_one[1:][left] * with_one[1:][right]
        # So that all of them together are about as long as the rest.
        products *= math.sqrt(2.0 / self.image.dim) * 2.0**-base.LATENT_BITS
        np.trunc(products, out=products)
        return np.concatenate([with_one, np.clip(products, -LATENT_LIMIT, LATENT_LIMIT, out=products)])


KINDS = (FeatureImage, WithOne, QuadraticImage)  # that a question may be made of
