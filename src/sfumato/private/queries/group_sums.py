"""Counts, sums and second moments of the images of rows, by groups: classes, or cells of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_LIMIT, Batch, FloatArray, Image, IntArray, Products, Reach, largest
from sfumato.private.queries.images import Cells


@dataclass(frozen=True)
class Latent:
    """The space in which sums are taken: an image, a matrix per group (or none), and the squared radii to which rows
    are clipped. Groups are the classes, or cells of them. Matrices have MAP_BITS fractional bits, and squared radii
    are on the image's grid.
    """

    image: Image
    radii: tuple[int, ...]
    maps: tuple[IntArray, ...] | None = None
    cells: Cells | None = None

    def __post_init__(self) -> None:
        insist(len(self.radii) > 0 and 1 <= min(self.radii) <= max(self.radii) < base.EXACT, "radii must be 1 or more")
        insist(self.image.dim * self.image.limit**2 < base.EXACT, "an image has too many coordinates for exact norms")
        square = (self.image.dim, self.image.dim)
        for matrix in self.maps or ():
            insist(matrix.shape == square and largest(matrix) <= base.MAP_LIMIT, "matrices must have entries below 16")
        fits = self.maps is None or (len(self.maps) == len(self.radii) and self.image.limit == LATENT_LIMIT)
        insist(fits, "there must be a matrix for every group")
        cells = self.radii if self.cells is None else self.cells.classes
        insist(len(self.radii) == len(cells), "there must be a radius for every cell")

    def grouped(self, batch: Batch) -> Batch:
        """The batch with each row's group in the place of its class."""
        return batch if self.cells is None else replace(batch, labels=self.cells.find(batch))

    def rows(self, batch: Batch, k: int) -> FloatArray:
        """The rows of group k, one a column, clipped: whole numbers held as float64, none longer than its radius.

        Every product below is a sum of at most 2^20 products of whole numbers below 2^16, hence exact in
        whatever order it is evaluated; sqrt, divide and multiply are correctly rounded elementwise. So a
        row's result does not depend on which other rows are in the batch.
        """
        z = self.image.rows(batch, batch.labels == k, k)
        if self.image.longest is not None and self.image.longest <= self.radii[k]:
            return z  # bounded by how it is made (waves, whose table is checked); images on that grid have no maps
        if self.maps is not None:
            mapped = np.trunc((self.maps[k].astype(np.float64) @ z) / 2.0**base.MAP_BITS)
            z = np.clip(mapped, -LATENT_LIMIT, LATENT_LIMIT)
        z = base.clip_rows(z, self.radii[k])
        short = base.squared_norms(z) <= self.radii[k]  # as in `base.within`: what is not counts nowhere
        return z if short.all() else z[:, short]


@dataclass(frozen=True)
class GroupSums(Products):
    """Count and sum of the rows of each group, jointly, and where asked for their second moment or squared norm.

    `shares` divides the squared norm of a row between the parts and adds up to one. For a group with radius r the
    weights are a = sqrt(shares[0]), b = sqrt(shares[1]) / r and c = sqrt(shares[2]) / r^2. Of the symmetric second
    moment ("outer") only the upper triangle is asked, off the diagonal with weight sqrt(2) c, so that the weighted norm
    of z z^T is c |z|^2.

    Reach. Rows have |z| <= r, so that (a, b z, c z z^T) and (a, b z, c |z|^2) have squared norm at most
    a^2 + b^2 r^2 + c^2 r^4 = 1: D = 1. Groups tell the class, so another label moves the row, and L = 0. Two rows
    z, y of a group have the same count. E:
    - sums alone: they are at most 2 r apart, E^2 = 4 shares[1];
    - "outer": with t = z.y the distance is b^2 (|z|^2 + |y|^2 - 2 t) + c^2 (|z|^4 + |y|^4 - 2 t^2), which for fixed t
      grows with |z| and |y|; at |z| = |y| = r and t = -x r^2 it is 2 shares[1] (1 + x) + 2 shares[2] (1 - x^2), larger
      at x than at -x for x > 0, and largest at x = shares[1] / (2 shares[2]) or at x = 1;
    - "norm": with |y| = s |z|, s <= 1, it is at most that of opposite rows with |z| = r,
      shares[1] (1 + s)^2 + shares[2] (1 - s^2)^2. Its slope is 2 (1 + s) (shares[1] - 2 shares[2] s (1 - s)): it grows
      up to 4 shares[1], or has a peak before s = 1/2, where it is shares[2] (1 + s)^3 (1 - s) <= 27/16. Squared norms
      from 2^32 on are counted in steps of at most 2^-31 r^2, rounded down, which SLACK allows for.
    """

    latent: Latent
    shares: tuple[float, ...]
    second: str = "none"

    def __post_init__(self) -> None:
        insist(self.second in ("none", "outer", "norm"), "second must be one of none, outer, norm")
        base.check_shares(self.shares, 2 if self.second == "none" else 3)
        steps = self.latent.image.limit == LATENT_LIMIT or self.second == "none"
        insist(steps, "second moments are of images whose numbers are below 16")

    @property
    def classes(self) -> int:  # type: ignore[override]
        """How many classes the groups belong to."""
        return len(self.latent.radii if self.latent.cells is None else self.latent.cells.centres)

    @property
    def reach(self) -> Reach:
        mean, second = self.shares[1], self.shares[-1]
        apart = {"none": 4.0 * mean, "outer": _outer_apart(mean, second), "norm": max(27.0 / 16.0, 4.0 * mean)}
        return Reach(1.0, math.sqrt(apart[self.second]), 0.0, True, len(self.latent.radii))

    @cached_property
    def norm_steps(self) -> FloatArray:
        """What squared norms are counted in: powers of two, so that there are fewer than base.LARGEST_RADIUS steps."""
        return np.array([2.0 ** (r // base.LARGEST_RADIUS).bit_length() for r in self.latent.radii])

    @cached_property
    def weights(self) -> FloatArray:
        (count, mean, *second), parts = map(math.sqrt, self.shares), []
        for radius, step in zip(self.latent.radii, self.norm_steps, strict=True):
            parts += [np.array([count]), np.full(self.latent.image.dim, mean / math.sqrt(radius))]
            if self.second == "outer":
                parts.append(_outer_weights(self.latent.image.dim) * second[0] / radius)
            elif self.second == "norm":
                parts.append(np.array([second[0] * step / float(radius)]))
        return np.concatenate(parts)

    def part(self, batch: Batch) -> IntArray:
        grouped, parts = self.latent.grouped(batch), []
        for k, step in enumerate(self.norm_steps):
            z = self.latent.rows(grouped, k)
            # Exact: whole numbers up to 2^32, at most 2^20 of them.
            parts += [[float(z.shape[1])], z.sum(axis=1)]
            if self.second == "outer":
                parts.append((z @ z.T)[np.triu_indices(len(z))])
            elif self.second == "norm":
                parts.append([np.floor(base.squared_norms(z) / step).sum()])
        return base.in_limbs(np.concatenate(parts))


@dataclass(frozen=True)
class FeatureMoments(Products):
    """The second moment of the features of all rows, and the sum of the features of each class: Phi^T Phi and
    Phi^T Y, with Y one-hot, jointly: all that a kernel ridge regression on the rows would have to know.

    Every row's features are those of class 0: the label has no say in them. `shares` divides the squared norm of a row
    between the two and adds up to one. With R the radius to which features are clipped the weights are
    a = sqrt(shares[0]) / R^2 (sqrt(2) a off the diagonal) and b = sqrt(shares[1]) / R.

    Reach. Features have |phi| <= R, so that (a phi phi^T, b phi in its class's column) has squared norm at most
    a^2 R^4 + b^2 R^2 = 1: D = 1. There is one group. A changed label moves b phi from one column to another and leaves
    the rest: L = sqrt(2 shares[1]). Two rows of different classes are, with t = phi.psi, at most
    b^2 (|phi|^2 + |psi|^2) + a^2 (|phi|^4 + |psi|^4 - 2 t^2) <= 2 apart, squared, and two of one class as far as in
    `GroupSums`, which is at least 2, its value at x = 0.
    """

    image: Image
    radius: int  # squared, on the image's grid
    classes: int
    shares: tuple[float, float]

    def __post_init__(self) -> None:
        insist(1 <= self.radius < base.EXACT and self.classes >= 1, "the radius and the classes must be at least 1")
        exact = self.image.limit == LATENT_LIMIT and self.image.dim * LATENT_LIMIT**2 < base.EXACT
        insist(exact, "an image has too many coordinates for exact norms")
        base.check_shares(self.shares, 2)

    @property
    def reach(self) -> Reach:
        second, cross = self.shares
        return Reach(1.0, math.sqrt(_outer_apart(cross, second)), math.sqrt(2.0 * cross), False, 1)

    @cached_property
    def weights(self) -> FloatArray:
        second, cross = (math.sqrt(share) for share in self.shares)
        sums = np.full(self.image.dim * self.classes, cross / math.sqrt(self.radius))
        return np.concatenate([_outer_weights(self.image.dim) * second / self.radius, sums])

    def part(self, batch: Batch) -> IntArray:
        gram, cross = np.zeros((self.image.dim, self.image.dim)), np.zeros((self.image.dim, self.classes))
        for k in range(self.classes):
            phi = base.within(base.clip_rows(self.image.rows(batch, batch.labels == k, 0), self.radius), self.radius)
            # Exact: whole numbers below 2^32, at most 2^20 of them.
            gram += phi @ phi.T
            cross[:, k] = phi.sum(axis=1)
        return base.in_limbs(np.concatenate([gram[np.triu_indices(len(gram))], cross.ravel()]))


def _outer_apart(mean: float, second: float) -> float:
    """The most that (b z, c z z^T) of two rows can be apart, squared, when these are the parts' shares."""
    x = min(1.0, mean / (2.0 * second))
    return 2.0 * mean * (1.0 + x) + 2.0 * second * (1.0 - x * x)


def _outer_weights(dim: int) -> FloatArray:
    rows, columns = np.triu_indices(dim)
    return np.where(rows == columns, 1.0, math.sqrt(2.0))


KINDS = (GroupSums, FeatureMoments, Latent)  # that a question may be made of
