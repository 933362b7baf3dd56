"""Public projections: how a group of columns becomes fewer coordinates, from the schema alone.

A row's coordinates are an exact product of whole numbers, then rounded: a function of that row alone, bit for bit.
Values are taken as their place between the bounds, from -1/2 to 1/2, so that the middle of the range, where a missing
value is put, is zero.

>>> from sfumato.schema.schema import Group
>>> blocks = Projection.of([Group(columns="p*", min=0, max=1, shape=(2, 2), projection="dct2", keep=1)])
>>> blocks.matrix.tolist()
[[2048, 2048, 2048, 2048]]
>>> whole = 1 << FIXED_BITS
>>> blocks.apply(np.array([[whole], [whole], [whole], [whole]])).tolist()
[[4096]]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import idctn
from scipy.linalg import block_diag
from scipy.special import ndtri

from sfumato.schema.layout import FloatArray, IntArray

if TYPE_CHECKING:
    from sfumato.schema.schema import Group

FIXED_BITS = 24  # a value's place between its bounds, as a whole number
ENTRY_BITS = 12  # fractional bits of a matrix entry, and of a coordinate
LARGEST = (16 << ENTRY_BITS) - 1  # |coordinate| < 16
WIDEST = 1000  # columns whose coordinates together stay below 16 in length as they are, with room for rounding
SEED = 0  # of a random projection: public, the same for every table


@dataclass(frozen=True)
class Projection:
    """The map of all groups together: `matrix` has a row a coordinate and a column a table column."""

    matrix: IntArray
    halvings: int = 0  # by which coordinates of many columns are scaled down, so that no row's are longer than 16
    images: tuple[tuple[int, int], ...] = ()  # the columns, from and up to, of images that lose frequencies

    @classmethod
    def of(cls, groups: Iterable[Group]) -> Projection:
        """The projection of groups, a block for each."""
        listed = list(groups)
        matrix = np.rint(block_diag(*(directions(group) for group in listed)) * 2.0**ENTRY_BITS).astype(np.int64)
        ends = np.cumsum([len(group.names) for group in listed]).tolist()
        spans = zip(listed, [0, *ends], ends, strict=False)
        images = tuple((a, b) for group, a, b in spans if group.projection == "dct2" and group.directions < b - a)
        return cls(matrix, max(0, math.ceil(math.log2(matrix.shape[1] / WIDEST) / 2)), images)

    @property
    def dim(self) -> int:
        """How many coordinates there are."""
        return len(self.matrix)

    @cached_property
    def _floats(self) -> FloatArray:
        return self.matrix.astype(np.float64)

    def apply(self, fixed: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Coordinates, one row a column, with ENTRY_BITS fractional bits, of places between the bounds (-1: missing).

        Exact: sums of at most 2^14 products of whole numbers below 2^23 and 2^13. Division by a power of two is exact
        too, and rounding is elementwise.
        """
        middle = 2.0 ** (FIXED_BITS - 1)
        centred = np.where(fixed < 0, 0.0, fixed - middle)
        coordinates = np.rint((self._floats @ centred) / 2.0 ** (FIXED_BITS + self.halvings))
        return np.clip(coordinates, -LARGEST, LARGEST).astype(np.int32)

    @cached_property
    def back(self) -> FloatArray:
        """(columns, coordinates): the shortest way from coordinates to places between the bounds, from -1/2 to 1/2."""
        return np.asarray(np.linalg.pinv(self._floats * 2.0**-ENTRY_BITS) * 2.0**self.halvings)

    @property
    def radius(self) -> float:
        """No row's coordinates are longer than this."""
        stretch = float(np.linalg.norm(self._floats, 2)) * 2.0 ** -(ENTRY_BITS + self.halvings)
        rounding = math.sqrt(self.dim) * 2.0**-ENTRY_BITS
        return 0.5 * math.sqrt(self.matrix.shape[1]) * stretch + rounding


def directions(group: Group) -> FloatArray:
    """The orthonormal rows that a group's columns are multiplied by."""
    if group.projection == "dct2":
        return _cosines(group)
    if group.projection == "random":
        return np.asarray(np.linalg.qr(_normals(len(group.names), group.directions))[0].T)
    return np.eye(len(group.names))


def _normals(rows: int, columns: int) -> FloatArray:
    """Normal draws from raw bits, which every version of numpy gives alike: a release is read by later ones."""
    bits = np.random.PCG64(SEED).random_raw(rows * columns) >> np.uint64(11)
    return np.asarray(ndtri((bits + 0.5) * 2.0**-53).reshape(rows, columns))


def _cosines(group: Group) -> FloatArray:
    """The lowest frequencies of the two-dimensional cosine transform."""
    assert group.shape is not None  # the schema has seen to it
    frequencies = np.zeros((group.directions, *group.shape))
    for i in range(group.directions):
        frequencies[i, i // group.side, i % group.side] = 1.0
    waves = idctn(frequencies, axes=(1, 2), norm="ortho")
    return np.asarray(waves.reshape(group.directions, -1))
