"""Images of a row: vectors of whole numbers that are looked up, scaled or projected, each from that row alone.

Sums and products of whole numbers that stay below 2^53 are exact in whatever order; the rest is elementwise and
correctly rounded. So a row's image does not depend on which other rows are in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.private.queries.base import (
    EXACT,
    FIXED_BITS,
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    Batch,
    BoolArray,
    FloatArray,
    Image,
    IntArray,
    Public,
    insist,
    largest,
    quantise,
)

FACTORS = (1, 2, 4, 8)  # of a squared distance: at most 2^15 on the latent grid
MAPPED_LIMIT = LATENT_LIMIT << 10  # of centres where a matrix has been applied: no row is farther than that


@dataclass(frozen=True)
class ScoreImage(Image):
    """Bins looked up in tables: `tables[k][c]` holds the coordinate of every bin of column c for class k, and a
    last entry 0 for the code -1."""

    tables: tuple[tuple[IntArray, ...], ...]

    def __post_init__(self) -> None:
        insist(len(self.tables) > 0 and len(self.tables[0]) > 0, "latent tables must be there")
        for table in (t for row in self.tables for t in row):
            fits = table.ndim == 1 and len(table) > 1 and table[-1] == 0 and largest(table) <= LATENT_LIMIT
            insist(bool(fits), "latent coordinates must be below 16, and a table must end in 0")

    @classmethod
    def of(cls, tables: Sequence[Sequence[FloatArray]]) -> ScoreImage:
        """Quantise tables of real numbers."""
        return cls(
            tuple(tuple(np.append(quantise(t, LATENT_BITS, LATENT_LIMIT), 0) for t in row) for row in tables),
        )

    @property
    def dim(self) -> int:
        return len(self.tables[0])

    @cached_property
    def _float_tables(self) -> tuple[tuple[FloatArray, ...], ...]:
        return tuple(tuple(t.astype(np.float64) for t in row) for row in self.tables)

    def check(self, public: Public, classes: int) -> None:
        insist(not public.coordinates, "columns in groups have no scores")
        sizes = {tuple(len(table) - 1 for table in row) for row in self.tables}
        insist(len(self.tables) >= classes and sizes == {public.sizes}, "latent tables must be those of the schema")

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        codes = batch.codes[:, mine]
        z = np.empty(codes.shape)
        for c, table in enumerate(self._float_tables[k]):
            np.take(table, codes[c], out=z[c], mode="wrap")  # -1 wraps to the last entry, 0
        return z


@dataclass(frozen=True)
class AffineImage(Image):
    """Values centred and scaled: (fixed - centres[k]) * factors[k], rounded; 0 for a value that is missing."""

    centres: FloatArray  # (classes, columns), whole numbers on the scale of Batch.fixed
    factors: FloatArray

    def __post_init__(self) -> None:
        together = self.centres.ndim == 2 and self.centres.shape == self.factors.shape and self.centres.size > 0
        insist(together, "centres and factors go together")
        finite = np.isfinite(self.centres).all() and np.isfinite(self.factors).all()
        insist(bool(finite), "centres and factors must be finite")

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def check(self, public: Public, classes: int) -> None:
        insist(public.values, "the source was not asked for values")
        insist(len(self.centres) >= classes and self.dim == len(public.sizes), "centres must be those of the schema")

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.fixed is not None
        fixed = batch.fixed[:, mine]
        with np.errstate(over="ignore", invalid="ignore"):
            z = np.nan_to_num(np.rint((fixed - self.centres[k][:, None]) * self.factors[k][:, None]))
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
        fits = self.matrix is None or (
            self.matrix.ndim == 2 and len(self.matrix) == self.dim and largest(self.matrix) <= MAP_LIMIT
        )
        insist(fits, "matrices must have entries below 16, and a row for each coordinate of the centres")

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

    def check(self, public: Public, classes: int) -> None:
        insist(public.coordinates > 0, "the source has no projection: its columns are not in groups")
        taken = self.dim if self.matrix is None else int(self.matrix.shape[1])
        insist(len(self.centres) >= classes and taken == public.coordinates, "centres must be those of the schema")

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.projected is not None
        z = batch.projected[:, mine].astype(np.float64)
        if self.matrix is not None:
            z = np.trunc((self.matrix.astype(np.float64) @ z) / 2.0**MAP_BITS)
        return np.asarray(np.clip(z - self.centres[k][:, None], -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class ColumnImage(Image):
    """Each column's distance from its class's centre, and the square of it times `factor`, a power of two.

    Values are places between the bounds on a grid of 2^-LATENT_BITS; a missing one is at the centre.
    """

    centres: IntArray  # (classes, columns), from 0 to 2^FIXED_BITS
    factor: int = 2

    def __post_init__(self) -> None:
        insist(self.centres.ndim == 2 and self.centres.size > 0, "centres must be there")
        inside = self.centres.min() >= 0 and self.centres.max() <= 1 << FIXED_BITS
        insist(bool(inside) and self.factor in FACTORS, "centres must lie between the bounds, factors be 1, 2, 4 or 8")

    @property
    def dim(self) -> int:
        return 2 * int(self.centres.shape[1])

    def check(self, public: Public, classes: int) -> None:
        insist(public.values, "the source was not asked for values")
        fits = len(self.centres) >= classes and self.dim == 2 * len(public.sizes)
        insist(fits, "centres must be those of the schema")

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        assert batch.fixed is not None
        fixed = batch.fixed[:, mine]
        apart = np.trunc((fixed - self.centres[k][:, None]) * 2.0 ** (LATENT_BITS - FIXED_BITS))
        apart = np.where(fixed < 0, 0.0, apart)
        return np.concatenate([apart, np.trunc(apart * apart * (self.factor * 2.0**-LATENT_BITS))])


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
        insist(alike and self.image.dim < EXACT >> 34, "centres must have the image's coordinates")

    @classmethod
    def of(cls, image: Image, centres: Sequence[FloatArray]) -> Cells:
        """Quantise centres given as real numbers."""
        return cls(image, tuple(quantise(c, LATENT_BITS, LATENT_LIMIT) for c in centres))

    @property
    def classes(self) -> tuple[int, ...]:
        """The class of each cell."""
        return tuple(k for k, c in enumerate(self.centres) for _ in c)

    def around(self) -> Shifted:
        """The image seen from each cell's centre."""
        return Shifted(self.image, self.classes, np.concatenate(self.centres))

    def check(self, public: Public) -> None:
        """Refuse cells of other classes than the schema's."""
        insist(len(self.centres) == public.classes, "cells must be those of the schema's classes")
        self.image.check(public, public.classes)

    def find(self, batch: Batch) -> IntArray:
        """The cell of every row, counted through all classes."""
        found = np.full(len(batch), -1, dtype=np.int64)
        first = 0
        for k, centres in enumerate(self.centres):
            mine = batch.labels == k
            found[mine] = first + self.nearest(self.image.rows(batch, mine, k), k)
            first += len(centres)
        return found

    def nearest(self, z: FloatArray, k: int) -> IntArray:
        """The cell of class k, counted within it, that each latent row (one a column) falls in."""
        c = self.centres[k].astype(np.float64)
        return np.asarray(np.argmin((c * c).sum(axis=1)[:, None] - 2.0 * (c @ z), axis=0))


@dataclass(frozen=True)
class Shifted(Image):
    """Another image seen from a point of its own for each cell: `image` of the cell's class, minus `centres[g]`."""

    image: Image
    classes: tuple[int, ...]  # of each cell
    centres: IntArray  # (cells, dim)

    def __post_init__(self) -> None:
        insist(self.centres.shape == (len(self.classes), self.image.dim), "every cell has a class and a centre")
        fits = largest(self.centres) <= LATENT_LIMIT and min(self.classes) >= 0
        insist(fits and self.image.limit == LATENT_LIMIT, "centres must be below 16")

    @property
    def dim(self) -> int:
        return self.image.dim

    def check(self, public: Public, classes: int) -> None:
        insist(len(self.classes) >= classes and max(self.classes) < public.classes, "cells must be of the classes")
        self.image.check(public, public.classes)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, self.classes[k]) - self.centres[k][:, None]
        return np.asarray(np.clip(z, -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class Within(Image):
    """Rows seen from the centre of their own cell, class by class: the scatter that cells leave."""

    cells: Cells

    @property
    def dim(self) -> int:
        return self.cells.image.dim

    def check(self, public: Public, classes: int) -> None:
        insist(len(self.cells.centres) >= classes, "cells must be those of the classes")
        self.cells.check(public)

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.cells.image.rows(batch, mine, k)
        own = self.cells.centres[k][self.cells.nearest(z, k)]
        return np.asarray(np.clip(z - own.T, -LATENT_LIMIT, LATENT_LIMIT))
