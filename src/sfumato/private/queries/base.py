"""Questions that may be asked of the private rows, and how much one row can change their answers.

A query is a sum over rows of a bounded vector. Its `total` is an exact sum of integers, so it does not
depend on the order of rows, on batches or on workers; what a row adds to it is a function of that row
alone, bit for bit. The noise on coordinate j of the total has standard deviation sigma / weights[j]: the
weights turn one budget into different precisions for different coordinates. `sensitivity` bounds the
L2 norm of weights * (total of one table - total of a neighbour).

No query here reads a table: it is handed batches of bin numbers by the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from sfumato.private.accounting import Adjacency
from sfumato.schema.projections import FIXED_BITS as FIXED_BITS

LATENT_BITS = 12  # fractional bits of a latent coordinate
MAP_BITS = 12  # fractional bits of a matrix that maps latent rows
LATENT_LIMIT = (16 << LATENT_BITS) - 1  # |z| < 16, so products stay below 2^32
MAP_LIMIT = (16 << MAP_BITS) - 1
BATCH_CAP = 1 << 20  # rows in one exact float64 product: 2^20 * 2^32 < 2^53
SHRINK = 1.0 - 2.0**-40  # outweighs the few roundings of clipping, so no clipped row exceeds its radius
SLACK = 1.0 + 1e-12  # outweighs the roundings in computing weights and bounds

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
CodeArray: TypeAlias = np.ndarray[Any, np.dtype[np.int16] | np.dtype[np.int32]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
FixedArray: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True)
class Batch:
    """Some rows as bin numbers: `codes[c, i]` is row i's bin in column c, or -1; `labels[i]` its class.

    Where values themselves are needed, `fixed[c, i]` is the value's place between the column's bounds, from 0 to
    2^FIXED_BITS, or -1. Where columns are in groups, `projected[j, i]` is coordinate j of the public projection, with
    LATENT_BITS fractional bits, and there are no codes.
    """

    codes: CodeArray
    labels: IntArray
    fixed: FixedArray | None = None
    projected: FixedArray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.codes, self.fixed, self.projected) if part is not None)

    def only(self, rows: BoolArray | slice) -> Batch:
        """Some of the rows."""
        fixed = None if self.fixed is None else self.fixed[:, rows]
        projected = None if self.projected is None else self.projected[:, rows]
        return Batch(self.codes[:, rows], self.labels[rows], fixed, projected)


class Query(Protocol):
    """A sum over rows of an integer vector of known reach."""

    @property
    def size(self) -> int: ...

    @property
    def weights(self) -> FloatArray: ...

    def total(self, batch: Batch) -> IntArray:
        """The exact sum of the batch's contributions."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        """The most that weights * total can move, in L2, between neighbouring tables."""


@dataclass(frozen=True)
class Answer:
    """A query's total with noise, and the noise's standard deviation at each coordinate."""

    values: FloatArray
    sd: FloatArray


class Asker(Protocol):
    """What a mechanism sees of the curator: what is left, and a way to ask."""

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """Charge `mu_squared`, then answer with noise."""


@dataclass(frozen=True)
class Histograms:
    """How many rows of each class fall into each bin, for every column at once.

    Column c has weight sqrt(shares[c]), and the shares add up to one.

    Sensitivity. A row adds 1 to at most one cell of each column, in its own class's block: the weighted
    norm of its contribution is at most sqrt(sum of shares) = 1, which bounds add-remove. Changing a label
    moves the row to other cells, and replacing a row takes one contribution away and adds another. Both
    contributions have coordinates >= 0, so their difference has squared norm at most 1 + 1: sqrt(2).
    """

    sizes: tuple[int, ...]
    classes: int
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.shares) != len(self.sizes) or not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive, one for each column, and add up to one")

    @property
    def size(self) -> int:
        return self.classes * sum(self.sizes)

    @cached_property
    def weights(self) -> FloatArray:
        return np.tile(np.repeat(np.sqrt(self.shares), self.sizes), self.classes)

    def total(self, batch: Batch) -> IntArray:
        cells = []
        for codes, size in zip(batch.codes, self.sizes, strict=True):
            # One extra cell per class swallows the code -1.
            place = batch.labels * (size + 1) + codes + 1
            counts = np.bincount(place, minlength=self.classes * (size + 1))
            cells.append(counts.reshape(self.classes, size + 1)[:, 1:])
        return np.concatenate(cells, axis=1).ravel()

    def sensitivity(self, adjacency: Adjacency) -> float:
        return SLACK * (1.0 if adjacency is Adjacency.ADD_REMOVE else math.sqrt(2.0))

    def unpack(self, flat: FloatArray) -> list[FloatArray]:
        """One (classes, bins) array for each column."""
        return np.split(flat.reshape(self.classes, -1), np.cumsum(self.sizes)[:-1], axis=1)


class Image(Protocol):
    """A map from a row to a vector of whole numbers below LATENT_LIMIT, with LATENT_BITS fractional bits."""

    @property
    def dim(self) -> int: ...

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        """The images of the rows `mine`, all of class k, one a column; each depends on that row alone."""


@dataclass(frozen=True)
class ScoreImage:
    """Bins looked up in tables: `tables[k][c]` holds the coordinate of every bin of column c for class k, and a
    last entry 0 for the code -1."""

    tables: tuple[tuple[IntArray, ...], ...]

    def __post_init__(self) -> None:
        for table in (t for row in self.tables for t in row):
            if abs(table).max() > LATENT_LIMIT or table[-1] != 0:
                raise ValueError("latent coordinates must be below 16, and a table must end in 0")

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

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        codes = batch.codes[:, mine]
        z = np.empty(codes.shape)
        for c, table in enumerate(self._float_tables[k]):
            np.take(table, codes[c], out=z[c], mode="wrap")  # -1 wraps to the last entry, 0
        return z


@dataclass(frozen=True)
class AffineImage:
    """Values centred and scaled: (fixed - centres[k]) * factors[k], rounded; 0 for a value that is missing.

    Subtraction, multiplication and rounding are elementwise and correctly rounded.
    """

    centres: FloatArray  # (classes, columns), whole numbers on the scale of Batch.fixed
    factors: FloatArray

    def __post_init__(self) -> None:
        if not (np.isfinite(self.centres).all() and np.isfinite(self.factors).all()):
            raise ValueError("centres and factors must be finite")

    @property
    def dim(self) -> int:
        return int(self.centres.shape[1])

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        if batch.fixed is None:
            raise ValueError("the source was not asked for values")
        fixed = batch.fixed[:, mine]
        z = np.rint((fixed - self.centres[k][:, None]) * self.factors[k][:, None])
        return np.where(fixed < 0, 0.0, np.clip(z, -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class Shifted:
    """Another image seen from a point of its own for each cell: `image` of the cell's class, minus `centres[g]`."""

    image: Image
    classes: tuple[int, ...]  # of each cell
    centres: IntArray  # (cells, dim)

    @property
    def dim(self) -> int:
        return self.image.dim

    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        z = self.image.rows(batch, mine, self.classes[k]) - self.centres[k][:, None]
        return np.asarray(np.clip(z, -LATENT_LIMIT, LATENT_LIMIT))


@dataclass(frozen=True)
class Cells:
    """Each class's latent space cut into cells: a row is in the cell of its class whose centre is nearest.

    |z - c|^2 is smallest where |c|^2 - 2 c.z is: sums of whole numbers below 2^33, exact in whatever order they are
    added. Of centres equally near, the first. So a row's cell is a function of that row alone.
    """

    image: Image
    centres: tuple[IntArray, ...]  # for each class (cells, dim), on the latent grid

    def __post_init__(self) -> None:
        if any(len(c) == 0 or abs(c).max() > LATENT_LIMIT for c in self.centres):
            raise ValueError("every class has at least one cell, with a centre below 16")

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
class Latent:
    """The latent space in which moments are taken: an image, a matrix per group (or none), and the squared radii to
    which rows are clipped. Groups are the classes, or cells of them. Matrices have MAP_BITS fractional bits, squared
    radii twice LATENT_BITS."""

    image: Image
    radii: tuple[int, ...]
    maps: tuple[IntArray, ...] | None = None
    cells: Cells | None = None

    def __post_init__(self) -> None:
        if min(self.radii) < 1:
            raise ValueError("a squared radius must be at least 1 in the latent grid's units")
        if self.maps is not None and any(abs(matrix).max() > MAP_LIMIT for matrix in self.maps):
            raise ValueError("matrices must have entries below 16")

    @classmethod
    def of(
        cls,
        image: Image,
        radii: Sequence[float],
        maps: Sequence[FloatArray] | None = None,
        cells: Cells | None = None,
    ) -> Latent:
        """Quantise radii and matrices given as real numbers."""
        return cls(
            image,
            tuple(max(1, math.floor(r * r * 4.0**LATENT_BITS)) for r in radii),
            None if maps is None else tuple(quantise(m, MAP_BITS, MAP_LIMIT) for m in maps),
            cells,
        )

    @property
    def dim(self) -> int:
        return self.image.dim

    def grouped(self, batch: Batch) -> Batch:
        """The batch with each row's group in the place of its class."""
        return batch if self.cells is None else replace(batch, labels=self.cells.find(batch))

    def rows(self, batch: Batch, k: int) -> FloatArray:
        """The latent rows of group k, one a column, clipped: whole numbers held as float64.

        Every product below is a sum of at most 2^20 products of whole numbers below 2^16, hence exact in
        whatever order it is evaluated; sqrt, divide and multiply are correctly rounded elementwise. So a
        row's result does not depend on which other rows are in the batch.
        """
        z = self.image.rows(batch, batch.labels == k, k)
        if self.maps is not None:
            mapped = np.trunc((self.maps[k].astype(np.float64) @ z) / 2.0**MAP_BITS)
            z = np.clip(mapped, -LATENT_LIMIT, LATENT_LIMIT)
        return clip_rows(z, self.radii[k])


@dataclass(frozen=True)
class Moments:
    """Count, sum and second moment of the latent rows of each group (a class, or a cell of one), jointly.

    `shares` divides the squared sensitivity between the three and adds up to one. For a group with radius
    r the weights are a = sqrt(shares[0]), b = sqrt(shares[1]) / r and c = sqrt(shares[2]) / r^2; of the
    symmetric second moment only the upper triangle is asked, off the diagonal with weight sqrt(2) c, so
    that the weighted norm of z z^T is c |z|^2.

    Sensitivity. Rows have |z| <= r, so one row's contribution (a, b z, c z z^T) has squared norm at most
    a^2 + b^2 r^2 + c^2 r^4 = 1 (add-remove). A row writes to its own group's block alone: a changed label,
    or a replacement of another group, changes two blocks by at most 1 each, sqrt(2). A replacement z -> y
    inside a group leaves the count; with t = z.y the change is
        b^2 (|z|^2 + |y|^2 - 2 t) + c^2 (|z|^4 + |y|^4 - 2 t^2),
    which for fixed t grows with |z| and |y|; at |z| = |y| = r and t = -x r^2 it is
        2 shares[1] (1 + x) + 2 shares[2] (1 - x^2),
    larger at x than at -x for x > 0, and largest at x = shares[1] / (2 shares[2]) or at x = 1.
    """

    latent: Latent
    shares: tuple[float, float, float]

    def __post_init__(self) -> None:
        if not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive and add up to one")

    @property
    def size(self) -> int:
        d = self.latent.dim
        return len(self.latent.radii) * (1 + d + d * (d + 1) // 2)

    @cached_property
    def _upper(self) -> tuple[IntArray, IntArray]:
        rows, columns = np.triu_indices(self.latent.dim)
        return rows, columns

    @cached_property
    def weights(self) -> FloatArray:
        rows, columns = self._upper
        off_diagonal = np.where(rows == columns, 1.0, math.sqrt(2.0))
        count, mean, second = (math.sqrt(share) for share in self.shares)
        return np.concatenate(
            [
                np.concatenate(
                    [
                        [count],
                        np.full(self.latent.dim, mean / math.sqrt(radius)),
                        off_diagonal * second / radius,
                    ]
                )
                for radius in self.latent.radii
            ]
        )

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        blocks = []
        grouped = self.latent.grouped(batch)
        for k in range(len(self.latent.radii)):
            z = self.latent.rows(grouped, k)
            # Exact: whole numbers below 2^32, fewer than 2^21 of them. int64 from here on.
            second = (z @ z.T)[self._upper]
            blocks.append(np.concatenate([[float(z.shape[1])], z.sum(axis=1), second]))
        return np.concatenate(blocks).astype(np.int64)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency is Adjacency.ADD_REMOVE:
            return SLACK
        if adjacency is Adjacency.LABEL:
            return SLACK * math.sqrt(2.0)
        _, mean, second = self.shares
        x = min(1.0, mean / (2.0 * second))
        within = 2.0 * mean * (1.0 + x) + 2.0 * second * (1.0 - x * x)
        return SLACK * math.sqrt(max(2.0, within))

    def unpack(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Counts (classes), sums (classes, d) and second moments (classes, d, d), in latent units."""
        d = self.latent.dim
        blocks = flat.reshape(len(self.latent.radii), -1)
        second = np.empty((len(blocks), d, d))
        rows, columns = self._upper
        second[:, rows, columns] = second[:, columns, rows] = blocks[:, 1 + d :]
        unit = 2.0**-LATENT_BITS
        return blocks[:, 0], blocks[:, 1 : 1 + d] * unit, second * unit**2


@dataclass(frozen=True)
class Sums:
    """Count and sum of the latent rows of each group (a class, or a cell of one), jointly.

    Sensitivity. With weights a = sqrt(shares[0]) and b = sqrt(shares[1]) / r a row's contribution (a, b z) has
    squared norm at most a^2 + b^2 r^2 = 1 (add-remove). A changed label, or a replacement by a row of another
    group, changes two blocks by at most 1 each, sqrt(2). A replacement inside a group leaves the count and moves the
    sum by at most 2 r: 2 sqrt(shares[1]).
    """

    latent: Latent
    shares: tuple[float, float]

    def __post_init__(self) -> None:
        if not (min(self.shares) > 0 and sum(self.shares) <= SLACK):
            raise ValueError("shares must be positive and add up to one")

    @property
    def size(self) -> int:
        return len(self.latent.radii) * (1 + self.latent.dim)

    @cached_property
    def weights(self) -> FloatArray:
        count, mean = (math.sqrt(share) for share in self.shares)
        blocks = [np.append(count, np.full(self.latent.dim, mean / math.sqrt(r))) for r in self.latent.radii]
        return np.concatenate(blocks)

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        grouped = self.latent.grouped(batch)
        groups = (self.latent.rows(grouped, k) for k in range(len(self.latent.radii)))
        blocks = [np.append(float(z.shape[1]), z.sum(axis=1)) for z in groups]
        return np.concatenate(blocks).astype(np.int64)

    def sensitivity(self, adjacency: Adjacency) -> float:
        if adjacency is Adjacency.ADD_REMOVE:
            return SLACK
        if adjacency is Adjacency.LABEL:
            return SLACK * math.sqrt(2.0)
        return SLACK * math.sqrt(max(2.0, 4.0 * self.shares[1]))

    def unpack(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts (groups) and sums (groups, d), in latent units."""
        blocks = flat.reshape(len(self.latent.radii), -1)
        return blocks[:, 0], blocks[:, 1:] * 2.0**-LATENT_BITS


def quantise(values: FloatArray, bits: int, limit: int) -> IntArray:
    """Real numbers on a grid of so many fractional bits, cut off at a limit."""
    if np.isnan(values).any():
        raise ValueError("latent tables and maps must be numbers")
    return np.clip(np.rint(values * 2.0**bits), -limit, limit).astype(np.int64)


def clip_rows(z: FloatArray, radius: int) -> FloatArray:
    """Scale the columns of z whose squared norm exceeds `radius` down to it, truncating towards zero."""
    norms = np.einsum("ij,ij->j", z, z)  # whole numbers below 2^53: exact
    far = norms > radius
    if far.any():
        z[:, far] = np.trunc(z[:, far] * (np.sqrt(radius / norms[far]) * SHRINK))
    return z
