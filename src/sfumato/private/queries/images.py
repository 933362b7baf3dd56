"""Images of a row: vectors of whole numbers that are looked up, scaled or projected, each from that row alone.

Sums and products of whole numbers that stay below 2^53 are exact in whatever order; the rest is elementwise and
correctly rounded. So a row's image does not depend on which other rows are in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_LIMIT, Batch, BoolArray, FloatArray, Image, IntArray, largest

MAPPED_LIMIT = LATENT_LIMIT << 10  # of centres where a matrix has been applied: no row is farther than that


@dataclass(frozen=True)
class ScoreImage(Image):
    """Bins looked up in tables: `tables[k][c]` holds the coordinate of every bin of column c for class k, and a
    last entry 0 for the code -1.
    """

    tables: tuple[tuple[IntArray, ...], ...]

    def __post_init__(self) -> None:
        insist(len(self.tables) > 0 and len(self.tables[0]) > 0, "latent tables must be there")
        for table in (t for row in self.tables for t in row):
            fits = table.ndim == 1 and len(table) > 1 and table[-1] == 0 and largest(table) <= LATENT_LIMIT
            insist(fits, "latent coordinates must be below 16, and a table must end in 0")

    @property
    def dim(self) -> int:
        return len(self.tables[0])

    @property
    def table_sizes(self) -> frozenset[tuple[int, ...]]:  # type: ignore[override]
        return frozenset(tuple(len(table) - 1 for table in row) for row in self.tables)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        codes = batch.codes[:, mine]
        z = np.empty(codes.shape)
        for c, table in enumerate(self.tables[k]):
            np.take(table.astype(np.float64), codes[c], out=z[c], mode="wrap")  # -1 wraps to the last entry, 0
        return z


@dataclass(frozen=True)
class AffineImage(Image):
    """Values centred and scaled: (fixed - centres[k]) * factors[k], rounded; 0 for a value that is missing."""

    centres: FloatArray  # (classes, columns), whole numbers on the scale of Batch.fixed
    factors: FloatArray

    def __post_init__(self) -> None:
        together = self.centres.ndim == 2 and self.centres.shape == self.factors.shape and self.centres.size > 0
        insist(together, "centres and factors go together")
        insist(np.isfinite([self.centres, self.factors]).all(), "centres and factors must be finite")

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.fixed is not None
        fixed = batch.fixed[:, mine]
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.nan_to_num(np.rint((fixed - self.centres[k].reshape(len(fixed), 1)) * self.factors[k][:, None]))
        return np.where(fixed < 0, 0.0, np.clip(z, -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class ProjectedImage(Image):
    """The public projection, mapped by a matrix (or as it is) and seen from a point of each class's own.

    Products are sums of at most 2^10 products of whole numbers below 2^16.
    """

    centres: IntArray  # (classes, dim), on the latent grid
    matrix: IntArray | None = None  # (dim, coordinates), MAP_BITS fractional bits

    def __post_init__(self) -> None:
        insist(self.centres.ndim == 2 and self.centres.size > 0, "centres must be there")
        insist(largest(self.centres) <= MAPPED_LIMIT, "centres must be below 2^14")
        if self.matrix is not None:
            fits = self.matrix.ndim == 2 and len(self.matrix) == self.dim and largest(self.matrix) <= base.MAP_LIMIT
            insist(fits, "matrices must have entries below 16, and a row for each coordinate of the centres")

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.projected is not None
        z = batch.projected[:, mine].astype(np.float64)
        if self.matrix is not None:
            z = np.trunc((self.matrix.astype(np.float64) @ z) / 2.0**base.MAP_BITS)
        return np.asarray(np.clip(z - self.centres[k].reshape(len(z), 1), -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class ColumnImage(Image):
    """Each column's distance from its class's centre, and the square of it.

    Values are places between the bounds on a grid of 2^-LATENT_BITS; a missing one is at the centre.
    """

    centres: IntArray  # (classes, columns), from 0 to 2^FIXED_BITS

    def __post_init__(self) -> None:
        insist(self.centres.ndim == 2 and self.centres.size > 0, "centres must be there")
        inside = 0 <= self.centres.min() <= self.centres.max() <= 1 << base.FIXED_BITS
        insist(inside, "centres must lie between the bounds")

    @property
    def dim(self) -> int:
        return 2 * int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.fixed is not None
        fixed = batch.fixed[:, mine]
        apart = np.trunc((fixed - self.centres[k].reshape(len(fixed), 1)) * 2.0 ** (base.LATENT_BITS - base.FIXED_BITS))
        apart = np.where(fixed < 0, 0.0, apart)
        return np.concatenate([apart, np.trunc(apart * apart * 2.0**-base.LATENT_BITS)])


@dataclass(frozen=True)
class Cells:
    """Each class's latent space cut into cells: a row is in the cell of its class whose centre is nearest.

    |z - c|^2 is smallest where |c|^2 - 2 c.z is: sums of whole numbers below 2^33, exact in whatever order they are
    added. Of centres equally near, the first. So a row's cell is a function of that row alone.
    """

    image: Image
    centres: tuple[IntArray, ...]  # for each class (cells, dim), on the latent grid

    def __post_init__(self) -> None:
        fits = all(c.ndim == 2 and len(c) > 0 and largest(c) <= LATENT_LIMIT for c in self.centres)
        insist(fits and self.image.limit == LATENT_LIMIT, "every class has at least one cell, with a centre below 16")
        alike = {c.shape[1] for c in self.centres} == {self.image.dim}
        insist(alike and self.image.dim < base.EXACT >> 34, "centres must have the image's coordinates")

    @property
    def classes(self) -> tuple[int, ...]:
        """The class of each cell."""
        return tuple(k for k, c in enumerate(self.centres) for _ in c)

    @property
    def width(self) -> int:
        """How many numbers it holds of one row: the distances from a class's centres."""
        return max(map(len, self.centres))

    def find(self, batch: Batch) -> IntArray:
        """The cell of every row, counted through all classes."""
        found = np.full(len(batch), -1, dtype=np.int64)
        for k in range(len(self.centres)):
            mine = batch.labels == k
            found[mine] = self.classes.index(k) + self.nearest(self.image.rows(batch, mine, k), k)
        return found

    def nearest(self, z: FloatArray, k: int) -> IntArray:
        """The cell of class k, counted within it, that each latent row (one a column) falls in."""
        c = self.centres[k].astype(np.float64)
        return np.asarray(np.argmin((c * c).sum(axis=1)[:, None] - 2.0 * (c @ z), axis=0))


@dataclass(frozen=True)
class Shifted(Image):
    """The image of cells, seen from the centre of each: the groups are the cells."""

    cells: Cells

    @property
    def dim(self) -> int:
        return self.cells.image.dim

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.cells.image.rows(batch, mine, self.cells.classes[k])
        return np.asarray(np.clip(z - np.concatenate(self.cells.centres)[k][:, None], -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class Within(Shifted):
    """Rows seen from the centre of their own cell, class by class: the scatter that cells leave."""

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.cells.image.rows(batch, mine, k)
        own = self.cells.centres[k][self.cells.nearest(z, k)]
        return np.asarray(np.clip(z - own.T, -LATENT_LIMIT, LATENT_LIMIT))


KINDS = (ScoreImage, AffineImage, ProjectedImage, ColumnImage, Cells, Shifted, Within)  # that a question may be made of
