"""What slicing buys: noisy answers that any number of trainings can live on. They travel with the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.schema.layout import FloatArray, IntArray

Noisy = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Start:
    """The Gaussian of each class that training begins with: a normal vector times `skip`, moved by `shift`."""

    skip: FloatArray  # (classes, coordinates, coordinates)
    shift: FloatArray  # (classes, coordinates)

    @classmethod
    def standard(cls, classes: int, dim: int) -> Start:
        """Independent standard normals, which columns are in scores as long as nothing else is known."""
        return cls(np.tile(np.eye(dim), (classes, 1, 1)), np.zeros((classes, dim)))


@dataclass(frozen=True)
class Space:
    """For columns in groups, whose coordinates are a projection.

    A generator makes numbers of variance about 1, and these times `basis`, seen from the class's own middle, are
    coordinates. Coordinates were asked mapped by `matrix` and seen from `centres`, class by class.
    """

    basis: FloatArray  # (made, coordinates), both as many
    middles: FloatArray  # (classes, coordinates)
    matrix: FloatArray  # (coordinates asked, coordinates)
    centres: FloatArray  # (classes, coordinates asked)

    def coordinates(self, made: FloatArray, labels: IntArray) -> FloatArray:
        """Rows of the given classes in the coordinates of the projection."""
        return np.asarray(self.middles[labels] + made @ self.basis)


@dataclass(frozen=True)
class BoughtWaves:
    """The central form: noisy class means of cosines and sines at public frequencies."""

    counts: FloatArray
    start: Start
    frequencies: FloatArray  # (F, coordinates asked), radians a unit
    means: FloatArray  # (classes, 2 F): cosines, then sines
    sd: FloatArray  # (classes,), of each mean
    space: Space | None = None

    form = "central"

    def __str__(self) -> str:
        return f"class means of {len(self.frequencies)} cosines and sines"


@dataclass(frozen=True)
class BoughtRows:
    """The form of the paper: every row with noise of its own, in an order that nobody knows."""

    counts: FloatArray
    start: Start
    values: Noisy  # (rows, projections), or (rows, coordinates) where rows were not projected
    directions: FloatArray | None  # (coordinates, projections)
    sd: float
    radius: float  # to which vectors were clipped
    height: float  # of the one-hot class in a vector
    slice_dim: int
    space: Space | None = None

    form = "rows"

    def __str__(self) -> str:
        what = "noisy rows" if self.directions is None else f"rows in {self.values.shape[1]} noisy projections"
        return f"{len(self.values)} {what}"


Bought = BoughtWaves | BoughtRows
