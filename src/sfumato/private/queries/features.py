"""Random features of the rows, and the one question about them that any number of training steps can live on.

The features are those of the neural tangent kernel of a ReLU network with one hidden layer: inner products of two
rows' features approximate the kernel. Their second moment, and their sums for each class, are all that a kernel
ridge regression on the rows would have to know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    BATCH_CAP,
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    SLACK,
    Batch,
    BoolArray,
    FloatArray,
    Image,
    IntArray,
    clip_rows,
)

CHUNK_CELLS = 1 << 21  # features in memory at once: 16 MiB for each array


class Features(Image, Protocol):
    """An image that does not look at the label: `unit` is what one step of its grid is worth."""

    @property
    def unit(self) -> float: ...


@dataclass(frozen=True)
class FeatureImage:
    """Features of another image's rows: relu(u) and step(u) v, with u = gates (z, 1) and v = values (z, 1).

    The label has no say: the other image is asked for class 0 whatever the rows' class is. So a row's features stay
    what they are when its label changes.

    Both matrices have MAP_BITS fractional bits. Every product is a sum of at most 2^20 products of whole numbers
    below 2^16, hence exact in whatever order it is evaluated, and so is the comparison with zero; the rest is
    elementwise. So a row's features do not depend on which other rows are in the batch.
    """

    image: Image
    gates: IntArray  # (width, dim + 1)
    values: IntArray

    def __post_init__(self) -> None:
        if not self.gates.shape == self.values.shape == (len(self.gates), self.image.dim + 1) or len(self.gates) < 1:
            raise ValueError("gates and values must have a row for each feature and a column more than the image")
        if max(abs(self.gates).max(), abs(self.values).max()) > MAP_LIMIT:
            raise ValueError("gates and values must have entries below 16")

    @classmethod
    def of(cls, image: Image, gates: FloatArray, values: FloatArray, bias: float) -> FeatureImage:
        """Quantise matrices of real numbers, which stand before (z / sqrt(dim), bias)."""
        scale = _input_scale(image.dim, bias)
        return cls(image, _quantise(gates * scale), _quantise(values * scale))

    def matrices(self, bias: float) -> tuple[FloatArray, FloatArray]:
        """The matrices before (z / sqrt(dim), bias) as quantised, which is what is applied."""
        scale = _input_scale(self.image.dim, bias) * 2.0**MAP_BITS
        return self.gates / scale, self.values / scale

    @property
    def dim(self) -> int:
        return 2 * len(self.gates)

    @property
    def unit(self) -> float:
        """What one step of the integer grid is worth: features of `width` gates are scaled by sqrt(2 / width)."""
        return math.sqrt(2.0 / len(self.gates)) * 2.0**-LATENT_BITS

    @cached_property
    def _float_matrices(self) -> tuple[FloatArray, FloatArray]:
        return self.gates.astype(np.float64), self.values.astype(np.float64)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, 0)
        width, dim = len(self.gates), self.image.dim
        features = np.empty((2 * width, z.shape[1]))
        gated, valued = features[:width], features[width:]
        for matrix, out in zip(self._float_matrices, (gated, valued), strict=True):
            np.matmul(matrix[:, :dim], z, out=out)
            out += matrix[:, dim:] * 2.0**LATENT_BITS
        valued *= gated > 0.0
        np.maximum(gated, 0.0, out=gated)
        features *= 2.0**-MAP_BITS
        np.trunc(features, out=features)
        return np.clip(features, -LATENT_LIMIT, LATENT_LIMIT, out=features)


@dataclass(frozen=True)
class FeatureMoments:
    """The second moment of the rows' features and the sum of the features of each class: Phi^T Phi and Phi^T Y,
    with Y one-hot, jointly.

    `shares` divides the squared sensitivity between the two and adds up to one. With R the radius to which features
    are clipped the weights are a = sqrt(shares[0]) / R^2 and b = sqrt(shares[1]) / R; of the symmetric second moment
    only the upper triangle is asked, off the diagonal with weight sqrt(2) a, so that the weighted norm of phi phi^T
    is a |phi|^2.

    Sensitivity. Features have |phi| <= R, so one row's contribution (a phi phi^T, b phi in its class's column) has
    squared norm at most a^2 R^4 + b^2 R^2 = 1 (add-remove). A changed label leaves the features and so the second
    moment, and moves b phi from one column to another: sqrt(2) b R = sqrt(2 shares[1]); or the new label is none of
    the classes and the whole row goes: 1. A replacement phi -> psi by a row of another class has, with
    t = phi.psi, squared norm
        b^2 (|phi|^2 + |psi|^2) + a^2 (|phi|^4 + |psi|^4 - 2 t^2) <= 2,
    and inside a class
        b^2 (|phi|^2 + |psi|^2 - 2 t) + a^2 (|phi|^4 + |psi|^4 - 2 t^2),
    which for fixed t grows with |phi| and |psi|; at |phi| = |psi| = R and t = -x R^2 it is
        2 shares[1] (1 + x) + 2 shares[0] (1 - x^2),
    larger at x than at -x for x > 0, and largest at x = shares[1] / (2 shares[0]) or at x = 1; at least 2, its value
    at x = 0.
    """

    image: Features
    radius: int  # squared, on the integer grid
    classes: int
    shares: tuple[float, float]

    def __post_init__(self) -> None:
        if not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive and add up to one")
        if self.radius < 1 or self.classes < 1:
            raise ValueError("the squared radius and the number of classes must be at least 1")

    @classmethod
    def of(cls, image: Features, radius: float, classes: int, shares: tuple[float, float]) -> FeatureMoments:
        """Quantise a radius given in the kernel's units."""
        return cls(image, max(1, math.floor((radius / image.unit) ** 2)), classes, shares)

    @property
    def size(self) -> int:
        dim = self.image.dim
        return dim * (dim + 1) // 2 + dim * self.classes

    @cached_property
    def _upper(self) -> tuple[IntArray, IntArray]:
        rows, columns = np.triu_indices(self.image.dim)
        return rows, columns

    @cached_property
    def weights(self) -> FloatArray:
        rows, columns = self._upper
        second, cross = (math.sqrt(share) for share in self.shares)
        off_diagonal = np.where(rows == columns, 1.0, math.sqrt(2.0))
        return np.concatenate(
            [
                off_diagonal * second / self.radius,
                np.full(self.image.dim * self.classes, cross / math.sqrt(self.radius)),
            ]
        )

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        dim = self.image.dim
        gram, cross = np.zeros((dim, dim)), np.zeros((dim, self.classes))
        for chunk in chunks(batch, max(1, CHUNK_CELLS // dim)):
            # Every row's features are those of class 0, whatever the image: the label has no say in them.
            phi = clip_rows(self.image.rows(chunk, np.ones(len(chunk), dtype=bool), 0), self.radius)
            counted = (chunk.labels >= 0) & (chunk.labels < self.classes)
            phi, labels = phi[:, counted], chunk.labels[counted]
            # Exact, chunk by chunk: whole numbers below 2^32, at most 2^20 of them. int64 from here on.
            gram += phi @ phi.T
            for k in range(self.classes):
                cross[:, k] += phi[:, labels == k].sum(axis=1)
        return np.concatenate([gram[self._upper], cross.ravel()]).astype(np.int64)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency is Adjacency.ADD_REMOVE:
            return SLACK
        second, cross = self.shares
        if adjacency is Adjacency.LABEL:
            return SLACK * math.sqrt(max(1.0, 2.0 * cross))
        x = min(1.0, cross / (2.0 * second))
        within = 2.0 * cross * (1.0 + x) + 2.0 * second * (1.0 - x * x)
        return SLACK * math.sqrt(max(2.0, within))

    def unpack(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The second moment (features, features) and the sums (features, classes), in the kernel's units."""
        dim = self.image.dim
        rows, columns = self._upper
        second = np.empty((dim, dim))
        second[rows, columns] = second[columns, rows] = flat[: len(rows)]
        unit = self.image.unit
        return second * unit**2, flat[len(rows) :].reshape(dim, self.classes) * unit


def _input_scale(dim: int, bias: float) -> FloatArray:
    if not bias > 0.0:
        raise ValueError("the bias must be positive")
    return np.append(np.full(dim, 1.0 / math.sqrt(dim)), bias)


def _quantise(matrix: FloatArray) -> IntArray:
    if np.isnan(matrix).any():
        raise ValueError("gates and values must be numbers")
    return np.clip(np.rint(matrix * 2.0**MAP_BITS), -MAP_LIMIT, MAP_LIMIT).astype(np.int64)


def chunks(batch: Batch, rows: int) -> Iterator[Batch]:
    """The batch in parts of at most so many rows."""
    return (batch.only(slice(start, start + rows)) for start in range(0, len(batch), rows))
