"""Images of rows whose columns are in groups, and what is asked of them.

The public projection of a row is part of its batch. Everything here maps it on: by a matrix found from noisy answers,
to its distance from a cell's centre, to products of its coordinates. All are exact, or elementwise and correctly
rounded, so that a row's image is a function of that row alone, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    BATCH_CAP,
    FIXED_BITS,
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    SLACK,
    Batch,
    BoolArray,
    Cells,
    FloatArray,
    Image,
    IntArray,
    Latent,
    clip_rows,
    quantise,
)
from sfumato.private.queries.features import CHUNK_CELLS, chunks
from sfumato.private.queries.gradients import PROBABILITY_BITS, softmax

FACTORS = (1, 2, 4, 8)  # of a squared distance: at most 2^15 on the latent grid
MAPPED_LIMIT = LATENT_LIMIT << 10  # of centres where a matrix has been applied: no row is farther than that
LARGEST_RADIUS = 1 << 32  # squared, on the latent grid: sums of squared norms over 2^30 rows stay below 2^62


@dataclass(frozen=True)
class ProjectedImage:
    """The public projection, mapped by a matrix (or as it is) and seen from a point of each class's own.

    Products are sums of at most 2^10 products of whole numbers below 2^16, hence exact in whatever order.
    """

    centres: IntArray  # (classes, dim), on the latent grid
    matrix: IntArray | None = None  # (dim, coordinates), MAP_BITS fractional bits

    def __post_init__(self) -> None:
        if self.matrix is not None and (len(self.matrix) != self.dim or abs(self.matrix).max() > MAP_LIMIT):
            raise ValueError("matrices must have entries below 16, and a row for each coordinate of the centres")

    @classmethod
    def of(cls, centres: FloatArray, matrix: FloatArray | None = None) -> ProjectedImage:
        """Quantise centres and a matrix given as real numbers."""
        return cls(
            quantise(centres, LATENT_BITS, LATENT_LIMIT if matrix is None else MAPPED_LIMIT),
            None if matrix is None else quantise(matrix, MAP_BITS, MAP_LIMIT),
        )

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        if batch.projected is None:
            raise ValueError("the source has no projection: its columns are not in groups")
        z = batch.projected[:, mine].astype(np.float64)
        if self.matrix is not None:
            z = np.trunc((self.matrix.astype(np.float64) @ z) / 2.0**MAP_BITS)
        return np.asarray(np.clip(z - self.centres[k][:, None], -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class Within:
    """Rows seen from the centre of their own cell, class by class: the scatter that cells leave."""

    cells: Cells

    @property
    def dim(self) -> int:
        return self.cells.image.dim

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.cells.image.rows(batch, mine, k)
        own = self.cells.centres[k][self.cells.nearest(z, k)]
        return np.asarray(np.clip(z - own.T, -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class WithOne:
    """Another image's rows whatever their class, and a one: the label has no say."""

    image: Image
    unit = 2.0**-LATENT_BITS

    @property
    def dim(self) -> int:
        return self.image.dim + 1

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, 0)
        return np.concatenate([np.full((1, z.shape[1]), 2.0**LATENT_BITS), z])


@dataclass(frozen=True)
class ColumnImage:
    """Each column's distance from its class's centre, and the square of it times `factor`, a power of two.

    Values are places between the bounds on a grid of 2^-LATENT_BITS; a missing one is at the centre.
    """

    centres: IntArray  # (classes, columns), from 0 to 2^FIXED_BITS
    factor: int = 2

    def __post_init__(self) -> None:
        if self.factor not in FACTORS or self.centres.min() < 0 or self.centres.max() > 1 << FIXED_BITS:
            raise ValueError("centres must lie between the bounds, and the factor must be 1, 2, 4 or 8")

    @property
    def dim(self) -> int:
        return 2 * int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        if batch.fixed is None:
            raise ValueError("the source was not asked for values")
        fixed = batch.fixed[:, mine]
        apart = np.trunc((fixed - self.centres[k][:, None]) * 2.0 ** (LATENT_BITS - FIXED_BITS))
        apart = np.where(fixed < 0, 0.0, apart)
        return np.concatenate([apart, np.trunc(apart * apart * (self.factor * 2.0**-LATENT_BITS))])


@dataclass(frozen=True)
class QuadraticImage:
    """A one, another image's rows whatever their class, and the products of their coordinates over sqrt(dim / 2).

    Products of whole numbers below 2^16 are exact; scaling by a float and truncating are elementwise.
    """

    image: Image

    @property
    def dim(self) -> int:
        d = self.image.dim
        return 1 + d + d * (d + 1) // 2

    @cached_property
    def _upper(self) -> tuple[IntArray, IntArray]:
        rows, columns = np.triu_indices(self.image.dim)
        return rows, columns

    @property
    def scale(self) -> float:
        return math.sqrt(2.0 / self.image.dim)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, 0)
        left, right = self._upper
        products = z[left] * z[right]
        products *= self.scale * 2.0**-LATENT_BITS
        np.trunc(products, out=products)
        np.clip(products, -LATENT_LIMIT, LATENT_LIMIT, out=products)
        return np.concatenate([np.full((1, z.shape[1]), 2.0**LATENT_BITS), z, products])


@dataclass(frozen=True)
class ClippedGradient:
    """The sum over rows of phi (onehot(y) - p(phi)), for every class, jointly: p is a linear label model's softmax.

    phi are features of norm at most r (`radius` is its square on the integer grid) that do not look at the label, and
    the logits are `slopes` times phi. The residual onehot(y) - p is scaled down to norm `cap` where it is longer, as
    DP-SGD does with gradients: rows that the model has wrong pull as hard as each other, and the noise is smaller by
    the same factor. `total` is in units of 2^-(LATENT_BITS + PROBABILITY_BITS).

    Sensitivity. With weight 1 / (r cap) a row's contribution has norm at most |phi| |residual| / (r cap) <= 1
    (add-remove). A changed label or a replacement takes one contribution away and adds one: 2.
    """

    image: Image
    slopes: IntArray  # (classes, features), LATENT_BITS fractional bits
    radius: int
    cap: float

    def __post_init__(self) -> None:
        if self.slopes.shape[1:] != (self.image.dim,) or abs(self.slopes).max() > LATENT_LIMIT:
            raise ValueError("there must be one slope below 16 for every class and feature")
        if not (1 <= self.radius < LARGEST_RADIUS and 0.0 < self.cap <= 1.0):
            raise ValueError("the radius must be below 16, and the cap above 0 and at most 1")

    @classmethod
    def of(cls, image: Image, slopes: FloatArray, radius: float, cap: float) -> ClippedGradient:
        """Quantise slopes and a radius given as real numbers."""
        squared = max(1, math.floor(radius * radius * 4.0**LATENT_BITS))
        return cls(image, quantise(slopes, LATENT_BITS, LATENT_LIMIT), squared, cap)

    @property
    def size(self) -> int:
        return int(self.slopes.size)

    @cached_property
    def weights(self) -> FloatArray:
        return np.full(self.size, 1.0 / (math.sqrt(self.radius) * self.cap * 2.0**PROBABILITY_BITS))

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        total = np.zeros(self.slopes.shape)
        for part in chunks(batch, max(1, CHUNK_CELLS // self.image.dim)):
            phi = clip_rows(self.image.rows(part, np.ones(len(part), dtype=bool), 0), self.radius)
            # Exact: products of whole numbers below 2^16 and of at most 2^16, at most 2^20 of them.
            total += self._residuals(phi, part.labels) @ phi.T
        return total.ravel().astype(np.int64)

    def _residuals(self, phi: FloatArray, labels: IntArray) -> FloatArray:
        """(classes, rows), with PROBABILITY_BITS fractional bits: exact products, a table, a division and a root."""
        logits = np.rint((self.slopes.astype(np.float64) @ phi) / 2.0**LATENT_BITS).astype(np.int64)
        own = labels == np.arange(len(logits))[:, None]
        residuals = (own.astype(np.int64) << PROBABILITY_BITS) - softmax(logits)
        return clip_rows(residuals.astype(np.float64), math.floor(self.cap**2 * 4.0**PROBABILITY_BITS))

    def sensitivity(self, adjacency: Adjacency) -> float:
        return SLACK * (1.0 if adjacency is Adjacency.ADD_REMOVE else 2.0)

    def unpack(self, flat: FloatArray) -> FloatArray:
        """(classes, features), in the units of the features."""
        return flat.reshape(self.slopes.shape) * 2.0 ** -(LATENT_BITS + PROBABILITY_BITS)


@dataclass(frozen=True)
class Spreads:
    """Count, sum and squared norm of the latent rows of each group (a class, or a cell of one), jointly.

    Sensitivity. With weights a = sqrt(shares[0]), b = sqrt(shares[1]) / r and c = sqrt(shares[2]) / r^2 a row's
    contribution (a, b z, c |z|^2) has squared norm at most a^2 + b^2 r^2 + c^2 r^4 = 1 (add-remove). A changed label,
    or a replacement by a row of another group, changes two blocks by at most 1 each, sqrt(2). A replacement z -> y
    inside a group leaves the count. With f = shares, and |y| = s |z|, s <= 1, the change is at most that of opposite
    rows with |z| = r, f[1] (1 + s)^2 + f[2] (1 - s^2)^2. Its slope is 2 (1 + s) (f[1] - 2 f[2] s (1 - s)): it grows up
    to 4 f[1], or has a peak before s = 1/2, where it is f[2] (1 + s)^3 (1 - s) <= 27/16. So: max(2, 4 f[1]). For r of
    16 and more squared norms are counted in steps of at most 2^-31 r^2, rounded down, which SLACK allows for.
    """

    latent: Latent
    shares: tuple[float, float, float]

    def __post_init__(self) -> None:
        if not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive and add up to one")

    @property
    def size(self) -> int:
        return len(self.latent.radii) * (2 + self.latent.dim)

    @cached_property
    def _steps(self) -> FloatArray:
        """What squared norms are counted in: powers of two, so that there are fewer than LARGEST_RADIUS steps."""
        return np.array([2.0 ** (r // LARGEST_RADIUS).bit_length() for r in self.latent.radii])

    @cached_property
    def weights(self) -> FloatArray:
        count, mean, norm = (math.sqrt(share) for share in self.shares)
        groups = zip(map(float, self.latent.radii), self._steps, strict=True)
        return np.concatenate(
            [[count, *([mean / math.sqrt(r)] * self.latent.dim), norm * step / r] for r, step in groups]
        )

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        grouped = self.latent.grouped(batch)
        blocks = []
        for k, step in enumerate(self._steps):
            z = self.latent.rows(grouped, k)
            # Exact: clipped, squared norms are whole numbers of steps below 2^32, at most 2^20 of them.
            norms = np.floor(np.einsum("ij,ij->j", z, z) / step)
            blocks.append(np.concatenate([[float(z.shape[1])], z.sum(axis=1), [norms.sum()]]))
        return np.concatenate(blocks).astype(np.int64)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency is Adjacency.ADD_REMOVE:
            return SLACK
        if adjacency is Adjacency.LABEL:
            return SLACK * math.sqrt(2.0)
        return SLACK * math.sqrt(max(2.0, 4.0 * self.shares[1]))

    def unpack(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Counts (groups), sums (groups, d) and squared norms (groups), in latent units."""
        blocks = flat.reshape(len(self.latent.radii), -1)
        unit = 2.0**-LATENT_BITS
        return blocks[:, 0], blocks[:, 1:-1] * unit, blocks[:, -1] * self._steps * unit**2
