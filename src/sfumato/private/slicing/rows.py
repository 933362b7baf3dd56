"""Every row with noise: the curator's second kind of question.

A row becomes a vector of whole numbers that is a function of that row alone, clipped to a public radius r. Vectors are
projected by a matrix U, or not at all, and every number gets noise of its own. Replacing a row moves its vector by at
most 2 r, and no other; a row that counts nowhere is the zero vector, so that the number of vectors does not depend on
what is in the rows. The order of the vectors is shuffled. The label travels inside the vector, as one coordinate for
each class, and nowhere else.

U is drawn from the operating system after the vectors are fixed, and used once: what slices cost (`slicing.law`) rests
on that. Its entries are normal. It may be published afterwards, and is, rounded to whole numbers of a grid;
`Slices.rounding` pays for the rounding. With as many projections as coordinates, noise on the vectors themselves costs
no law: it is then a Gaussian query like any other, and who wants slices takes them from the answer.

Proof: docs/proofs/slicing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import insist
from sfumato.private.noise import NORMAL_BITS, Bits, noisy, normals
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_BITS, SLACK, Batch, FloatArray, Image, IntArray
from sfumato.private.queries.viewed import public_seen, seen
from sfumato.private.slicing.law import Slices
from sfumato.schema.view import View

MOST_ENTRIES = 1 << 27  # of a matrix of projections
MOST_COORDINATES = 1 << 18  # of a row that is projected: `project` has room for normals of twice their usual length
HALF_STEP = 2.0 ** -(NORMAL_BITS + 1)  # how far a number that `normals` draws is from a normal one


@dataclass(frozen=True)
class RowVectors:
    """What is asked of every row: its image, and its class as a one-hot vector of some height, clipped together.

    Sensitivity. Vectors have norm at most r, so a replaced row moves its own by at most 2 r, and no other (`distance`).
    A class-dependent image is covered: the vector is still a function of the row alone.
    """

    image: Image
    classes: int
    radius: int  # squared, on the latent grid
    height: int = 0  # of the one-hot class, on the latent grid; 0 leaves the class out
    view: View | None = None  # in which rows are seen

    def __post_init__(self) -> None:
        insist(self.radius >= 1, "a squared radius must be at least 1")
        insist(0 <= self.height <= base.LATENT_LIMIT and self.classes >= 1, "a height must lie between 0 and 16")
        exact = self.image.limit == base.LATENT_LIMIT and self.dim <= MOST_COORDINATES
        insist(exact, f"rows have at most {MOST_COORDINATES} coordinates, each below 16")

    @property
    def dim(self) -> int:
        """How many numbers a row's vector has."""
        return self.image.dim + (self.classes if self.height else 0)

    def distance(self, unit_rows: int | None = None) -> float:
        """How far all vectors together can move, in L2 and latent units, when a row or one unit is replaced: its rows
        move one by one.
        """
        one = 2.0 * math.sqrt(self.radius) * 2.0**-LATENT_BITS * SLACK
        return one * math.sqrt(unit_rows or 1) * SLACK

    def check(self, public: base.Public) -> None:
        """Refuse vectors that are not those of the schema."""
        plain = replace(self, view=None)
        public = public if self.view is None else public_seen(public, self.view)
        base.rehearse(plain, lambda batch: plain.find(batch).shape == (self.dim, len(batch)), public)

    def find(self, batch: Batch) -> FloatArray:
        """The vectors of some rows, one a column: whole numbers held as float64, a zero for one that is too long."""
        batch = batch if self.view is None else seen(batch, self.view)
        found = np.zeros((self.dim, len(batch)))
        for k in range(self.classes):
            mine = batch.labels == k
            found[: self.image.dim, mine] = self.image.rows(batch, mine, k)
            if self.height:
                found[self.image.dim + k, mine] = self.height
        return base.within(base.clip_rows(found, self.radius), self.radius)


@dataclass(frozen=True)
class Whole:
    """The vectors themselves, with noise: a Gaussian query of this mu^2."""

    mu_squared: float


@dataclass(frozen=True)
class NoisyRows:
    """One row a line: its noisy projections in latent units, and the noise's standard deviation.

    `directions` has a projection a column; None where the vectors were not projected.
    """

    values: FloatArray
    sd: float
    directions: FloatArray | None


def matrix_rounding(slices: Slices) -> float:
    """How much longer than u^T U its published form may be, for a unit vector u.

    Every entry of sqrt(d) U is off by at most half a step, hence sqrt(d m') HALF_STEP / sqrt(d).
    """
    return math.sqrt(slices.projections) * HALF_STEP * SLACK


def check_slices(slices: Slices, vectors: RowVectors, unit_rows: int | None) -> None:
    """Whether slices that were set aside pay for these vectors."""
    distance, rows = vectors.distance(unit_rows), unit_rows or 1
    paid = slices.rounding >= matrix_rounding(slices)
    insist(paid, "rows are projected by a rounded matrix, whose rounding has to be paid for")
    covers = slices.dim == vectors.dim and slices.distance >= distance and slices.rows >= rows
    insist(covers, f"{slices} are not set aside for {vectors.dim} coordinates that move by {distance:g} in {rows} rows")
    check_size(slices)


def check_size(slices: Slices) -> None:
    """Refuse a matrix that is too large to draw, before anything is spent; `RowVectors` bounds their coordinates."""
    fits = slices.dim * slices.projections <= MOST_ENTRIES
    insist(fits, f"a matrix of projections has at most {MOST_ENTRIES} entries; ask for fewer projections")


def shuffled(count: int, bits: Bits) -> IntArray:
    """A random order. Two of 2^30 rows, and more do not fit into memory, share a key of 128 bits with probability
    below 2^-68; they keep their order.
    """
    keys = np.frombuffer(bits(16 * count), dtype="<u8", count=2 * count).reshape(2, count)
    return np.lexsort(keys).astype(np.int64)


def sliced(vectors: FloatArray, slices: Slices, bits: Bits) -> NoisyRows:
    """Vectors, one a column, projected by a fresh matrix, with noise. It is drawn here and nowhere kept."""
    drawn = normals(slices.dim * slices.projections, bits).reshape(slices.dim, slices.projections)
    unit = math.sqrt(slices.dim) * 2.0**NORMAL_BITS  # U is drawn / unit
    fine = unit * 2.0**LATENT_BITS
    sd = slices.sigma * fine * SLACK
    totals = project(vectors, drawn)
    values = noisy(totals, np.full(totals.shape, sd), bits) / fine
    return NoisyRows(values, sd / fine, drawn / unit)


def project(vectors: FloatArray, drawn: IntArray) -> IntArray:
    """The exact products: by the Cauchy-Schwarz inequality every partial sum is below 2^53, whatever its order."""
    longest = math.sqrt(vectors.shape[0]) * (base.LATENT_LIMIT + 1)
    exact = longest * float(np.linalg.norm(drawn.astype(np.float64), axis=0).max()) * SLACK < base.EXACT
    insist(exact, "rows have too many coordinates for exact projections; ask for fewer")
    return np.asarray(vectors.T @ drawn.astype(np.float64)).astype(np.int64)


def whole(vectors: FloatArray, sigma: float, bits: Bits) -> NoisyRows:
    """Vectors, one a column, with noise on every coordinate."""
    unit = 2.0**LATENT_BITS
    totals = np.ascontiguousarray(vectors.T).astype(np.int64)
    return NoisyRows(noisy(totals, np.full(totals.shape, sigma * unit), bits) / unit, sigma, None)


KINDS = (RowVectors, Whole)  # that a question may be made of
