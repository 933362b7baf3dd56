"""What may be asked of the private rows in sum, and the one rule for how far one row can move an answer.

Every question of the curator's `total` begins with the same thing: a row picks one group, or none, and adds one vector
of whole numbers to it. The total is an exact sum of integers, so it does not depend on the order of rows, on batches or
on workers; what a row adds is a function of that row alone, bit for bit. Coordinate j carries noise of standard
deviation sigma / weights[j]: the weights turn one budget into different precisions for different coordinates.

What kinds of vectors there are (histograms, tables, moments, features, gradients, waves) is a closed list: the frozen
classes of this package, each of which states its `Reach`. `Reach.sensitivity` is the rule, written once. What is told,
with noise, is the total itself; for distances of tables it is a function of it, whose reach is stated instead.

Nothing here reads a table: batches of bin numbers are handed over by the engine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from sfumato.errors import insist
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import Layout
from sfumato.schema.projections import FIXED_BITS as FIXED_BITS
from sfumato.whole_numbers import LATENT_BITS as LATENT_BITS
from sfumato.whole_numbers import LIMB, SHRINK

MAP_BITS = 12  # fractional bits of a matrix that maps latent rows
LATENT_LIMIT = (16 << LATENT_BITS) - 1  # |z| < 16, so products stay below 2^32
MAP_LIMIT = (16 << MAP_BITS) - 1
LARGEST_RADIUS = 1 << 32  # squared, on the latent grid, like products of two coordinates
ROW_CAP = 1 << 36  # public: of a table. Totals of products, below 2^68, do not fit into an int64: see `Products`
BATCH_CAP = 1 << 20  # rows in one exact float64 product: 2^20 * 2^32 < 2^53
CHUNK_CELLS = 1 << 21  # numbers of an image in memory at once: 16 MiB
EXACT = 1 << 53  # whole numbers below it are exact in float64
SLACK = 1.0 + 1e-12  # outweighs the roundings in computing weights and bounds

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
CodeArray: TypeAlias = np.ndarray[Any, np.dtype[np.int16] | np.dtype[np.int32]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Batch:
    """Some rows as bin numbers: `codes[c, i]` is row i's bin in column c, or -1; `labels[i]` its class.

    Where values themselves are needed, `fixed[c, i]` is the value's place between the column's bounds, from 0 to
    2^FIXED_BITS, or -1. Where columns are in groups, `projected[j, i]` is coordinate j of the public projection, with
    LATENT_BITS fractional bits, and there are no codes.
    """

    codes: CodeArray
    labels: IntArray
    fixed: CodeArray | None = None
    projected: CodeArray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def arrays(self) -> list[Any]:
        """What it is made of; `Batch(*arrays)` is the same batch."""
        return [part for part in (self.codes, self.labels, self.fixed, self.projected) if part is not None]

    def only(self, rows: BoolArray | slice) -> Batch:
        """Some of the rows."""
        fixed, projected = (None if part is None else part[:, rows] for part in (self.fixed, self.projected))
        return Batch(self.codes[:, rows], self.labels[rows], fixed, projected)

    def chunks(self, question: Any) -> Iterator[Batch]:
        """The batch in parts whose images fit into memory, all that are inside a question, and whose sums are exact.

        What a part takes does not grow with the table, so that running out of memory does not tell how many rows
        there are.
        """
        rows = min(BATCH_CAP, max(1, CHUNK_CELLS // _widest(question)))
        return (self.only(slice(start, start + rows)) for start in range(0, len(self), rows))


@dataclass(frozen=True)
class Public:
    """What is public of the batches that a question will meet."""

    sizes: tuple[int, ...]
    classes: int
    coordinates: int = 0  # of the projection, where columns are in groups
    values: bool = False  # whether batches hold values

    @classmethod
    def of(cls, layout: Layout, values: bool = False) -> Public:
        """The facts of a layout; columns in groups always come with their values."""
        return cls(layout.cells, layout.classes, layout.dim if layout.groups else 0, values or bool(layout.groups))

    def rehearsal(self) -> Batch:
        """Made-up rows to try a question on: of every class, with nothing, the least and the most in every column."""
        kinds = np.tile(np.array([-1, 0, 1], dtype=np.int32), self.classes)
        tops = np.array(() if self.coordinates else self.sizes, dtype=np.int32)[:, None] - 1
        fixed = np.where(kinds > 0, 1 << FIXED_BITS, np.tile(kinds, (len(self.sizes), 1))).astype(np.int32)
        projected = np.tile(kinds * LATENT_LIMIT, (self.coordinates, 1)) if self.coordinates else None
        labels = np.repeat(np.arange(self.classes), 3)
        return Batch(np.where(kinds > 0, tops, kinds), labels, fixed if self.values else None, projected)


@dataclass(frozen=True)
class Reach:
    """How far rows reach in L2, in the units that the weights give: what a kind of question has to prove.

    Attributes:
        one: D, the largest norm of what one row adds.
        apart: E, the largest distance of what two rows of one group add.
        relabelled: L, the same of two rows that differ in the label alone, where they are in one group.
        moves: Whether another label can put a row into another group.
        groups: How many groups there are.
    """

    one: float
    apart: float
    relabelled: float
    moves: bool
    groups: int

    def sensitivity(self, adjacency: Adjacency, unit_rows: int | None = None) -> float:
        """The most that the total can move between neighbouring tables; `unit_rows` count of each unit, if not rows.

        A row that joins or leaves moves it by at most D. A row replaced within its group moves it by at most E, and
        from one group to another by at most sqrt(D^2 + D^2), since the groups have coordinates of their own; or it
        stops counting: D. A changed label does the same with L in the place of E, if it can move a row at all, and is
        never free: a label that is none takes the row out, D. Of a unit, m rows join or leave, m D; of a replaced unit
        at most m rows give way to at most m others, m times one replacement. Labels decide which rows of a unit are
        chosen, so that a changed one is charged as a replacement.
        """
        across = math.sqrt(2.0) * self.one
        replaced = max(self.one, self.apart, across if self.groups > 1 else 0.0)
        flipped = max(self.one, self.relabelled, across if self.moves else 0.0)
        relabelled = flipped if unit_rows is None else max(flipped, replaced)
        most = {Adjacency.ADD_REMOVE: self.one, Adjacency.REPLACE_ONE: replaced, Adjacency.LABEL: relabelled}
        return most[adjacency] * SLACK * (unit_rows or 1)


class Query(ABC):
    """A sum over rows of a vector of whole numbers of known reach, in a table whose label has so many classes; or a
    function of such a sum, whose reach is then what one row can move it by.
    """

    classes: int
    limbs = 1  # how many whole numbers hold one number of the total

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """What coordinates are multiplied by before norms are taken; a row for each group, or one for all."""

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """How far a row reaches, and why."""

    def total(self, batch: Batch) -> IntArray:
        """The exact sum of the batch's contributions."""
        return np.asarray(sum(map(self.part, batch.chunks(self)), np.zeros(self.size, dtype=np.int64)))

    @abstractmethod
    def part(self, batch: Batch) -> IntArray:
        """The same of rows so few that their images fit into memory and their sums in float64 are exact."""

    def answer(self, total: IntArray) -> IntArray:
        """What is told of the total of all rows, with noise: a number or its limbs for each weight, here the total."""
        return total

    @property
    def size(self) -> int:
        """How many numbers the total has."""
        return self.limbs * int(self.weights.size)

    def check(self, public: Public) -> None:
        """Refuse a question that does not fit the rows it will meet: try it on made-up ones.

        What a question does to a row takes no branch that could fail for one row and not for another, so that shapes
        are all that can go wrong, and they do so here, before anything is charged or read.
        """
        rehearse(self, lambda batch: self.part(batch).shape == (self.size,), public)


class Products(Query):
    """A sum of products of whole numbers, of at most 2^32 each. Over ROW_CAP rows it may leave an int64, so that each
    number of a total is held in two, its limbs: how many times LIMB it is, and the rest.

    A part is of at least one row and at most BATCH_CAP, and below 2^53. It is split by `in_limbs`, exactly, into
    quotients, rounded down, and rests from 0 on. So over all rows quotients add up to at most 2^68 / LIMB + ROW_CAP <
    2^45, and rests to less than ROW_CAP * LIMB = 2^60, whatever the parts and their order. Which limbs a total has
    depends on the parts; the number that they stand for does not, and it alone is answered.
    """

    limbs = 2

    def answer(self, total: IntArray) -> IntArray:
        return total.reshape(2, -1)


def in_limbs(part: FloatArray) -> IntArray:
    """Exact whole numbers below 2^53 in two limbs each: all first ones, then all rests."""
    return np.concatenate(np.divmod(part.astype(np.int64), LIMB))


class Image(ABC):
    """A map from a row to a vector of whole numbers up to `limit`; `unit` is what one step of its grid is worth, and
    `longest` the largest squared norm where that follows from how it is made.
    """

    unit: float = 2.0**-LATENT_BITS
    limit: int = LATENT_LIMIT
    longest: int | None = None
    table_sizes: frozenset[tuple[int, ...]] = frozenset()  # of the columns that its tables are for, class by class

    @property
    @abstractmethod
    def dim(self) -> int:
        """How many coordinates a row has."""

    @property
    def width(self) -> int:
        """How many numbers it holds of one row."""
        return self.dim

    @abstractmethod
    def rows(self, batch: Batch, mine: BoolArray, k: int) -> FloatArray:
        """The images of the rows `mine`, all taken to be of class k, one a column; each depends on that row alone."""


@dataclass(frozen=True)
class Answer:
    """A query's total with noise, and the noise's standard deviation at each coordinate."""

    values: FloatArray
    sd: FloatArray

    def __post_init__(self) -> None:
        for array in (self.values, self.sd):
            array.flags.writeable = False  # a release keeps them as they were given


def rehearse(asked: Any, works: Callable[[Batch], bool], public: Public) -> None:
    """Refuse a question of other classes, with tables for other columns, or one that does not work on made-up rows."""
    try:
        sizes = {size for part in _parts(asked) if isinstance(part, Image) for size in part.table_sizes}
        own = asked.classes == public.classes and sizes <= {public.sizes}
        fits = own and _widest(asked) <= CHUNK_CELLS and works(public.rehearsal())
    except (IndexError, ValueError, TypeError, AssertionError, MemoryError):
        fits = False
    insist(fits, "a question must be one for the columns and classes of the schema")


def _parts(asked: Any) -> Iterator[Any]:
    """A question, the images and cells that it is made of, and those that these are made of."""
    yield asked
    inside = (getattr(asked, each.name) for each in fields(asked))
    yield from (part for each in inside if is_dataclass(each) for part in _parts(each))


def _widest(asked: Any) -> int:
    """The most numbers that any part of a question holds of one row."""
    return max(getattr(part, "width", 1) for part in _parts(asked))


def check_shares(shares: tuple[float, ...], count: int) -> None:
    """Shares divide a squared norm of one between so many parts."""
    fits = len(shares) == count > 0 and min(shares) > 0.0 and math.fsum(shares) <= SLACK
    insist(fits, "shares must be positive, one for each part, and add up to one")


def largest(values: IntArray) -> int:
    """The largest absolute value, exact also where the smallest int64 is among them; 0 of none."""
    return max(int(values.max()), -int(values.min())) if values.size else 0


def clip_rows(z: FloatArray, radius: int) -> FloatArray:
    """Scale the columns of z whose squared norm exceeds `radius` down to it, truncating towards zero."""
    norms = squared_norms(z)
    far = norms > radius
    if far.any():
        z[:, far] = np.trunc(z[:, far] * (np.sqrt(radius / norms[far]) * SHRINK))
    return z


def squared_norms(z: FloatArray) -> FloatArray:
    """Of the columns of z: whole numbers below 2^53, hence exact in whatever order they are added."""
    return np.asarray(np.einsum("ij,ij->j", z, z))


def within(z: FloatArray, radius: int) -> FloatArray:
    """The columns of z, but zeros for those whose squared norm exceeds `radius` (or is none): such a row adds nothing.

    No image that is right has any, so this costs nothing but its time. It is what the proofs of sensitivity rest on,
    checked for every row, whatever was done to the row before.
    """
    short = squared_norms(z) <= radius
    return z if short.all() else np.where(short, z, 0.0)
